// A PushBatch as the protocol's codec takes it: the only place where the two meet.
#ifndef CISTERN_ENGINE_REPLICATE_BOUND_BATCH_H_
#define CISTERN_ENGINE_REPLICATE_BOUND_BATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/cql/bound_values.h"
#include "engine/replicate/push_batch.h"

namespace cistern::replicate {

// By StatementKind: the number that a session gave to the prepared statement.
using StatementNumbers = std::array<uint32_t, kStatementKindCount>;

// Appends the statements of `batch`, with their values byte for byte. now_in_seconds goes into
// the request's options (engine/cql/request.h).
inline void AppendStatements(const PushBatch& batch, const StatementNumbers& numbers,
                             cql::BoundBatch* bound) {
  for (size_t i = 0; i < batch.entries().size(); ++i) {
    const PushBatch::Entry& entry = batch.entries()[i];
    bound->Add(numbers[static_cast<size_t>(entry.kind)], entry.value_count, batch.values_of(i));
  }
}

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_BOUND_BATCH_H_
