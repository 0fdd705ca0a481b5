#include "tools/decimal_text.h"

namespace cistern::tool {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The exponent from behind the `e` at *i on; false if there is none.
bool TakeExponent(std::string_view text, size_t* i, int* exponent) {
  bool negative = false;
  if (*i < text.size() && (text[*i] == '-' || text[*i] == '+')) negative = text[(*i)++] == '-';
  const size_t first = *i;
  *exponent = 0;
  for (; *i < text.size() && IsDigit(text[*i]) && *exponent < 1000; ++*i) {
    *exponent = *exponent * 10 + (text[*i] - '0');
  }
  if (negative) *exponent = -*exponent;
  return *i > first;
}

}  // namespace

bool TakeApart(std::string_view text, Decimal* out) {
  size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) out->negative = text[i++] == '-';
  size_t digit_count = 0;
  int point = 0;
  bool fraction = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !fraction) {
      fraction = true;
    } else if (IsDigit(text[i])) {
      if (++digit_count > 64) return false;
      if (!fraction) ++point;
      out->digits.push_back(text[i]);
    } else {
      break;
    }
  }
  if (digit_count == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    int exponent = 0;
    if (!TakeExponent(text, &++i, &exponent)) return false;
    point += exponent;
    out->has_exponent = true;
  }
  if (i != text.size()) return false;
  size_t zeros = 0;
  while (zeros < out->digits.size() && out->digits[zeros] == '0') ++zeros;
  out->digits.erase(0, zeros);
  out->point = point - static_cast<int>(zeros);
  return true;
}

int DigitAt(const Decimal& d, int place) {
  const int index = d.point + place;
  if (index < 0 || index >= static_cast<int>(d.digits.size())) return 0;
  return d.digits[static_cast<size_t>(index)] - '0';
}

std::optional<ScaledInteger> ToScaledInteger(const Decimal& d) {
  constexpr size_t kDigitsMax = 37;  // of 2^127 there are 39
  const size_t last = d.digits.find_last_not_of('0');
  if (last == std::string::npos) return ScaledInteger{};
  if (last + 1 > kDigitsMax) return std::nullopt;
  ScaledInteger scaled;
  for (size_t i = 0; i <= last; ++i) scaled.value = scaled.value * 10 + (d.digits[i] - '0');
  scaled.exponent = d.point - static_cast<int>(last + 1);
  if (d.negative) scaled.value = -scaled.value;
  return scaled;
}

}  // namespace cistern::tool
