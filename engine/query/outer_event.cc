#include "engine/query/outer_event.h"

#include <algorithm>
#include <limits>

#include "engine/query/bucket_walk.h"
#include "engine/query/sealed_pages.h"

namespace cistern {

Result<std::optional<int64_t>> ToldOuterEvent(const QueryContext& context, const TablePtr& table,
                                              const EntityKey& entity, bool last) {
  using Limits = std::numeric_limits<int64_t>;
  // Nobody knows what was in those.
  if (!context.store->damage().lost_rotations().empty()) return std::optional<int64_t>();
  BucketWalk walk(&context, table->id, entity.bytes, last,
                  table->schema->split_column.has_value(), /*wants_few=*/true);
  CISTERN_ASSIGN_OR_RETURN(const std::optional<FoundBucket> found,
                           walk.Find(last ? Limits::max() : Limits::min()));
  std::optional<int64_t> time;
  if (!found || found->view == nullptr) return time;
  const std::vector<bool> none(table->schema->columns.size());
  SealedPages pages(&context, table, &none);
  for (const BucketOutline& split : found->parts) {
    const bool is_sound = last ? split.last_is_sound : split.first_is_sound;
    if (split.row_count == 0 || !is_sound || !pages.ShowsAsItIs(split)) {
      return std::optional<int64_t>();
    }
    const int64_t outer = last ? split.last_time : split.first_time;
    if (!time) time = outer;
    time = last ? std::max(*time, outer) : std::min(*time, outer);
  }
  return time;
}

}  // namespace cistern
