// ScanShape: what a scan wants of a table.
#ifndef CISTERN_ENGINE_QUERY_SCAN_SHAPE_H_
#define CISTERN_ENGINE_QUERY_SCAN_SHAPE_H_

#include <cstddef>
#include <vector>

#include "engine/query/row_filter.h"
#include "storage/table_set.h"
#include "storage/version_source.h"

namespace cistern {

// Which rows and columns a scan wants; shared by its readers.
struct ScanShape {
  TablePtr table;
  TimeSpan span;
  std::vector<size_t> regular;  // wanted regular columns, those of the filter too
  std::vector<bool> wanted;     // per schema column, for decoders
  RowFilter filter{};           // by the columns of `table`
  uint64_t limit = 0;           // no more rows than that are wanted of all; 0: no limit

  // Whether it wants so few rows that what a bucket consists of is worth finding out downwards too:
  // they are then picked from their page, where nothing has to be merged.
  [[nodiscard]] bool WantsFew() const {
    return limit > 0 && limit <= kFewRows && filter.empty();
  }
  static constexpr uint64_t kFewRows = 64;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SCAN_SHAPE_H_
