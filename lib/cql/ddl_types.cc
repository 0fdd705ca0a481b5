#include "lib/cql/ddl_types.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

// Whether Cassandra refuses it as the name of a type: words of types that it has, or may have once.
bool IsTakenName(std::string_view name) {
  constexpr std::string_view kWords[] = {"frozen", "counter", "bitstring", "byte",
                                         "complex", "enum", "interval", "macaddr"};
  return CqlTypeFromName(name).has_value() ||
         std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
}

bool HasDurations(const ColumnType& type) {
  return type.kind == CqlType::kDuration ||
         std::any_of(type.arguments.begin(), type.arguments.end(), HasDurations);
}

}  // namespace

Status DdlTypes::ParseUserType() {
  if (user_types_.size() >= limits::kUserTypesMax) {
    return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({"a text has at most ",
        limits::kUserTypesMax, " types"}));
  }
  CISTERN_RETURN_IF_ERROR(Advance());
  DdlUserType user;
  CISTERN_RETURN_IF_ERROR(PassIfNotExists());
  CISTERN_RETURN_IF_ERROR(PlacedName("the type's name", &user.keyspace, &user.name));
  SetKeyspace(user.keyspace.text);
  if (IsTakenName(user.name.text)) {
    return ErrorAt(StatusCode::kInvalidArgument, source_, user.name.offset, Concat({"'",
        user.name.text, "' is a word of CQL's own types: a type needs another name"}));
  }
  CISTERN_RETURN_IF_ERROR(Symbol('('));
  user.type.kind = CqlType::kUserType;
  user.type.name = user.name.text;
  part_count_ = 0;
  while (true) {
    CISTERN_RETURN_IF_ERROR(ParseField(&user));
    if (!token_.IsSymbol(',')) break;
    CISTERN_RETURN_IF_ERROR(Advance());
  }
  if (!token_.IsSymbol(')')) return Expected("',' or ')'");
  const DdlUserType* const before = FindDeclared(user.keyspace.text, user.name.text);
  if (before == nullptr) {
    user_types_.push_back(std::move(user));
  } else if (before->type != user.type) {
    return ErrorAt(StatusCode::kInvalidArgument, source_, user.name.offset, Concat({"the type '",
        user.name.text, "' is declared twice, with other fields"}));
  }
  return Advance();
}

Status DdlTypes::ParseField(DdlUserType* user) {
  DdlName field;
  CISTERN_RETURN_IF_ERROR(Name("a field's name", &field));
  for (const std::string& other : user->type.field_names) {
    if (other != field.text) continue;
    return ErrorAt(StatusCode::kInvalidArgument, source_, field.offset, Concat({"the field '",
        field.text, "' is declared twice"}));
  }
  ColumnType type;
  CISTERN_RETURN_IF_ERROR(ParseType(1, true, &type));
  user->type.field_names.push_back(field.text);
  user->type.arguments.push_back(std::move(type));
  user->fields.push_back(std::move(field));
  return Status::Ok();
}

const DdlUserType* DdlTypes::FindDeclared(std::string_view keyspace,
                                          std::string_view name) const {
  for (const DdlUserType& user : user_types_) {
    const std::string& of = user.keyspace.text;
    if (user.name.text != name) continue;
    if (of == keyspace || of.empty() || keyspace.empty()) return &user;
  }
  return nullptr;
}

const ColumnType* DdlTypes::FindUserType(std::string_view name) const {
  if (const DdlUserType* declared = FindDeclared(keyspace_, name)) {
    return &declared->type;
  }
  for (const ColumnType& type : known_types_) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

Status DdlTypes::ParseColumnType(ColumnType* out) {
  part_count_ = 0;
  return ParseType(0, false, out);
}

Status DdlTypes::ParseType(size_t depth, bool frozen, ColumnType* out) {
  if (depth >= limits::kTypeDepthMax) {
    return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({
        "a type is nested at most ", limits::kTypeDepthMax, " deep"}));
  }
  if (token_.kind == TokenKind::kString) {
    return NotSupportedHere("custom types are not supported");
  }
  if (token_.kind != TokenKind::kName && token_.kind != TokenKind::kQuotedName) {
    return Expected("a type");
  }
  if (token_.IsName("frozen")) return ParseFrozen(depth, out);
  if (++part_count_ > limits::kTypePartsMax) {
    return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({
        "a type has at most ", limits::kTypePartsMax, " others inside"}));
  }
  const std::optional<CqlType> kind =
      token_.kind == TokenKind::kName ? CqlTypeFromName(token_.text) : std::nullopt;
  if (!kind.has_value()) return ParseUserTypeName(depth, frozen, out);
  if (*kind == CqlType::kList && !frozen) return RefuseList();
  out->kind = *kind;
  out->is_multicell = IsCollection(*kind) && !frozen;
  CISTERN_RETURN_IF_ERROR(Advance());
  return IsComposite(*kind) ? ParseTypeArguments(depth, out) : Status::Ok();
}

Status DdlTypes::ParseFrozen(size_t depth, ColumnType* out) {
  CISTERN_RETURN_IF_ERROR(Advance());
  CISTERN_RETURN_IF_ERROR(Symbol('<'));
  const std::optional<CqlType> inside =
      token_.kind == TokenKind::kName ? CqlTypeFromName(token_.text) : std::nullopt;
  if (token_.IsName("frozen") || (inside.has_value() && !IsComposite(*inside))) {
    return Expected("list, set, map, tuple, vector or a type that is declared inside frozen<>");
  }
  CISTERN_RETURN_IF_ERROR(ParseType(depth, true, out));
  return Symbol('>');
}

// [keyspace.]name of a type that was declared.
Status DdlTypes::ParseUserTypeName(size_t depth, bool frozen, ColumnType* out) {
  const ColumnType* type = FindUserType(token_.text);
  const Token first = token_;
  if (type == nullptr && source_.substr(token_.end, 1) != ".") return RefuseType();
  CISTERN_RETURN_IF_ERROR(Advance());
  if (token_.IsSymbol('.')) {
    CISTERN_RETURN_IF_ERROR(Advance());
    type = FindUserType(token_.text);
    const bool is_elsewhere = !keyspace_.empty() && first.text != keyspace_;
    if (type == nullptr || is_elsewhere) return RefuseType();
    CISTERN_RETURN_IF_ERROR(Advance());
  }
  if (!frozen) {
    return ErrorAt(StatusCode::kNotSupported, source_, first.begin, Concat({"a user-defined type "
        "must be frozen: write frozen<", QuoteName(type->name), ">; its fields are not merged "
        "one by one"}));
  }
  const TypeExtent extent = ExtentOf(*type);
  part_count_ += extent.parts - 1;
  if (depth + extent.depth > limits::kTypeDepthMax || part_count_ > limits::kTypePartsMax) {
    return ErrorAt(StatusCode::kTooLarge, source_, first.begin, Concat({"with '", type->name,
        "' the type is nested more than ", limits::kTypeDepthMax, " deep, or has more than ",
        limits::kTypePartsMax, " others inside"}));
  }
  *out = *type;
  return Status::Ok();
}

Status DdlTypes::ParseTypeArguments(size_t depth, ColumnType* out) {
  const size_t count = out->kind == CqlType::kMap ? 2 : 1;
  CISTERN_RETURN_IF_ERROR(Symbol('<'));
  const auto is_more = [&] {
    return out->kind == CqlType::kTuple ? token_.IsSymbol(',') : out->arguments.size() < count;
  };
  do {
    if (!out->arguments.empty()) CISTERN_RETURN_IF_ERROR(Symbol(','));
    const size_t begin = token_.begin;
    ColumnType argument;
    CISTERN_RETURN_IF_ERROR(ParseType(depth + 1, true, &argument));
    const bool is_key = out->kind == CqlType::kMap && out->arguments.empty();
    if ((is_key || out->kind == CqlType::kSet) && HasDurations(argument)) {
      return ErrorAt(StatusCode::kInvalidArgument, source_, begin,
                     "a set has no durations, and a map has none in its keys: Cassandra refuses "
                     "them there, as they have no order");
    }
    out->arguments.push_back(std::move(argument));
  } while (is_more());
  if (out->kind == CqlType::kVector) CISTERN_RETURN_IF_ERROR(ParseDimension(out));
  return Symbol('>');
}

Status DdlTypes::ParseDimension(ColumnType* vector) {
  CISTERN_RETURN_IF_ERROR(Symbol(','));
  const char* const end = token_.text.data() + token_.text.size();
  const auto [parsed, error] = std::from_chars(token_.text.data(), end, vector->dimension);
  const bool is_count = token_.kind == TokenKind::kNumber && error == std::errc() &&
                        parsed == end && vector->dimension > 0;
  if (!is_count || vector->dimension > limits::kVectorDimensionMax) {
    return Expected(Concat({"how many elements a vector has, 1 to ",
        limits::kVectorDimensionMax}));
  }
  const uint64_t width = VectorElementWidth(vector->arguments.front());
  if (width * vector->dimension > limits::kCellBytesMax) {
    return ErrorAt(StatusCode::kTooLarge, source_, token_.begin, Concat({"a vector of ",
        vector->dimension, " elements of ", width, " bytes each is larger than a value may be: ",
        limits::kCellBytesMax, " bytes"}));
  }
  return Advance();
}

// Cassandra gives each element of such a list a cell under a number that it draws anew for each
// write. The same write repeated would have its elements there twice.
Status DdlTypes::RefuseList() const {
  return NotSupportedHere(
      "a list must be frozen: write frozen<list<...>>. Where a batch has to be sent twice, "
      "Cassandra keeps the elements of a list that is not frozen twice; where the cluster has "
      "such a column, leave it out here");
}

Status DdlTypes::RefuseType() const {
  const std::string& name = token_.text;
  if (name == "counter" || name == "empty") {
    return NotSupportedHere(Concat({"the type ", name, " is not supported"}));
  }
  return NotSupportedHere(Concat({"'", name, "' is not a type: one that is user-defined needs a "
      "statement before this one, CREATE TYPE ", QuoteName(name), " (field type, ...);"}));
}

}  // namespace cistern
