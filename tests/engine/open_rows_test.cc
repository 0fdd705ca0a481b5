// What is told of rows that are not sealed: how many, since when, what is overdue and why.
#include "engine/open_rows.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "engine/replication_service.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kSecondUs = 1'000'000;
// Behind the moment in which a bucket is due, until it is overdue.
constexpr int64_t kOverdueS = 900;

class OpenRowsTest : public EngineFixture {
 protected:
  OpenRows Find() { return FindOpenRows(Core().get(), options_, &times_); }
  // Time passes with its maintenance, minute by minute.
  void Live(int64_t s) {
    for (; s > 0; s -= 60) {
      clock_->AdvanceSeconds(std::min<int64_t>(s, 60));
      TickAll();
    }
  }
  void MustAppendMany(int sensors, int64_t ts) {
    RowBatch batch(schema_);
    for (int i = 0; i < sensors; ++i) AddRow(&batch, "s" + std::to_string(i), ts, i);
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  JournalTimes times_;
};

TEST_F(OpenRowsTest, AnEmptyStoreHasNone) {
  const OpenRows open = Find();
  EXPECT_EQ(open.versions, 0u);
  EXPECT_FALSE(open.oldest_us.has_value());
  EXPECT_TRUE(open.why.ok());
}

TEST_F(OpenRowsTest, TheOldestIsToldWhereverItIs) {
  const int64_t written_us = clock_->WallMicros();
  MustAppend("a", kStartMs, 1);
  clock_->AdvanceSeconds(100);
  MustAppend("b", kStartMs, 1);
  OpenRows open = Find();
  EXPECT_EQ(open.versions, 2u);
  ASSERT_TRUE(open.oldest_us.has_value());
  EXPECT_LT(std::abs(*open.oldest_us - written_us), 1'000'000) << "in the head";
  Rotate();
  clock_->AdvanceSeconds(100);
  MustAppend("c", kStartMs, 1);
  EXPECT_LT(std::abs(*Find().oldest_us - written_us), 1'000'000) << "spilled";
  Reopen();
  open = Find();
  EXPECT_EQ(open.versions, 3u);
  EXPECT_LT(std::abs(*open.oldest_us - written_us), 1'000'000) << "by the next opening";
  EXPECT_EQ(open.buckets_overdue, 0u) << "the day goes on";
  EXPECT_TRUE(open.why.ok()) << open.why.ToString();
}

// Rows that an opening has replayed are as old as they are, also for who only reads them.
TEST_F(OpenRowsTest, TheOldestInMemoryKeepsItsAgeOverARestart) {
  const int64_t written_us = clock_->WallMicros();
  MustAppend("a", kStartMs, 1);
  clock_->AdvanceSeconds(1000);
  MustAppend("b", kStartMs, 1);
  Crash();
  ASSERT_TRUE(Find().oldest_us.has_value());
  EXPECT_LT(std::abs(*Find().oldest_us - written_us), 2'000'000);
  clock_->AdvanceSeconds(1000);
  engine_.reset();
  options_.read_only = true;
  Open();
  ASSERT_TRUE(Find().oldest_us.has_value());
  EXPECT_LT(std::abs(*Find().oldest_us - written_us), 2'000'000) << "who reads";
}

// ... and a head that short runs have filled rotates at its age.
TEST_F(OpenRowsTest, ShortRunsDoNotKeepRowsInMemory) {
  options_.head_age_us_max = 3600ll * 1'000'000;
  Reopen();
  MustAppend("a", kStartMs, 1);
  for (int run = 0; run < 3; ++run) {
    clock_->AdvanceSeconds(1500);
    Crash();
  }
  TickAll();
  EXPECT_EQ(engine_->GetMetrics().rotations, 1u);
}

TEST_F(OpenRowsTest, WhatSealingIsLeftOutForIsOverdueAfterAWhile) {
  options_.seal_when_due = false;
  options_.event_future_s_max = 10 * kDayS;
  Reopen();
  for (const char* sensor : {"a", "b"}) MustAppend(sensor, kStartMs, 1);
  Rotate();
  MustAppend("b", kStartMs + 1, 1);
  MustAppend("c", kStartMs, 1);
  MustAppend("c", kStartMs + 3 * kDayMs, 1);  // of a day that goes on
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("c"), {kStartMs, kStartMs + 1}).ok());
  EXPECT_EQ(Find().why.code(), StatusCode::kNotFound);
  clock_->AdvanceSeconds(kDayS + 300);
  EXPECT_EQ(Find().buckets_overdue, 0u) << "due this moment";
  clock_->AdvanceSeconds(kOverdueS - 1);
  EXPECT_EQ(Find().buckets_overdue, 0u);
  clock_->AdvanceSeconds(1);
  OpenRows open = Find();
  EXPECT_EQ(open.buckets_overdue, 3u) << "in memory, spilled, and both";
  EXPECT_EQ(open.versions_overdue, 5u) << "deletes too";
  EXPECT_EQ(open.versions, 6u);
  ASSERT_TRUE(open.overdue_since_us.has_value());
  EXPECT_EQ(*open.overdue_since_us, kStartUs + (kDayS + 300) * 1'000'000);
  const auto sealed = engine_->Seal({.due_only = true});
  ASSERT_TRUE(sealed.ok()) << sealed.status().ToString();
  open = Find();
  EXPECT_EQ(open.buckets_overdue, 0u);
  EXPECT_EQ(open.versions, 1u);
}

TEST_F(OpenRowsTest, AClockThatIsNotTrustedIsTheReason) {
  clock_->SetWallMicros(0);
  Reopen();
  MustAppend("a", kStartMs, 1);
  EXPECT_EQ(Find().why.code(), StatusCode::kBusy);
  EXPECT_EQ(Find().versions, 1u);
  {
    EngineOptions reading = options_;
    reading.read_only = true;
    const auto reader = TryOpen(reading);
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    const auto seen = GetOutboxStatus(reader->get());
    ASSERT_TRUE(seen.ok()) << seen.status().ToString();
    EXPECT_EQ(seen->open.why.code(), StatusCode::kBusy) << "who reads beside it";
    EXPECT_EQ(seen->open.versions, 1u);
  }
  clock_->SetWallMicros(kStartUs);
  TickAll();
  EXPECT_TRUE(Find().why.ok());
}

class OpenRowsDiskTest : public OpenRowsTest {
 protected:
  static constexpr uint64_t kDiskBytes = 64 << 20;
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    faults_->SetDiskBytes(kDiskBytes);
    fs_ = faults_;
    OpenRowsTest::SetUp();
  }
  void LeaveFree(uint64_t bytes) {
    faults_->SetForeignBytes(kDiskBytes - faults_->used_bytes() - bytes);
    clock_->AdvanceSeconds(61);
    TickAll();
  }
  std::shared_ptr<FaultFileSystem> faults_;
};

// The reason is what a round would meet: the ballast goes for it, and less than a round needs is
// too little.
TEST_F(OpenRowsDiskTest, AFullDiskIsTheReason) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  clock_->AdvanceSeconds(61);
  TickAll();  // nothing is due: the next looks do without the ballast
  LeaveFree(0);
  ASSERT_TRUE(Core()->store().ballast_held());
  EXPECT_TRUE(Find().why.ok()) << "with the ballast there is room: " << Find().why.ToString();
  ASSERT_TRUE(Core()->store().MakeDeviceRoom(1 << 20).ok());
  LeaveFree(0);  // others take what it gave back
  EXPECT_EQ(Find().why.code(), StatusCode::kNoSpace);
  LeaveFree(3 << 19);
  EXPECT_EQ(Find().why.code(), StatusCode::kNoSpace) << "not even the smallest round has room";
  LeaveFree(4 << 20);
  EXPECT_TRUE(Find().why.ok()) << Find().why.ToString();
}

// As `cistern sync status` sees a store whose firmware was stopped.
TEST_F(OpenRowsTest, WhoOnlyReadsTellsThatNobodySeals) {
  MustAppend("a", kStartMs, 1);
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.read_only = true;
  Open();
  OpenRows open = Find();
  EXPECT_EQ(open.versions, 1u);
  EXPECT_TRUE(open.why.ok()) << "nothing is overdue";
  clock_->AdvanceSeconds(2 * kDayS);
  open = Find();
  EXPECT_EQ(open.buckets_overdue, 1u);
  EXPECT_EQ(open.why.code(), StatusCode::kReadOnly);
}

// Rows that were spilled together need not have been written together.
TEST_F(OpenRowsTest, ALateRowIsNotOverdueByOlderOnesBesideIt) {
  options_.seal_when_due = false;
  options_.event_future_s_max = 10 * kDayS;
  Reopen();
  MustAppend("a", kStartMs + 3 * kDayMs, 1);  // of a day that goes on
  clock_->AdvanceSeconds(kDayS + 300 + kOverdueS);
  MustAppend("b", kStartMs, 1);
  Rotate();
  EXPECT_EQ(Find().buckets_overdue, 0u);
  clock_->AdvanceSeconds(300 + kOverdueS + 1);
  EXPECT_EQ(Find().buckets_overdue, 1u);
}

// What is to leave before the end of its bucket is overdue as well.
TEST_F(OpenRowsTest, FullBucketsAndOldRowsOfWideOnesAreOverdue) {
  options_.seal_when_due = false;
  options_.event_future_s_max = 400 * kDayS;
  options_.seal_rows_max = 10;
  Reopen();
  for (int i = 0; i < 10; ++i) MustAppend("full", kStartMs + 300 * kDayMs + i, i);
  for (int i = 0; i < 9; ++i) MustAppend("open", kStartMs + 300 * kDayMs + i, i);
  Rotate();
  clock_->AdvanceSeconds(kOverdueS + 1);
  OpenRows open = Find();
  EXPECT_EQ(open.buckets_overdue, 1u);
  EXPECT_EQ(open.versions_overdue, 10u);
  options_.seal_rows_max = 0;
  options_.seal_age_s_max = 8 * 3600;
  options_.head_age_us_max = 3600 * kSecondUs;
  Reopen();
  clock_->AdvanceSeconds(9 * 3600 - 2);
  EXPECT_EQ(Find().buckets_overdue, 0u);
  clock_->AdvanceSeconds(2);
  open = Find();
  EXPECT_EQ(open.buckets_overdue, 2u);
  EXPECT_EQ(open.versions_overdue, 19u);
}

// Timestamps that a clock gave which was ahead tell nothing: the rows are as old as they are known.
TEST_F(OpenRowsTest, RowsOfAFalseTimeAreNotYoungForEver) {
  constexpr int64_t kAheadS = 60 * kDayS / 16;
  options_.seal_when_due = false;
  Reopen();
  clock_->StepWallMicros(kAheadS * kSecondUs);
  Live(limits::kClockDwellSecondsDefault + 60);
  ASSERT_TRUE(engine_->GetMetrics().clock_trusted);
  MustAppend("a", kStartMs, 1);
  Rotate();
  clock_->StepWallMicros(-kAheadS * kSecondUs);
  Live(limits::kClockDwellSecondsDefault + 60);
  ASSERT_TRUE(engine_->GetMetrics().clock_trusted);
  EXPECT_FALSE(Find().oldest_us.has_value()) << "nobody knows";
  const int64_t seen_us = clock_->WallMicros();
  for (int i = 0; i < 3; ++i) {
    clock_->AdvanceSeconds(1000);
    const OpenRows open = Find();
    ASSERT_TRUE(open.oldest_us.has_value());
    EXPECT_LT(std::abs(*open.oldest_us - seen_us), 2 * kSecondUs);
  }
}

// Segments that cannot be read are no reason to say nothing of the rest.
TEST_F(OpenRowsTest, WhatCannotBeReadIsSaid) {
  auto faults = std::make_shared<FaultFileSystem>();
  fs_ = faults;
  options_.seal_when_due = false;
  Reopen();
  MustAppendMany(50, kStartMs);
  Rotate();
  MustAppend("a", kStartMs, 1);
  clock_->AdvanceSeconds(kDayS + 300 + kOverdueS);
  options_.seal_when_due = true;
  Reopen();
  faults->Arm({.op = FaultOp::kRead, .kind = FileKind::kSst, .forever = true});
  const auto outbox = GetOutboxStatus(engine_.get());
  faults->Disarm();
  ASSERT_TRUE(outbox.ok()) << outbox.status().ToString();
  EXPECT_EQ(outbox->open.why.code(), StatusCode::kIoError) << outbox->open.why.ToString();
  EXPECT_EQ(outbox->open.versions, 51u);
  EXPECT_TRUE(outbox->open.oldest_us.has_value()) << "of the rows in memory";
  EXPECT_EQ(outbox->open.bytes, 0u) << "of what can be read";
  EXPECT_TRUE(Find().why.ok());
  EXPECT_GT(Find().bytes, 0u);
}

TEST_F(OpenRowsTest, ALookDoesNotFollowEverySealWhereNothingIsOverdue) {
  options_.seal_when_due = false;
  Reopen();
  MustAppend("a", kStartMs, 1);
  clock_->AdvanceSeconds(100);
  MustAppend("b", kStartMs, 1);
  Rotate();
  OpenRowsWatch watch(options_);
  const auto oldest_later = [&](int64_t seconds) {
    clock_->AdvanceSeconds(seconds);
    watch.Turn(Core().get());
    return watch.rows().oldest_us.value_or(0);
  };
  const int64_t oldest_us = oldest_later(0);
  SealRequest only_a;
  only_a.due_only = false;
  only_a.table = schema_->name;
  only_a.entity = Entity("a");
  ASSERT_EQ(engine_->Seal(only_a)->buckets, 1u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(oldest_later(5), oldest_us);
  EXPECT_GT(oldest_later(15), oldest_us + 30 * kSecondUs) << "once a minute";
}

class OpenRowsWatchTest : public OpenRowsTest {
 protected:
  static constexpr int kSensors = 700;  // more than one slice takes
  // A day of many sensors that is overdue, and one that goes on.
  void SetUp() override {
    options_.seal_when_due = false;
    OpenRowsTest::SetUp();
    MustAppendMany(kSensors, kStartMs);
    Rotate();
    clock_->AdvanceSeconds(kDayS + 300 + kOverdueS);
    MustAppend("a", kStartMs + kDayMs, 1);
    watch_.emplace(options_);
  }
  void TearDown() override { watch_.reset(); }
  const OpenRows& Turn(int64_t later_us = 0) {
    clock_->AdvanceMicros(later_us);
    watch_->Turn(Core().get());
    return watch_->rows();
  }
  // kBusy: a look by another thread waits for who calls this.
  Status Watched(EngineCore* core) {
    watched_ = std::async(std::launch::async, [this, core] {
      watch_->Turn(core);
      return watch_->rows().versions;
    });
    const bool is_there = watched_.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    return is_there ? Status::Ok() : Status::Busy("it waits");
  }
  std::optional<OpenRowsWatch> watch_;
  std::future<uint64_t> watched_;  // versions
};

// A loop that answers must be sent in waits for a part of a look at most.
TEST_F(OpenRowsWatchTest, LooksInSlicesAndHoldsNothingInBetween) {
  const int64_t views = Core()->store().spills().view().use_count();
  EXPECT_EQ(Turn().versions, 701u) << "at once";
  const uint64_t first = watch_->rows().buckets_overdue;
  EXPECT_GE(first, 1u);
  EXPECT_LT(first, 700u);
  EXPECT_EQ(Core()->store().spills().view().use_count(), views);
  EXPECT_EQ(Turn().buckets_overdue, first) << "not before a pause";
  EXPECT_EQ(Turn(100'000).buckets_overdue, 700u);
  EXPECT_EQ(watch_->rows().versions_overdue, 700u);
}

// Segments that a seal has replaced are passed over one by one, and may be many.
TEST_F(OpenRowsWatchTest, SealedBucketsAreLookedAtInSlicesToo) {
  Rotate();  // what goes on keeps them where they are
  const auto sealed = engine_->Seal({.due_only = true});
  ASSERT_TRUE(sealed.ok()) << sealed.status().ToString();
  ASSERT_EQ(sealed->buckets, 700u);
  OpenRowsWalk walk(options_, &times_);
  int slices = 0;
  Result<bool> more = true;
  for (; more.ok() && *more; ++slices) {
    more = walk.Step(Core().get(),
                     {.segments_max = 100, .pages_max = UINT64_MAX, .until_us = INT64_MAX});
  }
  ASSERT_TRUE(more.ok()) << more.status().ToString();
  EXPECT_EQ(slices, 8);
  EXPECT_EQ(walk.found().buckets_overdue, 0u);
}

TEST_F(OpenRowsWatchTest, GoesOnInAnotherOpening) {
  (void)Turn();
  watch_->Forget();
  Reopen();
  for (int i = 0; i < 3; ++i) (void)Turn(kSecondUs);
  EXPECT_EQ(watch_->rows().buckets_overdue, 700u);
}

TEST_F(OpenRowsWatchTest, WhatWasSealedIsNotOverdueForLong) {
  for (int i = 0; i < 3; ++i) (void)Turn(kSecondUs);
  ASSERT_EQ(watch_->rows().buckets_overdue, 700u);
  const auto sealed = engine_->Seal({.due_only = true});
  ASSERT_TRUE(sealed.ok()) << sealed.status().ToString();
  for (int i = 0; i < 3; ++i) (void)Turn(kSecondUs);
  EXPECT_EQ(watch_->rows().versions, 1u);
  EXPECT_EQ(watch_->rows().buckets_overdue, 0u);
  EXPECT_FALSE(watch_->rows().overdue_since_us.has_value());
}

// Nor does it wait while a step of maintenance waits for the device.
TEST_F(OpenRowsWatchTest, DoesNotWaitForMaintenance) {
  options_.seal_when_due = true;
  Reopen();
  EngineCore* const core = Core().get();
  const Status held = core->maintenance().WithoutHead([&] { return Watched(core); });
  EXPECT_TRUE(held.ok()) << held.ToString();
  EXPECT_EQ(watched_.get(), 701u);
}

// Nor while a group of rows does.
TEST_F(OpenRowsWatchTest, DoesNotWaitForACommit) {
  EngineCore* const core = Core().get();
  const Status held = core->committer().WhileStill([&](uint64_t) { return Watched(core); });
  EXPECT_TRUE(held.ok()) << held.ToString();
  EXPECT_EQ(watched_.get(), 701u);
}

}  // namespace
}  // namespace cistern::testing
