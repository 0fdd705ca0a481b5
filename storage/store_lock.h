// StoreLock: one process writes a store.
#ifndef CISTERN_STORAGE_STORE_LOCK_H_
#define CISTERN_STORAGE_STORE_LOCK_H_

#include <rocksdb/file_system.h>

#include <memory>
#include <string>
#include <utility>

#include "cistern/result.h"
#include "storage/file_place.h"

namespace cistern {

inline constexpr char kStoreLockFileName[] = "CISTERN.lock";

// Holds an advisory lock from before the first file of the store is read until its
// owner goes. RocksDB has its own, but releases it between the attempts of recovery.
// The kernel frees it with the process, however that ends. Of one process too, a store is open
// once, by whatever path it is reached.
class StoreLock {
 public:
  // kLocked names the holder where the kernel tells; kReadOnly if the file cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<StoreLock>> Take(
      std::shared_ptr<rocksdb::FileSystem> fs, const std::string& directory);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  StoreLock(std::shared_ptr<rocksdb::FileSystem> fs, rocksdb::FileLock* lock, FilePlace place)
      : fs_(std::move(fs)), lock_(lock), place_(place) {}
  const std::shared_ptr<rocksdb::FileSystem> fs_;
  rocksdb::FileLock* const lock_;
  const FilePlace place_;  // of the file
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_STORE_LOCK_H_
