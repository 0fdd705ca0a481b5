// Steps of time by a calendar and a clock: what `--step 1mo --time-zone Europe/Berlin` means.
#ifndef CISTERN_TOOLS_CALENDAR_STEP_H_
#define CISTERN_TOOLS_CALENDAR_STEP_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "cistern/aggregate.h"
#include "cistern/result.h"
#include "cistern/schema.h"
#include "tools/local_clock.h"

namespace cistern::tool {

// How wide a step is: ticks for hours and less, else days or months, which clocks make longer and
// shorter.
struct StepWidth {
  enum class Kind { kTicks, kDays, kMonths };
  Kind kind = Kind::kTicks;
  int64_t count = 1;      // above 0
  int64_t first_day = 0;  // kDays: a step begins on this day, counted from 1970-01-01
};

// "250ms", "30s", "15m", "1h"; "7d" in days from 1970-01-01, "2w" in weeks from Monday 1969-12-29;
// "1mo", "1q", "1y" from January 1970. kInvalidArgument: not so, not above 0, or no multiple of the
// unit of the table's event time.
[[nodiscard]] Result<StepWidth> ParseStep(std::string_view text, TimeUnit unit);

// Cheap to copy. Any number of threads may ask one.
//
// Days, months and all that is made of them begin at the first moment at which the clock shows
// their first midnight, or later: a day in which clocks are put forward over midnight begins behind
// it, and one whose midnight is there twice begins at the earlier. Steps of ticks begin whenever
// the clock shows a multiple of their width, counted from its 1970-01-01T00:00, or is put over one:
// in the hour that is there twice steps of 15 minutes are there twice.
class CalendarSteps {
 public:
  CalendarSteps(StepWidth width, LocalClock clock, TimeUnit unit)
      : width_(width), clock_(std::move(clock)), unit_(unit) {}

  // The step that holds a time, in ticks of the unit. Beyond the years 0001 to 9999 one tick.
  [[nodiscard]] AggregateStep StepOf(int64_t time) const;

  // Ticks, if the steps of the clock of UTC are all equally wide and counted from 1970.
  [[nodiscard]] static std::optional<int64_t> EvenWidth(const StepWidth& width, TimeUnit unit);

 private:
  [[nodiscard]] AggregateStep StepOfTicks(int64_t time) const;
  [[nodiscard]] AggregateStep StepOfDays(int64_t time) const;
  [[nodiscard]] int64_t IndexOf(int64_t local_s) const;
  [[nodiscard]] int64_t FirstOf(int64_t index) const;

  StepWidth width_;
  LocalClock clock_;
  TimeUnit unit_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_CALENDAR_STEP_H_
