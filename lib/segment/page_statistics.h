// What is told of the rows of a page, or of several, without their values. The bytes are
// specified in FORMAT.md; they are in segment headers and in manifests.
#ifndef CISTERN_SEGMENT_PAGE_STATISTICS_H_
#define CISTERN_SEGMENT_PAGE_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/row/column_summary.h"
#include "lib/row/version_columns.h"
#include "lib/segment/segment_header.h"

namespace cistern {

// Of one column. Where `has_bounds`, min and max are order keys and first and last values of the
// fixed lane, of those of `count` cells that are values; else nothing is known of the values, or
// there are none.
struct ColumnStatistics {
  uint64_t count = 0;
  bool has_bounds = false;
  int64_t min = 0;
  int64_t max = 0;
  int64_t first = 0;
  int64_t last = 0;
  std::optional<CompactSum> sum;
};

// The statistics of rows begin..end-1, to be one page. Empty if there are none, since
//   - they are few (segment_format::kStatisticsRowsMin): statistics must not outweigh them,
//   - or a row is not all that there is of its key in the page, is deleted or deletes, has no
//     marker and no value, or waits for the base of its boot: the page alone does not tell then
//     what is visible of it.
// REQUIRES: rows are sorted, as for EncodePage.
[[nodiscard]] std::string PageStatisticsOf(const TableSchema& schema, const VersionColumns& rows,
                                           size_t begin, size_t end);

// Statistics of `row_count` rows.
struct StatisticsPart {
  std::string_view statistics;
  uint64_t row_count = 0;
};
// Those of all rows of a segment. Empty if a page has none, or a key may go on from one into the
// next. `header` is of a segment written under `schema`.
[[nodiscard]] std::string SegmentStatisticsOf(const TableSchema& schema,
                                              const SegmentHeader& header);

// What statistics say of a clustering or regular column other than the event time, whose values
// they do not have: the header has its bounds. kCorruption names the field. REQUIRES: not empty.
[[nodiscard]] Result<ColumnStatistics> ReadColumnStatistics(const TableSchema& schema,
                                                            const StatisticsPart& part,
                                                            size_t column);
// What they say of the rows as such.
struct RowStatistics {
  uint32_t expiry_s_first = 0;  // the earliest second at which one of them expires; 0: none does
  // All have their marker. Others show as they are under the table's version that they were
  // written in alone, as they live by their values.
  bool all_marked = true;
};
[[nodiscard]] Result<RowStatistics> ReadRowStatistics(std::string_view statistics);

// Both, for who reads the same columns of many statistics. Any number of threads.
class StatisticsReader {
 public:
  // `columns`, ascending, are as those of ReadColumnStatistics. The schema must outlive this.
  StatisticsReader(const TableSchema& schema, std::span<const size_t> columns);
  // *out has as many as there are columns. kCorruption as above. REQUIRES: not empty.
  [[nodiscard]] Status Read(const StatisticsPart& part, RowStatistics* rows,
                            std::span<ColumnStatistics> out) const;

 private:
  struct Wanted {
    size_t column = 0;
    CqlType type{};
    size_t skipped = 0;  // columns that stand between it and the wanted one before
  };
  const TableSchema* schema_;
  std::vector<Wanted> wanted_;
  size_t skipped_behind_ = 0;  // columns behind the last one
};

}  // namespace cistern

#endif  // CISTERN_SEGMENT_PAGE_STATISTICS_H_
