// TableDefinition: a table as the fake cluster's schema has it.
//
// Any table with fixed columns that CREATE TABLE can declare in the words of lib/cql/ddl_parser.h,
// bucketed or not. What Cassandra stores beside these (counters, lists that are not frozen, static
// collections that are not, indexes) the replicator does not use.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_TABLE_DEFINITION_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_TABLE_DEFINITION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "lib/cql/ddl_parser.h"

namespace cistern::fake_cassandra {

enum class ColumnKind : uint8_t { kPartitionKey, kClustering, kStatic, kRegular };

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

// A column that was dropped. Its cells with a write timestamp at or before `dropped_us` are never
// shown again, whenever they arrive, also where the column was added anew.
struct DroppedColumn {
  ColumnType type;  // ExpandUserTypes
  bool is_static = false;
  int64_t dropped_us = 0;  // since 1970; the server's clock, or USING TIMESTAMP
};

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
  std::map<std::string, DroppedColumn> dropped;  // by name; those that were added anew too

  [[nodiscard]] std::string QualifiedName() const { return keyspace + "." + name; }
  // Index into columns.
  [[nodiscard]] std::optional<size_t> Find(std::string_view column) const;
  // Columns [first_regular(), columns.size()) are regular or static.
  [[nodiscard]] size_t first_regular() const { return partition_key_count + clustering_count; }
  // True: a drop of the column hides a cell of it that was written then.
  [[nodiscard]] bool Hides(const std::string& column, int64_t timestamp_us) const;
};
using TablePtr = std::shared_ptr<const TableDefinition>;

// A column that is of no key.
[[nodiscard]] ColumnDefinition DefineColumn(const DdlColumn& column);

// From a CREATE TABLE text with a keyspace in it. The id is empty. `user_types`: the keyspace's.
[[nodiscard]] Result<TableDefinition> DefineTable(std::string_view create_table,
                                                  std::span<const ColumnType> user_types = {});

// ALTER TABLE ADD and DROP of one column that is of no key; kInvalidArgument in the server's words.
// A column that was dropped comes back with its own type and kind only.
[[nodiscard]] Result<TableDefinition> WithColumn(const TableDefinition& table,
                                                 ColumnDefinition column);
[[nodiscard]] Result<TableDefinition> WithoutColumn(const TableDefinition& table,
                                                    std::string_view name, int64_t dropped_us);
// ALTER TABLE RENAME: of a column of the primary key, which are the only ones that can be.
[[nodiscard]] Result<TableDefinition> WithRenamed(const TableDefinition& table,
                                                  std::string_view from, std::string_view to);
// ALTER TABLE WITH: those options that a CREATE TABLE text names.
[[nodiscard]] Result<TableDefinition> WithOptions(const TableDefinition& table,
                                                  std::string_view create_table);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_TABLE_DEFINITION_H_
