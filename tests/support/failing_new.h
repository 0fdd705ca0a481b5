// FailingNew: operator new of the whole program, which fails when a test says so.
#ifndef CISTERN_TESTS_SUPPORT_FAILING_NEW_H_
#define CISTERN_TESTS_SUPPORT_FAILING_NEW_H_

#include <cstdint>

namespace cistern::testing {

// Linked into a test of its own: failing_new.cc replaces operator new. Allocations of our own code
// fail, and no others: one with a frame of librocksdb anywhere on its stack is passed over. RocksDB
// is not made for an allocation that fails; MemoryReserve is there so that none of its own does.
class FailingNew {
 public:
  enum class Threads : uint8_t { kThisOne, kAll };
  enum class Times : uint8_t { kOnce, kForGood };
  // From now on allocations of these threads are counted, and the first one of ours from the
  // `nth` on (1: the next) fails, or all of ours from there on.
  static void Arm(uint64_t nth, Times times, Threads threads = Threads::kThisOne);
  // Back to rest. The number of the first one that failed; 0: none did.
  static uint64_t Disarm();
  // While it lives this thread's allocations are neither counted nor fail: those of the test.
  class Rest {
   public:
    Rest();
    ~Rest();
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;
  };
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_FAILING_NEW_H_
