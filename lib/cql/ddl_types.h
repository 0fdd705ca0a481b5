// DdlTypes: types of columns, and CREATE TYPE.
#ifndef CISTERN_CQL_DDL_TYPES_H_
#define CISTERN_CQL_DDL_TYPES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "lib/cql/ddl_tokens.h"

namespace cistern {

// One CREATE TYPE.
struct DdlUserType {
  DdlName keyspace;  // text empty if there was none
  DdlName name;
  std::vector<DdlName> fields;
  ColumnType type;  // of kind kUserType
};

// Recursive in types, whose depth is bounded by limits::kTypeDepthMax.
class DdlTypes : protected DdlTokens {
 protected:
  DdlTypes(std::string_view source, std::span<const ColumnType> known_types)
      : DdlTokens(source), known_types_(known_types) {}

  // At the word TYPE: [IF NOT EXISTS] [keyspace.]name ( field type, ... )
  Status ParseUserType();
  // In whose keyspace types are looked up; until then in all.
  void SetKeyspace(std::string_view keyspace) { keyspace_ = keyspace; }
  // The type of a column; collections may stand without frozen<>.
  Status ParseColumnType(ColumnType* out);

  std::vector<DdlUserType> user_types_;  // in their order, each once

 private:
  Status ParseField(DdlUserType* user);
  // The type of the name in that keyspace; in any, where one of the two says none.
  [[nodiscard]] const DdlUserType* FindDeclared(std::string_view keyspace,
                                                std::string_view name) const;
  [[nodiscard]] const ColumnType* FindUserType(std::string_view name) const;

  // `frozen`: inside frozen<...> or another type, where all is one value.
  Status ParseType(size_t depth, bool frozen, ColumnType* out);
  Status ParseFrozen(size_t depth, ColumnType* out);
  Status ParseUserTypeName(size_t depth, bool frozen, ColumnType* out);
  Status ParseTypeArguments(size_t depth, ColumnType* out);
  Status ParseDimension(ColumnType* vector);
  [[nodiscard]] Status RefuseList() const;
  [[nodiscard]] Status RefuseType() const;

  const std::span<const ColumnType> known_types_;  // without a declaration
  std::string keyspace_;
  size_t part_count_ = 0;  // of the column's type, or of the CREATE TYPE, that is read
};

}  // namespace cistern

#endif  // CISTERN_CQL_DDL_TYPES_H_
