// SharedClock: a clock that stands still until a test moves it, for processes that were forked
// from the one that made it.
#ifndef CISTERN_TESTS_SUPPORT_SHARED_CLOCK_H_
#define CISTERN_TESTS_SUPPORT_SHARED_CLOCK_H_

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "cistern/clock.h"

namespace cistern {

// All processes see one time. Thread-safe; one process moves it.
class SharedClock : public Clock {
 public:
  explicit SharedClock(int64_t wall_us) {
    void* memory = ::mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::abort();
    times_ = new (memory) Times;
    times_->wall_us = wall_us;
  }
  SharedClock(const SharedClock&) = delete;
  SharedClock& operator=(const SharedClock&) = delete;
  ~SharedClock() override { ::munmap(times_, sizeof(Times)); }

  int64_t WallMicros() override { return times_->wall_us; }
  int64_t MonotonicMicros() override { return times_->monotonic_us; }
  std::string BootId() override { return "boot-1"; }

  // Both times go on.
  void AdvanceMicros(int64_t us) {
    times_->wall_us += us;
    times_->monotonic_us += us;
  }
  void AdvanceSeconds(int64_t seconds) { AdvanceMicros(seconds * 1'000'000); }

 private:
  struct Times {
    std::atomic<int64_t> wall_us{0};
    std::atomic<int64_t> monotonic_us{1'000'000};
  };
  Times* times_ = nullptr;
};

}  // namespace cistern

#endif  // CISTERN_TESTS_SUPPORT_SHARED_CLOCK_H_
