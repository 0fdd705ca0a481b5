#include "storage/seal_cover.h"

#include <algorithm>

namespace cistern {

bool SealCover::Add(uint64_t round, const Manifest* manifest) {
  if (manifest == nullptr || !manifest->rotations) {
    round_ = std::max(round_, round);
    return true;
  }
  named_.push_back({round, *manifest->rotations});
  return false;
}

bool SealCover::Has(uint64_t rotation) const {
  if (rotation < round_) return true;
  return std::any_of(named_.begin(), named_.end(), [rotation](const Named& named) {
    return rotation < named.round && HasSequence(named.rotations, rotation);
  });
}

}  // namespace cistern
