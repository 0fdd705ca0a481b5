// Whether a number of the options is in its range.
#ifndef CISTERN_ENGINE_OPTION_RANGE_H_
#define CISTERN_ENGINE_OPTION_RANGE_H_

#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern {

// From `min` to `max`, and 0 where that means something of its own.
template <typename Number>
struct OptionRange {
  std::string_view option;  // "ReplicationOptions::hold_us"
  Number value;
  Number min;
  Number max;
  bool or_zero = false;
};

// kInvalidArgument with the option, its value and the range.
template <typename Number>
[[nodiscard]] Status CheckRange(const OptionRange<Number>& range) {
  if (range.value >= range.min && range.value <= range.max) return Status::Ok();
  if (range.or_zero && range.value == 0) return Status::Ok();
  return Status::InvalidArgument(std::string(range.option) + " is " +
                                 std::to_string(range.value) + "; it may be " +
                                 (range.or_zero ? "0, or " : "") + "from " +
                                 std::to_string(range.min) + " to " + std::to_string(range.max));
}

}  // namespace cistern

#endif  // CISTERN_ENGINE_OPTION_RANGE_H_
