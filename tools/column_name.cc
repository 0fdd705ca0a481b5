#include "tools/column_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/nearest_name.h"

namespace cistern::tool {

namespace {

bool EqualWithoutCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char x, char y) { return lower(x) == lower(y); });
}

std::string_view WithoutBlanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string ColumnNamed(const TableSchema& schema, std::string_view name) {
  const ColumnSpec* found = nullptr;
  size_t count = 0;
  for (const ColumnSpec& column : schema.columns) {
    if (column.name == name) return column.name;
    if (!EqualWithoutCase(column.name, name)) continue;
    found = &column;
    ++count;
  }
  return count == 1 ? found->name : std::string(name);
}

Result<std::vector<std::string>> ColumnsNamed(const TableSchema& schema, std::string_view option,
                                              std::string_view text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string name = ColumnNamed(schema, WithoutBlanks(text.substr(begin, end - begin)));
    if (name.empty()) {
      return Status::InvalidArgument(fmt::format("{} '{}' leaves out a name; table {} has {}",
                                                 option, text, schema.QualifiedName(),
                                                 ColumnList(schema)));
    }
    if (!schema.FindColumn(name)) {
      return Status::InvalidArgument(fmt::format("{}: {}", option, NoColumn(schema, name)));
    }
    names.push_back(std::move(name));
    begin = end + 1;
  }
  return names;
}

std::string ColumnList(const TableSchema& schema) {
  std::string list;
  for (const ColumnSpec& column : schema.columns) list += (list.empty() ? "" : ", ") + column.name;
  return list;
}

std::string NoColumn(const TableSchema& schema, const std::string& name) {
  std::vector<std::string> names;
  for (const ColumnSpec& column : schema.columns) names.push_back(column.name);
  const std::string nearest = NearestName(name, names);
  return fmt::format("table {} has no column '{}'; it has {}{}", schema.QualifiedName(), name,
                     ColumnList(schema),
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

}  // namespace cistern::tool
