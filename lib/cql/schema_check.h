// What makes a CREATE TABLE statement a bucketed table.
#ifndef CISTERN_CQL_SCHEMA_CHECK_H_
#define CISTERN_CQL_SCHEMA_CHECK_H_

#include <memory>
#include <string_view>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/cql/ddl_parser.h"

namespace cistern {

// Judges a parsed statement; `source` is its text, for positions.
[[nodiscard]] Result<std::shared_ptr<const TableSchema>> CheckSchema(std::string_view source,
                                                                     const DdlTable& ddl);

// As ParseCreateTable, of a text that a store holds: its options may be of a version of Cistern or
// Cassandra that knew others.
[[nodiscard]] Result<std::shared_ptr<const TableSchema>> ParseStoredTable(std::string_view cql);

}  // namespace cistern

#endif  // CISTERN_CQL_SCHEMA_CHECK_H_
