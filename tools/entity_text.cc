#include "tools/entity_text.h"

#include <fmt/format.h>

#include "lib/base/coding.h"
#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"

namespace cistern::tool {
namespace {

// The value of entity column `name` among "NAME=VALUE" texts.
Result<std::string> ValueOf(std::string_view name, const std::vector<std::string_view>& pairs) {
  for (const std::string_view pair : pairs) {
    const size_t split = pair.find('=');
    if (split != std::string_view::npos && pair.substr(0, split) == name) {
      return std::string(pair.substr(split + 1));
    }
  }
  return Status::InvalidArgument(fmt::format("--entity does not give '{}'", name));
}

// The value of the one entity column in "VALUE" or "NAME=VALUE".
std::string WithoutName(const TableSchema& schema, const std::string& text) {
  const std::string name = schema.columns[schema.entity_columns.front()].name + "=";
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

}  // namespace

Result<std::vector<std::string>> SplitEntity(const TableSchema& schema,
                                             const std::vector<std::string>& texts) {
  if (schema.entity_columns.size() == 1) {
    if (texts.size() != 1) return Status::InvalidArgument("--entity is given more than once");
    return std::vector<std::string>{WithoutName(schema, texts.front())};
  }
  std::vector<std::string_view> pairs;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (texts.size() == 1 && rest.find(',') != std::string_view::npos) {
      pairs.push_back(rest.substr(0, rest.find(',')));
      rest.remove_prefix(rest.find(',') + 1);
    }
    pairs.push_back(rest);
  }
  std::vector<std::string> values;
  std::string form;
  for (const size_t column : schema.entity_columns) {
    form += fmt::format("{}{}=...", form.empty() ? "" : ",", schema.columns[column].name);
  }
  for (const size_t column : schema.entity_columns) {
    Result<std::string> value = ValueOf(schema.columns[column].name, pairs);
    if (!value.ok()) {
      return Status::InvalidArgument(
          fmt::format("{}; table '{}' needs --entity {}", value.status().message(), schema.name,
                      form));
    }
    values.push_back(std::move(*value));
  }
  if (pairs.size() != values.size()) {
    return Status::InvalidArgument(
        fmt::format("--entity names {} columns; table '{}' needs --entity {}", pairs.size(),
                    schema.name, form));
  }
  return values;
}

Result<EntityKey> ParseEntity(const TableSchema& schema, const std::vector<std::string>& texts) {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> values, SplitEntity(schema, texts));
  const std::vector<std::string_view> parts(values.begin(), values.end());
  return EntityFromText(schema, parts);
}

Result<std::vector<std::string>> EntityValues(const TableSchema& schema, const EntityKey& entity) {
  std::vector<std::string> values;
  std::string_view rest = entity.bytes;
  for (const size_t column : schema.entity_columns) {
    const size_t length = rest.size() < 2 ? SIZE_MAX : GetBig<uint16_t>(rest.data());
    if (rest.size() < 2 || rest.size() - 2 < length) {
      return Status::Corruption(fmt::format("an entity of table '{}' has too few bytes",
                                            schema.name));
    }
    const ColumnType& type = schema.columns[column].type;
    CellValue value;
    CISTERN_RETURN_IF_ERROR(ParseWireValue(type, rest.substr(2, length), &value));
    FormatValueText(type, value.fixed, value.bytes, &values.emplace_back());
    rest.remove_prefix(2 + length);
  }
  return values;
}

}  // namespace cistern::tool
