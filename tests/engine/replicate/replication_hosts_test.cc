// Hosts that go take with them what they acknowledged and had not on disk; some say nothing.
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

using fake_cassandra::CommitLog;

// As long as it is said, writes with this value time out; what comes of its entity behind them may
// be answered late.
class TimeoutsOfValue final : public fake_cassandra::FaultScript {
 public:
  TimeoutsOfValue(double value, std::string entity, int64_t delay_us)
      : value_(BigBytes(std::bit_cast<uint64_t>(value))),
        entity_(std::move(entity)),
        delay_us_(delay_us) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (!request.is_write) return {};
    const auto has = [&](const std::string& bytes) {
      return request.body.find(bytes) != std::string_view::npos;
    };
    saw_other_ |= !has(entity_);
    if (!goes_on_) return {};
    if (has(value_)) {
      saw_value_ = true;
      return {.fault = fake_cassandra::Fault::kWriteTimeout};
    }
    if (delay_us_ == 0 || !saw_value_ || !has(entity_)) return {};
    return {.fault = fake_cassandra::Fault::kDelay, .delay_us = delay_us_};
  }
  [[nodiscard]] bool saw_other() const { return saw_other_; }
  void Stop() { goes_on_ = false; }

 private:
  const std::string value_;
  const std::string entity_;
  const int64_t delay_us_;
  bool saw_value_ = false;
  bool saw_other_ = false;
  bool goes_on_ = true;
};

class ReplicationHostsTest : public ReplicationFixture {
 protected:
  void StartAll(size_t node_count = 1) {
    fake_cassandra::ClusterOptions options;
    options.syncs_later = true;
    options.node_count = node_count;
    ASSERT_NO_FATAL_FAILURE(StartCluster(options));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    cluster_->SyncCommitLogs();
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // What comes now is not on disk for a whole period.
  void BeginSyncPeriod() {
    cluster_->SyncCommitLogs();
    synced_us_ = clock_->MonotonicMicros();
  }
  uint64_t Confirmed() { return engine_->GetMetrics().versions_confirmed; }
};

TEST_F(ReplicationHostsTest, APowerCutThatNobodyToldOfIsNoticedBeforeSealsAreConfirmed) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  BeginSyncPeriod();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ExpectEqual();
  cluster_->CutPower(0);
  ASSERT_NO_FATAL_FAILURE(RunFor(30'000'000));
  EXPECT_EQ(Confirmed(), 0u) << "no host was there to be asked";
  EXPECT_EQ(status_.phase, ReplicationPhase::kAway);
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_sent_again, 4u);
  ExpectEqual();
}

// One of three is enough: it may have been the one that counted.
TEST_F(ReplicationHostsTest, EveryHostIsAskedBeforeSealsAreConfirmed) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll(3));
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  BeginSyncPeriod();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  cluster_->CutPower(2);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_sent_again, 4u);
  EXPECT_EQ(Confirmed(), 6u);
}

TEST_F(ReplicationHostsTest, APositionIsNotNotedOnTheWordOfAHostThatIsDead) {
  replicator_.hold_us = 2'000'000;
  replicator_.checkpoint_bytes = 1'000;
  replicator_.statement_count_max = 10;
  replicator_.bytes_per_s_max = 5'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  for (int i = 0; i < 1'000; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  BeginSyncPeriod();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.versions_sent >= 100; })) << Explain();
  ASSERT_TRUE(Core()->store().pushes().empty());
  cluster_->CutPower(0);
  ASSERT_NO_FATAL_FAILURE(RunFor(30'000'000));
  EXPECT_TRUE(Core()->store().pushes().empty());
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_TRUE(TurnUntil([&] { return !Core()->store().pushes().empty(); })) << Explain();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// However often: a power cut of a whole cluster ends its connections one by one.
TEST_F(ReplicationHostsTest, EachLossIsAnsweredBySendingAgain) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  constexpr uint64_t kLosses = 7;
  for (uint64_t loss = 1; loss <= kLosses; ++loss) {
    BeginSyncPeriod();
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
    cluster_->TakeDown(0, CommitLog::kUnsyncedLost);
    ASSERT_NO_FATAL_FAILURE(RunFor(100'000));
    ASSERT_TRUE(cluster_->BringUp(0).ok());
    ASSERT_TRUE(TurnUntil([&] { return status_.phase != ReplicationPhase::kHolding; }));
    EXPECT_EQ(Confirmed(), 0u);
    EXPECT_EQ(status_.counters.seals_sent_again, 4 * loss);
  }
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 6u);
  ExpectEqual();
}

// A link that breaks all the time does not carry the same seals all the time.
TEST_F(ReplicationHostsTest, ThePauseBeforeASealIsSentAgainGrows) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  for (int i = 0; i < 200; ++i) {
    cluster_->ResetConnections();
    ASSERT_NO_FATAL_FAILURE(RunFor(3'000'000));
  }
  EXPECT_EQ(Confirmed(), 0u);
  EXPECT_LT(status_.counters.seals_sent_again, 4u * 40u);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// What was acknowledged of a seal that is still on its way is lost as well.
TEST_F(ReplicationHostsTest, ASealOnItsWayBeginsAnewWhereAHostIsLost) {
  replicator_.hold_us = 15'000'000;
  replicator_.statement_count_max = 10;
  replicator_.bytes_per_s_max = 5'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  for (int i = 0; i < 1'000; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  BeginSyncPeriod();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.versions_sent >= 100; })) << Explain();
  ASSERT_LT(status_.counters.versions_sent, 1'000u);
  cluster_->TakeDown(0, CommitLog::kUnsyncedLost);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kAway));
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 1'000u);
  ExpectEqual();
}

// Its time was over: it waits only to be confirmed together with others.
TEST_F(ReplicationHostsTest, WhatIsToBeConfirmedIsSentAgainWhereAHostIsLost) {
  replicator_.hold_us = 2'000'000;
  replicator_.statement_count_max = 10;
  replicator_.bytes_per_s_max = 5'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p1", kStartMs, 1);
  SealAll();
  BeginSyncPeriod();
  ASSERT_TRUE(TurnUntil([&] { return status_.seals_holding == 1; })) << Explain();
  const int64_t held_us = clock_->MonotonicMicros();
  for (int i = 0; i < 1'000; ++i) Write("p0", kStartMs + i, i);  // confirmations are gathered
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunFor(held_us + 2'500'000 - clock_->MonotonicMicros()));
  ASSERT_EQ(status_.seals_holding, 1u);
  ASSERT_EQ(status_.seals_pushing, 1u);
  cluster_->TakeDown(0, CommitLog::kUnsyncedLost);
  ASSERT_NO_FATAL_FAILURE(RunFor(200'000));
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_sent_again, 1u);
  ExpectEqual();
}

TEST_F(ReplicationHostsTest, HostsAreAskedOnlyWhereSomethingIsToBeConfirmed) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(9));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  const uint64_t before = cluster_->counters().requests;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  const uint64_t asked = cluster_->counters().requests - before;
  EXPECT_GT(asked, 0u);
  EXPECT_LT(asked, 10u) << "18 seals";
  ASSERT_NO_FATAL_FAILURE(RunFor(20'000'000));
  EXPECT_EQ(cluster_->counters().requests, before + asked);
}

// Confirmations are gathered while more are to come, and the last one waits for nobody: a short
// seal is acknowledged while a longer one goes on, which ends at another part of a second.
TEST_F(ReplicationHostsTest, TheLastSealIsConfirmedAtOnce) {
  constexpr int64_t kDayMs = 86'400'000;
  replicator_.hold_us = 0;
  replicator_.statement_count_max = 10;
  replicator_.bytes_per_s_max = 4'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  uint64_t written = 0;
  int64_t start_ms = kStartMs;
  for (const int rows : {50, 100, 115, 130, 145}) {
    Write("p1", start_ms, 1);
    for (int i = 0; i < rows; ++i) Write("p0", start_ms + kDayMs + i, i);
    start_ms += 2 * kDayMs;
    SealAll();
    written += 1 + static_cast<uint64_t>(rows);
    ASSERT_TRUE(TurnUntil([&] { return status_.counters.versions_sent == written; })) << Explain();
    ASSERT_NO_FATAL_FAILURE(RunFor(100'000));
    EXPECT_EQ(Confirmed(), written) << rows;
    ASSERT_NO_FATAL_FAILURE(RunFor(3'000'000));
  }
  ExpectEqual();
}

// A long seal, and a host that goes every 25 seconds: five of them would do to get on.
TEST_F(ReplicationHostsTest, ALongSealGetsOnBetweenLosses) {
  replicator_.hold_us = 5'000'000;
  replicator_.checkpoint_bytes = 2'048;
  replicator_.bytes_per_s_max = 2'000;
  constexpr int kRows = 6'000;
  for (int i = 0; i < kRows; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(3));
  for (int i = 0; i < 40 && Confirmed() == 0; ++i) {
    ASSERT_NO_FATAL_FAILURE(RunFor(24'000'000));
    cluster_->TakeDown(2);
    ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
    ASSERT_TRUE(cluster_->BringUp(2).ok());
  }
  EXPECT_EQ(Confirmed(), uint64_t{kRows}) << Explain();
  ExpectEqual();
}

// A seal that was sent in part, and leaves its only place to another one while it pauses.
class LeftPlaceTest : public ReplicationHostsTest {
 protected:
  static constexpr double kRefused = 1e300;
  static constexpr int kRefusedRow = 130;

  void StartWithSealInPart(int64_t delay_us) {
    replicator_.hold_us = 5'000'000;
    replicator_.pushing_count_max = 1;
    replicator_.statement_count_max = 10;
    replicator_.drain.mode = DrainMode::kOldest;
    for (int i = 0; i < 200; ++i) {
      Write("part", kStartMs + i, i == kRefusedRow ? kRefused : static_cast<double>(i));
    }
    for (int i = 0; i < 5; ++i) Write("other", kStartMs + kDayMs + i, i);
    SealAll();
    script_ = std::make_shared<TimeoutsOfValue>(kRefused, "part", delay_us);
    fake_cassandra::ClusterOptions options;
    options.syncs_later = true;
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, script_));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    cluster_->SyncCommitLogs();
    synced_us_ = clock_->MonotonicMicros() + 3'600'000'000;  // rows never are
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  void LoseSilently() {
    cluster_->WithState([](fake_cassandra::ClusterState& state) {
      state.Crash(0, CommitLog::kUnsyncedLost);
      state.SetUp(0, true);
    });
  }
  void ResendPart() {
    const auto resent = service_->ResendRange("pumps", {kStartMs, kStartMs + 2 * kDayMs});
    ASSERT_TRUE(resent.ok()) << resent.status().ToString();
  }
  void EndEqual() {
    script_->Stop();
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
    EXPECT_EQ(Confirmed(), 205u);
    ExpectEqual();
  }

  std::shared_ptr<TimeoutsOfValue> script_;
};

TEST_F(LeftPlaceTest, WhatAHostForgotBelowItIsSentAgain) {
  ASSERT_NO_FATAL_FAILURE(StartWithSealInPart(0));
  ASSERT_TRUE(TurnUntil([&] { return script_->saw_other(); })) << Explain();
  ASSERT_GE(status_.counters.versions_sent, uint64_t{kRefusedRow});
  cluster_->TakeDown(0, CommitLog::kUnsyncedLost);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kAway));
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(EndEqual());
}

TEST_F(LeftPlaceTest, WhatIsResentBeginsBelowIt) {
  ASSERT_NO_FATAL_FAILURE(StartWithSealInPart(0));
  ASSERT_TRUE(TurnUntil([&] { return script_->saw_other(); })) << Explain();
  LoseSilently();
  ASSERT_NO_FATAL_FAILURE(ResendPart());
  ASSERT_NO_FATAL_FAILURE(EndEqual());
}

// It is about to leave: of what was on its way with the refused batch the answers are awaited.
TEST_F(LeftPlaceTest, WhatIsResentWhileItLeavesBeginsBelowIt) {
  ASSERT_NO_FATAL_FAILURE(StartWithSealInPart(900'000));
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.batches_refused == 2; })) << Explain();
  ASSERT_EQ(status_.seals_pushing, 1u);
  ASSERT_FALSE(script_->saw_other());
  ASSERT_GT(status_.in_flight_bytes, 0u);
  LoseSilently();
  ASSERT_NO_FATAL_FAILURE(ResendPart());
  ASSERT_NO_FATAL_FAILURE(EndEqual());
}

// One of three comes and goes all the time. It is asked less and less, and the others confirm.
TEST_F(ReplicationHostsTest, OneThatFlapsDoesNotStopConfirmation) {
  replicator_.hold_us = 15'000'000;
  retry_us_max_ = 60'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll(3));
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  for (int i = 0; i < 60 && Confirmed() < 6; ++i) {
    cluster_->TakeDown(2);
    ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
    ASSERT_TRUE(cluster_->BringUp(2).ok());
    ASSERT_NO_FATAL_FAILURE(RunFor(9'000'000));
  }
  EXPECT_EQ(Confirmed(), 6u) << Explain();
}

}  // namespace
}  // namespace cistern::testing
