// What is told of rows that are not sealed: how many, since when, what is overdue and why.
#include "engine/open_rows.h"

#include <cstdlib>

#include "engine/replication_service.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kDayS = 86'400;

class OpenRowsTest : public EngineFixture {
 protected:
  OpenRows Find() {
    auto found = FindOpenRows(Core().get(), EngineImpl::Of(engine_.get())->options(), &times_);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? *std::move(found) : OpenRows();
  }
  RotationTimes times_;
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
  EXPECT_EQ(Find().why.code(), StatusCode::kNotFound);
  clock_->AdvanceSeconds(kDayS + 300);
  EXPECT_EQ(Find().buckets_overdue, 0u) << "due this moment";
  clock_->AdvanceSeconds(601);
  OpenRows open = Find();
  EXPECT_EQ(open.buckets_overdue, 3u) << "in memory, spilled, and both";
  EXPECT_EQ(open.versions_overdue, 4u);
  EXPECT_EQ(open.versions, 5u);
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

TEST_F(OpenRowsTest, AFullDiskIsTheReason) {
  auto faults = std::make_shared<FaultFileSystem>();
  faults->SetDiskBytes(64 << 20);
  fs_ = faults;
  Reopen();
  MustAppend("a", kStartMs, 1);
  faults->SetForeignBytes(64 << 20);
  EXPECT_EQ(Find().why.code(), StatusCode::kNoSpace);
  faults->SetForeignBytes(0);
  EXPECT_TRUE(Find().why.ok());
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

}  // namespace
}  // namespace cistern::testing
