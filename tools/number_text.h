// Numbers as inputs have them: decimal commas, and words for what is not finite.
#ifndef CISTERN_TOOLS_NUMBER_TEXT_H_
#define CISTERN_TOOLS_NUMBER_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

// What becomes of NaN and infinities that an input has for numbers.
enum class NonFinite : uint8_t {
  kStore,    // as they are, in double and float columns; others refuse the words
  kMissing,  // like an empty cell
  kRefuse,   // the record is refused
};

// "store", "missing" or "refuse"; empty: store.
[[nodiscard]] Result<NonFinite> ParseNonFinite(std::string_view text);

// "nan", "inf", "infinity" in any case, with a sign or without and with blanks around; "nan(ind)".
[[nodiscard]] bool IsNonFinite(std::string_view text);

// "." (or an empty text) and ",": what stands before the decimals of numbers.
[[nodiscard]] Result<char> ParseDecimalMark(std::string_view text);

// Whether `text` is a number with one comma and no point, such as 21,5 or -1,5e3.
[[nodiscard]] bool HasDecimalComma(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_NUMBER_TEXT_H_
