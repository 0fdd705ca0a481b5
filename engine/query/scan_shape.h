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
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_SCAN_SHAPE_H_
