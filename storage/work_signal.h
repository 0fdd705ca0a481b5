// WorkSignal: wakes the maintenance thread when there is something to do, or will be.
#ifndef CISTERN_STORAGE_WORK_SIGNAL_H_
#define CISTERN_STORAGE_WORK_SIGNAL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cistern {

// Thread-safe; one thread waits. A writer that commits a thousand groups a second must not pay for
// waking a thread that looks within a second anyway: Soon() wakes only who sleeps longer.
class WorkSignal {
 public:
  // Who sleeps no longer than this looks soon enough for what Soon() tells.
  static constexpr int64_t kSoonUs = 1'000'000;

  // A step is due.
  void Now() {
    {
      const std::lock_guard lock(mutex_);
      is_due_ = true;
    }
    came_.notify_one();
  }

  // A step will be due within seconds. Two atomic operations while nobody sleeps long.
  void Soon() {
    ++count_;
    if (!sleeps_long_.load()) return;
    { const std::lock_guard lock(mutex_); }  // the sleeper is before its look, or waits
    came_.notify_one();
  }

  // Ends the waiting for good.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    came_.notify_all();
  }

  // Take it before the look at what is due: what Soon() tells afterwards is not slept over.
  [[nodiscard]] uint64_t count() const { return count_.load(); }

  // Waits in real time until something is due, at most `wait_us`; INT64_MAX: without an end. A
  // wait of more than kSoonUs ends with Soon() too. False once it is closed.
  [[nodiscard]] bool Wait(uint64_t seen, int64_t wait_us) {
    std::unique_lock lock(mutex_);
    const bool is_long = wait_us > kSoonUs;
    sleeps_long_ = is_long;
    const auto is_over = [&] {
      return is_due_ || closed_ || (is_long && count_.load() != seen);
    };
    if (wait_us == INT64_MAX) {
      came_.wait(lock, is_over);
    } else if (wait_us > 0) {
      came_.wait_for(lock, std::chrono::microseconds(wait_us), is_over);
    }
    sleeps_long_ = false;
    is_due_ = false;
    return !closed_;
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<bool> sleeps_long_{false};
  std::mutex mutex_;
  std::condition_variable came_;
  bool is_due_ = false;
  bool closed_ = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_WORK_SIGNAL_H_
