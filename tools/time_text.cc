#include "tools/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <utility>

#include "cistern/limits.h"
#include "tools/counted.h"
#include "tools/decimal_text.h"
#include "tools/utc_offset.h"

namespace cistern::tool {
namespace {

constexpr int32_t kNanosPerSecond = 1'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string Quoted(std::string_view text) {
  return fmt::format("'{}'", text.size() > 80 ? text.substr(0, 80) : text);
}

Status NotATime(std::string_view text) {
  return Status::InvalidArgument(
      fmt::format("{} is neither an ISO 8601 time nor a number", Quoted(text)));
}

bool IsInRange(const Instant& t) {
  return t.seconds >= limits::kEventSecondsMin && t.seconds <= limits::kEventSecondsMax;
}

// `advice` follows what is wrong.
Status OutsideRange(std::string_view text, std::string_view advice) {
  return Status::OutOfRange(
      fmt::format("time {} lies outside the years 0001 to 9999: {}", Quoted(text), advice));
}

Result<Instant> CheckRange(Instant t, std::string_view text) {
  if (!IsInRange(t)) return OutsideRange(text, "wrong time unit?");
  return t;
}

// Decimal exponent of a tick: 0 for seconds, -9 for nanoseconds.
int UnitExponent(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return 0;
    case TimeUnit::kMillis: return -3;
    case TimeUnit::kMicros: return -6;
    case TimeUnit::kTicks100ns: return -7;
    case TimeUnit::kNanos: return -9;
  }
  return 0;
}

bool IsFinerThan(const Instant& instant, int64_t nanos_per_tick) {
  return instant.nanos % nanos_per_tick != 0;
}

int64_t PerSecond(TimeUnit unit) {
  int64_t ticks = 1;
  for (int i = UnitExponent(unit); i < 0; ++i) ticks *= 10;
  return ticks;
}

std::string_view UnitName(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "a second";
    case TimeUnit::kMillis: return "a millisecond";
    case TimeUnit::kMicros: return "a microsecond";
    case TimeUnit::kTicks100ns: return "100 nanoseconds";
    case TimeUnit::kNanos: return "a nanosecond";
  }
  return "a tick";
}

// Reads `max` digits at most, `min` at least, from *i on; false if there are fewer.
bool ReadNumber(std::string_view s, size_t* i, int min, int max, int* value) {
  int count = 0;
  *value = 0;
  while (*i < s.size() && count < max && IsDigit(s[*i])) {
    *value = *value * 10 + (s[*i] - '0');
    ++*i;
    ++count;
  }
  return count >= min;
}

bool ReadChar(std::string_view s, size_t* i, char c) {
  if (*i >= s.size() || s[*i] != c) return false;
  ++*i;
  return true;
}

struct ClockTime {
  int hour = 0, minute = 0, second = 0;
  int32_t nanos = 0;
};

// "7", "07:03", "07:03:50", "07:03:50.123456789" from *i on.
Status ReadClock(std::string_view s, size_t* i, ClockTime* t) {
  if (!ReadNumber(s, i, 1, 2, &t->hour)) return NotATime(s);
  if (ReadChar(s, i, ':')) {
    if (!ReadNumber(s, i, 1, 2, &t->minute)) return NotATime(s);
    if (ReadChar(s, i, ':')) {
      if (!ReadNumber(s, i, 1, 2, &t->second)) return NotATime(s);
      if (ReadChar(s, i, '.') || ReadChar(s, i, ',')) {
        int scale = kNanosPerSecond;
        bool any = false;
        for (; *i < s.size() && IsDigit(s[*i]); ++*i) {
          any = true;
          scale /= 10;
          if (scale == 0 && s[*i] != '0') {
            return Status::OutOfRange(
                fmt::format("time {} is finer than a nanosecond", Quoted(s)));
          }
          t->nanos += (s[*i] - '0') * scale;
        }
        if (!any) return NotATime(s);
      }
    }
  }
  if (t->hour > 23 || t->minute > 59 || t->second > 59) {
    return Status::OutOfRange(fmt::format("{} is not a time of day", Quoted(s)));
  }
  return Status::Ok();
}

// What to do about a number that is no time of its unit: the unit in which it falls into the years
// 1990 to 2100, or a question if there is none. `d` counts seconds, by the unit that was wrong.
std::string_view UnitAdvice(const Decimal& d, TimeUnit wrong) {
  constexpr std::pair<TimeUnit, std::string_view> kAdvice[] = {
      {TimeUnit::kSeconds, "it looks like seconds: --time-unit s"},
      {TimeUnit::kMillis, "it looks like milliseconds: --time-unit ms"},
      {TimeUnit::kMicros, "it looks like microseconds: --time-unit us"},
      {TimeUnit::kNanos, "it looks like nanoseconds: --time-unit ns"}};
  constexpr int64_t kSecondsOf1990 = 631'152'000;
  constexpr int64_t kSecondsOf2100 = 4'102'444'800;
  for (const auto& [unit, advice] : kAdvice) {
    const Decimal in_seconds{d.negative, d.digits,
                             d.point - UnitExponent(wrong) + UnitExponent(unit), false};
    if (d.negative || in_seconds.point < 1 || in_seconds.point > 10) continue;
    int64_t seconds = 0;
    for (int place = -10; place < 0; ++place) seconds = seconds * 10 + DigitAt(in_seconds, place);
    if (seconds >= kSecondsOf1990 && seconds < kSecondsOf2100) return advice;
  }
  return "wrong time unit?";
}

bool IsWholeNumber(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

// Of a text that IsWholeNumber().
Result<int64_t> ParseTicks(std::string_view text) {
  int64_t ticks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ticks);
  if (error == std::errc() && end == text.data() + text.size()) return ticks;
  return Status::OutOfRange(fmt::format("{} does not fit in 64 bits", Quoted(text)));
}

// "now", or what "now-1h", "+90s" or "-400d" add to it; nullopt for any other text.
std::optional<int64_t> SecondsFromNow(std::string_view text) {
  const bool names_now = text.starts_with("now");
  if (names_now) text.remove_prefix(3);
  if (names_now && text.empty()) return 0;
  if (!text.starts_with('-') && !text.starts_with('+')) return std::nullopt;
  constexpr int64_t kSpanMaxS = limits::kEventSecondsMax - limits::kEventSecondsMin;
  const Result<int64_t> span_s = ParseSpan("", text.substr(1), 0, kSpanMaxS);
  if (!span_s.ok()) return std::nullopt;
  return text.front() == '-' ? -*span_s : *span_s;
}

Result<int64_t> TicksFromNow(std::string_view text, TimeUnit unit, int64_t now_us) {
  int64_t now_s = now_us / 1'000'000;
  int64_t part_us = now_us % 1'000'000;
  if (part_us < 0) {
    part_us += 1'000'000;
    --now_s;
  }
  Instant t{now_s + SecondsFromNow(text).value_or(0), static_cast<int32_t>(part_us * 1000)};
  t.nanos -= t.nanos % static_cast<int32_t>(kNanosPerSecond / PerSecond(unit));
  if (!IsInRange(t)) return OutsideRange(text, "it counts from now");
  return ToTicks(t, unit, text);
}

Result<int64_t> IsoTicks(std::string_view text, TimeUnit unit, const LocalClock& clock) {
  CISTERN_ASSIGN_OR_RETURN(const Instant t, ParseIsoTime(text, clock));
  return ToTicks(t, unit, text);
}

Instant InstantOf(int64_t ticks, TimeUnit unit) {
  const int64_t per_second = PerSecond(unit);
  int64_t seconds = ticks / per_second;
  int64_t part = ticks % per_second;
  if (part < 0) {
    part += per_second;
    --seconds;
  }
  return {seconds, static_cast<int32_t>(part * (kNanosPerSecond / per_second))};
}

// "2024-05-24T07:03:50.123", with as many decimals as the unit has, of a time by the clock that
// shows `local_s` seconds since 1970-01-01.
std::string DateAndTime(int64_t local_s, int32_t nanos, TimeUnit unit) {
  int64_t day_count = local_s / 86400;
  int64_t second_of_day = local_s % 86400;
  if (second_of_day < 0) {
    second_of_day += 86400;
    --day_count;
  }
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int32_t>(day_count)))};
  std::string text = fmt::format(
      "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second_of_day / 3600,
      second_of_day / 60 % 60, second_of_day % 60);
  const int decimals = -UnitExponent(unit);
  const int64_t part = nanos / (kNanosPerSecond / PerSecond(unit));
  if (decimals > 0) text += fmt::format(".{:0{}}", part, decimals);
  return text;
}

// Of a number such as 1.77252E+12, which is how spreadsheets show a time in milliseconds.
Status LostDigits(std::string_view text, size_t digit_count) {
  return Status::OutOfRange(
      fmt::format("time {} has {} digits, and the exponent says that there were more: many times "
                  "would fall together; write all digits", Quoted(text), digit_count));
}

bool LooksNumeric(std::string_view text) {
  Decimal ignored;
  return TakeApart(text, &ignored);
}

}  // namespace

Result<Instant> ParseNumericTime(std::string_view text, TimeUnit unit) {
  Decimal d;
  if (!TakeApart(text, &d)) {
    return Status::InvalidArgument(fmt::format("{} is not a number", Quoted(text)));
  }
  const bool lost_digits = d.LostDigits();
  d.point += UnitExponent(unit);
  if (d.digits.empty()) return Instant{};
  if (d.point > 13) return OutsideRange(text, UnitAdvice(d, unit));
  Instant t;
  for (int place = -13; place < 0; ++place) t.seconds = t.seconds * 10 + DigitAt(d, place);
  for (int place = 0; place < 9; ++place) t.nanos = t.nanos * 10 + DigitAt(d, place);
  const int last = static_cast<int>(d.digits.size()) - d.point;  // places after the point
  for (int place = 9; place < last; ++place) {
    if (DigitAt(d, place) != 0) {
      return Status::OutOfRange(fmt::format("time {} is finer than a nanosecond", Quoted(text)));
    }
  }
  if (d.negative) {
    t.seconds = -t.seconds;
    if (t.nanos != 0) {
      --t.seconds;
      t.nanos = kNanosPerSecond - t.nanos;
    }
  }
  if (!IsInRange(t)) return OutsideRange(text, UnitAdvice(d, unit));
  if (lost_digits) return LostDigits(text, d.digits.size());
  return t;
}

Result<Instant> ParseIsoTime(std::string_view text, const LocalClock& clock) {
  size_t i = 0;
  int year = 0;
  int month = 0;
  int day = 0;
  if (!ReadNumber(text, &i, 4, 4, &year) || !ReadChar(text, &i, '-') ||
      !ReadNumber(text, &i, 1, 2, &month) || !ReadChar(text, &i, '-') ||
      !ReadNumber(text, &i, 1, 2, &day)) {
    return NotATime(text);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year == 0) {
    return Status::OutOfRange(fmt::format("{} is not a date of the calendar", Quoted(text)));
  }
  ClockTime time;
  std::optional<int32_t> offset_s;
  if (ReadChar(text, &i, 'T') || ReadChar(text, &i, 't') || ReadChar(text, &i, ' ')) {
    CISTERN_RETURN_IF_ERROR(ReadClock(text, &i, &time));
    if (i < text.size() && !ReadUtcOffset(text, &i, 1, &offset_s.emplace())) return NotATime(text);
  }
  if (i != text.size()) return NotATime(text);
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  Instant t;
  const int64_t local_s = days * 86400 + time.hour * 3600 + time.minute * 60 + time.second;
  if (offset_s) {
    t.seconds = local_s - *offset_s;
  } else {
    CISTERN_ASSIGN_OR_RETURN(t.seconds, clock.UtcOf(local_s, text));
  }
  t.nanos = time.nanos;
  return CheckRange(t, text);
}

Result<Instant> ParseTime(std::string_view text, const TimeFormat& format, TimeUnit column_unit) {
  Instant t;
  if (!format.pattern.empty()) {
    CISTERN_ASSIGN_OR_RETURN(t, format.pattern.Parse(text, format.clock));
    CISTERN_ASSIGN_OR_RETURN(t, CheckRange(t, text));
  } else if (LooksNumeric(text)) {
    CISTERN_ASSIGN_OR_RETURN(t, ParseNumericTime(text, format.number_unit.value_or(column_unit)));
  } else {
    CISTERN_ASSIGN_OR_RETURN(t, ParseIsoTime(text, format.clock));
  }
  if (!format.base) return t;
  if (!LooksNumeric(text)) {
    return Status::InvalidArgument(fmt::format(
        "{} is a date, and --time-base is for numbers that count from it: leave it out",
        Quoted(text)));
  }
  t.seconds += format.base->seconds;
  t.nanos += format.base->nanos;
  if (t.nanos >= kNanosPerSecond) {
    t.nanos -= kNanosPerSecond;
    ++t.seconds;
  }
  return CheckRange(t, text);
}

Result<int64_t> ToTicks(const Instant& instant, TimeUnit unit, std::string_view text) {
  const int64_t per_second = PerSecond(unit);
  const int64_t nanos_per_tick = kNanosPerSecond / per_second;
  if (IsFinerThan(instant, nanos_per_tick)) {
    return Status::OutOfRange(fmt::format(
        "time {} is finer than {}, the unit of its column; nothing is rounded", Quoted(text),
        UnitName(unit)));
  }
  int64_t ticks = 0;
  const int64_t part = instant.nanos / nanos_per_tick;
  // A negative second and its positive part may fit although the product alone does not.
  const bool shift = instant.seconds < 0 && part > 0;
  const int64_t whole = shift ? instant.seconds + 1 : instant.seconds;
  if (__builtin_mul_overflow(whole, per_second, &ticks) ||
      __builtin_add_overflow(ticks, shift ? part - per_second : part, &ticks)) {
    return Status::OutOfRange(
        fmt::format("time {} does not fit in a 64-bit count of {}s", Quoted(text),
                    UnitName(unit).substr(UnitName(unit).find(' ') + 1)));
  }
  return ticks;
}

Result<int64_t> ToTicks(const Instant& instant, const TimeFormat& format, TimeUnit unit,
                        std::string_view text) {
  const int64_t nanos_per_tick = kNanosPerSecond / PerSecond(unit);
  if (!IsFinerThan(instant, nanos_per_tick)) return ToTicks(instant, unit, text);
  if (format.truncate) {
    const int64_t nanos = instant.nanos / nanos_per_tick * nanos_per_tick;
    return ToTicks({instant.seconds, static_cast<int32_t>(nanos)}, unit, text);
  }
  const Status s = ToTicks(instant, unit, text).status();
  return Status(s.code(), s.message() + format.too_fine_advice);
}

Result<int64_t> ParseBound(std::string_view option, std::string_view text, TimeUnit unit,
                           int64_t now_us, const LocalClock& clock) {
  Result<int64_t> ticks = IsWholeNumber(text)    ? ParseTicks(text)
                          : SecondsFromNow(text) ? TicksFromNow(text, unit, now_us)
                                                 : IsoTicks(text, unit, clock);
  if (ticks.ok()) return ticks;
  if (ticks.status().code() != StatusCode::kInvalidArgument) {
    return Status(ticks.status().code(),
                  fmt::format("{}: {}", option, ticks.status().message()));
  }
  return Status::InvalidArgument(
      fmt::format("{} {} is no time: expected ISO 8601 such as 2016-12-01 or 2016-12-01T05:00, a "
                  "whole number of the event time's unit, or a time from now such as now or -36h",
                  option, Quoted(text)));
}

bool CountsFromNow(std::string_view text) {
  return !IsWholeNumber(text) && SecondsFromNow(text).has_value();
}

std::string FormatTicks(int64_t ticks, TimeUnit unit) {
  const Instant t = InstantOf(ticks, unit);
  return IsInRange(t) ? DateAndTime(t.seconds, t.nanos, unit) + 'Z' : fmt::format("{}", ticks);
}

std::string FormatTicks(int64_t ticks, TimeUnit unit, const LocalClock& clock) {
  const Instant t = InstantOf(ticks, unit);
  const int32_t offset_s = clock.PeriodAt(t.seconds).offset_s;
  if (!IsInRange(t) || !IsInRange({t.seconds + offset_s, 0})) return fmt::format("{}", ticks);
  return DateAndTime(t.seconds + offset_s, t.nanos, unit) + FormatUtcOffset(offset_s);
}

Result<int64_t> ParseSpan(std::string_view option, std::string_view text, int64_t seconds_min,
                          int64_t seconds_max) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const std::pair<std::string_view, int64_t> units[] = {
      {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const auto found = std::find_if(std::begin(units), std::end(units),
                                  [unit](const auto& known) { return known.first == unit; });
  const bool is_number = error == std::errc() && value >= 0;
  if (is_number && unit.empty()) {
    return Status::InvalidArgument(
        fmt::format("{} '{}' has no unit: {}s, {}m, {}h or {}d", option, text, value, value, value,
                    value));
  }
  if (!is_number || found == std::end(units)) {
    return Status::InvalidArgument(fmt::format("{} '{}' is not a whole number of seconds, minutes, "
                                               "hours or days: 90s, 5m, 36h, 400d", option, text));
  }
  if (value > seconds_max / found->second || value * found->second < seconds_min) {
    return Status::InvalidArgument(
        fmt::format("{} '{}' is not between {} and {}", option, text,
                    FormatSpan(static_cast<uint64_t>(seconds_min)),
                    FormatSpan(static_cast<uint64_t>(seconds_max))));
  }
  return value * found->second;
}

std::string FormatSpan(uint64_t seconds) {
  constexpr uint64_t kMonth = 2'629'746;  // a twelfth of 365.2425 days, as buckets have it
  if (seconds > 0 && seconds % (12 * kMonth) == 0) {
    return Counted(seconds / (12 * kMonth), "year");
  }
  if (seconds > 0 && seconds % kMonth == 0) return Counted(seconds / kMonth, "month");
  const std::pair<char, uint64_t> units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}};
  for (const auto& [unit, width] : units) {
    if (seconds > 0 && seconds % width == 0) return fmt::format("{}{}", seconds / width, unit);
  }
  return fmt::format("{}s", seconds);
}

Result<TimeUnit> ParseTimeUnit(std::string_view text) {
  if (text == "s") return TimeUnit::kSeconds;
  if (text == "ms") return TimeUnit::kMillis;
  if (text == "us") return TimeUnit::kMicros;
  if (text == "ns") return TimeUnit::kNanos;
  return Status::InvalidArgument(
      fmt::format("{} is not a time unit; expected s, ms, us or ns", Quoted(text)));
}

}  // namespace cistern::tool
