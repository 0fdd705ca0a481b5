// Ballast: disk space held back so that a full disk does not keep the store shut.
#ifndef CISTERN_STORAGE_BALLAST_H_
#define CISTERN_STORAGE_BALLAST_H_

#include <rocksdb/file_system.h>

#include <algorithm>
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
// space; so does maintenance where what gives space back finds none. Maintenance leaves a quarter
// of the ballast to the next opening: others may take what maintenance gives back. One thread at a
// time, but any may ask what is held. `fs` must outlive it.
class Ballast {
 public:
  Ballast(rocksdb::FileSystem* fs, std::string directory, uint64_t bytes);

  // Whether all of it is.
  [[nodiscard]] bool held() const { return missing_bytes() == 0; }
  [[nodiscard]] bool is_empty() const { return size_bytes_ == 0; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // What is to be taken again.
  [[nodiscard]] uint64_t missing_bytes() const { return bytes_ - std::min(bytes_, Size()); }
  // What ReleaseSpare gives back.
  [[nodiscard]] uint64_t spare_bytes() const { return Size() - std::min(OpeningBytes(), Size()); }
  // Whether the file system has less free space than the ballast is worth.
  [[nodiscard]] bool IsSpaceShort() const;
  // Gives all of the space back; for an opening. OK if nothing was held.
  [[nodiscard]] Status Release();
  // Gives back what no opening needs.
  [[nodiscard]] Status ReleaseSpare();
  // Takes what is missing if as much as the ballast stays free; otherwise kNoSpace, and as much is
  // held as before. OK at once if all is.
  [[nodiscard]] Status TryHold();

 private:
  [[nodiscard]] uint64_t Size() const { return size_bytes_; }
  [[nodiscard]] uint64_t OpeningBytes() const { return bytes_ / 4; }
  void Measure();
  [[nodiscard]] std::string Path() const;
  [[nodiscard]] rocksdb::IOStatus Fill() const;
  rocksdb::FileSystem* const fs_;
  const std::string directory_;
  const uint64_t bytes_;
  std::atomic<uint64_t> size_bytes_ = 0;  // of the file
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BALLAST_H_
