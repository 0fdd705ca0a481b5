#include "engine/ingest/clock_guard.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lib/base/concat.h"
#include "lib/cql/time_text.h"

namespace cistern {

namespace {

// The trusted time follows a wall clock that drifts by a thousandth of what has passed: more than
// any crystal drifts, and a clock that creeps ahead gains a day in three years.
constexpr int64_t kSlewPart = 1000;

std::string TimeText(int64_t time_us) {
  std::string text;
  FormatTimeText(time_us / 1'000'000, TimeUnit::kSeconds, &text);
  return text;
}

// "60 days", "5 minutes": for people, rounded down.
std::string SpanText(int64_t span_us) {
  const int64_t s = std::abs(span_us) / 1'000'000;
  const auto text = [](int64_t count, const char* unit) {
    return Concat({count, " ", unit, (count == 1 ? "" : "s")});
  };
  if (s >= 2 * 86'400) return text(s / 86'400, "day");
  if (s >= 2 * 3'600) return text(s / 3'600, "hour");
  if (s >= 2 * 60) return text(s / 60, "minute");
  return text(s, "second");
}

}  // namespace

ClockGuard::ClockGuard(const ClockLimits& limits, ClockRecord known, const std::string& boot_id,
                       int64_t monotonic_us)
    : limits_(limits), record_(std::move(known)) {
  // A monotonic clock that fell belongs to another boot, whatever its id says.
  const bool same_boot =
      !boot_id.empty() && record_.boot_id == boot_id && monotonic_us >= record_.monotonic_us;
  is_first_look_ = !same_boot;
  if (same_boot) return;
  record_.boot_id = boot_id;
  record_.monotonic_us = monotonic_us;
  record_.witnessed = false;
  record_.vouched = false;
}

ClockVerdict ClockGuard::Observe(const ClockReading& reading) {
  const int64_t before_us = record_.monotonic_us;
  Advance(reading.monotonic_us);
  wall_us_ = reading.wall_us;
  verdict_ = Judge(reading, record_.monotonic_us - before_us);
  is_first_look_ = false;
  if (verdict_ != ClockVerdict::kDwells) record_.pending_us = record_.dwelt_us = 0;
  return verdict_;
}

// What the monotonic clock says has passed has passed, whatever the wall clock shows.
void ClockGuard::Advance(int64_t monotonic_us) {
  const int64_t passed_us = std::max<int64_t>(monotonic_us - record_.monotonic_us, 0);
  record_.monotonic_us += passed_us;
  if (record_.trusted_us == 0) return;
  record_.trusted_us += passed_us;
  record_.certain_us += passed_us;
  slew_us_ += passed_us;
}

ClockVerdict ClockGuard::Judge(const ClockReading& reading, int64_t passed_us) {
  if (reading.wall_us < limits_.floor_us) return ClockVerdict::kBeforeFloor;
  const int64_t known_us = std::max(limits_.floor_us, record_.trusted_us);
  if (reading.wall_us - known_us > limits_.ceiling_ahead_us) return ClockVerdict::kBeyondCeiling;
  const bool is_vouched = reading.sync == ClockSync::kYes;
  if (record_.trusted_us == 0 || (is_vouched && !record_.vouched)) {
    Accept(reading, is_vouched);
    return ClockVerdict::kBelieved;
  }
  if (Agrees(reading.wall_us)) {
    Follow(reading);
    return ClockVerdict::kBelieved;
  }
  Dwell(reading.wall_us, passed_us);
  if (record_.dwelt_us < DwellNeededUs(reading.wall_us)) return ClockVerdict::kDwells;
  Accept(reading, is_vouched);
  return ClockVerdict::kBelieved;
}

bool ClockGuard::Agrees(int64_t wall_us) const {
  const int64_t ahead_us = wall_us - record_.trusted_us;
  if (record_.witnessed) return std::abs(ahead_us) <= limits_.step_us;
  return ahead_us >= -limits_.boot_back_us && ahead_us <= limits_.boot_ahead_us;
}

// The trusted time goes after a wall clock that agrees, too slowly for small steps to become a
// jump. Rows are stamped by the wall clock, so what has passed for certain is not ahead of it.
void ClockGuard::Follow(const ClockReading& reading) {
  if (!record_.witnessed) return Accept(reading, false);
  const int64_t most_us = slew_us_ / kSlewPart;
  slew_us_ -= most_us * kSlewPart;
  record_.trusted_us += std::clamp(reading.wall_us - record_.trusted_us, -most_us, most_us);
  record_.certain_us = reading.sync == ClockSync::kYes
                           ? reading.wall_us
                           : std::min(record_.certain_us, reading.wall_us);
}

// How long the wall clock has gone on as it does. The time that the machine was off does not count,
// and does not begin the count anew.
void ClockGuard::Dwell(int64_t wall_us, int64_t passed_us) {
  const int64_t ahead_us = wall_us - (record_.pending_us + passed_us);
  const bool goes_on =
      record_.pending_us != 0 &&
      (is_first_look_
           ? ahead_us >= -limits_.boot_back_us && ahead_us <= limits_.boot_ahead_us
           : std::abs(ahead_us) <= limits_.step_us);
  record_.dwelt_us = goes_on ? record_.dwelt_us + passed_us : 0;
  record_.pending_us = wall_us;
}

int64_t ClockGuard::DwellNeededUs(int64_t wall_us) const {
  return std::min(std::abs(wall_us - record_.trusted_us), limits_.dwell_us);
}

void ClockGuard::Accept(const ClockReading& reading, bool is_vouched) {
  const bool is_first = record_.trusted_us == 0;
  record_.trusted_us = reading.wall_us;
  record_.certain_us = is_vouched || is_first ? reading.wall_us
                                              : std::min(record_.certain_us, reading.wall_us);
  record_.witnessed = true;
  record_.vouched = record_.vouched || is_vouched;
  record_.pending_us = record_.dwelt_us = 0;
  slew_us_ = 0;
}

void ClockGuard::Confirm(const ClockReading& reading) {
  Advance(reading.monotonic_us);
  wall_us_ = reading.wall_us;
  is_first_look_ = false;
  Accept(reading, true);
  verdict_ = ClockVerdict::kBelieved;
}

int64_t ClockGuard::dwell_left_us() const {
  if (verdict_ != ClockVerdict::kDwells) return 0;
  return std::max<int64_t>(DwellNeededUs(wall_us_) - record_.dwelt_us, 0);
}

std::string ClockGuard::Why() const {
  const int64_t ahead_us = wall_us_ - record_.trusted_us;
  switch (verdict_) {
    case ClockVerdict::kBelieved:
      return record_.vouched ? "the wall clock is believed: it was confirmed in this boot"
                             : "the wall clock is believed: nothing contradicts it";
    case ClockVerdict::kBeforeFloor:
      return Concat({"the wall clock shows ", TimeText(wall_us_), ", which is before ",
          TimeText(limits_.floor_us), " (clock_floor_s): it was never set. Set it"});
    case ClockVerdict::kBeyondCeiling:
      if (record_.trusted_us == 0) {
        return "the wall clock shows " + TimeText(wall_us_) + ", which is " +
               SpanText(wall_us_ - limits_.floor_us) + " after clock_floor_s, more than "
               "clock_ceiling_ahead_s, and this store has not believed a time yet: raise the "
               "ceiling, or set the clock, or confirm it (cistern clock --confirm, "
               "Engine::ConfirmClock)";
      }
      return "the wall clock shows " + TimeText(wall_us_) + ", which is " + SpanText(ahead_us) +
             " ahead of the time that was believed last, more than clock_ceiling_ahead_s: set it, "
             "or confirm it (cistern clock --confirm, Engine::ConfirmClock)";
    case ClockVerdict::kDwells: break;
  }
  return Concat({"the wall clock shows ", TimeText(wall_us_), ", which is ", SpanText(ahead_us),
      (ahead_us < 0 ? " behind" : " ahead of"),
      (record_.witnessed ? " what has passed since it was believed, by the monotonic clock"
                         : " the time that was believed last, before this boot"),
      ": it is believed when it has gone on like that for ", SpanText(dwell_left_us()),
      " more, or at once when it is confirmed (a synchronised system clock, cistern clock "
      "--confirm, Engine::ConfirmClock)"});
}

}  // namespace cistern
