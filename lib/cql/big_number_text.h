// varint and decimal: whole numbers of any size in two's complement, to and from digits.
#ifndef CISTERN_CQL_BIG_NUMBER_TEXT_H_
#define CISTERN_CQL_BIG_NUMBER_TEXT_H_

#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern {

// Replaces *out by the shortest big-endian two's complement of "-123".
//   kTooLarge  more than limits::kVarintBytesMax bytes
[[nodiscard]] Status ParseVarintText(std::string_view text, std::string* out);
// Appends the digits. Time grows with the square of the length. REQUIRES: not empty.
void FormatVarintText(std::string_view bytes, std::string* out);

// Replaces *out by the wire form of "-1.5e3": a scale of 4 bytes and the unscaled number,
// with the digits as they were written (1.50 keeps its scale of 2).
[[nodiscard]] Status ParseDecimalText(std::string_view text, std::string* out);
// Appends plain digits, or an exponent where zeros would have to be made up, as
// java.math.BigDecimal does. REQUIRES: at least 5 bytes.
void FormatDecimalText(std::string_view bytes, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_BIG_NUMBER_TEXT_H_
