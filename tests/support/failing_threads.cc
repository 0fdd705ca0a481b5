#include "tests/support/failing_threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace cistern::testing {

namespace {

std::atomic<uint64_t> g_period{0};  // of which arming a thread was counted
std::atomic<uint64_t> g_running{0};
std::atomic<uint64_t> g_limit{UINT64_MAX};

struct Started {
  void* (*body)(void*);
  void* argument;
  uint64_t period;
};

void* Run(void* of) {
  const Started started = *static_cast<Started*>(of);
  std::free(of);
  void* const result = started.body(started.argument);
  if (started.period == g_period) --g_running;
  return result;
}

}  // namespace

void FailingThreads::Arm(uint64_t at_once) {
  ++g_period;
  g_running = 0;
  g_limit = at_once;
}
void FailingThreads::Disarm() { g_limit = UINT64_MAX; }

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int Start(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
          void* argument) {
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (++g_running > g_limit) {
    --g_running;
    return EAGAIN;
  }
  auto* const started = static_cast<Started*>(std::malloc(sizeof(Started)));
  if (started == nullptr) return EAGAIN;
  *started = {body, argument, g_period};
  const int error = create(thread, attributes, &Run, started);
  if (error != 0) {
    std::free(started);
    --g_running;
  }
  return error;
}

}  // namespace

}  // namespace cistern::testing

// As libstdc++ finds it: the program's comes before the C library's.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  return cistern::testing::Start(thread, attributes, body, argument);
}
