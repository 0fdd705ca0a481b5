// RotationTimes: when the rows of rotations were written.
#ifndef CISTERN_STORAGE_ROTATION_TIMES_H_
#define CISTERN_STORAGE_ROTATION_TIMES_H_

#include <cstdint>
#include <map>
#include <optional>

#include "lib/row/reconcile.h"
#include "storage/spill_reader.h"
#include "storage/spill_set.h"
#include "storage/table_set.h"

namespace cistern {

// Write timestamps, microseconds since 1970, inclusive.
struct WriteTimes {
  int64_t first_us = 0;
  int64_t last_us = 0;
};

// No header and no record tells them, and they are asked for seldom: the first page of a segment is
// read, once. It stands for all that was spilled with it, which the age of a head bounds; where
// rotations were gathered into one, for its segment alone. One thread.
class RotationTimes {
 public:
  // About those of the segment. Nothing: its first page cannot be read.
  [[nodiscard]] std::optional<WriteTimes> Of(const SegmentRef& segment, const TablePtr& table,
                                             const BootBases& bases);
  // Forgets those that the view does not have.
  void ForgetBut(const SpillView& view);

 private:
  // By segment; of a rotation by the last number that a segment of it could have.
  std::map<uint64_t, std::optional<WriteTimes>> known_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_ROTATION_TIMES_H_
