// Bucket arithmetic of the model: by std::chrono alone, so that it shares no
// mistake with the engine's.
#ifndef CISTERN_TESTS_SUPPORT_CALENDAR_H_
#define CISTERN_TESTS_SUPPORT_CALENDAR_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "cistern/schema.h"
#include "tests/support/cell.h"

namespace cistern::testing {

// Half-open span of seconds since 1970.
struct BucketSpan {
  int64_t start_s = 0;
  int64_t end_s = 0;
};

inline int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// The bucket that holds second `s`. Buckets of n units align to 1970-01-01T00:00Z;
// tests only use n that divide a day, where every sensible alignment agrees.
inline BucketSpan SpanOf(const BucketRule& rule, int64_t s) {
  using namespace std::chrono;
  const auto fixed = [&](int64_t width) {
    const int64_t start = FloorDiv(s, width) * width;
    return BucketSpan{start, start + width};
  };
  const sys_days day = floor<days>(sys_seconds(seconds(s)));
  const year_month_day date(day);
  const auto at = [](sys_days d) { return int64_t{d.time_since_epoch().count()} * 86400; };
  switch (rule.unit) {
    case BucketUnit::kSecond: return fixed(rule.count);
    case BucketUnit::kMinute: return fixed(int64_t{60} * rule.count);
    case BucketUnit::kHour: return fixed(int64_t{3600} * rule.count);
    case BucketUnit::kDay: return fixed(86400);
    case BucketUnit::kIsoWeek: {
      const sys_days monday = day - (weekday(day) - Monday);
      return {at(monday), at(monday + days(7))};
    }
    case BucketUnit::kMonth: {
      const year_month_day first = date.year() / date.month() / 1;
      return {at(sys_days(first)), at(sys_days(first + months(1)))};
    }
    case BucketUnit::kYear:
      return {at(sys_days(date.year() / 1 / 1)), at(sys_days((date.year() + years(1)) / 1 / 1))};
  }
  return {};
}

// The value that the bucket column holds for the bucket that begins at `start_s`.
inline Cell BucketValue(const BucketRule& rule, int64_t start_s) {
  using namespace std::chrono;
  const sys_days day = floor<days>(sys_seconds(seconds(start_s)));
  const year_month_day date(day);
  const int y = int{date.year()};
  const unsigned m = unsigned{date.month()};
  const unsigned d = unsigned{date.day()};
  const int64_t minute_of_day = (start_s - int64_t{day.time_since_epoch().count()} * 86400) / 60;
  // An ISO week belongs to the year of its Thursday.
  const sys_days thursday = day - (weekday(day) - Monday) + days(3);
  const int iso_year = int{year_month_day(thursday).year()};
  const int iso_week =
      static_cast<int>((thursday - sys_days(year(iso_year) / 1 / 1)).count() / 7 + 1);
  switch (rule.encoding) {
    case BucketEncoding::kDate: return Cell::Fixed(day.time_since_epoch().count());
    case BucketEncoding::kTimestamp: return Cell::Fixed(start_s * 1000);
    case BucketEncoding::kText: {
      char text[64] = "";
      if (rule.unit == BucketUnit::kYear) std::snprintf(text, sizeof text, "%04d", y);
      if (rule.unit == BucketUnit::kMonth) std::snprintf(text, sizeof text, "%04d-%02u", y, m);
      if (rule.unit == BucketUnit::kIsoWeek) {
        std::snprintf(text, sizeof text, "%04d-W%02d", iso_year, iso_week);
      }
      if (rule.unit == BucketUnit::kDay) {
        std::snprintf(text, sizeof text, "%04d-%02u-%02u", y, m, d);
      }
      if (rule.unit == BucketUnit::kHour) {
        std::snprintf(text, sizeof text, "%04d-%02u-%02u-%02d", y, m, d,
                      static_cast<int>(minute_of_day / 60));
      }
      return Cell::Bytes(text);
    }
    case BucketEncoding::kCalendarNumber:
      if (rule.unit == BucketUnit::kYear) return Cell::Fixed(y);
      if (rule.unit == BucketUnit::kMonth) return Cell::Fixed(y * 100 + static_cast<int>(m));
      if (rule.unit == BucketUnit::kDay) return Cell::Fixed((y * 100 + int64_t{m}) * 100 + d);
      return Cell::Fixed(iso_year * 100 + iso_week);
    case BucketEncoding::kSinceEpoch: {
      int64_t width = 86400;
      if (rule.unit == BucketUnit::kHour) width = 3600;
      if (rule.unit == BucketUnit::kMinute) width = 60;
      if (rule.unit == BucketUnit::kSecond) width = 1;
      return Cell::Fixed(FloorDiv(start_s, width * rule.count));
    }
  }
  return Cell::Null();
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_CALENDAR_H_
