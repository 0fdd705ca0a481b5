// Decimal: a decimal number as it is written, so that nothing is rounded.
#ifndef CISTERN_TOOLS_DECIMAL_TEXT_H_
#define CISTERN_TOOLS_DECIMAL_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace cistern::tool {

// A decimal number taken apart: value = (-1)^negative * 0.digits * 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;         // without leading zeros
  int point = 0;              // how many of the digits stand before the point; may exceed them
  bool has_exponent = false;  // written as 1.5e3

  // Whether the exponent says more digits before the point than are written: 1.77e12 may be any of
  // ten billion whole numbers that were cut to three digits.
  [[nodiscard]] bool LostDigits() const {
    return has_exponent && !digits.empty() && point > static_cast<int>(digits.size());
  }
};

// False if `text` is not a decimal number, with an exponent or without, or has more than 64 digits.
[[nodiscard]] bool TakeApart(std::string_view text, Decimal* out);

// The digit that stands `place` places after the decimal point (0 is the first after it).
[[nodiscard]] int DigitAt(const Decimal& d, int place);

__extension__ using WideInt = __int128;

// A whole number times a power of ten: 1.5e3 is 15 and 2.
struct ScaledInteger {
  WideInt value = 0;
  int exponent = 0;
};

// `d` without trailing zeros, exactly; nullopt beyond 37 digits.
[[nodiscard]] std::optional<ScaledInteger> ToScaledInteger(const Decimal& d);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_DECIMAL_TEXT_H_
