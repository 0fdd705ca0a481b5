// Nodes that know of an altered table later than others.
#include <cstdint>
#include <optional>
#include <tuple>

#include "tests/engine/replicate/replication_race_fixture.h"

namespace cistern::testing {
namespace {

// Three nodes; for a while only the one that tells of it knows of a table that was altered, or all
// but that one.
class LagTest : public ReplicationRaceTest {
 protected:
  // Seals of so many days are acknowledged, and not confirmed yet.
  void StartHolding(int days, bool has_peers_v2) {
    fake_cassandra::ClusterOptions options;
    options.node_count = 3;
    options.has_peers_v2 = has_peers_v2;
    replicator_.hold_us = 15'000'000;
    faults_->next = [this](const RequestFacts& request) { return Next(request); };
    ASSERT_NO_FATAL_FAILURE(StartAll(options));
    cluster_->WithState([this](fake_cassandra::ClusterState& s) { state_ = &s; });
    ASSERT_NO_FATAL_FAILURE(WriteDays(days));
    SealAll();
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
    before_ = state_->schema();
  }
  // What is altered until now is known to the others after so long.
  void LagFor(int64_t lag_us) {
    after_ = state_->schema();
    late_until_us_ = clock_->MonotonicMicros() + lag_us;
  }
  void ExpectAllAfter(int64_t run_us) {
    ASSERT_NO_FATAL_FAILURE(RunFor(run_us));
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
    state_->ReplaceSchema(after_);
    ExpectEqual();
  }
  fake_cassandra::ClusterState* state_ = nullptr;
  fake_cassandra::Schema after_;
  bool teller_lags_ = false;
  std::optional<size_t> lags_alone_;
  size_t teller_ = 0;

 private:
  FaultStep Next(const RequestFacts& request) {
    if (request.opcode == cql::Opcode::kRegister) teller_ = request.node;
    if (!late_until_us_) return {};
    const bool is_late = clock_->MonotonicMicros() < *late_until_us_;
    const auto lags = [this, is_late](size_t node) {
      const bool is_one = lags_alone_ ? node == *lags_alone_ : (node == teller_) == teller_lags_;
      return is_late && is_one;
    };
    return {.event = [this, lags, asked = request.node](fake_cassandra::FakeCluster&) {
      state_->ReplaceSchema(lags(asked) ? before_ : after_);
      for (size_t node = 0; node < 3; ++node) {
        const bool is_behind = lags(node);
        state_->NameSchemaVersion(node, is_behind ? before_.version() : after_.version());
      }
    }};
  }
  fake_cassandra::Schema before_;
  std::optional<int64_t> late_until_us_;
};

// Which node would be asked next goes by how much was sent before.
class LaggingNodesTest : public LagTest,
                         public ::testing::WithParamInterface<std::tuple<int64_t, int>> {};

TEST_P(LaggingNodesTest, AreNotBelieved) {
  const auto [lag_us, days] = GetParam();
  ASSERT_NO_FATAL_FAILURE(StartHolding(days, true));
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  LagFor(lag_us);
  ExpectAllAfter(5'000'000);
}
INSTANTIATE_TEST_SUITE_P(ByLagAndDays, LaggingNodesTest,
                         ::testing::Combine(::testing::Values(0, 100'000, 1'000'000),
                                            ::testing::Values(1, 2, 3)));

// The table is dropped, which is seen, and created a second later; or there is no system.peers_v2
// to ask for agreement. The longer time is more than nodes that are down are waited for.
class LaggingLongTest : public LagTest,
                        public ::testing::WithParamInterface<std::tuple<int64_t, bool, bool>> {};

TEST_P(LaggingLongTest, AreNotBelieved) {
  const auto [lag_us, is_seen_dropped, has_peers_v2] = GetParam();
  ASSERT_NO_FATAL_FAILURE(StartHolding(3, has_peers_v2));
  MustRun("DROP TABLE plant.pumps");
  if (is_seen_dropped) {
    LagFor(lag_us);
    ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
    state_->ReplaceSchema(after_);
  }
  MustRun(DefinitionWith("double"));
  LagFor(lag_us);
  ExpectAllAfter(lag_us + 4'000'000);
}
INSTANTIATE_TEST_SUITE_P(SeenDroppedOrWithoutPeers, LaggingLongTest,
                         ::testing::Combine(::testing::Values(4'000'000, 25'000'000),
                                            ::testing::Bool(), ::testing::Bool()));

// It is not waited for while it is down, and has learned of nothing when it is there again.
TEST_F(LagTest, ANodeThatWasAwayIsNotBelievedEither) {
  ASSERT_NO_FATAL_FAILURE(StartHolding(1, true));
  lags_alone_ = (teller_ + 1) % 3;
  cluster_->TakeDown(*lags_alone_);
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  LagFor(60'000'000);
  ASSERT_NO_FATAL_FAILURE(RunFor(15'000'000));
  EXPECT_GT(status_.counters.versions_sent, 3u) << Explain();  // by the others
  ASSERT_TRUE(cluster_->BringUp(*lags_alone_).ok());
  ASSERT_NO_FATAL_FAILURE(RunFor(10'000'000));
  ASSERT_NO_FATAL_FAILURE(WriteDays(4));
  SealAll();
  ExpectAllAfter(40'000'000);
}

// The others refuse what is sent, and the one that is asked says that nothing has changed: no seal
// is to blame.
TEST_F(LagTest, SealsAreNotParkedForATellerThatLags) {
  constexpr int64_t kLagUs = 3'000'000;
  ASSERT_NO_FATAL_FAILURE(StartHolding(1, true));
  MustRun("DROP TABLE plant.pumps");
  teller_lags_ = true;
  LagFor(kLagUs);
  ASSERT_NO_FATAL_FAILURE(WriteDays(4));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunFor(kLagUs + 1'000'000));
  EXPECT_EQ(status_.counters.seals_parked, 0u) << Explain();
  state_->ReplaceSchema(after_);
  MustRun(DefinitionWith("double"));
  LagFor(0);
  ExpectAllAfter(8'000'000);
  EXPECT_EQ(status_.counters.seals_parked, 0u) << Explain();
}

// It does not know yet of the column that another one has told. Asked in a moment again it does.
TEST_F(ReplicationRaceTest, ATableIsNotHeldForANodeThatRefusesToPrepareOnce) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  const uint64_t sent = status_.counters.versions_sent;
  fake_cassandra::ClusterState* state = nullptr;
  cluster_->WithState([&](fake_cassandra::ClusterState& s) { state = &s; });
  const fake_cassandra::Schema before = state->schema();
  MustRun("ALTER TABLE plant.pumps ADD note text");
  const fake_cassandra::Schema after = state->schema();
  ASSERT_NO_FATAL_FAILURE(RunFor(2'000'000));  // that much is told
  int prepares = 0;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    const bool lags = request.opcode == cql::Opcode::kPrepare && prepares++ == 0;
    return {.event = [&, lags](fake_cassandra::FakeCluster&) {
      state->ReplaceSchema(lags ? before : after);
    }};
  };
  std::string altered = kPumps;
  altered.replace(altered.find("state text"), 10, "state text, note text");
  ASSERT_TRUE(engine_->AlterTable(altered).ok());
  schema_ = engine_->ListTables().front();
  Write("p0", kStartMs + 9, 9);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunFor(10'000'000));
  EXPECT_GT(prepares, 1);
  EXPECT_GT(status_.counters.versions_sent, sent) << Explain();
  EXPECT_TRUE(status_.held.empty()) << Explain();
}

// The node that tells of the schema has not heard of it, while others prepare statements for a
// column of another type, and of the same width: all of them, or those with such words.
class DividedNodesTest : public ReplicationRaceTest,
                         public ::testing::WithParamInterface<const char*> {};

TEST_P(DividedNodesTest, WhatIsPreparedForOtherTypesIsNotUsed) {
  ASSERT_NO_FATAL_FAILURE(StartCluster({}, faults_));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  fake_cassandra::ClusterState* state = nullptr;
  cluster_->WithState([&](fake_cassandra::ClusterState& s) { state = &s; });
  const fake_cassandra::Schema own = state->schema();
  MustRun("DROP TABLE plant.pumps");
  MustRun(DefinitionWith("bigint"));
  const fake_cassandra::Schema other = state->schema();
  state->ReplaceSchema(own);
  bool is_divided = true;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    const bool is_other = is_divided && request.opcode == cql::Opcode::kPrepare &&
                          Names(request, GetParam());
    return {.event = [&, is_other](fake_cassandra::FakeCluster&) {
      state->ReplaceSchema(is_other ? other : own);
    }};
  };
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunFor(10'000'000));
  EXPECT_EQ(status_.counters.versions_sent, 0u) << Explain();
  EXPECT_EQ(status_.counters.seals_parked, 0u);
  ASSERT_NO_FATAL_FAILURE(RunFor(80'000'000));
  ASSERT_EQ(status_.held.size(), 1u) << Explain();
  EXPECT_NE(status_.held[0].why.message().find("a node has column flow of table pumps as bigint, "
                                               "which is double here"),
            std::string::npos) << Explain();
  is_divided = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(status_.counters.seals_parked, 0u);
  ExpectEqual();
}
INSTANTIATE_TEST_SUITE_P(AllOrSome, DividedNodesTest,
                         ::testing::Values("", "INSERT", "TTL ?", "UPDATE"));

}  // namespace
}  // namespace cistern::testing
