#include "tools/time_steps.h"

#include <fmt/format.h>

#include <utility>

#include "cistern/limits.h"
#include "tools/decimal_text.h"

namespace cistern::tool {

Result<Instant> TimeSteps::At(uint64_t number) const {
  constexpr WideInt kNanosPerSecond = 1'000'000'000;
  const WideInt steps = number == 0 ? 0 : static_cast<WideInt>(number - 1);
  const WideInt nanos = start.nanos + steps * step_ns;  // 64 bits times 63 bits
  const WideInt seconds = start.seconds + nanos / kNanosPerSecond;
  if (seconds > limits::kEventSecondsMax) {
    return Status::OutOfRange(
        fmt::format("the time of record {} lies behind the year 9999", number));
  }
  return Instant{static_cast<int64_t>(seconds), static_cast<int32_t>(nanos % kNanosPerSecond)};
}

Result<int64_t> ParseTimeStep(std::string_view text) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000},
      {"m", 60'000'000'000}, {"h", 3'600'000'000'000}, {"d", 86'400'000'000'000}};
  const auto refused = [&] {
    return Status::InvalidArgument(fmt::format(
        "--time-step '{}' is no span above zero in whole nanoseconds, such as 20ms, 0.5s or 1h",
        text));
  };
  const size_t digits = text.find_first_not_of("0123456789.");
  if (digits == std::string_view::npos) return refused();
  Decimal decimal;
  if (!TakeApart(text.substr(0, digits), &decimal)) return refused();
  const std::optional<ScaledInteger> number = ToScaledInteger(decimal);
  for (const auto& [unit, nanos] : kUnits) {
    if (text.substr(digits) != unit || !number || number->value > INT64_MAX) continue;
    WideInt step = number->value * nanos;
    int exponent = number->exponent;
    for (; exponent < 0 && step % 10 == 0; ++exponent) step /= 10;
    for (; exponent > 0 && step <= INT64_MAX; --exponent) step *= 10;
    if (exponent != 0 || step <= 0 || step > INT64_MAX) return refused();
    return static_cast<int64_t>(step);
  }
  return refused();
}

}  // namespace cistern::tool
