// Who has which room on a full disk: what a seal needs is kept from rows and deletes, one bucket
// does not stand in the way of the others, and nothing is given up for nothing.
#include <algorithm>
#include <filesystem>

#include "lib/base/crash_point.h"
#include "storage/segment_runs.h"
#include "storage/segment_walker.h"
#include "tests/engine/disk_cycle_fixture.h"

namespace cistern::testing {
namespace {

// What happens when the first round has committed.
std::function<void()> g_at_commit;
void AtPoint(const char* name) {
  if (std::string_view(name) == "seal:after_commit" && g_at_commit) {
    std::exchange(g_at_commit, nullptr)();
  }
}

class FullDiskRoomTest : public FullDiskFixture {
 protected:
  void TearDown() override {
    g_crash_hook = nullptr;
    g_at_commit = nullptr;
    FullDiskFixture::TearDown();
  }
  // Bytes of the largest run of the sensor's bucket that is spilled, and how many there are.
  std::pair<uint64_t, size_t> Runs(std::string_view sensor) {
    std::vector<SegmentRef> segments;
    EXPECT_TRUE(VisitSegments(Core()->store().spills().view(), "",
                              [&](const BucketKey& key, SegmentRef segment) -> Result<bool> {
                                const bool is_it = key.entity.find(sensor) != std::string::npos;
                                if (is_it) segments.push_back(std::move(segment));
                                return true;
                              })
                    .ok());
    uint64_t largest = 0;
    size_t begin = 0;
    const std::vector<size_t> ends = SortIntoRuns(&segments);
    for (const size_t end : ends) {
      uint64_t bytes = 0;
      for (; begin < end; ++begin) bytes += BytesOf(segments[begin]);
      largest = std::max(largest, bytes);
    }
    return {largest, ends.size()};
  }
  // Of more than a megabyte each.
  void MakeConfirmedWindows(int count) {
    for (int i = 0; i < count; ++i) {
      for (int n = 0; n < 20; ++n) ASSERT_TRUE(AppendWide("ab").ok());
      clock_->AdvanceSeconds(5 * 86'400);
      ts_ += 5 * kDayMs;
      ASSERT_NO_FATAL_FAILURE(TickAll());
      ASSERT_NO_FATAL_FAILURE(ConfirmAll());
    }
  }
  void UseDefaultMemory() {
    options_.memory_budget_bytes = limits::kMemoryBudgetBytesDefault;
    Reopen();
  }
};

// The first by its key, which no round has room for.
TEST_F(FullDiskRoomTest, ABucketThatFindsNoRoomKeepsNoOtherFromIt) {
  options_.seal_when_due = false;
  UseDefaultMemory();
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("a").ok());
  ASSERT_TRUE(AppendWide("bcdefghij").ok());
  Rotate();
  LeaveFree(4 << 20);
  const auto some = engine_->Seal({.due_only = false});
  ASSERT_TRUE(some.ok()) << some.status().ToString();
  EXPECT_EQ(some->buckets, 9u) << "all that there is room for";
  EXPECT_EQ(some->stopped.code(), StatusCode::kNoSpace);
  EXPECT_GT(Runs("a").first, uint64_t{4} << 20);
  EXPECT_EQ(faults_->refused(), 0u);
  faults_->SetForeignBytes(0);
  EXPECT_EQ(engine_->Seal({.due_only = false})->buckets, 1u);
  ExpectSound();
}

// What is spilled is sealed though the head's own rows find no room, and the report says both.
TEST_F(FullDiskRoomTest, ASealByHandTakesWhatIsSpilledBesideAHeadThatFindsNoRoom) {
  options_.seal_when_due = false;
  UseDefaultMemory();
  ASSERT_TRUE(AppendWide("bcdefghij").ok());
  Rotate();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(AppendWide("a").ok());
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(3 << 20);
  const auto some = engine_->Seal({.due_only = false});
  ASSERT_TRUE(some.ok()) << some.status().ToString();
  EXPECT_EQ(some->buckets, 9u);
  EXPECT_EQ(some->stopped.code(), StatusCode::kNoSpace);
  EXPECT_EQ(faults_->refused(), 0u);
  faults_->SetForeignBytes(0);
  const auto rest = engine_->Seal({.due_only = false});
  ASSERT_TRUE(rest.ok()) << rest.status().ToString();
  EXPECT_EQ(rest->buckets, 1u);
  EXPECT_TRUE(rest->stopped.ok());
  ExpectSound();
}

// Nor from its own minute: what waits is tried again beside what has come since.
TEST_F(FullDiskRoomTest, ABucketThatFindsNoRoomIsSealedOnceThereIsSome) {
  UseDefaultMemory();
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("a").ok());
  ASSERT_TRUE(AppendWide("bcdefghij").ok());
  Rotate();
  LeaveFree(4 << 20);
  clock_->AdvanceSeconds(3 * 86'400);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_EQ(engine_->GetMetrics().versions_open, 6000u);
  EXPECT_EQ(Core()->maintenance().WhyNotSealing().code(), StatusCode::kNoSpace);
  LeaveFree(16 << 20);
  clock_->AdvanceSeconds(60);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  EXPECT_TRUE(Core()->maintenance().WhyNotSealing().ok());
}

// Without a budget, of one bucket, with the generations that much memory makes.
TEST_F(FullDiskRoomTest, ADiskThatOneBucketHasFilledBecomesEmpty) {
  UseDefaultMemory();
  ts_ = clock_->WallMicros() / 1000;
  EXPECT_EQ(FillUp("a").code(), StatusCode::kNoSpace);
  EXPECT_GT(taken_, 20'000u) << "rows have their part";
  // What rows have left suffices, without the ballast.
  const uint64_t left = FreeBytes();
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(left);
  Drain();
  EXPECT_TRUE(AppendWide("a").ok());
}

// What was spilled while there was room is larger than a piece of what is left.
TEST_F(FullDiskRoomTest, RowsLeaveTheRoomOfWhatWasSpilledBefore) {
  options_.seal_when_due = false;
  UseDefaultMemory();
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(AppendWide("a").ok());
  Rotate();
  ASSERT_GT(Runs("a").first, kDiskBytes / 16 * 2) << "more than a piece of the disk";
  EXPECT_EQ(FillUp("bcdefgh").code(), StatusCode::kNoSpace);
  SealRequest only_a;
  only_a.due_only = false;
  only_a.table = schema_->name;
  only_a.entity = Entity("a");
  const auto report = engine_->Seal(only_a);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->buckets, 1u);
  EXPECT_TRUE(report->stopped.ok()) << report->stopped.ToString();
}

// A rewriting makes of a bucket what a small disk can seal.
TEST_F(FullDiskRoomTest, ARewrittenBucketLeavesInPieces) {
  options_.seal_when_due = false;
  options_.disk_shed = DiskShed::kNothing;
  Reopen();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(AppendWide("a", 60).ok());
    Rotate();
    ASSERT_NO_FATAL_FAILURE(TickAll());
  }
  ASSERT_GT(engine_->GetMetrics().respill_bytes, uint64_t{4} << 20);
  EXPECT_LE(Runs("a").first, uint64_t{5} << 18) << "about a megabyte";
  EXPECT_LT(Runs("a").second, 100u) << "but many rotations in one";
  std::vector<int64_t> times;
  for (int64_t t = kStartMs + 1; t <= ts_; ++t) times.push_back(t);
  LeaveFree(5 << 20);
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GT(report->amendments, 0u) << "in pieces";
  faults_->SetForeignBytes(0);
  Reopen();
  ASSERT_TRUE(engine_->Seal({.due_only = false})->stopped.ok());
  const Rows rows = ScanAll("a");
  ASSERT_EQ(rows.size(), times.size());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].first, times[i]);
  ExpectSound();
}

// A head that cannot rotate, and what is due in the one behind it: maintenance comes to its end,
// and to the windows that make room.
TEST_F(FullDiskRoomTest, AHeadThatWaitsForRoomKeepsNothingFromBeingDone) {
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(AppendWide("bcd").ok());
  clock_->AdvanceSeconds(3 * 86'400);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_NO_FATAL_FAILURE(ConfirmAll());
  ASSERT_GT(engine_->GetMetrics().versions_confirmed, 0u);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(AppendWide("a").ok());
  ASSERT_TRUE(Core()->committer().Freeze());
  const auto deleted = engine_->DeleteRange("pumps", Entity("a"), {kStartMs, kStartMs + 100});
  ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(2'200'000);
  clock_->AdvanceSeconds(3 * 86'400);
  const auto ticked = engine_->Tick({2000});
  ASSERT_TRUE(ticked.ok()) << ticked.status().ToString();
  EXPECT_FALSE(ticked->more_due);
  EXPECT_GT(engine_->GetMetrics().versions_shed, 0u);
}

TEST_F(FullDiskRoomTest, DeletesLeaveASealItsRoom) {
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("abcdefghijklmnopqrst").ok());
  ASSERT_NO_FATAL_FAILURE(TickAll());
  Rotate();
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(2'500'000);
  Status s;
  for (int i = 0; i < 20'000 && s.ok(); ++i) {
    s = engine_->DeleteRange("pumps", Entity("a"), {kStartMs + i, kStartMs + i + 1},
                             {Durability::kLog})
            .status();
    taken_ += s.ok() ? 1 : 0;
  }
  EXPECT_EQ(s.code(), StatusCode::kNoSpace);
  EXPECT_GE(FreeBytes(), uint64_t{9} << 18);
  Drain();
}

TEST_F(FullDiskRoomTest, TheBallastIsNotGivenUpForNothing) {
  Store& store = Core()->store();
  LeaveFree(1 << 20);
  const uint64_t spare = store.ballast_spare_bytes();
  EXPECT_GT(spare, 0u);
  EXPECT_EQ(store.MakeDeviceRoom((2 << 20) + spare).code(), StatusCode::kNoSpace);
  EXPECT_EQ(store.MakeRoom((2 << 20) + spare).code(), StatusCode::kNoSpace);
  EXPECT_TRUE(store.ballast_held());
  EXPECT_TRUE(store.MakeRoom((1 << 20) + spare).ok());
  EXPECT_FALSE(store.ballast_held());
  EXPECT_EQ(store.ballast_spare_bytes(), 0u);
}

// Whoever fills the disk takes what seals were given too.
TEST_F(FullDiskRoomTest, AStoreOpensThoughOthersTookWhatSealsWereGiven) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(0);
  const uint64_t rows = ScanAll("a").size();
  engine_->Close().IgnoreError();
  engine_.reset();
  LeaveFree(0);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(ScanAll("a").size(), rows);
  EXPECT_EQ(AppendWide("a").code(), StatusCode::kNoSpace);
  faults_->SetForeignBytes(0);
  clock_->AdvanceSeconds(60);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_TRUE(Core()->store().ballast_held());
  EXPECT_TRUE(AppendWide("a").ok());
}

// Manifests and outbox entries of many buckets with long names are more than their pages.
TEST_F(FullDiskRoomTest, ARoundHasRoomForItsRecords) {
  options_.seal_when_due = false;
  options_.memory_budget_bytes = 16 << 20;
  Reopen();
  for (int i = 0; i < 1000; ++i) {
    MustAppend(std::string(900, 'x') + std::to_string(i), kStartMs, 1, {Durability::kLog});
  }
  Rotate();
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(4 << 20);
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GT(report->buckets, 100u);
  EXPECT_TRUE(Core()->committer().failure().ok());
  EXPECT_EQ(faults_->refused(), 0u);
  EXPECT_GE(FreeBytes(), uint64_t{1} << 20) << "what confirming them needs";
  faults_->SetForeignBytes(0);
  EXPECT_EQ(engine_->Seal({.due_only = false})->buckets + report->buckets, 1000u);
}

// What it would be good to have twice is written where there is room for it.
TEST_F(FullDiskRoomTest, TheEndOfAWindowKeepsItsOwnRoom) {
  constexpr uint64_t kBuckets = 1500;
  options_.seal_when_due = false;
  Reopen();
  for (uint64_t i = 0; i < kBuckets; ++i) {
    MustAppend("e" + std::to_string(i), kStartMs, 1, {Durability::kLog});
  }
  MustAppend("straggler", kStartMs + kDayMs, 1);
  SealRequest first_day;
  first_day.due_only = false;
  first_day.table = schema_->name;
  first_day.time = kStartMs;
  ASSERT_EQ(engine_->Seal(first_day)->buckets, kBuckets);
  ASSERT_NO_FATAL_FAILURE(ConfirmAll());
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  const auto copies = [&] {
    const auto files = std::filesystem::directory_iterator(directory());
    return std::count_if(begin(files), end(files), [](const auto& entry) {
      return entry.path().filename().string().starts_with("ENDED-");
    });
  };
  LeaveFree(600'000);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_EQ(engine_->GetMetrics().versions_shed, kBuckets);
  EXPECT_EQ(copies(), 0);
  faults_->SetForeignBytes(0);
  Reopen();
  EXPECT_EQ(copies(), 1) << "the next opening makes up for it";
  EXPECT_TRUE(ScanAll("e7").empty());
  EXPECT_EQ(ScanAll("straggler").size(), 1u);
  ExpectSound();
}

TEST_F(FullDiskRoomTest, ABucketThatFitsIsSealedAsAWhole) {
  options_.seal_when_due = false;
  Reopen();
  for (int i = 0; i < 15; ++i) {
    ASSERT_TRUE(AppendWide("a").ok());
    if (i % 5 == 4) Rotate();
  }
  LeaveFree(5'500'000);
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->buckets, 1u);
  EXPECT_TRUE(Core()->store().ballast_held());
}

// Only a full disk is told beside what was sealed: after any other error nothing is known.
TEST_F(FullDiskRoomTest, ASealThatFailedIsNoReport) {
  options_.seal_when_due = false;
  UseDefaultMemory();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(AppendWide("abcdefghijklmnopqrst").ok());
  Rotate();
  bool has_committed = false;
  g_at_commit = [&] {
    has_committed = true;
    faults_->Arm({.op = FaultOp::kSync, .kind = FileKind::kSst, .nth = 1});
  };
  g_crash_hook = AtPoint;
  const auto report = engine_->Seal({.due_only = false});
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(faults_->injected(), 1u);
  EXPECT_TRUE(has_committed) << "what was sealed then is not lost, and not told";
}

TEST_F(FullDiskRoomTest, WritersThatAreRefusedWakeMaintenanceOnceASecond) {
  LeaveFree(1 << 20);
  const WorkSignal& signal = *Core()->heads().work_came;
  const uint64_t before = signal.count();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(AppendWide("a").code(), StatusCode::kNoSpace);
  EXPECT_EQ(signal.count(), before + 1);
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(AppendWide("a").code(), StatusCode::kNoSpace);
  EXPECT_EQ(signal.count(), before + 2);
}

// There is no stretch of free room in which rows are refused and nothing goes.
TEST_F(FullDiskRoomTest, WindowsGoUntilRowsFindRoom) {
  options_.keep_confirmed_s = 365 * 86'400;
  UseDefaultMemory();
  ASSERT_NO_FATAL_FAILURE(MakeConfirmedWindows(8));
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(4 << 20);
  // What the disk was asked about last may still be written.
  Status s;
  for (int i = 0; i < 10 && s.ok(); ++i) s = AppendWide("a");
  EXPECT_EQ(s.code(), StatusCode::kNoSpace);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_TRUE(AppendWide("a").ok());
  clock_->AdvanceSeconds(10);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_TRUE(Core()->store().ballast_held());
  EXPECT_TRUE(AppendWide("a").ok());
  EXPECT_GT(engine_->GetMetrics().versions_confirmed, 0u) << "not more than was needed";
}

// A log writer that runs away takes what each window gives back.
TEST_F(FullDiskRoomTest, OthersDoNotCostEveryWindowAtOnce) {
  ASSERT_NO_FATAL_FAILURE(MakeConfirmedWindows(6));
  const size_t windows = Core()->store().spills().view()->windows.size();
  ASSERT_GE(windows, 4u);
  const auto left = [&] { return Core()->store().spills().view()->windows.size(); };
  const auto run_away = [&] {
    for (int step = 0; step < 30; ++step) {
      LeaveFree(1 << 20);
      ASSERT_TRUE(engine_->Tick({1}).ok());
    }
  };
  run_away();
  EXPECT_EQ(left(), windows - 1) << "nothing was gained";
  clock_->AdvanceSeconds(10);
  run_away();
  EXPECT_EQ(left(), windows - 2);
  clock_->AdvanceSeconds(10);
  run_away();
  EXPECT_EQ(left(), windows - 2) << "twice as long each time";
  clock_->AdvanceSeconds(10);
  run_away();
  EXPECT_EQ(left(), windows - 3);
}

}  // namespace
}  // namespace cistern::testing
