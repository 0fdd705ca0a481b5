// What the policy of spill families (storage/spill_set.h) is to know of those of an open store.
#ifndef CISTERN_STORAGE_SPILL_STATS_H_
#define CISTERN_STORAGE_SPILL_STATS_H_

#include <vector>

#include "storage/spill_set.h"
#include "storage/store.h"

namespace cistern {

// Families are damaged that have lost files, or something else in them that was met and could
// not be read since the store was opened: rewriting them would fail after all the writing.
[[nodiscard]] std::vector<SpillStats> StatsOf(Store* store, const SpillView& view);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_STATS_H_
