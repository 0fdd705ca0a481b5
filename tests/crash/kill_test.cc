// kill -9 at random times and at every named crash point. CISTERN_KILLS says how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/crash/crash_cycle.h"
#include "tests/support/random_options.h"
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
  w.seal_one_in = rng->OneIn(3) ? 0 : 5 + rng->Below(60);
  w.expire_one_in = rng->OneIn(3) ? 0 : 10 + rng->Below(60);
  w.alter_one_in = rng->OneIn(3) ? 0 : 10 + rng->Below(60);
  w.spread_one_in = rng->OneIn(3) ? 0 : 10 + rng->Below(60);
  w.confirm_one_in = rng->OneIn(3) ? 0 : 10 + rng->Below(60);
  if (rng->OneIn(2)) w.options = RandomOptions(rng);
  return w;
}

// A life that meets every named point: rotations enough to roll a spill family, which
// maintenance then gathers and drops, seals, windows that end, and altered tables.
CrashWorkload MeetingAll(Rng* rng) {
  CrashWorkload w;
  w.seed = rng->Next();
  w.batches_max = 60;
  w.rotate_one_in = 1;
  w.seal_one_in = 20;
  w.expire_one_in = 15;
  w.alter_one_in = 15;
  w.spread_one_in = 15;
  w.confirm_one_in = 15;
  return w;
}

// Every point that the sources name, but those of backups (backup_crash_test.cc) and of salvages
// (salvage_crash_test.cc).
constexpr const char* kNamedPoints[] = {
    "alter:after_record",    "alter:before_record",    "catalog:after_ended",
    "catalog:after_first",   "catalog:after_rewrite",  "catalog:after_second",
    "catalog:before_change", "catalog:before_ended",   "catalog:before_rewrite",
    "catalog:between_files", "commit:before_apply",
    "confirm:after_commit",  "confirm:before_commit",  "create:after_format",
    "create:after_ready",    "create:before_ready",    "journal:after_append",
    "journal:after_create",  "journal:after_drop",     "journal:before_append",
    "journal:before_create", "journal:before_drop",    "merge:after_commit",
    "merge:before_commit",   "merge:before_read_back", "meta:after_flush",
    "meta:before_flush",     "push:after_commit",      "push:before_commit",
    "resend:after_commit",   "resend:before_commit",   "rotation:before_freeze",
    "seal:after_commit",     "seal:after_create",      "seal:before_commit",
    "seal:before_create",    "seal:before_read_back",  "spill:after_commit",
    "spill:after_create",    "spill:after_drop",       "spill:after_flush",
    "spill:before_commit",   "spill:before_create",    "spill:before_drop",
    "spill:before_flush",    "spill:before_pages",     "window:after_drop",
    "window:after_end",      "window:after_forget",    "window:before_drop",
    "window:before_end",     "window:before_forget"};

std::vector<std::string> NamedPointsNotIn(const PointLog& log) {
  std::vector<std::string> missing;
  for (const char* name : kNamedPoints) {
    const auto end = log.points.begin() + static_cast<ptrdiff_t>(log.count.load());
    const bool met = std::any_of(log.points.begin(), end, [name](const PointLog::Point& p) {
      return std::strcmp(p.name.data(), name) == 0;
    });
    if (!met) missing.emplace_back(name);
  }
  return missing;
}

// Writers that a store has had are checked even when this life has fewer.
constexpr size_t kWritersChecked = 4;

SurvivalCheck RandomCheck(Rng* rng) {
  SurvivalCheck check{kWritersChecked, Promise::kAcknowledged, rng->OneIn(8)};
  check.drains = rng->OneIn(8);
  if (rng->OneIn(2)) check.options = RandomOptions(rng);
  return check;
}

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
        cycle.Check(RandomCheck(&rng));
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
    workload.seal_one_in = 20;
    if (life == 0) workload = MeetingAll(&rng);
    for (int again = 0; again < 2; ++again) {
      const ChildEnd end = cycle.Live(cycle.OpenPlainly(), workload);
      ASSERT_EQ(Complaint(end, cycle.state()), "");
      ASSERT_EQ(cycle.Check({kWritersChecked, Promise::kAcknowledged, true}), "");
    }
  }
  const uint64_t count = cycle.points().count.load();
  const std::vector<std::string> missing = NamedPointsNotIn(cycle.points());
  ASSERT_TRUE(missing.empty()) << missing.front() << " was never passed";
  std::vector<uint64_t> killed(count, 0);
  uint64_t done = 0;
  for (uint64_t i = 0; done < kills; ++i) {
    ASSERT_LT(i, kills * 10 + 100) << "crash points are hardly ever passed";
    const size_t point = i % count;
    const std::string name = cycle.points().points[point].name.data();
    const bool spared = killed[point] > 0;
    CrashWorkload workload = spared ? RandomWorkload(&rng) : MeetingAll(&rng);
    // Stores and windows are made once.
    const bool at_creation = name.starts_with("create:") || name == "seal:before_create" ||
                             name == "seal:after_create";
    // What was never met may be passed by a new store alone, as the first writing of the catalog.
    const bool is_new = i % kCyclesOfStore == 0 || at_creation || (!spared && rng.OneIn(2));
    if (is_new) cycle.NewStore();
    if (spared) {
      workload.rotate_one_in = 5 + rng.Below(20);
      workload.seal_one_in = 5 + rng.Below(20);
    }
    const uint64_t hit = !spared || at_creation ? 1 : 1 + rng.Below(rng.OneIn(2) ? 3 : 60);
    const ChildEnd end = cycle.LiveUntilPoint(workload, point, hit);
    ASSERT_EQ(Complaint(end, cycle.state()), "") << name;
    if (end.killed) {
      ++done;
      ++killed[point];
    }
    ASSERT_EQ(cycle.Check(RandomCheck(&rng)), "")
        << "killed at hit " << hit << " of " << name << ", CISTERN_SEED=" << seed - 1;
  }
  for (size_t point = 0; point < count; ++point) {
    const char* name = cycle.points().points[point].name.data();
    std::printf("  %-28s killed %llu times\n", name,
                static_cast<unsigned long long>(killed[point]));
    EXPECT_TRUE(killed[point] > 0 || kills < 2 * count) << name << " was never killed at";
  }
}

// The checker must see a store that answers before it writes.
TEST(Kill, AcknowledgeBeforeWriteIsCaught) {
  Rng rng(SeedFromEnv() + 2);
  CrashCycle cycle("cistern-kill-planted");
  std::string problem;
  // Killed between the promise and the write: a life that notes its points tells which.
  CrashWorkload workload = RandomWorkload(&rng);
  workload.background_threads = false;
  ASSERT_EQ(Complaint(cycle.Live(cycle.OpenPlainly(), workload), cycle.state()), "");
  const auto& points = cycle.points().points;
  const auto at = std::find_if(points.begin(), points.end(), [](const PointLog::Point& p) {
    return std::strcmp(p.name.data(), "journal:before_append") == 0;
  });
  ASSERT_NE(at, points.end());
  const auto point = static_cast<size_t>(at - points.begin());
  for (int i = 0; i < 20 && problem.empty(); ++i) {
    cycle.NewStore();
    workload.seed = rng.Next();
    workload.acknowledge_early = true;
    const ChildEnd end = cycle.LiveUntilPoint(workload, point, 2 + rng.Below(8));
    ASSERT_EQ(Complaint(end, cycle.state()), "");
    ASSERT_TRUE(end.killed) << "the life never came to the window";
    problem = cycle.Check({kWritersChecked, Promise::kAcknowledged, false});
  }
  EXPECT_NE(problem.find("lost acknowledged rows"), std::string::npos) << problem;
}

}  // namespace
}  // namespace cistern::testing
