#include "lib/base/home_process.h"

#include <pthread.h>
#include <unistd.h>

#include <string>

#include "lib/base/concat.h"

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
  return Status::Closed(Concat({"process ", process_, " opened this, and process ", ::getpid(),
      ", a child of fork, cannot use it: leave it to its parent"}));
}

}  // namespace cistern
