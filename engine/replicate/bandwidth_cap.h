// At most so many bytes a second, over a metered link. Pure: a token bucket on the caller's clock.
#ifndef CISTERN_ENGINE_REPLICATE_BANDWIDTH_CAP_H_
#define CISTERN_ENGINE_REPLICATE_BANDWIDTH_CAP_H_

#include <cstdint>

namespace cistern::replicate {

// Over any time the bytes taken stay below its rate x time + the burst + one batch, and what is
// taken without having waited, which delays the next. One thread at a time. Times are those of
// Clock::MonotonicMicros; one that goes back counts as no time.
class BandwidthCap {
 public:
  // 0 bytes a second: no cap. The burst is what a second of silence saves up.
  explicit BandwidthCap(uint64_t bytes_per_s);

  // Microseconds until bytes may be taken; 0: now. They may be more than the tokens there are: a
  // batch larger than the burst goes once no debt is left, and its debt delays the next.
  [[nodiscard]] int64_t WaitUs(int64_t now_us) const;
  void Take(uint64_t byte_count, int64_t now_us);

 private:
  [[nodiscard]] int64_t TokensAt(int64_t now_us) const;

  const int64_t bytes_per_s_;
  bool is_started_ = false;
  int64_t counted_us_ = 0;
  int64_t micro_tokens_ = 0;  // millionths of a byte; below 0: debt
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_BANDWIDTH_CAP_H_
