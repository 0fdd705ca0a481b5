#include "tools/cell_text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <string>

#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"
#include "lib/row/row_order.h"
#include "tools/decimal_text.h"

namespace cistern::tool {
namespace {

Status Refuse(const ColumnSpec& column, std::string_view text, std::string_view why) {
  const std::string_view shown = text.substr(0, 80);
  return Status::InvalidArgument(fmt::format("column '{}': '{}' {}", column.name, shown, why));
}

Status OfColumn(const ColumnSpec& column, const Status& status) {
  return {status.code(), fmt::format("column '{}': {}", column.name, status.message())};
}

// A number without the plus sign that from_chars does not know.
std::string_view WithoutPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

// An integer that is written as another number would be: 8.0 or 1.5e1.
Result<int64_t> ParseWholeDecimal(std::string_view text) {
  Decimal decimal;
  const bool is_number = TakeApart(text, &decimal);
  if (is_number && decimal.LostDigits()) {
    return Status::OutOfRange(
        fmt::format("has {} of its {} digits: the others are lost, write all of them",
                    decimal.digits.size(), decimal.point));
  }
  const std::optional<ScaledInteger> number = is_number ? ToScaledInteger(decimal) : std::nullopt;
  if (!number || number->exponent < 0) return Status::InvalidArgument("is not an integer");
  WideInt value = number->value;
  for (int i = 0; i < number->exponent; ++i) {
    if (value < INT64_MIN || value > INT64_MAX) break;
    value *= 10;
  }
  if (value < INT64_MIN || value > INT64_MAX) return Status::OutOfRange("does not fit in 64 bits");
  return static_cast<int64_t>(value);
}

Status SetInteger(size_t index, const ColumnSpec& column, std::string_view text, RowBatch* batch) {
  const Result<int64_t> value = ParseInteger(text);
  if (value.ok()) return batch->SetInt(index, *value);
  const bool is_none = value.status().code() == StatusCode::kInvalidArgument;
  return Refuse(column, text,
                value.status().message() +
                    (is_none ? fmt::format(", as {} needs", column.type.ToCql()) : ""));
}

template <typename Float>
Status SetFloating(size_t index, const ColumnSpec& column, std::string_view text,
                   RowBatch* batch) {
  const std::string_view digits = WithoutPlus(text);
  Float value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    return Refuse(column, text, fmt::format("is beyond the range of {}", column.type.ToCql()));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Refuse(column, text, "is not a number");
  }
  if constexpr (sizeof(Float) == sizeof(double)) {
    return batch->SetDouble(index, value);
  } else {
    return batch->SetFloat(index, value);
  }
}

Status SetTime(size_t index, const ColumnSpec& column, std::string_view text,
               const TimeFormat& format, TimeUnit unit, RowBatch* batch) {
  Result<Instant> instant = ParseTime(text, format, unit);
  if (!instant.ok()) return OfColumn(column, instant.status());
  Result<int64_t> ticks = ToTicks(*instant, format, unit, text);
  if (!ticks.ok()) return OfColumn(column, ticks.status());
  return batch->SetInt(index, *ticks);
}

Status SetOther(size_t index, const ColumnSpec& column, std::string_view text, RowBatch* batch) {
  CellValue value;
  if (Status s = ParseValueText(column.type, text, &value); !s.ok()) return OfColumn(column, s);
  if (column.type.lane() == Lane::kFixed) return batch->SetInt(index, value.fixed);
  return batch->SetBytes(index, value.bytes);
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Result<int64_t> ParseInteger(std::string_view text) {
  const std::string_view digits = WithoutPlus(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return Status::OutOfRange("does not fit in 64 bits");
  if (error != std::errc() || end != digits.data() + digits.size()) return ParseWholeDecimal(text);
  return value;
}

Status SetCellFromText(size_t index, std::string_view text, const TimeFormat& format,
                       RowBatch* batch) {
  const TableSchema& schema = *batch->schema();
  const ColumnSpec& column = schema.columns[index];
  if (column.type.kind == CqlType::kText || column.type.kind == CqlType::kAscii) {
    return batch->SetBytes(index, text);
  }
  const std::string_view value = Trim(text);
  if (value.empty()) {
    return Refuse(column, text, fmt::format("is blank and no {}", column.type.ToCql()));
  }
  const bool event_time = index == schema.time_column();
  switch (column.type.kind) {
    case CqlType::kTimestamp:
      if (!event_time && (format.base || format.unit_is_of_event)) {
        TimeFormat other = format;
        other.base.reset();
        if (format.unit_is_of_event) other.number_unit.reset();
        return SetTime(index, column, value, other, TimeUnit::kMillis, batch);
      }
      return SetTime(index, column, value, format, TimeUnit::kMillis, batch);
    case CqlType::kBigint:
      if (event_time) return SetTime(index, column, value, format, schema.time_unit, batch);
      return SetInteger(index, column, value, batch);
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
      return SetInteger(index, column, value, batch);
    case CqlType::kDouble:
      return SetFloating<double>(index, column, value, batch);
    case CqlType::kFloat:
      return SetFloating<float>(index, column, value, batch);
    case CqlType::kBoolean:
      if (value == "1") return batch->SetInt(index, 1);
      if (value == "0") return batch->SetInt(index, 0);
      return SetOther(index, column, value, batch);
    default:
      return SetOther(index, column, value, batch);
  }
}

int64_t RowTime(const RowBatch& batch, size_t row) {
  const TableSchema& schema = *batch.schema();
  const size_t column = schema.time_column();
  return schema.columns[column].type.kind == CqlType::kTimeuuid
             ? TimeuuidTicks(batch.bytes(row, column))
             : batch.fixed(row, column);
}

Status CopyRow(const RowBatch& from, size_t row, RowBatch* to) {
  const TableSchema& schema = *from.schema();
  to->BeginRow(from.kind(row));
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    if (column.role == ColumnRole::kBucket || column.role == ColumnRole::kSplit) continue;
    const CellState state = from.state(row, i);
    if (state == CellState::kAbsent) continue;
    Status s;
    if (state == CellState::kNull) {
      s = to->SetNull(i);
    } else if (column.type.lane() == Lane::kBytes) {
      s = to->SetBytes(i, from.bytes(row, i));
    } else if (column.type.kind == CqlType::kDouble) {
      s = to->SetDouble(i, std::bit_cast<double>(from.fixed(row, i)));
    } else if (column.type.kind == CqlType::kFloat) {
      s = to->SetFloat(i, std::bit_cast<float>(static_cast<uint32_t>(from.fixed(row, i))));
    } else {
      s = to->SetInt(i, from.fixed(row, i));
    }
    CISTERN_RETURN_IF_ERROR(s);
  }
  if (const std::optional<uint32_t> ttl = from.ttl(row)) CISTERN_RETURN_IF_ERROR(to->SetTtl(*ttl));
  return to->EndRow();
}

}  // namespace cistern::tool
