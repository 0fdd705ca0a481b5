// Seals that are refused again and again: the others go on, and it is said.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/engine/replicate/replication_fixture.h"
#include "tests/support/fault_fs.h"

namespace cistern::testing {
namespace {

using fake_cassandra::Fault;

// Writes that name such an entity time out.
class TimeoutsOf final : public fake_cassandra::FaultScript {
 public:
  explicit TimeoutsOf(std::string entity) : entity_(std::move(entity)) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    const bool is_meant = request.is_write && request.body.find(entity_) != std::string_view::npos;
    if (is_meant) byte_count_ += request.body.size();
    return {.fault = is_meant ? Fault::kWriteTimeout : Fault::kNone};
  }
  [[nodiscard]] size_t byte_count() const { return byte_count_; }  // of those

 private:
  const std::string entity_;
  size_t byte_count_ = 0;
};

// For a while most writes fail; then none does.
class Brownout final : public fake_cassandra::FaultScript {
 public:
  Brownout(std::shared_ptr<FakeClock> clock, int64_t for_us, uint64_t one_in)
      : clock_(std::move(clock)), for_us_(for_us), one_in_(one_in) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (!request.is_write) return {};
    const int64_t now_us = clock_->MonotonicMicros();
    if (!begin_us_) begin_us_ = now_us;
    if (now_us - *begin_us_ >= for_us_ || ++writes_ % one_in_ == 0) return {};
    return {.fault = Fault::kWriteFailure};
  }

 private:
  const std::shared_ptr<FakeClock> clock_;
  const int64_t for_us_;
  const uint64_t one_in_;  // goes
  uint64_t writes_ = 0;
  std::optional<int64_t> begin_us_;
};

// The first writes are answered Overloaded.
class Overloads final : public fake_cassandra::FaultScript {
 public:
  explicit Overloads(int count) : left_(count) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (!request.is_write || left_ == 0) return {};
    --left_;
    return {.fault = fake_cassandra::Fault::kOverloaded};
  }

 private:
  int left_;
};

// Writes of one entity time out as long as it is said, those of others go.
class TimeoutsWhile final : public fake_cassandra::FaultScript {
 public:
  TimeoutsWhile(std::string entity, std::shared_ptr<const bool> goes_on)
      : entity_(std::move(entity)), goes_on_(std::move(goes_on)) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    const bool is_meant =
        *goes_on_ && request.is_write && request.body.find(entity_) != std::string_view::npos;
    if (!is_meant) return {};
    ++count_;
    return {.fault = fake_cassandra::Fault::kWriteTimeout};
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  const std::string entity_;
  const std::shared_ptr<const bool> goes_on_;
  int count_ = 0;
};

class ReplicationTroubleTest : public ReplicationFixture {
 protected:
  ReplicationTroubleTest() { fs_ = faults_; }
  void StartAll(std::shared_ptr<fake_cassandra::FaultScript> script = nullptr) {
    fake_cassandra::ClusterOptions options;
    options.syncs_later = true;
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, std::move(script)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    cluster_->SyncCommitLogs();
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // The cluster forgets all rows, and never has one on disk.
  void LoseSilently() {
    synced_us_ = clock_->MonotonicMicros() + 3'600'000'000;
    cluster_->WithState([](fake_cassandra::ClusterState& state) {
      state.Crash(0, fake_cassandra::CommitLog::kUnsyncedLost);
      state.SetUp(0, true);
    });
  }
  // As if the cluster had refused all that waits.
  void NoteAllParked(size_t count) {
    std::vector<std::pair<SealName, PushRecord>> records;
    for (const auto& window : Core()->store().spills().view()->windows) {
      OutboxWalker walker(Core()->store().spills().view(), window->id);
      for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
        PushRecord record;
        record.state = PushState::kParked;
        record.bucket = (*entry)->bucket;
        record.words = "refused";
        records.emplace_back(**entry, record);
      }
    }
    ASSERT_EQ(records.size(), count);
    ASSERT_TRUE(Core()->maintenance().NotePushes(records).ok());
  }
  Metrics Counters() { return engine_->GetMetrics(); }

  const std::shared_ptr<FaultFileSystem> faults_ = std::make_shared<FaultFileSystem>();
};

TEST_F(ReplicationTroubleTest, SealsWhoseWritesTimeOutHoldUpNoOthers) {
  replicator_.pushing_count_max = 2;
  replicator_.drain.mode = DrainMode::kOldest;
  for (int i = 0; i < 6; ++i) Write("bad" + std::to_string(i), kStartMs, i);
  for (int i = 0; i < 5; ++i) Write("good" + std::to_string(i), kStartMs + kDayMs, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(std::make_shared<TimeoutsOf>("bad")));
  ASSERT_TRUE(TurnUntil([&] { return !status_.refused.ok(); })) << Explain();
  EXPECT_NE(status_.refused.message().find("imed out"), std::string::npos)
      << status_.refused.ToString();
  ASSERT_TRUE(TurnUntil([&] { return Counters().versions_confirmed == 5; })) << Explain();
  // That they are to blame shows where another seal went since.
  for (int64_t more = 0; more < 3; ++more) {
    Write("good", kStartMs + (2 + more) * kDayMs, 1);
    SealAll();
    ASSERT_NO_FATAL_FAILURE(RunFor(150'000'000));
  }
  EXPECT_EQ(status_.phase, ReplicationPhase::kStuck);
  EXPECT_EQ(Counters().versions_confirmed, 8u);
  EXPECT_EQ(Counters().versions_parked, 6u);
  EXPECT_TRUE(status_.refused.ok()) << "what is parked is told of elsewhere";
  ExpectSound();
}

// It is the cluster then, and no seal.
TEST_F(ReplicationTroubleTest, AClusterThatIsSlowForAllIsWaitedFor) {
  replicator_.pushing_count_max = 2;
  for (int i = 0; i < 6; ++i) Write("p" + std::to_string(i), kStartMs, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(std::make_shared<TimeoutsOf>("p")));
  ASSERT_NO_FATAL_FAILURE(RunFor(900'000'000));
  EXPECT_EQ(Counters().versions_parked, 0u);
  EXPECT_EQ(Counters().versions_waiting, 6u);
  EXPECT_FALSE(status_.refused.ok());
  ASSERT_TRUE(cluster_->Heal().ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_TRUE(status_.refused.ok());
  ExpectEqual();
}

// The cluster has lost what it had: of a seal that was sent in part too.
TEST_F(ReplicationTroubleTest, ASealThatWasSentInPartIsResentFromItsStart) {
  replicator_.checkpoint_bytes = 4'096;
  replicator_.hold_us = 1'000'000;
  replicator_.bytes_per_s_max = 5'000;
  for (int i = 0; i < 1'000; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll());
  const TimeRange range{kStartMs, kStartMs + kDayMs};
  const auto is_noted = [&] { return !Core()->store().pushes().empty(); };
  ASSERT_TRUE(TurnUntil(is_noted)) << Explain();
  // While it is on its way.
  LoseSilently();
  auto resent = service_->ResendRange("pumps", range);
  ASSERT_TRUE(resent.ok()) << resent.status().ToString();
  EXPECT_EQ(*resent, 1u);
  EXPECT_FALSE(is_noted());
  // And while nobody sends it.
  ASSERT_TRUE(TurnUntil(is_noted)) << Explain();
  service_.reset();
  LoseSilently();
  resent = Resend(engine_.get(), "pumps", range);
  ASSERT_TRUE(resent.ok()) << resent.status().ToString();
  EXPECT_EQ(*resent, 1u);
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Counters().versions_confirmed, 1'000u);
  ExpectEqual();
}

TEST_F(ReplicationTroubleTest, WhatIsHeldIsResentAsWell) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  LoseSilently();
  ASSERT_TRUE(service_->ResendRange("pumps", {kStartMs, kStartMs + 2 * kDayMs}).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// What was on its way together is refused together: that is one attempt.
TEST_F(ReplicationTroubleTest, AShortBrownoutParksNothing) {
  replicator_.statement_count_max = 10;
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 400; ++i) Write("p" + std::to_string(s), kStartMs + i, i);
  }
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(std::make_shared<Brownout>(clock_, 5'000'000, 5)));
  ASSERT_TRUE(TurnUntil([&] {
    return status_.phase == ReplicationPhase::kIdle || status_.phase == ReplicationPhase::kStuck;
  })) << Explain();
  EXPECT_EQ(Counters().versions_parked, 0u);
  EXPECT_GT(status_.counters.batches_refused, 8u);
  ExpectEqual();
}

// Fewer of them than places: their pages fill the memory that sending may take.
TEST_F(ReplicationTroubleTest, SealsOfWideRowsThatAreRefusedHoldUpNoOthers) {
  replicator_.drain.mode = DrainMode::kOldest;
  for (int s = 0; s < 3; ++s) {
    for (int i = 0; i < 40; ++i) {
      RowBatch batch(schema_);
      batch.BeginRow(RowKind::kInsert);
      ASSERT_TRUE(batch.SetBytes(0, "bad" + std::to_string(s)).ok());
      ASSERT_TRUE(batch.SetInt(2, kStartMs + i).ok());
      ASSERT_TRUE(batch.SetBytes(4, std::string(40'000, 'x')).ok());
      ASSERT_TRUE(batch.EndRow().ok());
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    SealAll();
  }
  for (int i = 0; i < 5; ++i) Write("good" + std::to_string(i), kStartMs + kDayMs, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(std::make_shared<TimeoutsOf>("bad")));
  ASSERT_TRUE(TurnUntil([&] { return Counters().versions_confirmed == 5; })) << Explain();
}

// The steps that a resend had made when it failed are durable.
TEST_F(ReplicationTroubleTest, WhatAResendThatFailedHadPutBackIsSent) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  faults_->Arm(cistern::Fault{
      .op = FaultOp::kSync, .kind = FileKind::kWal, .nth = 2, .error = FaultError::kNoSpace});
  const auto resent = service_->ResendRange("pumps", {kStartMs, kStartMs + 2 * kDayMs});
  ASSERT_FALSE(resent.ok());
  ASSERT_GT(faults_->injected(), 0u);
  ASSERT_TRUE(TurnUntil([&] {
    (void)engine_->Tick({10});
    return status_.phase == ReplicationPhase::kIdle && Counters().versions_waiting == 0;
  })) << Explain();
  ExpectEqual();
}

// A read that fails once, where the seal is opened or later: it is read again.
TEST_F(ReplicationTroubleTest, AReadThatFailsOnceParksNothing) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  for (uint64_t sent = 1; sent <= 10; ++sent) {
    const uint64_t nth = 4 * sent;
    SCOPED_TRACE(nth);
    service_.reset();
    Write("p" + std::to_string(sent), kStartMs, 1);
    SealAll();
    faults_->Arm(cistern::Fault{.op = FaultOp::kRead, .kind = FileKind::kSst, .nth = nth});
    ASSERT_NO_FATAL_FAILURE(StartService());
    ASSERT_TRUE(TurnUntil([&] {
      (void)engine_->Tick({10});  // where it was a write that had to read, the store is opened anew
      return Counters().versions_confirmed == sent;
    })) << Explain();
    faults_->Disarm();
  }
}

// Of a table with a TTL, all that may be parked; then their window ends.
class EndedParkedTest : public ReplicationTroubleTest {
 protected:
  void SetUp() override {
    OpenWithTable(
        "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, flow double, state text, "
        "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day' "
        "AND default_time_to_live = 86400");
  }
};

TEST_F(EndedParkedTest, ATableIsNotHeldForWhatIsNotThereAnyMore) {
  RowBatch batch(schema_);
  for (size_t i = 0; i < limits::kParkedSealsPerTableMax; ++i) {
    AddRow(&batch, "s" + std::to_string(i), kStartMs, 1);
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  ASSERT_NO_FATAL_FAILURE(NoteAllParked(limits::kParkedSealsPerTableMax));
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  clock_->AdvanceSeconds(5 * 86'400);
  ASSERT_TRUE(engine_->Expire().ok());
  TickAll();
  ASSERT_EQ(Counters().versions_parked, 0u);
  Write("new", kStartMs + 5 * kDayMs, 1);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return Counters().versions_confirmed == 1; })) << Explain();
}

// Confirm passes over it.
TEST_F(EndedParkedTest, ASealThatEndedWhileHeldIsNotCountedAsConfirmed) {
  replicator_.hold_us = 600'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("ends", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  clock_->AdvanceSeconds(5 * 86'400);
  ASSERT_TRUE(engine_->Expire().ok());
  TickAll();
  ASSERT_EQ(Counters().versions_expired, 1u);
  Write("stays", kStartMs + 14 * kDayMs, 1);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return Counters().versions_confirmed == 1; })) << Explain();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_confirmed, 1u);
}

// Nor proved, and nothing of it stays in memory.
TEST_F(EndedParkedTest, ASealThatEndedBeforeItsProofIsForgotten) {
  replicator_.hold_us = 600'000'000;
  replicator_.proof = ProofLevel::kRows;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("before", kStartMs + 9 * kDayMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ASSERT_NO_FATAL_FAILURE(RunFor(60'000'000));
  const uint64_t before_bytes = status_.memory_bytes;
  Write(std::string(1'000, 'e'), kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  clock_->AdvanceSeconds(5 * 86'400);
  ASSERT_TRUE(engine_->Expire().ok());
  TickAll();
  ASSERT_EQ(Counters().versions_expired, 2u);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ASSERT_NO_FATAL_FAILURE(RunFor(60'000'000));
  EXPECT_EQ(status_.seals_holding, 0u);
  EXPECT_LT(status_.memory_bytes, before_bytes + 1'000);
}

class ManyParkedTest : public ReplicationTroubleTest {
 protected:
  // As many as the store remembers, of tables that are not sent from.
  void ParkAll() {
    constexpr size_t kTables = limits::kPushRecordsMax / limits::kParkedSealsPerTableMax;
    for (size_t t = 0; t < kTables; ++t) {
      const std::string name = "plant.t" + std::to_string(t);
      ASSERT_NO_FATAL_FAILURE(CreateTableLikePumps(name));
      RowBatch batch(*engine_->FindTable(name));
      for (size_t i = 0; i < limits::kParkedSealsPerTableMax; ++i) {
        AddRow(&batch, "s" + std::to_string(i), kStartMs, 1);
      }
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    SealAll();
    NoteAllParked(limits::kPushRecordsMax);
  }
  void WriteRefused(const std::string& sensor) {
    Write(sensor, kStartMs, 1, RowKind::kInsert, 20 * 365 * 86'400);  // it expires after 2038
  }
  void SetUp() override {
    ReplicationTroubleTest::SetUp();
    ASSERT_NO_FATAL_FAILURE(StartCluster());
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(ParkAll());
    replicator_.hold_us = 1'000'000;
    replicator_.drain.mode = DrainMode::kOldest;
  }
};

TEST_F(ManyParkedTest, OneMoreThatIsRefusedAndPositionsThatDoNotFitStopNothing) {
  WriteRefused("bad");
  for (int i = 0; i < 1'000; ++i) Write("long", kStartMs + i, i);
  for (int i = 0; i < 20; ++i) Write("small" + std::to_string(i), kStartMs + kDayMs, i);
  SealAll();
  replicator_.checkpoint_bytes = 4'096;
  replicator_.bytes_per_s_max = 20'000;
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.counters.seals_confirmed, 21u);
  EXPECT_TRUE(last_error_.ok()) << last_error_.ToString();
}

TEST_F(ManyParkedTest, WhereTooManyAreParkedAllTablesAreHeldWithAWord) {
  for (int i = 0; i < 400; ++i) WriteRefused("bad" + std::to_string(i));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_TRUE(last_error_.ok()) << last_error_.ToString();
  EXPECT_LT(status_.counters.seals_parked, 300u);
  ASSERT_FALSE(status_.held.empty());
  EXPECT_NE(status_.held[0].why.message().find("of all tables are parked"), std::string::npos);
  EXPECT_EQ(status_.held[0].reason, HeldReason::kParked);
  // Once there is room all are tried again, and remembered.
  ASSERT_TRUE(RetryParked(engine_.get(), "plant.t0").ok());
  service_->LookAgain();
  ASSERT_TRUE(TurnUntil([&] { return Counters().versions_parked == 3 * 1'024 + 400; }))
      << Explain();
}

// The session sends a batch that times out five times before it gives it up.
TEST_F(ReplicationTroubleTest, TheCapHoldsForWhatIsSentAgain) {
  constexpr int64_t kCapBytesPerS = 2'000;
  replicator_.bytes_per_s_max = kCapBytesPerS;
  replicator_.statement_count_max = 100;
  for (int i = 0; i < 2'000; ++i) Write("p" + std::to_string(i % 10), kStartMs + i, i);
  SealAll();
  const auto script = std::make_shared<TimeoutsOf>("p");
  ASSERT_NO_FATAL_FAILURE(StartAll(script));
  ASSERT_TRUE(TurnUntil([&] { return script->byte_count() > 0; })) << Explain();
  const int64_t begin_us = clock_->MonotonicMicros();
  ASSERT_NO_FATAL_FAILURE(RunFor(120'000'000));
  const auto passed_s = static_cast<double>(clock_->MonotonicMicros() - begin_us) / 1e6;
  // Five times the batch that nobody had to wait for, and the burst.
  constexpr double kBatchBytes = 100 * 100;
  EXPECT_GT(static_cast<double>(script->byte_count()), 0.3 * kCapBytesPerS * passed_s);
  EXPECT_LT(static_cast<double>(script->byte_count()),
            kCapBytesPerS * (passed_s + 1) + 5 * kBatchBytes);
}

// Sixteen batches on their way are refused together: one pause, not sixteen that double.
TEST_F(ReplicationTroubleTest, ARoundThatIsRefusedMakesOnePause) {
  replicator_.statement_count_max = 10;
  replicator_.hold_us = 0;
  for (int i = 0; i < 400; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  // The session tries each batch five times before it is refused.
  ASSERT_NO_FATAL_FAILURE(StartAll(std::make_shared<Overloads>(80)));
  const int64_t begin_us = clock_->MonotonicMicros();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.versions_sent >= 400; })) << Explain();
  EXPECT_GE(status_.counters.batches_refused, 10u);
  EXPECT_LT(clock_->MonotonicMicros() - begin_us, 5'000'000);
}

// A host goes while batches are on their way, and they are sent again; what is still refused of the
// first sending says nothing of the second, and is no attempt.
TEST_F(ReplicationTroubleTest, BatchesOfBeforeAHostWasLostAreNoAttempts) {
  replicator_.statement_count_max = 10;
  replicator_.bytes_per_s_max = 30'000;
  for (int i = 0; i < 400; ++i) Write("bad", kStartMs + i, i);
  SealAll();
  for (int i = 0; i < 4000; ++i) Write("good", kStartMs + i, i);
  SealAll();
  const auto goes_on = std::make_shared<bool>(true);
  const auto script = std::make_shared<TimeoutsWhile>("bad", goes_on);
  fake_cassandra::ClusterOptions options;
  options.syncs_later = true;
  options.node_count = 3;
  ASSERT_NO_FATAL_FAILURE(StartCluster(options, script));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  cluster_->SyncCommitLogs();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_TRUE(TurnUntil([&] { return script->count() >= 8; })) << Explain();
  const uint64_t refused = status_.counters.batches_refused;
  cluster_->TakeDown(2);
  const int64_t down_us = clock_->MonotonicMicros();
  const auto passed = [&](int64_t us) { return clock_->MonotonicMicros() - down_us > us; };
  ASSERT_TRUE(TurnUntil([&] {
    return status_.counters.batches_refused >= refused + 8 || passed(3'000'000);
  })) << Explain();
  *goes_on = false;
  ASSERT_TRUE(TurnUntil([&] { return passed(240'000'000); })) << Explain();
  EXPECT_EQ(Counters().versions_parked, 0u);
  EXPECT_EQ(Counters().versions_confirmed, 4400u);
}

}  // namespace
}  // namespace cistern::testing
