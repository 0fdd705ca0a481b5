// SealCover: which of a bucket's segments in spill families its seals have.
#ifndef CISTERN_STORAGE_SEAL_COVER_H_
#define CISTERN_STORAGE_SEAL_COVER_H_

#include <cstdint>
#include <vector>

#include "cistern/result.h"
#include "storage/seal_records.h"

namespace cistern {

// A seal has all segments of the bucket that rotations of before its round wrote, unless its
// manifest names those that it has: then it is a piece, or a file could not be read. What it does
// not name is open, a file's rows when that is back. One bucket, one thread.
class SealCover {
 public:
  // Adds a seal of the bucket, in any order; null: its manifest cannot be read, and it has all.
  // Whether it has all: none of an earlier round adds anything.
  bool Add(uint64_t round, const Manifest* manifest);
  bool Add(uint64_t round, const Result<Manifest>& manifest) {
    return Add(round, manifest.ok() ? &*manifest : nullptr);
  }

  [[nodiscard]] bool is_empty() const { return round_ == 0 && named_.empty(); }
  // Whether the bucket's segment of that rotation is sealed.
  [[nodiscard]] bool Has(uint64_t rotation) const;

 private:
  // The rotations that a seal has which names them, all of before its round.
  struct Named {
    uint64_t round = 0;
    SequenceIntervals rotations;
  };
  uint64_t round_ = 0;  // the newest whose seal has all of before it
  std::vector<Named> named_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEAL_COVER_H_
