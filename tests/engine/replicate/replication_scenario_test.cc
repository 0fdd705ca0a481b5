// Seeded scenarios: a store is written, sealed, altered by amendments and crashes, while a cluster
// in which everything goes wrong takes what is sent. In the end the cluster shows exactly what was
// written, with write times and expiries, and all of it is confirmed.
//
// CISTERN_SEED names one scenario, CISTERN_SCENARIOS their number.
#include <filesystem>
#include <memory>
#include <string>

#include "tests/engine/replicate/replication_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

using fake_cassandra::Fault;

// Spends no fault on anything but writes.
class FaultsAtWrites final : public fake_cassandra::FaultScript {
 public:
  FaultsAtWrites(uint64_t seed, const fake_cassandra::SeededFaults::Mix& mix)
      : faults_(seed, mix) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    return request.is_write ? faults_.Next(request) : fake_cassandra::FaultStep{};
  }

 private:
  fake_cassandra::SeededFaults faults_;
};

class ReplicationScenario : public ReplicationFixture {
 protected:
  void Run(uint64_t seed) {
    Rng rng(seed);
    ASSERT_NO_FATAL_FAILURE(Begin(seed, &rng));
    const int turns = static_cast<int>(2 + rng.Below(6));
    for (int turn = 0; turn < turns; ++turn) {
      ASSERT_NO_FATAL_FAILURE(WriteSome(&rng));
      if (!rng.OneIn(3)) SealAll();
      const auto run_us = static_cast<int64_t>(rng.Below(2) * rng.Below(8'000'000));
      ASSERT_NO_FATAL_FAILURE(RunFor(run_us));
      if (rng.OneIn(5)) {
        ASSERT_NO_FATAL_FAILURE(Restart(&rng));
      }
      if (rng.OneIn(8)) clock_->AdvanceSeconds(static_cast<int64_t>(rng.Below(4'000)));
    }
    SealAll();
    ASSERT_TRUE(cluster_->Heal().ok());
    // What was refused though others went is parked; now a person comes.
    for (int look = 0; look < 3 && Unconfirmed() > 0; ++look) {
      ASSERT_TRUE(RetryParked(engine_.get(), std::nullopt).ok());
      service_->LookAgain();
      ASSERT_TRUE(TurnUntil([&] { return engine_->GetMetrics().versions_waiting == 0; }))
          << Explain();
    }
    EXPECT_EQ(Unconfirmed(), 0u) << Explain();
    EXPECT_EQ(cluster_->counters().protocol_errors, 0u);
    // What is confirmed is on disk: a power cut of the whole cluster takes nothing of it.
    for (size_t node = 0; node < node_count_; ++node) {
      cluster_->TakeDown(node, fake_cassandra::CommitLog::kUnsyncedLost);
    }
    ExpectEqual();
    ExpectSound();
    ExpectProved();
    faults_met_ += cluster_->counters().fault_count();
    // Of the last replicator of the scenario alone.
    counted_ += status_.counters.seals_counted;
    read_back_ += status_.counters.seals_read_back;
    service_.reset();
    engine_.reset();
    RemoveStores();
  }

  // The store knows of the level at which the last replicator had seals confirmed, and of none that
  // nobody asked for: a count that is too small is proved by the rows.
  void ExpectProved() {
    const Metrics m = engine_->GetMetrics();
    const bool may_count = replicator_.proof == ProofLevel::kCount;
    const bool may_read_back = replicator_.proof != ProofLevel::kAck;
    EXPECT_TRUE(may_count || m.versions_confirmed_by_count == 0);
    EXPECT_TRUE(may_read_back || m.versions_confirmed_by_rows == 0);
    EXPECT_GE(m.versions_confirmed_by_count, status_.counters.seals_counted);
    EXPECT_GE(m.versions_confirmed_by_rows, status_.counters.seals_read_back);
  }

  // Its store and what crashes left of it: thousands of them would fill the disk.
  void RemoveStores() {
    for (const auto& entry : std::filesystem::directory_iterator(temp_.path())) {
      std::filesystem::remove_all(entry.path());
    }
  }

  uint64_t Unconfirmed() {
    const Metrics m = engine_->GetMetrics();
    return m.versions_waiting + m.versions_parked;
  }

  void Begin(uint64_t seed, Rng* rng) {
    directory_ = temp_.path() + "/scenario-" + std::to_string(seed);
    written_.clear();
    status_ = {};
    clock_->SetWallMicros(kStartUs + 10 * kDayMs * 1000);
    by_event_ = rng->OneIn(4);
    ASSERT_NO_FATAL_FAILURE(OpenWithTable(by_event_ ? kEventPumps : kPumps));
    fake_cassandra::SeededFaults::Mix mix;
    mix.one_in = 3 + rng->Below(10);
    mix.fault_count_max = 1 + rng->Below(20);
    mix.delay_us_max = 2'000'000;
    fake_cassandra::ClusterOptions options;
    options.node_count = rng->OneIn(2) ? 3 : 1;
    options.compatibility = fake_cassandra::StorageCompatibility::kNone;
    options.keeps_hints = rng->OneIn(2);
    options.knows_lz4 = rng->OneIn(2);
    options.speaks_v5 = !rng->OneIn(4);
    // Without a now of its own an expiry is that of the moment of sending, to a second or two.
    has_ttls_ = options.speaks_v5;
    // Then an acknowledged write is on disk only some seconds later.
    options.syncs_later = rng->OneIn(3);
    if (options.syncs_later) {
      mix.fault_count_max = 1 + rng->Below(8);
      mix.faults = {Fault::kNodeLosesUnsynced, Fault::kNodeLosesPower, Fault::kNodeDownAfter,
                    Fault::kResetAfter};
    }
    if (rng->OneIn(2)) {
      options.user = "gateway";
      options.password = "secret";
    }
    std::shared_ptr<fake_cassandra::FaultScript> script;
    if (options.syncs_later) {
      script = std::make_shared<FaultsAtWrites>(seed, mix);
    } else {
      script = std::make_shared<fake_cassandra::SeededFaults>(seed, mix);
    }
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, std::move(script)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    replicator_ = {};
    replicator_.statement_count_max = 1 + rng->Below(4);
    replicator_.pushing_count_max = 1 + rng->Below(4);
    replicator_.hold_us = static_cast<int64_t>(rng->Below(4)) * 1'000'000;
    if (options.syncs_later) replicator_.hold_us = kCommitLogSyncUs + kTurnUs;
    replicator_.checkpoint_bytes = 1 + rng->Below(2'000);
    replicator_.drain.mode = static_cast<DrainMode>(rng->Below(3));
    replicator_.flow.start_bytes = 1 + rng->Below(2'000);
    replicator_.flow.floor_bytes = 100;
    replicator_.schema_retry_us = 1'000'000;
    replicator_.proof = static_cast<ProofLevel>(rng->Below(3));
    ASSERT_NO_FATAL_FAILURE(StartService());
  }

  void WriteSome(Rng* rng) {
    const int rows = static_cast<int>(1 + rng->Below(25));
    for (int row = 0; row < rows; ++row) {
      const std::string sensor = "p" + std::to_string(rng->Below(3));
      const int64_t ts = kStartMs + static_cast<int64_t>(rng->Below(3)) * kDayMs +
                         static_cast<int64_t>(rng->Below(6)) * 1'000;
      const auto flow = static_cast<double>(rng->Below(1'000));
      const RowKind kind = !by_event_ && rng->OneIn(6) ? RowKind::kDeleteRow
                           : rng->OneIn(3) ? RowKind::kUpdate
                                           : RowKind::kInsert;
      const bool has_ttl = has_ttls_ && kind != RowKind::kDeleteRow && rng->OneIn(3);
      ASSERT_NO_FATAL_FAILURE(Write(sensor, ts, flow, kind,
                                    has_ttl ? static_cast<uint32_t>(1 + rng->Below(5'000)) : 0));
      if (rng->OneIn(4)) clock_->AdvanceMicros(static_cast<int64_t>(rng->Below(3'000'000)));
    }
  }

  // The process ends, with or without its last words.
  void Restart(Rng* rng) {
    service_.reset();
    if (rng->OneIn(2)) {
      Crash();
    } else {
      Reopen();
    }
    ASSERT_NO_FATAL_FAILURE(StartService());
  }

  void SetUp() override {}
  bool has_ttls_ = true;
  bool by_event_ = false;  // timestamps
  uint64_t faults_met_ = 0;
  uint64_t counted_ = 0;
  uint64_t read_back_ = 0;
};

TEST_F(ReplicationScenario, TheClusterShowsWhatWasWrittenWhateverGoesWrong) {
  const uint64_t only = EnvNumber("CISTERN_SEED", 0);
  const uint64_t count = only != 0 ? 1 : EnvNumber("CISTERN_SCENARIOS", 1'000);
  for (uint64_t i = 1; i <= count; ++i) {
    const uint64_t seed = only != 0 ? only : i;
    SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(Run(seed));
    ASSERT_FALSE(HasFailure());
  }
  if (only == 0) {
    EXPECT_GT(faults_met_, count);
    EXPECT_GT(counted_, count / 4);
    EXPECT_GT(read_back_, count / 4);
  }
}

}  // namespace
}  // namespace cistern::testing
