#include "cistern/entity.h"

#include <optional>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"

namespace cistern {
namespace {

// One column's wire bytes from the front of *rest.
std::optional<std::string_view> TakePart(std::string_view* rest) {
  if (rest->size() < 2) return std::nullopt;
  const size_t length = GetBig<uint16_t>(rest->data());
  if (rest->size() - 2 < length) return std::nullopt;
  const std::string_view part = rest->substr(2, length);
  rest->remove_prefix(2 + length);
  return part;
}

std::string NamesOf(const TableSchema& schema) {
  std::string names;
  for (const size_t column : schema.entity_columns) {
    if (!names.empty()) names += ", ";
    names += schema.columns[column].name;
  }
  return names;
}

// Empty if the bytes are not an entity of the table.
std::optional<std::string> Decode(const TableSchema& schema, std::string_view bytes) {
  std::string text;
  for (const size_t column : schema.entity_columns) {
    const ColumnSpec& spec = schema.columns[column];
    const auto part = TakePart(&bytes);
    CellValue value;
    if (!part.has_value() || !ParseWireValue(spec.type, *part, &value).ok()) return std::nullopt;
    if (schema.entity_columns.size() > 1) {
      if (!text.empty()) text += ",";
      text += spec.name + "=";
    }
    FormatValueText(spec.type, value.fixed, value.bytes, &text);
  }
  if (!bytes.empty()) return std::nullopt;
  return text;
}

}  // namespace

Result<EntityKey> EntityFromText(const TableSchema& schema,
                                 std::span<const std::string_view> parts) {
  return Guarded([&]() -> Result<EntityKey> {
    if (parts.size() != schema.entity_columns.size()) {
      return Status::InvalidArgument(Concat({"the entity of table ", schema.QualifiedName(),
          " has ", schema.entity_columns.size(), " columns (", NamesOf(schema), "), got ",
          parts.size(), " values"}));
    }
    EntityKey key;
    for (size_t i = 0; i < parts.size(); ++i) {
      const ColumnSpec& spec = schema.columns[schema.entity_columns[i]];
      CellValue value;
      const Status parsed = ParseValueText(spec.type, parts[i], &value);
      if (!parsed.ok())
        return Status(parsed.code(), Concat({"column '", spec.name, "': ", parsed.message()}));
      std::string wire;
      AppendWireValue(spec.type, value.fixed, value.bytes, &wire);
      if (key.bytes.size() + 2 + wire.size() > limits::kEntityKeyBytesMax) {
        return Status::TooLarge(Concat({"column '", spec.name, "': an entity has at most ",
            limits::kEntityKeyBytesMax, " bytes, all columns together"}));
      }
      PutBig<uint16_t>(&key.bytes, static_cast<uint16_t>(wire.size()));
      key.bytes += wire;
    }
    return key;
  });
}

std::string EntityToText(const TableSchema& schema, std::string_view entity_bytes) {
  return GuardedOr(std::string("?"), [&] {
    if (auto text = Decode(schema, entity_bytes)) return *std::move(text);
    std::string hex;
    AppendHex(entity_bytes, &hex);
    return hex;
  });
}

}  // namespace cistern
