#include "tools/calendar_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

#include "cistern/limits.h"
#include "tools/decimal_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kFirstMonday = -3;  // 1969-12-29, counted from 1970-01-01
constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kYearsMax = 9999;

struct Unit {
  std::string_view name;
  StepWidth::Kind kind;
  int64_t size;  // in nanoseconds, days or months
  int64_t first_day;
};
constexpr Unit kUnits[] = {
    {"ns", StepWidth::Kind::kTicks, 1, 0},
    {"us", StepWidth::Kind::kTicks, 1000, 0},
    {"ms", StepWidth::Kind::kTicks, 1'000'000, 0},
    {"s", StepWidth::Kind::kTicks, kNanosPerSecond, 0},
    {"m", StepWidth::Kind::kTicks, 60 * kNanosPerSecond, 0},
    {"h", StepWidth::Kind::kTicks, 3600 * kNanosPerSecond, 0},
    {"d", StepWidth::Kind::kDays, 1, 0},
    {"w", StepWidth::Kind::kDays, 7, kFirstMonday},
    {"mo", StepWidth::Kind::kMonths, 1, 0},
    {"q", StepWidth::Kind::kMonths, 3, 0},
    {"y", StepWidth::Kind::kMonths, 12, 0},
};

Status BadStep(std::string_view text, std::string_view why) {
  return Status::InvalidArgument(fmt::format(
      "--step '{}' {}: it is a whole number of ns, us, ms, s, m, h, d, w (weeks from Monday), mo "
      "(months), q (quarters) or y (years), as in 15m or 1mo", text, why));
}

std::string_view TickText(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "1s";
    case TimeUnit::kMillis: return "1ms";
    case TimeUnit::kMicros: return "1us";
    case TimeUnit::kTicks100ns: return "100ns";
    case TimeUnit::kNanos: return "1ns";
  }
  return "a tick";
}

// Ticks of a step of nanoseconds.
Result<int64_t> StepTicks(std::string_view text, WideInt nanos, TimeUnit unit) {
  const int64_t tick_ns = kNanosPerSecond / TicksPerSecond(unit);
  if (nanos % tick_ns != 0) {
    return BadStep(text, fmt::format("is no multiple of {}, the unit of the table's event time",
                                     TickText(unit)));
  }
  const bool is_too_long =
      nanos / tick_ns > INT64_MAX || nanos / kNanosPerSecond > kYearsMax * 366 * kDayS;
  if (is_too_long) return BadStep(text, "is too long");
  return static_cast<int64_t>(nanos / tick_ns);
}

WideInt FloorTo(WideInt value, WideInt width) {
  const WideInt rest = value % width;
  return value - (rest < 0 ? rest + width : rest);
}

// Rounded down. No value is rounded to what 64 bits do not hold on the way.
int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

int64_t Clamped(WideInt ticks) {
  return static_cast<int64_t>(std::clamp<WideInt>(ticks, INT64_MIN, INT64_MAX));
}

// Of a time by a clock.
int64_t MonthsSince1970(int64_t local_s) {
  const std::chrono::sys_days day{
      std::chrono::days(static_cast<int32_t>(FloorDivide(local_s, kDayS)))};
  const std::chrono::year_month_day date{day};
  return (static_cast<int>(date.year()) - 1970) * int64_t{12} +
         static_cast<unsigned>(date.month()) - 1;
}

int64_t FirstDayOf(int64_t months_since_1970) {
  const int64_t year = FloorDivide(months_since_1970, 12);
  const auto month = static_cast<unsigned>(months_since_1970 - year * 12 + 1);
  const std::chrono::sys_days first{std::chrono::year(static_cast<int>(1970 + year)) /
                                    static_cast<int>(month) / 1};
  return first.time_since_epoch().count();
}

// A period of one offset in ticks. Without an end on one side it has a bound far beyond all ticks.
struct TickPeriod {
  WideInt from = 0;
  WideInt to = 0;
  WideInt offset = 0;

  TickPeriod(const TzPeriod& period, int64_t per_second)
      : from(WideInt{period.from_s} * per_second),
        to(WideInt{period.to_s} * per_second),
        offset(WideInt{period.offset_s} * per_second) {}
  // What the clock shows, rounded down to a multiple of the width.
  WideInt LabelAt(WideInt time, WideInt width) const { return FloorTo(time + offset, width); }
};

}  // namespace

Result<StepWidth> ParseStep(std::string_view text, TimeUnit unit) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
  const auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                  [name](const Unit& known) { return known.name == name; });
  if (error == std::errc() && name.empty()) return BadStep(text, "has no unit");
  if (error != std::errc() || found == std::end(kUnits)) return BadStep(text, "is no step");
  if (value < 1) return BadStep(text, "is not above 0");
  StepWidth width{found->kind, value, found->first_day};
  if (found->kind == StepWidth::Kind::kTicks) {
    CISTERN_ASSIGN_OR_RETURN(width.count, StepTicks(text, WideInt{value} * found->size, unit));
    return width;
  }
  const int64_t max = kYearsMax * (found->kind == StepWidth::Kind::kDays ? 366 : 12);
  if (value > max / found->size) return BadStep(text, "is too long");
  width.count = value * found->size;
  return width;
}

std::optional<int64_t> CalendarSteps::EvenWidth(const StepWidth& width, TimeUnit unit) {
  if (width.kind == StepWidth::Kind::kTicks) return width.count;
  if (width.kind == StepWidth::Kind::kMonths || width.first_day != 0) return std::nullopt;
  const WideInt ticks = WideInt{width.count} * kDayS * TicksPerSecond(unit);
  return ticks <= INT64_MAX ? std::optional(static_cast<int64_t>(ticks)) : std::nullopt;
}

AggregateStep CalendarSteps::StepOf(int64_t time) const {
  const int64_t utc_s = FloorDivide(time, TicksPerSecond(unit_));
  if (utc_s < limits::kEventSecondsMin || utc_s > limits::kEventSecondsMax) return {time, time};
  return width_.kind == StepWidth::Kind::kTicks ? StepOfTicks(time) : StepOfDays(time);
}

// A step goes on over a change of the clock only where the clock shows one multiple on both sides,
// and not the multiple itself behind it.
AggregateStep CalendarSteps::StepOfTicks(int64_t time) const {
  const int64_t per_second = TicksPerSecond(unit_);
  const WideInt width = width_.count;
  const TzPeriod around = clock_.PeriodAt(FloorDivide(time, per_second));
  const TickPeriod here(around, per_second);
  WideInt label = here.LabelAt(time, width);
  WideInt first = label - here.offset;
  TzPeriod period = around;
  for (WideInt from = here.from; period.from_s != INT64_MIN && first < from;) {
    period = clock_.PeriodAt(period.from_s - 1);
    const TickPeriod before(period, per_second);
    if (before.LabelAt(from - 1, width) != label) {
      first = from;
      break;
    }
    first = label - before.offset;
    from = before.from;
  }
  WideInt end = label + width - here.offset;
  period = around;
  for (WideInt to = here.to; period.to_s != INT64_MAX && end >= to;) {
    period = clock_.PeriodAt(period.to_s);
    const TickPeriod behind(period, per_second);
    if (behind.LabelAt(to, width) != label || label - behind.offset == to) {
      end = to;
      break;
    }
    end = label + width - behind.offset;
    to = behind.to;
  }
  return {Clamped(first), Clamped(end - 1)};
}

AggregateStep CalendarSteps::StepOfDays(int64_t time) const {
  const int64_t per_second = TicksPerSecond(unit_);
  const int64_t utc_s = FloorDivide(time, per_second);
  int64_t index = IndexOf(utc_s + clock_.PeriodAt(utc_s).offset_s);
  // A clock that is put back over midnight shows the day before once more.
  while (utc_s >= FirstOf(index + 1)) ++index;
  while (utc_s < FirstOf(index)) --index;
  return {Clamped(WideInt{FirstOf(index)} * per_second),
          Clamped(WideInt{FirstOf(index + 1)} * per_second - 1)};
}

// The number of the step, counted from the one that begins first in 1970 or just before.
int64_t CalendarSteps::IndexOf(int64_t local_s) const {
  return width_.kind == StepWidth::Kind::kMonths
             ? FloorDivide(MonthsSince1970(local_s), width_.count)
             : FloorDivide(FloorDivide(local_s, kDayS) - width_.first_day, width_.count);
}

// The moment at which it begins, in seconds since 1970-01-01 UTC.
int64_t CalendarSteps::FirstOf(int64_t index) const {
  const int64_t day = width_.kind == StepWidth::Kind::kMonths
                          ? FirstDayOf(index * width_.count)
                          : index * width_.count + width_.first_day;
  return clock_.FirstFrom(day * kDayS);
}

}  // namespace cistern::tool
