// How long to wait before the next attempt. Pure, seeded.
#ifndef CISTERN_ENGINE_REPLICATE_RETRY_BACKOFF_H_
#define CISTERN_ENGINE_REPLICATE_RETRY_BACKOFF_H_

#include <cstdint>

namespace cistern::replicate {

struct BackoffLimits {
  int64_t first_us = 100'000;
  int64_t longest_us = 60'000'000;
};

// Attempt n waits a random part, between a half and all, of first x 2^(n-1), at most the longest. A
// thousand gateways that lost the cluster in one moment come back spread over the time, if
// each has a seed of its own. One thread at a time.
class RetryBackoff {
 public:
  RetryBackoff(const BackoffLimits& limits, uint64_t seed);

  // Microseconds to wait after one more failure.
  [[nodiscard]] int64_t NextPauseUs();
  // Something succeeded: the next failure is a first one.
  void NoteSuccess() { failures_ = 0; }
  [[nodiscard]] uint32_t failures() const { return failures_; }  // in a row

 private:
  BackoffLimits limits_;
  uint64_t random_;
  uint32_t failures_ = 0;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_RETRY_BACKOFF_H_
