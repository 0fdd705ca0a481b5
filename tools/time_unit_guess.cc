#include "tools/time_unit_guess.h"

#include <fmt/format.h>

#include "cistern/limits.h"
#include "tools/decimal_text.h"
#include "tools/time_pattern.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kBeginSeconds = 946'684'800;   // 2000-01-01
constexpr int64_t kEndSeconds = 4'102'444'800;   // 2100-01-01

// The number without what is behind its decimal point; nullopt if it is none, below 0, beyond 64
// bits, or lost digits to its exponent.
std::optional<int64_t> WholePart(std::string_view number) {
  Decimal decimal;
  if (!TakeApart(number, &decimal) || decimal.negative || decimal.LostDigits()) return std::nullopt;
  int64_t whole = 0;
  for (int place = -decimal.point; place < 0; ++place) {
    const bool fits = !__builtin_mul_overflow(whole, 10, &whole) &&
                      !__builtin_add_overflow(whole, DigitAt(decimal, place), &whole);
    if (!fits) return std::nullopt;
  }
  return whole;
}

// How a date of 2000 to 2099 is read that is written in digits alone, as 202603031200 is; empty if
// the number is none.
std::string DatePatternOf(std::string_view number) {
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return {};
  for (const std::string_view text : {"%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"}) {
    const size_t digit_count = text.size() + 2;  // %Y has four digits, all others two
    if (number.size() != digit_count) continue;
    const Result<TimePattern> pattern = TimePattern::Compile(text);
    if (!pattern.ok()) continue;
    const Result<Instant> time = pattern->Parse(number, LocalClock());
    if (time.ok() && time->seconds >= kBeginSeconds && time->seconds < kEndSeconds) {
      return std::string(text);
    }
  }
  return {};
}

std::string_view OptionOf(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kMillis: return "ms";
    case TimeUnit::kMicros: return "us";
    case TimeUnit::kNanos: return "ns";
    default: return "s";
  }
}

std::string TimeOf(int64_t ticks, TimeUnit unit) {
  if (ticks / TicksPerSecond(unit) > limits::kEventSecondsMax) return "beyond the year 9999";
  return FormatTicks(ticks, unit);
}

std::optional<std::string> DateDoubt(std::string_view number, TimeUnit taken) {
  const std::string pattern = DatePatternOf(number);
  if (pattern.empty()) return std::nullopt;
  return fmt::format(
      "{} looks like a date, and would be taken for {}, {}; say --time-format {}, or "
      "--time-unit {} if that is meant",
      number, PluralOf(taken), TimeOf(*WholePart(number), taken), pattern, OptionOf(taken));
}

}  // namespace

std::string_view PluralOf(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kMillis: return "milliseconds";
    case TimeUnit::kMicros: return "microseconds";
    case TimeUnit::kNanos: return "nanoseconds";
    default: return "seconds";
  }
}

std::optional<TimeUnit> UnitByUse(std::string_view number) {
  const std::optional<int64_t> whole = WholePart(number);
  if (!whole) return std::nullopt;
  for (const TimeUnit unit :
       {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos}) {
    const int64_t seconds = *whole / TicksPerSecond(unit);
    if (seconds >= kBeginSeconds && seconds < kEndSeconds) return unit;
  }
  return std::nullopt;
}

std::optional<std::string> UnitDoubt(std::string_view number, TimeUnit taken) {
  const std::optional<TimeUnit> looks = UnitByUse(number);
  if (looks == taken) return std::nullopt;
  if (!looks) return DateDoubt(number, taken);
  const int64_t ticks = *WholePart(number);
  return fmt::format(
      "{} looks like {}, {}, and would be taken for {}, {}; say --time-unit {}, or --time-unit {} "
      "if that is meant",
      number, PluralOf(*looks), TimeOf(ticks, *looks), PluralOf(taken), TimeOf(ticks, taken),
      OptionOf(*looks), OptionOf(taken));
}

}  // namespace cistern::tool
