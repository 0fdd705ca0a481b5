// What differs in the rule that a table's comment holds: how rows find their bucket. Pure.
#ifndef CISTERN_ENGINE_REPLICATE_RULE_DRIFT_H_
#define CISTERN_ENGINE_REPLICATE_RULE_DRIFT_H_

#include <vector>

#include "cistern/schema.h"
#include "engine/replicate/cluster_schema.h"
#include "engine/replicate/schema_drift.h"

namespace cistern::replicate {

// Appends what differs between the two comments, bucket by bucket: a rule that is the same up to a
// date blocks only what comes from it on. REQUIRES: the table is there, and the columns of its
// keys have the names, order and types of the declared ones.
void FindRuleDrift(const TableSchema& declared, const ClusterSchema& cluster,
                   std::vector<SchemaDifference>* found);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_RULE_DRIFT_H_
