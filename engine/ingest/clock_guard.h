// Clock guard: whether the wall clock may be believed. Pure.
//
// The clock lies: a board without a battery boots in 1970, a corrupt NTP answer says
// 2106. Below the floor and above the ceiling it is not believed; between them it is,
// even if it is wrong.
#ifndef CISTERN_ENGINE_INGEST_CLOCK_GUARD_H_
#define CISTERN_ENGINE_INGEST_CLOCK_GUARD_H_

#include <algorithm>
#include <cstdint>

namespace cistern {

// 2026-11-01: a wall clock before it is older than this code.
inline constexpr int64_t kReleaseFloorSeconds = 1'793'491'200;

struct ClockLimits {
  int64_t floor_us = 0;                   // build date or the host's own floor
  int64_t ceiling_ahead_us = 0;           // beyond the last believed time plus what passed since
  int64_t step_back_us = 86'400'000'000;  // a believed clock may step back by this much
};

// The newest wall time that was believed, and the monotonic time then, if it was in
// this boot.
struct ClockMemory {
  int64_t trusted_us = 0;  // 0: never
  int64_t monotonic_us = 0;
  bool this_boot = false;
};

[[nodiscard]] inline bool IsWallBelievable(int64_t wall_us, int64_t monotonic_us,
                                           const ClockLimits& limits, const ClockMemory& memory) {
  const int64_t floor = std::max(limits.floor_us, memory.trusted_us - limits.step_back_us);
  if (wall_us < floor) return false;
  const int64_t passed = memory.this_boot ? monotonic_us - memory.monotonic_us : 0;
  const int64_t known = std::max(limits.floor_us, memory.trusted_us) + std::max<int64_t>(passed, 0);
  return wall_us - known <= limits.ceiling_ahead_us;
}

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_CLOCK_GUARD_H_
