// The parts of a time pattern: what each reads of a text.
#ifndef CISTERN_TOOLS_PATTERN_ITEM_H_
#define CISTERN_TOOLS_PATTERN_ITEM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "tools/time_fields.h"

namespace cistern::tool {

struct PatternItem {
  enum class Kind : uint8_t {
    kLiteral,      // `text`, whatever its case
    kBlanks,       // one or more
    kMaybeBlanks,  // any number
    kNumber,
    kName,         // one of `names`
    kFraction,     // %f: digits after the decimal point
    kOffset,       // %z
    kZone,         // %Z
  };
  enum class Padding : uint8_t { kNone, kOneBlank, kBlanks };

  Kind kind = Kind::kLiteral;
  std::string text;  // of a conversion: as it is written, for messages
  TimePart part = TimePart::kYear;
  // kNumber:
  int digits_min = 0, digits_max = 0;
  int64_t value_min = 0, value_max = 0;
  Padding padding = Padding::kNone;  // a number with fewer digits may have blanks before it
  bool takes_decimals = false;       // %S: nanoseconds may follow the seconds
  // kName: full names from `names` on, which has `name_count`; their values begin at value_min.
  const std::string_view* names = nullptr;
  size_t name_count = 0;
  size_t short_length = 0;  // of abbreviations; 0: there are none
  bool short_first = false;

  [[nodiscard]] bool ReadsDigits() const {
    return kind == Kind::kNumber || kind == Kind::kFraction;
  }
};

// The items of a pattern, left to right. kInvalidArgument with what is wrong and where, in words
// that follow "the pattern: ".
[[nodiscard]] Result<std::vector<PatternItem>> ParsePattern(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_PATTERN_ITEM_H_
