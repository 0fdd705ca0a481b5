#include "lib/cql/cql_type.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

struct TypeFacts {
  CqlType kind;
  std::string_view name;
  size_t wire_width;  // 0: varies
};

constexpr std::array<TypeFacts, 25> kTypes = {{
    {CqlType::kBoolean, "boolean", 1},
    {CqlType::kTinyint, "tinyint", 1},
    {CqlType::kSmallint, "smallint", 2},
    {CqlType::kInt, "int", 4},
    {CqlType::kBigint, "bigint", 8},
    {CqlType::kFloat, "float", 4},
    {CqlType::kDouble, "double", 8},
    {CqlType::kText, "text", 0},
    {CqlType::kAscii, "ascii", 0},
    {CqlType::kBlob, "blob", 0},
    {CqlType::kTimestamp, "timestamp", 8},
    {CqlType::kDate, "date", 4},
    {CqlType::kTime, "time", 8},
    {CqlType::kUuid, "uuid", 16},
    {CqlType::kTimeuuid, "timeuuid", 16},
    {CqlType::kInet, "inet", 0},
    {CqlType::kDecimal, "decimal", 0},
    {CqlType::kVarint, "varint", 0},
    {CqlType::kList, "list", 0},
    {CqlType::kSet, "set", 0},
    {CqlType::kMap, "map", 0},
    {CqlType::kDuration, "duration", 0},
    {CqlType::kTuple, "tuple", 0},
    {CqlType::kVector, "vector", 0},
    {CqlType::kUserType, "user-defined type", 0},  // no name that a type can have
}};

const TypeFacts& FactsOf(CqlType kind) {
  const auto index = static_cast<size_t>(kind) - 1;
  CISTERN_CHECK(index < kTypes.size());
  return kTypes[index];
}

}  // namespace

std::string_view CqlTypeName(CqlType kind) {
  return FactsOf(kind).name;
}

std::optional<CqlType> CqlTypeFromName(std::string_view name) {
  if (name == "varchar") return CqlType::kText;
  for (const TypeFacts& facts : kTypes) {
    if (facts.name == name) return facts.kind;
  }
  return std::nullopt;
}

bool IsCollection(CqlType kind) {
  return kind == CqlType::kList || kind == CqlType::kSet || kind == CqlType::kMap;
}

bool IsComposite(CqlType kind) {
  return IsCollection(kind) || HasFields(kind) || kind == CqlType::kVector;
}

bool FitsInto(const ColumnType& narrow, const ColumnType& wide) {
  if (narrow == wide) return true;
  const bool is_same_kind = narrow.kind == wide.kind && narrow.name == wide.name &&
                            narrow.is_multicell == wide.is_multicell &&
                            narrow.dimension == wide.dimension;
  const size_t count = narrow.arguments.size();
  const bool may_have_more = narrow.kind == CqlType::kUserType;
  const bool has_room = may_have_more ? count <= wide.arguments.size()
                                      : count == wide.arguments.size();
  if (!is_same_kind || !has_room) return false;
  for (size_t i = 0; i < count; ++i) {
    if (may_have_more && narrow.field_names[i] != wide.field_names[i]) return false;
    if (!FitsInto(narrow.arguments[i], wide.arguments[i])) return false;
  }
  return true;
}

ColumnType ExpandUserTypes(ColumnType type) {
  for (ColumnType& inside : type.arguments) inside = ExpandUserTypes(std::move(inside));
  if (type.kind != CqlType::kUserType) return type;
  ColumnType tuple{CqlType::kTuple, {}};
  tuple.arguments = std::move(type.arguments);
  return tuple;
}

bool ComesBack(const ColumnType& type) {
  const auto has_user_types = [](const ColumnType& of) { return ExpandUserTypes(of) != of; };
  const auto& parts = type.arguments;
  switch (type.kind) {
    case CqlType::kUserType: return false;
    case CqlType::kVector: return !has_user_types(type);
    case CqlType::kSet: return true;
    case CqlType::kMap: return ComesBack(parts[1]);
    default: return std::all_of(parts.begin(), parts.end(), ComesBack);
  }
}

TypeExtent ExtentOf(const ColumnType& type) {
  TypeExtent extent;
  for (const ColumnType& argument : type.arguments) {
    const TypeExtent inside = ExtentOf(argument);
    extent.parts += inside.parts;
    extent.depth = std::max(extent.depth, 1 + inside.depth);
  }
  return extent;
}

bool IsEmptyCollection(std::string_view bytes) {
  return GetBig<uint32_t>(bytes.data()) == 0;
}

bool IsOpaque(CqlType kind) {
  return kind == CqlType::kDecimal || kind == CqlType::kVarint || kind == CqlType::kDuration ||
         IsComposite(kind);
}

bool IsInteger(CqlType kind) {
  return kind == CqlType::kTinyint || kind == CqlType::kSmallint || kind == CqlType::kInt ||
         kind == CqlType::kBigint;
}

FixedRange FixedRangeOf(CqlType kind) {
  switch (kind) {
    case CqlType::kBoolean: return {0, 1};
    case CqlType::kTinyint: return {-128, 127};
    case CqlType::kSmallint: return {-32768, 32767};
    case CqlType::kInt:
    case CqlType::kDate:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case CqlType::kTime: return {0, 86'399'999'999'999};
    default: return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

size_t WireWidth(CqlType kind) {
  return FactsOf(kind).wire_width;
}

size_t VectorElementWidth(const ColumnType& element) {
  switch (element.kind) {
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kDate:
    case CqlType::kTime: return 0;
    case CqlType::kVector:
      return element.dimension * VectorElementWidth(element.arguments.front());
    default: return WireWidth(element.kind);
  }
}

// As system_schema has it: a vector is frozen without the word.
std::string ColumnType::ToCql() const {
  if (!IsComposite(kind)) return std::string(CqlTypeName(kind));
  if (kind == CqlType::kUserType) return Concat({"frozen<", QuoteName(name), ">"});
  const bool says_frozen = !is_multicell && kind != CqlType::kVector;
  std::string text = Concat({(says_frozen ? "frozen<" : ""), CqlTypeName(kind), "<"});
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) text += ", ";
    text += arguments[i].ToCql();
  }
  if (kind == CqlType::kVector) text += Concat({", ", dimension});
  return text + (says_frozen ? ">>" : ">");
}

int64_t TicksPerSecond(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return 1;
    case TimeUnit::kMillis: return 1'000;
    case TimeUnit::kMicros: return 1'000'000;
    case TimeUnit::kTicks100ns: return 10'000'000;
    case TimeUnit::kNanos: return 1'000'000'000;
  }
  return 1;
}

}  // namespace cistern
