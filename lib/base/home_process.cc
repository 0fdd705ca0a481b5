#include "lib/base/home_process.h"

#include <pthread.h>
#include <unistd.h>

#include <string>

namespace cistern {

std::atomic<uint64_t> g_fork_depth{0};

namespace {

uint64_t WatchForks() {
  // An error (no memory) leaves children unnoticed, as they were without it.
  static const int watching = ::pthread_atfork(nullptr, nullptr, [] { ++g_fork_depth; });
  (void)watching;
  return g_fork_depth.load();
}

}  // namespace

HomeProcess::HomeProcess() : depth_(WatchForks()), process_(::getpid()) {}

Status HomeProcess::Elsewhere() const {
  return Status::Closed("process " + std::to_string(process_) +
                        " opened this, and process " + std::to_string(::getpid()) +
                        ", a child of fork, cannot use it: leave it to its parent");
}

}  // namespace cistern
