// Numbers with their noun, for people.
#ifndef CISTERN_TOOLS_COUNTED_H_
#define CISTERN_TOOLS_COUNTED_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace cistern::tool {

// "1 row", "0 rows".
[[nodiscard]] inline std::string Counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_COUNTED_H_
