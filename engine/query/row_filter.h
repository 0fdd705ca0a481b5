// RowFilter: which rows a scan gives, and which pages can have none of them. Pure.
#ifndef CISTERN_ENGINE_QUERY_ROW_FILTER_H_
#define CISTERN_ENGINE_QUERY_ROW_FILTER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "cistern/options.h"
#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/cql/wire_value.h"
#include "lib/row/reconcile.h"
#include "lib/segment/segment_header.h"

namespace cistern {

// The conditions of one scan, all of which a row must meet. Immutable; no condition meets all.
class RowFilter {
 public:
  RowFilter() = default;
  // kInvalidArgument names the condition; kTooLarge: more than limits::kConditionsMax.
  [[nodiscard]] static Result<RowFilter> Make(const TableSchema& schema,
                                              const std::vector<Condition>& where);

  [[nodiscard]] bool empty() const { return terms_.empty(); }
  [[nodiscard]] bool Uses(size_t column) const;

  // Row i, whose cells are all of `rows`.
  [[nodiscard]] bool Matches(const VersionColumns& rows, size_t i) const;
  // The row of `key` as `merger` has just merged it; `regular` are the merger's columns.
  [[nodiscard]] bool Matches(const VersionRef& key, const RowMerger& merger,
                             const std::vector<size_t>& regular) const;

  // False only if no row of the page, by its bounds and statistics, can match. `header` is of the
  // version of the table that the filter is of. True where the statistics are damaged.
  [[nodiscard]] bool MayMatch(const TableSchema& schema, const SegmentHeader& header,
                              const PageInfo& page) const;

 private:
  struct Term {
    size_t column = 0;
    ColumnType type;
    bool is_clustering = false;
    Comparison comparison = Comparison::kEqual;
    CellValue value;
    int64_t key = 0;  // of the value, on the fixed lane
  };
  [[nodiscard]] static bool Meets(const Term& term, int64_t fixed, std::string_view bytes);
  [[nodiscard]] static bool MeetsCell(const Term& term, const ColumnData& column, size_t i);
  [[nodiscard]] static bool MayMeet(const Term& term, int64_t min, int64_t max);

  std::vector<Term> terms_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_ROW_FILTER_H_
