// CQL types: their names, their lanes, and where a table may use them.
#ifndef CISTERN_CQL_CQL_TYPE_H_
#define CISTERN_CQL_CQL_TYPE_H_

#include <optional>
#include <string_view>

#include "cistern/schema.h"

namespace cistern {

// The kind's CQL name: "int", "list".
[[nodiscard]] std::string_view CqlTypeName(CqlType kind);

// From a lower-case CQL name; "varchar" is text. nullopt for names Cistern does not know.
[[nodiscard]] std::optional<CqlType> CqlTypeFromName(std::string_view name);

// list, set, map.
[[nodiscard]] bool IsCollection(CqlType kind);

// Types that are made of others: the collections, tuple, vector, user-defined types.
[[nodiscard]] bool IsComposite(CqlType kind);

// Types whose values are fields, each of its own type and any of them null.
[[nodiscard]] inline bool HasFields(CqlType kind) {
  return kind == CqlType::kTuple || kind == CqlType::kUserType;
}

// Whether every value of `narrow` is one of `wide`: the same type, or with user-defined types of
// the same name that have got more fields behind those that they had.
[[nodiscard]] bool FitsInto(const ColumnType& narrow, const ColumnType& wide);

// The type with the tuple of its fields in place of each user-defined type. So Cassandra keeps the
// type of a dropped column.
[[nodiscard]] ColumnType ExpandUserTypes(ColumnType type);

// Whether Cassandra takes a column of the type again that was dropped. Of a user-defined type it
// has kept that tuple, which counts as the same type among elements of a set and keys of a map
// alone. Source: Apache Cassandra 5.0, marshal.UserType.isValueCompatibleWith, marshal.TupleType
// and marshal.CollectionType.
[[nodiscard]] bool ComesBack(const ColumnType& type);

// How many types it consists of, itself included, and how deep they are nested: 1 for int.
struct TypeExtent {
  size_t parts = 1;
  size_t depth = 1;
};
[[nodiscard]] TypeExtent ExtentOf(const ColumnType& type);

// Whether a value of it has no elements. REQUIRES: a collection, and CheckWireBytes is OK.
[[nodiscard]] bool IsEmptyCollection(std::string_view bytes);

// Types whose values Cistern stores and passes on but never orders: decimal, varint, duration and
// the composite ones. Regular columns only.
[[nodiscard]] bool IsOpaque(CqlType kind);

// Integers whose values travel as they are: tinyint, smallint, int, bigint.
[[nodiscard]] bool IsInteger(CqlType kind);

// Smallest and largest value of a fixed-lane type that is not double or float.
struct FixedRange {
  int64_t min;
  int64_t max;
};
[[nodiscard]] FixedRange FixedRangeOf(CqlType kind);

// Bytes of the type on the wire if they are always the same, otherwise 0.
[[nodiscard]] size_t WireWidth(CqlType kind);

// Bytes of an element of a vector where Cassandra writes none of their lengths, otherwise 0: it
// calls tinyint, smallint, date and time of varying length.
[[nodiscard]] size_t VectorElementWidth(const ColumnType& element);

}  // namespace cistern

#endif  // CISTERN_CQL_CQL_TYPE_H_
