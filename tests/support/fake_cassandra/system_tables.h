// The tables in which the fake cluster describes itself: what drivers ask first.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SYSTEM_TABLES_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SYSTEM_TABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "tests/support/fake_cassandra/partition_store.h"
#include "tests/support/fake_cassandra/schema.h"

namespace cistern::fake_cassandra {

// A node as the others see it.
struct NodeFacts {
  std::string address;  // 4 bytes
  uint16_t port = 0;
  std::string host_id;  // 16 bytes
  int64_t token = 0;
  std::optional<uint64_t> schema_version;  // of one that lags; otherwise that of the schema
};

// Finds system.local, system.peers, system.peers_v2 and system_schema.{keyspaces,tables,columns,
// dropped_columns,views}.
// kInvalidArgument, as for any other table that is not there; so are peers_v2 of a cluster before
// Cassandra 4.0.
[[nodiscard]] Result<TablePtr> FindSystemTable(const std::string& keyspace,
                                               const std::string& table, bool has_peers_v2);

[[nodiscard]] bool IsSystemKeyspace(const std::string& keyspace);

// What `table` holds, as node `self` answers it.
[[nodiscard]] PartitionStore FillSystemTable(const TablePtr& table, const Schema& schema,
                                             const std::vector<NodeFacts>& nodes, size_t self);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SYSTEM_TABLES_H_
