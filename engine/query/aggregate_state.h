// AggregateState: the values of one step, or of one of its groups, added up. Pure.
#ifndef CISTERN_ENGINE_QUERY_AGGREGATE_STATE_H_
#define CISTERN_ENGINE_QUERY_AGGREGATE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/status.h"
#include "engine/query/aggregate_plan.h"
#include "lib/row/version_columns.h"

namespace cistern {

// One thread at a time. The plan must outlive it.
class AggregateState {
 public:
  explicit AggregateState(const AggregatePlan* plan)
      : plan_(plan), columns_(plan->columns().size()) {}

  void Clear();
  // Visible rows, which follow those that were added before: begin..end-1, or those of `picked`,
  // whose numbers ascend. `scratch` is any vector, so that many states share its memory.
  void AddRows(const VersionColumns& rows, size_t begin, size_t end, std::vector<int64_t>* scratch);
  void AddPicked(const VersionColumns& rows, std::span<const uint32_t> picked,
                 std::vector<int64_t>* scratch);
  // Rows of which only this is known of the plan's column k; it must suffice.
  void AddStatistics(size_t k, const ColumnStatistics& statistics);
  // Appends the results to one column each, whose lanes are set. kOutOfRange: a sum is beyond 64
  // bits.
  [[nodiscard]] Status Emit(std::vector<ColumnData>* out);
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  struct Column {
    ColumnSummary summary;  // of the bytes lane the count alone
    // Of the values so far, if statistics gave it at once: not in `summary` then.
    std::optional<CompactSum> only_sum;
    std::string min;        // of the bytes lane
    std::string max;
    std::string first;
    std::string last;
  };
  void AddFixed(size_t k, std::span<const int64_t> values);
  void AddBytes(size_t k, const ColumnData& data, size_t i);
  [[nodiscard]] Status Emit(const AggregatePlan::Output& output, ColumnData* out);
  static void AddOnlySum(Column* column);
  [[nodiscard]] static double RoundedSum(const Column& column);

  const AggregatePlan* const plan_;
  std::vector<Column> columns_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_AGGREGATE_STATE_H_
