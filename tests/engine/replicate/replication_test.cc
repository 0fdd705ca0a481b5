// Sealed buckets reach a cluster as its partitions: what is sent, when, and what stands in the way.
#include <memory>
#include <string>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

using fake_cassandra::Fault;
using fake_cassandra::FaultStep;
using fake_cassandra::PlannedFaults;

class ReplicationTest : public ReplicationFixture {
 protected:
  void StartAll(std::shared_ptr<fake_cassandra::FaultScript> script = nullptr) {
    ASSERT_NO_FATAL_FAILURE(StartCluster({}, std::move(script)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // Two nodes. The second does not speak v5 and is down; the first swallows the only batch.
  void SendToTheNewerOfTwoNodes() {
    auto script = std::make_shared<PlannedFaults>();
    script->AtWrite(0, {.fault = Fault::kDelay, .delay_us = 600'000'000});
    fake_cassandra::ClusterOptions options;
    options.node_count = 2;
    options.older_nodes = {1};
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, script));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    cluster_->TakeDown(1);
    replicator_.consistency = cql::Consistency::kOne;
    ASSERT_NO_FATAL_FAILURE(StartService());
    Write("p0", kStartMs, 7, RowKind::kInsert, 86'400 * 300);  // expires: v5 names the now of it
    SealAll();
    ASSERT_TRUE(TurnUntil([&] { return status_.counters.batches_sent == 1; })) << Explain();
  }
  Metrics Counters() { return engine_->GetMetrics(); }
};

TEST_F(ReplicationTest, SealedBucketsArriveAsTheyWereWritten) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(3));
  Write("p0", kStartMs, 7, RowKind::kInsert, 3600);
  Write("p0", kStartMs + 1, 8, RowKind::kUpdate);
  Write("p1", kStartMs + 1'000, 0, RowKind::kDeleteRow);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  EXPECT_EQ(status_.counters.seals_confirmed, 6u);
  EXPECT_EQ(Counters().versions_confirmed, Counters().versions_sealed);
  EXPECT_EQ(Counters().versions_waiting, 0u);
  ExpectSound();
  clock_->AdvanceSeconds(3600);
  ExpectEqual();
}

// Whatever came later, the larger value shows; here and there.
TEST_F(ReplicationTest, ATableCanHaveTheTimestampsOfItsEvents) {
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  directory_ = std::filesystem::path(temp_.path()) / "by-event";
  ASSERT_NO_FATAL_FAILURE(OpenWithTable(kEventPumps));
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  Write("p0", kStartMs, 9);
  SealAll();
  Write("p0", kStartMs, 4);
  Write("p0", kStartMs + 2'000, 8);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  EXPECT_EQ(Scan("p0", kStartMs, kStartMs + 5'000), (Rows{{kStartMs, 9}, {kStartMs + 2'000, 8}}));
  EXPECT_EQ(Counters().versions_confirmed, Counters().versions_sealed);
}

TEST_F(ReplicationTest, WhatIsOpenIsNotSent) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kCollecting));
  EXPECT_EQ(status_.counters.batches_sent, 0u);
}

// As an operator's script may, that asks for a retry all the time.
TEST_F(ReplicationTest, LookingAgainEachTurnHoldsUpNothing) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(3));
  SealAll();
  ASSERT_TRUE(TurnUntil([&] {
    service_->LookAgain();
    return status_.counters.seals_confirmed == 6;
  })) << Explain();
  ExpectEqual();
}

TEST_F(ReplicationTest, AnAmendmentGoesBehindItsSeal) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  Write("p0", kStartMs, 100);
  Write("p0", kStartMs + 5, 5);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  EXPECT_EQ(status_.counters.seals_confirmed, 3u);
  // New ones are found while it runs.
  Write("p0", kStartMs + 6, 6);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.seals_confirmed == 4; })) << Explain();
  ExpectEqual();
}

TEST_F(ReplicationTest, NothingIsConfirmedBeforeTheHoldTimeIsOver) {
  replicator_.hold_us = 10'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  const int64_t acknowledged_us = clock_->MonotonicMicros();
  EXPECT_EQ(Counters().versions_confirmed, 0u);
  ExpectEqual();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_GE(clock_->MonotonicMicros() - acknowledged_us, 10'000'000 - 2 * kTurnUs);
  EXPECT_EQ(Counters().versions_confirmed, 3u);
}

// An acknowledgement is no fsync: the node had it in memory.
TEST_F(ReplicationTest, WhatANodeAcknowledgedAndLostIsSentAgain) {
  fake_cassandra::ClusterOptions options;
  options.syncs_later = true;
  ASSERT_NO_FATAL_FAILURE(StartCluster(options));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  cluster_->SyncCommitLogs();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ExpectEqual();
  cluster_->TakeDown(0, fake_cassandra::CommitLog::kUnsyncedLost);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kAway));
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_sent_again, 4u);
  ExpectEqual();
}

TEST_F(ReplicationTest, ATableThatIsMissingUpstreamIsHeldUntilItIsThere) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  ASSERT_EQ(status_.held.size(), 1u);
  EXPECT_EQ(status_.held[0].table, "plant.pumps");
  EXPECT_NE(status_.held[0].why.message().find("pumps"), std::string::npos);
  EXPECT_EQ(status_.held[0].reason, HeldReason::kDiffers);
  EXPECT_EQ(status_.counters.batches_sent, 0u);
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

TEST_F(ReplicationTest, ASealThatIsRefusedIsParkedWithTheServersWordsAndTheOthersGoOn) {
  // As the default of Cassandra 5.0 refuses what expires after 2038.
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1, RowKind::kInsert, 20 * 365 * 86'400);
  Write("p1", kStartMs, 2);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  const auto parked = ListParked(engine_.get());
  ASSERT_TRUE(parked.ok()) << parked.status().ToString();
  ASSERT_EQ(parked->size(), 1u) << Explain();
  EXPECT_EQ(parked->front().entity, "p0");
  EXPECT_EQ(parked->front().versions, 1u);
  EXPECT_NE(parked->front().words.find("2038"), std::string::npos) << parked->front().words;
  EXPECT_EQ(Counters().versions_parked, 1u);
  EXPECT_EQ(Counters().versions_confirmed, 1u);
  ExpectSound();

  // It stays so, also over a restart, until somebody asks for it.
  service_.reset();
  Reopen();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.counters.batches_sent, 0u);
  const auto retried = RetryParked(engine_.get(), std::nullopt);
  ASSERT_TRUE(retried.ok()) << retried.status().ToString();
  EXPECT_EQ(*retried, 1u);
  service_->LookAgain();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.seals_parked == 1; })) << Explain();
}

TEST_F(ReplicationTest, AParkedSealHoldsBackItsAmendments) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1, RowKind::kInsert, 20 * 365 * 86'400);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  Write("p0", kStartMs + 1, 2);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  EXPECT_EQ(status_.phase, ReplicationPhase::kStuck);
  EXPECT_EQ(Counters().versions_confirmed, 0u);
  EXPECT_EQ(Counters().versions_waiting, 1u);
}

TEST_F(ReplicationTest, ARestartInTheMiddleLosesAndDoublesNothing) {
  replicator_.statement_count_max = 1;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(4, 10));
  SealAll();
  for (uint64_t batches = 5; batches <= 35; batches += 10) {
    ASSERT_TRUE(TurnUntil([&] { return status_.counters.batches_sent >= batches; })) << Explain();
    service_.reset();
    Crash();
    ASSERT_NO_FATAL_FAILURE(StartService());
    status_ = {};
  }
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  EXPECT_EQ(Counters().versions_confirmed, 40u);
}

TEST_F(ReplicationTest, WhatIsResentDoesNotRiseFromTheDead) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  Write("p0", kStartMs + 1, 2);
  SealAll();
  Write("p0", kStartMs, 0, RowKind::kDeleteRow);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  // Upstream forgets its tombstones.
  clock_->AdvanceSeconds(11 * 86'400);
  cluster_->Compact();
  ExpectEqual();
  const auto resent = Resend(engine_.get(), "plant.pumps", {kStartMs, kStartMs + 1});
  ASSERT_TRUE(resent.ok()) << resent.status().ToString();
  EXPECT_EQ(*resent, 2u);
  service_->LookAgain();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.seals_confirmed == 4; })) << Explain();
  ExpectEqual();
  // Left out each time: the delete was known when the row was sent first.
  EXPECT_EQ(status_.counters.versions_shadowed, 2u);
}

TEST_F(ReplicationTest, WhileTheClusterIsAwayItIsSaidAndThenAllArrives) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  cluster_->TakeDown(0);
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kAway));
  EXPECT_FALSE(status_.away.ok());
  ASSERT_TRUE(cluster_->BringUp(0).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_TRUE(status_.away.ok());
  ExpectEqual();
}

TEST_F(ReplicationTest, AnAlteredTableIsComparedAnew) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  std::string altered = kPumps;
  altered.replace(altered.find("state text"), 10, "state text, extra int");
  ASSERT_TRUE(engine_->AlterTable(altered).ok());
  schema_ = engine_->ListTables().front();
  Write("p0", kStartMs + 9, 9);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.held.size(), 1u);
  ASSERT_NO_FATAL_FAILURE(MustRun("ALTER TABLE plant.pumps ADD extra int"));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// A cluster in the middle of its upgrade. What was bound for v5 is bound anew for what there is.
TEST_F(ReplicationTest, ABatchForHostsThatWentIsBoundAnewForOlderOnes) {
  ASSERT_NO_FATAL_FAILURE(SendToTheNewerOfTwoNodes());
  ASSERT_TRUE(cluster_->BringUp(1).ok());
  ASSERT_NO_FATAL_FAILURE(RunFor(500'000));
  cluster_->TakeDown(0);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_parked, 0u);
  EXPECT_EQ(Counters().versions_confirmed, 1u) << Explain();
  ExpectEqual();
}

// The same, and nothing is up in between: it comes to light when the batch is sent again.
TEST_F(ReplicationTest, APushIsBoundAnewWhenOnlyOlderHostsComeBack) {
  ASSERT_NO_FATAL_FAILURE(SendToTheNewerOfTwoNodes());
  cluster_->TakeDown(0);
  ASSERT_NO_FATAL_FAILURE(RunFor(20'000'000));
  ASSERT_TRUE(cluster_->BringUp(1).ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_parked, 0u);
  EXPECT_EQ(Counters().versions_confirmed, 1u) << Explain();
  // On v4 what is left of its life counts from the second in which it is sent.
  const std::string rows = cluster_->Dump("plant", "pumps", fake_cassandra::DumpKind::kVisible,
                                          clock_->WallMicros() / 1'000'000);
  EXPECT_NE(rows.find("flow=7@"), std::string::npos) << rows;
}

TEST_F(ReplicationTest, ADroppedColumnUpstreamHoldsTheTableAndParksNothing) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ASSERT_NO_FATAL_FAILURE(MustRun("ALTER TABLE plant.pumps DROP flow"));
  Write("p0", kStartMs + 9, 9);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.held.size(), 1u);
  EXPECT_EQ(status_.counters.seals_parked, 0u);
}

}  // namespace
}  // namespace cistern::testing
