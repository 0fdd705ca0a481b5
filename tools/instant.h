// Instant: a point in time, as every reader of time text makes it.
#ifndef CISTERN_TOOLS_INSTANT_H_
#define CISTERN_TOOLS_INSTANT_H_

#include <cstdint>

namespace cistern::tool {

// A point in time with nanoseconds: seconds since 1970-01-01 UTC (floor) and 0..999,999,999.
struct Instant {
  int64_t seconds = 0;
  int32_t nanos = 0;
  friend bool operator==(const Instant&, const Instant&) = default;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_INSTANT_H_
