// What is said of windows: when each goes, why not before, and why when it does. Pure.
#ifndef CISTERN_ENGINE_RETAIN_WINDOW_OUTLOOK_H_
#define CISTERN_ENGINE_RETAIN_WINDOW_OUTLOOK_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cistern/engine.h"
#include "engine/retain/retention_policy.h"
#include "storage/spill_set.h"

namespace cistern {

// Why a window goes that does not stay.
[[nodiscard]] std::string_view WhyItEnds(WindowFate fate);

// `awaits_files`: AwaitsFiles of it.
[[nodiscard]] WindowOutlook OutlookOf(const WindowFamily& window, const RetentionTime& time,
                                      const RetentionLimits& limits, bool awaits_files);
// A spill family goes by no time.
[[nodiscard]] WindowOutlook OutlookOf(const SpillFamily& family);

// In the order in which they are shown: by class, then by time; that of all times last.
[[nodiscard]] std::vector<std::shared_ptr<const WindowFamily>> WindowsInOrder(
    const SpillView& view);

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_WINDOW_OUTLOOK_H_
