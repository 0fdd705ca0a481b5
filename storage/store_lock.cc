#include "storage/store_lock.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

#include "storage/rocksdb_status.h"

namespace cistern {
namespace {

// The process that holds a lock on the file, or 0. Asks /proc/locks: opening the file
// and closing it again would free a lock of this very process.
int HolderOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  std::array<char, 64> place;
  std::snprintf(place.data(), place.size(), "%02x:%02x:%" PRIu64, major(info.st_dev),
                minor(info.st_dev), static_cast<uint64_t>(info.st_ino));
  std::ifstream locks("/proc/locks");
  std::string number;
  std::string kind;
  std::string mode;
  std::string access;
  int process = 0;
  std::string at;
  std::string rest;
  while (locks >> number >> kind >> mode >> access >> process >> at) {
    std::getline(locks, rest);
    if (at == place.data() && process > 0) return process;
  }
  return 0;
}

// " (cistern)": what the process is called, where the system tells.
std::string NameOf(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? name : " (" + name + ")";
}

}  // namespace

Result<std::unique_ptr<StoreLock>> StoreLock::Take(std::shared_ptr<rocksdb::FileSystem> fs,
                                                   const std::string& directory) {
  const std::string path = directory + "/" + kStoreLockFileName;
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::IOStatus locked = fs->LockFile(path, rocksdb::IOOptions(), &lock, nullptr);
  if (locked.ok()) return std::unique_ptr<StoreLock>(new StoreLock(std::move(fs), lock));
  Status status = ToStatus(locked, "locking " + directory);
  if (status.code() != StatusCode::kLocked) return status;
  const int holder = HolderOf(path);
  const bool here = holder == ::getpid();
  return Status::Locked("the store " + directory + " is open in " +
                        (holder > 0 ? "process " + std::to_string(holder) + NameOf(holder)
                                    : "another place") +
                        (here ? ", this one: close the engine and destroy its cursors"
                              : "; close it there"));
}

StoreLock::~StoreLock() {
  fs_->UnlockFile(lock_, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
}

}  // namespace cistern
