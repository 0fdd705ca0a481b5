// FaultFileSystem: a disk that fails on purpose, and one that is small.
#ifndef CISTERN_TESTS_SUPPORT_FAULT_FS_H_
#define CISTERN_TESTS_SUPPORT_FAULT_FS_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/file_kind.h"

namespace cistern {

enum class FaultOp : uint8_t {
  kWrite,    // append, write in place
  kSync,     // of a file
  kRead,     // any read of a file
  kCreate,   // a new file
  kRename,
  kDelete,
  kDirSync,
  kAnyChange,  // in a Fault: every one of the above but kRead
};

enum class FaultError : uint8_t {
  kEio,      // "Input/output error"
  kNoSpace,  // "No space left on device"; a write is done in half before it fails
  kReadOnlyFs,  // "Read-only file system"
  kTooManyFiles,  // "Too many open files"
};

struct Fault {
  FaultOp op = FaultOp::kWrite;
  std::optional<FileKind> kind = {};  // nothing: every file; ignored for kDirSync
  uint64_t nth = 1;              // the first, second, ... matching operation after Arm()
  bool forever = false;          // that one and every matching one after it
  FaultError error = FaultError::kEio;
};

// One fault is armed at a time. Put it below a store as StoreConfig::base_fs.
// Thread-safe.
class FaultFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // `base` null: the machine's file system.
  explicit FaultFileSystem(std::shared_ptr<rocksdb::FileSystem> base = nullptr);
  ~FaultFileSystem() override;

  void Arm(const Fault& fault);
  void Disarm();
  [[nodiscard]] uint64_t injected() const;
  // Operations that matched the armed fault since Arm(), failed or not: with `nth` out of
  // reach it counts a workload, for sweeps over every N.
  [[nodiscard]] uint64_t matched() const;

  // The disk has this many bytes for the files written through here (those there before
  // are not counted) and for others; 0: no limit.
  void SetDiskBytes(uint64_t bytes);
  // What "another process" occupies of them.
  void SetForeignBytes(uint64_t bytes);
  [[nodiscard]] uint64_t used_bytes() const;
  // Writes of logs, tables and MANIFESTs that it was too full for.
  [[nodiscard]] uint64_t refused() const;

  const char* Name() const override { return "FaultFileSystem"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock, rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 uint64_t* free_bytes, rocksdb::IODebugContext* dbg) override;

  // For the file classes in the .cc.
  rocksdb::IOStatus Check(FaultOp op, const std::string& path);
  // The file has so many bytes from here on.
  void GiveBack(const std::string& path, uint64_t size_bytes);
  // How many of `bytes` still fit; takes them.
  uint64_t TakeRoom(const std::string& path, uint64_t bytes);

 private:
  mutable std::mutex mutex_;
  std::optional<Fault> fault_;
  uint64_t matched_ = 0;
  uint64_t injected_ = 0;
  uint64_t refused_ = 0;
  uint64_t disk_bytes_ = 0;
  uint64_t foreign_bytes_ = 0;
  uint64_t used_bytes_ = 0;
  std::map<std::string, uint64_t> sizes_;
};

}  // namespace cistern

#endif  // CISTERN_TESTS_SUPPORT_FAULT_FS_H_
