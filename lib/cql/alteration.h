// Which changes of a table's declaration can be. Pure.
#ifndef CISTERN_CQL_ALTERATION_H_
#define CISTERN_CQL_ALTERATION_H_

#include <memory>
#include <vector>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// Judges the step from the last of `before`, which are all declarations that the table had,
// oldest first, to `next`. kInvalidArgument says what cannot change, and why.
[[nodiscard]] Status CheckAlteration(
    const std::vector<std::shared_ptr<const TableSchema>>& before, const TableSchema& next);

}  // namespace cistern

#endif  // CISTERN_CQL_ALTERATION_H_
