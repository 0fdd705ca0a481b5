// FairMutex: a mutex that who gives it back and takes it again cannot keep from others.
#ifndef CISTERN_BASE_FAIR_MUTEX_H_
#define CISTERN_BASE_FAIR_MUTEX_H_

#include <mutex>

namespace cistern {

// Whoever waits for the mutex holds the turn meanwhile, so a thread that comes back waits
// behind. Long work in steps, each under the lock, then stalls others for a step at most;
// with std::mutex it may win every time.
class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(turn_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex turn_;
  std::mutex mutex_;
};

}  // namespace cistern

#endif  // CISTERN_BASE_FAIR_MUTEX_H_
