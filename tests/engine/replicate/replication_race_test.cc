// What happens upstream in the middle of something else here: while a table is compared, while
// hosts are asked for a sign of life, while statements are prepared again.
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tests/engine/replicate/replication_race_fixture.h"

namespace cistern::testing {
namespace {

// It has another type for a while; once it is as it was, what was refused meanwhile goes.
TEST_F(ReplicationRaceTest, ATableThatIsMendedTakesItsSeals) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  bool is_altered = false;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (!request.is_write || std::exchange(is_altered, true)) return {};
    return MakeAnewThere("bigint");
  };
  Write("p0", kStartMs + 9, 9);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  ASSERT_EQ(status_.held.size(), 1u) << Explain();
  EXPECT_EQ(status_.counters.seals_parked, 0u) << Explain();
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_parked, 0u);
}

// The signs of life come while the table is compared; then the comparison ends.
class TableThatGoesTest : public ReplicationRaceTest,
                          public ::testing::WithParamInterface<bool> {};

TEST_P(TableThatGoesTest, NothingIsConfirmedThatWentWithIt) {
  const bool is_made_anew = GetParam();
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  bool is_dropped = false;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (request.opcode == cql::Opcode::kOptions && !is_dropped) {
      is_dropped = true;
      FaultStep step{.fault = Fault::kDelay, .delay_us = 300'000};
      step.event = [this, is_made_anew](fake_cassandra::FakeCluster& cluster) {
        EXPECT_TRUE(cluster.RunLocked("DROP TABLE plant.pumps").ok());
        if (is_made_anew) {
          EXPECT_TRUE(cluster.RunLocked(DefinitionWith("double")).ok());
        }
      };
      return step;
    }
    const bool is_late = is_dropped && Names(request, "system_schema.views");
    return is_late ? FaultStep{.fault = Fault::kDelay, .delay_us = 600'000} : FaultStep{};
  };
  ASSERT_NO_FATAL_FAILURE(RunFor(20'000'000));
  ASSERT_TRUE(is_dropped);
  ASSERT_NO_FATAL_FAILURE(RunUntilNothingGoes());
  if (is_made_anew) return ExpectEqual();
  EXPECT_EQ(status_.counters.seals_confirmed, 0u) << Explain();
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
}
INSTANTIATE_TEST_SUITE_P(DroppedOrMadeAnew, TableThatGoesTest, ::testing::Bool());

// What is due while hosts are asked waits for the next sign of life.
TEST_F(ReplicationRaceTest, ASignOfLifeIsOfWhenItWasAskedFor) {
  replicator_.hold_us = 3'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  faults_->next = [](const RequestFacts& request) -> FaultStep {
    if (request.opcode != cql::Opcode::kOptions) return {};
    return {.fault = Fault::kDelay, .delay_us = 900'000};
  };
  ASSERT_NO_FATAL_FAILURE(RunFor(1'500'000));
  Write("p1", kStartMs, 1);
  SealAll();
  const auto confirmed = [&] { return engine_->GetMetrics().versions_confirmed; };
  ASSERT_TRUE(TurnUntil([&] { return confirmed() > 0; })) << Explain();
  EXPECT_EQ(confirmed(), 1u);
  ASSERT_TRUE(TurnUntil([&] { return confirmed() == 2; })) << Explain();
}

// Whatever else comes of it.
TEST_F(ReplicationRaceTest, AHostThatGivesNoSignOfLifeIsNotTakenForAlive) {
  replicator_.hold_us = 3'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  bool is_silent = true;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    const bool is_meant = is_silent && request.opcode == cql::Opcode::kOptions;
    return {.fault = is_meant ? Fault::kSwallowBefore : Fault::kNone};
  };
  for (int i = 0; i < 20; ++i) {
    Write("q" + std::to_string(i), kStartMs, i);
    SealAll();
    ASSERT_NO_FATAL_FAILURE(RunFor(500'000));
  }
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
  is_silent = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// Its last batch is not answered yet when the cluster has lost the others.
TEST_F(ReplicationRaceTest, NoPositionIsNotedOfASealThatIsToBeResent) {
  replicator_.hold_us = 2'000'000;
  replicator_.checkpoint_bytes = 500;
  replicator_.statement_count_max = 4;
  bool is_silent = true;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    const bool is_meant =
        is_silent && request.is_write && Names(request, BigBytes(kStartMs + 39));
    return {.fault = is_meant ? Fault::kSwallowBefore : Fault::kNone};
  };
  fake_cassandra::ClusterOptions options;
  options.syncs_later = true;
  ASSERT_NO_FATAL_FAILURE(StartAll(options));
  for (int i = 0; i < 40; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.versions_sent == 36; })) << Explain();
  synced_us_ = clock_->MonotonicMicros() + 3'600'000'000;
  cluster_->WithState([](fake_cassandra::ClusterState& state) {
    state.Crash(0, fake_cassandra::CommitLog::kUnsyncedLost);
    state.SetUp(0, true);
  });
  ASSERT_TRUE(service_->ResendRange("pumps", {kStartMs, kStartMs + kDayMs}).ok());
  Write("p1", kStartMs, 1);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return engine_->GetMetrics().versions_confirmed == 1; }));
  is_silent = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// Until it answers a cluster tells of nothing.
class UnregisteredTest : public ReplicationRaceTest,
                         public ::testing::WithParamInterface<Fault> {};

TEST_P(UnregisteredTest, TheClusterIsAskedAgain) {
  replicator_.hold_us = 60'000'000;
  int asked = 0;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (request.opcode != cql::Opcode::kRegister) return {};
    return {.fault = ++asked == 1 ? GetParam() : Fault::kNone};
  };
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  EXPECT_EQ(asked, 2);
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}
INSTANTIATE_TEST_SUITE_P(NoReady, UnregisteredTest,
                         ::testing::Values(Fault::kSwallowBefore));

// The table is made anew while nobody is told of anything, and nothing more is sent.
TEST_F(ReplicationRaceTest, WhatHappenedBeforeItRegisteredIsSeen) {
  replicator_.hold_us = 60'000'000;
  bool is_deaf = true;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    const bool is_meant = is_deaf && request.opcode == cql::Opcode::kRegister;
    return {.fault = is_meant ? Fault::kSwallowBefore : Fault::kNone};
  };
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  is_deaf = false;
  ASSERT_NO_FATAL_FAILURE(RunFor(10'000'000));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// Others are confirmed while one table cannot be compared, and it is told in the end.
TEST_F(ReplicationRaceTest, ATableThatCannotBeComparedHoldsUpNoOthers) {
  bool is_silent = false;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    const bool is_meant =
        is_silent && Names(request, "system_schema.tables") && Names(request, "pumps");
    return {.fault = is_meant ? Fault::kServerError : Fault::kNone};
  };
  replicator_.hold_us = 10'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(CreateTableLikePumps("plant.mills"));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.versions_sent == 3; }));
  RowBatch batch(*engine_->FindTable("plant.mills"));
  AddRow(&batch, "s", kStartMs, 1);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  is_silent = true;
  MustRun("ALTER TABLE plant.pumps WITH gc_grace_seconds = 1000");
  ASSERT_NO_FATAL_FAILURE(RunFor(30'000'000));
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 1u) << Explain();
  EXPECT_TRUE(status_.held.empty());
  ASSERT_NO_FATAL_FAILURE(RunFor(120'000'000));
  ASSERT_EQ(status_.held.size(), 1u) << Explain();
  EXPECT_NE(status_.held[0].why.message().find("server error"), std::string::npos) << Explain();
  EXPECT_EQ(status_.held[0].reason, HeldReason::kNotCompared);
  is_silent = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_TRUE(status_.held.empty());
  ExpectEqual();
}

// So who waits for the end does not wait for ever.
TEST_F(ReplicationRaceTest, AClusterThatDoesNotTellItsSchemaIsStuckWithAWord) {
  faults_->next = [](const RequestFacts& request) -> FaultStep {
    const bool is_meant = Names(request, "system_schema.tables");
    return {.fault = is_meant ? Fault::kServerError : Fault::kNone};
  };
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.held.size(), 1u) << Explain();
  ASSERT_TRUE(cluster_->Heal().ok());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// Nobody tried meanwhile: neither where the gateway slept, nor where no host was up.
TEST_F(ReplicationRaceTest, ATableThatWasNotTriedForLongIsNotHeld) {
  for (const bool is_asleep : {true, false}) {
    SCOPED_TRACE(is_asleep);
    faults_->next = [](const RequestFacts& request) -> FaultStep {
      const bool is_meant = Names(request, "system_schema.tables");
      return {.fault = is_meant ? Fault::kServerError : Fault::kNone};
    };
    if (!cluster_) {
      ASSERT_NO_FATAL_FAILURE(StartAll());
    }
    MustRun("ALTER TABLE plant.pumps WITH gc_grace_seconds = " + std::to_string(1'000 + is_asleep));
    Write("p0", kStartMs + is_asleep, 1);
    SealAll();
    ASSERT_NO_FATAL_FAILURE(RunFor(is_asleep ? 1'000'000 : 20'000'000));
    if (is_asleep) {
      clock_->AdvanceSeconds(100);
    } else {
      cluster_->TakeDown(0);
      ASSERT_NO_FATAL_FAILURE(RunFor(100'000'000));
      ASSERT_TRUE(cluster_->BringUp(0).ok());
    }
    ASSERT_NO_FATAL_FAILURE(RunFor(is_asleep ? 2'000'000 : 4'000'000));
    EXPECT_TRUE(status_.held.empty()) << Explain();
    faults_->next = nullptr;
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  }
}

// Somebody alters it all the time.
TEST_F(ReplicationRaceTest, ComparingHasAPace) {
  int compared = 0;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (!Names(request, "system_schema.columns")) return {};
    const std::string cql =
        "ALTER TABLE plant.pumps WITH gc_grace_seconds = " + std::to_string(1'000 + compared++);
    return {.fault = Fault::kDelay, .delay_us = 50'000,
            .event = [cql](fake_cassandra::FakeCluster& cluster) {
              EXPECT_TRUE(cluster.RunLocked(cql).ok());
            }};
  };
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunFor(120'000'000));
  EXPECT_LT(compared, 600);
  ASSERT_EQ(status_.held.size(), 1u) << Explain();
  EXPECT_NE(status_.held[0].why.message().find("altered while"), std::string::npos) << Explain();
}

// What is told while it is compared is not forgotten where the comparison ends badly.
TEST_F(ReplicationRaceTest, ATableThatComesWhileItIsMissedIsSeen) {
  bool is_made = false;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (!Names(request, "system_schema.columns") || std::exchange(is_made, true)) return {};
    return {.event = [this](fake_cassandra::FakeCluster& cluster) {
      EXPECT_TRUE(cluster.RunLocked(DefinitionWith("double")).ok());
    }};
  };
  ASSERT_NO_FATAL_FAILURE(StartCluster({}, faults_));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  bool was_stuck = false;
  ASSERT_TRUE(TurnUntil([&] {
    was_stuck |= status_.phase == ReplicationPhase::kStuck && is_made;
    return was_stuck || status_.phase == ReplicationPhase::kHolding;
  }));
  EXPECT_FALSE(was_stuck) << Explain();
}

// The last question of a comparison is whether rows may be read.
TEST_F(ReplicationRaceTest, ATableThatIsMadeAnewWhileItIsProbedIsComparedAgain) {
  replicator_.proof = ProofLevel::kRows;
  bool is_made = false;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (!Names(request, "token(") || std::exchange(is_made, true)) return {};
    FaultStep step = MakeAnewThere("bigint");
    step.fault = Fault::kDelay;
    step.delay_us = 500'000;
    return step;
  };
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return is_made; }));
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  EXPECT_EQ(status_.counters.batches_sent, 0u);
  EXPECT_EQ(status_.held.size(), 1u) << Explain();
}

// It is made with another type while many batches go: no value of the old one reaches it, whether
// or not an event tells of it.
class OldValuesTest : public ReplicationRaceTest,
                      public ::testing::WithParamInterface<std::tuple<bool, size_t>> {};

TEST_P(OldValuesTest, ReachNoTableOfAnotherType) {
  const auto [is_told, node_count] = GetParam();
  fake_cassandra::ClusterOptions options;
  options.node_count = node_count;
  int writes = 0;
  faults_->next = [&, is_told = is_told](const RequestFacts& request) -> FaultStep {
    if (!is_told && request.opcode == cql::Opcode::kRegister) {
      return {.fault = Fault::kSwallowBefore};
    }
    return request.is_write && ++writes == 40 ? MakeAnewThere("bigint") : FaultStep{};
  };
  replicator_.statement_count_max = 2;
  ASSERT_NO_FATAL_FAILURE(WriteDays(10, 100));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(options));
  ASSERT_NO_FATAL_FAILURE(RunFor(100'000'000));
  ASSERT_GT(writes, 40);
  EXPECT_EQ(cluster_->Dump("plant", "pumps", fake_cassandra::DumpKind::kVisible).substr(0, 400),
            "");
}
INSTANTIATE_TEST_SUITE_P(ToldOrNot, OldValuesTest,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(size_t{1}, size_t{3})));

// One of three coordinators refuses all that it is asked to write; two are well.
class BrokenHostTest : public ReplicationRaceTest,
                       public ::testing::WithParamInterface<std::tuple<bool, Fault>> {};

TEST_P(BrokenHostTest, ParksNothing) {
  const auto [speaks_v5, fault] = GetParam();
  fake_cassandra::ClusterOptions options;
  options.node_count = 3;
  options.speaks_v5 = speaks_v5;
  faults_->next = [fault = fault](const RequestFacts& request) -> FaultStep {
    return {.fault = request.is_write && request.node == 0 ? fault : Fault::kNone};
  };
  replicator_.statement_count_max = 4;
  ASSERT_NO_FATAL_FAILURE(WriteDays(8, 100));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartAll(options));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_parked, 0u);
  ExpectEqual();
}
INSTANTIATE_TEST_SUITE_P(ByVersionAndFault, BrokenHostTest,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Fault::kServerError,
                                                              Fault::kOverloaded,
                                                              Fault::kBootstrapping,
                                                              Fault::kUnavailable,
                                                              Fault::kWriteTimeout)));

}  // namespace
}  // namespace cistern::testing
