// ShedPace: how fast windows go for the sake of a file system that others fill. Pure.
#ifndef CISTERN_ENGINE_RETAIN_SHED_PACE_H_
#define CISTERN_ENGINE_RETAIN_SHED_PACE_H_

#include <algorithm>
#include <cstdint>

namespace cistern {

// What the store gives back is free for all. Where others take it, as a log writer that runs away,
// every window would go within seconds and nothing would be gained. So the next one waits, and
// twice as long each time. What the store's own rows take is no loss. One thread.
class ShedPace {
 public:
  static constexpr int64_t kPauseUsMin = 10'000'000;
  static constexpr int64_t kPauseUsMax = 3'600'000'000;
  // What changes by less was not taken: directories and the like take room that nobody counts.
  static constexpr uint64_t kLossBytes = 1 << 20;

  // Whether a window may go. `device_bytes`: all that the store has on the device, and what is free
  // there (Store::DeviceBytes). `now_us`: monotonic.
  [[nodiscard]] bool MayShed(uint64_t device_bytes, int64_t now_us) const {
    return !IsLoss(device_bytes) || now_us - shed_at_us_ >= pause_us_;
  }
  // One went.
  void NoteShed(uint64_t device_bytes, int64_t now_us) {
    const bool is_loss = IsLoss(device_bytes);
    if (now_us - shed_at_us_ >= kForgetUs) pause_us_ = kPauseUsMin;
    if (is_loss) pause_us_ = std::min(2 * pause_us_, kPauseUsMax);
    device_bytes_ = is_loss ? device_bytes : std::max(device_bytes, device_bytes_);
    shed_at_us_ = now_us;
  }

 private:
  static constexpr int64_t kForgetUs = 86'400'000'000;
  [[nodiscard]] bool IsLoss(uint64_t device_bytes) const {
    return device_bytes_ > device_bytes && device_bytes_ - device_bytes >= kLossBytes;
  }
  uint64_t device_bytes_ = 0;  // when the last one went, at most
  int64_t shed_at_us_ = 0;
  int64_t pause_us_ = kPauseUsMin;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_RETAIN_SHED_PACE_H_
