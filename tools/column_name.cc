#include "tools/column_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/base/nearest_name.h"

namespace cistern::tool {

namespace {

bool EqualWithoutCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char x, char y) { return lower(x) == lower(y); });
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
