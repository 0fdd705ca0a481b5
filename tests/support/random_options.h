// RandomOptions: EngineOptions drawn from their whole range, for models and crash tests.
//
// A test that always takes the defaults proves nothing about the other values. Each number is drawn
// by its magnitude, so that a second is as likely as a month. A test narrows what it depends on,
// beside a comment that says why.
#ifndef CISTERN_TESTS_SUPPORT_RANDOM_OPTIONS_H_
#define CISTERN_TESTS_SUPPORT_RANDOM_OPTIONS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "cistern/limits.h"
#include "cistern/options.h"
#include "tests/support/rng.h"

namespace cistern::testing {

// least <= result <= largest; magnitudes are equally likely. REQUIRES: 0 < least <= largest.
inline uint64_t RandomMagnitude(uint64_t least, uint64_t largest, Rng* rng) {
  const auto low = static_cast<int>(std::bit_width(least));
  const auto high = static_cast<int>(std::bit_width(largest));
  const auto bits = static_cast<int>(rng->Between(low, high));
  const uint64_t first = uint64_t{1} << (bits - 1);
  return std::clamp(first + rng->Below(first), least, largest);
}

// As RandomMagnitude, and in one of four cases 0.
inline uint64_t RandomOrNone(uint64_t largest, Rng* rng) {
  return rng->OneIn(4) ? 0 : RandomMagnitude(1, largest, rng);
}
inline int64_t RandomSeconds(int64_t largest_s, Rng* rng) {
  return static_cast<int64_t>(RandomOrNone(static_cast<uint64_t>(largest_s), rng));
}

// All but clocks, disk budgets, threads and what is kept of sealed windows, which decide what a
// model must know. Memory is bounded by what a machine of tests has, and the wait for company in a
// commit group by the time that a test may take.
inline EngineOptions RandomOptions(Rng* rng) {
  constexpr size_t kMemoryBytesMax = 256 * 1024 * 1024;
  constexpr uint64_t kCommitWaitUsMax = 500;
  EngineOptions o;
  o.memory_budget_bytes = RandomMagnitude(limits::kMemoryBudgetBytesMin, kMemoryBytesMax, rng);
  o.sync_interval_us = static_cast<int64_t>(RandomMagnitude(1, limits::kSyncIntervalUsMax, rng));
  o.commit_interval_us = static_cast<int64_t>(RandomOrNone(kCommitWaitUsMax, rng));
  o.head_age_us_max = static_cast<int64_t>(RandomMagnitude(1, limits::kHeadAgeUsMax, rng));
  o.seal_when_due = !rng->OneIn(4);
  o.seal_grace_s = RandomSeconds(limits::kSealDelaySecondsMax, rng);
  o.seal_idle_s = RandomSeconds(limits::kSealDelaySecondsMax, rng);
  o.seal_age_s_max = RandomSeconds(limits::kSealDelaySecondsMax, rng);
  o.seal_rows_max = RandomOrNone(uint64_t{1} << 32, rng);
  o.seal_bytes_max = RandomOrNone(uint64_t{1} << 40, rng);
  o.scan_threads = static_cast<uint32_t>(RandomOrNone(limits::kScanThreadsMax, rng));
  o.disk_shed = static_cast<DiskShed>(rng->Below(3));  // decides where a budget is short
  return o;
}

// What is believed of a wall clock that the monotonic one confirms: in a test whose clock never
// lies all of it must be the same.
inline void RandomClockLimits(Rng* rng, EngineOptions* o) {
  o->clock_ceiling_ahead_s = RandomSeconds(int64_t{100} * 365 * 86'400, rng);
  o->clock_dwell_s = RandomSeconds(limits::kClockDwellSecondsMax, rng);
  o->clock_boot_ahead_s = RandomSeconds(limits::kClockBootAheadSecondsMax, rng);
}

// What a failure was met with.
inline std::string OptionsText(const EngineOptions& o) {
  const auto text = [](const char* name, auto value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  return "options:" + text("memory", o.memory_budget_bytes) + text("sync_us", o.sync_interval_us) +
         text("commit_us", o.commit_interval_us) + text("head_age_us", o.head_age_us_max) +
         text("seal_when_due", int{o.seal_when_due}) + text("grace_s", o.seal_grace_s) +
         text("idle_s", o.seal_idle_s) + text("age_s", o.seal_age_s_max) +
         text("seal_rows", o.seal_rows_max) + text("seal_bytes", o.seal_bytes_max) +
         text("scan_threads", o.scan_threads) +
         text("ceiling_s", o.clock_ceiling_ahead_s) + text("dwell_s", o.clock_dwell_s) +
         text("boot_ahead_s", o.clock_boot_ahead_s) +
         text("future_s", o.event_future_s_max);
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_RANDOM_OPTIONS_H_
