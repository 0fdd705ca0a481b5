#include "storage/file_system.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "lib/base/concat.h"
#include "storage/counting_files.h"
#include "storage/ended_file.h"
#include "storage/full_disk_advice.h"
#include "storage/io_guard.h"
#include "storage/rocksdb_status.h"
#include "storage/stand_in.h"
#include "storage/table_check.h"

namespace cistern {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

// RocksDB has no say in the mode of its files but the umask, which belongs to the
// whole process. A file system below that keeps its files elsewhere (a test's) has
// none at this path: not an error.
IOStatus KeepToOwner(const std::string& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) == 0 || errno == ENOENT) return IOStatus::OK();
  // File systems without modes (FAT) answer so; the mount options decide there.
  if (errno == EPERM || errno == ENOTSUP || errno == ENOSYS) return IOStatus::OK();
  return IOStatus::IOError("While setting the mode of " + path, Concat({"errno ", errno}));
}

// A link planted in the directory must not lead our writes elsewhere.
IOStatus RefuseSymlink(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    return IOStatus::IOError("While opening for writing", path + ": is a symbolic link");
  }
  return IOStatus::OK();
}

// RocksDB's IsDirectory() opens and closes the file: on a lock file that would free the
// lock that this process holds.
bool IsRealDirectory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

StoreFileSystem::StoreFileSystem(std::shared_ptr<rocksdb::FileSystem> base, std::string directory)
    : FileSystemWrapper(base != nullptr ? std::move(base) : rocksdb::FileSystem::Default()),
      directory_(std::move(directory)) {}

StoreFileSystem::~StoreFileSystem() = default;

Status StoreFileSystem::ScanDirectory() {
  place_ = FilePlace::Of(directory_);
  struct Place {
    std::string path;
    int depth;
  };
  constexpr int kDepthMax = 2;  // quarantine/<number>
  std::vector<Place> places = {{directory_, 0}};
  while (!places.empty()) {
    const Place place = std::move(places.back());
    places.pop_back();
    std::vector<std::string> names;
    IOStatus status = target_->GetChildren(place.path, IOOptions(), &names, nullptr);
    if (!status.ok()) {
      if (place.depth > 0) continue;  // lost+found is not ours to read
      return ToStatus(status, "listing " + place.path);
    }
    for (const std::string& name : names) {
      if (name == "." || name == "..") continue;
      const std::string path = Concat({place.path, "/", name});
      uint64_t size_bytes = 0;
      if (IsRealDirectory(path)) {
        if (place.depth < kDepthMax) places.push_back({path, place.depth + 1});
      } else if (target_->GetFileSize(path, IOOptions(), &size_bytes, nullptr).ok()) {
        Track(path, size_bytes);
      }
    }
  }
  return Status::Ok();
}

bool StoreFileSystem::IsOurs(const std::string& path) const {
  return path.size() > directory_.size() && path.starts_with(directory_) &&
         path[directory_.size()] == '/';
}

IOStatus StoreFileSystem::CheckWritable(const std::string& path) const {
  if (read_only_.load(std::memory_order_relaxed)) {
    return IOStatus::IOError("While opening for writing", path + ": the store is open read-only");
  }
  // In another directory there may be another store, with files of the same names.
  return IsOurs(path) ? CheckPlace() : IOStatus::OK();
}

IOStatus StoreFileSystem::CheckPlace() const {
  if (!place_.is_known() || FilePlace::Of(directory_) == place_) return IOStatus::OK();
  return IsElsewhere(directory_);
}

IOStatus StoreFileSystem::CheckRoom(FileKind kind, uint64_t bytes) const {
  if (kind != FileKind::kWal && kind != FileKind::kSst) return IOStatus::OK();
  if (HasRoomFor(bytes)) return IOStatus::OK();
  return IOStatus::NoSpace(Concat({kDiskBudgetWords, disk_limit(), " bytes is used up"}));
}

void StoreFileSystem::SetEnds(FileEnds ends) {
  const std::lock_guard lock(mutex_);
  ends_ = std::move(ends);
}

void StoreFileSystem::SetStandIn(const std::string& path, std::shared_ptr<const std::string> bytes,
                                 uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  stand_ins_[path] = {std::move(bytes), size_bytes};
}

StoreFileSystem::StandIn StoreFileSystem::FindStandIn(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = stand_ins_.find(path);
  return found == stand_ins_.end() ? StandIn{} : found->second;
}

IOStatus StoreFileSystem::NewSequentialFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                            IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = target_->NewSequentialFile(path, options, result, dbg);
    const std::lock_guard lock(mutex_);
    const auto end = ends_.find(path);
    if (!status.ok() || end == ends_.end()) return status;
    *result = std::make_unique<EndedSequentialFile>(std::move(*result), end->second);
    return status;
  });
}

IOStatus StoreFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                              IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    StandIn stand_in = FindStandIn(path);
    if (stand_in.bytes != nullptr) {
      *result = OpenStandIn(std::move(stand_in.bytes), stand_in.size_bytes);
      return IOStatus::OK();
    }
    IOStatus status = target_->NewRandomAccessFile(path, options, result, dbg);
    if (!status.ok() || FileKindOf(path) != FileKind::kSst) return status;
    uint64_t size_bytes = 0;
    status = target_->GetFileSize(path, options.io_options, &size_bytes, dbg);
    if (status.ok()) status = CheckTable(**result, path, size_bytes);
    if (!status.ok()) result->reset();
    return status;
  });
}

IOStatus StoreFileSystem::GetFileSize(const std::string& path, const IOOptions& options,
                                      uint64_t* size_bytes, IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    const StandIn stand_in = FindStandIn(path);
    if (stand_in.bytes == nullptr) return target_->GetFileSize(path, options, size_bytes, dbg);
    *size_bytes = stand_in.size_bytes;
    return IOStatus::OK();
  });
}

IOStatus StoreFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    // RocksDB logs this and goes on, as fail_if_options_file_error is not set.
    const FileKind kind = FileKindOf(path);
    if (kind == FileKind::kOptions) return IOStatus::NotSupported("OPTIONS file refused");
    IOStatus status = CheckWritable(path);
    if (status.ok()) status = CheckRoom(kind, 0);
    if (status.ok()) status = RefuseSymlink(path);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    if (status.ok()) {
      const std::lock_guard lock(mutex_);
      held_.erase(path);  // it is another file from here on
      to_hold_.erase(path);
    }
    if (status.ok()) status = target_->NewWritableFile(path, options, &file, dbg);
    if (!status.ok()) return status;
    auto tracked = Track(path, 0);
    *result =
        std::make_unique<CountingWritableFile>(std::move(file), this, std::move(tracked), path);
    return KeepToOwner(path, kFileMode);
  });
}

IOStatus StoreFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    if (status.ok()) status = RefuseSymlink(path);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    if (status.ok()) status = target_->ReopenWritableFile(path, options, &file, dbg);
    if (!status.ok()) return status;
    uint64_t size_bytes = 0;
    target_->GetFileSize(path, IOOptions(), &size_bytes, nullptr).PermitUncheckedError();
    // RocksDB reopens each log that it keeps, to cut room off that was never written.
    // What was synced of it stays so.
    uint64_t synced_bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto known = files_.find(path);
      if (known != files_.end()) synced_bytes = known->second->synced_bytes;
    }
    auto tracked = Track(path, size_bytes);
    {
      const std::lock_guard lock(mutex_);
      tracked->synced_bytes = std::min(synced_bytes, size_bytes);
    }
    *result =
        std::make_unique<CountingWritableFile>(std::move(file), this, std::move(tracked), path);
    return KeepToOwner(path, kFileMode);
  });
}

IOStatus StoreFileSystem::ReuseWritableFile(const std::string& /*path*/,
                                            const std::string& /*old_path*/,
                                            const FileOptions& /*options*/,
                                            std::unique_ptr<rocksdb::FSWritableFile>* /*result*/,
                                            IODebugContext* /*dbg*/) {
  // Recycled WALs show stale records in this version of RocksDB; the option is off.
  return IOStatus::NotSupported("files are never reused");
}

IOStatus StoreFileSystem::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                          IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    if (status.ok()) status = RefuseSymlink(path);
    std::unique_ptr<rocksdb::FSRandomRWFile> file;
    if (status.ok()) status = target_->NewRandomRWFile(path, options, &file, dbg);
    if (!status.ok()) return status;
    *result = std::make_unique<CountingRandomRwFile>(std::move(file), this, FileKindOf(path));
    return IOStatus::OK();
  });
}

void StoreFileSystem::HoldDeletions() {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, file] : files_) {
    if (file->number != 0) to_hold_.insert(path);  // copies in quarantine have none
  }
}

void StoreFileSystem::ReleaseDeletions() { EndHold(false); }

void StoreFileSystem::KeepHeldTables() { EndHold(true); }

void StoreFileSystem::EndHold(bool tables_stay) {
  std::unordered_set<std::string> held;
  {
    const std::lock_guard lock(mutex_);
    to_hold_.clear();
    held = held_;
  }
  for (const std::string& path : held) {
    const std::lock_guard lock(mutex_);
    if (held_.erase(path) == 0) continue;
    if (tables_stay && FileKindOf(path) == FileKind::kSst) continue;
    // What stays is deleted by the next opening.
    target_->DeleteFile(path, IOOptions(), nullptr).PermitUncheckedError();
    Forget(path);
  }
}

bool StoreFileSystem::Hold(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!to_hold_.contains(path)) return false;
  held_.insert(path);
  return true;
}

IOStatus StoreFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                     IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    if (status.ok() && Hold(path)) return IOStatus::OK();
    if (status.ok()) status = target_->DeleteFile(path, options, dbg);
    const bool was_gone = status.IsNotFound() || status.IsPathNotFound();
    if (was_gone && FindStandIn(path).bytes != nullptr) status = IOStatus::OK();
    if (status.ok()) Untrack(path);
    return status;
  });
}

IOStatus StoreFileSystem::Truncate(const std::string& path, size_t size, const IOOptions& options,
                                   IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    if (status.ok()) status = target_->Truncate(path, size, options, dbg);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    if (const auto it = files_.find(path); it != files_.end()) Resize(it->second.get(), size);
    return status;
  });
}

IOStatus StoreFileSystem::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(to);
    if (status.ok()) status = target_->RenameFile(from, to, options, dbg);
    if (!status.ok()) return status;
    uint64_t size_bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto it = files_.find(from);
      if (it != files_.end()) size_bytes = it->second->size_bytes;
    }
    Untrack(from);
    Track(to, size_bytes);  // RocksDB renames only files that it has closed
    return status;
  });
}

IOStatus StoreFileSystem::LinkFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(to);
    if (status.ok()) status = target_->LinkFile(from, to, options, dbg);
    if (!status.ok()) return status;
    uint64_t size_bytes = 0;
    target_->GetFileSize(to, IOOptions(), &size_bytes, nullptr).PermitUncheckedError();
    Track(to, size_bytes);
    return status;
  });
}

IOStatus StoreFileSystem::CreateDir(const std::string& path, const IOOptions& options,
                                    IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    if (status.ok()) status = target_->CreateDir(path, options, dbg);
    return status.ok() ? KeepToOwner(path, kDirectoryMode) : status;
  });
}

IOStatus StoreFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                             IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    bool is_directory = false;
    if (target_->IsDirectory(path, options, &is_directory, dbg).ok() && is_directory) {
      return IOStatus::OK();  // whoever made it decided its mode
    }
    return CreateDir(path, options, dbg);
  });
}

IOStatus StoreFileSystem::DeleteDir(const std::string& path, const IOOptions& options,
                                    IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    return status.ok() ? target_->DeleteDir(path, options, dbg) : status;
  });
}

IOStatus StoreFileSystem::LockFile(const std::string& path, const IOOptions& options,
                                   rocksdb::FileLock** lock, IODebugContext* dbg) {
  return GuardedIo([&]() -> IOStatus {
    IOStatus status = CheckWritable(path);
    if (status.ok()) status = RefuseSymlink(path);
    if (status.ok()) status = target_->LockFile(path, options, lock, dbg);
    return status.ok() ? KeepToOwner(path, kFileMode) : status;
  });
}

}  // namespace cistern
