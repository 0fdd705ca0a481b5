// Text of a cell into a row: one place for every type, for files and command lines alike.
#ifndef CISTERN_TOOLS_CELL_TEXT_H_
#define CISTERN_TOOLS_CELL_TEXT_H_

#include <cstdint>
#include <string_view>

#include "cistern/result.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "cistern/status.h"
#include "tools/time_text.h"

namespace cistern::tool {

// The integer that `text` is, be it written as another number would be: "8", "+8", "8.0", "1.2e1".
// kInvalidArgument: it is none; kOutOfRange: it does not fit, or lost digits to its exponent. The
// message says what of the text, "does not fit in 64 bits".
[[nodiscard]] Result<int64_t> ParseInteger(std::string_view text);

// Sets `column` of the open row of `batch` from `text`.
//
// Numbers are read exactly: integers in their type's range, doubles and floats to the nearest
// value. The event time and timestamp columns go by `format`; its base is added to the event time
// only, and its unit may be of that alone. Spaces around a value are ignored except in text. Errors
// name the column.
[[nodiscard]] Status SetCellFromText(size_t column, std::string_view text,
                                     const TimeFormat& format, RowBatch* batch);

// Event time of a row in the table's ticks.
[[nodiscard]] int64_t RowTime(const RowBatch& batch, size_t row);

// Copies row `row` of `from` as it is into `to`, a batch of the same table.
[[nodiscard]] Status CopyRow(const RowBatch& from, size_t row, RowBatch* to);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_CELL_TEXT_H_
