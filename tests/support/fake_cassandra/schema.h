// Schema: keyspaces and tables of the fake cluster, and what definitions change in them.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SCHEMA_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SCHEMA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/response.h"
#include "tests/support/fake_cassandra/statement.h"
#include "tests/support/fake_cassandra/table_definition.h"

namespace cistern::fake_cassandra {

struct Keyspace {
  std::map<std::string, std::string> replication;  // "class", "replication_factor", data centres
  std::map<std::string, TablePtr> tables;
  std::vector<ColumnType> types;  // user-defined ones, in the order in which they were made

  // Copies of each partition, over all data centres.
  [[nodiscard]] size_t replication_factor() const;
};

// What a definition did, for the stores and for events.
struct Definition {
  std::optional<cql::SchemaChange> change;  // nothing: IF [NOT] EXISTS had nothing to do
  std::vector<TablePtr> dropped_tables;
};

// One thread at a time.
class Schema {
 public:
  // `now_us`: the server's clock, from which on a column counts as dropped. kAlreadyExists, or
  // kInvalidArgument in the server's words.
  [[nodiscard]] Result<Definition> Apply(const Statement& statement, int64_t now_us);
  [[nodiscard]] Result<TablePtr> Find(const std::string& keyspace, const std::string& table) const;
  [[nodiscard]] const std::map<std::string, Keyspace>& keyspaces() const { return keyspaces_; }
  [[nodiscard]] const Keyspace* FindKeyspace(const std::string& name) const;
  // Grows with every change.
  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  Result<Definition> CreateKeyspace(const Statement& statement);
  Result<Definition> CreateType(const Statement& statement);
  Result<Definition> CreateTable(const Statement& statement);
  Result<Definition> DropKeyspace(const Statement& statement);
  Result<Definition> DropTable(const Statement& statement);
  Result<Definition> AlterColumns(const Statement& statement, int64_t now_us);
  Result<Definition> RenameColumns(const Statement& statement);
  Result<Definition> AlterOptions(const Statement& statement);

  std::map<std::string, Keyspace> keyspaces_;
  uint64_t version_ = 1;
};

// 16 bytes of a uuid (version 4 in form) that differ for every pair of arguments.
[[nodiscard]] std::string UuidOf(uint64_t family, uint64_t number);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_SCHEMA_H_
