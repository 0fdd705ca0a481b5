// duration: months, days and nanoseconds, which Cassandra keeps apart.
#ifndef CISTERN_CQL_DURATION_TEXT_H_
#define CISTERN_CQL_DURATION_TEXT_H_

#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern {

// Whether `bytes` are three vints (vint.h): months and days of 32 bits and nanoseconds, none of
// them below zero or none above. kInvalidArgument: they are not.
[[nodiscard]] Status CheckDuration(std::string_view bytes);

// Replaces *out by the wire form of "1y2mo3w4d5h6m7s8ms9us10ns", a minus before it for all of it,
// or of ISO 8601: "P1Y2M3DT4H5M6S", "P2W".
//   kInvalidArgument  another unit, one twice or out of order, no number
//   kOutOfRange       beyond 32 bits of months or days, 64 of nanoseconds
[[nodiscard]] Status ParseDurationText(std::string_view text, std::string* out);

// Appends years, months, days and the rest, "0s" where there is nothing. REQUIRES: CheckDuration
// is OK.
void FormatDurationText(std::string_view bytes, std::string* out);

}  // namespace cistern

#endif  // CISTERN_CQL_DURATION_TEXT_H_
