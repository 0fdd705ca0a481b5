// The WITH options of a CREATE TABLE statement.
#ifndef CISTERN_CQL_TABLE_OPTIONS_H_
#define CISTERN_CQL_TABLE_OPTIONS_H_

#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "lib/cql/ddl_parser.h"

namespace cistern {

// Fills the schema's options and gives the comment's token (kEnd, empty, if there is none).
[[nodiscard]] Status TakeTableOptions(std::string_view source,
                                      const std::vector<DdlOption>& options, TableSchema* schema,
                                      Token* comment);

// kInvalidArgument for an option that neither Cistern nor Cassandra 5 has: a mistyped one would
// be kept and do nothing.
[[nodiscard]] Status CheckOptionNames(std::string_view source,
                                      const std::vector<DdlOption>& options);

}  // namespace cistern

#endif  // CISTERN_CQL_TABLE_OPTIONS_H_
