#include "lib/row/value_check.h"

#include <string>

namespace cistern {

FixedRange SlotRangeOf(CqlType kind) {
  if (kind == CqlType::kDouble) return {INT64_MIN, INT64_MAX};
  if (kind == CqlType::kFloat) return {0, UINT32_MAX};
  return FixedRangeOf(kind);
}

Status CheckFixed(const ColumnType& type, int64_t value) {
  const FixedRange range = SlotRangeOf(type.kind);
  if (value >= range.min && value <= range.max) return Status::Ok();
  return Status::OutOfRange(std::to_string(value) + " does not fit " + type.ToCql() + " (" +
                            std::to_string(range.min) + " to " + std::to_string(range.max) + ")");
}

Status InColumn(const ColumnSpec& column, const Status& status) {
  return {status.code(), "column '" + column.name + "': " + status.message()};
}

}  // namespace cistern
