// AggregateGroups: the rows of one step, added up by group. Pure.
#ifndef CISTERN_ENGINE_QUERY_AGGREGATE_GROUPS_H_
#define CISTERN_ENGINE_QUERY_AGGREGATE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/result.h"
#include "cistern/status.h"
#include "engine/query/aggregate_plan.h"
#include "engine/query/aggregate_state.h"
#include "engine/query/row_filter.h"
#include "lib/row/version_columns.h"

namespace cistern {

// One group alone where the plan has no columns to group by. One thread at a time. The plan must
// outlive it.
class AggregateGroups {
 public:
  AggregateGroups(const AggregatePlan* plan, const TableSchema& schema);

  // Visible rows begin..end-1, which follow those that were added before.
  // REQUIRES: the plan has no columns to group by.
  void AddRows(const VersionColumns& rows, size_t begin, size_t end);
  // Adds the `picked` ones of visible rows; their numbers ascend. Gives how many were added, from
  // the first on. The call ends early where new groups took kGrowthBytes: the caller charges the
  // memory, and adds the rest. kTooLarge: more than limits::kAggregateGroupsMax.
  [[nodiscard]] Result<size_t> AddPicked(const VersionColumns& rows,
                                         std::span<const uint32_t> picked);
  // As AggregateState. REQUIRES: the plan has no columns to group by.
  void AddStatistics(size_t k, const ColumnStatistics& statistics);

  static constexpr size_t kGrowthBytes = 1 << 20;

  // How many groups there are. Without columns to group by: 1, whatever was added.
  [[nodiscard]] size_t size() const { return size_; }
  // Appends a line for each group to out->groups and out->columns, in the order of the groups'
  // values, and begins anew. Errors as AggregateState::Emit.
  [[nodiscard]] Status Emit(AggregateBatch* out);
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  [[nodiscard]] Result<size_t> GroupOf(const VersionColumns& rows, size_t i);
  void Clear();
  [[nodiscard]] bool IsBefore(size_t a, size_t b) const;

  const AggregatePlan* const plan_;
  std::vector<ColumnType> types_;        // of the columns to group by
  size_t size_ = 0;
  std::vector<AggregateState> states_;   // by group; those behind size_ are clear, for later
  std::vector<ColumnData> values_;       // of the groups, one for each column to group by
  std::unordered_map<std::string, size_t> groups_;  // by the bytes of their values
  std::vector<std::vector<uint32_t>> picked_;       // by group; empty between two calls
  size_t grown_bytes_ = 0;               // by new groups, of the rows at hand
  std::string key_;                      // scratch, as are
  std::vector<size_t> met_;
  std::vector<int64_t> dense_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_AGGREGATE_GROUPS_H_
