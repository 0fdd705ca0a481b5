#include "storage/spill_stats.h"

#include <algorithm>

namespace cistern {

std::vector<SpillStats> StatsOf(Store* store, const SpillView& view) {
  std::vector<SpillStats> stats = StatsOf(view);
  const std::vector<LostTable>& lost = store->db().opened().lost_tables;
  for (size_t i = 0; i < stats.size(); ++i) {
    const uint64_t id = view.families[i]->id;
    stats[i].damaged = store->damage().versions_in(id) > 0 ||
                       std::any_of(lost.begin(), lost.end(), [id](const LostTable& table) {
                         return table.kind == FamilyKind::kSpill && table.family_id == id;
                       });
  }
  return stats;
}

}  // namespace cistern
