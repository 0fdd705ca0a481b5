#include "engine/replicate/retry_backoff.h"

#include <algorithm>

namespace cistern::replicate {
namespace {

BackoffLimits Ordered(BackoffLimits limits) {
  limits.first_us = std::max<int64_t>(limits.first_us, 1);
  limits.longest_us = std::max(limits.longest_us, limits.first_us);
  return limits;
}

// SplitMix64, by Sebastiano Vigna, public domain.
uint64_t NextRandom(uint64_t* state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

RetryBackoff::RetryBackoff(const BackoffLimits& limits, uint64_t seed)
    : limits_(Ordered(limits)), random_(seed) {}

int64_t RetryBackoff::NextPauseUs() {
  int64_t pause_us = limits_.first_us;
  for (uint32_t i = 0; i < failures_ && pause_us < limits_.longest_us; ++i) {
    pause_us = pause_us > limits_.longest_us / 2 ? limits_.longest_us : pause_us * 2;
  }
  if (failures_ < UINT32_MAX) ++failures_;
  const int64_t half_us = pause_us / 2;
  const auto spread = static_cast<uint64_t>(pause_us - half_us) + 1;
  return half_us + static_cast<int64_t>(NextRandom(&random_) % spread);
}

}  // namespace cistern::replicate
