// Values of columns as the cells that RecordPrinter takes.
#ifndef CISTERN_TOOLS_VALUE_CELL_H_
#define CISTERN_TOOLS_VALUE_CELL_H_

#include <string>
#include <string_view>

#include "cistern/column_data.h"
#include "cistern/schema.h"
#include "tools/record_printer.h"

namespace cistern::tool {

// The column `index` of a table as a column of the output.
[[nodiscard]] PrintColumn PrintColumnOf(const TableSchema& schema, size_t index,
                                        PrintFormat format);

// The CQL literal `text` of a value as a cell that shows it. The text must outlive the cell.
[[nodiscard]] PrintCell LiteralCell(CqlType kind, std::string_view text);

// The cell of `row` in `data`, which holds values of `type`. *text is replaced and must outlive it.
[[nodiscard]] PrintCell TypedCell(const ColumnType& type, const ColumnData& data, size_t row,
                                  PrintFormat format, std::string* text);

// The cell of `row` in `data`, which holds values of the column `index`. *text is replaced and
// must outlive the cell. csv and JSON show values exactly as CQL literals; a table, which is for
// people, shows integers that are event times as ISO 8601.
[[nodiscard]] PrintCell ValueCell(const TableSchema& schema, size_t index, const ColumnData& data,
                                  size_t row, PrintFormat format, std::string* text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_VALUE_CELL_H_
