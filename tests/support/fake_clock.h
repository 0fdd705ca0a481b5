// FakeClock: a clock that stands still until a test moves it.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CLOCK_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CLOCK_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "cistern/clock.h"

namespace cistern {

// Thread-safe. Wall and monotonic time move apart only when a test says so.
class FakeClock : public Clock {
 public:
  static constexpr int64_t kStartWallUs = 1'704'067'200'000'000;  // 2024-01-01T00:00:00Z

  explicit FakeClock(int64_t wall_us = kStartWallUs) : wall_us_(wall_us) {}

  int64_t WallMicros() override {
    const std::lock_guard lock(mutex_);
    return wall_us_;
  }
  int64_t MonotonicMicros() override {
    const std::lock_guard lock(mutex_);
    return monotonic_us_;
  }
  std::string BootId() override {
    const std::lock_guard lock(mutex_);
    return boot_id_;
  }

  ClockSync Sync() override {
    const std::lock_guard lock(mutex_);
    return sync_;
  }

  // Time passes: both go on.
  void AdvanceMicros(int64_t us) {
    const std::lock_guard lock(mutex_);
    wall_us_ += us;
    monotonic_us_ += us;
  }
  void AdvanceSeconds(int64_t seconds) { AdvanceMicros(seconds * 1'000'000); }
  // Time passes until the wall clock shows `wall_us`.
  void PassTo(int64_t wall_us) { AdvanceMicros(wall_us - WallMicros()); }
  // What something outside of the machine says of the wall clock from now on.
  void SetSync(ClockSync sync) {
    const std::lock_guard lock(mutex_);
    sync_ = sync;
  }
  // The wall clock is set, as NTP or a dead battery would; monotonic time stays.
  void SetWallMicros(int64_t us) {
    const std::lock_guard lock(mutex_);
    wall_us_ = us;
  }
  void StepWallMicros(int64_t us) {
    const std::lock_guard lock(mutex_);
    wall_us_ += us;
  }
  void SetMonotonicMicros(int64_t us) {
    const std::lock_guard lock(mutex_);
    monotonic_us_ = us;
  }
  // Another boot: monotonic time begins anew, the wall shows `wall_us`.
  void Reboot(std::string boot_id, int64_t wall_us) {
    const std::lock_guard lock(mutex_);
    boot_id_ = std::move(boot_id);
    monotonic_us_ = 1'000'000;
    wall_us_ = wall_us;
  }

 private:
  std::mutex mutex_;
  int64_t wall_us_;
  int64_t monotonic_us_ = 1'000'000;
  ClockSync sync_ = ClockSync::kUnknown;
  std::string boot_id_ = "boot-1";
};

}  // namespace cistern

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CLOCK_H_
