// The clock lies: what is believed, and what becomes of rows taken meanwhile.
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kYearUs = 365 * kDayUs;

class ClockTest : public EngineFixture {};

TEST_F(ClockTest, RowsOfAnUntrustedClockStayInOrderThroughItsResolution) {
  MustAppend("a", kStartMs, 1);
  clock_->Reboot("boot-2", 0);  // 1970: below the floor
  Reopen();
  MustAppend("a", kStartMs, 2);
  EXPECT_FALSE(engine_->GetMetrics().clock_trusted);
  EXPECT_EQ(engine_->GetMetrics().rows_provisional, 1u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  Rotate();
  Reopen();  // within the same boot: its record goes on
  MustAppend("a", kStartMs, 3);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 3}}));
  clock_->SetWallMicros(kStartUs + 3600'000'000ll);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_TRUE(engine_->GetMetrics().clock_trusted);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 3}}));
  MustAppend("a", kStartMs, 4);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 4}}));
  Crash();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 4}}));
  ExpectSound();
}

TEST_F(ClockTest, CountsOfABootGoOnThoughItsRowsAreInSegments) {
  clock_->SetWallMicros(0);
  // A burst: the count runs far ahead of the monotonic clock, which stands still.
  RowBatch batch(schema_);
  for (int i = 0; i < 1000; ++i) AddRow(&batch, "a", kStartMs, i);
  ASSERT_TRUE(engine_->Append(batch).ok());
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 999}}));
  Rotate();
  Reopen();
  MustAppend("a", kStartMs, 5000);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 5000}}));
}

TEST_F(ClockTest, AnotherBootNeverTakesOverARecord) {
  for (const std::string& id : {std::string("boot-2"), std::string()}) {
    clock_->Reboot(id, 0);
    Reopen();
    MustAppend("a", kStartMs, 1);
    clock_->Reboot(id, 0);  // without an id the boots cannot be told apart
    if (!id.empty()) clock_->Reboot("boot-3", 0);
    Reopen();
    MustAppend("a", kStartMs, 2);
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
    clock_->SetWallMicros(kStartUs);
    ASSERT_TRUE(engine_->Tick({10}).ok());
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
    clock_->SetWallMicros(0);
  }
}

// Resolution moves rows up that are in segments already, while the state record still says
// where they were: the next boot must not begin below them.
TEST_F(ClockTest, ABootBeginsAboveTheRowsOfAnEarlierOneThatWereMovedUp) {
  clock_->Reboot("boot-1b", 0);
  Reopen();
  MustAppend("a", kStartMs, 1);
  Rotate();
  clock_->SetWallMicros(kStartUs + 3600'000'000ll);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_TRUE(engine_->GetMetrics().clock_trusted);
  clock_->Reboot("boot-2", 0);
  Reopen();
  MustAppend("a", kStartMs, 2);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  clock_->SetWallMicros(kStartUs + 1'000'000);  // and an earlier time is true after all
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  ExpectSound();
}

TEST_F(ClockTest, TheYear2106PoisonsNothing) {
  clock_->SetWallMicros(kStartUs + 80 * kYearUs);
  MustAppend("a", kStartMs, 1);
  EXPECT_FALSE(engine_->GetMetrics().clock_trusted);
  clock_->SetWallMicros(kStartUs + 1'000'000);
  MustAppend("a", kStartMs, 2);
  EXPECT_TRUE(engine_->GetMetrics().clock_trusted);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 2}}));
  EXPECT_LT(Core()->clock().last_issued_us(), kStartUs + 10'000'000);
}

// A gateway's first day: it boots in 1970, a time server says 2106, then the time is right.
TEST_F(ClockTest, NothingIsSealedOrExpiresBeforeItsTrueTime) {
  const auto expect_untouched = [&](double newest) {
    while (engine_->Tick()->more_due) {
    }
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.buckets_sealed, 0u);
    EXPECT_EQ(m.versions_expired, 0u);
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, newest}}));
    EXPECT_EQ(ScanAll("brief").size(), 1u);
  };
  clock_->Reboot("boot-2", 0);
  Reopen();
  RowBatch brief(schema_);
  AddRow(&brief, "brief", kStartMs, 1, RowKind::kInsert, 3600);
  ASSERT_TRUE(engine_->Append(brief).ok());
  MustAppend("a", kStartMs, 1);
  expect_untouched(1);
  clock_->AdvanceSeconds(600);
  for (const int64_t lie_us : {kStartUs + 79 * kYearUs, int64_t{INT32_MAX} * 1'000'000}) {
    clock_->SetWallMicros(lie_us);
    MustAppend("a", kStartMs, 2);
    expect_untouched(2);
    Rotate();
    Reopen();
    expect_untouched(2);
  }
  EXPECT_EQ(engine_->Seal({}).status().code(), StatusCode::kBusy) << "its rows have no time yet";
  clock_->SetWallMicros(kStartUs + 600'000'000);
  MustAppend("a", kStartMs, 3);
  EXPECT_TRUE(engine_->GetMetrics().clock_trusted);
  EXPECT_LT(Core()->clock().last_issued_us(), kStartUs + 600'000'010);
  expect_untouched(3);
  clock_->AdvanceSeconds(2999);
  expect_untouched(3);
  clock_->AdvanceSeconds(1);  // written at kStartUs, as it turned out
  EXPECT_TRUE(ScanAll("brief").empty());
  clock_->AdvanceSeconds(86'400 - 3600 + 299);
  while (engine_->Tick()->more_due) {
  }
  EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 0u);
  clock_->AdvanceSeconds(60);  // due now; it is looked for from time to time
  while (engine_->Tick()->more_due) {
  }
  EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 2u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 3}}));
  ExpectSound();
}

TEST_F(ClockTest, TimeToLiveOfProvisionalRowsCountsFromTheirTrueTime) {
  clock_->SetWallMicros(0);
  RowBatch batch(schema_);
  AddRow(&batch, "a", kStartMs, 1, RowKind::kInsert, 100);
  ASSERT_TRUE(engine_->Append(batch).ok());
  EXPECT_EQ(ScanAll("a").size(), 1u);
  clock_->AdvanceSeconds(60);
  clock_->SetWallMicros(kStartUs + 60'000'000);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_EQ(ScanAll("a").size(), 1u);  // written at kStartUs
  clock_->AdvanceSeconds(39);
  EXPECT_EQ(ScanAll("a").size(), 1u);
  clock_->AdvanceSeconds(1);
  EXPECT_TRUE(ScanAll("a").empty());
}

TEST_F(ClockTest, EventTimesFarAheadOfATrustedClockAreRefused) {
  const int64_t ahead_ms = limits::kFutureSecondsDefault * 1000;
  EXPECT_TRUE(Append("a", kStartMs + ahead_ms, 1).ok());
  EXPECT_EQ(Append("a", kStartMs + ahead_ms + 1000, 1).code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace cistern::testing
