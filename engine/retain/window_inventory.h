// The windows of a store, and the spill families beside them, with what is in each.
#ifndef CISTERN_ENGINE_RETAIN_WINDOW_INVENTORY_H_
#define CISTERN_ENGINE_RETAIN_WINDOW_INVENTORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cistern/engine.h"
#include "engine/retain/retention_policy.h"
#include "storage/spill_set.h"
#include "storage/table_set.h"

namespace cistern {

// Reads every manifest and every header of a spilled segment; OutlookOf has the rest.
[[nodiscard]] Result<std::vector<WindowInfo>> ListWindowsOf(
    const std::shared_ptr<const SpillView>& view, const TableSet& tables,
    const RetentionTime& time, const RetentionLimits& limits);

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_WINDOW_INVENTORY_H_
