// Nodes that know of an altered table later than others.
#include <cstdint>
#include <optional>
#include <tuple>

#include "tests/engine/replicate/replication_race_fixture.h"

namespace cistern::testing {
namespace {

// Three nodes; for a while only the one that tells of it knows of the table made anew. Which one
// would be asked next goes by how much was sent before.
class LaggingNodesTest : public ReplicationRaceTest,
                         public ::testing::WithParamInterface<std::tuple<int64_t, int>> {};

TEST_P(LaggingNodesTest, AreNotBelieved) {
  const auto [lag, days] = GetParam();
  const int64_t lag_us = lag;
  fake_cassandra::ClusterOptions options;
  options.node_count = 3;
  replicator_.hold_us = 15'000'000;
  fake_cassandra::ClusterState* state = nullptr;
  fake_cassandra::Schema before;
  fake_cassandra::Schema after;
  std::optional<int64_t> made_us;
  size_t teller = 0;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (request.opcode == cql::Opcode::kRegister) teller = request.node;
    if (!made_us) return {};
    const bool is_late = clock_->MonotonicMicros() < *made_us + lag_us;
    const bool lags = is_late && request.node != teller;
    return {.event = [&, is_late, lags](fake_cassandra::FakeCluster&) {
      state->ReplaceSchema(lags ? before : after);
      for (size_t node = 0; node < 3; ++node) {
        const bool is_behind = is_late && node != teller;
        state->NameSchemaVersion(node, is_behind ? before.version() : after.version());
      }
    }};
  };
  ASSERT_NO_FATAL_FAILURE(StartAll(options));
  cluster_->WithState([&](fake_cassandra::ClusterState& s) { state = &s; });
  ASSERT_NO_FATAL_FAILURE(WriteDays(days));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  before = state->schema();
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  after = state->schema();
  made_us = clock_->MonotonicMicros();
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  state->ReplaceSchema(after);
  ExpectEqual();
}
INSTANTIATE_TEST_SUITE_P(ByLagAndDays, LaggingNodesTest,
                         ::testing::Combine(::testing::Values(0, 100'000, 1'000'000),
                                            ::testing::Values(1, 2, 3)));

// As above, where the table is dropped, which is seen, and created a second later; or where there
// is no system.peers_v2 to ask for agreement.
class LaggingLongTest : public ReplicationRaceTest,
                        public ::testing::WithParamInterface<std::tuple<bool, bool>> {};

TEST_P(LaggingLongTest, AreNotBelieved) {
  const auto [seen_dropped, has_peers_v2] = GetParam();
  const bool is_seen_dropped = seen_dropped;
  constexpr int64_t kLagUs = 4'000'000;
  fake_cassandra::ClusterOptions options;
  options.node_count = 3;
  options.has_peers_v2 = has_peers_v2;
  replicator_.hold_us = 15'000'000;
  fake_cassandra::ClusterState* state = nullptr;
  fake_cassandra::Schema before;
  fake_cassandra::Schema after;
  std::optional<int64_t> made_us;
  size_t teller = 0;
  faults_->next = [&](const RequestFacts& request) -> FaultStep {
    if (request.opcode == cql::Opcode::kRegister) teller = request.node;
    if (!made_us) return {};
    const bool is_late = clock_->MonotonicMicros() < *made_us + kLagUs;
    const bool lags = is_late && request.node != teller;
    return {.event = [&, is_late, lags](fake_cassandra::FakeCluster&) {
      state->ReplaceSchema(lags ? before : after);
      for (size_t node = 0; node < 3; ++node) {
        const bool is_behind = is_late && node != teller;
        state->NameSchemaVersion(node, is_behind ? before.version() : after.version());
      }
    }};
  };
  ASSERT_NO_FATAL_FAILURE(StartAll(options));
  cluster_->WithState([&](fake_cassandra::ClusterState& s) { state = &s; });
  ASSERT_NO_FATAL_FAILURE(WriteDays(3));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  before = state->schema();
  MustRun("DROP TABLE plant.pumps");
  if (is_seen_dropped) {
    after = state->schema();
    made_us = clock_->MonotonicMicros();
    ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
    state->ReplaceSchema(after);
  }
  MustRun(DefinitionWith("double"));
  after = state->schema();
  made_us = clock_->MonotonicMicros();
  ASSERT_NO_FATAL_FAILURE(RunFor(8'000'000));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  state->ReplaceSchema(after);
  ExpectEqual();
}
INSTANTIATE_TEST_SUITE_P(SeenDroppedOrWithoutPeers, LaggingLongTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()));

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
