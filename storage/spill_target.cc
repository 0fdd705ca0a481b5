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

SpillCommit CommitOf(const SpillTarget& target, uint64_t rotation, const SpillWriter& writer) {
  SpillCommit commit;
  commit.family_id = target.id;
  commit.family = target.family;
  commit.rotations = {rotation};
  commit.version_count = writer.version_count();
  commit.byte_count = writer.byte_count();
  return commit;
}

}  // namespace cistern
