#include "tools/tz_rule.h"

#include <chrono>

namespace cistern::tool {
namespace {

constexpr int64_t kDayS = 86'400;

// Reads a rule from left to right. Each function returns false where the text ends the rule.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}

  bool AtEnd() const { return rest_.empty(); }

  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool Number(int max, int* value) {
    size_t count = 0;
    *value = 0;
    for (; count < rest_.size() && count < 3 && IsDigit(rest_[count]); ++count) {
      *value = *value * 10 + (rest_[count] - '0');
    }
    rest_.remove_prefix(count);
    return count > 0 && *value <= max;
  }

  // "CEST", or "<+03>" for a name that is not of letters alone.
  bool Name(std::string* name) {
    const bool quoted = Take('<');
    size_t count = 0;
    while (count < rest_.size() && IsNameChar(rest_[count], quoted)) ++count;
    *name = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return count >= 3 && (!quoted || Take('>'));
  }

  // "[+-]h[h[h]][:mm[:ss]]" in seconds.
  bool Time(int hours_max, int32_t* seconds) {
    const bool negative = Take('-');
    if (!negative) Take('+');
    int hour = 0;
    int minute = 0;
    int second = 0;
    if (!Number(hours_max, &hour)) return false;
    if (Take(':')) {
      if (!Number(59, &minute)) return false;
      if (Take(':') && !Number(59, &second)) return false;
    }
    *seconds = (hour * 3600 + minute * 60 + second) * (negative ? -1 : 1);
    return true;
  }

  // "M3.5.0", "J60" or "59", and "/time".
  bool Day(TzRule::Day* day) {
    using Form = TzRule::Day::Form;
    if (Take('M')) {
      day->form = Form::kMonthWeek;
      if (!Number(12, &day->month) || day->month < 1 || !Take('.')) return false;
      if (!Number(5, &day->week) || day->week < 1 || !Take('.')) return false;
      if (!Number(6, &day->number)) return false;
    } else if (Take('J')) {
      day->form = Form::kJulian;
      if (!Number(365, &day->number) || day->number < 1) return false;
    } else {
      day->form = Form::kZeroBased;
      if (!Number(365, &day->number)) return false;
    }
    return !Take('/') || Time(167, &day->time_s);
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsNameChar(char c, bool quoted) {
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return true;
    return quoted && (IsDigit(c) || c == '+' || c == '-');
  }

  std::string_view rest_;
};

// Days since 1970 of `day` in `year`.
int64_t DayNumber(const TzRule::Day& day, int year) {
  namespace chrono = std::chrono;
  const chrono::year y{year};
  const auto count = [](chrono::sys_days days) { return int64_t{days.time_since_epoch().count()}; };
  const int64_t first = count(chrono::sys_days{y / 1 / 1});
  switch (day.form) {
    case TzRule::Day::Form::kZeroBased: return first + day.number;
    case TzRule::Day::Form::kJulian:  // February 29 is never counted
      return first + day.number - 1 + (y.is_leap() && day.number >= 60 ? 1 : 0);
    case TzRule::Day::Form::kMonthWeek: break;
  }
  const chrono::month month{static_cast<unsigned>(day.month)};
  const chrono::weekday weekday{static_cast<unsigned>(day.number)};
  if (day.week == 5) return count(chrono::sys_days{y / month / weekday[chrono::last]});
  return count(chrono::sys_days{y / month / weekday[static_cast<unsigned>(day.week)]});
}

}  // namespace

std::optional<TzRule> TzRule::Parse(std::string_view text) {
  RuleReader reader(text);
  TzRule rule;
  int32_t west_s = 0;  // POSIX counts offsets to the west
  if (!reader.Name(&rule.standard.abbreviation) || !reader.Time(24, &west_s)) return std::nullopt;
  rule.standard.offset_s = -west_s;
  if (reader.AtEnd()) return rule;
  TzKind summer;
  if (!reader.Name(&summer.abbreviation)) return std::nullopt;
  summer.offset_s = rule.standard.offset_s + 3600;
  if (!reader.Take(',')) {
    if (!reader.Time(24, &west_s) || !reader.Take(',')) return std::nullopt;
    summer.offset_s = -west_s;
  }
  rule.summer = summer;
  if (!reader.Day(&rule.summer_begins) || !reader.Take(',') || !reader.Day(&rule.summer_ends) ||
      !reader.AtEnd()) {
    return std::nullopt;
  }
  return rule;
}

std::vector<TzRule::Change> TzRule::ChangesOf(int year) const {
  if (!summer) return {};
  const int64_t begins = DayNumber(summer_begins, year) * kDayS + summer_begins.time_s;
  const int64_t ends = DayNumber(summer_ends, year) * kDayS + summer_ends.time_s;
  return {{begins - standard.offset_s, true}, {ends - summer->offset_s, false}};
}

}  // namespace cistern::tool
