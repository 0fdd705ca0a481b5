#include "tools/time_fields.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace cistern::tool {
namespace {

namespace chrono = std::chrono;
using enum TimePart;

constexpr std::string_view kWeekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};

std::string Quoted(std::string_view text) { return fmt::format("'{}'", text.substr(0, 80)); }

int64_t DaysOf(int64_t year, int64_t month, int64_t day) {
  const chrono::year_month_day date{chrono::year(static_cast<int>(year)),
                                    chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  return chrono::sys_days(date).time_since_epoch().count();
}

// 0 is Sunday.
int64_t WeekdayOf(int64_t day_number) { return ((day_number + 4) % 7 + 7) % 7; }

// What a day is called in each way.
struct DayNames {
  explicit DayNames(int64_t day_number) : weekday(WeekdayOf(day_number)) {
    const chrono::year_month_day date{
        chrono::sys_days(chrono::days(static_cast<int32_t>(day_number)))};
    year = static_cast<int>(date.year());
    month = static_cast<unsigned>(date.month());
    day = static_cast<unsigned>(date.day());
    day_of_year = day_number - DaysOf(year, 1, 1) + 1;
    week_of_sundays = (day_of_year + 6 - weekday) / 7;
    const int64_t since_monday = (weekday + 6) % 7;
    week_of_mondays = (day_of_year + 6 - since_monday) / 7;
    // ISO counts a week to the year that its Thursday is in.
    const int64_t thursday = day_number - since_monday + 3;
    iso_year = static_cast<int>(
        chrono::year_month_day(chrono::sys_days(chrono::days(static_cast<int32_t>(thursday))))
            .year());
    iso_week = (thursday - DaysOf(iso_year, 1, 1)) / 7 + 1;
  }

  int64_t weekday, year, month, day, day_of_year, week_of_sundays, week_of_mondays, iso_year,
      iso_week;
};

bool Has(const TimeParts& parts, TimePart part) { return parts.test(static_cast<size_t>(part)); }

bool HasWeekday(const TimeParts& parts) {
  return Has(parts, kWeekdayName) || Has(parts, kWeekdayFrom0) || Has(parts, kWeekdayFrom1);
}

bool TellsDay(const TimeParts& parts) {
  const bool year = Has(parts, kYear) || Has(parts, kYearOfCentury);
  const bool month = Has(parts, kMonth) || Has(parts, kMonthName);
  const bool week = Has(parts, kWeekOfSundays) || Has(parts, kWeekOfMondays);
  if (year && month && Has(parts, kDay)) return true;
  if (year && Has(parts, kDayOfYear)) return true;
  if (Has(parts, kIsoYear) && Has(parts, kIsoWeek) && HasWeekday(parts)) return true;
  return year && week && HasWeekday(parts);
}

int64_t YearOf(const TimeFields& fields) {
  if (fields.Has(kYear)) return fields.Get(kYear);
  const int64_t year = fields.Get(kYearOfCentury);
  if (fields.Has(kCentury)) return fields.Get(kCentury) * 100 + year;
  return year < 69 ? 2000 + year : 1900 + year;
}

int64_t WeekdayOf(const TimeFields& fields) {
  for (const TimePart part : {kWeekdayName, kWeekdayFrom0}) {
    if (fields.Has(part)) return fields.Get(part);
  }
  return fields.Get(kWeekdayFrom1);
}

// The day by the parts that suffice for it.
Result<int64_t> DayNumberOf(const TimeFields& fields, std::string_view text) {
  const bool has_year = fields.Has(kYear) || fields.Has(kYearOfCentury);
  const int64_t year = has_year ? YearOf(fields) : fields.Get(kIsoYear);
  if (year < 1) return Status::OutOfRange(fmt::format("{} has the year 0", Quoted(text)));
  const bool has_month = fields.Has(kMonth) || fields.Has(kMonthName);
  if (has_year && has_month && fields.Has(kDay)) {
    const int64_t month = fields.Get(fields.Has(kMonth) ? kMonth : kMonthName);
    const chrono::year_month_day date{chrono::year(static_cast<int>(year)),
                                      chrono::month(static_cast<unsigned>(month)),
                                      chrono::day(static_cast<unsigned>(fields.Get(kDay)))};
    if (date.ok()) return DaysOf(year, month, fields.Get(kDay));
    return Status::OutOfRange(fmt::format("{} is not a date of the calendar", Quoted(text)));
  }
  if (has_year && fields.Has(kDayOfYear)) return DaysOf(year, 1, 1) + fields.Get(kDayOfYear) - 1;
  const int64_t weekday = WeekdayOf(fields);
  const int64_t since_monday = (weekday + 6) % 7;
  if (fields.Has(kIsoYear) && fields.Has(kIsoWeek)) {
    const int64_t fourth = DaysOf(fields.Get(kIsoYear), 1, 4);  // is in week 1
    const int64_t first_monday = fourth - (WeekdayOf(fourth) + 6) % 7;
    return first_monday + (fields.Get(kIsoWeek) - 1) * 7 + since_monday;
  }
  const int64_t first = DaysOf(year, 1, 1);
  if (fields.Has(kWeekOfSundays)) {
    const int64_t first_sunday = first + (7 - WeekdayOf(first)) % 7;
    return first_sunday + (fields.Get(kWeekOfSundays) - 1) * 7 + weekday;
  }
  const int64_t first_monday = first + (8 - WeekdayOf(first)) % 7;
  return first_monday + (fields.Get(kWeekOfMondays) - 1) * 7 + since_monday;
}

// Every other part has to say the same.
Status CheckDay(int64_t day_number, const TimeFields& fields, std::string_view text) {
  const DayNames names(day_number);
  const std::pair<TimePart, int64_t> numbers[] = {
      {kYear, names.year},
      {kYearOfCentury, names.year % 100},
      {kCentury, names.year / 100},
      {kMonth, names.month},
      {kMonthName, names.month},
      {kDay, names.day},
      {kDayOfYear, names.day_of_year},
      {kWeekOfSundays, names.week_of_sundays},
      {kWeekOfMondays, names.week_of_mondays},
      {kIsoYear, names.iso_year},
      {kIsoWeek, names.iso_week}};
  const auto date = [&names] {
    return fmt::format("{:04}-{:02}-{:02}", names.year, names.month, names.day);
  };
  for (const auto& [part, actual] : numbers) {
    if (!fields.Has(part) || fields.Get(part) == actual) continue;
    return Status::OutOfRange(fmt::format("{} contradicts itself: it comes to {}, which is not of "
                                          "year, month, week or day {}",
                                          Quoted(text), date(), fields.Get(part)));
  }
  for (const TimePart part : {kWeekdayName, kWeekdayFrom0, kWeekdayFrom1}) {
    if (!fields.Has(part) || fields.Get(part) == names.weekday) continue;
    return Status::OutOfRange(fmt::format("{} contradicts itself: {} is a {}, not a {}",
                                          Quoted(text), date(), kWeekdays[names.weekday],
                                          kWeekdays[fields.Get(part)]));
  }
  return Status::Ok();
}

Result<int64_t> HourOf(const TimeFields& fields, std::string_view text) {
  const bool pm = fields.Get(kHalf) == 1;
  const int64_t hour_12 = fields.Get(kHour12) % 12;
  if (!fields.Has(kHour)) return fields.Has(kHour12) && pm ? hour_12 + 12 : hour_12;
  const int64_t hour = fields.Get(kHour);
  if (fields.Has(kHour12) && hour % 12 != hour_12) {
    return Status::OutOfRange(fmt::format("{} contradicts itself: {} is not {} o'clock",
                                          Quoted(text), hour, fields.Get(kHour12)));
  }
  if (fields.Has(kHalf) && (hour >= 12) != pm) {
    return Status::OutOfRange(fmt::format(
        "{} contradicts itself: {} o'clock is not {} by the 24-hour clock that %H reads; %I reads "
        "hours with %p", Quoted(text), hour, pm ? "PM" : "AM"));
  }
  return hour;
}

}  // namespace

std::string WhatIsLacking(const TimeParts& parts) {
  if (Has(parts, kEpoch)) {
    if (parts.count() == 1) return {};
    return "%s counts seconds from 1970 on, and no other part may stand beside it";
  }
  if (!TellsDay(parts)) {
    if (Has(parts, kIsoWeek) && !Has(parts, kIsoYear)) {
      return "it does not tell a day: the weeks of %V are of ISO's years, which %G reads";
    }
    return "it does not tell a day, as %Y %m %d, %Y %j, %Y %W %a or %G %V %u do";
  }
  if (Has(parts, kHour12) && !Has(parts, kHalf) && !Has(parts, kHour)) {
    return "%I is an hour of a 12-hour clock, and only %p says which half of the day it is of; %H "
           "reads a 24-hour clock";
  }
  const bool hour = Has(parts, kHour) || Has(parts, kHour12);
  if (Has(parts, kHalf) && !hour) return "%p says which half of the day it is, but there is no %I";
  if (Has(parts, kMinute) && !hour) return "it has minutes (%M) without hours (%H)";
  if (Has(parts, kSecond) && !Has(parts, kMinute)) {
    return "it has seconds (%S) without minutes (%M)";
  }
  if (Has(parts, kFraction) && !Has(parts, kSecond)) return "it has %f without seconds (%S)";
  return {};
}

Result<int64_t> LocalSecondsOf(const TimeFields& fields, std::string_view text) {
  CISTERN_ASSIGN_OR_RETURN(const int64_t day_number, DayNumberOf(fields, text));
  CISTERN_RETURN_IF_ERROR(CheckDay(day_number, fields, text));
  CISTERN_ASSIGN_OR_RETURN(const int64_t hour, HourOf(fields, text));
  // Clusters keep no leap seconds.
  if (fields.Get(kSecond) > 59) {
    return Status::OutOfRange(fmt::format("{} is not a time of day", Quoted(text)));
  }
  return day_number * 86'400 + hour * 3600 + fields.Get(kMinute) * 60 + fields.Get(kSecond);
}

}  // namespace cistern::tool
