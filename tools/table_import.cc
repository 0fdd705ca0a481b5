#include "tools/table_import.h"

#include <fmt/format.h>

#include <string_view>

#include "lib/cql/comment_rule.h"
#include "lib/cql/ddl_print.h"

namespace cistern::tool {
namespace {

using replicate::ClusterColumn;
using replicate::ClusterColumnKind;
using replicate::ClusterSchema;
using replicate::ClusterTable;

bool IsStatic(const ClusterColumn& column) { return column.kind == ClusterColumnKind::kStatic; }

// Whether the rule of the comment gives rows the timestamps of their events.
bool IsByEvent(const std::string& comment) {
  const Result<CommentRule> rule = ParseCommentRule(comment);
  return rule.ok() && rule->timestamps == TimestampMode::kEventTime;
}

// The columns that a declaration can have. Static ones need the timestamps of events, and
// collections that are not frozen those of writes.
TableSchema TakenColumns(const ClusterTable& table, bool is_by_event) {
  TableSchema columns;  // no more than those
  for (const auto* part : {&table.partition_key, &table.clustering, &table.others}) {
    for (const ClusterColumn& column : *part) {
      if (!column.type.has_value()) continue;
      if (is_by_event ? column.type->is_multicell : IsStatic(column)) continue;
      ColumnSpec& spec = columns.columns.emplace_back();
      spec.name = column.name;
      spec.type = *column.type;
      spec.is_static = IsStatic(column);
    }
  }
  return columns;
}

std::string Names(const std::vector<ClusterColumn>& columns) {
  std::string names;
  for (const ClusterColumn& column : columns) {
    names += (names.empty() ? "" : ", ") + QuoteName(column.name);
  }
  return names;
}

std::string OrderText(const std::vector<ClusterColumn>& clustering) {
  std::string text;
  for (const ClusterColumn& column : clustering) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", QuoteName(column.name),
                        column.descending ? "DESC" : "ASC");
  }
  return text;
}

// The cluster names its own classes in full.
std::string CompactionText(const ClusterTable& table) {
  constexpr std::string_view kPackage = "org.apache.cassandra.db.compaction.";
  std::string text;
  for (const auto& [key, value] : table.compaction) {
    std::string_view shown = value;
    if (key == "class" && shown.starts_with(kPackage)) shown.remove_prefix(kPackage.size());
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", QuoteString(key),
                        QuoteString(shown));
  }
  return text;
}

// CREATE TYPE of those that the columns have.
std::string TypesText(const ClusterSchema& cluster, const TableSchema& columns) {
  std::string text;
  for (const ColumnType* type : UserTypesOf(columns)) {
    text += fmt::format("CREATE TYPE {}.{} {};\n", QuoteName(cluster.keyspace),
                        QuoteName(type->name), FieldsText(*type));
  }
  return text;
}

// The whole declaration.
std::string TextOf(const ClusterSchema& cluster, const std::string& comment) {
  const ClusterTable& table = *cluster.table;
  const TableSchema columns = TakenColumns(table, IsByEvent(comment));
  std::string text = TypesText(cluster, columns);
  text += fmt::format("CREATE TABLE {} (\n", cluster.CqlName());
  for (const ColumnSpec& column : columns.columns) {
    text += fmt::format("  {} {}{},\n", QuoteName(column.name), column.type.ToCql(),
                        column.is_static ? " static" : "");
  }
  text += fmt::format("  PRIMARY KEY (({}){}{}))", Names(table.partition_key),
                      table.clustering.empty() ? "" : ", ", Names(table.clustering));
  text += fmt::format(" WITH comment = {} AND default_time_to_live = {} AND gc_grace_seconds = {}",
                      QuoteString(comment), table.default_ttl_s, table.gc_grace_s);
  if (!table.clustering.empty()) {
    text += fmt::format(" AND CLUSTERING ORDER BY ({})", OrderText(table.clustering));
  }
  if (!table.compaction.empty()) {
    text += fmt::format(" AND compaction = {{{}}}", CompactionText(table));
  }
  return text;
}

}  // namespace

Status CheckImport(const ClusterSchema& cluster) {
  const auto refuse = [&cluster](std::string_view what) {
    return Status::InvalidArgument(fmt::format("{} {}", cluster.CqlName(), what));
  };
  if (!cluster.has_keyspace) {
    return Status::InvalidArgument(
        fmt::format("the cluster has no keyspace {}", QuoteName(cluster.keyspace)));
  }
  if (cluster.is_view) return refuse("is a materialized view, which takes no rows");
  if (!cluster.table.has_value()) return refuse("is no table of the cluster");
  if (cluster.table->is_counter) return refuse("is a table of counters, which take no timestamps");
  if (cluster.table->is_compact) return refuse("is a table of COMPACT STORAGE");
  if (cluster.table->clustering.empty()) {
    return refuse("has no clustering column, of which the first is the event time");
  }
  for (const auto* key : {&cluster.table->partition_key, &cluster.table->clustering}) {
    for (const ClusterColumn& column : *key) {
      if (column.type.has_value()) continue;
      return refuse(fmt::format("has the key column {} of type {}, which Cistern does not have",
                                replicate::Shown(column.name),
                                replicate::Printable(column.type_text)));
    }
  }
  return Status::Ok();
}

std::vector<std::string> LeftOut(const ClusterTable& table, const TableSchema& declared) {
  std::vector<std::string> sentences;
  for (const ClusterColumn& column : table.others) {
    if (declared.FindColumn(column.name).has_value()) continue;
    const std::string name = replicate::Shown(column.name);
    if (column.type.has_value()) {
      sentences.push_back(fmt::format(
          "the column {} is left out: {} event", name,
          declared.timestamps == TimestampMode::kEventTime
              ? "it is not frozen, which does not go with timestamps ="
              : "it is static, which needs timestamps ="));
    } else if (column.type_text.starts_with("list<")) {
      sentences.push_back(fmt::format(
          "the column {} is left out: its elements would be there twice where a batch is sent "
          "twice, as it is a list that is not frozen",
          name));
    } else {
      sentences.push_back(fmt::format("the column {} is left out: Cistern has no {}", name,
                                      replicate::Printable(column.type_text)));
    }
  }
  return sentences;
}

Result<std::shared_ptr<const TableSchema>> DeclareWith(const ClusterSchema& cluster,
                                                       const std::string& comment) {
  return ParseCreateTable(TextOf(cluster, comment));
}

}  // namespace cistern::tool
