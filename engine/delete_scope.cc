#include "engine/delete_scope.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "engine/query/inventory.h"
#include "lib/base/concat.h"

namespace cistern {

Result<DeleteScope::Starts> DeleteScope::Held(int64_t first_s, int64_t last_s) const {
  const Damage& damage = context_->store->damage();
  if (!damage.FamiliesThatMayHide(table_->id, first_s, last_s).empty()) return Starts();
  std::set<int64_t> starts;
  const BucketScope scope{table_->id, std::string(entity_)};
  const Status visited = VisitBuckets(*context_, scope, [&](const BucketSummary& bucket) {
    const int64_t start_s = bucket.key.start_s;
    if (start_s >= first_s && start_s <= last_s) starts.insert(start_s);
    return start_s <= last_s;
  });
  if (visited.code() == StatusCode::kCorruption) return Starts();
  CISTERN_RETURN_IF_ERROR(visited);
  return Starts(std::move(starts));
}

Status DeleteScope::Add(int64_t start_s, const RangeDelete& range,
                        std::vector<WriteUnit::BucketDelete>* deletes) const {
  const uint32_t splits = std::max<uint32_t>(table_->schema->split.count, 1);
  for (uint32_t split = 0; split < splits; ++split) {
    if (deletes->size() == limits::kDeleteBucketsMax) {
      return Status::TooLarge(Concat({"the range touches more than ", limits::kDeleteBucketsMax,
          " partitions: delete it in parts"}));
    }
    deletes->push_back({start_s, split, range});
  }
  return Status::Ok();
}

Result<std::vector<WriteUnit::BucketDelete>> DeleteScope::OfRange(TimeRange range) const {
  const Bucketer bucketer(*table_->schema);
  const int64_t first = std::max(range.from, bucketer.min_ticks());
  const int64_t last = std::min(range.to - 1, bucketer.max_ticks());
  std::vector<WriteUnit::BucketDelete> deletes;
  if (first > last) return deletes;
  const RangeDelete tombstone{range.from, range.to, 0, 0};
  const int64_t end_s = bucketer.StartOf(last);
  int64_t s = bucketer.StartOf(first);
  int64_t last_s = std::min(end_s, ahead_last_s_);
  Starts held;
  if (end_s > ahead_last_s_) {
    CISTERN_ASSIGN_OR_RETURN(held, Held(std::max(s, ahead_last_s_ + 1), end_s));
    if (!held) last_s = end_s;
  }
  for (; s <= last_s; s = bucketer.Next(s)) {
    CISTERN_RETURN_IF_ERROR(Add(s, tombstone, &deletes));
  }
  if (!held) return deletes;
  for (const int64_t start_s : *held) {
    CISTERN_RETURN_IF_ERROR(Add(start_s, tombstone, &deletes));
  }
  return deletes;
}

Result<std::vector<WriteUnit::BucketDelete>> DeleteScope::OfBucket(int64_t time) const {
  const TableSchema& schema = *table_->schema;
  CISTERN_ASSIGN_OR_RETURN(const BucketSpan span, BucketOf(schema, time));
  if (span.start_s > ahead_last_s_) {
    CISTERN_ASSIGN_OR_RETURN(const Starts held, Held(span.start_s, span.start_s));
    if (held && held->empty()) {
      return Status::OutOfRange(Concat({"table ", schema.QualifiedName(),
          ": the bucket of event time ", time, " (", TimeUnitWord(schema.time_unit),
          " since 1970) begins ", span.start_s - ahead_last_s_, " s after the last time that a row "
          "may have now, and nothing is in it; check the time"}));
    }
  }
  std::vector<WriteUnit::BucketDelete> deletes;
  CISTERN_RETURN_IF_ERROR(Add(span.start_s, RangeDelete{}, &deletes));
  return deletes;
}

}  // namespace cistern
