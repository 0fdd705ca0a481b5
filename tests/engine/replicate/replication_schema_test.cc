// Tables that somebody alters upstream, or makes anew, while this store sends to them.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/replicate/push_position.h"
#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

// Nobody is told of the schema as long as it is said. Counts how often it is asked for.
class SilenceOfSchema final : public fake_cassandra::FaultScript {
 public:
  explicit SilenceOfSchema(std::shared_ptr<const bool> goes_on) : goes_on_(std::move(goes_on)) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (request.body.find("system_schema.tables") == std::string_view::npos) return {};
    ++asked_;
    return {.fault = *goes_on_ ? fake_cassandra::Fault::kOverloaded : fake_cassandra::Fault::kNone};
  }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  const std::shared_ptr<const bool> goes_on_;
  int asked_ = 0;
};

class ReplicationSchemaTest : public ReplicationFixture {
 protected:
  void StartAll() {
    ASSERT_NO_FATAL_FAILURE(StartCluster({}, silence_));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // Drops the table upstream and creates it again, `flow` with that type.
  void MakeAnew(const std::string& flow_type = "double") {
    std::string cql = schema_->ToCql();
    const std::string flow = "flow double";
    const size_t at = cql.find(flow);
    ASSERT_NE(at, std::string::npos) << cql;
    cql.replace(at, flow.size(), "flow " + flow_type);
    MustRun("DROP TABLE plant.pumps");
    MustRun(cql);
  }
  void RunUntilNothingGoes() {
    ASSERT_TRUE(TurnUntil([&] {
      return status_.phase == ReplicationPhase::kIdle || status_.phase == ReplicationPhase::kStuck;
    })) << Explain();
  }
  const std::shared_ptr<bool> is_silent_ = std::make_shared<bool>(false);
  const std::shared_ptr<SilenceOfSchema> silence_ = std::make_shared<SilenceOfSchema>(is_silent_);
};

TEST_F(ReplicationSchemaTest, ADefaultTtlThatIsSetMeanwhileEndsNoRow) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  MustRun("ALTER TABLE plant.pumps WITH default_time_to_live = 60");
  Write("p0", kStartMs + 9, 9);
  Write("p1", kStartMs + 10, 10, RowKind::kUpdate);
  Write("p1", kStartMs + 11, 11, RowKind::kInsert, 40);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  clock_->AdvanceSeconds(100);
  ExpectEqual();
}

TEST_F(ReplicationSchemaTest, ATableThatHasAnotherTypeNowIsHeld) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ASSERT_NO_FATAL_FAILURE(MakeAnew("bigint"));
  Write("p0", kStartMs + 9, 9);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntilNothingGoes());
  ASSERT_EQ(status_.held.size(), 1u) << Explain();
  EXPECT_NE(status_.held[0].why.message().find("'flow'"), std::string::npos) << Explain();
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 3u);
}

// What was acknowledged went with the table.
TEST_F(ReplicationSchemaTest, ATableThatWasMadeAnewGetsWhatIsNotConfirmed) {
  for (const bool is_told : {true, false}) {
    SCOPED_TRACE(is_told);
    written_.clear();
    replicator_.hold_us = 60'000'000;
    if (!cluster_) {
      ASSERT_NO_FATAL_FAILURE(StartAll());
    }
    ASSERT_NO_FATAL_FAILURE(WriteDays(2));
    SealAll();
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
    // Without the connection that tells of it, it is seen when there is one again.
    if (!is_told) service_.reset();
    ASSERT_NO_FATAL_FAILURE(MakeAnew());
    if (!is_told) {
      ASSERT_NO_FATAL_FAILURE(StartService());
    }
    ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
    ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
    ExpectEqual();
  }
}

// It may be another table, or not: until that is known nothing more goes, and nothing is confirmed.
TEST_F(ReplicationSchemaTest, NothingGoesToATableThatIsCompared) {
  replicator_.statement_count_max = 4;
  replicator_.bytes_per_s_max = 1'000;
  replicator_.hold_us = 1'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("quick", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1, 120));
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.batches_sent >= 3; })) << Explain();
  *is_silent_ = true;
  MustRun("ALTER TABLE plant.pumps WITH gc_grace_seconds = 1000");
  ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));  // what was on its way
  const ReplicationCounters before = status_.counters;
  ASSERT_LT(before.versions_sent, 100u);
  ASSERT_NO_FATAL_FAILURE(RunFor(10'000'000));
  EXPECT_EQ(status_.counters.batches_sent, before.batches_sent);
  EXPECT_EQ(status_.counters.seals_confirmed, before.seals_confirmed);
  *is_silent_ = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

TEST_F(ReplicationSchemaTest, NothingIsConfirmedOfATableThatIsCompared) {
  replicator_.hold_us = 5'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  *is_silent_ = true;
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  ASSERT_NO_FATAL_FAILURE(RunFor(20'000'000));
  EXPECT_EQ(status_.counters.seals_confirmed, 0u);
  *is_silent_ = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_GT(status_.counters.seals_confirmed, 0u);
  ExpectEqual();
}

// Its tables go with it, and no event names them.
TEST_F(ReplicationSchemaTest, NothingIsConfirmedOfAKeyspaceThatIsDropped) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  MustRun("DROP KEYSPACE plant");
  ASSERT_NO_FATAL_FAILURE(RunFor(30'000'000));
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
  EXPECT_EQ(status_.phase, ReplicationPhase::kStuck) << Explain();
  EXPECT_EQ(status_.held.size(), 1u) << Explain();
}

TEST_F(ReplicationSchemaTest, WhatIsAlteredElsewhereIsNotCompared) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  const int asked = silence_->asked();
  MustRun("CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', "
          "'replication_factor': 1}");
  MustRun("CREATE TABLE other.pumps (a int PRIMARY KEY)");
  MustRun("CREATE TABLE plant.mills (a int PRIMARY KEY)");
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  EXPECT_EQ(silence_->asked(), asked);
  MustRun("ALTER TABLE plant.pumps WITH gc_grace_seconds = 1000");
  ASSERT_NO_FATAL_FAILURE(RunFor(5'000'000));
  EXPECT_EQ(silence_->asked(), asked + 1);
}

// Long before it would be looked at again.
TEST_F(ReplicationSchemaTest, ATableThatIsMendedIsSentToAtOnce) {
  replicator_.schema_retry_us = 3'600'000'000;
  replicator_.hold_us = 1'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(MakeAnew("bigint"));
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  ASSERT_EQ(status_.held.size(), 1u) << Explain();
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  ASSERT_NO_FATAL_FAILURE(RunFor(10'000'000));
  EXPECT_EQ(status_.phase, ReplicationPhase::kIdle) << Explain();
  ExpectEqual();
}

// Altered here, and made anew there before the new declaration was compared for the first time.
TEST_F(ReplicationSchemaTest, ATableThatIsAlteredHereIsStillKnown) {
  replicator_.hold_us = 20'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  *is_silent_ = true;
  std::string altered = kPumps;
  altered.replace(altered.find("state text"), 10, "state text, note text");
  ASSERT_TRUE(engine_->AlterTable(altered).ok());
  schema_ = engine_->ListTables().front();
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  Write("p0", kStartMs + 9, 9);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunFor(3'000'000));
  *is_silent_ = false;
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 4u);
  ExpectEqual();
}

// The record of how far a seal was pushed is of a table that is gone.
TEST_F(ReplicationSchemaTest, APositionInATableThatIsGoneIsNotBelieved) {
  replicator_.checkpoint_bytes = 500;
  replicator_.statement_count_max = 4;
  replicator_.bytes_per_s_max = 1'000;
  replicator_.hold_us = 1'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1, 120));
  SealAll();
  ASSERT_TRUE(TurnUntil([&] { return !Core()->store().pushes().empty(); })) << Explain();
  const auto noted =
      replicate::DecodePushPosition(Core()->store().pushes().begin()->second.position);
  ASSERT_TRUE(noted.ok());
  EXPECT_FALSE(noted->position == replicate::PushPosition{});
  EXPECT_EQ(noted->upstream_id.size(), 36u);
  service_.reset();
  ASSERT_NO_FATAL_FAILURE(MakeAnew());
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
}

// A row behind the first batches of its seal that the server refuses each time.
TEST_F(ReplicationSchemaTest, ARefusedBatchBehindOthersParksItsSeal) {
  constexpr uint32_t kFifteenYearsS = 15u * 365u * 86'400u;
  replicator_.statement_count_max = 10;
  fake_cassandra::ClusterOptions options;
  options.compatibility = fake_cassandra::StorageCompatibility::kCassandra4;
  ASSERT_NO_FATAL_FAILURE(StartCluster(options));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  for (int i = 0; i < 200; ++i) {
    Write("p0", kStartMs + i, i, RowKind::kInsert, i == 150 ? kFifteenYearsS : 0u);
  }
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_TRUE(TurnUntil([&] {
    return status_.counters.seals_parked == 1 || status_.counters.batches_sent > 1'000;
  })) << Explain();
  EXPECT_EQ(status_.counters.seals_parked, 1u) << Explain();
  EXPECT_LE(status_.counters.batches_sent, 60u);  // thrice the seal
}

// All statements of all the tables that a store may have fit one session.
TEST_F(ReplicationSchemaTest, ManyTablesAreAllSent) {
  constexpr int kTables = 160;
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  for (int t = 0; t < kTables; ++t) {
    const std::string name = "plant.t" + std::to_string(t);
    ASSERT_NO_FATAL_FAILURE(CreateTableLikePumps(name));
    RowBatch batch(*engine_->FindTable(name));
    AddRow(&batch, "s", kStartMs, 1);
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntilNothingGoes());
  EXPECT_EQ(status_.phase, ReplicationPhase::kIdle) << Explain();
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, static_cast<uint64_t>(kTables));
}

}  // namespace
}  // namespace cistern::testing
