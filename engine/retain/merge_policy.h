// Which windows become one when there are as many as there may be. Pure.
#ifndef CISTERN_ENGINE_RETAIN_MERGE_POLICY_H_
#define CISTERN_ENGINE_RETAIN_MERGE_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/seal_records.h"

namespace cistern {

struct MergeCandidate {
  WindowSpan span;
  uint64_t byte_count = 0;  // that a merge would copy
  size_t dictionary_count = 0;
};

// Two to eight neighbours of one class, by number, oldest first, that have at most
// limits::kMergedDictionariesMax together: those that cost the fewest copied bytes for each family
// that they give back, among all that together are no wider than half of how long ago they were, as
// seen from `now_s`; where none are, than twice that, and so on. Nothing: no class has two.
//
// So widths grow with age as in an exponential histogram (Datar, Gionis, Indyk, Motwani:
// Maintaining Stream Statistics over Sliding Windows, 2002): n windows reach back by an
// exponential of n, and a row is copied a logarithm of times.
[[nodiscard]] std::vector<size_t> NextToMerge(std::span<const MergeCandidate> windows,
                                              int64_t now_s);

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_MERGE_POLICY_H_
