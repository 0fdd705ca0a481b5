#include "tools/time_unit_guess.h"

#include <fmt/format.h>

#include <charconv>

#include "cistern/limits.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kBeginSeconds = 946'684'800;   // 2000-01-01
constexpr int64_t kEndSeconds = 4'102'444'800;   // 2100-01-01

// The number without what is behind its decimal point; nullopt if it is none, or beyond 64 bits.
std::optional<int64_t> WholePart(std::string_view number) {
  const size_t point = number.find('.');
  const std::string_view digits = number.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  if (fraction.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return whole;
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
  if (!looks || *looks == taken) return std::nullopt;
  const int64_t ticks = *WholePart(number);
  return fmt::format(
      "event time {} looks like {}, {}, and would be taken for {}, {}; say --time-unit {}, or "
      "--time-unit {} if that is meant",
      number, PluralOf(*looks), TimeOf(ticks, *looks), PluralOf(taken), TimeOf(ticks, taken),
      OptionOf(*looks), OptionOf(taken));
}

}  // namespace cistern::tool
