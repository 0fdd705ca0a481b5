// A wall clock that runs ahead or was believed wrongly: it costs no row, and is taken back.
#include <algorithm>
#include <string>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr char kMonth[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day' AND default_time_to_live = 2592000;
)";
constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kHourS = 3'600;
constexpr int64_t kDayS = 86'400;
constexpr int64_t kYearS = 365 * kDayS;
constexpr int64_t kDwellS = limits::kClockDwellSecondsDefault;

class ClockJumpTest : public EngineFixture {
 protected:
  void SetUp() override {
    clock_->Reboot("boot-1", kStartUs);
    OpenWithTable(kMonth);
    MustAppend("a", kStartMs, 1);
    MustAppend("b", kStartMs, 2);
  }
  // Time passes with its maintenance, minute by minute.
  void Live(int64_t s) {
    for (; s > 0; s -= 60) {
      clock_->AdvanceSeconds(std::min<int64_t>(s, 60));
      TickAll();
    }
  }
  // The same far ahead: hour by hour.
  void LiveLong(int64_t s) {
    for (; s > 0; s -= kHourS) {
      clock_->AdvanceSeconds(std::min(s, kHourS));
      TickAll();
    }
  }
  void Jump(int64_t s) {
    clock_->StepWallMicros(s * kSecondUs);
    TickAll();
  }
  void Boot(int64_t wall_us) {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    clock_->Reboot("boot-" + std::to_string(++boots_), wall_us);
    Open();
    TickAll();
  }
  [[nodiscard]] bool trusted() { return engine_->GetMetrics().clock_trusted; }
  [[nodiscard]] uint64_t sealed() { return engine_->GetMetrics().versions_sealed; }
  void ExpectNothingGone() {
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_expired, 0u);
    EXPECT_EQ(m.versions_shed, 0u);
    EXPECT_EQ(m.versions_open + m.versions_sealed, m.versions_written);
  }
  int boots_ = 1;
};

// The cases of the beginning: years or two months ahead, below the ceiling of ten years.
TEST_F(ClockJumpTest, AWallClockFarAheadCostsNothing) {
  for (const int64_t ahead_s : {5 * kYearS, 60 * kDayS, 60 * kDayS / 16}) {
    Jump(ahead_s);
    EXPECT_FALSE(trusted()) << ahead_s;
    Live(kHourS);
    EXPECT_FALSE(trusted());
    EXPECT_EQ(engine_->Seal({}).status().code(), StatusCode::kBusy);
    EXPECT_EQ(engine_->Expire().status().code(), StatusCode::kBusy);
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}})) << "readers go by the witness";
    EXPECT_EQ(sealed(), 0u);
    Jump(-ahead_s);
    EXPECT_TRUE(trusted()) << "at once";
  }
  ExpectNothingGone();
  Live(kDayS);
  EXPECT_EQ(sealed(), 2u) << "at its true time";
  ExpectNothingGone();
  LiveLong(29 * kDayS);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 2u) << "at their true time too";
  ExpectSound();
}

// As in a boot, so in the next one; and reboots do not make it true.
TEST_F(ClockJumpTest, ABootFarAheadCostsNothing) {
  for (const int64_t ahead_s : {5 * kYearS, 60 * kDayS}) {
    Boot(kStartUs + ahead_s * kSecondUs);
    EXPECT_FALSE(trusted());
    MustAppend("c", kStartMs, 3);
    Live(kHourS);
    Boot(clock_->WallMicros());
    EXPECT_FALSE(trusted());
    EXPECT_EQ(ScanAll("c"), (Rows{{kStartMs, 3}}));
    EXPECT_EQ(sealed(), 0u);
    ExpectNothingGone();
    Boot(kStartUs + 2 * kHourS * kSecondUs);
    EXPECT_TRUE(trusted());
  }
  ExpectSound();
}

// However long it lasts: it is believed after a while, sealed and shown by, and nothing goes by it
// that is nowhere else.
TEST_F(ClockJumpTest, AFalseTimeThatIsBelievedEndsNothingThatIsNotConfirmed) {
  options_.keep_unconfirmed_s = 90 * kDayS;
  Reopen();
  Jump(5 * kYearS);
  Live(kDwellS);
  ASSERT_TRUE(trusted());
  Live(2 * kHourS);
  EXPECT_EQ(sealed(), 2u);
  EXPECT_TRUE(ScanAll("a").empty()) << "readers follow";
  LiveLong(20 * kDayS);
  for (int boots = 0; boots < 3; ++boots) {
    Boot(clock_->WallMicros());
    ASSERT_TRUE(trusted());
    ASSERT_TRUE(engine_->Expire().ok());
  }
  ExpectNothingGone();
  const auto windows = engine_->ListWindows();
  ASSERT_TRUE(windows.ok());
  EXPECT_NE(windows->front().why.find("over by a clock that nobody has confirmed"),
            std::string::npos)
      << windows->front().why;
  // The true time is back.
  Jump(-5 * kYearS);
  EXPECT_FALSE(trusted());
  Live(kDwellS);
  EXPECT_TRUE(trusted());
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  ExpectNothingGone();
  LiveLong(10 * kDayS);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 2u) << "now it is their time";
  ExpectSound();
}

// Behind a false time that was believed timestamps stay above it, and all goes on by the true one.
TEST_F(ClockJumpTest, AFalseTimeIsTakenBackWithinAStatedTime) {
  Jump(60 * kDayS / 16);  // 3.75 days
  Live(kDwellS);
  ASSERT_TRUE(trusted());
  MustAppend("a", kStartMs + 1, 5);
  const int64_t last_us = Core()->clock().last_issued_us();
  EXPECT_GT(last_us, kStartUs + 3 * kDayS * kSecondUs);
  Jump(-60 * kDayS / 16);
  EXPECT_FALSE(trusted());
  MustAppend("a", kStartMs + 1, 6);
  Live(kDwellS);
  ASSERT_TRUE(trusted());
  MustAppend("a", kStartMs + 1, 7);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 7}})) << "the later write wins";
  EXPECT_GT(Core()->clock().last_issued_us(), last_us);
  Crash();
  EXPECT_TRUE(trusted()) << "it is kept";
  MustAppend("a", kStartMs + 1, 8);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 8}}));
  // Sealing goes on, though timestamps lie ahead of the clock.
  Live(kDayS);
  EXPECT_EQ(sealed(), engine_->GetMetrics().versions_written -
                          engine_->GetMetrics().versions_superseded);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 8}}));
  MustAppend("a", kStartMs + 2, 9);
  Live(kHourS);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u) << "rows of a past bucket too";
  ExpectSound();
}

// The same where no boot lasts as long as a clock has to go on: half an hour each.
TEST_F(ClockJumpTest, AFalseTimeIsTakenBackOverReboots) {
  Boot(kStartUs + 5 * kYearS * kSecondUs);
  Live(kDwellS);
  ASSERT_TRUE(trusted());
  int64_t true_us = kStartUs + kDayS * kSecondUs;
  int boots = 0;
  do {
    ASSERT_LT(++boots, 20);
    Boot(true_us);
    Live(1'800);
    true_us = clock_->WallMicros() + 60 * kSecondUs;
  } while (!trusted());
  EXPECT_GE(boots * 1'800, kDwellS);
  Boot(true_us);
  EXPECT_TRUE(trusted());
  Live(kHourS);
  EXPECT_EQ(sealed(), 2u);
  ExpectNothingGone();
}

// A power cut in each boot, so that nothing is kept at its end.
TEST_F(ClockJumpTest, WhatHasDwelledIsKeptInBetween) {
  Jump(-2 * kDayS);
  for (int i = 0; !trusted(); ++i) {
    ASSERT_LT(i, 20);
    Live(1'800);
    const std::string copy = CopyStore();
    engine_.reset();
    clock_->Reboot("boot-" + std::to_string(++boots_), clock_->WallMicros() + kSecondUs);
    GoOnWith(copy);
    TickAll();
  }
}

TEST_F(ClockJumpTest, APersonTakesAFalseTimeBackAtOnce) {
  Jump(5 * kYearS);
  Live(kDwellS);
  ASSERT_TRUE(trusted());
  Jump(-5 * kYearS);
  auto report = engine_->GetClock();
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->trusted);
  EXPECT_EQ(report->wall_us, clock_->WallMicros());
  EXPECT_EQ(report->now_us, clock_->WallMicros() + 5 * kYearS * kSecondUs);
  EXPECT_EQ(report->certain_us, clock_->WallMicros());
  EXPECT_EQ(report->dwell_left_us, kDwellS * kSecondUs);
  EXPECT_NE(report->why.find("1825 days behind"), std::string::npos) << report->why;
  MustAppend("a", kStartMs, 3);
  EXPECT_TRUE(engine_->GetClock()->rows_wait);
  report = engine_->ConfirmClock();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->trusted);
  EXPECT_FALSE(report->rows_wait);
  EXPECT_EQ(report->now_us, clock_->WallMicros());
  Crash();
  EXPECT_TRUE(trusted()) << "durable when it answers";
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 3}}));
  Live(kDayS);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  ExpectSound();
}

TEST_F(ClockJumpTest, WhatAPersonOrTheHostConfirmsEndsRowsAtOnce) {
  Live(kDayS + kHourS);
  ASSERT_EQ(sealed(), 2u);
  Boot(clock_->WallMicros() + 40 * kDayS * kSecondUs);  // in a drawer
  EXPECT_FALSE(trusted());
  EXPECT_EQ(ScanAll("a").size(), 1u);
  EXPECT_EQ(engine_->ConfirmClock()->why,
            "the wall clock is believed: it was confirmed in this boot");
  TickAll();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 2u);
  MustAppend("c", kStartMs + 41 * kDayMs, 1);
  Live(2 * kDayS);
  Boot(clock_->WallMicros() + 40 * kDayS * kSecondUs);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 2u);
  clock_->SetSync(ClockSync::kYes);
  TickAll();
  EXPECT_TRUE(trusted());
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 3u);
  ExpectSound();
}

TEST_F(ClockJumpTest, NobodyConfirmsWhatIsNoTime) {
  clock_->SetWallMicros(0);
  EXPECT_EQ(engine_->ConfirmClock().status().code(), StatusCode::kOutOfRange);
  EXPECT_FALSE(trusted());
  clock_->SetWallMicros(INT64_MAX);
  EXPECT_EQ(engine_->ConfirmClock().status().code(), StatusCode::kOutOfRange);
  clock_->SetWallMicros(INT64_MIN);
  TickAll();
  EXPECT_EQ(engine_->GetClock()->now_us, kStartUs);
  EXPECT_TRUE(Core()->committer().failure().ok());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.read_only = true;
  Open();
  EXPECT_EQ(engine_->ConfirmClock().status().code(), StatusCode::kReadOnly);
  EXPECT_FALSE(engine_->GetClock()->trusted);
}

// A boot that is near is believed, and what is nowhere else does not go by it.
TEST_F(ClockJumpTest, BootsThatCreepAheadEndNothingThatIsNotConfirmed) {
  Live(kDayS + kHourS);
  ASSERT_EQ(sealed(), 2u);
  for (int boot = 0; boot < 12; ++boot) {
    Boot(clock_->WallMicros() + 7 * kDayS * kSecondUs);
    ASSERT_TRUE(trusted()) << boot;
  }
  ASSERT_TRUE(engine_->Expire().ok());
  ExpectNothingGone();
  EXPECT_TRUE(ScanAll("a").empty());
}

// Upstream has them: what is believed after dwelling is enough.
TEST_F(ClockJumpTest, ConfirmedWindowsGoByTheTimeThatIsBelieved) {
  Live(kDayS + kHourS);
  ASSERT_EQ(sealed(), 2u);
  std::vector<SealName> seals;
  for (const auto& window : Core()->store().spills().view()->windows) {
    OutboxWalker walker(Core()->store().spills().view(), window->id);
    for (bool more = true; more;) {
      const auto next = walker.Next();
      ASSERT_TRUE(next.ok()) << next.status().ToString();
      more = next->has_value();
      if (more) seals.push_back(**next);
    }
  }
  ASSERT_EQ(seals.size(), 2u);
  ASSERT_TRUE(TryConfirm(seals).ok());
  Jump(5 * kYearS);
  Live(kDwellS - 60);
  ASSERT_FALSE(trusted());
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 0u) << "not before it has dwelled";
  Live(kHourS);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 2u);
}

// What an engine of the version before believed it no longer goes by.
TEST_F(ClockJumpTest, AStoreThatBelievesAFalseTimeOpensAndComesBack) {
  StateRecord state = Core()->store().state();
  ClockRecord before;
  before.trusted_us = before.certain_us = kStartUs + 5 * kYearS * kSecondUs;
  ASSERT_TRUE(Core()->store().PutClock(before).ok());
  Crash();
  EXPECT_FALSE(trusted());
  Live(kDwellS);
  EXPECT_TRUE(trusted());
  Live(kDayS);
  EXPECT_EQ(sealed(), 2u);
  ExpectNothingGone();
}

}  // namespace
}  // namespace cistern::testing
