// TimeSteps: event times for data that has none, by the number of each record.
#ifndef CISTERN_TOOLS_TIME_STEPS_H_
#define CISTERN_TOOLS_TIME_STEPS_H_

#include <cstdint>
#include <string_view>

#include "cistern/result.h"
#include "tools/time_text.h"

namespace cistern::tool {

struct TimeSteps {
  Instant start;        // of the first record
  int64_t step_ns = 0;  // from one to the next, above 0

  // Of record `number`, counted from 1. kOutOfRange outside the years 0001 to 9999.
  [[nodiscard]] Result<Instant> At(uint64_t number) const;
};

// "20ms", "0.5s", "15.625ms", "1h" as nanoseconds: a decimal number and ns, us, ms, s, m, h or d.
// kInvalidArgument if it is none, not above 0, or no whole number of nanoseconds.
[[nodiscard]] Result<int64_t> ParseTimeStep(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_TIME_STEPS_H_
