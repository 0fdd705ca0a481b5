// Which int64 values a column of the fixed lane may hold, and column errors in one wording.
#ifndef CISTERN_ROW_VALUE_CHECK_H_
#define CISTERN_ROW_VALUE_CHECK_H_

#include <cstdint>
#include <string_view>

#include "cistern/column_data.h"
#include "cistern/schema.h"
#include "cistern/status.h"
#include "lib/cql/cql_type.h"

namespace cistern {

// Slots of the fixed lane that are valid for `kind`, both ends included. Doubles take
// every bit pattern, floats every 32-bit one.
[[nodiscard]] FixedRange SlotRangeOf(CqlType kind);

// kOutOfRange, naming the type's bounds, unless `value` is valid for `type`.
[[nodiscard]] Status CheckFixed(const ColumnType& type, int64_t value);

// kInvalidArgument unless `data` has the lane of `type`, `rows` cells, and parts that fit together,
// so that reading the cells stays in bounds. Of the values it says nothing.
[[nodiscard]] Status CheckShape(const ColumnType& type, const ColumnData& data, size_t rows);

// `status` with "column 'name': " before its message.
[[nodiscard]] Status InColumn(const ColumnSpec& column, const Status& status);

// Bytes of one entity or clustering column inside an encoded key: a 16-bit length and
// the value; `byte_count` counts only on the bytes lane.
[[nodiscard]] inline size_t KeyPartBytes(Lane lane, size_t byte_count) {
  return 2 + (lane == Lane::kFixed ? 8 : byte_count);
}

}  // namespace cistern

#endif  // CISTERN_ROW_VALUE_CHECK_H_
