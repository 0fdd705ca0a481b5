#include "lib/cql/time_text.h"

#include <charconv>

#include "lib/base/civil_time.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Takes characters from the front of a text; every step says whether it fitted.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool AtEnd() const { return rest_.empty(); }
  [[nodiscard]] char Peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Exactly `digits` digits; at most 18.
  bool TakeNumber(size_t digits, int64_t* out) {
    if (rest_.size() < digits) return false;
    int64_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!IsDigit(rest_[i])) return false;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    *out = value;
    return true;
  }
  std::string_view TakeDigits() {
    size_t count = 0;
    while (count < rest_.size() && IsDigit(rest_[count])) ++count;
    const std::string_view digits = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return digits;
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  std::string_view rest_;
};

size_t FractionDigits(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return 0;
    case TimeUnit::kMillis: return 3;
    case TimeUnit::kMicros: return 6;
    case TimeUnit::kTicks100ns: return 7;
    case TimeUnit::kNanos: return 9;
  }
  return 0;
}

std::string_view UnitWord(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "seconds";
    case TimeUnit::kMillis: return "milliseconds";
    case TimeUnit::kMicros: return "microseconds";
    case TimeUnit::kTicks100ns: return "100 nanoseconds";
    case TimeUnit::kNanos: return "nanoseconds";
  }
  return "";
}

// A fraction's digits as a count of 10^-kept; false if a digit beyond is not zero.
bool FractionTicks(std::string_view digits, size_t kept, int64_t* ticks) {
  int64_t value = 0;
  for (size_t i = 0; i < kept; ++i) {
    value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  }
  *ticks = value;
  return digits.size() <= kept || digits.find_first_not_of('0', kept) == std::string_view::npos;
}

bool TakeDate(Scanner* in, int64_t* days) {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  if (!in->TakeNumber(4, &year) || !in->Take('-') || !in->TakeNumber(2, &month) || !in->Take('-') ||
      !in->TakeNumber(2, &day)) {
    return false;
  }
  if (year < 1 || !IsValidDate(year, month, day)) return false;
  *days = DaysFromCivil(year, static_cast<uint32_t>(month), static_cast<uint32_t>(day));
  return true;
}

// HH:MM[:SS[.digits]] in seconds of the day. `seconds_needed`: not without :SS.
bool TakeTimeOfDay(Scanner* in, bool seconds_needed, int64_t* seconds, std::string_view* fraction) {
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  if (!in->TakeNumber(2, &hour) || !in->Take(':') || !in->TakeNumber(2, &minute)) return false;
  if (in->Take(':')) {
    if (!in->TakeNumber(2, &second)) return false;
    if (in->Take('.')) {
      *fraction = in->TakeDigits();
      if (fraction->empty()) return false;
    }
  } else if (seconds_needed) {
    return false;
  }
  if (hour > 23 || minute > 59 || second > 59) return false;
  *seconds = hour * 3600 + minute * 60 + second;
  return true;
}

// Z, +HH, +HHMM, +HH:MM or nothing; in seconds east of UTC.
bool TakeOffset(Scanner* in, int64_t* seconds) {
  *seconds = 0;
  if (in->AtEnd() || in->Take('Z') || in->Take('z')) return true;
  const bool west = in->Peek() == '-';
  if (!in->Take('+') && !in->Take('-')) return false;
  int64_t hours = 0;
  int64_t minutes = 0;
  if (!in->TakeNumber(2, &hours)) return false;
  const bool colon = in->Take(':');
  if ((colon || !in->AtEnd()) && !in->TakeNumber(2, &minutes)) return false;
  if (hours > 18 || minutes > 59) return false;
  *seconds = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

void AppendPadded(int64_t value, size_t digits, std::string* out) {
  const std::string text = std::to_string(value);
  if (text.size() < digits) out->append(digits - text.size(), '0');
  out->append(text);
}

void AppendTimeOfDay(int64_t seconds, std::string* out) {
  AppendPadded(seconds / 3600, 2, out);
  out->push_back(':');
  AppendPadded(seconds / 60 % 60, 2, out);
  out->push_back(':');
  AppendPadded(seconds % 60, 2, out);
}

bool IsWholeNumber(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Status ParseTimeText(std::string_view text, TimeUnit unit, int64_t* ticks) {
  if (IsWholeNumber(text)) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *ticks);
    if (error == std::errc()) return Status::Ok();
    return Status::OutOfRange(Concat({ShowText(text), " does not fit 64 bits"}));
  }
  Scanner in(text);
  int64_t days = 0;
  int64_t seconds = 0;
  int64_t offset = 0;
  std::string_view fraction;
  bool good = TakeDate(&in, &days);
  if (good && !in.AtEnd()) {
    good = in.Take('T') || in.Take('t') || in.Take(' ');
    good = good && TakeTimeOfDay(&in, /*seconds_needed=*/false, &seconds, &fraction) &&
           TakeOffset(&in, &offset) && in.AtEnd();
  }
  if (!good) {
    return Status::InvalidArgument(Concat({"expected a time such as 2024-01-15 14:05:30.123, with "
        "Z or +01:00 if wanted, or a whole number of ", UnitWord(unit), " since 1970, got ",
        ShowText(text)}));
  }
  int64_t fraction_ticks = 0;
  if (!FractionTicks(fraction, FractionDigits(unit), &fraction_ticks)) {
    return Status::InvalidArgument(Concat({ShowText(text), " is finer than the column's ",
        UnitWord(unit)}));
  }
  const int64_t since_1970_s = days * kSecondsPerDay + seconds - offset;
  int64_t whole = 0;
  if (__builtin_mul_overflow(since_1970_s, TicksPerSecond(unit), &whole) ||
      __builtin_add_overflow(whole, fraction_ticks, ticks)) {
    return Status::OutOfRange(Concat({ShowText(text), " does not fit 64 bits of ", UnitWord(unit),
        " since 1970"}));
  }
  return Status::Ok();
}

void FormatTimeText(int64_t ticks, TimeUnit unit, std::string* out) {
  const int64_t ticks_per_s = TicksPerSecond(unit);
  const int64_t seconds = FloorDiv(ticks, ticks_per_s);
  const int64_t days = FloorDiv(seconds, kSecondsPerDay);
  if (days < DaysFromCivil(1, 1, 1) || days > DaysFromCivil(9999, 12, 31)) {
    out->append(std::to_string(ticks));
    return;
  }
  FormatDateText(days, out);
  out->push_back('T');
  AppendTimeOfDay(FloorMod(seconds, kSecondsPerDay), out);
  if (ticks_per_s > 1) {
    out->push_back('.');
    AppendPadded(FloorMod(ticks, ticks_per_s), FractionDigits(unit), out);
  }
  out->push_back('Z');
}

Status ParseDateText(std::string_view text, int64_t* days) {
  Scanner in(text);
  const bool negative = in.Take('-');
  if (!negative) in.Take('+');
  const std::string_view year_digits = in.TakeDigits();
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  bool good = year_digits.size() >= 4 && year_digits.size() <= 7 && in.Take('-') &&
              in.TakeNumber(2, &month) && in.Take('-') && in.TakeNumber(2, &day) && in.AtEnd();
  if (good) {
    Scanner year_in(year_digits);
    good = year_in.TakeNumber(year_digits.size(), &year);
    if (negative) year = -year;
    good = good && IsValidDate(year, month, day);
  }
  if (!good)
    return Status::InvalidArgument(Concat({"expected a date such as 2024-01-15, got ",
        ShowText(text)}));
  const int64_t value =
      DaysFromCivil(year, static_cast<uint32_t>(month), static_cast<uint32_t>(day));
  if (value < kDaysMin || value > kDaysMax) {
    return Status::OutOfRange(Concat({ShowText(text), " is beyond the dates of CQL"}));
  }
  *days = value;
  return Status::Ok();
}

void FormatDateText(int64_t days, std::string* out) {
  if (days < kDaysMin || days > kDaysMax) {
    out->append(std::to_string(days));
    return;
  }
  const CivilDate date = CivilFromDays(days);
  if (date.year < 0) out->push_back('-');
  AppendPadded(date.year < 0 ? -date.year : date.year, 4, out);
  out->push_back('-');
  AppendPadded(date.month, 2, out);
  out->push_back('-');
  AppendPadded(date.day, 2, out);
}

Status ParseTimeOfDayText(std::string_view text, int64_t* nanos) {
  Scanner in(text);
  int64_t seconds = 0;
  int64_t fraction_nanos = 0;
  std::string_view fraction;
  if (!TakeTimeOfDay(&in, /*seconds_needed=*/true, &seconds, &fraction) || !in.AtEnd()) {
    return Status::InvalidArgument(Concat({"expected a time of day such as 14:05:30.123456789, "
        "got ", ShowText(text)}));
  }
  if (!FractionTicks(fraction, 9, &fraction_nanos)) {
    return Status::InvalidArgument(Concat({ShowText(text), " is finer than nanoseconds"}));
  }
  *nanos = seconds * kNanosPerSecond + fraction_nanos;
  return Status::Ok();
}

void FormatTimeOfDayText(int64_t nanos, std::string* out) {
  if (nanos < 0 || nanos >= kSecondsPerDay * kNanosPerSecond) {
    out->append(std::to_string(nanos));
    return;
  }
  AppendTimeOfDay(nanos / kNanosPerSecond, out);
  out->push_back('.');
  AppendPadded(nanos % kNanosPerSecond, 9, out);
}

}  // namespace cistern
