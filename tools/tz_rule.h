// The rule at the end of a file of the tz database: when clocks change in the years after the
// last change that the file lists. The text is POSIX's TZ with the additions of RFC 8536:
//
//   CET-1CEST,M3.5.0,M10.5.0/3      standard time, summer time, when each begins
//   <+03>-3                         one offset for ever
#ifndef CISTERN_TOOLS_TZ_RULE_H_
#define CISTERN_TOOLS_TZ_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::tool {

// What clocks of a zone show for a time.
struct TzKind {
  int32_t offset_s = 0;      // east of UTC
  std::string abbreviation;  // "CEST"
};

struct TzRule {
  // A day of every year, and the time of that day by the clocks as they were before.
  struct Day {
    enum class Form { kMonthWeek, kJulian, kZeroBased };
    Form form = Form::kMonthWeek;
    int month = 0;    // kMonthWeek: 1..12
    int week = 0;     // kMonthWeek: 1..5, 5 is the last of the month
    int number = 0;   // kMonthWeek: weekday, 0 is Sunday; else the day of the year
    int32_t time_s = 2 * 3600;  // may be negative or more than a day
  };
  struct Change {
    int64_t at_s = 0;  // since 1970 UTC
    bool to_summer = false;
  };

  // nullopt for a text that is no such rule.
  [[nodiscard]] static std::optional<TzRule> Parse(std::string_view text);

  // Both changes of `year`, in no order; empty without summer time.
  [[nodiscard]] std::vector<Change> ChangesOf(int year) const;

  TzKind standard;
  std::optional<TzKind> summer;
  Day summer_begins;
  Day summer_ends;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TZ_RULE_H_
