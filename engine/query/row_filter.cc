#include "engine/query/row_filter.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <string>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/cql/value_text.h"
#include "lib/row/column_summary.h"
#include "lib/row/row_order.h"
#include "lib/segment/page_statistics.h"

namespace cistern {

namespace {

bool Holds(Comparison comparison, std::strong_ordering order) {
  switch (comparison) {
    case Comparison::kEqual: return order == 0;
    case Comparison::kNotEqual: return order != 0;
    case Comparison::kLess: return order < 0;
    case Comparison::kLessOrEqual: return order <= 0;
    case Comparison::kGreater: return order > 0;
    case Comparison::kGreaterOrEqual: return order >= 0;
  }
  return false;
}

Result<size_t> ColumnOf(const TableSchema& schema, const std::string& name) {
  const std::optional<size_t> column = schema.FindColumn(name);
  if (!column) {
    std::string known;
    for (const ColumnSpec& c : schema.columns) known += (known.empty() ? "" : ", ") + c.name;
    return Status::InvalidArgument(Concat({"condition: table ", schema.QualifiedName(),
        " has no column '", name, "'; it has ", known}));
  }
  const ColumnSpec& spec = schema.columns[*column];
  if (spec.role != ColumnRole::kClustering && spec.role != ColumnRole::kRegular) {
    return Status::InvalidArgument(Concat({"condition: column '", name,
        "' is part of the partition key: choose by the entity and by the range of time"}));
  }
  if (HasOrder(spec.type.kind)) return *column;
  return Status::InvalidArgument(Concat({"condition: column '", name, "' is of type ",
      spec.type.ToCql(), ", whose values are not compared here"}));
}

}  // namespace

Result<RowFilter> RowFilter::Make(const TableSchema& schema,
                                  const std::vector<Condition>& where) {
  if (where.size() > limits::kConditionsMax) {
    return Status::TooLarge(Concat({"more than ", limits::kConditionsMax, " conditions"}));
  }
  RowFilter filter;
  for (const Condition& condition : where) {
    Term term;
    CISTERN_ASSIGN_OR_RETURN(term.column, ColumnOf(schema, condition.column));
    const ColumnSpec& spec = schema.columns[term.column];
    term.type = spec.type;
    term.is_clustering = spec.role == ColumnRole::kClustering;
    term.comparison = condition.comparison;
    const Status parsed = ParseValueText(term.type, condition.value, &term.value);
    if (!parsed.ok()) {
      return Status(parsed.code(), Concat({"condition on column '", condition.column, "': ",
          parsed.message()}));
    }
    if (term.type.lane() == Lane::kFixed) term.key = OrderKey(term.type.kind, term.value.fixed);
    filter.terms_.push_back(std::move(term));
  }
  return filter;
}

bool RowFilter::Uses(size_t column) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [column](const Term& t) { return t.column == column; });
}

bool RowFilter::Meets(const Term& term, int64_t fixed, std::string_view bytes) {
  if (term.type.lane() == Lane::kFixed) {
    return Holds(term.comparison, OrderKey(term.type.kind, fixed) <=> term.key);
  }
  return Holds(term.comparison, CompareValues(term.type, 0, bytes, 0, term.value.bytes));
}

bool RowFilter::MeetsCell(const Term& term, const ColumnData& column, size_t i) {
  if (column.state(i) != CellState::kValue) return false;
  return column.lane == Lane::kFixed ? Meets(term, column.fixed[i], {})
                                     : Meets(term, 0, column.bytes(i));
}

bool RowFilter::Matches(const VersionColumns& rows, size_t i) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return MeetsCell(term, rows.columns[term.column], i);
  });
}

bool RowFilter::Matches(const VersionRef& key, const RowMerger& merger,
                        const std::vector<size_t>& regular) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (term.is_clustering) return MeetsCell(term, key.rows->columns[term.column], key.index);
    const auto at = std::find(regular.begin(), regular.end(), term.column);
    const auto winner = merger.winner(static_cast<size_t>(at - regular.begin()));
    return winner && MeetsCell(term, winner->rows->columns[term.column], winner->index);
  });
}

// Whether a value of min..max, order keys, may meet the term.
bool RowFilter::MayMeet(const Term& term, int64_t min, int64_t max) {
  switch (term.comparison) {
    case Comparison::kEqual: return min <= term.key && term.key <= max;
    case Comparison::kNotEqual: return min != term.key || max != term.key;
    case Comparison::kLess: return min < term.key;
    case Comparison::kLessOrEqual: return min <= term.key;
    case Comparison::kGreater: return max > term.key;
    case Comparison::kGreaterOrEqual: return max >= term.key;
  }
  return true;
}

bool RowFilter::MayMatch(const TableSchema& schema, const SegmentHeader& header,
                         const PageInfo& page) const {
  const StatisticsPart part{header.StatisticsOf(page), page.row_count};
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (term.column == schema.time_column()) {
      const bool is_number = term.type.lane() == Lane::kFixed;
      return !is_number || MayMeet(term, page.first_time, page.last_time);
    }
    if (part.statistics.empty()) return true;
    const Result<ColumnStatistics> s = ReadColumnStatistics(schema, part, term.column);
    if (!s.ok()) return true;
    if (s->count == 0) return false;
    return !s->has_bounds || MayMeet(term, s->min, s->max);
  });
}

}  // namespace cistern
