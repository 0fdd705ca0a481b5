#include "storage/backup_restorer.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "lib/base/shortage.h"
#include "storage/ack_beacon.h"
#include "storage/backup_directory.h"
#include "storage/catalog_names.h"
#include "storage/path_check.h"
#include "storage/restored_mark.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/store_format.h"
#include "storage/store_lock.h"

namespace cistern {

namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

Status GoOn() { return Status::Ok(); }

// What a directory has that may become a store.
bool MayBeInEmptyDirectory(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {".", "..", "lost+found", kStoreLockFileName,
                                                      "RESTORING.tmp"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// The steps are called in the order of their declaration.
class Restorer {
 public:
  Restorer(const std::string& from, const std::string& to, const RestoreOptions& options,
           std::shared_ptr<rocksdb::FileSystem> base_fs)
      : source_(base_fs, from),
        options_(options),
        to_(to),
        fs_(std::make_shared<StoreFileSystem>(std::move(base_fs), to)) {}
  Result<RestoreReport> Run();

 private:
  Status CheckPlace();
  Status TakeDirectory();
  Status Begin();     // from here on an interrupted restoring is known as one
  Status CopyFiles();
  Status CopyOne(const BackupFile& file);
  Status Finish();    // from here on it is a store

  [[nodiscard]] Result<std::vector<std::string>> ListTarget() const;
  [[nodiscard]] std::string PathOf(std::string_view name) const {
    return Concat({to_, "/", name});
  }

  const BackupDirectory source_;
  const RestoreOptions& options_;
  const std::string to_;
  const std::shared_ptr<StoreFileSystem> fs_;
  std::unique_ptr<StoreLock> lock_;
  BackupRecord record_;
  RestoreReport report_;
};

Result<RestoreReport> Restorer::Run() {
  CISTERN_ASSIGN_OR_RETURN(record_, source_.Find(options_.number));
  CISTERN_RETURN_IF_ERROR(CheckPlace());
  CISTERN_RETURN_IF_ERROR(TakeDirectory());
  CISTERN_RETURN_IF_ERROR(Begin());
  CISTERN_RETURN_IF_ERROR(CopyFiles());
  CISTERN_RETURN_IF_ERROR(Finish());
  return std::move(report_);
}

Result<std::vector<std::string>> Restorer::ListTarget() const {
  std::vector<std::string> names;
  const IOStatus listed = fs_->GetChildren(to_, IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + to_);
  return names;
}

Status Restorer::CheckPlace() {
  const std::string& from = source_.directory();
  if (IsWithin(to_, from) || IsWithin(from, to_)) {
    return Status::InvalidArgument(Concat({to_, " is in the backups ", from,
        " or has them in it: name a directory apart"}));
  }
  if (fs_->FileExists(to_, IOOptions(), nullptr).IsNotFound()) return Status::Ok();
  bool is_directory = false;
  const IOStatus told = fs_->IsDirectory(to_, IOOptions(), &is_directory, nullptr);
  if (!told.ok()) return ToStatus(told, "opening " + to_);
  if (!is_directory) return Status::InvalidArgument(Concat({to_, " is a file; a store is a "
      "directory"}));
  CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListTarget());
  const auto has = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool is_begun = has(kRestoringMarkFileName) && !has(kStoreFormatFileName);
  if (is_begun) return Status::Ok();
  if (has(kStoreFormatFileName) || has(kRestoredMarkFileName) || has("CURRENT")) {
    return Status::AlreadyExists(Concat({"there is a store in ", to_,
        ", which nothing overwrites: restore to another directory, or move that one away"}));
  }
  const auto foreign = std::find_if_not(names.begin(), names.end(), MayBeInEmptyDirectory);
  if (foreign == names.end()) return Status::Ok();
  return Status::InvalidArgument(Concat({to_, " holds other things (", *foreign,
      "): choose an empty or new directory"}));
}

Status Restorer::TakeDirectory() {
  CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(fs_.get(), to_));
  auto lock = StoreLock::Take(fs_, to_);
  if (lock.status().code() == StatusCode::kLocked) {
    return Status::Locked(Concat({"another process restores to ", to_,
        ": wait until it is done"}));
  }
  CISTERN_RETURN_IF_ERROR(lock.status());
  lock_ = *std::move(lock);
  CISTERN_RETURN_IF_ERROR(CheckPlace());  // another process may have done it meanwhile
  return SyncAncestors(fs_.get(), to_);
}

// What an earlier attempt copied may be of another backup.
Status Restorer::Begin() {
  const std::shared_ptr<Clock> clock = options_.clock ? options_.clock : SystemClock();
  CISTERN_RETURN_IF_ERROR(WriteRestoringMark(
      fs_.get(), to_,
      {record_.store_id, record_.number, record_.taken_us, clock->WallMicros()}));
  CrashPoint("restore:after_mark");
  CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListTarget());
  for (const std::string& name : names) {
    const bool is_copied = FileKindOf(name) != FileKind::kOther || name == "IDENTITY" ||
                           name == "CURRENT" || name == "ACK" || IsCatalogCopyName(name) ||
                           name.ends_with(kTemporarySuffix);
    if (!is_copied) continue;
    const IOStatus gone = fs_->DeleteFile(PathOf(name), IOOptions(), nullptr);
    if (!gone.ok()) return ToStatus(gone, "removing " + PathOf(name));
  }
  return Status::Ok();
}

Status Restorer::CopyFiles() {
  uint64_t free_bytes = 0;
  const uint64_t needed_bytes = record_.byte_count();
  const IOStatus told = fs_->GetFreeSpace(to_, IOOptions(), &free_bytes, nullptr);
  if (told.ok() && free_bytes < needed_bytes) {
    return Status::NoSpace(Concat({"the file system of ", to_, " has ", free_bytes,
        " bytes free, the backup has ", needed_bytes, ": free some space, then try again"}));
  }
  for (const std::string& problem : record_.problems) {
    report_.problems.push_back("when it was taken: " + problem);
  }
  for (const BackupFile& file : record_.files) CISTERN_RETURN_IF_ERROR(CopyOne(file));
  return Status::Ok();
}

Status Restorer::CopyOne(const BackupFile& file) {
  // Of another identity these are nothing.
  const bool is_named = file.name == "IDENTITY" || IsCatalogCopyName(file.name);
  if (options_.new_identity && is_named) return Status::Ok();
  const std::string path = source_.PathOf(record_.number, file);
  std::unique_ptr<rocksdb::FSSequentialFile> source;
  const IOStatus opened = source_.fs()->NewSequentialFile(path, FileOptions(), &source, nullptr);
  Status damage = opened.ok() ? Status::Ok() : ToReadStatus(opened, "opening it");
  if (IsShortage(damage)) return Status(damage.code(), Concat({path, ": ", damage.message()}));
  if (damage.ok()) {
    CISTERN_ASSIGN_OR_RETURN(const FileContent content,
                             CopyFile(source.get(), UINT64_MAX, fs_.get(), PathOf(file.name),
                                      GoOn));
    damage = content.unreadable;
    const bool is_same =
        content.size_bytes == file.size_bytes && content.checksum == file.checksum;
    if (damage.ok() && !is_same) {
      damage = Status::Corruption("its bytes are not those that were written");
    }
    report_.bytes += content.size_bytes;
    CrashPoint("restore:after_file");
  }
  ++report_.files;
  if (damage.ok()) return damage;
  const std::string what = Concat({path, ": ", damage.message()});
  if (!options_.damaged_too || !file.is_shared()) {
    return Status::Corruption(Concat({what, "; restore another backup",
        (file.is_shared() ? ", or what is left of this one by damaged_too (cistern restore "
                            "--damaged-too)" : "")}));
  }
  report_.problems.push_back(what);
  return Status::Ok();
}

// CISTERN is the last file: whoever finds it finds all others.
Status Restorer::Finish() {
  const auto manifest =
      std::find_if(record_.files.begin(), record_.files.end(), [](const BackupFile& file) {
        return FileKindOf(file.name) == FileKind::kManifest;
      });
  CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs_.get(), to_, "CURRENT", manifest->name + "\n"));
  StoreFormat format;
  format.ready = true;
  format.store_id = options_.new_identity ? NewStoreId() : record_.store_id;
  if (options_.new_identity) {
    CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs_.get(), to_, "IDENTITY", NewStoreId()));
  }
  CISTERN_ASSIGN_OR_RETURN(
      const auto beacon, AckBeacon::Create(fs_.get(), to_, format.store_id));
  CISTERN_RETURN_IF_ERROR(beacon->Write(record_.sequence));
  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs_.get(), to_));
  CrashPoint("restore:before_format");
  CISTERN_RETURN_IF_ERROR(WriteStoreFormat(fs_.get(), to_, format));
  CrashPoint("restore:after_format");
  CISTERN_RETURN_IF_ERROR(CompleteRestoredMark(fs_.get(), to_));
  report_.number = record_.number;
  report_.store_id = format.store_id;
  report_.taken_us = record_.taken_us;
  return Status::Ok();
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<RestoreReport> RestoreStore(const std::string& from, const std::string& to,
                                   const RestoreOptions& options,
                                   std::shared_ptr<rocksdb::FileSystem> base_fs) {
  if (to.empty()) return Status::InvalidArgument("the directory to restore to has no name");
  return Restorer(from, WithoutSlashes(to), options, std::move(base_fs)).Run();
}

}  // namespace cistern
