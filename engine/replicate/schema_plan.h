// What `cistern schema apply` would run against a cluster, and `cistern schema print` shows. Pure.
#ifndef CISTERN_ENGINE_REPLICATE_SCHEMA_PLAN_H_
#define CISTERN_ENGINE_REPLICATE_SCHEMA_PLAN_H_

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cistern/schema.h"
#include "engine/replicate/cluster_schema.h"
#include "engine/replicate/schema_drift.h"

namespace cistern::replicate {

// Statements that bring a cluster's table to the declared one, in order. Each adds, or alters an
// option: none drops, and none takes from rows that are there.
struct SchemaPlan {
  std::vector<std::string> statements;
  // What needs a person, with the reason. While there is one, no statement is to be run: a table
  // that is half altered helps nobody.
  std::vector<SchemaDifference> refusals;
  // What stays different, and may: the cluster's own columns, words of the comment.
  std::vector<SchemaDifference> remains;

  [[nodiscard]] bool is_empty() const { return statements.empty() && refusals.empty(); }
};

// `declared`: all declarations of the table, oldest first, at least one. `replication`: of a
// keyspace that is still to be made ({'class': ...}); it may be empty where there is one.
// `accepted`: SchemaDrift::Accept.
[[nodiscard]] SchemaPlan PlanSchema(std::span<const std::shared_ptr<const TableSchema>> declared,
                                    const ClusterSchema& cluster,
                                    const std::map<std::string, std::string>& replication,
                                    std::span<const AcceptedDrop> accepted = {});

// The statements that make keyspace and table in an empty cluster, one behind another; without
// `replication` the table alone.
[[nodiscard]] std::string PrintSchema(const TableSchema& declared, const std::string& keyspace,
                                      const std::map<std::string, std::string>& replication);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SCHEMA_PLAN_H_
