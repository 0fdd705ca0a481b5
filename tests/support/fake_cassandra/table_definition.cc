#include "tests/support/fake_cassandra/table_definition.h"

#include <algorithm>
#include <utility>

#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_parser.h"
#include "lib/cql/table_options.h"

namespace cistern::fake_cassandra {
namespace {

void AddRegular(ColumnDefinition column, TableDefinition* table) {
  const auto first = table->columns.begin() + static_cast<std::ptrdiff_t>(table->first_regular());
  const auto at = std::find_if(first, table->columns.end(), [&](const ColumnDefinition& other) {
    return column.name < other.name;
  });
  table->columns.insert(at, std::move(column));
}

const DdlColumn* FindColumn(const DdlTable& ddl, std::string_view name) {
  for (const DdlColumn& column : ddl.columns) {
    if (column.name.text == name) return &column;
  }
  return nullptr;
}

Status AddKeys(const DdlTable& ddl, const std::vector<DdlName>& names, ColumnKind kind,
               TableDefinition* table) {
  for (const DdlName& name : names) {
    const DdlColumn* column = FindColumn(ddl, name.text);
    if (column == nullptr) {
      return Status::InvalidArgument("Unknown column '" + name.text +
                                     "' referenced in PRIMARY KEY for table '" + table->name + "'");
    }
    bool descending = false;
    for (const DdlOrder& order : ddl.order) {
      if (order.column.text == name.text) descending = order.descending;
    }
    table->columns.push_back({name.text, column->type, kind, descending});
  }
  return Status::Ok();
}

// What is named; the others stay.
Status TakeOptions(std::string_view create_table, const DdlTable& ddl, TableDefinition* table) {
  TableSchema options;
  Token comment;
  CISTERN_RETURN_IF_ERROR(TakeTableOptions(create_table, ddl.options, &options, &comment));
  for (const DdlOption& option : ddl.options) {
    const std::string& name = option.name.text;
    if (name == "default_time_to_live") table->default_ttl_s = options.default_ttl_s;
    if (name == "gc_grace_seconds") table->gc_grace_s = options.gc_grace_s;
    if (name == "compaction") table->compaction = options.compaction;
    if (name == "comment") table->comment = comment.text;
  }
  return Status::Ok();
}

}  // namespace

std::optional<size_t> TableDefinition::Find(std::string_view column) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return i;
  }
  return std::nullopt;
}

bool TableDefinition::Hides(const std::string& column, int64_t timestamp_us) const {
  const auto at = dropped.find(column);
  if (at == dropped.end()) return false;
  return timestamp_us <= at->second.dropped_us || !Find(column).has_value();
}

Result<TableDefinition> DefineTable(std::string_view create_table,
                                    std::span<const ColumnType> user_types) {
  CISTERN_ASSIGN_OR_RETURN(const DdlTable ddl, ParseDdl(create_table, user_types));
  TableDefinition table;
  table.keyspace = ddl.keyspace.text;
  table.name = ddl.name.text;
  if (ddl.keyspace.text.empty()) {
    return Status::InvalidArgument(
        "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename");
  }
  CISTERN_RETURN_IF_ERROR(AddKeys(ddl, ddl.partition_key, ColumnKind::kPartitionKey, &table));
  CISTERN_RETURN_IF_ERROR(AddKeys(ddl, ddl.clustering_key, ColumnKind::kClustering, &table));
  table.partition_key_count = ddl.partition_key.size();
  table.clustering_count = ddl.clustering_key.size();
  ClusteringOrder order;
  for (size_t i = table.partition_key_count; i < table.columns.size(); ++i) {
    order.push_back({table.columns[i].type, table.columns[i].descending});
  }
  table.order = std::make_shared<const ClusteringOrder>(std::move(order));
  for (const DdlColumn& column : ddl.columns) {
    if (table.Find(column.name.text).has_value()) continue;
    AddRegular(DefineColumn(column), &table);
  }
  CISTERN_RETURN_IF_ERROR(TakeOptions(create_table, ddl, &table));
  return table;
}

Result<TableDefinition> WithOptions(const TableDefinition& table, std::string_view create_table) {
  CISTERN_ASSIGN_OR_RETURN(const DdlTable ddl, ParseDdl(create_table));
  TableDefinition next = table;
  CISTERN_RETURN_IF_ERROR(TakeOptions(create_table, ddl, &next));
  return next;
}

ColumnDefinition DefineColumn(const DdlColumn& column) {
  const bool is_static = column.static_offset != 0;
  return {column.name.text, column.type, is_static ? ColumnKind::kStatic : ColumnKind::kRegular,
          false};
}

Result<TableDefinition> WithColumn(const TableDefinition& table, ColumnDefinition column) {
  if (table.Find(column.name).has_value()) {
    return Status::InvalidArgument("Column with name '" + column.name + "' already exists");
  }
  // Cassandra also takes types that are stored in the same way; nothing here needs that.
  const auto dropped = table.dropped.find(column.name);
  if (dropped != table.dropped.end()) {
    const std::string head = "Cannot re-add previously dropped column '" + column.name + "' of ";
    const auto kind_name = [](bool is_static) { return is_static ? "STATIC" : "REGULAR"; };
    const bool is_static = column.kind == ColumnKind::kStatic;
    if (!ComesBack(column.type) || dropped->second.type != ExpandUserTypes(column.type)) {
      return Status::InvalidArgument(head + "type " + column.type.ToCql() +
                                     ", incompatible with previous type " +
                                     dropped->second.type.ToCql());
    }
    if (dropped->second.is_static != is_static) {
      return Status::InvalidArgument(head + "kind " + kind_name(is_static) +
                                     ", incompatible with previous kind " +
                                     kind_name(dropped->second.is_static));
    }
  }
  TableDefinition next = table;
  AddRegular(std::move(column), &next);
  return next;
}

Result<TableDefinition> WithoutColumn(const TableDefinition& table, std::string_view name,
                                      int64_t dropped_us) {
  const std::optional<size_t> at = table.Find(name);
  if (!at.has_value()) {
    return Status::InvalidArgument("Column " + std::string(name) + " was not found in table '" +
                                   table.QualifiedName() + "'");
  }
  if (*at < table.first_regular()) {
    return Status::InvalidArgument("Cannot drop PRIMARY KEY column " + std::string(name));
  }
  TableDefinition next = table;
  const ColumnDefinition& column = table.columns[*at];
  next.dropped[std::string(name)] = {ExpandUserTypes(column.type),
                                     column.kind == ColumnKind::kStatic, dropped_us};
  next.columns.erase(next.columns.begin() + static_cast<std::ptrdiff_t>(*at));
  return next;
}

Result<TableDefinition> WithRenamed(const TableDefinition& table, std::string_view from,
                                    std::string_view to) {
  const std::optional<size_t> at = table.Find(from);
  const std::string names = Concat({"column ", from, " to ", to, " in table '",
      table.QualifiedName(), "'"});
  if (!at.has_value()) return Status::InvalidArgument("Cannot rename unknown " + names);
  if (table.Find(to).has_value()) {
    return Status::InvalidArgument("Cannot rename " + names + "; another column has that name");
  }
  if (*at >= table.first_regular()) {
    return Status::InvalidArgument("Cannot rename non PRIMARY KEY " + names);
  }
  TableDefinition next = table;
  next.columns[*at].name = to;
  return next;
}

}  // namespace cistern::fake_cassandra
