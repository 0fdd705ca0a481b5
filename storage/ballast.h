// Ballast: disk space held back so that a full disk does not keep the store shut.
#ifndef CISTERN_STORAGE_BALLAST_H_
#define CISTERN_STORAGE_BALLAST_H_

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "cistern/status.h"
#include "storage/store_config.h"

namespace cistern {

// Three times what memtables may have to be flushed for one opening (meta and spill
// buffer), plus 2 MiB for MANIFEST, WAL and LOG; at most 8 MiB and, with a disk
// budget, at most a sixteenth of it.
[[nodiscard]] uint64_t BallastBytes(const StoreConfig& config);

// The file BALLAST: blocks that are really taken, given back before opening when
// space is short. Recovery and maintenance may then finish, and retention can free
// space; so does maintenance where what gives space back finds none. One thread at a time, but any
// may ask whether it is held. `fs` must outlive it.
class Ballast {
 public:
  Ballast(rocksdb::FileSystem* fs, std::string directory, uint64_t bytes);

  [[nodiscard]] bool held() const { return held_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // Whether the file system has less free space than the ballast is worth.
  [[nodiscard]] bool IsSpaceShort() const;
  // Gives the space back. OK if nothing was held.
  [[nodiscard]] Status Release();
  // Takes the space if as much again stays free; otherwise kNoSpace, and nothing is
  // held. OK at once if it is held.
  [[nodiscard]] Status TryHold();

 private:
  [[nodiscard]] rocksdb::IOStatus Fill(const std::string& path) const;
  rocksdb::FileSystem* const fs_;
  const std::string directory_;
  const uint64_t bytes_;
  std::atomic<bool> held_ = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BALLAST_H_
