// A PushBatch as the protocol's codec takes it: the only place where the two meet.
#ifndef CISTERN_ENGINE_REPLICATE_BOUND_BATCH_H_
#define CISTERN_ENGINE_REPLICATE_BOUND_BATCH_H_

#include <cstddef>
#include <cstdint>

#include "engine/cql/bound_values.h"
#include "engine/replicate/push_batch.h"

namespace cistern::replicate {

// Where a statement stands in the list of prepared ones that a session keeps for a table.
[[nodiscard]] constexpr uint32_t PreparedIndex(StatementKind kind) {
  return static_cast<uint32_t>(kind);
}

// Appends the statements of `batch`, with their values byte for byte. now_in_seconds goes into
// the request's options (engine/cql/request.h).
inline void AppendStatements(const PushBatch& batch, cql::BoundBatch* bound) {
  for (size_t i = 0; i < batch.entries().size(); ++i) {
    const PushBatch::Entry& entry = batch.entries()[i];
    bound->Add(PreparedIndex(entry.kind), entry.value_count, batch.values_of(i));
  }
}

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_BOUND_BATCH_H_
