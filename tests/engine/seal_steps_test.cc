// Choosing what a round seals: in bounded steps, beside writers, and beside what cannot be read.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "engine/seal/round_planner.h"
#include "lib/base/crash_point.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

class SealStepsTest : public EngineFixture {
 protected:
  SealStepsTest() { options_.seal_when_due = false; }

  static std::string Pump(int n) {
    std::string digits = std::to_string(10'000 + n);
    digits[0] = 'p';
    return digits;
  }
  // One row of each pump in the bucket of the day.
  void AppendPumps(int pumps, int day) {
    RowBatch batch(schema_);
    for (int n = 0; n < pumps; ++n) {
      if (batch.row_count() == 500) {
        ASSERT_TRUE(engine_->Append(batch).ok());
        batch = RowBatch(schema_);
      }
      AddRow(&batch, Pump(n), kStartMs + day * kDayMs + n, day);
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  // Steps one by one until nothing is due; how many it was.
  int StepAll(const std::function<void()>& after_each = [] {}) {
    for (int steps = 1;; ++steps) {
      const auto report = engine_->Tick({.steps_max = 1});
      EXPECT_TRUE(report.ok()) << report.status().ToString();
      after_each();
      if (!report.ok() || !report->more_due) return steps;
    }
  }
  RoundPlanner Planner() {
    EngineCore& core = *Core();
    return {&core.store(),  &core.heads(), &core.tables(),
            &core.boots(), &budget_,       SealLimits{}};
  }
  // Steps until the plan is ready.
  static int StepsOf(RoundPlanner* planner) {
    for (int steps = 1;; ++steps) {
      const Result<bool> more = planner->Step();
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) return steps;
    }
  }
  static SealScope All() {
    SealScope scope;
    scope.due_only = false;
    return scope;
  }
  [[nodiscard]] int64_t now_us() const { return kStartUs + 10 * 86'400'000'000; }

  static constexpr uint64_t kBytes = 16 << 20;  // of a round
  MemoryBudget budget_{64 << 20};
};

TEST_F(SealStepsTest, AStepLooksAtFiveHundredSegmentsAtMost) {
  AppendPumps(4000, 0);
  Rotate();
  RoundPlanner planner = Planner();
  SealScope nothing = All();
  nothing.table_id = 1000;
  planner.Begin(nothing, now_us(), {kBytes});
  EXPECT_EQ(StepsOf(&planner), 8);
  EXPECT_TRUE(planner.TakePlan().candidates.empty());
  planner.Begin(All(), now_us(), {kBytes});
  EXPECT_EQ(StepsOf(&planner), 3) << "it ends where the round is full";
}

TEST_F(SealStepsTest, AFullRoundIsGoneOnWithWhereItEnded) {
  AppendPumps(2500, 0);
  clock_->AdvanceSeconds(5 * 86'400);
  AppendPumps(2500, 5);  // of another window
  Rotate();
  RoundPlanner planner = Planner();
  std::vector<std::string> seen;
  std::vector<size_t> sizes;
  int steps = 0;
  for (int round = 0; round < 6; ++round) {
    planner.Begin(All(), now_us(), {kBytes});
    steps += StepsOf(&planner);
    EXPECT_GT(budget_.used_bytes(), 0u);
    const RoundPlan plan = planner.TakePlan();
    EXPECT_EQ(budget_.used_bytes(), plan.memory_bytes);
    planner.ReleasePlan();
    sizes.push_back(plan.candidates.size());
    for (const SealCandidate& c : plan.candidates) {
      EXPECT_TRUE(plan.span.Holds(c.key.start_s));
      seen.push_back(EncodeBucketKey(c.key));
    }
  }
  // Nothing was sealed, so the walk comes back to the first window.
  EXPECT_EQ(sizes, (std::vector<size_t>{1024, 1024, 452, 1024, 1024, 452}));
  EXPECT_LE(steps, 2 * 10 + 6) << "a walk for each three rounds";
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()) - seen.begin(), 2500);
  planner.Abandon();
  EXPECT_EQ(budget_.used_bytes(), 0u);
}

// A walk from where a full round has ended finds no room for anything, and goes over everything.
// The rotation that has committed between two steps is in neither, and its run is the largest.
TEST_F(SealStepsTest, ARunThatIsSpilledWhileAWalkBeginsAgainIsKnown) {
  constexpr uint64_t kRunBytes = 12 << 20;
  const RoundSize no_room{.bytes = kBytes, .run_bytes_max = 0};
  AppendPumps(1100, 0);
  Rotate();
  RoundPlanner planner = Planner();
  planner.Begin(All(), now_us(), {kBytes});
  StepsOf(&planner);
  ASSERT_EQ(planner.TakePlan().candidates.size(), 1024u);
  planner.Begin(All(), now_us(), no_room);
  SpilledBuckets spilled;
  spilled.Note(0, 1, kRunBytes);
  planner.NoteRotation(spilled, now_us());
  StepsOf(&planner);
  EXPECT_TRUE(planner.TakePlan().candidates.empty());
  EXPECT_EQ(planner.largest_run_bytes(), kRunBytes);
  // The next look has all that there is before it.
  planner.Begin(All(), now_us(), no_room);
  StepsOf(&planner);
  EXPECT_LT(planner.largest_run_bytes(), kRunBytes);
}

// Rows that come, and are spilled, while the buckets of a round are chosen.
TEST_F(SealStepsTest, WhatIsSpilledBetweenTwoStepsIsLaterRows) {
  options_.seal_when_due = true;
  options_.seal_grace_s = options_.seal_idle_s = 0;
  Reopen();
  AppendPumps(3000, 0);
  Rotate();
  clock_->AdvanceSeconds(2 * 86'400);
  int late = 0;
  for (bool more = true; more;) {
    const auto report = engine_->Tick({.steps_max = 1});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    more = report->more_due;
    if (late < 12 && !Core()->store().spills().view()->families.empty()) {
      MustAppend(Pump(late * 250), kStartMs + 1'000'000 + late, 7);
      ++late;
      Rotate();
    }
  }
  ASSERT_EQ(late, 12);
  for (int n = 0; n < 12; ++n) EXPECT_EQ(ScanAll(Pump(n * 250)).size(), 2u) << n;
  SealRequest request;
  request.due_only = false;
  ASSERT_TRUE(engine_->Seal(request).ok());
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 3012u);
  ExpectSound();
  Reopen();
  for (int n = 0; n < 12; ++n) EXPECT_EQ(ScanAll(Pump(n * 250)).size(), 2u) << n;
}

// A bucket that goes on for long leaves in pieces.
TEST_F(SealStepsTest, AFullBucketDoesNotWaitForItsEnd) {
  options_.seal_when_due = true;
  options_.seal_rows_max = 1000;
  Reopen();
  Rows written;
  const auto live = [&](int rows) {
    RowBatch batch(schema_);
    for (int i = 0; i < rows; ++i) {
      written.emplace_back(kStartMs + static_cast<int64_t>(written.size()), i);
      AddRow(&batch, "a", written.back().first, i);
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    Rotate();
    clock_->AdvanceSeconds(60);
    for (bool more = true; more;) more = engine_->Tick({})->more_due;
  };
  live(600);
  live(399);
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 0u);
  live(1);
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 1000u);
  live(999);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 999u);
  live(501);
  EXPECT_EQ(engine_->GetMetrics().amendments, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 2500u);
  EXPECT_EQ(ScanAll("a"), written);
  ExpectSound();
}

TEST_F(SealStepsTest, ALargeBucketIsWrittenAndReadBackInManySteps) {
  options_.memory_budget_bytes = 64 << 20;
  Reopen();
  Rows written;
  for (int n = 0; n < 200; ++n) {
    RowBatch batch(schema_);
    for (int i = 0; i < 1000; ++i) {
      const double value = static_cast<double>((n * 1000 + i) * 2654435761u % 1'000'003) / 7;
      written.emplace_back(kStartMs + static_cast<int64_t>(written.size()), value);
      AddRow(&batch, "a", written.back().first, value);
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  Rotate();
  options_.seal_when_due = true;
  options_.seal_grace_s = options_.seal_idle_s = 0;
  Reopen();
  clock_->AdvanceSeconds(3 * 86'400);
  const int steps = StepAll();
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 200'000u);
  EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 1u);
  EXPECT_GE(steps, 12) << "1.6 MB by at most 128 KiB";
  EXPECT_EQ(ScanAll("a"), written);
  ExpectSound();
}

// What is decoded between two steps is in the budget.
TEST_F(SealStepsTest, WhatABucketHoldsDecodedIsCharged) {
  Rng rng(1);
  for (int n = 0; n < 40; ++n) {
    RowBatch batch(schema_);
    for (int i = 0; i < 1000; ++i) {
      AddRow(&batch, "a", kStartMs + n * 1000 + i, static_cast<double>(rng.Next()) / 7);
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  Rotate();
  options_.seal_when_due = true;
  options_.seal_grace_s = options_.seal_idle_s = 0;
  Reopen();
  clock_->AdvanceSeconds(3 * 86'400);
  uint64_t most = 0;
  const uint64_t before = engine_->GetMetrics().memory_bytes_charged;
  (void)StepAll([&] { most = std::max(most, engine_->GetMetrics().memory_bytes_charged); });
  ASSERT_EQ(engine_->GetMetrics().buckets_sealed, 1u);
  const uint64_t after = engine_->GetMetrics().memory_bytes_charged;
  EXPECT_LE(after, before + limits::kWindowFamilyBytes);
  EXPECT_GT(most, after + 1024 * 24) << "a page of rows";
}

std::vector<std::string> g_points;

// Families of which everything is sealed go between two rounds: what is sealed needs the room of
// a round beside it, not of all.
TEST_F(SealStepsTest, SpilledRowsGoAsSoonAsTheyAreSealed) {
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;  // families of 1 MiB
  options_.seal_grace_s = options_.seal_idle_s = 0;
  Rng rng(1);
  for (const bool by_hand : {true, false}) {
    options_.seal_when_due = false;
    Reopen();
    clock_->AdvanceSeconds(6 * 86'400);
    for (const int day : {0, 5}) {  // of two windows
      for (int row = 0; row < 20; ++row) {
        std::string noise(64 * 1024, ' ');
        for (char& c : noise) c = static_cast<char>('!' + rng.Below(90));
        RowBatch batch(schema_);
        batch.BeginRow();
        ASSERT_TRUE(batch.SetBytes(0, by_hand ? "a" : "b").ok());
        ASSERT_TRUE(batch.SetInt(2, kStartMs + day * kDayMs + row).ok());
        ASSERT_TRUE(batch.SetBytes(4, noise).ok());
        ASSERT_TRUE(batch.EndRow().ok());
        const auto written = engine_->Append(batch);
        ASSERT_TRUE(written.ok()) << written.status().ToString();
      }
      Rotate();
    }
    ASSERT_EQ(Core()->store().spills().view()->families.size(), 2u);
    clock_->AdvanceSeconds(86'400);
    options_.seal_when_due = !by_hand;
    Reopen();
    g_points.clear();
    g_crash_hook = [](const char* name) { g_points.emplace_back(name); };
    if (by_hand) {
      EXPECT_EQ(engine_->Seal({})->buckets, 2u);
    } else {
      while (engine_->Tick({})->more_due) {
      }
      EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 2u);
    }
    g_crash_hook = nullptr;
    const auto first_drop = std::find(g_points.begin(), g_points.end(), "spill:after_drop");
    ASSERT_NE(first_drop, g_points.end());
    EXPECT_NE(std::find(first_drop, g_points.end(), "seal:before_commit"), g_points.end())
        << "a round behind the first drop";
  }
  ExpectSound();
}

TEST_F(SealStepsTest, AllThatIsDueInTheHeadIsSealedAtOnce) {
  AppendPumps(3000, 0);
  clock_->AdvanceSeconds(2 * 86'400);
  EXPECT_EQ(engine_->Seal({})->buckets, 3000u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  ExpectSound();
}

TEST_F(SealStepsTest, TwoWhoSealAtATimeComeToAnEnd) {
  options_.seal_when_due = true;
  options_.seal_grace_s = options_.seal_idle_s = 0;
  Reopen();
  AppendPumps(2200, 0);
  clock_->AdvanceSeconds(2 * 86'400);
  SealRequest request;
  request.due_only = false;
  request.table = schema_->name;
  const auto report = engine_->Seal(request);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (bool more = true; more;) more = engine_->Tick({})->more_due;
  EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 2200u);
  EXPECT_EQ(engine_->Seal(request)->buckets, 0u);
  EXPECT_EQ(engine_->Seal({})->buckets, 0u);
}

// Not even which buckets there are can be told then: the store opens itself anew, and what can
// be read is sealed.
TEST_F(SealStepsTest, AHeaderDamagedWhileOpenDoesNotEndAllSealing) {
  options_.seal_when_due = true;
  options_.seal_grace_s = options_.seal_idle_s = 0;
  Reopen();
  MustAppend("unmistakable", kStartMs, 1);
  Rotate();
  bool damaged = false;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const size_t at = bytes.find("unmistakable");
    if (at == std::string::npos) continue;
    file.seekp(static_cast<std::streamoff>(at));
    file.put('U');
    damaged = true;
  }
  ASSERT_TRUE(damaged);
  MustAppend("a", kStartMs, 1);
  MustAppend("b", kStartMs, 2);
  Rotate();
  clock_->AdvanceSeconds(2 * 86'400);
  for (int i = 0; i < 50; ++i) {
    clock_->AdvanceSeconds(60);
    (void)engine_->Tick({});
  }
  EXPECT_TRUE(engine_->Health().ok()) << engine_->Health().ToString();
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 2u);
  EXPECT_EQ(engine_->GetMetrics().versions_quarantined, 1u);
  expect_gaps_ = true;  // the lost row may have been anybody's
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  EXPECT_EQ(ScanAll("b"), (Rows{{kStartMs, 2}}));
  MustAppend("a", kStartMs + 1, 3);
  EXPECT_FALSE(engine_->Verify()->problems.empty());
}

}  // namespace
}  // namespace cistern::testing
