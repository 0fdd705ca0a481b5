#include "tools/table_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cistern/limits.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"

namespace cistern::tool {
namespace {

using replicate::ClusterColumn;
using replicate::ClusterColumnKind;
using replicate::ClusterSchema;
using replicate::ClusterTable;

// Whether a declaration can have the name; that of a cluster's column may have any bytes.
bool CanBeName(std::string_view name) {
  return name.size() <= limits::kNameBytesMax && std::ranges::none_of(name, [](char c) {
    return (c >= 0 && c < ' ') || c == 0x7f;
  });
}

// What a key cannot have of the column; empty: it is as it has to be.
std::string WhyNoKey(const ClusterColumn& column) {
  const std::string type = replicate::Printable(column.type_text);
  if (!CanBeName(column.name)) {
    return fmt::format(", whose name is longer than {} bytes or has control characters",
                       limits::kNameBytesMax);
  }
  if (!column.type.has_value()) {
    return fmt::format(" of type {}, which Cistern does not have", type);
  }
  return IsOpaque(column.type->kind)
             ? fmt::format(" of type {}, which cannot be in a key here", type)
             : std::string();
}

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
      if (!column.type.has_value() || !CanBeName(column.name)) continue;
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
  if (cluster.table->partition_key.size() < 2) {
    return refuse("has one column in its partition key, which needs an entity and a bucket");
  }
  for (const auto* key : {&cluster.table->partition_key, &cluster.table->clustering}) {
    for (const ClusterColumn& column : *key) {
      const std::string why = WhyNoKey(column);
      if (why.empty()) continue;
      return refuse(
          fmt::format("has the key column {}{}", replicate::Shown(column.name), why));
    }
  }
  const ClusterColumn& time = cluster.table->clustering.front();
  const CqlType kind = time.type->kind;
  if (kind == CqlType::kTimestamp || kind == CqlType::kTimeuuid || kind == CqlType::kBigint) {
    return Status::Ok();
  }
  return refuse(fmt::format("has the first clustering column {} of type {}: it is the event time, "
                            "and has to be a timestamp, timeuuid or bigint",
                            replicate::Shown(time.name), replicate::Printable(time.type_text)));
}

std::vector<std::string> LeftOut(const ClusterTable& table, const TableSchema& declared) {
  std::vector<std::string> sentences;
  for (const ClusterColumn& column : table.others) {
    if (declared.FindColumn(column.name).has_value()) continue;
    const std::string name = replicate::Shown(column.name);
    if (!CanBeName(column.name)) {
      sentences.push_back(fmt::format(
          "the column {} is left out: its name is longer than {} bytes or has control characters",
          name, limits::kNameBytesMax));
    } else if (column.type.has_value()) {
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
