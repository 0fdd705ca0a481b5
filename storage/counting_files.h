// The files that a StoreFileSystem hands out: they count, stop at its limit, know where they are.
#ifndef CISTERN_STORAGE_COUNTING_FILES_H_
#define CISTERN_STORAGE_COUNTING_FILES_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "storage/file_place.h"
#include "storage/file_system.h"
#include "storage/io_guard.h"

namespace cistern {

// Says that the path leads no more to what was opened there.
inline rocksdb::IOStatus IsElsewhere(const std::string& path) {
  return rocksdb::IOStatus::IOError(
      "While looking for " + path,
      "it was renamed, removed or replaced while the store was open; put the store's directory "
      "back, or open the store at its new place");
}

// Whose sync is what a caller is answered for: everything counts by the log, and files by the
// MANIFEST.
inline bool HoldsTheStore(FileKind kind) {
  return kind == FileKind::kWal || kind == FileKind::kManifest;
}

// Counts what is appended, stops at the disk limit, and is synced only where it can be found. Calls
// throw nothing: RocksDB makes them on threads of its own.
class CountingWritableFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using IOStatus = rocksdb::IOStatus;
  using IOOptions = rocksdb::IOOptions;
  using IODebugContext = rocksdb::IODebugContext;
  using Slice = rocksdb::Slice;
  CountingWritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, StoreFileSystem* fs,
                       StoreFileSystem::TrackedFilePtr tracked, const std::string& path)
      : FSWritableFileOwnerWrapper(std::move(file)), fs_(fs), tracked_(std::move(tracked)) {
    if (!HoldsTheStore(tracked_->kind)) return;
    path_ = path;
    place_ = FilePlace::Of(path);
  }

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    return GuardedIo([&]() -> IOStatus {
      IOStatus status = fs_->CheckRoom(tracked_->kind, data.size());
      if (!status.ok()) return status;
      status = FSWritableFileOwnerWrapper::Append(data, options, dbg);
      if (status.ok()) fs_->CountWrite(tracked_.get(), data.size());
      return status;
    });
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*info*/, IODebugContext* dbg) override {
    return Append(data, options, dbg);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return GuardedIo([&]() -> IOStatus {
      const uint64_t size = fs_->SizeOf(*tracked_);  // before: others append meanwhile
      IOStatus status = FSWritableFileOwnerWrapper::Sync(options, dbg);
      return status.ok() ? NoteSync(size) : status;
    });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return GuardedIo([&]() -> IOStatus {
      const uint64_t size = fs_->SizeOf(*tracked_);
      IOStatus status = FSWritableFileOwnerWrapper::Fsync(options, dbg);
      return status.ok() ? NoteSync(size) : status;
    });
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* dbg) override {
    return GuardedIo([&]() -> IOStatus {
      IOStatus status = FSWritableFileOwnerWrapper::Truncate(size, options, dbg);
      if (status.ok()) fs_->SetSize(tracked_.get(), size);
      return status;
    });
  }
  IOStatus Allocate(uint64_t offset, uint64_t length, const IOOptions& options,
                    IODebugContext* dbg) override {
    return GuardedIo([&]() -> IOStatus {
      IOStatus status = FSWritableFileOwnerWrapper::Allocate(offset, length, options, dbg);
      if (status.ok()) fs_->SetSize(tracked_.get(), offset + length);
      return status;
    });
  }

 private:
  IOStatus NoteSync(uint64_t size) {
    fs_->NoteSync(tracked_.get(), size);
    return CheckPlace();
  }
  // The bytes are on the device; is the file still where an opening will look for it? One call of
  // stat beside a flush of the device.
  IOStatus CheckPlace() const {
    if (!place_.is_known() || FilePlace::Of(path_) == place_) return IOStatus::OK();
    return IsElsewhere(path_);
  }
  StoreFileSystem* const fs_;  // RocksDB closes its files before its file system goes
  const StoreFileSystem::TrackedFilePtr tracked_;
  std::string path_;
  FilePlace place_;
};

// Counts what is written in place; such a file never grows.
class CountingRandomRwFile : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  using IOStatus = rocksdb::IOStatus;
  using IOOptions = rocksdb::IOOptions;
  using IODebugContext = rocksdb::IODebugContext;
  using Slice = rocksdb::Slice;
  CountingRandomRwFile(std::unique_ptr<rocksdb::FSRandomRWFile> file, StoreFileSystem* fs,
                       FileKind kind)
      : FSRandomRWFileOwnerWrapper(std::move(file)), fs_(fs), kind_(kind) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* dbg) override {
    return GuardedIo([&]() -> IOStatus {
      IOStatus status = FSRandomRWFileOwnerWrapper::Write(offset, data, options, dbg);
      if (status.ok()) {
        fs_->bytes_written_[static_cast<size_t>(kind_)].fetch_add(data.size(),
                                                                  std::memory_order_relaxed);
      }
      return status;
    });
  }

 private:
  StoreFileSystem* const fs_;
  const FileKind kind_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_COUNTING_FILES_H_
