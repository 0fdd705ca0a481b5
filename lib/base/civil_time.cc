#include "lib/base/civil_time.h"

#include <array>

namespace cistern {
namespace {

// Days before each month in a year without a leap day.
constexpr std::array<uint32_t, 13> kDaysBefore = {0,   31,  59,  90,  120, 151, 181,
                                                  212, 243, 273, 304, 334, 365};

constexpr int64_t kDaysIn400Years = 146'097;
constexpr int64_t kDaysIn100Years = 36'524;  // without the leap day of the fourth century
constexpr int64_t kDaysIn4Years = 1'461;
constexpr int64_t kDaysIn1Year = 365;
constexpr int64_t kDaysTo1970 = 719'162;  // from 0001-01-01

// From 0001-01-01 to January 1 of `year`.
constexpr int64_t DaysBeforeYear(int64_t year) {
  const int64_t y = year - 1;
  return y * kDaysIn1Year + FloorDiv(y, 4) - FloorDiv(y, 100) + FloorDiv(y, 400);
}
static_assert(DaysBeforeYear(1970) == kDaysTo1970);

uint32_t LeapDayBefore(int64_t year, uint32_t month) {
  return month > 2 && IsLeapYear(year) ? 1 : 0;
}

}  // namespace

uint32_t DaysInMonth(int64_t year, uint32_t month) {
  return kDaysBefore[month] - kDaysBefore[month - 1] + (month == 2 && IsLeapYear(year) ? 1 : 0);
}

bool IsValidDate(int64_t year, int64_t month, int64_t day) {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= DaysInMonth(year, static_cast<uint32_t>(month));
}

int64_t DaysFromCivil(int64_t year, uint32_t month, uint32_t day) {
  return DaysBeforeYear(year) + kDaysBefore[month - 1] + LeapDayBefore(year, month) + day - 1 -
         kDaysTo1970;
}

CivilDate CivilFromDays(int64_t days) {
  // Years 1, 101, 201, 301 begin the centuries of a 400-year cycle: every leap day then
  // comes at the end of its 4 years, 100 years and 400 years.
  const int64_t since_year_1 = days + kDaysTo1970;
  const int64_t cycle = FloorDiv(since_year_1, kDaysIn400Years);
  int64_t rest = since_year_1 - cycle * kDaysIn400Years;
  int64_t century = rest / kDaysIn100Years;
  if (century == 4) century = 3;  // the cycle's last day
  rest -= century * kDaysIn100Years;
  const int64_t group = rest / kDaysIn4Years;
  rest -= group * kDaysIn4Years;
  int64_t year_of_group = rest / kDaysIn1Year;
  if (year_of_group == 4) year_of_group = 3;  // December 31 of a leap year
  rest -= year_of_group * kDaysIn1Year;

  CivilDate date;
  date.year = cycle * 400 + century * 100 + group * 4 + year_of_group + 1;
  const auto day_of_year = static_cast<uint32_t>(rest);
  uint32_t month = day_of_year / 29 + 1;  // never too early, as no month but one is shorter than 29
  if (month > 12) month = 12;
  while (month > 1 && kDaysBefore[month - 1] + LeapDayBefore(date.year, month) > day_of_year)
    --month;
  date.month = month;
  date.day = day_of_year - kDaysBefore[month - 1] - LeapDayBefore(date.year, month) + 1;
  return date;
}

IsoWeek IsoWeekFromDays(int64_t days) {
  const int64_t thursday = days - IsoWeekday(days) + 3;  // its calendar year is the ISO year
  const int64_t year = CivilFromDays(thursday).year;
  const int64_t day_of_year = thursday - DaysFromCivil(year, 1, 1);
  return {year, static_cast<uint32_t>(day_of_year / 7 + 1)};
}

int64_t DaysFromIsoWeek(int64_t year, uint32_t week) {
  const int64_t january_4 = DaysFromCivil(year, 1, 4);  // always in week 1
  return january_4 - IsoWeekday(january_4) + 7 * (int64_t{week} - 1);
}

uint32_t IsoWeeksInYear(int64_t year) {
  return static_cast<uint32_t>((DaysFromIsoWeek(year + 1, 1) - DaysFromIsoWeek(year, 1)) / 7);
}

}  // namespace cistern
