// What ReplicationOptions come to: the options of a replicator, checked.
#ifndef CISTERN_ENGINE_REPLICATION_PLAN_H_
#define CISTERN_ENGINE_REPLICATION_PLAN_H_

#include <cstdint>
#include <string_view>

#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "engine/replicate/replicator_options.h"

namespace cistern {

// kInvalidArgument names the first option that is not in its range, with its value and the range.
// `seed` is of the waits.
[[nodiscard]] Result<replicate::ReplicatorOptions> PlanReplicator(const ReplicationOptions& options,
                                                                  uint64_t seed);

// kInvalidArgument, which begins with `option`, where no keyspace of a cluster can be called so. An
// empty `name` is none.
[[nodiscard]] Status CheckKeyspaceName(std::string_view option, std::string_view name);

}  // namespace cistern

#endif  // CISTERN_ENGINE_REPLICATION_PLAN_H_
