// Values of InfluxDB's line protocol that stand without quotes. The rules: line_protocol_reader.h.
#ifndef CISTERN_TOOLS_LINE_PROTOCOL_VALUE_H_
#define CISTERN_TOOLS_LINE_PROTOCOL_VALUE_H_

#include <string_view>

#include "cistern/result.h"

namespace cistern::tool {

// The boolean as "true" or "false", or the number without its `i` or `u`. The view is of `text` or
// of a constant. kInvalidArgument, without the field's name, for what is no value.
[[nodiscard]] Result<std::string_view> BareFieldValue(std::string_view text);

// OK if `text` is a timestamp: an integer of 64 bits.
[[nodiscard]] Status CheckTimestamp(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_LINE_PROTOCOL_VALUE_H_
