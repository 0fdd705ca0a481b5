#include "tools/value_cell.h"

#include "lib/cql/value_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

bool IsNumber(CqlType kind) {
  switch (kind) {
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
    case CqlType::kBigint:
    case CqlType::kFloat:
    case CqlType::kDouble:
      return true;
    default:
      return false;
  }
}

// Whether JSON takes the text as it is. NaN and infinities are no JSON numbers.
bool IsBare(CqlType kind, std::string_view text) {
  if (kind == CqlType::kBoolean) return true;
  if (!IsNumber(kind) || text.empty()) return false;
  return (text.back() >= '0' && text.back() <= '9');
}

bool IsNegativeZero(CqlType kind, std::string_view text) {
  return text == "-0" && (kind == CqlType::kDouble || kind == CqlType::kFloat);
}

bool IsShownAsTime(const TableSchema& schema, size_t index, PrintFormat format) {
  return format == PrintFormat::kTable && index == schema.time_column() &&
         schema.columns[index].type.kind == CqlType::kBigint;
}

}  // namespace

PrintColumn PrintColumnOf(const TableSchema& schema, size_t index, PrintFormat format) {
  const ColumnSpec& column = schema.columns[index];
  return {column.name, IsNumber(column.type.kind) && !IsShownAsTime(schema, index, format)};
}

PrintCell LiteralCell(CqlType kind, std::string_view text) {
  return {text, false, IsBare(kind, text)};
}

PrintCell TypedCell(const ColumnType& type, const ColumnData& data, size_t row,
                    PrintFormat format, std::string* text) {
  text->clear();
  if (data.state(row) != CellState::kValue) return {{}, true, false};
  const bool fixed = data.lane == Lane::kFixed;
  FormatValueText(type, fixed ? data.fixed[row] : 0, fixed ? std::string_view() : data.bytes(row),
                  text);
  // Some readers of JSON take -0 for an integer and lose its sign.
  if (format == PrintFormat::kJsonl && IsNegativeZero(type.kind, *text)) *text = "-0.0";
  return LiteralCell(type.kind, *text);
}

PrintCell ValueCell(const TableSchema& schema, size_t index, const ColumnData& data, size_t row,
                    PrintFormat format, std::string* text) {
  if (data.state(row) != CellState::kValue || !IsShownAsTime(schema, index, format)) {
    return TypedCell(schema.columns[index].type, data, row, format, text);
  }
  *text = FormatTicks(data.fixed[row], schema.time_unit);
  return {*text, false, false};
}

}  // namespace cistern::tool
