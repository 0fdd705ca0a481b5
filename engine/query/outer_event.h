// The time of an entity's first or last row, without reading a row.
#ifndef CISTERN_ENGINE_QUERY_OUTER_EVENT_H_
#define CISTERN_ENGINE_QUERY_OUTER_EVENT_H_

#include <cstdint>
#include <optional>

#include "cistern/entity.h"
#include "cistern/result.h"
#include "engine/query/query_context.h"
#include "storage/table_set.h"

namespace cistern {

// Event time, in the table's ticks, of the entity's first row, or its last, where manifests alone
// tell it: what is nearest is a bucket in one seal alone, without deletes, whose rows show as they
// were written, and whose page with that row a scan has read and found sound. Nothing: a scan has
// to tell, also that there is none, or that something is damaged. Errors as BucketWalk.
[[nodiscard]] Result<std::optional<int64_t>> ToldOuterEvent(const QueryContext& context,
                                                            const TablePtr& table,
                                                            const EntityKey& entity, bool last);

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_OUTER_EVENT_H_
