// What a bare number counts, by its size: seconds of this century have ten digits, milliseconds
// thirteen.
#ifndef CISTERN_TOOLS_TIME_UNIT_GUESS_H_
#define CISTERN_TOOLS_TIME_UNIT_GUESS_H_

#include <optional>
#include <string>
#include <string_view>

#include "cistern/schema.h"

namespace cistern::tool {

// The one unit of s, ms, us and ns in which `number` is a time from 2000 to 2099; nullopt if there
// is none. Anything but a decimal number, and one that lost digits to its exponent, has no unit.
[[nodiscard]] std::optional<TimeUnit> UnitByUse(std::string_view number);

// Why `number` is hardly meant in the unit `taken`: it looks like another one, or like a date in
// digits alone such as 202603031200. nullopt if it does not. The text begins with the number, and
// has what it would be and the options that decide.
[[nodiscard]] std::optional<std::string> UnitDoubt(std::string_view number, TimeUnit taken);

// "milliseconds": of the units that a number may have.
[[nodiscard]] std::string_view PluralOf(TimeUnit unit);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_UNIT_GUESS_H_
