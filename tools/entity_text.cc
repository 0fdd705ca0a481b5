#include "lib/base/nearest_name.h"
#include "tools/entity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/coding.h"
#include "lib/base/shell_text.h"
#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"
#include "tools/counted.h"

namespace cistern::tool {
namespace {

// The value of the one entity column in "VALUE" or "NAME=VALUE".
std::string WithoutName(const TableSchema& schema, const std::string& text) {
  const std::string name = schema.columns[schema.entity_columns.front()].name + "=";
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

// "site=...,pump=...": how the entity of several columns is written, as one word.
std::string FormOf(const TableSchema& schema) {
  std::string form;
  for (const size_t column : schema.entity_columns) {
    form += fmt::format("{}{}=...", form.empty() ? "" : ",", schema.columns[column].name);
  }
  return ShellWord(form);
}

// "site=... --entity pump=...": the same, a word for each column.
std::string FormInWords(const TableSchema& schema) {
  std::string form;
  for (const size_t column : schema.entity_columns) {
    form += form.empty() ? "" : " --entity ";
    form += ShellWord(schema.columns[column].name + "=...");
  }
  return form;
}

// `hint` goes to the end.
Status Refuse(const TableSchema& schema, const std::string& what, std::string_view hint = "") {
  return Status::InvalidArgument(fmt::format("--entity: {}; table {} needs --entity {}{}", what,
                                             schema.QualifiedName(), FormOf(schema), hint));
}

// "NAME=VALUE" into the values by column name.
Status TakePair(const TableSchema& schema, std::string_view pair,
                std::map<std::string, std::string>* values) {
  const size_t split = pair.find('=');
  if (split == std::string_view::npos) {
    return Refuse(schema, fmt::format("'{}' is not NAME=VALUE", pair),
                  fmt::format("; or, if values hold commas, --entity {}", FormInWords(schema)));
  }
  const std::string name(pair.substr(0, split));
  std::vector<std::string> names;
  for (const size_t column : schema.entity_columns) names.push_back(schema.columns[column].name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string nearest = NearestName(name, names);
    return Refuse(schema, fmt::format("'{}' is no entity column", name),
                  nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  if (!values->emplace(name, pair.substr(split + 1)).second) {
    return Refuse(schema, fmt::format("'{}' is given twice", name));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::string>> SplitEntity(const TableSchema& schema,
                                             const std::vector<std::string>& texts) {
  if (schema.entity_columns.size() == 1) {
    if (texts.size() == 1) return std::vector<std::string>{WithoutName(schema, texts.front())};
    return Status::InvalidArgument(
        fmt::format("--entity: {} are given; table {} has one entity column, {}: give one",
                    Counted(texts.size(), "value"), schema.QualifiedName(),
                    schema.columns[schema.entity_columns.front()].name));
  }
  std::map<std::string, std::string> given;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (texts.size() == 1 && rest.find(',') != std::string_view::npos) {
      CISTERN_RETURN_IF_ERROR(TakePair(schema, rest.substr(0, rest.find(',')), &given));
      rest.remove_prefix(rest.find(',') + 1);
    }
    CISTERN_RETURN_IF_ERROR(TakePair(schema, rest, &given));
  }
  std::vector<std::string> values;
  for (const size_t column : schema.entity_columns) {
    const std::string& name = schema.columns[column].name;
    const auto value = given.find(name);
    if (value == given.end()) return Refuse(schema, fmt::format("'{}' is not given", name));
    values.push_back(value->second);
  }
  return values;
}

Result<EntityKey> ParseEntity(const TableSchema& schema, const std::vector<std::string>& texts) {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> values, SplitEntity(schema, texts));
  const std::vector<std::string_view> parts(values.begin(), values.end());
  Result<EntityKey> entity = EntityFromText(schema, parts);
  if (entity.ok()) return entity;
  return Status(entity.status().code(), fmt::format("--entity of table {}: {}",
                                                    schema.QualifiedName(),
                                                    entity.status().message()));
}

Result<std::vector<std::string>> EntityValues(const TableSchema& schema, const EntityKey& entity) {
  std::vector<std::string> values;
  std::string_view rest = entity.bytes;
  for (const size_t column : schema.entity_columns) {
    const size_t length = rest.size() < 2 ? SIZE_MAX : GetBig<uint16_t>(rest.data());
    if (rest.size() < 2 || rest.size() - 2 < length) {
      return Status::Corruption(fmt::format("an entity of table {} has too few bytes",
                                            schema.QualifiedName()));
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
