#include "engine/option_check.h"

#include <cstdint>
#include <limits>
#include <string>

#include "cistern/limits.h"
#include "lib/base/concat.h"

namespace cistern {

namespace {

// From `min` to `max`, and 0 where that means something of its own.
template <typename Number>
struct Range {
  const char* option;
  Number value;
  Number min;
  Number max;
  bool or_zero = false;
};

template <typename Number>
Status Check(const Range<Number>& range) {
  if (range.value >= range.min && range.value <= range.max) return Status::Ok();
  if (range.or_zero && range.value == 0) return Status::Ok();
  const bool is_open = range.max == std::numeric_limits<Number>::max();
  return Status::InvalidArgument(Concat({"EngineOptions::", range.option, " is ", range.value,
      "; it may be ", (range.or_zero ? "0, or " : ""), (is_open ? "at least " : "from "), range.min,
      (is_open ? "" : Concat({" to ", range.max}))}));
}

}  // namespace

Status CheckOptions(const EngineOptions& options) {
  const Range<uint64_t> sizes[] = {
      {"memory_budget_bytes", options.memory_budget_bytes, limits::kMemoryBudgetBytesMin,
       UINT64_MAX},
      {"disk_budget_bytes", options.disk_budget_bytes, limits::kDiskBudgetBytesMin, UINT64_MAX,
       true},
      {"disk_shed", static_cast<uint64_t>(options.disk_shed), 0,
       static_cast<uint64_t>(DiskShed::kOldest)},
  };
  const Range<int64_t> times[] = {
      {"clock_floor_s", options.clock_floor_s, 0, limits::kEventSecondsMax},
      {"clock_ceiling_ahead_s", options.clock_ceiling_ahead_s, 0, limits::kFutureSecondsMax},
      {"clock_dwell_s", options.clock_dwell_s, 0, limits::kClockDwellSecondsMax},
      {"clock_boot_ahead_s", options.clock_boot_ahead_s, 0, limits::kClockBootAheadSecondsMax},
      {"event_future_s_max", options.event_future_s_max, 0, limits::kFutureSecondsMax},
      {"sync_interval_us", options.sync_interval_us, 1, limits::kSyncIntervalUsMax},
      {"commit_interval_us", options.commit_interval_us, 0, limits::kCommitIntervalUsMax},
      {"head_age_us_max", options.head_age_us_max, 1, limits::kHeadAgeUsMax},
      {"seal_grace_s", options.seal_grace_s, 0, limits::kSealDelaySecondsMax},
      {"seal_idle_s", options.seal_idle_s, 0, limits::kSealDelaySecondsMax},
      {"seal_age_s_max", options.seal_age_s_max, 0, limits::kSealDelaySecondsMax},
      {"keep_confirmed_s", options.keep_confirmed_s, 0, limits::kKeepSecondsMax},
      {"keep_unconfirmed_s", options.keep_unconfirmed_s, 0, limits::kKeepSecondsMax},
  };
  for (const auto& range : sizes) CISTERN_RETURN_IF_ERROR(Check(range));
  for (const auto& range : times) CISTERN_RETURN_IF_ERROR(Check(range));
  return Status::Ok();
}

}  // namespace cistern
