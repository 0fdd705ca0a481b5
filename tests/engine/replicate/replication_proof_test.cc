// What is asked of the cluster before a seal counts as confirmed, and what comes of the answers.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

using fake_cassandra::ClusterState;
using fake_cassandra::CommitLog;

// Of what is read by prepared statements each eleventh request is answered, the others are refused:
// two rounds of what a session tries by itself, and then an answer.
class RefusedReads final : public fake_cassandra::FaultScript {
 public:
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (request.opcode != cql::Opcode::kExecute || ++reads_ % 11 == 0) return {};
    return {.fault = fake_cassandra::Fault::kServerError};
  }

 private:
  int reads_ = 0;
};

constexpr std::string_view kFirstRow =
    "WHERE sensor = 'p0' AND day = '2027-01-15' AND ts = 1799971200000";

class ReplicationRowsTest : public ReplicationFixture {
 protected:
  void StartAll(ProofLevel level, bool syncs_later = false,
                std::shared_ptr<fake_cassandra::FaultScript> script = nullptr) {
    fake_cassandra::ClusterOptions options;
    options.syncs_later = syncs_later;
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, std::move(script)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    cluster_->SyncCommitLogs();
    replicator_.proof = level;
    replicator_.hold_us = 2'000'000;
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // Its memory is gone, and nobody was told.
  void LoseSilently() {
    cluster_->WithState([](ClusterState& state) {
      state.Crash(0, CommitLog::kUnsyncedLost);
      state.SetUp(0, true);
    });
  }
  // Somebody else writes it upstream.
  void SetFirstFlow(const std::string& flow, int64_t write_us) {
    MustRun("UPDATE plant.pumps USING TIMESTAMP " + std::to_string(write_us) + " SET flow = " +
            flow + " " + std::string(kFirstRow));
  }
  uint64_t Confirmed() { return engine_->GetMetrics().versions_confirmed; }
};

class ReplicationProofTest : public ReplicationRowsTest,
                             public ::testing::WithParamInterface<ProofLevel> {};

TEST_P(ReplicationProofTest, SealsAreProvedBeforeTheyAreConfirmed) {
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam()));
  ASSERT_NO_FATAL_FAILURE(WriteDays(3));
  Write("p0", kStartMs, 7, RowKind::kInsert, 3600);
  Write("p0", kStartMs + 1, 8, RowKind::kUpdate);
  Write("p1", kStartMs + 1'000, 0, RowKind::kDeleteRow);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  const auto& counters = status_.counters;
  EXPECT_EQ(counters.seals_confirmed, 6u);
  EXPECT_EQ(counters.seals_counted, GetParam() == ProofLevel::kCount ? 5u : 0u);
  EXPECT_EQ(counters.seals_read_back, GetParam() == ProofLevel::kRows ? 6u : 0u);
  EXPECT_EQ(counters.rows_read_back, GetParam() == ProofLevel::kRows ? 10u : 0u);
  EXPECT_EQ(counters.bytes_read_back > 0, GetParam() != ProofLevel::kAck);
  EXPECT_EQ(counters.seals_mended, 0u);
  EXPECT_EQ(counters.rows_shadowed, 0u);
  ExpectSound();
  // The level stays when the run that reached it is over. A delete alone cannot be counted.
  service_.reset();
  Reopen();
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_confirmed, 10u);
  EXPECT_EQ(m.versions_confirmed_by_count, GetParam() == ProofLevel::kCount ? 9u : 0u);
  EXPECT_EQ(m.versions_confirmed_by_rows, GetParam() == ProofLevel::kRows ? 10u : 0u);
}

TEST_P(ReplicationProofTest, AClusterThatForgetsWhatItAcknowledgedIsFoundOut) {
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam(), true));
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ExpectEqual();
  LoseSilently();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 6u);
  EXPECT_EQ(status_.counters.seals_sent_again, 0u) << "no connection was lost";
  if (GetParam() == ProofLevel::kAck) {
    const int64_t now_s = clock_->WallMicros() / 1'000'000;
    EXPECT_NE(cluster_->Dump("plant", "pumps", fake_cassandra::DumpKind::kVisible, now_s),
              Expected(now_s));
  } else {
    EXPECT_EQ(status_.counters.seals_mended, 4u);
    ExpectEqual();
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationProofTest,
                         ::testing::Values(ProofLevel::kAck, ProofLevel::kCount,
                                           ProofLevel::kRows));

TEST_F(ReplicationRowsTest, ALongSealIsReadBackPageByPage) {
  replicator_.byte_count_max = 2'000;
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1, 400));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.rows_read_back, 400u);
  EXPECT_EQ(status_.counters.seals_read_back, 2u);
  EXPECT_EQ(Confirmed(), 400u);
}

TEST_F(ReplicationRowsTest, AHostThatIsLostHasThemProvedAnew) {
  replicator_.byte_count_max = 2'000;
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1, 400));
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.bytes_read_back > 0; })) << Explain();
  EXPECT_EQ(Confirmed(), 0u);
  cluster_->TakeDown(0);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kAway));
  EXPECT_EQ(Confirmed(), 0u);
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_sent_again, 2u);
  EXPECT_EQ(status_.counters.rows_read_back, 400u);
  EXPECT_EQ(Confirmed(), 400u);
  ExpectEqual();
}

TEST_F(ReplicationRowsTest, WhatIsResentWhileItIsProvedIsSentAndProvedAnew) {
  replicator_.byte_count_max = 2'000;
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  for (int i = 0; i < 400; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.bytes_read_back > 0; })) << Explain();
  ASSERT_EQ(status_.seals_proving, 1u);
  ASSERT_TRUE(service_->ResendRange("pumps", {kStartMs, kStartMs + kDayMs}).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.versions_sent, 800u);
  EXPECT_EQ(Confirmed(), 400u);
}

TEST_F(ReplicationRowsTest, WhatIsDeletedUpstreamIsSentOnceMoreAndThenCountsAsShadowed) {
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(MustRun("DELETE FROM plant.pumps " + std::string(kFirstRow)));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_mended, 1u);
  EXPECT_EQ(status_.counters.rows_shadowed, 1u);
  EXPECT_EQ(Confirmed(), 3u);
}

TEST_F(ReplicationRowsTest, ARowThatAnotherWriterOverwroteIsToldOf) {
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(SetFirstFlow("9", written_[0].write_us + 1));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 3u);
  EXPECT_EQ(status_.counters.rows_overwritten, 1u);
  ASSERT_EQ(status_.warnings.size(), 1u);
  for (const char* part : {"table plant.pumps: another writer", "column 'flow' shows a write "}) {
    EXPECT_NE(status_.warnings[0].find(part), std::string::npos) << status_.warnings[0];
  }
}

// The amendment is upstream already when the seal before it is proved once more.
TEST_F(ReplicationRowsTest, WhatThisStoreHasWrittenOverItselfIsNoOtherWriter) {
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  Write("p0", kStartMs, 2);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ASSERT_TRUE(service_->ResendRange("pumps", {kStartMs, kStartMs + kDayMs}).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.rows_read_back, 4u);
  EXPECT_EQ(status_.counters.rows_overwritten, 0u);
  EXPECT_TRUE(status_.warnings.empty());
}

TEST_F(ReplicationRowsTest, ASealThatDiffersIsParkedWithTheRowAndTheOthersGoOn) {
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kRows));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(SetFirstFlow("1e300", written_[0].write_us));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.counters.seals_not_proven, 1u);
  EXPECT_EQ(Confirmed(), 1u);
  const auto parked = ListParked(engine_.get());
  ASSERT_TRUE(parked.ok()) << parked.status().ToString();
  ASSERT_EQ(parked->size(), 1u);
  const std::string& words = parked->front().words;
  for (const char* part : {"arrival is not proved (rows)", "plant.pumps", "ts = ", "'flow'"}) {
    EXPECT_NE(words.find(part), std::string::npos) << words;
  }
  ExpectSound();

  // Once it is put right there, it is sent and proved anew.
  ASSERT_NO_FATAL_FAILURE(SetFirstFlow("5", written_[0].write_us + 1));
  ASSERT_TRUE(RetryParked(engine_.get(), std::nullopt).ok());
  service_->LookAgain();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 3u);
}

// What is refused as a mistake of the statement though the tables are equal: sent once more it is
// taken again, but its proof is refused as before. It must not go on so for ever.
TEST_P(ReplicationProofTest, AProofThatIsRefusedEachTimeIsParked) {
  if (GetParam() == ProofLevel::kAck) return;  // asks for nothing
  replicator_.consistency = cql::Consistency::kAny;
  ASSERT_NO_FATAL_FAILURE(StartAll(GetParam()));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(Confirmed(), 0u);
  EXPECT_LE(status_.counters.versions_sent, 2 * written_.size()) << "once more at most";
  const auto parked = ListParked(engine_.get());
  ASSERT_TRUE(parked.ok()) << parked.status().ToString();
  ASSERT_FALSE(parked->empty());
  EXPECT_NE(parked->front().words.find("only supported for writes"), std::string::npos)
      << parked->front().words;
  ExpectSound();
}

// Each is refused twice before it is answered, and no answer is given up: what one met says nothing
// of the next.
TEST_F(ReplicationRowsTest, AProofOfManyAnswersThatAreAllRefusedAtFirstSucceeds) {
  replicator_.byte_count_max = 1'024;
  ASSERT_NO_FATAL_FAILURE(
      StartAll(ProofLevel::kRows, false, std::make_shared<RefusedReads>()));
  for (int i = 0; i < 300; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] {
    return status_.counters.seals_parked > 0 || status_.phase == ReplicationPhase::kIdle;
  })) << Explain();
  EXPECT_EQ(Confirmed(), 300u) << Explain();
  EXPECT_GE(status_.counters.batches_refused, 20u);
  EXPECT_TRUE(status_.refused.ok()) << status_.refused.ToString();
}

// A server that answers a page by the first one each time.
class OddProofTest : public ReplicationRowsTest {
 protected:
  void StartAll() {
    fake_cassandra::ClusterOptions options;
    options.loses_places = true;
    ASSERT_NO_FATAL_FAILURE(StartCluster(options));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    replicator_.proof = ProofLevel::kRows;
    replicator_.byte_count_max = 1'024;
    replicator_.hold_us = 0;
    for (int i = 0; i < 200; ++i) Write("p0", kStartMs + i, i);
    SealAll();
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
};

// It is said as long as it is so.
TEST_F(OddProofTest, IsForgottenOnceOneSucceeds) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_TRUE(TurnUntil([&] { return !status_.refused.ok(); })) << Explain();
  cluster_->WithState([](ClusterState& state) { state.SetLosesPlaces(false); });
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 200u);
  EXPECT_TRUE(status_.refused.ok()) << status_.refused.ToString();
}

// The good page before the bad one redeems nothing.
TEST_F(OddProofTest, IsParkedAfterManyThatComeWithPauses) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  const int64_t begin_us = clock_->MonotonicMicros();
  ASSERT_TRUE(TurnUntil([&] { return !status_.refused.ok(); })) << Explain();
  EXPECT_NE(status_.refused.message().find("leads to none"), std::string::npos)
      << status_.refused.ToString();
  ASSERT_TRUE(TurnUntil([&] {
    return status_.phase == ReplicationPhase::kStuck ||
           clock_->MonotonicMicros() - begin_us > 120'000'000;
  })) << Explain();
  EXPECT_EQ(status_.phase, ReplicationPhase::kStuck) << Explain();
  EXPECT_GE(clock_->MonotonicMicros() - begin_us, 5'000'000) << "proofs follow on one another";
  EXPECT_EQ(Confirmed(), 0u);
  const auto parked = ListParked(engine_.get());
  ASSERT_TRUE(parked.ok()) << parked.status().ToString();
  ASSERT_EQ(parked->size(), 1u);
  EXPECT_EQ(parked->front().attempts, 8u);
  EXPECT_NE(parked->front().words.find("leads to none"), std::string::npos)
      << parked->front().words;
  ExpectSound();
}

// A count asks for nothing but numbers: it does not see a value that differs.
TEST_F(ReplicationRowsTest, ACountDoesNotSeeValues) {
  ASSERT_NO_FATAL_FAILURE(StartAll(ProofLevel::kCount));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(SetFirstFlow("1e300", written_[0].write_us));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_counted, 2u);
  EXPECT_EQ(Confirmed(), 3u);
}

}  // namespace
}  // namespace cistern::testing
