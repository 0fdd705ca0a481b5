// Sizes, rates and counts as people write them: bytes, KiB, MiB, GiB.
#ifndef CISTERN_TOOLS_SIZE_TEXT_H_
#define CISTERN_TOOLS_SIZE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

// Bytes of "16MiB", "256KiB", "1GiB" or "8388608". kInvalidArgument, with the option's name, unless
// it is a whole number within the bounds.
[[nodiscard]] Result<uint64_t> ParseSize(std::string_view option, std::string_view text,
                                         uint64_t bytes_min, uint64_t bytes_max);

// A whole number within the bounds, as "1000000". kInvalidArgument, with the option's name.
[[nodiscard]] Result<uint64_t> ParseCount(std::string_view option, std::string_view text,
                                          uint64_t min, uint64_t max);

// Bytes a second of "256KiB/s".
[[nodiscard]] Result<uint64_t> ParseRate(std::string_view option, std::string_view text,
                                         uint64_t bytes_per_s_min, uint64_t bytes_per_s_max);

// For people, to a tenth of the largest unit that it fills: "1.5 MiB", "12 B".
[[nodiscard]] std::string FormatSize(uint64_t bytes);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SIZE_TEXT_H_
