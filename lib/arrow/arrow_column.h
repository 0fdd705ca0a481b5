// Columns as arrays of Arrow.
#ifndef CISTERN_ARROW_ARROW_COLUMN_H_
#define CISTERN_ARROW_ARROW_COLUMN_H_

#include <cstddef>
#include <cstdint>

#include "cistern/arrow.h"
#include "cistern/column_data.h"
#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Arrow's utf8, binary, list and map count by int32.
inline constexpr size_t kArrowOffsetMax = INT32_MAX;

// Fills *array with the cells of `data`, whose memory it keeps, and shows where Arrow's layout is
// the same. Every cell that is no value is null. REQUIRES: CheckShape(type, data, ...) is OK.
//   kInvalidArgument  a uuid, varint, decimal or collection that is none
//   kTooLarge         more bytes, or elements of collections, than `offset_max`
[[nodiscard]] Status ExportColumn(const ColumnType& type, ColumnData data, size_t offset_max,
                                  ArrowArray* array);

// Fills *array with a struct of `count` fields of `length` rows, all of them released: to be filled
// in through array->children.
void MakeStructArray(size_t count, size_t length, ArrowArray* array);

}  // namespace cistern

#endif  // CISTERN_ARROW_ARROW_COLUMN_H_
