// Power cuts at any I/O operation: any of the sectors or pages that were not synced are lost,
// and directory entries. CISTERN_POWER_CUTS says how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/engine_impl.h"
#include "storage/outbox.h"
#include "storage/push_records.h"
#include "tests/crash/crash_cycle.h"
#include "tests/support/power_loss_fs.h"
#include "tests/support/random_options.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kCyclesOfStore = 25;
constexpr size_t kWritersChecked = 2;
constexpr int kNestedMax = 5;
constexpr char kCutTable[] =
    "CREATE TABLE plant.cut (sensor text, day date, ts timestamp, flow double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';";

// Opens over a file system that loses power at operation `plan.fatal_op`.
OpenStore OpenOverPowerLoss(CrashCycle* cycle, PowerLossPlan plan) {
  return [cycle, plan](const EngineOptions& options) {
    auto fs = std::make_shared<PowerLossFileSystem>(plan);
    fs->SetOpsMirror(&cycle->state().io_operations);
    return OpenEngineOver(cycle->store_directory(), options, fs);
  };
}

CrashWorkload RandomWorkload(Rng* rng) {
  CrashWorkload w;
  w.seed = rng->Next();
  w.writer_count = 1 + rng->Below(kWritersChecked);
  w.batches_max = 10 + rng->Below(80);
  w.durability = rng->OneIn(3) ? Durability::kLog : Durability::kSynced;
  w.background_threads = rng->OneIn(4);
  w.close_at_end = rng->OneIn(2);
  w.rotate_one_in = rng->OneIn(6) ? 0 : 4 + rng->Below(30);
  w.seal_one_in = rng->OneIn(3) ? 0 : 4 + rng->Below(30);
  w.expire_one_in = rng->OneIn(3) ? 0 : 4 + rng->Below(30);
  w.alter_one_in = rng->OneIn(3) ? 0 : 4 + rng->Below(30);
  w.spread_one_in = rng->OneIn(3) ? 0 : 4 + rng->Below(30);
  w.confirm_one_in = rng->OneIn(3) ? 0 : 4 + rng->Below(30);
  if (rng->OneIn(2)) w.options = RandomOptions(rng);
  return w;
}

class PowerCuts {
 public:
  explicit PowerCuts(uint64_t seed) : rng_(seed), cycle_("cistern-power") {}

  // One life and its cut. Empty, or what was lost.
  std::string Cut(uint64_t number) {
    if (number % kCyclesOfStore == 0) {
      cycle_.NewStore();
      operations_ = 120;
    }
    const CrashWorkload workload = RandomWorkload(&rng_);
    // Early operations are creation and recovery: as often as all later ones.
    const uint64_t fatal = 1 + rng_.Below(rng_.OneIn(2) ? 60 : operations_ * 2);
    ChildEnd end = cycle_.Live(OpenOverPowerLoss(&cycle_, NewPlan(fatal)), workload);
    if (std::string problem = Complaint(end, cycle_.state()); !problem.empty()) return problem;
    if (end.killed) ++cuts_;
    else operations_ = std::max<uint64_t>(operations_, cycle_.state().io_operations.load());
    // The power goes again while the store recovers, up to five times.
    for (int depth = 0; depth < kNestedMax && rng_.OneIn(3); ++depth) {
      const OpenStore open = OpenOverPowerLoss(&cycle_, NewPlan(1 + rng_.Below(40)));
      end = RunChild([&] { return open(EngineOptions{}).ok() ? 0 : 1; });
      if (end.killed) ++nested_;
      if (std::string problem = Complaint(end, cycle_.state()); !problem.empty()) {
        return "recovery: " + problem;
      }
    }
    const Promise promise = workload.durability == Durability::kSynced ? Promise::kAcknowledged
                                                                       : Promise::kDurable;
    SurvivalCheck check{kWritersChecked, promise, rng_.OneIn(10), /*no_alarm=*/true};
    check.drains = rng_.OneIn(10);
    if (rng_.OneIn(2)) check.options = RandomOptions(&rng_);
    return cycle_.Check(check);
  }

  void LieAbout(SyncedKind kind) { lies_[static_cast<size_t>(kind)] = true; }
  [[nodiscard]] uint64_t cuts() const { return cuts_; }
  [[nodiscard]] uint64_t nested() const { return nested_; }

 private:
  PowerLossPlan NewPlan(uint64_t fatal_op) {
    std::filesystem::remove_all(cycle_.shadow_directory());
    std::filesystem::create_directories(cycle_.shadow_directory());
    PowerLossPlan plan;
    plan.seed = rng_.Next();
    plan.fatal_op = fatal_op;
    plan.leak_unsynced = rng_.OneIn(2);
    if (rng_.OneIn(2)) plan.shadow_directory = cycle_.shadow_directory();
    plan.lies = lies_;
    return plan;
  }

  Rng rng_;
  CrashCycle cycle_;
  uint64_t operations_ = 120;
  uint64_t cuts_ = 0;
  uint64_t nested_ = 0;
  std::array<bool, kSyncedKindCount> lies_ = {};
};

TEST(PowerCut, LosesNothingThatWasPromised) {
  const uint64_t wanted = EnvNumber("CISTERN_POWER_CUTS", 1000);
  const uint64_t seed = SeedFromEnv();
  std::printf("CISTERN_SEED=%llu, %llu power cuts\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(wanted));
  std::fflush(stdout);
  PowerCuts power(seed);
  for (uint64_t i = 0; power.cuts() + power.nested() < wanted; ++i) {
    ASSERT_LT(i, wanted * 10 + 100) << "the fatal operations are never reached";
    ASSERT_EQ(power.Cut(i), "") << "cycle " << i << " of CISTERN_SEED=" << seed;
  }
  std::printf("%llu cuts, %llu of them during a recovery\n",
              static_cast<unsigned long long>(power.cuts() + power.nested()),
              static_cast<unsigned long long>(power.nested()));
}

EngineOptions DrivenByHand() {
  EngineOptions options;
  options.background_threads = false;
  return options;
}

// Takes rows that are only in the log, and ends as a killed process does: they are in the
// kernel and not on the device.
bool TakeRowsAndCrash(const OpenStore& open, uint64_t count) {
  auto engine = open(DrivenByHand());
  if (!engine.ok() || !(*engine)->CreateTable(kCutTable).ok()) return false;
  RowBatch row(*(*engine)->FindTable("plant.cut"));
  for (uint64_t i = 0; i < count; ++i) {
    row.Clear();
    row.BeginRow(RowKind::kInsert);
    if (!row.SetBytes(0, "s").ok() || !row.SetInt(2, static_cast<int64_t>(i)).ok() ||
        !row.EndRow().ok() || !(*engine)->Append(row, {Durability::kLog}).ok()) {
      return false;
    }
  }
  // A failed committer neither syncs nor writes the beacon when the engine is closed.
  const auto core = EngineImpl::Of(engine->get())->core();
  (*core)->committer().Fail(Status::Internal("the process is killed here"));
  return true;
}

// A life that ends with a power cut while its engine is open, once with all directory entries
// kept and once without, and what must be true of the store then. Both return 0 if all is well.
struct CutLife {
  std::function<int(const OpenStore& open, std::unique_ptr<Engine>* engine)> live;
  std::function<int(Engine* engine)> look;
};

void ExpectAfterCut(const CutLife& life) {
  for (const bool lose_entries : {false, true}) {
    CrashCycle cycle("cistern-cut-life");
    cycle.NewStore();
    std::filesystem::create_directories(cycle.shadow_directory());
    PowerLossPlan plan{.leak_unsynced = false};
    if (lose_entries) plan.shadow_directory = cycle.shadow_directory();
    const ChildEnd end = RunChild([&] {
      auto fs = std::make_shared<PowerLossFileSystem>(plan);
      const OpenStore open = [&](const EngineOptions& options) {
        return OpenEngineOver(cycle.store_directory(), options, fs);
      };
      std::unique_ptr<Engine> engine;
      const int problem = life.live(open, &engine);
      if (problem != 0) return problem;
      fs->Cut();
    });
    ASSERT_TRUE(end.killed) << "exit code " << end.exit_code;
    const ChildEnd check = RunChild([&] {
      auto engine = cycle.OpenPlainly()(EngineOptions{});
      return engine.ok() ? life.look(engine->get()) : 1;
    });
    EXPECT_FALSE(check.killed);
    EXPECT_EQ(check.exit_code, 0) << (lose_entries ? "entries lost" : "entries durable");
  }
}

TEST(PowerCut, RowsThatOutlivedACrashOfTheProcessAreDurableOnceTheyAreReplayed) {
  constexpr uint64_t kRows = 5;
  const auto live = [](const OpenStore& open, std::unique_ptr<Engine>* engine) {
    if (!TakeRowsAndCrash(open, kRows)) return 1;
    auto opened = open(DrivenByHand());
    if (!opened.ok()) return 2;
    *engine = *std::move(opened);
    if ((*engine)->GetMetrics().versions_written != kRows) return 2;
    if (!(*engine)->Tick({100}).ok()) return 3;  // the beacon claims what was replayed
    const auto core = EngineImpl::Of(engine->get())->core();
    return (*core)->store().beacon_sequence() == kRows ? 0 : 4;
  };
  const auto look = [](Engine* engine) {
    if (engine->Recovery().recovered_with_loss) return 2;
    return engine->GetMetrics().versions_written == kRows ? 0 : 3;
  };
  ExpectAfterCut({live, look});
}

// Returns 0 if all is well.
int SealOneRow(const OpenStore& open, std::unique_ptr<Engine>* engine) {
  auto opened = open(DrivenByHand());
  if (!opened.ok()) return 1;
  *engine = *std::move(opened);
  if (!(*engine)->CreateTable(kCutTable).ok()) return 1;
  RowBatch row(*(*engine)->FindTable("plant.cut"));
  row.BeginRow(RowKind::kInsert);
  if (!row.SetBytes(0, "s").ok() || !row.SetInt(2, 1).ok() || !row.EndRow().ok() ||
      !(*engine)->Append(row).ok()) {
    return 2;
  }
  SealRequest request;
  request.due_only = false;
  const auto report = (*engine)->Seal(request);
  return report.ok() && report->buckets == 1 ? 0 : 3;
}

// The power goes the moment after the answer.
TEST(PowerCut, WhatWasSaidToBeSealedStaysSealed) {
  const auto live = [](const OpenStore& open, std::unique_ptr<Engine>* engine) {
    return SealOneRow(open, engine);
  };
  const auto look = [](Engine* engine) {
    return engine->GetMetrics().versions_sealed == 1 ? 0 : 2;
  };
  ExpectAfterCut({live, look});
}

// A person is to see what upstream refused, and why.
TEST(PowerCut, WhatWasSaidToBeParkedStaysParked) {
  const auto live = [](const OpenStore& open, std::unique_ptr<Engine>* engine) {
    const int problem = SealOneRow(open, engine);
    if (problem != 0) return problem;
    const auto core = EngineImpl::Of(engine->get())->core();
    const auto view = (*core)->store().spills().view();
    const auto entry = OutboxWalker(view, view->windows.front()->id).Next();
    if (!entry.ok() || !*entry) return 4;
    PushRecord parked;
    parked.state = PushState::kParked;
    parked.words = "no column celsius";
    const std::pair<SealName, PushRecord> push[] = {{**entry, parked}};
    return (*core)->maintenance().NotePushes(push).ok() ? 0 : 5;
  };
  const auto look = [](Engine* engine) {
    if (engine->GetMetrics().versions_parked != 1) return 2;
    const auto core = EngineImpl::Of(engine)->core();
    const auto pushes = (*core)->store().pushes();
    return pushes.size() == 1 && pushes.begin()->second.words == "no column celsius" ? 0 : 3;
  };
  ExpectAfterCut({live, look});
}

// A device that only says that it has synced files of one kind breaks a promise: the checker must
// say so, for each kind.
const char* NameOf(SyncedKind kind) {
  switch (kind) {
    case SyncedKind::kLog: return "Log";
    case SyncedKind::kSegments: return "Segments";
    case SyncedKind::kManifest: return "Manifest";
    case SyncedKind::kSmallFile: return "SmallFile";
    case SyncedKind::kDirectory: return "Directory";
  }
  return "";
}

class UnsyncedKind : public ::testing::TestWithParam<SyncedKind> {};

TEST_P(UnsyncedKind, IsCaught) {
  constexpr uint64_t kCutsMax = 600;
  PowerCuts power(SeedFromEnv() + 1);
  power.LieAbout(GetParam());
  std::string problem;
  uint64_t tried = 0;
  for (; tried < kCutsMax && problem.empty(); ++tried) problem = power.Cut(tried);
  EXPECT_FALSE(problem.empty());
  std::printf("caught after %llu lives: %s\n", static_cast<unsigned long long>(tried),
              problem.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    PowerCut, UnsyncedKind,
    ::testing::Values(SyncedKind::kLog, SyncedKind::kSegments, SyncedKind::kManifest,
                      SyncedKind::kSmallFile, SyncedKind::kDirectory),
    [](const auto& kind) { return std::string(NameOf(kind.param)); });

}  // namespace
}  // namespace cistern::testing
