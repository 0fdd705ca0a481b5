// Encodes rows into pages. The bytes are specified in FORMAT.md.
#ifndef CISTERN_SEGMENT_PAGE_BUILDER_H_
#define CISTERN_SEGMENT_PAGE_BUILDER_H_

#include <cstddef>
#include <string>

#include "cistern/schema.h"
#include "lib/codec/codec_select.h"
#include "lib/row/version_columns.h"

namespace cistern {

// Where a page that begins at row `begin` must end: at most row_count_max rows, and about
// 1 MiB of cells (8 bytes a number). At least one row, if there is one.
[[nodiscard]] size_t PageEnd(const TableSchema& schema, const VersionColumns& rows, size_t begin,
                             size_t row_count_max);

// Encodes rows begin..end-1, sorted by the caller, as one page. Values must be of their
// column's type (a boolean 0 or 1, an int within 32 bits, a float's bits zero-extended),
// clustering columns all values, version flags and cell states known ones.
//
// REQUIRES: begin < end <= PageEnd(schema, rows, begin, kPageRowsMax). `cache` is the
// table's own, or null; the page reads the same with any.
[[nodiscard]] std::string EncodePage(const TableSchema& schema, const VersionColumns& rows,
                                     size_t begin, size_t end, CodecCache* cache);

}  // namespace cistern

#endif  // CISTERN_SEGMENT_PAGE_BUILDER_H_
