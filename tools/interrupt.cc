#include "tools/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace cistern::tool {
namespace {

constexpr int64_t kSameWishMs = 1000;

std::atomic<int> caught_signal{0};
std::atomic<int64_t> caught_at_ms{0};  // of the monotonic clock; 0: none came
int pipe_fds[2] = {-1, -1};

int64_t MonotonicMs() {
  struct timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);  // may be called in a signal handler
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000 + 1;
}

// One wish to end may come as several signals: `timeout` sends its signal to the process and to
// the group, a terminal and a supervisor may both send one. A later signal is a wish of its own.
void OnSignal(int signal) {
  const int kept_errno = errno;
  const int64_t now_ms = MonotonicMs();
  int64_t first_ms = 0;
  if (caught_at_ms.compare_exchange_strong(first_ms, now_ms)) {
    caught_signal.store(signal);
    const char byte = 0;
    // The pipe is empty and non-blocking; the flag stands even if this failed.
    [[maybe_unused]] const ssize_t written = write(pipe_fds[1], &byte, 1);
  } else if (now_ms - first_ms >= kSameWishMs) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    raise(signal);  // ends the process as soon as this handler returns
  }
  errno = kept_errno;
}

}  // namespace

void CatchInterrupts() {
  if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) return;  // signals keep their default
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // The engine's threads go on with their system calls; poll() is never restarted.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int InterruptSignal() { return caught_signal.load(); }
int InterruptFd() { return pipe_fds[0]; }

void PauseUnlessInterrupted(int64_t wait_us) {
  struct pollfd interrupt = {InterruptFd(), POLLIN, 0};
  poll(&interrupt, 1, static_cast<int>(wait_us / 1000));
}

bool PauseWhileRead(int64_t wait_us, int output) {
  // Errors are told without being asked for; room to write is no event here.
  struct pollfd either[] = {{InterruptFd(), POLLIN, 0}, {output, 0, 0}};
  poll(either, 2, static_cast<int>(wait_us / 1000));
  return (either[1].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

}  // namespace cistern::tool
