// TableDefinition: a table as the fake cluster's schema has it.
//
// Any table with fixed columns that CREATE TABLE can declare in the words of lib/cql/ddl_parser.h,
// bucketed or not. What Cassandra stores beside these (static columns, counters, collections that
// are not frozen, indexes) the replicator does not use.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_TABLE_DEFINITION_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_TABLE_DEFINITION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::fake_cassandra {

enum class ColumnKind : uint8_t { kPartitionKey, kClustering, kRegular };

struct ColumnDefinition {
  std::string name;
  ColumnType type;
  ColumnKind kind = ColumnKind::kRegular;
  bool descending = false;  // clustering columns only
};

// Types and directions of the clustering columns, in key order. Never changes in a table's life.
struct ClusteringColumn {
  ColumnType type;
  bool descending = false;
};
using ClusteringOrder = std::vector<ClusteringColumn>;

// Immutable once made; an ALTER makes another with the same id and order.
struct TableDefinition {
  std::string keyspace;
  std::string name;
  std::string id;  // 16 bytes; another for every CREATE TABLE
  // As SELECT * shows them: the partition key, the clustering columns, the others by name.
  std::vector<ColumnDefinition> columns;
  size_t partition_key_count = 0;
  size_t clustering_count = 0;
  std::shared_ptr<const ClusteringOrder> order;
  uint32_t default_ttl_s = 0;
  uint32_t gc_grace_s = 864'000;
  std::map<std::string, std::string> compaction;
  std::string comment;

  [[nodiscard]] std::string QualifiedName() const { return keyspace + "." + name; }
  // Index into columns.
  [[nodiscard]] std::optional<size_t> Find(std::string_view column) const;
  // Columns [first_regular(), columns.size()) are regular.
  [[nodiscard]] size_t first_regular() const { return partition_key_count + clustering_count; }
};
using TablePtr = std::shared_ptr<const TableDefinition>;

// From a CREATE TABLE text with a keyspace in it. The id is empty.
[[nodiscard]] Result<TableDefinition> DefineTable(std::string_view create_table);

// ALTER TABLE ADD and DROP of one regular column; kInvalidArgument in the server's words.
[[nodiscard]] Result<TableDefinition> WithColumn(const TableDefinition& table,
                                                 std::string_view name, const ColumnType& type);
[[nodiscard]] Result<TableDefinition> WithoutColumn(const TableDefinition& table,
                                                    std::string_view name);
// ALTER TABLE RENAME: of a column of the primary key, which are the only ones that can be.
[[nodiscard]] Result<TableDefinition> WithRenamed(const TableDefinition& table,
                                                  std::string_view from, std::string_view to);
// ALTER TABLE WITH: those options that a CREATE TABLE text names.
[[nodiscard]] Result<TableDefinition> WithOptions(const TableDefinition& table,
                                                  std::string_view create_table);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_TABLE_DEFINITION_H_
