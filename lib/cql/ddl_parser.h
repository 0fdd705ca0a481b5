// The shape of a CREATE TABLE statement, before it is judged.
#ifndef CISTERN_CQL_DDL_PARSER_H_
#define CISTERN_CQL_DDL_PARSER_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/cql/ddl_lexer.h"
#include "lib/cql/ddl_tokens.h"
#include "lib/cql/ddl_types.h"

namespace cistern {

struct DdlColumn {
  DdlName name;
  ColumnType type;
  size_t type_offset = 0;
  size_t static_offset = 0;  // of the word; 0: it is not there
};

struct DdlOrder {
  DdlName column;
  bool descending = false;
};

// One `name = value` after WITH.
struct DdlOption {
  enum class Kind { kConstant, kMap, kList };
  DdlName name;
  Kind kind = Kind::kConstant;
  Token value;                                               // kConstant
  std::vector<std::pair<std::string, std::string>> entries;  // kMap of constants
  std::string raw;                                           // the value as it was written
  size_t value_offset = 0;
};

struct DdlTable {
  std::vector<DdlUserType> types;  // before the table, in their order; those that were given not
  DdlName keyspace;  // text empty if there was none
  DdlName name;
  std::vector<DdlColumn> columns;
  std::vector<DdlName> partition_key;
  std::vector<DdlName> clustering_key;
  std::vector<DdlOrder> order;  // empty: not given
  size_t order_offset = 0;
  std::vector<DdlOption> options;
};

// Parses one CREATE TABLE behind any CREATE TYPEs, and an optional ';'. `known_types` need no
// declaration. Errors as ParseCreateTable has them.
[[nodiscard]] Result<DdlTable> ParseDdl(std::string_view source,
                                        std::span<const ColumnType> known_types = {});

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_PARSER_H_
