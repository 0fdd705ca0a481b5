// A child process that may be killed at any moment, and what it tells its parent.
#ifndef CISTERN_TESTS_SUPPORT_CUT_PROCESS_H_
#define CISTERN_TESTS_SUPPORT_CUT_PROCESS_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>

namespace cistern {

// Numbers that a child leaves for its parent, whatever becomes of the child.
class SharedCounters {
 public:
  struct Values {
    std::atomic<uint64_t> ops;
    std::atomic<uint64_t> attempted;
    std::atomic<uint64_t> acknowledged;
  };
  SharedCounters() {
    void* memory = ::mmap(nullptr, sizeof(Values), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    values_ = new (memory) Values{};
  }
  ~SharedCounters() { ::munmap(values_, sizeof(Values)); }
  SharedCounters(const SharedCounters&) = delete;
  SharedCounters& operator=(const SharedCounters&) = delete;
  Values* operator->() const { return values_; }

 private:
  Values* values_;
};

// Runs `body` in a child. True if SIGKILL ended it, false if `body` returned true; any
// other end fails the test. Fork before anything starts threads.
inline bool RunUntilCut(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return true;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return false;
}

}  // namespace cistern

#endif  // CISTERN_TESTS_SUPPORT_CUT_PROCESS_H_
