// Backoff: how long to wait before what failed is tried again.
#ifndef CISTERN_CQL_BACKOFF_H_
#define CISTERN_CQL_BACKOFF_H_

#include <algorithm>
#include <cstdint>

namespace cistern::cql {

// Doubles with each failure up to a bound, and takes a random half of it, so that a fleet that
// lost its cluster in one moment does not come back in one. Pure: equal seeds give equal waits.
// Thread-compatible.
class Backoff {
 public:
  // first_us > 0; max_us >= first_us.
  Backoff(int64_t first_us, int64_t max_us, uint64_t seed)
      : first_us_(first_us), max_us_(max_us), state_(seed) {}

  // After a failure: from half to all of min(first * 2^failures before, max).
  [[nodiscard]] int64_t NextUs() {
    int64_t whole_us = first_us_;
    for (uint32_t i = 0; i < failure_count_ && whole_us < max_us_; ++i) whole_us *= 2;
    whole_us = std::min(whole_us, max_us_);
    failure_count_ = std::min(failure_count_ + 1, kFailureCountMax);
    const auto half_us = static_cast<uint64_t>(whole_us / 2);
    return whole_us - static_cast<int64_t>(half_us == 0 ? 0 : Random() % half_us);
  }
  // After a success the next failure waits as the first.
  void Reset() { failure_count_ = 0; }
  // Failures since the last success.
  [[nodiscard]] uint32_t failure_count() const { return failure_count_; }

 private:
  static constexpr uint32_t kFailureCountMax = 62;

  // SplitMix64.
  uint64_t Random() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  int64_t first_us_;
  int64_t max_us_;
  uint64_t state_;
  uint32_t failure_count_ = 0;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_BACKOFF_H_
