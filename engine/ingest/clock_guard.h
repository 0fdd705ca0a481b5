// ClockGuard: whether the wall clock may be believed, and what has passed for certain. Pure.
//
// The clock lies: a board without a battery boots in 1970, a receiver counts its weeks anew, a
// corrupt answer of a time server says 2106. What believes it loses rows: by a clock that runs
// years ahead everything has expired.
//
//   Witness    Within a boot the monotonic clock tells how much time has passed since one was
//              believed. A wall clock that agrees, but for kClockStepSeconds, is believed.
//   Boot       A new boot has no witness. Its wall clock is believed where it is not further ahead
//              of the time that was believed last than the machine is off as a rule.
//   Dwell      Any other wall clock has to go on for as long as it jumped, but for no longer than
//              dwell_us. That takes a false time back in the same way as it brings a true one in.
//   Vouching   Clock::Sync says that something outside of the machine has set the clock: the first
//              time in a boot that is believed at once. What jumps later has to dwell, as it
//              contradicts what was vouched for. A person is believed always.
//   Limits     Before the floor and beyond the ceiling nothing is believed.
//
// What dwells long enough is believed and may be wrong all the same. So there are two times: the
// trusted one, by which rows are stamped, shown and sealed; and the certain one, by which rows go
// that are nowhere else. It follows the monotonic clock alone, never ahead of the trusted one,
// and leaps only where somebody vouches for it.
#ifndef CISTERN_ENGINE_INGEST_CLOCK_GUARD_H_
#define CISTERN_ENGINE_INGEST_CLOCK_GUARD_H_

#include <cstdint>
#include <string>

#include "cistern/clock.h"
#include "cistern/limits.h"
#include "storage/meta_records.h"

namespace cistern {

// 2026-11-01: a wall clock before it is older than this code.
inline constexpr int64_t kReleaseFloorSeconds = 1'793'491'200;

struct ClockLimits {
  int64_t floor_us = 0;          // build date or the host's own floor
  int64_t ceiling_ahead_us = 0;  // beyond the time that was believed last
  int64_t dwell_us = limits::kClockDwellSecondsDefault * 1'000'000;
  int64_t boot_ahead_us = limits::kClockBootAheadSecondsDefault * 1'000'000;
  int64_t boot_back_us = limits::kClockBootBackSeconds * 1'000'000;
  int64_t step_us = limits::kClockStepSeconds * 1'000'000;
};

// One look at the machine's clocks. Times are of the range that ClockRecord holds.
struct ClockReading {
  int64_t wall_us = 0;
  int64_t monotonic_us = 0;
  ClockSync sync = ClockSync::kUnknown;
};

enum class ClockVerdict : uint8_t {
  kBelieved,
  kBeforeFloor,    // the wall clock shows a time before the floor
  kBeyondCeiling,  // or one that is too far ahead for anything to confirm it
  kDwells,         // it jumped, and has to go on like that for a while
};

// One thread at a time.
class ClockGuard {
 public:
  // Goes on with what the store knows, in the boot of that id, whose monotonic clock stands at
  // `monotonic_us`.
  ClockGuard(const ClockLimits& limits, ClockRecord known, const std::string& boot_id,
             int64_t monotonic_us);

  // Judges what the clocks show.
  ClockVerdict Observe(const ClockReading& reading);
  // A person says that the wall clock is right. REQUIRES: it is not before the floor.
  void Confirm(const ClockReading& reading);

  [[nodiscard]] ClockVerdict verdict() const { return verdict_; }
  // What is known as of the last look. Its trusted_us goes on with the monotonic clock while the
  // wall clock is not believed.
  [[nodiscard]] const ClockRecord& record() const { return record_; }
  // How long the wall clock has to go on as it does; 0: it is believed, or time does not help.
  [[nodiscard]] int64_t dwell_left_us() const;
  // Why the wall clock is believed or not, for people.
  [[nodiscard]] std::string Why() const;

 private:
  void Advance(int64_t monotonic_us);
  [[nodiscard]] ClockVerdict Judge(const ClockReading& reading, int64_t passed_us);
  [[nodiscard]] bool Agrees(int64_t wall_us) const;
  void Follow(const ClockReading& reading);
  void Dwell(int64_t wall_us, int64_t passed_us);
  void Accept(const ClockReading& reading, bool is_vouched);
  [[nodiscard]] int64_t DwellNeededUs(int64_t wall_us) const;

  const ClockLimits limits_;
  ClockRecord record_;
  ClockVerdict verdict_ = ClockVerdict::kDwells;
  bool is_first_look_ = true;  // of this boot: nobody knows how long the machine was off
  int64_t slew_us_ = 0;        // time passed that the trusted time has not used to follow the wall
  int64_t wall_us_ = 0;        // of the last look
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_CLOCK_GUARD_H_
