#include "storage/seal_cover.h"

#include <algorithm>

namespace cistern {

bool SealCover::Add(uint64_t round, const Result<Manifest>& manifest) {
  if (!manifest.ok() || !manifest->rotations) {
    round_ = std::max(round_, round);
    return true;
  }
  for (const SequenceInterval& i : *manifest->rotations) {
    for (uint64_t r = i.first; r < i.first + i.length; ++r) {
      if (!HasSequence(named_, r)) AddSequence(r, &named_);
    }
  }
  return false;
}

}  // namespace cistern
