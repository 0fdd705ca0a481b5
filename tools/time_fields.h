// TimeFields: what a text says of a time, part by part, and the time that all parts agree on.
#ifndef CISTERN_TOOLS_TIME_FIELDS_H_
#define CISTERN_TOOLS_TIME_FIELDS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

// One part for each way in which a pattern reads something: two ways may contradict.
enum class TimePart : uint8_t {
  kYear,           // 1..9999
  kYearOfCentury,  // 0..99; without a century 69 is 1969 and 68 is 2068
  kCentury,        // 0..99
  kMonth,          // 1..12
  kMonthName,      // 1..12
  kDay,            // 1..31
  kDayOfYear,      // 1..366
  kWeekOfSundays,  // 0..53: week 1 begins with the first Sunday
  kWeekOfMondays,  // 0..53: week 1 begins with the first Monday
  kIsoYear,
  kIsoWeek,        // 1..53
  kWeekdayName,    // 0..6, 0 is Sunday; so are both that follow
  kWeekdayFrom0,
  kWeekdayFrom1,
  kHour,           // 0..23
  kHour12,         // 1..12
  kHalf,           // 0: AM, 1: PM
  kMinute,
  kSecond,
  kFraction,       // nanoseconds
  kEpoch,          // seconds since 1970-01-01 UTC
  kOffset,         // seconds east of UTC
  kZone,           // a word, in `zone`
};
inline constexpr size_t kTimePartCount = 23;

using TimeParts = std::bitset<kTimePartCount>;

struct TimeFields {
  void Set(TimePart part, int64_t value) {
    values[static_cast<size_t>(part)] = value;
    told.set(static_cast<size_t>(part));
  }
  [[nodiscard]] bool Has(TimePart part) const { return told.test(static_cast<size_t>(part)); }
  [[nodiscard]] int64_t Get(TimePart part) const { return values[static_cast<size_t>(part)]; }

  std::array<int64_t, kTimePartCount> values{};
  TimeParts told;
  std::string_view zone;
};

// Why no time can be known by these parts alone, in words that follow "the pattern: "; empty if
// one can. Parts that would be read and change nothing are refused too.
[[nodiscard]] std::string WhatIsLacking(const TimeParts& parts);

// Seconds since 1970-01-01 by the clock that the text was written by. WhatIsLacking() is empty for
// the parts. kOutOfRange for a day or time that there is not, and for parts that contradict one
// another: a weekday that the date does not have. `text` is for the message.
[[nodiscard]] Result<int64_t> LocalSecondsOf(const TimeFields& fields, std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_FIELDS_H_
