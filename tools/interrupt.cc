#include "tools/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace cistern::tool {
namespace {

std::atomic<int> caught_signal{0};
int pipe_fds[2] = {-1, -1};

void OnSignal(int signal) {
  int none = 0;
  if (!caught_signal.compare_exchange_strong(none, signal)) return;
  const char byte = 0;
  // The pipe is empty and non-blocking; the flag stands even if this failed.
  [[maybe_unused]] const ssize_t written = write(pipe_fds[1], &byte, 1);
}

}  // namespace

void CatchInterrupts() {
  if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) return;  // signals keep their default
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // The engine's threads go on with their system calls; poll() is never restarted.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int InterruptSignal() { return caught_signal.load(); }
int InterruptFd() { return pipe_fds[0]; }

}  // namespace cistern::tool
