// The CQL statements that make or alter a table upstream. Pure text; each ends with a ';'.
#ifndef CISTERN_ENGINE_REPLICATE_SCHEMA_STATEMENTS_H_
#define CISTERN_ENGINE_REPLICATE_SCHEMA_STATEMENTS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "engine/replicate/cluster_schema.h"

namespace cistern::replicate {

// {'class': 'SimpleStrategy', 'replication_factor': '1'} as a map. kInvalidArgument: it is no map
// of CQL, or names no class.
[[nodiscard]] Result<std::map<std::string, std::string>> ParseReplication(std::string_view cql);

// Whether a NetworkTopologyStrategy of `replication` names only data centers that there are.
// kInvalidArgument otherwise, with their names: Cassandra 4 and 5 refuse the statement without
// telling them, Cassandra 3 makes a keyspace that nothing can be written to. OK for another
// strategy, and while `data_centers` is empty: the cluster has told of none. They are given with
// their numbers of nodes.
[[nodiscard]] Status CheckDataCenters(const std::map<std::string, std::string>& replication,
                                      const std::map<std::string, size_t>& data_centers);
// What such a keyspace cannot do with so many nodes in each data center, as far as they are known.
[[nodiscard]] std::vector<std::string> FactorWarnings(
    const std::map<std::string, std::string>& replication,
    const std::map<std::string, size_t>& data_centers);

// A value as it stands behind an option in CREATE TABLE; nothing where it is none.
[[nodiscard]] std::optional<OptionValue> ParseOptionValue(std::string_view cql);

[[nodiscard]] std::string CreateKeyspaceStatement(
    std::string_view keyspace, const std::map<std::string, std::string>& replication);

// CREATE TYPE IF NOT EXISTS of each user-defined type that a column of these has, in the order in
// which they have to be run.
[[nodiscard]] std::vector<std::string> CreateTypeStatements(
    std::string_view keyspace, const std::vector<const ColumnType*>& user_types);

// With the comment, in it the whole rule whether or not it was declared there, and all options that
// Cassandra 4 and 5 have; without the types of its columns. IF NOT EXISTS, so that it can be
// repeated after an answer was lost; whether the table that is there then is the one declared, a
// comparison tells.
[[nodiscard]] std::string CreateTableStatement(std::string_view keyspace,
                                               const TableSchema& declared);

// `table`: ClusterSchema::CqlName. `columns`: at least one.
[[nodiscard]] std::string AddColumnsStatement(std::string_view table,
                                              const std::vector<const ColumnSpec*>& columns);

// `names`: at least one, as the cluster has it and as it is to be. Of columns of the key, which are
// the only ones that Cassandra renames.
[[nodiscard]] std::string RenameColumnsStatement(
    std::string_view table, const std::vector<std::pair<std::string, std::string>>& names);

// `options`: at least one of those that the declaration has, by name. `cluster` has the table. Its
// comment keeps the words that it has before the rule: they are somebody's.
[[nodiscard]] std::string AlterOptionsStatement(const ClusterSchema& cluster,
                                                const TableSchema& declared,
                                                const std::vector<std::string>& options);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SCHEMA_STATEMENTS_H_
