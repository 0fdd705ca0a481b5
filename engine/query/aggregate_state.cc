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
  for (Column& column : columns_) {
    column.summary.Clear();
    column.only_sum.reset();
  }
}

void AggregateState::AddRows(const VersionColumns& rows, size_t begin, size_t end,
                             std::vector<int64_t>* scratch) {
  for (size_t k = 0; k < columns_.size(); ++k) {
    const ColumnData& data = rows.columns[plan_->columns()[k].column];
    if (data.lane == Lane::kBytes) {
      for (size_t i = begin; i < end; ++i) AddBytes(k, data, i);
      continue;
    }
    std::span<const int64_t> values(data.fixed.data() + begin, end - begin);
    if (!data.states.empty()) {
      scratch->clear();
      for (size_t i = begin; i < end; ++i) {
        if (data.states[i] == CellState::kValue) scratch->push_back(data.fixed[i]);
      }
      values = *scratch;
    }
    AddFixed(k, values);
  }
}

void AggregateState::AddPicked(const VersionColumns& rows, std::span<const uint32_t> picked,
                               std::vector<int64_t>* scratch) {
  for (size_t k = 0; k < columns_.size(); ++k) {
    const ColumnData& data = rows.columns[plan_->columns()[k].column];
    if (data.lane == Lane::kBytes) {
      for (const uint32_t i : picked) AddBytes(k, data, i);
      continue;
    }
    scratch->clear();
    for (const uint32_t i : picked) {
      if (data.state(i) == CellState::kValue) scratch->push_back(data.fixed[i]);
    }
    AddFixed(k, *scratch);
  }
}

void AggregateState::AddFixed(size_t k, std::span<const int64_t> values) {
  const AggregatePlan::Column& plan = plan_->columns()[k];
  AddOnlySum(&columns_[k]);
  columns_[k].summary.Add(plan.type.kind, plan.parts, values);
}

void AggregateState::AddBytes(size_t k, const ColumnData& data, size_t i) {
  if (data.state(i) != CellState::kValue) return;
  const AggregatePlan::Column& plan = plan_->columns()[k];
  Column& column = columns_[k];
  const bool is_first = column.summary.count++ == 0;
  if (!plan.parts.bounds && !plan.ends) return;
  const std::string_view value = data.bytes(i);
  if (plan.ends && is_first) column.first = value;
  if (plan.ends) column.last = value;
  if (!plan.parts.bounds) return;
  if (is_first || CompareValues(plan.type, 0, value, 0, column.min) < 0) column.min = value;
  if (is_first || CompareValues(plan.type, 0, value, 0, column.max) > 0) column.max = value;
}

void AggregateState::AddStatistics(size_t k, const ColumnStatistics& statistics) {
  if (statistics.count == 0) return;
  AddOnlySum(&columns_[k]);
  ColumnSummary& summary = columns_[k].summary;
  const bool is_first = summary.count == 0;
  summary.min = is_first ? statistics.min : std::min(summary.min, statistics.min);
  summary.max = is_first ? statistics.max : std::max(summary.max, statistics.max);
  if (is_first) summary.first = statistics.first;
  summary.last = statistics.last;
  summary.count += statistics.count;
  if (!plan_->columns()[k].parts.sum) return;
  if (is_first) {
    columns_[k].only_sum = statistics.sum;
  } else {
    summary.sum.Add(*statistics.sum);
  }
}

// Another one comes.
void AggregateState::AddOnlySum(Column* column) {
  if (!column->only_sum) return;
  column->summary.sum.Add(*column->only_sum);
  column->only_sum.reset();
}

double AggregateState::RoundedSum(const Column& column) {
  return column.only_sum ? Round(*column.only_sum) : column.summary.sum.Round();
}

size_t AggregateState::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) {
    for (const std::string* text : {&column.min, &column.max, &column.first, &column.last}) {
      bytes += text->capacity();
    }
  }
  return bytes;
}

Status AggregateState::Emit(std::vector<ColumnData>* out) {
  for (size_t i = 0; i < plan_->outputs().size(); ++i) {
    CISTERN_RETURN_IF_ERROR(Emit(plan_->outputs()[i], &(*out)[i]));
  }
  return Status::Ok();
}

Status AggregateState::Emit(const AggregatePlan::Output& output, ColumnData* out) {
  const AggregatePlan::Column& plan = plan_->columns()[output.column];
  Column& column = columns_[output.column];
  const ColumnSummary& summary = column.summary;
  const bool is_fixed = out->lane == Lane::kFixed;
  if (output.function != AggregateFunction::kCount && summary.count == 0) {
    out->AppendMissing(CellState::kNull);
    return Status::Ok();
  }
  switch (output.function) {
    case AggregateFunction::kCount:
      out->AppendFixed(static_cast<int64_t>(summary.count));
      break;
    case AggregateFunction::kMin:
      is_fixed ? out->AppendFixed(FromOrderKey(plan.type.kind, summary.min))
               : out->AppendBytes(column.min);
      break;
    case AggregateFunction::kMax:
      is_fixed ? out->AppendFixed(FromOrderKey(plan.type.kind, summary.max))
               : out->AppendBytes(column.max);
      break;
    case AggregateFunction::kFirst:
      is_fixed ? out->AppendFixed(summary.first) : out->AppendBytes(column.first);
      break;
    case AggregateFunction::kLast:
      is_fixed ? out->AppendFixed(summary.last) : out->AppendBytes(column.last);
      break;
    case AggregateFunction::kAvg:
      out->AppendFixed(BitsOf(RoundedSum(column) / static_cast<double>(summary.count)));
      break;
    case AggregateFunction::kSum: {
      if (plan.type.kind == CqlType::kFloat || plan.type.kind == CqlType::kDouble) {
        out->AppendFixed(BitsOf(RoundedSum(column)));
        break;
      }
      AddOnlySum(&column);
      const std::optional<int64_t> sum = summary.sum.ToInteger();
      if (!sum) return Status::OutOfRange("a sum is beyond 64 bits: ask for avg, or smaller steps");
      out->AppendFixed(*sum);
      break;
    }
  }
  return Status::Ok();
}

}  // namespace cistern
