#include "storage/backup_writer.h"

#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/catalog_names.h"
#include "storage/family_kind.h"
#include "storage/path_check.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/store_format.h"
#include "storage/text_record.h"

namespace cistern {

namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr int kPassesMax = 4;         // of copying ahead
constexpr size_t kPinnedTablesMax = 16;  // that may be left to the moment of Pin
constexpr int kPinAttempts = 5;
constexpr uint64_t kRoomBytes = 1 << 20;  // for what is not tables

// Files beside tables and the MANIFEST. One copy of the catalog is enough: opening makes two of it.
bool IsBackedUp(std::string_view name) {
  return FileKindOf(name) == FileKind::kWal || name == "IDENTITY" ||
         (IsCatalogCopyName(name) && name != kCatalogFileNames[1]);
}

// What a directory has that may become one of backups.
bool MayBeInEmptyDirectory(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {".", "..", "lost+found", kStoreLockFileName,
                                                      "BACKUPS.tmp"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whatever the store is to it.
Status CheckIsDirectory(StoreFileSystem* fs, const std::string& directory) {
  if (fs->FileExists(directory, IOOptions(), nullptr).IsNotFound()) return Status::Ok();
  bool is_directory = false;
  const IOStatus told = fs->IsDirectory(directory, IOOptions(), &is_directory, nullptr);
  if (!told.ok()) return ToStatus(told, "opening " + directory);
  if (is_directory) return Status::Ok();
  return Status::InvalidArgument(Concat({directory, " is a file; backups are in a directory"}));
}

}  // namespace

BackupWriter::BackupWriter(const StoreDb* db, const std::string& directory, KeepOn keep_on)
    : db_(db),
      source_fs_(db->opened().fs.get()),
      keep_on_(std::move(keep_on)),
      target_(db->opened().config.base_fs, directory) {
  record_.store_id = db->opened().store_id;
}

Result<std::unique_ptr<BackupWriter>> BackupWriter::Begin(const StoreDb* db,
                                                          const std::string& directory,
                                                          KeepOn keep_on) {
  if (directory.empty()) return Status::InvalidArgument("the directory of backups has no name");
  std::unique_ptr<BackupWriter> writer(new BackupWriter(db, directory, std::move(keep_on)));
  CISTERN_RETURN_IF_ERROR(writer->TakeDirectory());
  CISTERN_RETURN_IF_ERROR(writer->TakeNumber());
  return writer;
}

Status BackupWriter::CheckPlace() const {
  const std::string& store = source_fs_->directory();
  const std::string& directory = target_.directory();
  if (IsWithin(directory, store) || IsWithin(store, directory)) {
    return Status::InvalidArgument(Concat({directory, " is in the store ", store,
        " or has it in it: name a directory apart, at best on another device"}));
  }
  CISTERN_RETURN_IF_ERROR(CheckIsDirectory(target_.fs().get(), directory));
  const auto owner = target_.ReadOwner();
  if (owner.ok() && *owner != record_.store_id) {
    return Status::InvalidArgument(Concat({directory, " has backups of another store, ", *owner,
        "; this one is ", record_.store_id, ": each store has a directory of its own"}));
  }
  if (owner.ok() || owner.status().code() != StatusCode::kNotFound) return owner.status();
  std::vector<std::string> names;
  const IOStatus listed = target_.fs()->GetChildren(directory, IOOptions(), &names, nullptr);
  if (listed.IsNotFound() || listed.IsPathNotFound()) return Status::Ok();
  if (!listed.ok()) return ToStatus(listed, "listing " + directory);
  const auto has = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has(kStoreFormatFileName)) {
    return Status::InvalidArgument(Concat({directory, " is a store: choose an empty or new "
        "directory"}));
  }
  const auto foreign = std::find_if_not(names.begin(), names.end(), MayBeInEmptyDirectory);
  if (foreign == names.end()) return Status::Ok();
  return Status::InvalidArgument(Concat({directory, " holds other things (", *foreign,
      ") and no backups; choose an empty or new directory"}));
}

Status BackupWriter::TakeDirectory() {
  CISTERN_RETURN_IF_ERROR(CheckPlace());
  StoreFileSystem* fs = target_.fs().get();
  CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(fs, target_.directory()));
  auto lock = StoreLock::Take(target_.fs(), target_.directory());
  if (lock.status().code() == StatusCode::kLocked) {
    return Status::Locked(Concat({"another backup writes into ", target_.directory(),
        ": wait until it is done"}));
  }
  CISTERN_RETURN_IF_ERROR(lock.status());
  lock_ = *std::move(lock);
  CISTERN_RETURN_IF_ERROR(CheckPlace());  // another process may have begun one meanwhile
  CISTERN_RETURN_IF_ERROR(SyncAncestors(fs, target_.directory()));
  return target_.WriteOwner(record_.store_id);
}

// What an earlier one left half done goes but for its tables, which this one may need.
Status BackupWriter::TakeNumber() {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> unfinished, target_.ListUnfinished());
  for (const uint64_t number : unfinished) CISTERN_RETURN_IF_ERROR(target_.Remove(number));
  CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, target_.ListNumbers());
  for (const uint64_t number : numbers) {
    const auto record = target_.Read(number);
    if (record.status().code() == StatusCode::kTooNew) return record.status();
    if (!record.ok()) continue;  // ListBackups tells
    for (const BackupFile& file : record->files) {
      if (!file.is_shared()) continue;
      named_.insert(file.SharedName());
      const std::string prefix = file.name + ": ";
      for (const std::string& problem : record->problems) {
        if (problem.starts_with(prefix)) {
          marked_[file.SharedName()] = problem.substr(prefix.size());
        }
      }
    }
  }
  record_.number = numbers.empty() ? 1 : numbers.back() + 1;
  CISTERN_RETURN_IF_ERROR(target_.Prepare(record_.number));
  CISTERN_ASSIGN_OR_RETURN(shared_, target_.ListShared());
  CrashPoint("backup:after_begin");
  return Status::Ok();
}

BackupWriter::Tables BackupWriter::ListTables() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->db()->GetLiveFilesMetaData(&files);
  Tables tables;
  for (const rocksdb::LiveFileMetaData& file : files) {
    const auto kind = FamilyKindOf(file.column_family_name);
    const bool has_segments = kind == FamilyKind::kSpill || kind == FamilyKind::kWindow;
    tables[file.relative_filename] = {file.size, !has_segments};
  }
  return tables;
}

Status BackupWriter::CheckRoom(const Tables& fresh) const {
  uint64_t needed_bytes = kRoomBytes + source_fs_->wal_bytes_on_disk();
  for (const auto& [name, table] : fresh) needed_bytes += table.size_bytes;
  uint64_t free_bytes = 0;
  const IOStatus told =
      target_.fs()->GetFreeSpace(target_.directory(), IOOptions(), &free_bytes, nullptr);
  if (!told.ok() || free_bytes >= needed_bytes) return Status::Ok();
  return Status::NoSpace(Concat({"the file system of ", target_.directory(), " has ", free_bytes,
      " bytes free, this backup needs ", needed_bytes, ": free some space, or keep fewer backups, "
      "then try again"}));
}

Status BackupWriter::CopyAhead() {
  for (int pass = 0; pass < kPassesMax; ++pass) {
    Tables fresh = ListTables();
    if (fresh.size() > limits::kBackupFilesMax) {
      return Status::TooLarge(Concat({"the store has ", fresh.size(), " files, a backup at most ",
          limits::kBackupFilesMax}));
    }
    for (auto it = fresh.begin(); it != fresh.end();) {
      CISTERN_RETURN_IF_ERROR(keep_on_());
      bool has = known_.contains(it->first) || problems_.contains(it->first);
      if (!has) {
        CISTERN_ASSIGN_OR_RETURN(has, FindCopy(it->first, it->second));
      }
      it = has ? fresh.erase(it) : std::next(it);
    }
    CISTERN_RETURN_IF_ERROR(CheckRoom(fresh));
    if (pass > 0 && fresh.size() <= kPinnedTablesMax) return Status::Ok();
    for (const auto& [name, table] : fresh) CISTERN_RETURN_IF_ERROR(CopyTable(name, table));
  }
  return Status::Ok();
}

Result<std::unique_ptr<rocksdb::FSSequentialFile>> BackupWriter::OpenSource(
    const std::string& name) const {
  const std::string path = Concat({source_fs_->directory(), "/", name});
  std::unique_ptr<rocksdb::FSSequentialFile> source;
  const IOStatus opened = source_fs_->NewSequentialFile(path, FileOptions(), &source, nullptr);
  if (opened.IsNotFound() || opened.IsPathNotFound()) return Status::NotFound("it is missing");
  if (!opened.ok()) return ToReadStatus(opened, "opening " + path);
  return source;
}

// By its size and its last bytes, which no other file of that name has.
Result<bool> BackupWriter::FindCopy(const std::string& name, const Table& table) {
  const auto source = OpenSource(name);
  if (!source.ok()) return false;  // copying it says why
  const uint64_t tail_bytes = std::min(table.size_bytes, kTailBytes);
  std::string bytes(tail_bytes + 1, '\0');
  rocksdb::Slice read;
  IOStatus status = (*source)->Skip(table.size_bytes - tail_bytes);
  if (status.ok()) {
    status = (*source)->Read(bytes.size(), IOOptions(), &read, bytes.data(), nullptr);
  }
  if (!status.ok() || read.size() != tail_bytes) return false;
  BackupFile file{name, table.size_bytes, 0, Checksum({read.data(), read.size()})};
  std::string prefix = file.SharedName();
  prefix.resize(prefix.size() - (HexOf(0) + ".sst").size());
  for (auto it = shared_.lower_bound(prefix);
       it != shared_.end() && it->first.starts_with(prefix); ++it) {
    const std::string_view checksum = std::string_view(it->first).substr(prefix.size());
    if (it->second != file.size_bytes || !checksum.ends_with(".sst") ||
        !ParseHex(checksum.substr(0, checksum.size() - 4), &file.checksum)) {
      continue;
    }
    const bool is_named = named_.contains(it->first);
    if (!is_named) {
      // Of a backup that was interrupted: nobody has looked at it since.
      const std::string path = target_.PathOf(record_.number, file);
      CISTERN_ASSIGN_OR_RETURN(const FileContent content,
                               ReadContent(target_.fs().get(), path, keep_on_));
      if (!content.unreadable.ok() || content.checksum != file.checksum) continue;
      Examine(file, table);
    }
    if (const auto mark = marked_.find(it->first); mark != marked_.end()) {
      NoteProblem(name, mark->second);
    }
    known_.emplace(name, std::move(file));
    return true;
  }
  return false;
}

Status BackupWriter::CopyTable(const std::string& name, const Table& table) {
  const auto source = OpenSource(name);
  // One that is gone for good is met again by Pin.
  if (source.status().code() == StatusCode::kNotFound) return Status::Ok();
  if (source.status().code() == StatusCode::kCorruption) {
    return Lose(name, table, source.status().message());
  }
  CISTERN_RETURN_IF_ERROR(source.status());
  return AddCopy(name, table, source->get());
}

Status BackupWriter::Lose(const std::string& name, const Table& table, const std::string& why) {
  if (table.is_catalog) {
    return Status::Corruption(Concat({source_fs_->directory(), "/", name,
        ", a file of the catalog, cannot be read: ", why, "; there is no backup without it"}));
  }
  NoteProblem(name, why + "; it is not in the backup");
  return Status::Ok();
}

void BackupWriter::NoteProblem(const std::string& name, const std::string& what) {
  problems_.emplace(name, what);
}

Result<FileContent> BackupWriter::CopyAndCompare(rocksdb::FSSequentialFile* source,
                                                 uint64_t bytes_max, const std::string& path) {
  StoreFileSystem* fs = target_.fs().get();
  CISTERN_ASSIGN_OR_RETURN(const FileContent content,
                           CopyFile(source, bytes_max, fs, path, keep_on_));
  if (!content.unreadable.ok()) return content;
  CISTERN_ASSIGN_OR_RETURN(const FileContent again, ReadContent(fs, path, keep_on_));
  if (!again.unreadable.ok()) {
    return Status(again.unreadable.code(), Concat({path, ": ", again.unreadable.message()}));
  }
  if (again.checksum == content.checksum && again.size_bytes == content.size_bytes) return content;
  return Status::Corruption(Concat({path, " is not what was written a moment ago: the device "
      "under ", target_.directory(), " cannot be trusted"}));
}

Status BackupWriter::AddCopy(const std::string& name, const Table& table,
                             rocksdb::FSSequentialFile* source) {
  StoreFileSystem* fs = target_.fs().get();
  const std::string temporary = Concat({target_.SharedPath(), "/", name, kTemporarySuffix});
  CISTERN_ASSIGN_OR_RETURN(const FileContent content,
                           CopyAndCompare(source, UINT64_MAX, temporary));
  if (!content.unreadable.ok()) {
    fs->DeleteFile(temporary, IOOptions(), nullptr).PermitUncheckedError();  // the next one does it
    return Lose(name, table, content.unreadable.message());
  }
  BackupFile file{name, content.size_bytes, content.checksum, content.tail};
  const std::string path = target_.PathOf(record_.number, file);
  const IOStatus renamed = fs->RenameFile(temporary, path, IOOptions(), nullptr);
  if (!renamed.ok()) return ToStatus(renamed, "writing " + path);
  CrashPoint("backup:after_file");
  copied_.insert(name);
  if (file.size_bytes != table.size_bytes) {
    NoteProblem(name, Concat({"it has ", file.size_bytes, " bytes, it had ", table.size_bytes}));
  } else {
    Examine(file, table);
  }
  known_.emplace(name, std::move(file));
  return Status::Ok();
}

// Every block has a checksum of its own: what the device of the store has lost of it shows here.
void BackupWriter::Examine(const BackupFile& file, const Table& table) {
  const auto env = rocksdb::NewCompositeEnv(target_.fs());
  rocksdb::Options options;
  options.env = env.get();
  rocksdb::SstFileReader reader(options);
  rocksdb::Status status = reader.Open(target_.PathOf(record_.number, file));
  if (status.ok()) status = reader.VerifyChecksum();
  if (status.ok()) return;
  NoteProblem(file.name, std::string(table.is_catalog ? "damaged, and of the catalog: " :
                                                        "damaged in the store: ") +
                             status.ToString());
}

Status BackupWriter::Pin(uint64_t sequence, int64_t taken_us) {
  record_.sequence = sequence;
  record_.taken_us = taken_us;
  uint64_t errors = 0;
  const bool told = db_->db()->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &errors);
  if (told && errors > 0) {
    return Status::IoError(Concat({"the store ", source_fs_->directory(),
        " has met an error and is to be opened anew: back it up then"}));
  }
  for (int attempt = 1; attempt <= kPinAttempts; ++attempt) {
    CISTERN_ASSIGN_OR_RETURN(const bool all, TryPin(attempt == kPinAttempts));
    if (all) return Status::Ok();
  }
  return Status::IoError(Concat({"the files of ", source_fs_->directory(),
      " change faster than they can be opened: try again"}));
}

Result<bool> BackupWriter::TryPin(bool is_last) {
  pinned_.clear();
  live_.clear();
  pinned_tables_ = ListTables();
  std::vector<std::string> names;
  uint64_t manifest_bytes = 0;
  const rocksdb::Status listed = db_->db()->GetLiveFiles(names, &manifest_bytes, false);
  if (!listed.ok()) return ToStatus(listed, "listing the files of " + source_fs_->directory());
  for (std::string& name : names) {
    name.erase(0, name.find_first_not_of('/'));
    bool is_open = true;
    if (FileKindOf(name) == FileKind::kManifest) {
      CISTERN_ASSIGN_OR_RETURN(is_open, PinOwn(name, manifest_bytes));
    } else if (FileKindOf(name) == FileKind::kSst) {
      const auto table = pinned_tables_.find(name);
      if (table == pinned_tables_.end()) return false;  // it came between the two questions
      CISTERN_ASSIGN_OR_RETURN(is_open, PinTable(name, table->second, is_last));
    }
    if (!is_open) return false;
  }
  std::vector<std::string> children;
  const IOStatus found =
      source_fs_->GetChildren(source_fs_->directory(), IOOptions(), &children, nullptr);
  if (!found.ok()) return ToStatus(found, "listing " + source_fs_->directory());
  for (const std::string& name : children) {
    if (!IsBackedUp(name)) continue;
    uint64_t size_bytes = 0;
    const std::string path = Concat({source_fs_->directory(), "/", name});
    if (!source_fs_->GetFileSize(path, IOOptions(), &size_bytes, nullptr).ok()) return false;
    CISTERN_ASSIGN_OR_RETURN(const bool is_open, PinOwn(name, size_bytes));
    if (!is_open) return false;
  }
  return true;
}

Result<bool> BackupWriter::PinOwn(const std::string& name, uint64_t bytes_max) {
  auto source = OpenSource(name);
  if (source.status().code() == StatusCode::kNotFound) return false;
  CISTERN_RETURN_IF_ERROR(source.status());
  pinned_.push_back({name, bytes_max, *std::move(source)});
  return true;
}

// A table that was lost before stays lost, and need not be looked for again.
Result<bool> BackupWriter::PinTable(const std::string& name, const Table& table, bool is_last) {
  live_.push_back(name);
  if (known_.contains(name) || problems_.contains(name)) return true;
  auto source = OpenSource(name);
  if (source.ok()) {
    pinned_.push_back({name, UINT64_MAX, *std::move(source)});
    return true;
  }
  const StatusCode code = source.status().code();
  const std::vector<LostTable>& lost = db_->opened().lost_tables;
  const bool is_lost = std::any_of(lost.begin(), lost.end(),
                                   [&](const LostTable& one) { return one.name == name; });
  if (code == StatusCode::kNotFound && !is_lost && !is_last) return false;
  if (code != StatusCode::kNotFound && code != StatusCode::kCorruption) return source.status();
  CISTERN_RETURN_IF_ERROR(Lose(name, table, source.status().message()));
  return true;
}

Status BackupWriter::CopyPinned() {
  for (PinnedFile& pinned : pinned_) {
    if (FileKindOf(pinned.name) == FileKind::kSst) {
      CISTERN_RETURN_IF_ERROR(
          AddCopy(pinned.name, pinned_tables_.at(pinned.name), pinned.source.get()));
      continue;
    }
    const std::string path = Concat({target_.PathOf(record_.number), "/", pinned.name});
    CISTERN_ASSIGN_OR_RETURN(const FileContent content,
                             CopyAndCompare(pinned.source.get(), pinned.bytes_max, path));
    const bool is_whole = content.unreadable.ok() && content.size_bytes == pinned.bytes_max;
    if (!is_whole && IsCatalogCopyName(pinned.name)) continue;  // the store opens without it
    if (!is_whole) {
      return Status::Corruption(Concat({source_fs_->directory(), "/", pinned.name,
          " cannot be read: ",
          (content.unreadable.ok() ? "it is shorter than it was" : content.unreadable.message()),
          "; there is no backup without it"}));
    }
    record_.files.push_back({pinned.name, content.size_bytes, content.checksum, 0});
    copied_.insert(pinned.name);
    pinned.source.reset();
    CrashPoint("backup:after_own_file");
  }
  return Status::Ok();
}

Result<BackupReport> BackupWriter::Finish(size_t keep_count) {
  for (const std::string& name : live_) {
    const auto known = known_.find(name);
    if (known != known_.end()) record_.files.push_back(known->second);
    const auto problem = problems_.find(name);
    if (problem != problems_.end() && record_.problems.size() < limits::kBackupProblemsMax) {
      record_.problems.push_back(Concat({name, ": ", problem->second}));
    }
  }
  if (record_.files.size() > limits::kBackupFilesMax) {
    return Status::TooLarge(Concat({"the store has ", record_.files.size(),
        " files, a backup at most ", limits::kBackupFilesMax}));
  }
  CISTERN_RETURN_IF_ERROR(target_.Write(record_));
  report_.number = record_.number;
  report_.taken_us = record_.taken_us;
  report_.sequence = record_.sequence;
  report_.files = record_.files.size();
  report_.bytes = record_.byte_count();
  for (const BackupFile& file : record_.files) {
    if (!copied_.contains(file.name)) continue;
    ++report_.files_copied;
    report_.bytes_copied += file.size_bytes;
  }
  report_.problems = record_.problems;
  CISTERN_ASSIGN_OR_RETURN(report_.removed, RemoveOld(keep_count));
  return std::move(report_);
}

// Counts those without a problem alone, so that backups of a damaged store push out none that was
// taken before the damage.
Result<std::vector<uint64_t>> BackupWriter::RemoveOld(size_t keep_count) {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, target_.ListNumbers());
  std::vector<uint64_t> removed;
  size_t sound_count = 0;
  for (size_t i = numbers.size(); i-- > 0;) {
    if (sound_count < keep_count) {
      const auto record = target_.Read(numbers[i]);
      if (record.ok() && record->problems.empty()) ++sound_count;
      continue;
    }
    CISTERN_RETURN_IF_ERROR(target_.Remove(numbers[i]));
    removed.push_back(numbers[i]);
  }
  std::reverse(removed.begin(), removed.end());
  CISTERN_RETURN_IF_ERROR(target_.RemoveUnnamed());
  return removed;
}

}  // namespace cistern
