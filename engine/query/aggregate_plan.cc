#include "engine/query/aggregate_plan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "lib/base/concat.h"

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
  if (IsBound(function) &&
      (spec.type.kind >= CqlType::kList || spec.type.kind == CqlType::kDecimal)) {
    return Refuse(spec, function, "its values are not compared here");
  }
  return Status::Ok();
}

}  // namespace

Result<AggregatePlan> AggregatePlan::Make(const TableSchema& schema,
                                          const AggregateRequest& request) {
  if (request.from >= request.to) {
    return Status::InvalidArgument("the range of the aggregate is empty: from must be before to");
  }
  if (request.step < 1) {
    return Status::InvalidArgument("the step of an aggregate is at least 1 tick");
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
  for (const AggregateColumn& asked : request.of) {
    CISTERN_RETURN_IF_ERROR(plan.Add(schema, asked));
  }
  return plan;
}

Status AggregatePlan::Add(const TableSchema& schema, const AggregateColumn& asked) {
  const std::optional<size_t> c = schema.FindColumn(asked.column);
  if (!c) {
    std::string known;
    for (const ColumnSpec& s : schema.columns) known += (known.empty() ? "" : ", ") + s.name;
    return Status::InvalidArgument(Concat({"table ", schema.QualifiedName(), " has no column '",
        asked.column, "'; it has ", known}));
  }
  const ColumnSpec& spec = schema.columns[*c];
  if (spec.role != ColumnRole::kClustering && spec.role != ColumnRole::kRegular) {
    return Status::InvalidArgument(Concat({"column '", spec.name, "' is part of the partition "
        "key, the same in all rows of it"}));
  }
  const bool is_time = *c == schema.time_column();
  CISTERN_RETURN_IF_ERROR(CheckFunction(spec, is_time, asked.function));
  auto at = std::find_if(columns_.begin(), columns_.end(),
                         [&](const Column& known) { return known.column == *c; });
  if (at == columns_.end()) {
    columns_.push_back({*c, spec.type, is_time});
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

int64_t AggregatePlan::StepOf(int64_t time) const {
  const int64_t rest = time % step_;
  const int64_t back = rest < 0 ? rest + step_ : rest;
  return time < INT64_MIN + back ? INT64_MIN : time - back;
}

// Of the step that was cut off below, what is left of it.
int64_t AggregatePlan::StepEnd(int64_t start) const {
  if (start == INT64_MIN && INT64_MIN % step_ != 0) return INT64_MIN - INT64_MIN % step_ - 1;
  return start > INT64_MAX - (step_ - 1) ? INT64_MAX : start + (step_ - 1);
}

// Without the division that StepOf takes. A step that is cut off below has no next one here.
bool AggregatePlan::IsOfNext(int64_t start, int64_t time) const {
  if (start == INT64_MIN || start > INT64_MAX - step_) return false;
  return time >= start + step_ && time <= StepEnd(start + step_);
}

std::optional<int64_t> AggregatePlan::StepOfAll(const TimeExtent& times,
                                                std::optional<int64_t> before) const {
  if (!IsInRange(times.first) || !IsInRange(times.last)) return std::nullopt;
  const bool is_next = before && IsOfNext(*before, times.first);
  const int64_t step = is_next ? *before + step_ : StepOf(times.first);
  return StepEnd(step) >= times.last ? std::optional(step) : std::nullopt;
}

bool AggregatePlan::Suffices(const Column& column, const ColumnStatistics& statistics) {
  if (statistics.count == 0) return true;
  if ((column.parts.bounds || column.ends) && !statistics.has_bounds) return false;
  return !column.parts.sum || statistics.sum.has_value();
}

}  // namespace cistern
