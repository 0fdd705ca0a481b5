// AggregatePlan: what an aggregate asks for, worked out once. Pure.
#ifndef CISTERN_ENGINE_QUERY_AGGREGATE_PLAN_H_
#define CISTERN_ENGINE_QUERY_AGGREGATE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/result.h"
#include "cistern/schema.h"
#include "engine/query/stretches.h"
#include "lib/row/column_summary.h"
#include "lib/segment/page_statistics.h"

namespace cistern {

class AggregatePlan {
 public:
  // A column, and what is asked of it by all functions together.
  struct Column {
    size_t column = 0;  // of the schema
    ColumnType type;
    bool is_time = false;
    SummaryParts parts{.bounds = false, .sum = false};
    bool ends = false;  // first or last
  };
  // A column of the result.
  struct Output {
    size_t column = 0;  // an index into columns()
    AggregateFunction function = AggregateFunction::kCount;
  };

  // kInvalidArgument, kTooLarge: as Engine::Aggregate has them.
  [[nodiscard]] static Result<AggregatePlan> Make(const TableSchema& schema,
                                                  const AggregateRequest& request);

  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<Output>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<ColumnType>& types() const { return types_; }  // of outputs
  [[nodiscard]] const std::vector<size_t>& group_columns() const { return group_columns_; }
  [[nodiscard]] bool has_ends() const { return has_ends_; }
  // Whether the column of the schema is read for a result or for the groups.
  [[nodiscard]] bool Uses(size_t column) const;

  // The step that the time is in, without what of it would lie outside of 64 bits. `before`, a step
  // or nothing, changes nothing, but that step and the next one are found fastest.
  [[nodiscard]] AggregateStep StepOf(int64_t time,
                                     const std::optional<AggregateStep>& before) const;
  // The step of rows of these times, if they are all asked for and of one.
  [[nodiscard]] std::optional<AggregateStep> StepOfAll(
      const TimeExtent& times, const std::optional<AggregateStep>& before) const;
  [[nodiscard]] bool IsWhole(const TimeExtent& times) const {
    return StepOfAll(times, std::nullopt).has_value();
  }
  // Whether some of these times are asked for.
  [[nodiscard]] bool Meets(const TimeExtent& times) const {
    return times.last >= from_ && (times.first < to_ || to_ == INT64_MAX);
  }
  [[nodiscard]] bool IsInRange(int64_t time) const {
    return time >= from_ && (time < to_ || to_ == INT64_MAX);
  }
  [[nodiscard]] int64_t from() const { return from_; }
  [[nodiscard]] int64_t to() const { return to_; }

  // Whether statistics tell all that is asked of the column.
  [[nodiscard]] static bool Suffices(const Column& column, const ColumnStatistics& statistics);

 private:
  [[nodiscard]] AggregateStep FindStep(int64_t time) const;
  [[nodiscard]] Status Add(const TableSchema& schema, const AggregateColumn& asked);
  [[nodiscard]] Status AddGroup(const TableSchema& schema, const std::string& name);

  int64_t from_ = INT64_MIN;
  int64_t to_ = INT64_MAX;
  int64_t step_ = 1;  // unless there is step_of_
  std::function<AggregateStep(int64_t)> step_of_;
  bool has_ends_ = false;
  std::vector<Column> columns_;
  std::vector<Output> outputs_;
  std::vector<ColumnType> types_;
  std::vector<size_t> group_columns_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_AGGREGATE_PLAN_H_
