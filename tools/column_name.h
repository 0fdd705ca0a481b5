// Names of columns as people write them on the command line.
#ifndef CISTERN_TOOLS_COLUMN_NAME_H_
#define CISTERN_TOOLS_COLUMN_NAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::tool {

// The column that `name` names, in quotes or not: the one that is called exactly so, or, if there
// is none, without regard to the case of its letters. `name` itself where the table has no such
// column, or two.
[[nodiscard]] std::string ColumnNamed(const TableSchema& schema, std::string_view name);

// The columns that `text`, of an option such as --columns, names with commas between.
// kInvalidArgument, with the option: a name is left out, or the table has no such column.
[[nodiscard]] Result<std::vector<std::string>> ColumnsNamed(const TableSchema& schema,
                                                            std::string_view option,
                                                            std::string_view text);

// "ts, temp": all columns of the table.
[[nodiscard]] std::string ColumnList(const TableSchema& schema);

// "table air has no column 'tmp'; it has ts, temp; did you mean temp?"
[[nodiscard]] std::string NoColumn(const TableSchema& schema, const std::string& name);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_COLUMN_NAME_H_
