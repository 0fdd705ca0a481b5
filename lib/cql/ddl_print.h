// Pieces of CQL text and of messages about it.
#ifndef CISTERN_CQL_DDL_PRINT_H_
#define CISTERN_CQL_DDL_PRINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"

namespace cistern {

// The name as CQL reads it back: in double quotes unless it is a plain lower-case word.
[[nodiscard]] std::string QuoteName(std::string_view name);

// The user-defined types of a table's columns, each once and behind those that it is made of.
[[nodiscard]] std::vector<const ColumnType*> UserTypesOf(const TableSchema& schema);
// "(street text, zip int)"
[[nodiscard]] std::string FieldsText(const ColumnType& user_type);
// CREATE TABLE alone, without the types. Ends with ";\n".
[[nodiscard]] std::string TableText(const TableSchema& schema);

// 'text' with its quotes doubled.
[[nodiscard]] std::string QuoteString(std::string_view text);

// 'text' for an error message, cut after 64 bytes at the end of a character.
[[nodiscard]] std::string ShowText(std::string_view text);

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_PRINT_H_
