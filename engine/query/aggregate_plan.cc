#include "engine/query/aggregate_plan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "lib/base/concat.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {

const char* NameOf(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::kCount: return "count";
    case AggregateFunction::kMin: return "min";
    case AggregateFunction::kMax: return "max";
    case AggregateFunction::kSum: return "sum";
    case AggregateFunction::kAvg: return "avg";
    case AggregateFunction::kFirst: return "first";
    case AggregateFunction::kLast: return "last";
  }
  return "?";
}

bool IsBound(AggregateFunction f) {
  return f == AggregateFunction::kMin || f == AggregateFunction::kMax;
}
bool IsEnd(AggregateFunction f) {
  return f == AggregateFunction::kFirst || f == AggregateFunction::kLast;
}
bool IsSum(AggregateFunction f) {
  return f == AggregateFunction::kSum || f == AggregateFunction::kAvg;
}

bool IsFloating(CqlType type) { return type == CqlType::kFloat || type == CqlType::kDouble; }

ColumnType TypeOf(const ColumnType& of, AggregateFunction function) {
  if (function == AggregateFunction::kCount) return {CqlType::kBigint, {}};
  if (function == AggregateFunction::kAvg) return {CqlType::kDouble, {}};
  if (function != AggregateFunction::kSum) return of;
  return {IsFloating(of.kind) ? CqlType::kDouble : CqlType::kBigint, {}};
}

Status Refuse(const ColumnSpec& spec, AggregateFunction function, const std::string& why) {
  return Status::InvalidArgument(Concat({NameOf(function), " of column '", spec.name,
      "', which is of type ", spec.type.ToCql(), ": ", why}));
}

Status CheckFunction(const ColumnSpec& spec, bool is_time, AggregateFunction function) {
  if (IsSum(function) && (is_time || !HasSum(spec.type.kind))) {
    return Refuse(spec, function,
                  "tinyint to bigint, float and double are added up, but not the event time");
  }
  if (IsBound(function) && !HasOrder(spec.type.kind)) {
    return Refuse(spec, function, "its values are not compared here");
  }
  return Status::Ok();
}

Result<size_t> ColumnOf(const TableSchema& schema, const std::string& name) {
  const std::optional<size_t> c = schema.FindColumn(name);
  if (!c) {
    std::string known;
    for (const ColumnSpec& s : schema.columns) known += (known.empty() ? "" : ", ") + s.name;
    return Status::InvalidArgument(Concat({"table ", schema.QualifiedName(), " has no column '",
        name, "'; it has ", known}));
  }
  const ColumnSpec& spec = schema.columns[*c];
  if (spec.role != ColumnRole::kClustering && spec.role != ColumnRole::kRegular) {
    return Status::InvalidArgument(Concat({"column '", spec.name, "' is part of the partition "
        "key, the same in all rows of it"}));
  }
  return *c;
}

}  // namespace

Result<AggregatePlan> AggregatePlan::Make(const TableSchema& schema,
                                          const AggregateRequest& request) {
  if (request.from >= request.to) {
    return Status::InvalidArgument("the range of the aggregate is empty: from must be before to");
  }
  if (request.step_of ? request.step != 0 : request.step < 1) {
    return Status::InvalidArgument(
        "the step of an aggregate is at least 1 tick; or step_of gives its steps, and step is 0");
  }
  if (request.of.empty()) return Status::InvalidArgument("the aggregate asks for no column");
  if (request.of.size() > limits::kAggregatesMax) {
    return Status::TooLarge(Concat({"an aggregate asks for at most ", limits::kAggregatesMax,
        " results"}));
  }
  AggregatePlan plan;
  plan.from_ = request.from;
  plan.to_ = request.to;
  plan.step_ = request.step;
  plan.step_of_ = request.step_of;
  for (const AggregateColumn& asked : request.of) {
    CISTERN_RETURN_IF_ERROR(plan.Add(schema, asked));
  }
  if (request.group_by.size() > limits::kGroupColumnsMax) {
    return Status::TooLarge(Concat({"an aggregate has groups by at most ",
        limits::kGroupColumnsMax, " columns"}));
  }
  for (const std::string& name : request.group_by) {
    CISTERN_RETURN_IF_ERROR(plan.AddGroup(schema, name));
  }
  return plan;
}

Status AggregatePlan::AddGroup(const TableSchema& schema, const std::string& name) {
  CISTERN_ASSIGN_OR_RETURN(const size_t c, ColumnOf(schema, name));
  const ColumnSpec& spec = schema.columns[c];
  if (c == schema.time_column()) {
    return Status::InvalidArgument(Concat({"groups by column '", name,
        "': it is the event time, which the steps divide"}));
  }
  if (!HasOrder(spec.type.kind)) {
    return Status::InvalidArgument(Concat({"groups by column '", name, "', which is of type ",
        spec.type.ToCql(), ": its values are not compared here"}));
  }
  if (std::find(group_columns_.begin(), group_columns_.end(), c) != group_columns_.end()) {
    return Status::InvalidArgument(Concat({"groups by column '", name, "' twice"}));
  }
  group_columns_.push_back(c);
  return Status::Ok();
}

bool AggregatePlan::Uses(size_t column) const {
  const bool is_grouped =
      std::find(group_columns_.begin(), group_columns_.end(), column) != group_columns_.end();
  return is_grouped || std::any_of(columns_.begin(), columns_.end(), [column](const Column& c) {
           return c.column == column;
         });
}

Status AggregatePlan::Add(const TableSchema& schema, const AggregateColumn& asked) {
  CISTERN_ASSIGN_OR_RETURN(const size_t c, ColumnOf(schema, asked.column));
  const ColumnSpec& spec = schema.columns[c];
  const bool is_time = c == schema.time_column();
  CISTERN_RETURN_IF_ERROR(CheckFunction(spec, is_time, asked.function));
  auto at = std::find_if(columns_.begin(), columns_.end(),
                         [&](const Column& known) { return known.column == c; });
  if (at == columns_.end()) {
    columns_.push_back({c, spec.type, is_time});
    at = columns_.end() - 1;
  }
  at->parts.bounds |= IsBound(asked.function);
  at->parts.sum |= IsSum(asked.function);
  at->ends |= IsEnd(asked.function);
  has_ends_ |= at->ends;
  outputs_.push_back({static_cast<size_t>(at - columns_.begin()), asked.function});
  types_.push_back(TypeOf(spec.type, asked.function));
  return Status::Ok();
}

AggregateStep AggregatePlan::FindStep(int64_t time) const {
  if (step_of_) {
    const AggregateStep step = step_of_(time);
    return step.first <= time && time <= step.last ? step : AggregateStep{time, time};
  }
  const int64_t rest = time % step_;
  const int64_t back = rest < 0 ? rest + step_ : rest;
  if (time < INT64_MIN + back) return {INT64_MIN, INT64_MIN - INT64_MIN % step_ - 1};
  const int64_t first = time - back;
  return {first, first > INT64_MAX - (step_ - 1) ? INT64_MAX : first + (step_ - 1)};
}

// Mostly without the division that FindStep takes.
AggregateStep AggregatePlan::StepOf(int64_t time,
                                    const std::optional<AggregateStep>& before) const {
  if (!before) return FindStep(time);
  if (before->first <= time && time <= before->last) return *before;
  const bool is_next = !step_of_ && before->last <= INT64_MAX - step_ && time > before->last &&
                       time <= before->last + step_;
  return is_next ? AggregateStep{before->last + 1, before->last + step_} : FindStep(time);
}

std::optional<AggregateStep> AggregatePlan::StepOfAll(
    const TimeExtent& times, const std::optional<AggregateStep>& before) const {
  if (!IsInRange(times.first) || !IsInRange(times.last)) return std::nullopt;
  const AggregateStep step = StepOf(times.first, before);
  return step.last >= times.last ? std::optional(step) : std::nullopt;
}

bool AggregatePlan::Suffices(const Column& column, const ColumnStatistics& statistics) {
  if (statistics.count == 0) return true;
  if ((column.parts.bounds || column.ends) && !statistics.has_bounds) return false;
  return !column.parts.sum || statistics.sum.has_value();
}

}  // namespace cistern
