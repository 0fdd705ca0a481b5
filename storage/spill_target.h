// SpillTarget: the family that the next rotation writes into.
#ifndef CISTERN_STORAGE_SPILL_TARGET_H_
#define CISTERN_STORAGE_SPILL_TARGET_H_

#include <cstdint>

#include "storage/spill_set.h"
#include "storage/spill_writer.h"
#include "storage/store.h"

namespace cistern {

struct SpillTarget {
  uint64_t id = 0;
  FamilyPtr family;
};

// The newest family that takes more (RotationTarget), or a new one: that has no record before
// a rotation commits. Belongs to the maintenance actor.
[[nodiscard]] Result<SpillTarget> TakeSpillTarget(Store* store, const SpillLimits& limits);

// What makes a rotation count that was written into the target. The state is left to the caller.
[[nodiscard]] SpillCommit CommitOf(const SpillTarget& target, uint64_t rotation,
                                   const SpillWriter& writer);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_TARGET_H_
