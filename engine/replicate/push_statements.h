// The CQL texts by which one table's buckets reach the cluster. Pure.
//
// Each text binds its values in the order of its `binds`; names are quoted where CQL needs it
// and the table is named with its keyspace, so that a statement means the same whatever
// keyspace a connection uses, and prepares to the same id on every host.
//
// Every text has USING TIMESTAMP ?. Those of rows exist with and without AND TTL ?: rows that
// never expire need none, unless the table has a default. There is no text that deletes single
// cells: null bound in an INSERT or UPDATE writes exactly that, a cell tombstone at the statement's
// timestamp, so one prepared UPDATE serves every choice of columns. A column that is to stay as
// it is is bound UNSET.
//
// Source: the CQL reference of Apache Cassandra 5.0, "Data manipulation".
#ifndef CISTERN_ENGINE_REPLICATE_PUSH_STATEMENTS_H_
#define CISTERN_ENGINE_REPLICATE_PUSH_STATEMENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::replicate {

enum class StatementKind : uint8_t {
  kInsert,           // sets cells and the row's liveness marker
  kInsertTtl,
  kUpdate,           // sets cells; none for a table of key columns only
  kUpdateTtl,
  kDeleteRow,
  kDeleteRange,      // from <= event time < to
  kDeleteFrom,       // from <= event time
  kDeleteBefore,     // event time < to
  kDeletePartition,
};
inline constexpr size_t kStatementKindCount = 9;

// What one `?` stands for.
struct Bind {
  enum class What : uint8_t {
    kColumn,     // a value of column `column`
    kTimestamp,  // bigint, microseconds since 1970
    kTtl,        // int, seconds; 0: for ever, whatever the table's default is
    kFrom,       // an event time in the column's own type
    kTo,
  };
  What what = What::kColumn;
  size_t column = 0;  // of the schema, for kColumn, kFrom and kTo
  friend bool operator==(const Bind&, const Bind&) = default;
};

struct PushStatement {
  std::string cql;  // empty: the table has no such statement
  std::vector<Bind> binds;
};

// The statements of one version of a table. Immutable; shared between threads.
class PushStatements {
 public:
  // `schema`: the version that the cluster has; rows of others are mapped to it before they are
  // bound (storage/column_map.h). `keyspace` stands in where the schema names none.
  //   kInvalidArgument  neither names a keyspace
  [[nodiscard]] static Result<std::shared_ptr<const PushStatements>> Make(
      std::shared_ptr<const TableSchema> schema, std::string_view keyspace);

  [[nodiscard]] const PushStatement& of(StatementKind kind) const {
    return statements_[static_cast<size_t>(kind)];
  }
  [[nodiscard]] const TableSchema& schema() const { return *schema_; }
  [[nodiscard]] const std::string& keyspace() const { return keyspace_; }  // never empty

 private:
  PushStatements() = default;
  void AddInsert(const std::string& table);
  void AddUpdate(const std::string& table);
  void AddDeletes(const std::string& table);
  [[nodiscard]] PushStatement& At(StatementKind kind) {
    return statements_[static_cast<size_t>(kind)];
  }

  std::shared_ptr<const TableSchema> schema_;
  std::string keyspace_;
  std::array<PushStatement, kStatementKindCount> statements_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PUSH_STATEMENTS_H_
