#include "tests/support/fake_cassandra/system_tables.h"

#include <map>
#include <memory>
#include <utility>

#include "lib/base/check.h"
#include "tests/support/fake_cassandra/prepared_statement.h"

namespace cistern::fake_cassandra {
namespace {

// Those columns that drivers and schema tools read. A set or map of the server's own is not
// frozen, which the protocol does not tell.
constexpr const char* kDefinitions[] = {
    "CREATE TABLE system.local (key text PRIMARY KEY, bootstrapped text, broadcast_address inet, "
    "broadcast_port int, cluster_name text, cql_version text, data_center text, host_id uuid, "
    "listen_address inet, native_protocol_version text, partitioner text, rack text, "
    "release_version text, rpc_address inet, rpc_port int, schema_version uuid, "
    "tokens frozen<set<text>>)",
    "CREATE TABLE system.peers (peer inet PRIMARY KEY, data_center text, host_id uuid, "
    "preferred_ip inet, rack text, release_version text, rpc_address inet, schema_version uuid, "
    "tokens frozen<set<text>>)",
    "CREATE TABLE system.peers_v2 (peer inet, peer_port int, data_center text, host_id uuid, "
    "native_address inet, native_port int, rack text, release_version text, schema_version uuid, "
    "tokens frozen<set<text>>, PRIMARY KEY (peer, peer_port))",
    "CREATE TABLE system_schema.keyspaces (keyspace_name text PRIMARY KEY, durable_writes boolean, "
    "replication frozen<map<text, text>>)",
    "CREATE TABLE system_schema.tables (keyspace_name text, table_name text, "
    "bloom_filter_fp_chance double, comment text, compaction frozen<map<text, text>>, "
    "compression frozen<map<text, text>>, default_time_to_live int, flags frozen<set<text>>, "
    "gc_grace_seconds int, id uuid, min_index_interval int, "
    "PRIMARY KEY (keyspace_name, table_name))",
    "CREATE TABLE system_schema.columns (keyspace_name text, table_name text, column_name text, "
    "clustering_order text, column_name_bytes blob, kind text, position int, type text, "
    "PRIMARY KEY (keyspace_name, table_name, column_name))",
    "CREATE TABLE system_schema.types (keyspace_name text, type_name text, "
    "field_names frozen<list<text>>, field_types frozen<list<text>>, "
    "PRIMARY KEY (keyspace_name, type_name))",
    "CREATE TABLE system_schema.dropped_columns (keyspace_name text, table_name text, "
    "column_name text, dropped_time timestamp, kind text, type text, "
    "PRIMARY KEY (keyspace_name, table_name, column_name))",
    // There are no views: it is empty.
    "CREATE TABLE system_schema.views (keyspace_name text, view_name text, base_table_name text, "
    "PRIMARY KEY (keyspace_name, view_name))",
};

using Tables = std::map<std::string, TablePtr>;  // by the qualified name

const Tables& SystemTables() {
  static const Tables kTables = [] {
    constexpr uint64_t kSystemIds = 2;  // a family of uuids
    Tables tables;
    for (const char* text : kDefinitions) {
      Result<TableDefinition> table = DefineTable(text);
      CISTERN_CHECK(table.ok());
      table->id = UuidOf(kSystemIds, tables.size());
      const std::string name = table->QualifiedName();
      tables[name] = std::make_shared<const TableDefinition>(*std::move(table));
    }
    return tables;
  }();
  return kTables;
}

std::string IntBytes(int64_t value, int bytes = 4) {
  std::string out;
  for (int shift = 8 * bytes - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
  return out;
}

// [int] n, then each element with its [int] length.
std::string ElementsBytes(const std::vector<std::string>& elements, size_t count) {
  std::string out = IntBytes(static_cast<int64_t>(count));
  for (const std::string& element : elements) {
    out += IntBytes(static_cast<int64_t>(element.size())) + element;
  }
  return out;
}
std::string SetBytes(const std::vector<std::string>& elements) {
  return ElementsBytes(elements, elements.size());
}
std::string MapBytes(const std::map<std::string, std::string>& entries) {
  std::vector<std::string> flat;
  for (const auto& [key, value] : entries) flat.insert(flat.end(), {key, value});
  return ElementsBytes(flat, entries.size());
}

// Fills one table row by row.
class Filler {
 public:
  Filler(TablePtr table, const Schema& schema, const std::vector<NodeFacts>& nodes, size_t self)
      : table_(std::move(table)), schema_(schema), nodes_(nodes), self_(self) {}

  PartitionStore Fill() {
    const std::string name = table_->QualifiedName();
    if (name == "system.local") AddLocal();
    if (name == "system.peers" || name == "system.peers_v2") AddPeers();
    for (const auto& [keyspace_name, keyspace] : schema_.keyspaces()) {
      if (name == "system_schema.keyspaces") AddKeyspace(keyspace_name, keyspace);
      for (const ColumnType& type : keyspace.types) {
        if (name == "system_schema.types") AddType(keyspace_name, type);
      }
      for (const auto& [table_name, table] : keyspace.tables) {
        if (name == "system_schema.tables") AddTable(*table);
        if (name == "system_schema.columns") AddColumns(*table);
        if (name == "system_schema.dropped_columns") AddDropped(*table);
      }
    }
    return std::move(store_);
  }

 private:
  using Row = std::map<std::string, std::string>;

  // Columns that the table does not have are passed over.
  void Add(const Row& row) {
    Mutation mutation{table_, {}, Partition(table_->order)};
    ClusteringKey key;
    StoredRow stored;
    stored.marker.timestamp_us = 0;
    for (size_t i = 0; i < table_->columns.size(); ++i) {
      const ColumnDefinition& column = table_->columns[i];
      const auto at = row.find(column.name);
      if (column.kind == ColumnKind::kPartitionKey) {
        mutation.partition_key.push_back(at->second);
      } else if (column.kind == ColumnKind::kClustering) {
        const Status parsed = ParseWireValue(column.type, at->second, &key.emplace_back());
        CISTERN_CHECK(parsed.ok());
      } else if (at != row.end()) {
        stored.cells[column.name] = {0, 0, kNever, at->second};
      }
    }
    mutation.change.MergeRow(key, stored);
    store_.Apply(mutation);
  }

  Row OfNode(const NodeFacts& node) const {
    constexpr uint64_t kSchemaVersions = 3;  // a family of uuids
    return {{"data_center", "datacenter1"}, {"rack", "rack1"},
            {"release_version", "5.0.8"}, {"host_id", node.host_id},
            {"schema_version",
             UuidOf(kSchemaVersions, node.schema_version.value_or(schema_.version()))},
            {"tokens", SetBytes({std::to_string(node.token)})},
            {"rpc_address", node.address}, {"native_address", node.address},
            {"native_port", IntBytes(node.port)}, {"rpc_port", IntBytes(node.port)},
            {"broadcast_address", node.address}, {"listen_address", node.address},
            {"peer", node.address}, {"peer_port", IntBytes(7000)}};
  }
  void AddLocal() {
    Row row = OfNode(nodes_[self_]);
    row.insert({{"key", "local"}, {"bootstrapped", "COMPLETED"},
                {"broadcast_port", IntBytes(7000)}, {"cluster_name", "fake"},
                {"cql_version", "3.4.7"}, {"native_protocol_version", "5"},
                {"partitioner", "org.apache.cassandra.dht.Murmur3Partitioner"}});
    Add(row);
  }
  void AddPeers() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i != self_) Add(OfNode(nodes_[i]));
    }
  }
  void AddKeyspace(const std::string& name, const Keyspace& keyspace) {
    Add({{"keyspace_name", name}, {"durable_writes", "\x01"},
         {"replication", MapBytes(keyspace.replication)}});
  }
  void AddType(const std::string& keyspace, const ColumnType& type) {
    std::vector<std::string> field_types;
    for (const ColumnType& field : type.arguments) field_types.push_back(field.ToCql());
    // A list has the bytes of a set.
    Add({{"keyspace_name", keyspace}, {"type_name", type.name},
         {"field_names", SetBytes(type.field_names)}, {"field_types", SetBytes(field_types)}});
  }
  void AddTable(const TableDefinition& table) {
    Add({{"keyspace_name", table.keyspace}, {"table_name", table.name},
         {"comment", table.comment}, {"compaction", MapBytes(table.compaction)},
         {"compression", MapBytes({{"chunk_length_in_kb", "16"},
                                   {"class", "org.apache.cassandra.io.compress.LZ4Compressor"}})},
         {"default_time_to_live", IntBytes(table.default_ttl_s)},
         {"gc_grace_seconds", IntBytes(table.gc_grace_s)}, {"id", table.id},
         {"bloom_filter_fp_chance", IntBytes(0x3f847ae147ae147b, 8)},  // 0.01
         {"flags", SetBytes({"compound"})}, {"min_index_interval", IntBytes(128)}});
  }
  void AddColumns(const TableDefinition& table) {
    size_t position = 0;
    for (const ColumnDefinition& column : table.columns) {
      Row row = {{"keyspace_name", table.keyspace}, {"table_name", table.name},
                 {"column_name", column.name}, {"column_name_bytes", column.name},
                 {"type", column.type.ToCql()}, {"clustering_order", "none"}};
      if (column.kind == ColumnKind::kPartitionKey) {
        row["kind"] = "partition_key";
        row["position"] = IntBytes(static_cast<int64_t>(position++));
      } else if (column.kind == ColumnKind::kClustering) {
        row["kind"] = "clustering";
        row["position"] = IntBytes(static_cast<int64_t>(position++ - table.partition_key_count));
        row["clustering_order"] = column.descending ? "desc" : "asc";
      } else {
        row["kind"] = column.kind == ColumnKind::kStatic ? "static" : "regular";
        row["position"] = IntBytes(-1);
      }
      Add(row);
    }
  }

  // The time is told in milliseconds, though the server that dropped the column hides to the
  // microsecond.
  void AddDropped(const TableDefinition& table) {
    for (const auto& [name, dropped] : table.dropped) {
      Add({{"keyspace_name", table.keyspace}, {"table_name", table.name},
           {"column_name", name}, {"dropped_time", IntBytes(dropped.dropped_us / 1000, 8)},
           {"kind", dropped.is_static ? "static" : "regular"}, {"type", dropped.type.ToCql()}});
    }
  }

  TablePtr table_;
  const Schema& schema_;
  const std::vector<NodeFacts>& nodes_;
  size_t self_;
  PartitionStore store_;
};

}  // namespace

bool IsSystemKeyspace(const std::string& keyspace) {
  return keyspace == "system" || keyspace == "system_schema";
}

Result<TablePtr> FindSystemTable(const std::string& keyspace, const std::string& table,
                                 bool has_peers_v2) {
  const auto at = SystemTables().find(keyspace + "." + table);
  if (at == SystemTables().end() || (table == "peers_v2" && !has_peers_v2)) {
    return Status::InvalidArgument("table " + table + " does not exist");
  }
  return at->second;
}

PartitionStore FillSystemTable(const TablePtr& table, const Schema& schema,
                               const std::vector<NodeFacts>& nodes, size_t self) {
  return Filler(table, schema, nodes, self).Fill();
}

}  // namespace cistern::fake_cassandra
