#include "tests/engine/replicate/schema_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <memory>

#include "engine/replicate/schema_statements.h"
#include "lib/base/coding.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_parser.h"
#include "lib/cql/ddl_print.h"

namespace cistern::replicate {
namespace {

using Cell = std::optional<std::string>;

std::string DoubleBytes(double value) {
  std::string bytes;
  PutBig(&bytes, std::bit_cast<uint64_t>(value));
  return bytes;
}

std::string BooleanBytes(bool value) {
  return std::string(1, value ? '\1' : '\0');
}

// Cassandra keeps the class with its package.
TextMap WithPackage(const TextMap& entries, const std::string& package) {
  TextMap out = entries;
  const auto found = out.find("class");
  if (found != out.end() && found->second.find('.') == std::string::npos) {
    found->second = package + "." + found->second;
  }
  return out;
}

// Options that it takes and leaves out of its answers, as other versions have fewer.
constexpr std::array<std::string_view, 9> kOptionsNotAnswered = {
    "additional_write_policy", "allow_auto_snapshot", "crc_check_chance", "incremental_backups",
    "max_index_interval", "memtable", "memtable_flush_period_in_ms", "read_repair_chance",
    "speculative_retry"};

bool SetOption(const DdlOption& option, ModelTable* table) {
  const std::string& name = option.name.text;
  const TextMap entries(option.entries.begin(), option.entries.end());
  const std::string& value = option.value.text;
  if (name == "default_time_to_live") {
    table->default_ttl_s = std::atoi(value.c_str());
  } else if (name == "gc_grace_seconds") {
    table->gc_grace_s = std::atoi(value.c_str());
  } else if (name == "comment") {
    table->comment = value;
  } else if (name == "compaction") {
    table->compaction = WithPackage(entries, "org.apache.cassandra.db.compaction");
    table->compaction.emplace("max_threshold", "32");
    table->compaction.emplace("min_threshold", "4");
  } else if (name == "compression") {
    table->compression = WithPackage(entries, "org.apache.cassandra.io.compress");
    table->compression.emplace("chunk_length_in_kb", "16");
  } else if (name == "caching") {
    for (const auto& [key, entry] : entries) table->caching[key] = entry;
  } else if (name == "bloom_filter_fp_chance") {
    table->bloom_filter_fp_chance = std::atof(value.c_str());
  } else if (name == "min_index_interval") {
    table->min_index_interval = std::atoi(value.c_str());
  } else if (name == "cdc") {
    table->cdc = value == "true";
  } else if (name == "read_repair") {
    table->read_repair = value;
  } else {
    const auto& kept = kOptionsNotAnswered;
    return std::find(kept.begin(), kept.end(), name) != kept.end();
  }
  return true;
}

void PlaceKeys(const DdlTable& ddl, ModelTable* table) {
  for (size_t i = 0; i < ddl.partition_key.size(); ++i) {
    ModelColumn* column = table->Find(ddl.partition_key[i].text);
    column->kind = "partition_key";
    column->position = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < ddl.clustering_key.size(); ++i) {
    ModelColumn* column = table->Find(ddl.clustering_key[i].text);
    column->kind = "clustering";
    column->position = static_cast<int32_t>(i);
    column->order = "asc";
  }
  for (const DdlOrder& order : ddl.order) {
    table->Find(order.column.text)->order = order.descending ? "desc" : "asc";
  }
}

bool AddColumns(const DdlTable& ddl, ModelTable* table) {
  for (const DdlColumn& column : ddl.columns) {
    if (table->Find(column.name.text) != nullptr) return false;
    for (const ModelDropped& dropped : table->dropped) {
      const bool is_same =
          ComesBack(column.type) && dropped.type == ExpandUserTypes(column.type).ToCql();
      if (dropped.name == column.name.text && !is_same) return false;
    }
    const char* kind = column.static_offset != 0 ? "static" : "regular";
    table->columns.push_back({column.name.text, kind, -1, "none", column.type.ToCql()});
  }
  return true;
}

// Those of one keyspace, whichever: tests have no more.
std::vector<ColumnType> KnownTypes(const std::vector<ModelType>& types) {
  std::vector<ColumnType> known;
  for (const ModelType& type : types) {
    std::string cql = "CREATE TYPE " + type.name + " (";
    for (size_t i = 0; i < type.field_names.size(); ++i) {
      cql += (i > 0 ? ", " : "") + type.field_names[i] + " " + type.field_types[i];
    }
    const auto ddl = ParseDdl(cql + "); CREATE TABLE t (c int, PRIMARY KEY ((c)))", known);
    EXPECT_TRUE(ddl.ok()) << ddl.status().ToString();
    if (ddl.ok()) known.push_back(ddl->types.front().type);
  }
  return known;
}

}  // namespace

std::string TextMapBytes(const TextMap& entries) {
  std::string bytes;
  PutBig(&bytes, static_cast<int32_t>(entries.size()));
  for (const auto& [key, value] : entries) {
    for (const std::string& text : {key, value}) {
      PutBig(&bytes, static_cast<int32_t>(text.size()));
      bytes += text;
    }
  }
  return bytes;
}

std::string TextSetBytes(const std::vector<std::string>& texts) {
  std::string bytes;
  PutBig(&bytes, static_cast<int32_t>(texts.size()));
  for (const std::string& text : texts) {
    PutBig(&bytes, static_cast<int32_t>(text.size()));
    bytes += text;
  }
  return bytes;
}

std::string IntBytes(int32_t value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

std::string BigintBytes(int64_t value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

ModelColumn* ModelTable::Find(std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [name](const ModelColumn& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

bool ModelCluster::Execute(const std::string& statement) {
  const auto after = [&](std::string_view head) -> std::optional<std::string> {
    if (!statement.starts_with(head) || !statement.ends_with(";")) return std::nullopt;
    return statement.substr(head.size(), statement.size() - head.size() - 1);
  };
  if (const auto rest = after("CREATE KEYSPACE IF NOT EXISTS ")) {
    const size_t with = rest->find(" WITH replication = ");
    if (with == std::string::npos) return false;
    const auto replication = ParseReplication(rest->substr(with + 20));
    if (!replication.ok()) return false;
    keyspaces[rest->substr(0, with)] = {
        WithPackage(*replication, "org.apache.cassandra.locator"), true};
    return true;
  }
  const std::vector<ColumnType> known = KnownTypes(types);
  if (statement.starts_with("CREATE TYPE IF NOT EXISTS ")) {
    // A type is parsed where DDL has one: before a table.
    const auto ddl = ParseDdl(statement + "CREATE TABLE t (c int, PRIMARY KEY ((c)))", known);
    if (!ddl.ok()) return false;
    const DdlUserType& made = ddl->types.front();
    ModelType& type = types.emplace_back();
    type.keyspace = made.keyspace.text;
    type.name = made.name.text;
    type.field_names = made.type.field_names;
    for (const ColumnType& field : made.type.arguments) type.field_types.push_back(field.ToCql());
    return keyspaces.contains(type.keyspace);
  }
  if (statement.starts_with("CREATE TABLE IF NOT EXISTS ")) {
    const auto ddl = ParseDdl(statement, known);
    if (!ddl.ok() || !keyspaces.contains(ddl->keyspace.text)) return false;
    ModelTable table;
    if (!AddColumns(*ddl, &table)) return false;
    PlaceKeys(*ddl, &table);
    for (const DdlOption& option : ddl->options) {
      if (!SetOption(option, &table)) return false;
    }
    return tables.try_emplace({ddl->keyspace.text, ddl->name.text}, table).second;
  }
  const auto rest = after("ALTER TABLE ");
  if (!rest.has_value()) return false;
  const size_t add = rest->find(" ADD ");
  const size_t with = rest->find(" WITH ");
  const bool adds = add < with;
  std::string name = rest->substr(0, std::min(add, with));
  std::string tail = rest->substr((adds ? add + 5 : with + 6));
  if (adds && tail.starts_with("(")) tail = tail.substr(1, tail.size() - 2);
  const auto ddl = ParseDdl("CREATE TABLE " + name + " (" + (adds ? tail : "c int") +
                            ", PRIMARY KEY ((c)))" + (adds ? "" : " WITH " + tail), known);
  if (!ddl.ok()) return false;
  const auto table = tables.find({ddl->keyspace.text, ddl->name.text});
  if (table == tables.end()) return false;
  if (adds) return AddColumns(*ddl, &table->second);
  return std::all_of(ddl->options.begin(), ddl->options.end(),
                     [&](const DdlOption& o) { return SetOption(o, &table->second); });
}

SchemaAnswers ModelCluster::Answers(const std::string& keyspace, const std::string& name) const {
  const std::string map = "map<text, text>";
  SchemaAnswers answers;
  answers.keyspaces.columns = {
      {"keyspace_name", "text"}, {"durable_writes", "boolean"}, {"replication", map}};
  answers.tables.columns = {
      {"keyspace_name", "text"}, {"table_name", "text"}, {"bloom_filter_fp_chance", "double"},
      {"caching", map}, {"cdc", "boolean"}, {"comment", "text"}, {"compaction", map},
      {"compression", map}, {"default_time_to_live", "int"}, {"extensions", "map<text, blob>"},
      {"flags", "set<text>"}, {"gc_grace_seconds", "int"}, {"id", "uuid"},
      {"min_index_interval", "int"}, {"read_repair", "text"}};
  answers.columns.columns = {
      {"keyspace_name", "text"}, {"table_name", "text"}, {"column_name", "text"},
      {"clustering_order", "text"}, {"column_name_bytes", "blob"}, {"kind", "text"},
      {"position", "int"}, {"type", "text"}};
  answers.dropped_columns.columns = {
      {"keyspace_name", "text"}, {"table_name", "text"}, {"column_name", "text"},
      {"dropped_time", "timestamp"}, {"kind", "text"}, {"type", "text"}};
  answers.views.columns = {{"keyspace_name", "text"}, {"view_name", "text"}};
  answers.types.columns = {{"keyspace_name", "text"}, {"type_name", "text"},
                           {"field_names", "list<text>"}, {"field_types", "list<text>"}};
  for (const ModelType& type : types) {
    if (type.keyspace != keyspace) continue;
    answers.types.rows.push_back({keyspace, type.name, TextSetBytes(type.field_names),
                                  TextSetBytes(type.field_types)});
  }
  if (const auto found = keyspaces.find(keyspace); found != keyspaces.end()) {
    answers.keyspaces.rows.push_back({keyspace, BooleanBytes(found->second.durable_writes),
                                      TextMapBytes(found->second.replication)});
  }
  for (const auto& [of, view] : views) {
    if (of == keyspace && view == name) answers.views.rows.push_back({keyspace, name});
  }
  const auto found = tables.find({keyspace, name});
  if (found == tables.end()) return answers;
  const ModelTable& table = found->second;
  answers.tables.rows.push_back(
      {keyspace, name, DoubleBytes(table.bloom_filter_fp_chance), TextMapBytes(table.caching),
       table.cdc.has_value() ? Cell(BooleanBytes(*table.cdc)) : Cell(), table.comment,
       TextMapBytes(table.compaction), TextMapBytes(table.compression),
       IntBytes(table.default_ttl_s), Cell(), TextSetBytes(table.flags),
       IntBytes(table.gc_grace_s), std::string(16, 'i'), IntBytes(table.min_index_interval),
       table.read_repair});
  for (const ModelColumn& c : table.columns) {
    answers.columns.rows.push_back(
        {keyspace, name, c.name, c.order, c.name, c.kind, IntBytes(c.position), c.type});
  }
  std::sort(answers.columns.rows.begin(), answers.columns.rows.end());
  for (const ModelDropped& d : table.dropped) {
    answers.dropped_columns.rows.push_back(
        {keyspace, name, d.name, BigintBytes(d.dropped_ms), d.kind, d.type});
  }
  return answers;
}

ClusterSchema ModelCluster::Read(const std::string& keyspace, const std::string& table) const {
  auto read = ReadClusterSchema(keyspace, table, Answers(keyspace, table));
  EXPECT_TRUE(read.ok()) << read.status().ToString();
  return read.ok() ? *std::move(read) : ClusterSchema{};
}

std::shared_ptr<const TableSchema> Declared(const std::string& cql) {
  auto parsed = ParseCreateTable(cql);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << cql;
  return parsed.ok() ? *parsed : std::make_shared<TableSchema>();
}

ModelCluster ClusterWith(const std::string& cql) {
  ModelCluster cluster;
  cluster.keyspaces["plant"] = {
      {{"class", "org.apache.cassandra.locator.SimpleStrategy"}, {"replication_factor", "1"}},
      true};
  const auto declared = Declared(cql);
  for (const std::string& type : CreateTypeStatements("plant", UserTypesOf(*declared))) {
    EXPECT_TRUE(cluster.Execute(type)) << type;
  }
  EXPECT_TRUE(cluster.Execute(CreateTableStatement("plant", *declared)));
  return cluster;
}

}  // namespace cistern::replicate
