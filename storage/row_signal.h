// RowSignal: tells those who wait that rows have come.
#ifndef CISTERN_STORAGE_ROW_SIGNAL_H_
#define CISTERN_STORAGE_ROW_SIGNAL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cistern {

// Thread-safe. Outlives the store: whoever waits holds nothing of it open.
class RowSignal {
 public:
  // Rows are visible to whoever looks from now on. Without anybody who waits it costs two
  // atomic operations.
  void Notify() {
    ++count_;
    if (waiting_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    came_.notify_all();
  }

  // Take it before looking for rows, and wait for more than it: none is missed then.
  [[nodiscard]] uint64_t count() const { return count_.load(); }

  // Waits in real time until more was notified than `seen`; false after `wait_us`, or once
  // it is closed.
  [[nodiscard]] bool WaitBeyond(uint64_t seen, int64_t wait_us) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const bool came = came_.wait_for(lock, std::chrono::microseconds(wait_us), [&] {
      return closed_ || count_.load() > seen;
    });
    --waiting_;
    return came && !closed_;
  }

  // Wakes all, for good.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    came_.notify_all();
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<uint32_t> waiting_{0};
  std::mutex mutex_;
  std::condition_variable came_;
  bool closed_ = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_ROW_SIGNAL_H_
