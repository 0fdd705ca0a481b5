#include "engine/replicate/protocol_name.h"

#include <array>

#include "lib/base/check.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/value_text.h"

namespace cistern::replicate {
namespace {

constexpr std::string_view kPackage = "org.apache.cassandra.db.marshal.";

// In the order of CqlType.
constexpr std::array<std::string_view, 25> kClasses = {
    "BooleanType", "ByteType", "ShortType", "Int32Type", "LongType", "FloatType", "DoubleType",
    "UTF8Type", "AsciiType", "BytesType", "TimestampType", "SimpleDateType", "TimeType", "UUIDType",
    "TimeUUIDType", "InetAddressType", "DecimalType", "IntegerType", "ListType", "SetType",
    "MapType", "DurationType", "TupleType", "VectorType", "UserType"};

std::string Digits(std::string_view bytes) {
  std::string text;
  AppendHex(bytes, &text);
  return text.substr(2);  // without 0x
}

// What is in the brackets of a class. Source: Apache Cassandra 5.0, marshal.TypeParser
// (stringifyTypeParameters, stringifyVectorParameters, stringifyUserTypeParameters) and toString of
// marshal.VectorType, TupleType, UserType and the collections. `says_frozen`: of what is inside.
std::string ClassText(const ColumnType& type, std::string_view keyspace, bool says_frozen) {
  const auto place = static_cast<size_t>(type.kind) - 1;
  CISTERN_CHECK(place < kClasses.size());
  std::string text = Concat({kPackage, kClasses[place]});
  if (type.arguments.empty()) return text;
  const bool is_vector = type.kind == CqlType::kVector;
  const bool is_user_type = type.kind == CqlType::kUserType;
  text += "(";
  if (is_user_type) text += Concat({keyspace, ",", Digits(type.name)});
  for (size_t i = 0; i < type.arguments.size(); ++i) {
    if (i > 0 || is_user_type) text += ",";
    if (is_user_type) text += Digits(type.field_names[i]) + ":";
    text += ClassText(type.arguments[i], keyspace, says_frozen && is_vector);
  }
  if (is_vector) text += Concat({" , ", type.dimension});
  text += ")";
  const bool is_wrapped = says_frozen && !is_vector && type.kind != CqlType::kTuple;
  return is_wrapped ? Concat({kPackage, "FrozenType(", text, ")"}) : text;
}

}  // namespace

std::string ProtocolName(const ColumnType& type, std::string_view keyspace) {
  if (type.kind == CqlType::kUserType) return Concat({keyspace, ".", type.name});
  if (type.kind == CqlType::kVector) return Concat({"'", ClassText(type, keyspace, true), "'"});
  std::string name(CqlTypeName(type.kind));
  for (size_t i = 0; i < type.arguments.size(); ++i) {
    name += (i == 0 ? "<" : ", ") + ProtocolName(type.arguments[i], keyspace);
  }
  return type.arguments.empty() ? name : name + ">";
}

}  // namespace cistern::replicate
