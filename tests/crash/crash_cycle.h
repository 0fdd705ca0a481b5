// CrashCycle: a store, its oracle, and the children that work on it and are killed.
//
// The parent never opens the store: RocksDB's threads would not survive the next fork.
#ifndef CISTERN_TESTS_CRASH_CRASH_CYCLE_H_
#define CISTERN_TESTS_CRASH_CRASH_CYCLE_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/crash/crash_workload.h"
#include "tests/support/expected_state.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {

// How a child ended.
struct ChildEnd {
  bool killed = false;  // by SIGKILL
  int signal = 0;       // by another one: an abort, a segmentation fault
  int exit_code = 0;
  bool timed_out = false;  // it hung, and was killed for that
};

// Runs `body` in a forked child and waits for its end. With kill_after_us >= 0 it is
// killed that long after the fork. A child that takes longer than hang_s is taken for hung.
[[nodiscard]] ChildEnd RunChild(const std::function<int()>& body, int64_t kill_after_us = -1,
                                int64_t hang_s = 60);

// Which crash points were passed and how often; lives in shared memory.
struct PointLog {
  static constexpr size_t kPointsMax = 128;
  struct Point {
    std::array<char, 64> name{};
    std::atomic<uint64_t> hits{0};
  };
  std::array<Point, kPointsMax> points;
  std::atomic<uint64_t> count{0};
  std::atomic<int64_t> fatal_point{-1};  // index of the point that kills
  std::atomic<uint64_t> fatal_hit{0};    // at this hit of it, 1 the first
};

class CrashCycle {
 public:
  explicit CrashCycle(const std::string& name);
  ~CrashCycle();
  CrashCycle(const CrashCycle&) = delete;
  CrashCycle& operator=(const CrashCycle&) = delete;

  // Begins with an empty store.
  void NewStore();
  // One life of a worker, see RunChild. A worker that ends by itself with an error leaves
  // the text in state().problem.
  ChildEnd Live(const OpenStore& open, const CrashWorkload& workload, int64_t kill_after_us = -1);
  // As Live, and killed at the `hit`-th passage of point `point` of the log.
  ChildEnd LiveUntilPoint(const CrashWorkload& workload, size_t point, uint64_t hit);
  // In a child of its own. Empty, or what is wrong with the store.
  [[nodiscard]] std::string Check(const SurvivalCheck& check);

  [[nodiscard]] OpenStore OpenPlainly() const;
  [[nodiscard]] std::string store_directory() const { return root_.path() + "/store"; }
  [[nodiscard]] std::string shadow_directory() const { return root_.path() + "/shadow"; }
  ExpectedState& state() { return *shared_.get(); }
  PointLog& points() { return *points_; }

 private:
  TempDir root_;
  SharedExpectedState shared_;
  PointLog* points_ = nullptr;
};

// What a life that was not killed says: nothing, a hang, an abort or its error text.
[[nodiscard]] std::string Complaint(const ChildEnd& end, const ExpectedState& state);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_CRASH_CRASH_CYCLE_H_
