// An I/O error at the Nth operation of a fixed workload, for every N: once and for ever,
// EIO and a full disk. Every call gives a clear Status, nothing aborts or hangs, and after
// the fault is gone nothing acknowledged is lost. CISTERN_FAULT_STRIDE=n tries every nth N, from
// one of the first n on, which CISTERN_SEED decides, as it does the engine's options.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "engine/engine_impl.h"
#include "tests/crash/crash_cycle.h"
#include "tests/support/fault_fs.h"
#include "tests/support/random_options.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

CrashWorkload FixedWorkload() {
  CrashWorkload w;
  w.seed = 7;
  w.batches_max = 24;
  w.rotate_one_in = 8;
  w.seal_one_in = 12;
  w.sync_one_in = 6;
  w.tolerate_errors = true;
  return w;
}

struct Case {
  const char* name;
  FaultOp op;
  FaultError error;
  bool forever;
};

class FaultSweep : public ::testing::TestWithParam<Case> {};

TEST_P(FaultSweep, EveryOperationMayFail) {
  const uint64_t stride = std::max<uint64_t>(1, EnvNumber("CISTERN_FAULT_STRIDE", 1));
  CrashCycle cycle("cistern-fault");
  CrashWorkload workload = FixedWorkload();
  // Who reads the outbox is told of damage there.
  if (GetParam().op != FaultOp::kRead) workload.confirm_one_in = 8;
  workload.must_heal = !GetParam().forever;
  const uint64_t seed = SeedFromEnv();
  Rng rng(Mix(seed));
  if (rng.OneIn(2)) workload.options = RandomOptions(&rng);
  const uint64_t first = 1 + rng.Below(stride);
  uint64_t injected = 0;
  uint64_t unreached = 0;
  for (uint64_t n = first; unreached < 3; n += stride) {
    ASSERT_LT(n, 20'000u) << "the workload never ends";
    cycle.NewStore();
    Fault fault;
    fault.op = GetParam().op;
    fault.error = GetParam().error;
    fault.forever = GetParam().forever;
    fault.nth = n;
    std::shared_ptr<FaultFileSystem> fs;
    const OpenStore open = [&](const EngineOptions& options) -> Result<std::unique_ptr<Engine>> {
      fs = std::make_shared<FaultFileSystem>();
      fs->Arm(fault);
      return OpenEngineOver(cycle.store_directory(), options, fs);
    };
    cycle.state().BeginLife();
    const ChildEnd end = RunChild([&] {
      const std::string problem = RunLife(open, workload, &cycle.state());
      cycle.state().io_operations = fs->injected();
      if (!problem.empty()) cycle.state().SetProblem(problem);
      return problem.empty() ? 0 : 1;
    });
    ASSERT_EQ(Complaint(end, cycle.state()), "")
        << "fault at operation " << n << ", CISTERN_SEED=" << seed;
    if (cycle.state().io_operations.load() == 0) {
      ++unreached;
    } else {
      ++injected;
      unreached = 0;
    }
    ASSERT_EQ(cycle.Check({1, Promise::kAcknowledged, injected % 10 == 1}), "")
        << "after a fault at operation " << n << ", CISTERN_SEED=" << seed;
  }
  EXPECT_GT(injected, 0u);
  std::printf("%s: %llu faults, at operation %llu and every %llu from there\n", GetParam().name,
              static_cast<unsigned long long>(injected), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(stride));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FaultSweep,
    ::testing::Values(Case{"EioOnce", FaultOp::kAnyChange, FaultError::kEio, false},
                      Case{"EioForever", FaultOp::kAnyChange, FaultError::kEio, true},
                      Case{"FullOnce", FaultOp::kAnyChange, FaultError::kNoSpace, false},
                      Case{"FullForever", FaultOp::kAnyChange, FaultError::kNoSpace, true},
                      Case{"ReadEioOnce", FaultOp::kRead, FaultError::kEio, false}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace cistern::testing
