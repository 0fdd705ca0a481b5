// Offsets from UTC as text: of --utc-offset, of ISO 8601 times and of %z.
#ifndef CISTERN_TOOLS_UTC_OFFSET_H_
#define CISTERN_TOOLS_UTC_OFFSET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

// Reads "Z", "+08:00", "-0530", "+08" or, with seconds, "+05:53:28" from `*i` on, and moves `*i`
// behind the offset. `digits_min`: of the hours. False if the text is none of these or more than
// 18 hours; `*i` is anywhere then. `*offset_s` is in seconds, positive east of UTC.
[[nodiscard]] bool ReadUtcOffset(std::string_view s, size_t* i, int digits_min, int32_t* offset_s);

// All of `text`: "+08:00", "-0530", "+8", "Z". Seconds east of UTC, or kInvalidArgument.
[[nodiscard]] Result<int32_t> ParseUtcOffset(std::string_view text);

// "+08:00", or "+05:53:28" where there are seconds.
[[nodiscard]] std::string FormatUtcOffset(int32_t offset_s);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_UTC_OFFSET_H_
