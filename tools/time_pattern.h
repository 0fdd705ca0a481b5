// Times by a strptime-like pattern. The only door to Howard Hinnant's date library.
#ifndef CISTERN_TOOLS_TIME_PATTERN_H_
#define CISTERN_TOOLS_TIME_PATTERN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "tools/time_text.h"

namespace cistern::tool {

// Parses all of `text` by `pattern` (%Y %m %d %H %M %S, %z, %y, %b, %j, %p, ...). %S takes up to
// nine decimals. Without %z the time is `utc_offset_s` east of UTC. kInvalidArgument otherwise.
[[nodiscard]] Result<Instant> ParseTimeByPattern(std::string_view text, const std::string& pattern,
                                                 int32_t utc_offset_s);

// kInvalidArgument for a pattern that no time matches: one with a % that is none of strptime's,
// or without a date.
[[nodiscard]] Status CheckTimePattern(const std::string& pattern);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_PATTERN_H_
