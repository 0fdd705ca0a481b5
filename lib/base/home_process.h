// HomeProcess: the process that made something, which a child of fork is not.
#ifndef CISTERN_BASE_HOME_PROCESS_H_
#define CISTERN_BASE_HOME_PROCESS_H_

#include <atomic>
#include <cstdint>

#include "cistern/status.h"

namespace cistern {

// How many forks lie between the first process and this one. Counted by pthread_atfork, so that
// asking costs one load and no call into the kernel.
extern std::atomic<uint64_t> g_fork_depth;

// Remembers the process in which it was made. A child of fork has none of its parent's threads,
// and whatever mutex another thread held is locked there for good: the child must touch nothing.
// Thread-safe.
class HomeProcess {
 public:
  HomeProcess();
  [[nodiscard]] bool is_here() const {
    return g_fork_depth.load(std::memory_order_relaxed) == depth_;
  }
  // kClosed in any other process, with both processes' numbers.
  [[nodiscard]] Status Check() const { return is_here() ? Status::Ok() : Elsewhere(); }

 private:
  [[nodiscard]] Status Elsewhere() const;
  const uint64_t depth_;
  const int process_;
};

}  // namespace cistern

#endif  // CISTERN_BASE_HOME_PROCESS_H_
