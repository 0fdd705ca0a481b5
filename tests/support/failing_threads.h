// FailingThreads: pthread_create of the whole program, which fails when a test says so.
#ifndef CISTERN_TESTS_SUPPORT_FAILING_THREADS_H_
#define CISTERN_TESTS_SUPPORT_FAILING_THREADS_H_

#include <cstdint>

namespace cistern::testing {

// Linked into a test of its own: failing_threads.cc replaces pthread_create, for RocksDB as well.
class FailingThreads {
 public:
  // From now on so many threads more may run at once, as under a limit of the system. One that ends
  // makes room for another.
  static void Arm(uint64_t at_once);
  static void Disarm();
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_FAILING_THREADS_H_
