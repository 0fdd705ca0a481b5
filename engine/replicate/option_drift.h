// What differs in the options of a table, as far as they were declared. Pure.
#ifndef CISTERN_ENGINE_REPLICATE_OPTION_DRIFT_H_
#define CISTERN_ENGINE_REPLICATE_OPTION_DRIFT_H_

#include <vector>

#include "cistern/schema.h"
#include "engine/replicate/cluster_schema.h"
#include "engine/replicate/schema_drift.h"

namespace cistern::replicate {

// Appends what differs, each with the ALTER TABLE that mends it. Values are compared as Cassandra
// takes them: a class with or without its package, 0.1 and 0.10, 'all' and 'ALL'; of a map the
// entries that are declared. Not compared: the two policies speculative_retry and
// additional_write_policy, which the cluster keeps in words of its own, `extensions` and `id`.
// REQUIRES: the table is there.
void FindOptionDrift(const TableSchema& declared, const ClusterSchema& cluster,
                     std::vector<SchemaDifference>* found);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_OPTION_DRIFT_H_
