// Times as people and files write them, to exact ticks. No floating point anywhere:
// what is finer than the asked unit is an error, unless it is asked to be cut off.
#ifndef CISTERN_TOOLS_TIME_TEXT_H_
#define CISTERN_TOOLS_TIME_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "cistern/schema.h"
#include "tools/instant.h"
#include "tools/local_clock.h"
#include "tools/time_pattern.h"

namespace cistern::tool {

// How the times of one input are written.
struct TimeFormat {
  std::optional<TimeUnit> number_unit;  // of numeric times; nullopt: the column's own unit
  bool unit_is_of_event = false;        // number_unit is of the event time, and of no other column
  std::optional<Instant> base;          // added to every time: the input's times are relative
  LocalClock clock{};                   // of times that name no offset themselves
  TimePattern pattern{};                // strptime-like; empty: ISO 8601 or a number
  bool truncate = false;                // what is finer than the column is cut off, to the past
  std::string too_fine_advice{};        // what to do about it where it is refused
};

// A decimal number of `unit`, for example "135.326642" seconds: sign, digits, fraction and
// exponent are accepted. kOutOfRange when finer than a nanosecond or beyond the year 9999.
[[nodiscard]] Result<Instant> ParseNumericTime(std::string_view text, TimeUnit unit);

// ISO 8601 date or date and time: "2024-05-24", "2013-3-1T0", "2024-05-24 07:03:50.123456789",
// with "Z", "+08:00", "+0800" or "+08" or without offset, then `clock` says which moment it is. The
// parts of a date may have one digit less than ISO wants, since files keep them in columns of
// numbers.
[[nodiscard]] Result<Instant> ParseIsoTime(std::string_view text, const LocalClock& clock);

// By `format`: the pattern if there is one, else a number, else ISO 8601. `column_unit` is the
// unit of a number when the format names none. kInvalidArgument for a date where there is a base.
[[nodiscard]] Result<Instant> ParseTime(std::string_view text, const TimeFormat& format,
                                        TimeUnit column_unit);

// Ticks of `unit`. kOutOfRange when the instant is finer than the unit or does not fit; the
// message shows `text`, as which it was written.
[[nodiscard]] Result<int64_t> ToTicks(const Instant& instant, TimeUnit unit,
                                      std::string_view text);

// The same by `format`: cut off where it is asked for, or refused with its advice.
[[nodiscard]] Result<int64_t> ToTicks(const Instant& instant, const TimeFormat& format,
                                      TimeUnit unit, std::string_view text);

// For times on the command line, in ticks of `unit`. An integer is ticks. "now", "-36h" and
// "now+90s" count from `now_us`, microseconds since 1970 UTC, and are cut off at a tick. All else
// is ISO 8601, by `clock` unless it names an offset. What is wrong is told with the option:
// "--from 'x' is no time: ...".
[[nodiscard]] Result<int64_t> ParseBound(std::string_view option, std::string_view text,
                                         TimeUnit unit, int64_t now_us,
                                         const LocalClock& clock = LocalClock());
// Whether such a text is another time at each moment: "now", "-36h", "now+90s".
[[nodiscard]] bool CountsFromNow(std::string_view text);

// "2024-05-24T07:03:50.123Z" with as many decimals as the unit has; plain ticks when the
// time lies outside the years 0001 to 9999.
[[nodiscard]] std::string FormatTicks(int64_t ticks, TimeUnit unit);
// The same as `clock` shows it: "2024-05-24T09:03:50.123+02:00".
[[nodiscard]] std::string FormatTicks(int64_t ticks, TimeUnit unit, const LocalClock& clock);

// Seconds of a span as a person gives it: "90s", "5m", "36h", "400d". kInvalidArgument, with the
// option's name, unless it is a whole number with its unit within the bounds.
[[nodiscard]] Result<int64_t> ParseSpan(std::string_view option, std::string_view text,
                                        int64_t seconds_min, int64_t seconds_max);

// In the largest unit of which it is a whole number: "36h", "400d", "1 month" for a mean one.
[[nodiscard]] std::string FormatSpan(uint64_t seconds);

// "s", "ms", "us", "ns".
[[nodiscard]] Result<TimeUnit> ParseTimeUnit(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_TEXT_H_
