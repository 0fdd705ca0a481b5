// A table of a cluster as a declaration: what is taken over, and what is left out. Pure.
#ifndef CISTERN_TOOLS_TABLE_IMPORT_H_
#define CISTERN_TOOLS_TABLE_IMPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "engine/replicate/cluster_schema.h"

namespace cistern::tool {

// kInvalidArgument, with the reason: the cluster has nothing under the names that rows can be sent
// to, or its key is none that a declaration can have, whatever the bucket's rule.
[[nodiscard]] Status CheckImport(const replicate::ClusterSchema& cluster);

// Columns of the table that its declaration has not, a sentence each with the reason. Rows that are
// sent leave them as they are.
[[nodiscard]] std::vector<std::string> LeftOut(const replicate::ClusterTable& table,
                                               const TableSchema& declared);

// The table with `comment`, without columns that no declaration can have. Keys and their order,
// columns, compaction, default_time_to_live and gc_grace_seconds are the cluster's. All other
// options stay undeclared: they are the cluster's own affair. Errors are those of ParseCreateTable,
// of a text that nobody has seen. REQUIRES: CheckImport is OK.
[[nodiscard]] Result<std::shared_ptr<const TableSchema>> DeclareWith(
    const replicate::ClusterSchema& cluster, const std::string& comment);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TABLE_IMPORT_H_
