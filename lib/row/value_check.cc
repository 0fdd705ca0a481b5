#include "lib/row/value_check.h"

#include <string>

#include "lib/base/concat.h"

namespace cistern {

FixedRange SlotRangeOf(CqlType kind) {
  if (kind == CqlType::kDouble) return {INT64_MIN, INT64_MAX};
  if (kind == CqlType::kFloat) return {0, UINT32_MAX};
  return FixedRangeOf(kind);
}

Status CheckFixed(const ColumnType& type, int64_t value) {
  const FixedRange range = SlotRangeOf(type.kind);
  if (value >= range.min && value <= range.max) return Status::Ok();
  return Status::OutOfRange(Concat({value, " does not fit ", type.ToCql(), " (", range.min, " to ",
      range.max, ")"}));
}

Status CheckShape(const ColumnType& type, const ColumnData& data, size_t rows) {
  if (data.lane != type.lane()) {
    return Status::InvalidArgument(Concat({"is ", type.ToCql(), " and takes the other lane"}));
  }
  if (data.size() != rows) {
    return Status::InvalidArgument(Concat({"has ", data.size(), " values in a batch of ", rows,
        " rows"}));
  }
  if (!data.states.empty() && data.states.size() != rows) {
    return Status::InvalidArgument("has as many states as values, or none");
  }
  if (data.lane == Lane::kFixed || rows == 0) return Status::Ok();
  if (data.offsets.front() != 0 || data.offsets.back() > data.heap.size()) {
    return Status::InvalidArgument("has offsets outside its heap");
  }
  for (size_t i = 0; i < rows; ++i) {
    if (data.offsets[i] > data.offsets[i + 1]) {
      return Status::InvalidArgument("has offsets that go back");
    }
  }
  return Status::Ok();
}

Status InColumn(const ColumnSpec& column, const Status& status) {
  return {status.code(), Concat({"column '", column.name, "': ", status.message()})};
}

}  // namespace cistern
