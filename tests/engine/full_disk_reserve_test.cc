// How much room rows leave to what gives it back: as much as the largest seal needs, whoever
// spilled what it seals, and no more; and what an opening asks for.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "lib/base/crash_point.h"
#include "tests/engine/disk_cycle_fixture.h"

namespace cistern::testing {
namespace {

// What happens when the window of the first round has been made.
std::function<void()> g_at_create;
void AtPoint(const char* name) {
  if (std::string_view(name) == "seal:after_create" && g_at_create) {
    std::exchange(g_at_create, nullptr)();
  }
}

class FullDiskReserveTest : public FullDiskFixture {
 protected:
  void TearDown() override {
    g_crash_hook = nullptr;
    g_at_create = nullptr;
    FullDiskFixture::TearDown();
  }
  // What a round writes that is more than the ballast waits in memory for its flush.
  static constexpr uint64_t kMemoryOfLargeRounds = 128 << 20;
  void UseMemory(uint64_t bytes) {
    options_.memory_budget_bytes = bytes;
    Reopen();
  }
  // About 12 MB of one bucket, in one run.
  void SpillLargeRun(std::string_view sensor) {
    for (int i = 0; i < 120; ++i) ASSERT_TRUE(AppendWide(sensor).ok());
    ASSERT_NO_FATAL_FAILURE(Rotate());
  }
  Result<SealReport> SealOnly(const std::string& sensor) {
    SealRequest request;
    request.due_only = false;
    request.table = schema_->name;
    request.entity = Entity(sensor);
    return engine_->Seal(request);
  }
  // Until maintenance has something to do; step by step.
  void TickUntil(const std::function<bool()>& is_there) {
    for (int step = 0; step < 200 && !is_there(); ++step) ASSERT_TRUE(engine_->Tick({1}).ok());
    ASSERT_TRUE(is_there());
  }
};

// Another process spilled it, and nobody has looked at what it is: its seal finds room all the
// same.
TEST_F(FullDiskReserveTest, RowsLeaveTheRoomOfWhatAFormerOpeningSpilled) {
  options_.seal_when_due = false;
  UseMemory(limits::kMemoryBudgetBytesDefault);
  ASSERT_NO_FATAL_FAILURE(SpillLargeRun("a"));
  Reopen();
  EXPECT_EQ(FillUp("bcdefgh").code(), StatusCode::kNoSpace);
  const auto report = SealOnly("a");
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->buckets, 1u);
  EXPECT_TRUE(report->stopped.ok()) << report->stopped.ToString();
}

// No bucket of it is large, but nobody has looked yet: rows may wait for that, and no window ends.
TEST_F(FullDiskReserveTest, AnOpeningShedsNothingForWhatItHasNotLookedAt) {
  UseMemory(limits::kMemoryBudgetBytesDefault);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(AppendWide("ab").ok());
  clock_->AdvanceSeconds(5 * 86'400);
  ts_ += 5 * kDayMs;
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_NO_FATAL_FAILURE(ConfirmAll());
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(AppendWide("cdefghij").ok());
  ASSERT_NO_FATAL_FAILURE(Rotate());
  ASSERT_NO_FATAL_FAILURE(TickAll());
  const uint64_t sought = Core()->committer().RoomSought();
  LeaveFree(sought + (2 << 20));
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_EQ(engine_->GetMetrics().versions_shed, 0u);
  options_.seal_when_due = false;
  Reopen();
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_EQ(engine_->GetMetrics().versions_shed, 0u);
  EXPECT_LE(Core()->committer().RoomSought(), sought + (1 << 20));
}

// The room of a bucket that was large once is not kept for ever, though others are open still.
TEST_F(FullDiskReserveTest, RowsHaveTheRoomOfWhatIsSealed) {
  options_.seal_when_due = false;
  UseMemory(limits::kMemoryBudgetBytesDefault);
  const uint64_t least = Core()->committer().RoomSought();
  ASSERT_TRUE(AppendWide("z").ok());
  ASSERT_NO_FATAL_FAILURE(SpillLargeRun("a"));
  EXPECT_GE(Core()->committer().RoomSought(), least + (10 << 20));
  ASSERT_TRUE(SealOnly("a").ok());
  EXPECT_GT(engine_->GetMetrics().versions_open, 0u);
  EXPECT_LT(Core()->committer().RoomSought(), least + (1 << 20));
  // An opening that has looked knows as much.
  Reopen();
  ASSERT_TRUE(SealOnly("a").ok());
  EXPECT_LT(Core()->committer().RoomSought(), least + (1 << 20));
}

// A round that others took the room of is tried again with twice the room, and as much is made.
TEST_F(FullDiskReserveTest, TheRoomIsSoughtThatARoundAsksForThatWasGivenUp) {
  UseMemory(kMemoryOfLargeRounds);
  ASSERT_TRUE(AppendWide("b").ok());
  ASSERT_NO_FATAL_FAILURE(Rotate());
  clock_->AdvanceSeconds(3 * 86'400);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_EQ(engine_->GetMetrics().versions_open, 0u) << "the window is there";
  for (int i = 0; i < 58; ++i) ASSERT_TRUE(AppendWide("a").ok());
  ASSERT_NO_FATAL_FAILURE(Rotate());
  ASSERT_NO_FATAL_FAILURE(TickAll());
  const uint64_t sought = Core()->committer().RoomSought();
  clock_->AdvanceSeconds(3 * 86'400);
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(engine_->Tick({1}).ok());
  LeaveFree(0);  // while it writes
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_EQ(Core()->maintenance().WhyNotSealing().code(), StatusCode::kNoSpace);
  LeaveFree(13 << 20);
  clock_->AdvanceSeconds(60);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_EQ(engine_->GetMetrics().versions_open, 5800u) << "it asks for more than it needs";
  EXPECT_GE(Core()->committer().RoomSought(), sought + (3 << 20)) << "half of the disk at most";
  LeaveFree(30 << 20);
  clock_->AdvanceSeconds(60);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  EXPECT_LE(Core()->committer().RoomSought(), sought) << "and no more from here on";
}

// The ballast goes for a rotation of rows that are due, as their seal makes room in the end; but
// not while no round finds room itself, as it would go for nothing.
TEST_F(FullDiskReserveTest, ARotationOfWhatIsDueHasTheBallastUnlessSealsFindNoRoom) {
  constexpr uint64_t kTooLittle = 1'200'000;  // for a rotation
  UseMemory(kMemoryOfLargeRounds);
  for (const bool seals_find_room : {true, false}) {
    for (int i = 0; i < 80; ++i) ASSERT_TRUE(AppendWide("a").ok());
    ASSERT_NO_FATAL_FAILURE(Rotate());
    clock_->AdvanceSeconds(2 * 86'400);
    ASSERT_TRUE(AppendWide("b").ok());  // late: due once nothing has come for a while
    g_crash_hook = AtPoint;
    if (!seals_find_room) g_at_create = [&] { LeaveFree(0); };
    ASSERT_NO_FATAL_FAILURE(TickAll());
    ASSERT_EQ(Core()->maintenance().WhyNotSealing().ok(), seals_find_room);
    LeaveFree(kTooLittle);
    ASSERT_TRUE(Core()->store().ballast_held());
    clock_->AdvanceSeconds(600);
    ASSERT_NO_FATAL_FAILURE(TickUntil([&] { return Core()->heads().frozen_head() != nullptr; }));
    // The next journal is made, then the rotation asks.
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(engine_->Tick({1}).ok());
    EXPECT_EQ(Core()->store().ballast_held(), !seals_find_room);
    faults_->SetForeignBytes(0);
    clock_->AdvanceSeconds(600);
    ASSERT_NO_FATAL_FAILURE(TickAll());
    EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
    EXPECT_EQ(faults_->refused(), 0u);
    ts_ = clock_->WallMicros() / 1000;
    clock_->AdvanceSeconds(60);
    ASSERT_NO_FATAL_FAILURE(TickAll());
    ASSERT_TRUE(Core()->store().ballast_held());
  }
  ExpectSound();
}

// Each minute finds the same full disk: the log of events has other things to keep.
TEST_F(FullDiskReserveTest, ThatARunFindsNoRoomIsSaidOnce) {
  int said = 0;
  options_.log_sink = [&](LogLevel, std::string_view line) {
    said += line.find("a seal round was given up") != std::string_view::npos ? 1 : 0;
  };
  UseMemory(limits::kMemoryBudgetBytesDefault);
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("a").ok());
    ASSERT_TRUE(AppendWide("bcdefghij").ok());
    ASSERT_NO_FATAL_FAILURE(Rotate());
    ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
    LeaveFree(4 << 20);
    clock_->AdvanceSeconds(3 * 86'400);
    for (int minute = 0; minute < 5; ++minute) {
      ASSERT_NO_FATAL_FAILURE(TickAll());
      clock_->AdvanceSeconds(61);
    }
    EXPECT_EQ(said, round);
    faults_->SetForeignBytes(0);
    ASSERT_NO_FATAL_FAILURE(TickAll());
    EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
    ts_ = clock_->WallMicros() / 1000;
  }
}

// As of very many buckets: meta has more than rows leave otherwise, and RocksDB merges all of it
// behind the next rotation.
TEST_F(FullDiskReserveTest, RowsLeaveTheRoomOfAMergeOfMeta) {
  constexpr int kFiles = 7;
  constexpr int kRecords = 20;  // of each
  constexpr uint64_t kFileBytes = (15 << 20) / kFiles;
  FamilyPtr meta = Core()->store().spills().view()->meta;
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  for (int file = 0; file < kFiles; ++file) {  // an eighth one, and they are merged
    for (int n = 0; n < kRecords; ++n) {
      std::string noise(kFileBytes / kRecords, ' ');
      for (char& c : noise) c = static_cast<char>(random_.Below(256));
      const std::string key = "~" + std::to_string(file * kRecords + n);
      ASSERT_TRUE(meta->db()->Put(unlogged, meta->handle(), key, noise).ok());
    }
    ASSERT_TRUE(meta->db()->Flush({}, meta->handle()).ok());
    if (file > 0) continue;
    ASSERT_TRUE(meta->db()->CompactRange({}, meta->handle(), nullptr, nullptr).ok());
  }
  LeaveFree(10 << 20);
  EXPECT_EQ(FillUp("abc").code(), StatusCode::kNoSpace);
  EXPECT_EQ(taken_, 0u) << "no rotation would find room";
  EXPECT_EQ(faults_->refused(), 0u) << "RocksDB met the full disk itself";
  const uint64_t written = engine_->GetMetrics().sst_bytes_written;
  LeaveFree(28 << 20);
  clock_->AdvanceSeconds(1);  // maintenance looks once a second whether there is room for merges
  EXPECT_EQ(FillUp("abc").code(), StatusCode::kNoSpace);
  EXPECT_GT(taken_, 0u);
  LeaveFree(FreeBytes());  // behind the merge
  EXPECT_GT(engine_->GetMetrics().sst_bytes_written, written + kFiles * kFileBytes) << "of it all";
  EXPECT_EQ(faults_->refused(), 0u) << "RocksDB met the full disk itself";
  for (int n = 0; n < kFiles * kRecords; ++n) {
    ASSERT_TRUE(meta->db()->Delete({}, meta->handle(), "~" + std::to_string(n)).ok());
  }
  meta.reset();
  ASSERT_NO_FATAL_FAILURE(Drain());
}

// A journal of 13 MB, written with more memory than is there now: some of it is spilled by the
// opening, and not all of it can wait in memory.
class FullDiskOpeningTest : public FullDiskReserveTest {
 protected:
  static constexpr int kBatches = 130;
  void SetUp() override {
    FullDiskReserveTest::SetUp();
    UseMemory(limits::kMemoryBudgetBytesDefault);
    for (int i = 0; i < kBatches; ++i) ASSERT_TRUE(AppendWide("ab").ok());
    ASSERT_EQ(engine_->GetMetrics().rotations, 0u);
  }
  void Stop() {
    engine_->Close().IgnoreError();
    engine_.reset();
    options_.memory_budget_bytes = 16 << 20;
  }
  void ExpectAllIsThere() {
    EXPECT_GT(engine_->GetMetrics().rotations, 0u);
    EXPECT_EQ(ScanAll("a").size(), kBatches * 50u);
    EXPECT_EQ(faults_->refused(), 0u) << "RocksDB met the full disk itself";
    ExpectSound();
  }
};

TEST_F(FullDiskOpeningTest, AsksForAllThatItSpills) {
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  Stop();
  LeaveFree(700'000);
  const auto opened = TryOpen(options_);
  EXPECT_EQ(opened.status().code(), StatusCode::kNoSpace) << opened.status().ToString();
  EXPECT_EQ(faults_->refused(), 0u) << "RocksDB met the full disk itself";
  LeaveFree(24 << 20);
  ASSERT_NO_FATAL_FAILURE(Open());
  ExpectAllIsThere();
}

TEST_F(FullDiskOpeningTest, SpillsIntoTheBallast) {
  Stop();
  LeaveFree(6 << 20);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_FALSE(Core()->store().ballast_held());
  ExpectAllIsThere();
}

}  // namespace
}  // namespace cistern::testing
