// Seeded scenarios: a store is written, sealed, altered by amendments and crashes, while a cluster
// in which everything goes wrong takes what is sent, loses its table and gets it anew, and while
// a person has this and that sent again. In the end the cluster shows exactly what was written,
// with write times and expiries, and all of it is confirmed.
//
// CISTERN_SEED names one scenario, CISTERN_SCENARIOS their number.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "tests/engine/replicate/replication_fixture.h"
#include "tests/support/random_options.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

using fake_cassandra::Fault;

// Seeded faults but those that would make the test unfair.
class FairFaults final : public fake_cassandra::FaultScript {
 public:
  struct Leave {
    bool all_but_writes = false;  // spends no fault on anything else
    // A node that comes back with what stood in its connections: over v4 a TTL begins then.
    bool late_batches = false;
  };
  FairFaults(uint64_t seed, const fake_cassandra::SeededFaults::Mix& mix, Leave leave)
      : faults_(seed, mix), leave_(leave) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (leave_.all_but_writes && !request.is_write) return {};
    const fake_cassandra::FaultStep step = faults_.Next(request);
    const bool is_late = step.fault == Fault::kNodeLosesPower;
    return leave_.late_batches && is_late ? fake_cassandra::FaultStep{} : step;
  }

 private:
  fake_cassandra::SeededFaults faults_;
  const Leave leave_;
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
      if (rng.OneIn(8)) LetPass(static_cast<int64_t>(rng.Below(4'000)) * 1'000'000);
      if (rng.OneIn(10)) {
        ASSERT_NO_FATAL_FAILURE(MakeTableAnew());
      }
      if (rng.OneIn(10)) {
        ASSERT_NO_FATAL_FAILURE(SendAgain(kStartMs + static_cast<int64_t>(rng.Below(3)) * kDayMs,
                                          kStartMs + 2 * kDayMs));
      }
    }
    SealAll();
    ASSERT_TRUE(cluster_->Heal().ok());
    ASSERT_NO_FATAL_FAILURE(ConfirmAll());
    // What was confirmed before went with the table; nobody but a person knows that it is wanted.
    if (was_made_anew_) {
      ASSERT_NO_FATAL_FAILURE(SendAgain(kStartMs, kStartMs + 3 * kDayMs));
      ASSERT_NO_FATAL_FAILURE(ConfirmAll());
    }
    EXPECT_EQ(cluster_->counters().protocol_errors, 0u);
    // What is confirmed is on disk: a power cut of the whole cluster takes nothing of it.
    for (size_t node = 0; node < node_count_; ++node) {
      cluster_->TakeDown(node, fake_cassandra::CommitLog::kUnsyncedLost);
    }
    is_exact_ ? ExpectEqual() : ExpectNearlyEqual();
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
    if (was_sent_again_) return;  // the same seals are counted twice
    EXPECT_GE(m.versions_confirmed_by_count, status_.counters.seals_counted);
    EXPECT_GE(m.versions_confirmed_by_rows, status_.counters.seals_read_back);
  }

  // What was refused though others went is parked, and holds back its amendments; now a person
  // comes.
  void ConfirmAll() {
    const auto goes_nowhere = [this] {
      return engine_->GetMetrics().versions_waiting == 0 ||
             status_.phase == ReplicationPhase::kStuck;
    };
    ASSERT_TRUE(TurnUntil(goes_nowhere)) << Explain() << OptionsTexts();
    for (int look = 0; look < 10 && Unconfirmed() > 0; ++look) {
      ASSERT_TRUE(RetryParked(engine_.get(), std::nullopt).ok());
      service_->LookAgain();
      ASSERT_TRUE(TurnUntil(goes_nowhere)) << Explain();
    }
    EXPECT_EQ(Unconfirmed(), 0u) << Explain();
  }

  // What is on its way arrives before; nothing stays in a wire for long.
  void LetPass(int64_t us) {
    ASSERT_TRUE(TurnUntil([this, quiet = 0]() mutable {
      quiet = cluster_->Poll(0) ? 0 : quiet + 1;
      return quiet == 3;
    }));
    clock_->AdvanceMicros(us);
  }

  // With another id, and without a row.
  void MakeTableAnew() {
    MustRun("DROP TABLE plant.pumps");
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    was_made_anew_ = true;
  }

  void SendAgain(int64_t from_ms, int64_t to_ms) {
    if (from_ms == to_ms) return;
    const auto resent = service_->ResendRange("pumps", {from_ms, to_ms});
    ASSERT_TRUE(resent.ok()) << resent.status().ToString();
    was_sent_again_ |= *resent > 0;
    sent_again_ += *resent;
  }

  // Expiries may be off by what a batch is under way, and nothing is about to expire.
  void ExpectNearlyEqual() {
    constexpr int64_t kSlackS = 3;
    const auto is_near = [&](const Written& row) {
      return std::abs(row.expiry_s - clock_->WallMicros() / 1'000'000) <= kSlackS;
    };
    clock_->AdvanceSeconds(2);  // what had expired is sent for a second
    while (std::any_of(written_.begin(), written_.end(), is_near)) clock_->AdvanceSeconds(1);
    const int64_t now_s = clock_->WallMicros() / 1'000'000;
    std::vector<int64_t> expected_s;
    std::vector<int64_t> shown_s;
    EXPECT_EQ(TakeExpiries(cluster_->Dump("plant", "pumps", fake_cassandra::DumpKind::kVisible,
                                          now_s), &shown_s),
              TakeExpiries(Expected(now_s), &expected_s));
    ASSERT_EQ(shown_s.size(), expected_s.size());
    for (size_t i = 0; i < shown_s.size(); ++i) {
      EXPECT_LE(std::abs(shown_s[i] - expected_s[i]), kSlackS) << "line " << i;
    }
    expiries_near_ += shown_s.size();
  }

  // A dump without them.
  static std::string TakeExpiries(const std::string& dump, std::vector<int64_t>* expiries_s) {
    static const std::regex until(" until ([0-9]+)");
    for (std::sregex_iterator at(dump.begin(), dump.end(), until), end; at != end; ++at) {
      expiries_s->push_back(std::stoll((*at)[1]));
    }
    return std::regex_replace(dump, until, " until");
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
    stamps_ = {};
    status_ = {};
    was_made_anew_ = was_sent_again_ = false;
    clock_->SetWallMicros(kStartUs + 10 * kDayMs * 1000);
    by_event_ = rng->OneIn(4);
    DrawOptions(rng);
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
    // Without a now of its own an expiry is that of the moment of sending, to a second or two; and
    // of two pages with the timestamps of events the later one may win by it (docs/schema.md).
    is_exact_ = options.speaks_v5;
    has_ttls_ = options.speaks_v5 || !by_event_;
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
    const FairFaults::Leave leave{options.syncs_later, has_ttls_ && !is_exact_};
    ASSERT_NO_FATAL_FAILURE(
        StartCluster(options, std::make_shared<FairFaults>(seed, mix, leave)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    DrawReplicator(rng);
    if (options.syncs_later) replicator_.hold_us = kCommitLogSyncUs + kTurnUs;
    ASSERT_NO_FATAL_FAILURE(StartService());
  }

  // Small numbers meet most in half of the scenarios; the others have any. Long holds and narrow
  // caps only let time pass, a turn for each 20 ms of it.
  void DrawReplicator(Rng* rng) {
    replicator_ = {};
    replicator_.statement_count_max = 1 + rng->Below(4);
    replicator_.pushing_count_max = 1 + rng->Below(4);
    replicator_.hold_us = static_cast<int64_t>(rng->Below(4)) * 1'000'000;
    replicator_.checkpoint_bytes = 1 + rng->Below(2'000);
    replicator_.drain.mode = static_cast<DrainMode>(rng->Below(3));
    replicator_.flow.start_bytes = 1 + rng->Below(2'000);
    replicator_.flow.floor_bytes = 100;
    replicator_.schema_retry_us = 1'000'000;
    replicator_.proof = static_cast<ProofLevel>(rng->Below(3));
    if (rng->OneIn(2)) return;
    replicator_.statement_count_max = RandomMagnitude(1, limits::kPushStatementsMax, rng);
    replicator_.byte_count_max =
        RandomMagnitude(limits::kPushBatchBytesMin, limits::kPushBatchBytesMax, rng);
    replicator_.pushing_count_max = RandomMagnitude(1, limits::kPushingSealsMax, rng);
    replicator_.checkpoint_bytes = RandomMagnitude(1, 16 << 20, rng);
    replicator_.flow.start_bytes = RandomMagnitude(100, 1 << 20, rng);
  }

  // For a person.
  std::string OptionsTexts() {
    const replicate::ReplicatorOptions& r = replicator_;
    return OptionsText(options_) + ", statements " + std::to_string(r.statement_count_max) +
           ", bytes " + std::to_string(r.byte_count_max) + ", pushing " +
           std::to_string(r.pushing_count_max) + ", checkpoint " +
           std::to_string(r.checkpoint_bytes) + ", start " + std::to_string(r.flow.start_bytes) +
           ", waiting " + std::to_string(engine_->GetMetrics().versions_waiting) + ", open " +
           std::to_string(engine_->GetMetrics().versions_open);
  }

  // But what ends a generation or seals by itself: the scenario does both by hand.
  void DrawOptions(Rng* rng) {
    const EngineOptions drawn = RandomOptions(rng);
    options_.memory_budget_bytes = drawn.memory_budget_bytes;
    options_.sync_interval_us = drawn.sync_interval_us;
    options_.seal_rows_max = drawn.seal_rows_max;
    options_.seal_bytes_max = drawn.seal_bytes_max;
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
      if (rng->OneIn(4)) LetPass(static_cast<int64_t>(rng->Below(3'000'000)));
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
  bool is_exact_ = true;  // expiries
  bool has_ttls_ = true;
  bool was_made_anew_ = false;   // the table
  bool was_sent_again_ = false;  // something that was confirmed
  bool by_event_ = false;  // timestamps
  uint64_t faults_met_ = 0;
  uint64_t counted_ = 0;
  uint64_t read_back_ = 0;
  uint64_t sent_again_ = 0;
  uint64_t expiries_near_ = 0;  // compared
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
    EXPECT_GT(sent_again_, count / 4);
    EXPECT_GT(expiries_near_, count / 10);
  }
}

}  // namespace
}  // namespace cistern::testing
