#include "engine/replicate/schema_statements.h"

#include <charconv>

#include "cistern/limits.h"
#include "engine/replicate/system_rows.h"
#include "lib/base/concat.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/ddl_parser.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

std::string MapText(const std::map<std::string, std::string>& entries) {
  std::string text = "{";
  for (const auto& [key, value] : entries) {
    text += Concat({(text.size() > 1 ? ", " : ""), QuoteString(key), ": ", QuoteString(value)});
  }
  return text + "}";
}

// The whole rule behind the words of the cluster; the declared comment where that has none.
std::string CommentText(const TableSchema& declared, const ClusterTable& cluster) {
  const std::string ours = CommentWithRule(declared);
  const std::string_view theirs = WordsBeforeRule(cluster.comment);
  const std::string_view rule = std::string_view(ours).substr(WordsBeforeRule(ours).size());
  if (theirs.empty()) return ours;
  return std::string(theirs) + (theirs.ends_with(' ') ? "" : " ") + std::string(rule);
}

// What stands behind an option of the declaration.
std::string OptionText(const TableSchema& declared, const ClusterTable& cluster,
                       const std::string& option) {
  if (option == "comment") return QuoteString(CommentText(declared, cluster));
  if (option == "compaction") return MapText(declared.compaction);
  if (option == "default_time_to_live") return std::to_string(declared.default_ttl_s);
  if (option == "gc_grace_seconds") return std::to_string(declared.gc_grace_s);
  const auto found = declared.other_options.find(option);
  return found == declared.other_options.end() ? "" : found->second;
}

}  // namespace

std::optional<OptionValue> ParseOptionValue(std::string_view cql) {
  if (cql.size() > limits::kDdlBytesMax) return std::nullopt;
  // A value is parsed where DDL has one.
  const auto parsed = ParseDdl("CREATE TABLE t (c int, PRIMARY KEY ((c))) WITH o = " +
                               std::string(cql));
  if (!parsed.ok() || parsed->options.size() != 1) return std::nullopt;
  const DdlOption& option = parsed->options.front();
  OptionValue value;
  switch (option.kind) {
    case DdlOption::Kind::kList: return std::nullopt;
    case DdlOption::Kind::kConstant: value.constant = option.value.text; break;
    case DdlOption::Kind::kMap:
      value.is_map = true;
      value.entries.insert(option.entries.begin(), option.entries.end());
      break;
  }
  return value;
}

Result<std::map<std::string, std::string>> ParseReplication(std::string_view cql) {
  const std::optional<OptionValue> value = ParseOptionValue(cql);
  if (!value.has_value() || !value->is_map || !value->entries.contains("class")) {
    return Status::InvalidArgument(Concat({ShowText(cql), " does not say how a keyspace is "
        "replicated: expected, for example, {'class': 'NetworkTopologyStrategy', 'dc1': 3}"}));
  }
  return value->entries;
}

Status CheckDataCenters(const std::map<std::string, std::string>& replication,
                        const std::map<std::string, size_t>& data_centers) {
  constexpr std::string_view kStrategy = "NetworkTopologyStrategy";
  const auto strategy = replication.find("class");
  if (data_centers.empty() || strategy == replication.end()) return Status::Ok();
  if (!std::string_view(strategy->second).ends_with(kStrategy)) return Status::Ok();
  for (const auto& [key, factor] : replication) {
    // A factor for all data centers has a name of its own.
    if (key == "class" || key == "replication_factor" || data_centers.contains(key)) continue;
    std::string names;
    for (const auto& [name, count] : data_centers) names += (names.empty() ? "" : ", ") + name;
    return Status::InvalidArgument(Concat({"the cluster has no data center ", ShowText(key),
        "; those that it has: ", names}));
  }
  return Status::Ok();
}

std::vector<std::string> FactorWarnings(const std::map<std::string, std::string>& replication,
                                        const std::map<std::string, size_t>& data_centers) {
  std::vector<std::string> texts;
  const auto check = [&](const std::string& factor, const std::string& where, size_t nodes) {
    uint64_t replicas = 0;
    const char* const end = factor.data() + factor.size();
    const auto [parsed, error] = std::from_chars(factor.data(), end, replicas);
    if (error != std::errc() || parsed != end || replicas <= nodes) return;
    texts.push_back(Concat({factor, " replicas in ", where, ", which has ", nodes,
        (nodes == 1 ? " node" : " nodes"), ": a write that needs a majority of them may never be "
        "taken"}));
  };
  size_t all = 0;
  for (const auto& [name, nodes] : data_centers) all += nodes;
  const auto strategy = replication.find("class");
  const bool is_simple =
      strategy != replication.end() && strategy->second.ends_with("SimpleStrategy");
  for (const auto& [key, factor] : replication) {
    if (key == "replication_factor" && is_simple) check(factor, "the cluster", all);
    for (const auto& [name, nodes] : data_centers) {
      const bool is_meant = key == name || (key == "replication_factor" && !is_simple);
      if (is_meant) check(factor, "data center " + name, nodes);
    }
  }
  return texts;
}

std::string CreateKeyspaceStatement(std::string_view keyspace,
                                    const std::map<std::string, std::string>& replication) {
  return Concat({"CREATE KEYSPACE IF NOT EXISTS ", QuoteName(keyspace), " WITH replication = ",
      MapText(replication), ";"});
}

std::vector<std::string> CreateTypeStatements(std::string_view keyspace,
                                              const std::vector<const ColumnType*>& user_types) {
  std::vector<std::string> statements;
  for (const ColumnType* type : user_types) {
    const std::string place = keyspace.empty() ? "" : QuoteName(keyspace) + ".";
    statements.push_back(Concat({"CREATE TYPE IF NOT EXISTS ", place, QuoteName(type->name), " ",
        FieldsText(*type), ";"}));
  }
  return statements;
}

std::string CreateTableStatement(std::string_view keyspace, const TableSchema& declared) {
  TableSchema placed = declared;
  placed.keyspace = keyspace;
  placed.comment = CommentWithRule(declared);
  // Options of Cassandra 3, which may be declared still: 4 and 5 refuse the whole statement.
  placed.other_options.erase("read_repair_chance");
  placed.other_options.erase("dclocal_read_repair_chance");
  constexpr std::string_view kHead = "CREATE TABLE ";
  std::string text = TableText(placed);
  text.insert(kHead.size(), "IF NOT EXISTS ");
  text.pop_back();  // the end of the line
  return text;
}

std::string AddColumnsStatement(std::string_view table,
                                const std::vector<const ColumnSpec*>& columns) {
  std::string list;
  for (const ColumnSpec* column : columns) {
    list += Concat({(list.empty() ? "" : ", "), QuoteName(column->name), " ",
        column->type.ToCql(), (column->is_static ? " static" : "")});
  }
  if (columns.size() > 1) list = Concat({"(", list, ")"});
  return Concat({"ALTER TABLE ", table, " ADD ", list, ";"});
}

std::string RenameColumnsStatement(std::string_view table,
                                   const std::vector<std::pair<std::string, std::string>>& names) {
  std::string list;
  for (const auto& [theirs, ours] : names) {
    list += Concat({(list.empty() ? "" : " AND "), Printable(QuoteName(theirs)), " TO ",
        QuoteName(ours)});
  }
  return Concat({"ALTER TABLE ", table, " RENAME ", list, ";"});
}

std::string AlterOptionsStatement(const ClusterSchema& cluster, const TableSchema& declared,
                                  const std::vector<std::string>& options) {
  std::string list;
  for (const std::string& option : options) {
    list += Concat({(list.empty() ? "" : " AND "), QuoteName(option), " = ",
        OptionText(declared, *cluster.table, option)});
  }
  return Concat({"ALTER TABLE ", cluster.CqlName(), " WITH ", list, ";"});
}

}  // namespace cistern::replicate
