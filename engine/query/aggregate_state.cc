#include "engine/query/aggregate_state.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "lib/row/row_order.h"

namespace cistern {

namespace {

int64_t BitsOf(double value) { return std::bit_cast<int64_t>(value); }

}  // namespace

void AggregateState::Clear() {
  for (Column& column : columns_) column.summary.Clear();
}

void AggregateState::AddRows(const VersionColumns& rows, size_t begin, size_t end) {
  for (size_t k = 0; k < columns_.size(); ++k) {
    const AggregatePlan::Column& plan = plan_->columns()[k];
    const ColumnData& data = rows.columns[plan.column];
    if (data.lane == Lane::kBytes) {
      AddBytes(k, data, begin, end);
      continue;
    }
    std::span<const int64_t> values(data.fixed.data() + begin, end - begin);
    if (!data.states.empty()) {
      dense_.clear();
      for (size_t i = begin; i < end; ++i) {
        if (data.states[i] == CellState::kValue) dense_.push_back(data.fixed[i]);
      }
      values = dense_;
    }
    columns_[k].summary.Add(plan.type.kind, plan.parts, values);
  }
}

void AggregateState::AddBytes(size_t k, const ColumnData& data, size_t begin, size_t end) {
  const AggregatePlan::Column& plan = plan_->columns()[k];
  const bool is_counted_alone = !plan.parts.bounds && !plan.ends;
  for (size_t i = begin; i < end; ++i) {
    if (data.state(i) != CellState::kValue) continue;
    if (is_counted_alone) {
      ++columns_[k].summary.count;
    } else {
      AddBytes(k, data.bytes(i));
    }
  }
}

void AggregateState::AddBytes(size_t k, std::string_view value) {
  const AggregatePlan::Column& plan = plan_->columns()[k];
  Column& column = columns_[k];
  const bool is_first = column.summary.count++ == 0;
  if (plan.ends && is_first) column.first = value;
  if (plan.ends) column.last = value;
  if (!plan.parts.bounds) return;
  if (is_first || CompareValues(plan.type, 0, value, 0, column.min) < 0) column.min = value;
  if (is_first || CompareValues(plan.type, 0, value, 0, column.max) > 0) column.max = value;
}

void AggregateState::AddStatistics(size_t k, const ColumnStatistics& statistics) {
  if (statistics.count == 0) return;
  ColumnSummary& summary = columns_[k].summary;
  const bool is_first = summary.count == 0;
  summary.min = is_first ? statistics.min : std::min(summary.min, statistics.min);
  summary.max = is_first ? statistics.max : std::max(summary.max, statistics.max);
  if (is_first) summary.first = statistics.first;
  summary.last = statistics.last;
  summary.count += statistics.count;
  if (plan_->columns()[k].parts.sum) summary.sum.Add(*statistics.sum);
}

Status AggregateState::Emit(std::vector<ColumnData>* out) const {
  for (size_t i = 0; i < plan_->outputs().size(); ++i) {
    CISTERN_RETURN_IF_ERROR(Emit(plan_->outputs()[i], &(*out)[i]));
  }
  return Status::Ok();
}

Status AggregateState::Emit(const AggregatePlan::Output& output, ColumnData* out) const {
  const AggregatePlan::Column& plan = plan_->columns()[output.column];
  const Column& column = columns_[output.column];
  const ColumnSummary& summary = column.summary;
  const auto append = [&](int64_t fixed, const std::string& bytes) {
    plan.type.lane() == Lane::kFixed ? out->AppendFixed(fixed) : out->AppendBytes(bytes);
  };
  if (output.function != AggregateFunction::kCount && summary.count == 0) {
    out->AppendMissing(CellState::kNull);
    return Status::Ok();
  }
  switch (output.function) {
    case AggregateFunction::kCount:
      out->AppendFixed(static_cast<int64_t>(summary.count));
      break;
    case AggregateFunction::kMin:
      append(FromOrderKey(plan.type.kind, summary.min), column.min);
      break;
    case AggregateFunction::kMax:
      append(FromOrderKey(plan.type.kind, summary.max), column.max);
      break;
    case AggregateFunction::kFirst: append(summary.first, column.first); break;
    case AggregateFunction::kLast: append(summary.last, column.last); break;
    case AggregateFunction::kAvg:
      out->AppendFixed(BitsOf(summary.sum.Round() / static_cast<double>(summary.count)));
      break;
    case AggregateFunction::kSum: {
      if (plan.type.kind == CqlType::kFloat || plan.type.kind == CqlType::kDouble) {
        out->AppendFixed(BitsOf(summary.sum.Round()));
        break;
      }
      const std::optional<int64_t> sum = summary.sum.ToInteger();
      if (!sum) return Status::OutOfRange("a sum is beyond 64 bits: ask for avg, or smaller steps");
      out->AppendFixed(*sum);
      break;
    }
  }
  return Status::Ok();
}

}  // namespace cistern
