// What a cluster says about one table: keyspace, columns, options, as its system_schema has it.
//
// Source: system_schema of Apache Cassandra 4.0 to 5.0 (SchemaKeyspace); text forms as a 5.0.8
// answered them, kept in tests/engine/replicate/recorded.
#ifndef CISTERN_ENGINE_REPLICATE_CLUSTER_SCHEMA_H_
#define CISTERN_ENGINE_REPLICATE_CLUSTER_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "engine/replicate/system_rows.h"

namespace cistern::replicate {

enum class ClusterColumnKind : uint8_t { kPartitionKey, kClustering, kStatic, kRegular };

struct ClusterColumn {
  std::string name;
  ClusterColumnKind kind = ClusterColumnKind::kRegular;
  bool descending = false;         // clustering columns only
  std::string type_text;           // as the cluster writes it
  std::optional<ColumnType> type;  // nothing: Cistern has no such type
};

// A column that was dropped. Its name comes back with this type and kind only, and what was
// written up to then is not seen again, whenever it arrives.
struct DroppedColumn {
  std::string name;
  bool is_static = false;
  std::string type_text;
  std::optional<ColumnType> type;
  int64_t dropped_ms = 0;  // since 1970
};

// The value of an option such as `caching`: a constant, or a map of constants.
struct OptionValue {
  std::string constant;  // "0.01", "true", "BLOCKING"
  std::map<std::string, std::string> entries;
  bool is_map = false;
  friend bool operator==(const OptionValue&, const OptionValue&) = default;
};

struct ClusterTable {
  std::string id;                            // a UUID as text; never that of another table
  std::vector<ClusterColumn> partition_key;  // in key order
  std::vector<ClusterColumn> clustering;     // in key order
  std::vector<ClusterColumn> others;         // regular and static ones, by name
  std::vector<DroppedColumn> dropped;

  bool is_counter = false;
  bool is_compact = false;  // of COMPACT STORAGE
  uint32_t default_ttl_s = 0;
  uint32_t gc_grace_s = 0;
  std::map<std::string, std::string> compaction;  // "class" is a class of Java, in full
  std::string comment;
  std::map<std::string, OptionValue> other_options;  // those that are set

  // Any column by its name; nullptr: there is none.
  [[nodiscard]] const ClusterColumn* FindColumn(std::string_view name) const;
  [[nodiscard]] const DroppedColumn* FindDropped(std::string_view name) const;
};

// What there is under the names that were asked for. Immutable once read; any thread.
struct ClusterSchema {
  std::string keyspace;  // as asked
  std::string name;
  bool has_keyspace = false;
  std::map<std::string, std::string> replication;  // "class" and what it needs
  bool durable_writes = true;
  bool is_view = false;               // the name is a materialized view's
  // The keyspace's user-defined types, but for those that Cistern cannot have.
  std::vector<ColumnType> user_types;
  std::optional<ClusterTable> table;  // nothing: there is no such table

  // "plant.readings", as CQL reads it.
  [[nodiscard]] std::string CqlName() const;
  // nullptr: there is none of the name, or none that Cistern can have.
  [[nodiscard]] const ColumnType* FindUserType(std::string_view name) const;
};

// What to ask for one table, and the answers, in this order. All rows of each: none spans more
// than a keyspace.
struct SchemaQueries {
  std::string keyspaces;
  std::string types;
  std::string tables;
  std::string columns;
  std::string dropped_columns;
  std::string views;
};
struct SchemaAnswers {
  SystemRows keyspaces;
  SystemRows types;
  SystemRows tables;
  SystemRows columns;
  SystemRows dropped_columns;
  SystemRows views;
};
[[nodiscard]] SchemaQueries MakeSchemaQueries(std::string_view keyspace, std::string_view table);

// Reads the answers to those. Columns that Cistern does not know of are passed over.
//   kCorruption  an answer is not that of a system_schema; the message names table, row, column
//   kTooLarge    more than limits::kClusterColumnsMax columns
[[nodiscard]] Result<ClusterSchema> ReadClusterSchema(std::string_view keyspace,
                                                      std::string_view table,
                                                      const SchemaAnswers& answers);

// A type as system_schema.columns writes it; nothing for one that Cistern does not have, a list
// that is not frozen among them. `user_types`: those of its keyspace.
[[nodiscard]] std::optional<ColumnType> ParseClusterType(
    std::string_view text, std::span<const ColumnType> user_types = {});

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_CLUSTER_SCHEMA_H_
