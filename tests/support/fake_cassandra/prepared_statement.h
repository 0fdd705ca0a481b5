// PreparedStatement: a statement that was checked against a table, and what it does with values.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PREPARED_STATEMENT_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PREPARED_STATEMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/rows.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/fake_cassandra/partition_store.h"
#include "tests/support/fake_cassandra/statement.h"

namespace cistern::fake_cassandra {

// What a marker takes.
struct Marker {
  std::string name;  // the column, or "[timestamp]", "[ttl]", "[limit]", "in(column)"
  ColumnType type;
  bool is_list = false;  // of values of the type
};

// Of INSERT, UPDATE, DELETE and SELECT. Immutable.
struct PreparedStatement {
  Statement statement;
  TablePtr table;
  std::vector<Marker> markers;
  // Which marker binds each column of the partition key; empty: not all are bound by one.
  std::vector<uint16_t> key_markers;
  std::vector<cql::ColumnMetadata> result;  // of SELECT
};

// kInvalidArgument in the server's words: unknown columns, missing keys, functions of keys.
[[nodiscard]] Result<PreparedStatement> PrepareStatement(Statement statement, TablePtr table);

// 16 bytes that change with the columns of the result.
[[nodiscard]] std::string MetadataIdOf(const PreparedStatement& prepared);

// "bigint", "set<text>": types as answers name them, without frozen. User-defined ones are in
// `keyspace`.
[[nodiscard]] std::string WireTypeText(const ColumnType& type, const std::string& keyspace = {});

// The values of the markers. `is_list`: of IN ?; its elements.
using Values = std::span<const testing::SentValue>;

// When and by which rules a write happens.
struct WriteContext {
  int64_t server_now_us = 0;
  std::optional<int64_t> default_timestamp_us;  // of the request
  std::optional<uint32_t> now_in_seconds;       // of the request
  StorageCompatibility compatibility = StorageCompatibility::kCassandra4;

  [[nodiscard]] int64_t now_s() const {
    if (now_in_seconds.has_value()) return int64_t{*now_in_seconds};
    return server_now_us / 1'000'000;
  }
};

// What an INSERT, UPDATE or DELETE changes. kInvalidArgument in the server's words.
[[nodiscard]] Result<Mutation> BindWrite(const PreparedStatement& prepared, Values values,
                                         const WriteContext& context);

// A page of a SELECT.
struct PageRequest {
  int64_t now_s = 0;
  std::optional<int32_t> page_rows;
  std::string paging_state;  // empty: the first page
};
// Partitions that a SELECT reads: of one key, or all of the table.
using PartitionKey = std::vector<std::string>;
using ReadPartitions = std::function<Result<PartitionStore>(
    const TablePtr& table, const std::optional<PartitionKey>& key)>;

// Rows in the order of Cassandra. A failure of `read` is returned as it is.
[[nodiscard]] Result<testing::RowsAnswer> RunSelect(const PreparedStatement& prepared,
                                                    Values values, const PageRequest& page,
                                                    const ReadPartitions& read);

// --- shared by the writing and the reading side

// A term's value: of a marker as it was sent, of a literal as it is written.
//   kInvalidArgument  the bytes are no value of the type, or too few values were sent
[[nodiscard]] Result<testing::SentValue> Evaluate(const Term& term, const ColumnType& type,
                                                  Values values);
// The same for a part of a key, where neither null nor UNSET may be.
[[nodiscard]] Result<std::string> EvaluateKey(const Term& term, const ColumnDefinition& column,
                                              Values values);
// All values of a relation of one column.
[[nodiscard]] Result<std::vector<std::string>> EvaluateRelation(const Relation& relation,
                                                                const ColumnDefinition& column,
                                                                Values values);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_PREPARED_STATEMENT_H_
