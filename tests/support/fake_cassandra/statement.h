// Statement: a CQL text as the fake cluster understands it, before it meets a schema.
//
// What a replicator, a schema tool and an independent reader send: INSERT, UPDATE, DELETE, SELECT,
// CREATE, ALTER, DROP and TRUNCATE, with markers or literals. Conditions (IF), writes of single
// elements, indexes, functions of the user and BATCH as a text are refused.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_STATEMENT_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_STATEMENT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern::fake_cassandra {

// Where a value stands.
struct Term {
  enum class Kind { kMarker, kNull, kLiteral };
  Kind kind = Kind::kNull;
  size_t marker = 0;  // counts the markers of the statement as they are written, from 0
  std::string text;   // of a literal, as ParseValueText takes it: without outer quotes
};

struct Relation {
  enum class Operator { kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kIn };
  std::vector<std::string> columns;  // several: (a, b) > (?, ?)
  bool of_token = false;             // token(columns): then it is compared with one bigint
  Operator op = Operator::kEqual;
  std::vector<std::vector<Term>> values;  // IN has several; of each as many terms as columns
  std::optional<size_t> list_marker;      // IN ?
};

// One column of a SELECT: aggregate(function(columns)).
struct Selector {
  enum class Aggregate { kNone, kCount, kMin, kMax };
  enum class Function { kNone, kWritetime, kTtl, kToken };
  Aggregate aggregate = Aggregate::kNone;
  Function function = Function::kNone;
  std::vector<std::string> columns;  // none: count(*)
  std::string alias;                 // as Cassandra names the column of the result
};

struct Statement {
  enum class Kind {
    kInsert, kUpdate, kDelete, kSelect, kUse, kTruncate,
    kCreateKeyspace, kDropKeyspace, kCreateType, kCreateTable, kDropTable, kAddColumns,
    kDropColumns, kRenameColumns, kAlterOptions,
  };
  Kind kind = Kind::kSelect;
  std::string keyspace;
  std::string table;  // or type
  size_t marker_count = 0;

  // Writes, and DROP of columns.
  std::optional<Term> timestamp;
  std::optional<Term> ttl;
  std::vector<std::pair<std::string, Term>> assignments;  // of INSERT the keys too
  std::vector<std::string> deleted_columns;               // none: rows

  // WHERE, and what only SELECT has.
  std::vector<Relation> where;
  std::vector<Selector> selectors;                    // none: *
  std::vector<std::pair<std::string, bool>> ordering;  // column, descending
  std::optional<Term> limit;
  std::optional<Term> partition_limit;

  // Definitions.
  bool if_exists = false;  // or IF NOT EXISTS
  std::map<std::string, std::string> replication;
  // Of CREATE TYPE and CREATE TABLE; of ALTER one that has the options, or the columns that are
  // added behind its own.
  std::string text;
  std::vector<std::string> columns;  // of DROP
  std::vector<std::pair<std::string, std::string>> renames;  // from one name to another

  [[nodiscard]] bool is_write() const {
    return kind == Kind::kInsert || kind == Kind::kUpdate || kind == Kind::kDelete;
  }
  [[nodiscard]] bool is_definition() const { return kind >= Kind::kCreateKeyspace; }
};

// kInvalidArgument: a syntax error, with line and column; kNotSupported: CQL that the fake does
// not have.
[[nodiscard]] Result<Statement> ParseStatement(std::string_view cql);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_STATEMENT_H_
