// DeleteScope: which buckets a range or bucket delete writes a tombstone into.
#ifndef CISTERN_ENGINE_DELETE_SCOPE_H_
#define CISTERN_ENGINE_DELETE_SCOPE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "cistern/engine.h"
#include "engine/ingest/write_unit.h"
#include "engine/query/query_context.h"
#include "storage/table_set.h"

namespace cistern {

// Upstream may have rows in buckets of which the store holds nothing, but not in those that
// begin further ahead than rows may come: of these only such as the store holds something of
// have a tombstone. It would keep the others open until their time.
class DeleteScope {
 public:
  // `context` and `table` outlive it. `ahead_last_s`: the last time, in seconds since 1970, that
  // a row may have now; INT64_MAX: any.
  DeleteScope(const QueryContext* context, const Table* table, std::string_view entity,
              int64_t ahead_last_s)
      : context_(context), table_(table), entity_(entity), ahead_last_s_(ahead_last_s) {}

  // kTooLarge: more than limits::kDeleteBucketsMax partitions.
  [[nodiscard]] Result<std::vector<WriteUnit::BucketDelete>> OfRange(TimeRange range) const;
  // The bucket that holds `time`. kOutOfRange: none does, or nothing is in it and can be.
  [[nodiscard]] Result<std::vector<WriteUnit::BucketDelete>> OfBucket(int64_t time) const;

 private:
  // Starts of the entity's buckets, from the one that starts at `first_s` to that at `last_s`,
  // of which the store holds something; nullopt: damage hides it. Reads the whole inventory: for
  // what is far ahead.
  using Starts = std::optional<std::set<int64_t>>;
  [[nodiscard]] Result<Starts> Held(int64_t first_s, int64_t last_s) const;
  [[nodiscard]] Status Add(int64_t start_s, const RangeDelete& range,
                           std::vector<WriteUnit::BucketDelete>* deletes) const;

  const QueryContext* const context_;
  const Table* const table_;
  const std::string_view entity_;
  const int64_t ahead_last_s_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_DELETE_SCOPE_H_
