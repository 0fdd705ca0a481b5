#include "tests/support/fault_fs.h"

#include <algorithm>
#include <utility>

namespace cistern {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

IOStatus Error(FaultError error, const std::string& path) {
  switch (error) {
    case FaultError::kEio:
      return IOStatus::IOError("While injecting: " + path, "Input/output error");
    case FaultError::kNoSpace:
      return IOStatus::NoSpace("While injecting: " + path, "No space left on device");
    case FaultError::kReadOnlyFs:
      return IOStatus::IOError("While injecting: " + path, "Read-only file system");
    case FaultError::kTooManyFiles:
      return IOStatus::IOError("While injecting: " + path, "Too many open files");
  }
  return IOStatus::IOError(path);
}

// What every faulty thing has: the file system that decides, and its own path. `Wrapper` is
// RocksDB's class that passes every call on to a `Target`.
template <typename Wrapper, typename Target>
class Faulty : public Wrapper {
 public:
  Faulty(FaultFileSystem* fs, std::string path, std::unique_ptr<Target> target)
      : Wrapper(std::move(target)), fs_(fs), path_(std::move(path)) {}

 protected:
  // The fault that strikes now, or what `call` gives.
  template <typename Call>
  IOStatus Unless(FaultOp op, const Call& call) const {
    IOStatus fault = fs_->Check(op, path_);
    return fault.ok() ? call() : fault;
  }

  FaultFileSystem* const fs_;
  const std::string path_;
};

using WritableFile = rocksdb::FSWritableFileOwnerWrapper;
class FaultyWritableFile : public Faulty<WritableFile, rocksdb::FSWritableFile> {
 public:
  using Faulty::Faulty;

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    IOStatus fault = fs_->Check(FaultOp::kWrite, path_);
    uint64_t fits = fs_->TakeRoom(path_, data.size());
    if (fault.ok() && fits < data.size()) fault = Error(FaultError::kNoSpace, path_);
    if (fault.ok()) return WritableFile::Append(data, options, dbg);
    // A full disk takes the beginning of a write before it says no.
    if (fault.IsNoSpace()) {
      fits = std::min<uint64_t>(fits, data.size() / 2);
      WritableFile::Append(Slice(data.data(), fits), options, dbg).PermitUncheckedError();
    }
    return fault;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo&, IODebugContext* dbg) override {
    return Append(data, options, dbg);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return Unless(FaultOp::kSync, [&] { return WritableFile::Sync(options, dbg); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return Unless(FaultOp::kSync, [&] { return WritableFile::Fsync(options, dbg); });
  }
  IOStatus Allocate(uint64_t offset, uint64_t length, const IOOptions& options,
                    IODebugContext* dbg) override {
    return Unless(FaultOp::kWrite, [&] {
      if (fs_->TakeRoom(path_, length) < length) return Error(FaultError::kNoSpace, path_);
      return WritableFile::Allocate(offset, length, options, dbg);
    });
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* dbg) override {
    const IOStatus status = WritableFile::Truncate(size, options, dbg);
    if (status.ok()) fs_->GiveBack(path_, size);
    return status;
  }
};

using RandomRwFile = rocksdb::FSRandomRWFileOwnerWrapper;
class FaultyRandomRwFile : public Faulty<RandomRwFile, rocksdb::FSRandomRWFile> {
 public:
  using Faulty::Faulty;
  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* dbg) override {
    return Unless(FaultOp::kWrite,
                  [&] { return RandomRwFile::Write(offset, data, options, dbg); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return Unless(FaultOp::kSync, [&] { return RandomRwFile::Sync(options, dbg); });
  }
};

using SequentialFile = rocksdb::FSSequentialFileOwnerWrapper;
class FaultySequentialFile : public Faulty<SequentialFile, rocksdb::FSSequentialFile> {
 public:
  using Faulty::Faulty;
  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) override {
    return Unless(FaultOp::kRead,
                  [&] { return SequentialFile::Read(n, options, result, scratch, dbg); });
  }
};

using RandomAccessFile = rocksdb::FSRandomAccessFileOwnerWrapper;
class FaultyRandomAccessFile : public Faulty<RandomAccessFile, rocksdb::FSRandomAccessFile> {
 public:
  using Faulty::Faulty;
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    return Unless(FaultOp::kRead, [&] {
      return RandomAccessFile::Read(offset, n, options, result, scratch, dbg);
    });
  }
};

using Directory = rocksdb::FSDirectoryWrapper;
class FaultyDirectory : public Faulty<Directory, rocksdb::FSDirectory> {
 public:
  using Faulty::Faulty;
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return Unless(FaultOp::kDirSync, [&] { return Directory::Fsync(options, dbg); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions& what) override {
    return Unless(FaultOp::kDirSync,
                  [&] { return Directory::FsyncWithDirOptions(options, dbg, what); });
  }
};

}  // namespace

FaultFileSystem::FaultFileSystem(std::shared_ptr<rocksdb::FileSystem> base)
    : FileSystemWrapper(base != nullptr ? base : rocksdb::FileSystem::Default()) {}

FaultFileSystem::~FaultFileSystem() = default;

void FaultFileSystem::Arm(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  matched_ = 0;
  injected_ = 0;
}

void FaultFileSystem::Disarm() {
  const std::lock_guard lock(mutex_);
  fault_.reset();
}

uint64_t FaultFileSystem::injected() const {
  const std::lock_guard lock(mutex_);
  return injected_;
}

uint64_t FaultFileSystem::matched() const {
  const std::lock_guard lock(mutex_);
  return matched_;
}

void FaultFileSystem::SetDiskBytes(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  disk_bytes_ = bytes;
}

void FaultFileSystem::SetForeignBytes(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  foreign_bytes_ = bytes;
}

uint64_t FaultFileSystem::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

uint64_t FaultFileSystem::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

IOStatus FaultFileSystem::Check(FaultOp op, const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!fault_) return IOStatus::OK();
  const bool op_matches =
      fault_->op == op || (fault_->op == FaultOp::kAnyChange && op != FaultOp::kRead);
  const bool kind_matches =
      !fault_->kind || op == FaultOp::kDirSync || *fault_->kind == FileKindOf(path);
  if (!op_matches || !kind_matches) return IOStatus::OK();
  ++matched_;
  if (matched_ != fault_->nth && !(fault_->forever && matched_ > fault_->nth)) {
    return IOStatus::OK();
  }
  ++injected_;
  return Error(fault_->error, path);
}

void FaultFileSystem::GiveBack(const std::string& path, uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = sizes_.find(path);
  if (it == sizes_.end() || it->second <= size_bytes) return;
  used_bytes_ -= it->second - size_bytes;
  it->second = size_bytes;
}

uint64_t FaultFileSystem::TakeRoom(const std::string& path, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  uint64_t fits = bytes;
  if (disk_bytes_ > 0) {
    const uint64_t taken = used_bytes_ + foreign_bytes_;
    fits = taken >= disk_bytes_ ? 0 : std::min(bytes, disk_bytes_ - taken);
  }
  if (fits < bytes && FileKindOf(path) != FileKind::kOther) ++refused_;
  used_bytes_ += fits;
  sizes_[path] += fits;
  return fits;
}

IOStatus FaultFileSystem::GetFreeSpace(const std::string& path, const IOOptions& options,
                                       uint64_t* free_bytes, IODebugContext* dbg) {
  {
    const std::lock_guard lock(mutex_);
    if (disk_bytes_ > 0) {
      const uint64_t taken = used_bytes_ + foreign_bytes_;
      *free_bytes = taken >= disk_bytes_ ? 0 : disk_bytes_ - taken;
      return IOStatus::OK();
    }
  }
  return target_->GetFreeSpace(path, options, free_bytes, dbg);
}

IOStatus FaultFileSystem::NewSequentialFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                            IODebugContext* dbg) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  IOStatus status = target_->NewSequentialFile(path, options, &file, dbg);
  if (status.ok()) *result = std::make_unique<FaultySequentialFile>(this, path, std::move(file));
  return status;
}

IOStatus FaultFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                              IODebugContext* dbg) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  IOStatus status = target_->NewRandomAccessFile(path, options, &file, dbg);
  if (status.ok()) *result = std::make_unique<FaultyRandomAccessFile>(this, path, std::move(file));
  return status;
}

IOStatus FaultFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* dbg) {
  IOStatus status = Check(FaultOp::kCreate, path);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  if (status.ok()) status = target_->NewWritableFile(path, options, &file, dbg);
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(mutex_);
    used_bytes_ -= std::exchange(sizes_[path], 0);
  }
  *result = std::make_unique<FaultyWritableFile>(this, path, std::move(file));
  return status;
}

IOStatus FaultFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* dbg) {
  IOStatus status = Check(FaultOp::kCreate, path);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  if (status.ok()) status = target_->ReopenWritableFile(path, options, &file, dbg);
  if (status.ok()) *result = std::make_unique<FaultyWritableFile>(this, path, std::move(file));
  return status;
}

IOStatus FaultFileSystem::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                          IODebugContext* dbg) {
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  IOStatus status = target_->NewRandomRWFile(path, options, &file, dbg);
  if (status.ok()) *result = std::make_unique<FaultyRandomRwFile>(this, path, std::move(file));
  return status;
}

IOStatus FaultFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* result,
                                       IODebugContext* dbg) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = target_->NewDirectory(path, options, &directory, dbg);
  if (status.ok()) *result = std::make_unique<FaultyDirectory>(this, path, std::move(directory));
  return status;
}

IOStatus FaultFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                     IODebugContext* dbg) {
  IOStatus status = Check(FaultOp::kDelete, path);
  if (status.ok()) status = target_->DeleteFile(path, options, dbg);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (const auto it = sizes_.find(path); it != sizes_.end()) {
    used_bytes_ -= it->second;
    sizes_.erase(it);
  }
  return status;
}

IOStatus FaultFileSystem::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = Check(FaultOp::kRename, to);
  if (status.ok()) status = target_->RenameFile(from, to, options, dbg);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const uint64_t size_bytes = sizes_[from];
  sizes_.erase(from);
  used_bytes_ -= std::exchange(sizes_[to], size_bytes);
  return status;
}

IOStatus FaultFileSystem::LockFile(const std::string& path, const IOOptions& options,
                                   rocksdb::FileLock** lock, IODebugContext* dbg) {
  IOStatus status = Check(FaultOp::kCreate, path);
  return status.ok() ? target_->LockFile(path, options, lock, dbg) : status;
}

}  // namespace cistern
