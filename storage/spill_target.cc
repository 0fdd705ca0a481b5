#include "storage/spill_target.h"

#include "storage/spill_stats.h"

namespace cistern {

Result<SpillTarget> TakeSpillTarget(Store* store, const SpillLimits& limits) {
  const auto view = store->spills().view();
  if (const auto newest = RotationTarget(StatsOf(store, *view), limits)) {
    return SpillTarget{view->families[*newest]->id, view->families[*newest]->family};
  }
  SpillTarget target;
  CISTERN_ASSIGN_OR_RETURN(target.id, store->NextSequence());
  CISTERN_ASSIGN_OR_RETURN(target.family, store->CreateSpill(target.id));
  return target;
}

}  // namespace cistern
