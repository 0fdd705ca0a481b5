// Which changes of a table's declaration can be. Pure.
#ifndef CISTERN_CQL_ALTERATION_H_
#define CISTERN_CQL_ALTERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Judges the step from the last of `before`, which are all declarations that the table had,
// oldest first, to `next`. kInvalidArgument says what cannot change, and why.
[[nodiscard]] Status CheckAlteration(
    const std::vector<std::shared_ptr<const TableSchema>>& before, const TableSchema& next);

// The second of event time from which on `next` has buckets other than `was`: there must be
// none of the table yet. Nothing: no bucket changes. REQUIRES: CheckAlteration.
[[nodiscard]] std::optional<int64_t> BucketsChangeFrom(const TableSchema& was,
                                                       const TableSchema& next);

}  // namespace cistern

#endif  // CISTERN_CQL_ALTERATION_H_
