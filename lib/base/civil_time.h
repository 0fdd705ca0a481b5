// The proleptic Gregorian calendar in UTC, without leap seconds. Pure arithmetic.
//
// Days are counted from 1970-01-01. All functions are exact for days within
// kDaysMin..kDaysMax (years -5,877,641 to 5,881,580: CQL's dates); beyond, the
// caller has to refuse first.
#ifndef CISTERN_BASE_CIVIL_TIME_H_
#define CISTERN_BASE_CIVIL_TIME_H_

#include <cstdint>
#include <limits>

namespace cistern {

inline constexpr int64_t kSecondsPerDay = 86'400;
inline constexpr int64_t kDaysMin = std::numeric_limits<int32_t>::min();
inline constexpr int64_t kDaysMax = std::numeric_limits<int32_t>::max();

// Quotient rounded towards minus infinity, and the remainder in [0, b). REQUIRES: b > 0.
[[nodiscard]] constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
[[nodiscard]] constexpr int64_t FloorMod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r < 0 ? r + b : r;
}

struct CivilDate {
  int64_t year = 1970;  // year 0 is 1 BC
  uint32_t month = 1;   // 1..12
  uint32_t day = 1;     // 1..31
  friend bool operator==(const CivilDate&, const CivilDate&) = default;
};

[[nodiscard]] constexpr bool IsLeapYear(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}
// REQUIRES: month in 1..12.
[[nodiscard]] uint32_t DaysInMonth(int64_t year, uint32_t month);
[[nodiscard]] bool IsValidDate(int64_t year, int64_t month, int64_t day);

// REQUIRES: IsValidDate.
[[nodiscard]] int64_t DaysFromCivil(int64_t year, uint32_t month, uint32_t day);
[[nodiscard]] CivilDate CivilFromDays(int64_t days);

// ISO 8601 weeks begin on Monday; week 1 has the year's first Thursday. The ISO year
// differs from the calendar's around New Year.
struct IsoWeek {
  int64_t year = 1970;
  uint32_t week = 1;  // 1..53
  friend bool operator==(const IsoWeek&, const IsoWeek&) = default;
};
[[nodiscard]] IsoWeek IsoWeekFromDays(int64_t days);
// The Monday. REQUIRES: week in 1..IsoWeeksInYear(year).
[[nodiscard]] int64_t DaysFromIsoWeek(int64_t year, uint32_t week);
[[nodiscard]] uint32_t IsoWeeksInYear(int64_t year);  // 52 or 53

// 0 Monday .. 6 Sunday.
[[nodiscard]] constexpr uint32_t IsoWeekday(int64_t days) {
  return static_cast<uint32_t>(FloorMod(days + 3, 7));  // 1970-01-01 was a Thursday
}

}  // namespace cistern

#endif  // CISTERN_BASE_CIVIL_TIME_H_
