// A merge of windows in which an operation of the device fails, whichever it is.
// CISTERN_FAULT_STRIDE: every nth of them, from one of the first n on, which CISTERN_SEED decides.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tests/engine/window_merge_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

struct FaultCase {
  const char* name;
  FaultOp op;
  FaultError error;
  bool forever;
};

class WindowMergeFault : public WindowMergeTest, public ::testing::WithParamInterface<FaultCase> {
};

TEST_P(WindowMergeFault, LosesNothingAndIsTriedAgain) {
  LiveDays(10);
  std::string at_bound;
  g_point = "meta:before_flush";
  g_is_armed = [this] { return Windows().size() + 1 == kBound; };
  g_at_point = [&] { at_bound = CopyStore(); };
  g_crash_hook = AtPoint;
  LiveDays(4);
  g_crash_hook = nullptr;
  ASSERT_FALSE(at_bound.empty());
  engine_.reset();
  Rows promised;
  uint64_t faults = 0;
  const uint64_t stride = std::max<uint64_t>(1, EnvNumber("CISTERN_FAULT_STRIDE", 1));
  const uint64_t first = 1 + Mix(SeedFromEnv()) % stride;
  uint64_t nth = first;
  for (bool reached = true; reached; nth += stride, faults += reached ? 1 : 0) {
    const std::string store = at_bound + "-" + std::to_string(nth);
    std::filesystem::copy(at_bound, store, std::filesystem::copy_options::recursive);
    const auto disk = std::make_shared<FaultFileSystem>();
    fs_ = disk;
    GoOnWith(store);
    if (promised.empty()) promised = ScanEverything();
    disk->Arm({GetParam().op, {}, nth, GetParam().forever, GetParam().error});
    for (int tick = 0; tick < 100 && engine_->Tick().ok(); ++tick) {
    }
    reached = disk->injected() > 0;
    disk->Disarm();
    engine_.reset();
    fs_ = nullptr;
    GoOnWith(store);
    ASSERT_EQ(ScanEverything(), promised) << "fault at operation " << nth;
    ExpectSound();
    TickAll();
    ASSERT_EQ(ScanEverything(), promised) << "fault at operation " << nth;
    ASSERT_EQ(Windows().size(), kBound - 2);
    ExpectNoRemains();
    ASSERT_FALSE(HasFailure()) << "fault at operation " << nth;
    engine_.reset();
    std::filesystem::remove_all(store);
  }
  EXPECT_GT(faults * stride, 5u);
  std::printf("%s: %llu faults, at operation %llu and every %llu from there\n", GetParam().name,
              static_cast<unsigned long long>(faults), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(stride));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, WindowMergeFault,
    ::testing::Values(FaultCase{"EioOnce", FaultOp::kAnyChange, FaultError::kEio, false},
                      FaultCase{"FullForever", FaultOp::kAnyChange, FaultError::kNoSpace, true},
                      FaultCase{"ReadEioOnce", FaultOp::kRead, FaultError::kEio, false}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace cistern::testing
