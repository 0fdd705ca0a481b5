// kill -9 at random times and at every named crash point. CISTERN_KILLS says how many.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/crash/crash_cycle.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kCyclesOfStore = 15;

CrashWorkload RandomWorkload(Rng* rng) {
  CrashWorkload w;
  w.seed = rng->Next();
  w.writer_count = rng->OneIn(2) ? 1 : 1 + rng->Below(4);
  w.batches_max = 20 + rng->Below(100);
  w.durability = rng->OneIn(3) ? Durability::kLog : Durability::kSynced;
  w.background_threads = rng->OneIn(3);
  w.close_at_end = rng->OneIn(2);
  w.rotate_one_in = rng->OneIn(6) ? 0 : 5 + rng->Below(60);
  return w;
}

// Writers that a store has had are checked even when this life has fewer.
constexpr size_t kWritersChecked = 4;

TEST(Kill, AtRandomTimesLosesNothingAcknowledged) {
  const uint64_t kills = EnvNumber("CISTERN_KILLS", 200) / 2;
  const uint64_t seed = SeedFromEnv();
  std::printf("CISTERN_SEED=%llu, %llu kills\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(kills));
  std::fflush(stdout);
  Rng rng(seed);
  CrashCycle cycle("cistern-kill");
  uint64_t done = 0;
  uint64_t opened = 0;
  for (uint64_t i = 0; done < kills; ++i) {
    ASSERT_LT(i, kills * 20 + 100) << "most workers end before they can be killed";
    if (i % kCyclesOfStore == 0) cycle.NewStore();
    CrashWorkload workload = RandomWorkload(&rng);
    workload.batches_max = 100'000;  // never by itself
    const ChildEnd end =
        cycle.Live(cycle.OpenPlainly(), workload, rng.Between(0, rng.OneIn(3) ? 15'000 : 90'000));
    ASSERT_EQ(Complaint(end, cycle.state()), "") << "cycle " << i;
    if (end.killed) ++done;
    if (cycle.state().opened.load()) ++opened;
    const std::string problem =
        cycle.Check({kWritersChecked, Promise::kAcknowledged, rng.OneIn(8)});
    ASSERT_EQ(problem, "") << "cycle " << i << " of CISTERN_SEED=" << seed;
  }
  EXPECT_GT(opened, kills / 10) << "hardly a worker came to write";
  std::printf("%llu kills, %llu after the store was open\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(opened));
}

TEST(Kill, AtEveryNamedCrashPointLosesNothingAcknowledged) {
  const uint64_t kills = EnvNumber("CISTERN_KILLS", 200) / 2;
  const uint64_t seed = SeedFromEnv() + 1;
  std::printf("CISTERN_SEED=%llu, %llu kills\n", static_cast<unsigned long long>(seed - 1),
              static_cast<unsigned long long>(kills));
  std::fflush(stdout);
  Rng rng(seed);
  CrashCycle cycle("cistern-kill-points");
  // Which points there are, and how often a life passes them.
  for (int life = 0; life < 6; ++life) {
    cycle.NewStore();
    CrashWorkload workload = RandomWorkload(&rng);
    workload.rotate_one_in = 10;
    for (int again = 0; again < 2; ++again) {
      const ChildEnd end = cycle.Live(cycle.OpenPlainly(), workload);
      ASSERT_EQ(Complaint(end, cycle.state()), "");
      ASSERT_EQ(cycle.Check({kWritersChecked, Promise::kAcknowledged, true}), "");
    }
  }
  const uint64_t count = cycle.points().count.load();
  ASSERT_GE(count, 8u) << "the write path names its crash points";
  std::vector<uint64_t> killed(count, 0);
  uint64_t done = 0;
  for (uint64_t i = 0; done < kills; ++i) {
    ASSERT_LT(i, kills * 10 + 100) << "crash points are hardly ever passed";
    if (i % kCyclesOfStore == 0) cycle.NewStore();
    const size_t point = i % count;
    CrashWorkload workload = RandomWorkload(&rng);
    workload.rotate_one_in = 5 + rng.Below(20);
    const uint64_t hit = 1 + rng.Below(rng.OneIn(2) ? 3 : 60);
    const ChildEnd end = cycle.LiveUntilPoint(workload, point, hit);
    const std::string name = cycle.points().points[point].name.data();
    ASSERT_EQ(Complaint(end, cycle.state()), "") << name;
    if (end.killed) {
      ++done;
      ++killed[point];
    }
    ASSERT_EQ(cycle.Check({kWritersChecked, Promise::kAcknowledged, rng.OneIn(8)}), "")
        << "killed at hit " << hit << " of " << name << ", CISTERN_SEED=" << seed - 1;
  }
  for (size_t point = 0; point < count; ++point) {
    std::printf("  %-28s killed %llu times\n", cycle.points().points[point].name.data(),
                static_cast<unsigned long long>(killed[point]));
  }
}

// The checker must see a store that answers before it writes.
TEST(Kill, AcknowledgeBeforeWriteIsCaught) {
  Rng rng(SeedFromEnv() + 2);
  CrashCycle cycle("cistern-kill-planted");
  std::string problem;
  for (int i = 0; i < 60 && problem.empty(); ++i) {
    CrashWorkload workload = RandomWorkload(&rng);
    workload.batches_max = 100'000;
    workload.acknowledge_early = true;
    const ChildEnd end = cycle.Live(cycle.OpenPlainly(), workload, rng.Between(20'000, 60'000));
    ASSERT_EQ(Complaint(end, cycle.state()), "");
    problem = cycle.Check({kWritersChecked, Promise::kAcknowledged, false});
  }
  EXPECT_NE(problem.find("lost acknowledged rows"), std::string::npos) << problem;
}

}  // namespace
}  // namespace cistern::testing
