// Rows of wide buckets leave in pieces: none is much older than the limit when it is sealed.
#include <algorithm>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kHourS = 3600;
constexpr int64_t kDayS = 24 * kHourS;
constexpr char kYearly[] =
    "CREATE TABLE yearly (sensor text, y int, ts timestamp, flow double, PRIMARY KEY ((sensor, y), "
    "ts)) WITH comment = 'cistern: bucket y = 1 year'";

class SealAgeTest : public EngineFixture {
 protected:
  SealAgeTest() {
    options_.seal_age_s_max = 2 * kDayS;
    options_.head_age_us_max = kHourS * 1'000'000;
  }
  void SetUp() override {
    EngineFixture::SetUp();
    ASSERT_TRUE(engine_->CreateTable(kYearly).ok());
    yearly_ = *engine_->FindTable("yearly");
  }
  // A row an hour of one that goes on for the whole year, and looks in between.
  void Live(int64_t hours) {
    for (int64_t hour = 0; hour < hours; ++hour) {
      RowBatch batch(yearly_);
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, "a").ok());
      ASSERT_TRUE(batch.SetInt(2, clock_->WallMicros() / 1000).ok() && batch.EndRow().ok());
      ASSERT_TRUE(engine_->Append(batch).ok());
      for (int part = 0; part < 4; ++part) {
        clock_->AdvanceSeconds(kHourS / 4);
        ASSERT_NO_FATAL_FAILURE(TickAll());
      }
      open_max_ = std::max(open_max_, engine_->GetMetrics().versions_open);
    }
  }
  std::shared_ptr<const TableSchema> yearly_;
  uint64_t open_max_ = 0;  // rows, of which one comes an hour
};

TEST_F(SealAgeTest, NoRowIsMuchOlderThanTheLimit) {
  Live(240);
  // The limit, and what a row may wait in the head.
  EXPECT_LE(open_max_, 48u + 3);
  EXPECT_GE(open_max_, 46u) << "nor much younger";
  const Metrics m = engine_->GetMetrics();
  EXPECT_GE(m.buckets_sealed, 4u);
  EXPECT_LE(m.buckets_sealed, 6u);
  EXPECT_EQ(m.amendments, m.buckets_sealed - 1);
  ExpectSound();
}

// What was written before an opening is as old as it is.
TEST_F(SealAgeTest, AlsoOverRestartsThatAreCloserThanTheLimit) {
  for (int i = 0; i < 12; ++i) {
    ASSERT_NO_FATAL_FAILURE(Live(20));
    Reopen();
    yearly_ = *engine_->FindTable("yearly");
  }
  EXPECT_LE(open_max_, 48u + 4);
  ExpectSound();
}

TEST_F(SealAgeTest, WithoutALimitAWideBucketWaitsForItsEnd) {
  options_.seal_age_s_max = 0;
  Reopen();
  yearly_ = *engine_->FindTable("yearly");
  Live(120);
  EXPECT_EQ(open_max_, 120u);
}

TEST_F(SealAgeTest, ABucketThatIsSoonDueIsNotSealedTwice) {
  options_.seal_age_s_max = kDayS;
  Reopen();
  for (int hour = 0; hour < 3 * 24; ++hour) {
    MustAppend("a", clock_->WallMicros() / 1000, hour);
    clock_->AdvanceSeconds(kHourS);
    ASSERT_NO_FATAL_FAILURE(TickAll());
  }
  clock_->AdvanceSeconds(kHourS);
  TickAll();
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.buckets_sealed, 3u) << "one for each day";
  EXPECT_EQ(m.amendments, 0u);
}

// However long they were in memory, the look comes when they are due.
TEST_F(SealAgeTest, RowsThatWereLongInMemoryAreNotLookedAtTooLate) {
  options_.seal_age_s_max = 2 * kHourS;
  Reopen();
  yearly_ = *engine_->FindTable("yearly");
  for (int rows = 0; rows < 2; ++rows) {
    RowBatch batch(yearly_);
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(2, clock_->WallMicros() / 1000).ok() && batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
    for (int minute = 0; minute < 122; ++minute) {
      clock_->AdvanceSeconds(60);
      ASSERT_NO_FATAL_FAILURE(TickAll());
    }
    EXPECT_EQ(engine_->GetMetrics().versions_open, 0u) << rows;
  }
  ExpectSound();
}

TEST_F(SealAgeTest, AnAbsurdLimitIsRefused) {
  for (const int64_t seconds : {int64_t{-1}, limits::kSealDelaySecondsMax + 1}) {
    EngineOptions options = options_;
    options.seal_age_s_max = seconds;
    EXPECT_EQ(TryOpen(options).status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace cistern::testing
