#include "tools/time_sum.h"

#include <fmt/format.h>

#include <algorithm>

#include "cistern/limits.h"

namespace cistern::tool {
namespace {

// Sums are counted in 10^-18 seconds: years 0001 to 9999 take 98 of the 127 bits.
constexpr int kSumExponent = -18;
constexpr int kDigitsMax = 38;  // 10^38 < 2^127

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameBegin(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

WideInt PowerOfTen(int exponent) {
  WideInt power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// False if it does not fit.
bool Multiply(WideInt factor, WideInt* value) {
  return !__builtin_mul_overflow(*value, factor, value);
}

// Takes `prime` out of *value; each time `factor` goes on over ten: 1/2 is 5/10.
bool TakeOut(int prime, int factor, WideInt* value, ScaledInteger* scaled) {
  while (*value % prime == 0) {
    *value /= prime;
    if (!Multiply(factor, &scaled->value)) return false;
    --scaled->exponent;
  }
  return true;
}

}  // namespace

class TimeSum::Parser {
 public:
  explicit Parser(std::string_view text) { sum_.text_ = text; }

  Result<TimeSum> Parse() {
    bool negative = false;
    SkipBlanks();
    if (At('-') || At('+')) negative = text()[i_++] == '-';
    for (;;) {
      CISTERN_RETURN_IF_ERROR(TakeTerm(negative));
      if (i_ == text().size()) break;
      if (!At('+') && !At('-')) return Unread("expected + - * or /");
      negative = text()[i_++] == '-';
    }
    if (sum_.names_.empty()) return Unread("it names no cell");
    return std::move(sum_);
  }

 private:
  std::string_view text() const { return sum_.text_; }
  bool At(char c) const { return i_ < text().size() && text()[i_] == c; }
  void SkipBlanks() {
    while (At(' ')) ++i_;
  }
  Status Unread(std::string_view why) const {
    return Status::InvalidArgument(fmt::format(
        "--time-sum '{}': {} at character {}; a sum is such as 'hour*3600 + micro/1e6', and a name "
        "that is no word stands in {{}}", text(), why, i_ + 1));
  }

  Status TakeTerm(bool negative) {
    Term term;
    term.factor.value = negative ? -1 : 1;
    WideInt divisor = 1;
    bool divides = false;
    for (;;) {
      SkipBlanks();
      if (i_ < text().size() && (IsDigit(text()[i_]) || text()[i_] == '.')) {
        CISTERN_RETURN_IF_ERROR(TakeNumber(divides, &term.factor, &divisor));
      } else {
        if (divides) return Unread("expected a number to divide by");
        if (term.name) return Unread("a term has one cell");
        CISTERN_ASSIGN_OR_RETURN(term.name, TakeName());
      }
      SkipBlanks();
      if (!At('*') && !At('/')) break;
      divides = text()[i_++] == '/';
    }
    if (term.factor.value % divisor != 0) {
      return Unread("a division whose decimals never end, and nothing is rounded,");
    }
    term.factor.value /= divisor;
    sum_.terms_.push_back(term);
    return Status::Ok();
  }

  Status TakeNumber(bool divides, ScaledInteger* factor, WideInt* divisor) {
    const size_t begin = i_;
    while (i_ < text().size() && (IsDigit(text()[i_]) || text()[i_] == '.')) ++i_;
    if (At('e') || At('E')) {
      ++i_;
      if (At('+') || At('-')) ++i_;
      while (i_ < text().size() && IsDigit(text()[i_])) ++i_;
    }
    Decimal decimal;
    const bool is_number = TakeApart(text().substr(begin, i_ - begin), &decimal);
    std::optional<ScaledInteger> number;
    if (is_number) number = ToScaledInteger(decimal);
    if (!number) return Unread("no number that can be read ends");
    if (!divides) {
      factor->exponent += number->exponent;
      return Multiply(number->value, &factor->value) ? Status::Ok() : Unread("too large a product");
    }
    if (number->value == 0) return Unread("a division by zero");
    factor->exponent -= number->exponent;
    // Tens are only moved, so that what is left has few digits.
    const bool fits = TakeOut(2, 5, &number->value, factor) &&
                      TakeOut(5, 2, &number->value, factor) && Multiply(number->value, divisor);
    return fits ? Status::Ok() : Unread("too large a product");
  }

  Result<std::optional<size_t>> TakeName() {
    std::string name;
    if (At('{')) {
      const size_t end = text().find('}', i_);
      if (end == std::string_view::npos || end == i_ + 1) return Unread("expected {NAME}");
      name = text().substr(i_ + 1, end - i_ - 1);
      i_ = end + 1;
    } else {
      if (i_ >= text().size() || !IsNameBegin(text()[i_])) {
        return Unread("expected a cell's name or a number");
      }
      const size_t begin = i_;
      while (i_ < text().size() &&
             (IsNameBegin(text()[i_]) || IsDigit(text()[i_]) || text()[i_] == '.')) {
        ++i_;
      }
      name = text().substr(begin, i_ - begin);
    }
    const auto known = std::find(sum_.names_.begin(), sum_.names_.end(), name);
    const auto index = static_cast<size_t>(known - sum_.names_.begin());
    if (known == sum_.names_.end()) sum_.names_.push_back(std::move(name));
    return std::optional<size_t>(index);
  }

  TimeSum sum_;
  size_t i_ = 0;
};

Result<TimeSum> TimeSum::Parse(std::string_view text) { return Parser(text).Parse(); }

Result<Instant> TimeSum::At(const std::vector<std::string_view>& cells, const Instant& base,
                            bool truncate) const {
  const auto beyond = [&] {
    return Status::OutOfRange(
        fmt::format("--time-sum '{}' lies outside the years 0001 to 9999", text_));
  };
  const auto too_fine = [&] {
    return Status::OutOfRange(fmt::format(
        "--time-sum '{}' is finer than a nanosecond; --truncate-times cuts it off", text_));
  };
  constexpr WideInt kPerSecond = 1'000'000'000'000'000'000;
  constexpr WideInt kPerNano = 1'000'000'000;
  WideInt total = base.seconds * kPerSecond + base.nanos * kPerNano;
  for (const Term& term : terms_) {
    ScaledInteger part = term.factor;
    if (term.name) {
      Decimal decimal;
      const std::string_view cell = cells[*term.name];
      const bool is_number = TakeApart(cell, &decimal);
      const std::optional<ScaledInteger> number =
          is_number ? ToScaledInteger(decimal) : std::nullopt;
      if (!number) {
        return Status::InvalidArgument(fmt::format("--time-sum: '{}' of cell '{}' is not a number",
                                                   cell.substr(0, 80), names_[*term.name]));
      }
      part.exponent += number->exponent;
      if (!Multiply(number->value, &part.value)) return beyond();
    }
    if (part.value == 0) continue;
    const int shift = part.exponent - kSumExponent;
    if (shift > kDigitsMax || (shift >= 0 && !Multiply(PowerOfTen(shift), &part.value))) {
      return beyond();
    }
    if (shift < 0) {
      const WideInt divisor = PowerOfTen(std::min(-shift, kDigitsMax));
      const bool exact = part.value % divisor == 0 && -shift <= kDigitsMax;
      if (!exact && !truncate) return too_fine();
      const bool down = part.value < 0 && !exact;
      part.value = part.value / divisor - (down ? 1 : 0);
    }
    if (__builtin_add_overflow(total, part.value, &total)) return beyond();
  }
  WideInt seconds = total / kPerSecond;
  WideInt rest = total % kPerSecond;
  if (rest < 0) {
    rest += kPerSecond;
    --seconds;
  }
  if (rest % kPerNano != 0 && !truncate) return too_fine();
  if (seconds < limits::kEventSecondsMin || seconds > limits::kEventSecondsMax) return beyond();
  return Instant{static_cast<int64_t>(seconds), static_cast<int32_t>(rest / kPerNano)};
}

}  // namespace cistern::tool
