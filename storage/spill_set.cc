#include "storage/spill_set.h"

#include <algorithm>
#include <numeric>

namespace cistern {

SpillAction NextSpillAction(const std::vector<uint64_t>& family_bytes, const SpillLimits& limits) {
  if (family_bytes.empty()) return SpillAction::kRoll;
  const uint64_t total = std::accumulate(family_bytes.begin(), family_bytes.end(), uint64_t{0});
  if (family_bytes.back() >= std::max(limits.base_bytes, total / 2)) return SpillAction::kRoll;
  if (family_bytes.size() > limits.family_count_max) return SpillAction::kRewriteOldest;
  return SpillAction::kNone;
}

}  // namespace cistern
