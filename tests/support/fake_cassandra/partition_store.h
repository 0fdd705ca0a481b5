// PartitionStore: everything that one replica holds, by the rules of Cassandra and in memory.
//
// Pure: no clock, no thread, no network. Writes come as mutations that are already resolved
// (write timestamps, expiries); reads name their `now`.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PARTITION_STORE_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PARTITION_STORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "tests/support/fake_cassandra/partition.h"
#include "tests/support/fake_cassandra/table_definition.h"

namespace cistern::fake_cassandra {

// Which seconds of expiry the cluster can store: cassandra.yaml, storage_compatibility_mode.
enum class StorageCompatibility {
  kCassandra4,  // the default of Cassandra 5.0: up to 2038-01-19T03:14:06Z
  kNone,        // up to 2106-02-07T06:28:13Z
};
[[nodiscard]] int64_t ExpirySecondsMax(StorageCompatibility mode);

// The USING TTL of a statement, as it was bound.
struct TtlRequest {
  enum class Kind { kAbsent, kUnset, kNull, kValue };
  Kind kind = Kind::kAbsent;
  int32_t ttl_s = 0;
};

// The TTL that a write gets: the table's default where the statement says nothing or UNSET; none
// for null and 0. As in Cassandra the overflow is judged by the server's clock and not by the
// request's now_in_seconds, and a TTL that was left UNSET is not judged at all.
//   kInvalidArgument  in Cassandra's words: negative, above 20 years, an expiry that the mode
//                     cannot store
[[nodiscard]] Result<uint32_t> ResolveTtl(const TableDefinition& table, const TtlRequest& request,
                                          int64_t server_now_s, StorageCompatibility mode);

// now + ttl, at most what the mode can store; kNever without a TTL.
[[nodiscard]] int64_t ExpiryOf(int64_t now_s, uint32_t ttl_s, StorageCompatibility mode);

// What one statement changes in one partition; of a batch they are merged. `change` has the
// same rules as what is stored, so applying is merging.
struct Mutation {
  TablePtr table;
  std::vector<std::string> partition_key;  // values as the protocol serialises them
  Partition change;
};

// Rows of a dump are compared between runs, or with what a real cluster shows.
enum class DumpKind {
  // A line for each row that lives at `now_s`: keys, values, write times, expiries. What a client
  // can read with writetime() and ttl().
  kVisible,
  // All that is stored: markers, tombstones and expired cells too. Seconds of deletions are left
  // out: they are the server's own clock.
  kEverything,
};

// One thread at a time. A copy is independent of the original.
class PartitionStore {
 public:
  // Order of a token scan: Cassandra's order of partitions.
  struct PartitionName {
    int64_t token = 0;
    std::string key_bytes;
    friend auto operator<=>(const PartitionName&, const PartitionName&) = default;
  };
  struct Entry {
    std::vector<std::string> key;
    Partition partition;
  };
  using Partitions = std::map<PartitionName, Entry>;

  void Apply(const Mutation& mutation);
  // Null: nothing was ever written there.
  [[nodiscard]] const Partition* Find(const TableDefinition& table,
                                      const std::vector<std::string>& partition_key) const;
  [[nodiscard]] const Partitions& partitions(const TableDefinition& table) const;

  void MergeTable(const TableDefinition& table, const PartitionStore& other);
  void DropTable(const TableDefinition& table);
  // Leaves out the cells of dropped columns that nobody is shown any more.
  void HideDropped(const TableDefinition& table);
  void Purge(const TableDefinition& table, int64_t now_s);

  [[nodiscard]] std::string Dump(const TableDefinition& table, DumpKind kind, int64_t now_s) const;

 private:
  std::map<std::string, Partitions> tables_;  // by the table's id
};

[[nodiscard]] PartitionStore::PartitionName NameOf(const std::vector<std::string>& partition_key);

// "sensor='a', bucket=2024-01-01": the value as a CQL literal.
[[nodiscard]] std::string LiteralOf(const ColumnType& type, const CellValue& value);
[[nodiscard]] std::string LiteralOfWire(const ColumnType& type, std::string_view bytes);

// The elements that live at `now_s` as one value of the type, in the order of their bytes; nothing:
// none lives.
[[nodiscard]] std::optional<std::string> WireOfElements(const ColumnType& type,
                                                        const StoredElements& elements,
                                                        int64_t now_s);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PARTITION_STORE_H_
