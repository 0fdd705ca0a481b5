// A segment as a file and as text: what tests/golden keeps of each. README.md describes both.
#ifndef CISTERN_TESTS_GOLDEN_SEGMENT_FILE_H_
#define CISTERN_TESTS_GOLDEN_SEGMENT_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/row/version_columns.h"
#include "lib/segment/segment_header.h"

namespace cistern::testing {

struct SegmentValues {
  std::string header;
  std::vector<std::string> pages;
};

// The header's size (u32, lowest byte first), the header, the pages one behind another.
[[nodiscard]] std::string PackSegment(const SegmentValues& segment);

// A line for each row version.
[[nodiscard]] std::string RowsText(const TableSchema& schema, const VersionColumns& rows);

// What a header says of a segment of the schema's table: a line for it, for each delete, for each
// page and for what its statistics tell.
[[nodiscard]] Result<std::string> HeaderText(const TableSchema& schema,
                                             const SegmentHeader& header);

// What a segment file of the table that `cql` declares says, rows and all else. Errors
// are those of the decoders, or kCorruption where the file is not made of a header and its pages.
[[nodiscard]] Result<std::string> SegmentText(std::string_view cql, std::string_view file);

// A manifest (lib/segment/FORMAT.md) as text, in the same manner.
[[nodiscard]] Result<std::string> ManifestText(std::string_view cql, std::string_view record);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_GOLDEN_SEGMENT_FILE_H_
