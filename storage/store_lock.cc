#include "storage/store_lock.h"

#include <unistd.h>

#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "lib/base/concat.h"
#include "lib/base/unwind_guard.h"
#include "storage/lock_table.h"
#include "storage/rocksdb_status.h"

namespace cistern {
namespace {

// " (cistern)": what the process is called, where the system tells.
std::string NameOf(int process) {
  std::ifstream file(Concat({"/proc/", process, "/comm"}));
  std::string name;
  std::getline(file, name);
  return name.empty() ? name : Concat({" (", name, ")"});
}

// The lock files that this process holds. The kernel lets a process lock a file that it holds, and
// frees the lock when any of its descriptors is closed: a store that was moved, or that has two
// paths, would be opened twice, so the file must not even be touched.
struct HeldFiles {
  std::mutex mutex;
  std::set<FilePlace> places;
};
HeldFiles& AllHeldFiles() {
  static HeldFiles held;
  return held;
}

Status IsHeld(const std::string& directory, const std::string& path) {
  const int holder = LockHolderOf(path);
  const bool here = holder == ::getpid();
  return Status::Locked(Concat({"the store ", directory, " is open in ",
      (holder > 0 ? Concat({"process ", holder, NameOf(holder)}) : "another place"),
      (here ? ", this one: close the engine and destroy its cursors" : "; close it there")}));
}

}  // namespace

Result<std::unique_ptr<StoreLock>> StoreLock::Take(std::shared_ptr<rocksdb::FileSystem> fs,
                                                   const std::string& directory) {
  const std::string path = Concat({directory, "/", kStoreLockFileName});
  HeldFiles& held = AllHeldFiles();
  const std::lock_guard guard(held.mutex);
  if (held.places.contains(FilePlace::Of(path))) return IsHeld(directory, path);
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::IOStatus locked = fs->LockFile(path, rocksdb::IOOptions(), &lock, nullptr);
  if (locked.ok()) {
    const FilePlace place = FilePlace::Of(path);
    const UnwindGuard unowned([&] {
      held.places.erase(place);
      fs->UnlockFile(lock, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
    });
    if (place.is_known()) held.places.insert(place);
    return std::unique_ptr<StoreLock>(new StoreLock(fs, lock, place));
  }
  const Status status = ToStatus(locked, "locking " + directory);
  return status.code() == StatusCode::kLocked ? IsHeld(directory, path) : status;
}

StoreLock::~StoreLock() {
  HeldFiles& held = AllHeldFiles();
  const std::lock_guard guard(held.mutex);
  held.places.erase(place_);
  fs_->UnlockFile(lock_, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
}

}  // namespace cistern
