// When rows end in the cluster, whatever it takes to bring them there.
#include <functional>
#include <memory>
#include <utility>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

using fake_cassandra::Fault;
using fake_cassandra::FaultStep;
using fake_cassandra::PlannedFaults;
using fake_cassandra::RequestFacts;

// From when it is told on writes find their statements forgotten, `left` times, and a statement
// takes nearly a second to be prepared.
class SlowPreparation final : public fake_cassandra::FaultScript {
 public:
  explicit SlowPreparation(int left) : left_(left) {}
  void Begin() { is_begun_ = true; }
  FaultStep Next(const RequestFacts& request) override {
    if (!is_begun_) return {};
    if (request.opcode == cql::Opcode::kPrepare) {
      return {.fault = Fault::kDelay, .delay_us = 900'000};
    }
    return {.fault = request.is_write && left_-- > 0 ? Fault::kUnprepared : Fault::kNone};
  }

 private:
  bool is_begun_ = false;
  int left_ = 0;
};

class ReplicationExpiryTest : public ReplicationFixture {
 protected:
  void StartAll(const fake_cassandra::ClusterOptions& options,
                std::shared_ptr<fake_cassandra::FaultScript> script = nullptr) {
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, std::move(script)));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  static fake_cassandra::ClusterOptions OlderServer() {
    fake_cassandra::ClusterOptions options;
    options.speaks_v5 = false;
    return options;
  }
  std::string ShownAt(int64_t now_s) {
    return cluster_->Dump("plant", "pumps", fake_cassandra::DumpKind::kVisible, now_s);
  }
};

// Over v4 a TTL counts from when it is taken: each sending has its own.
TEST_F(ReplicationExpiryTest, OverV4ALateRepeatDoesNotLengthenLife) {
  auto script = std::make_shared<PlannedFaults>();
  for (uint64_t n = 0; n < 4; ++n) script->AtWrite(n, {.fault = Fault::kSwallowBefore});
  ASSERT_NO_FATAL_FAILURE(StartAll(OlderServer(), script));
  Write("p0", kStartMs, 1, RowKind::kInsert, 3'600);
  const int64_t expiry_s = written_.back().expiry_s;
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_NE(ShownAt(expiry_s - 2), "");
  EXPECT_EQ(ShownAt(expiry_s + 1), "");
}

TEST_F(ReplicationExpiryTest, OverV4PreparationsOnTheWayDoNotLengthenLife) {
  const auto slow = std::make_shared<SlowPreparation>(7);
  ASSERT_NO_FATAL_FAILURE(StartAll(OlderServer(), slow));
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  const std::string without = ShownAt(0);
  slow->Begin();
  Write("p0", kStartMs + 77, 7, RowKind::kInsert, 3'600);
  const int64_t expiry_s = written_.back().expiry_s;
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_NE(ShownAt(expiry_s - 3), without);
  EXPECT_EQ(ShownAt(expiry_s + 2), without);
}

// It would be left out, confirmed, and be nowhere: what is sent goes by the time that is certain.
TEST_F(ReplicationExpiryTest, WhatHasExpiredByAClockThatNobodyConfirmedIsSent) {
  Write("p0", kStartMs, 1, RowKind::kInsert, 30 * 86'400);
  SealAll();
  const int64_t true_s = clock_->WallMicros() / 1'000'000;
  clock_->StepWallMicros(60 * kDayMs * 1000);
  ASSERT_TRUE(engine_->Tick().ok());
  clock_->AdvanceSeconds(limits::kClockDwellSecondsDefault);
  ASSERT_TRUE(engine_->Tick().ok());
  ASSERT_TRUE(engine_->GetMetrics().clock_trusted);
  ASSERT_NO_FATAL_FAILURE(StartAll({}));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 1u);
  EXPECT_NE(ShownAt(true_s + 86'400), "");
}

// A server that keeps to what Cassandra 4 could store judges a TTL by its own now: after an outage
// it would refuse one that counts from when the row was written.
TEST_F(ReplicationExpiryTest, ARowThatEndsShortlyBefore2038ArrivesAfterAnOutage) {
  const int64_t end_s = 2'147'483'646 - 86'400;
  const auto ttl_s = static_cast<uint32_t>(end_s - Core()->clock().now_s());
  Write("p0", kStartMs, 1, RowKind::kInsert, ttl_s);
  Write("p0", kStartMs + 1, 2);
  Write("p1", kStartMs + 2, 3, RowKind::kInsert, 86'400 * 300);
  SealAll();
  clock_->AdvanceSeconds(5 * 86'400);
  fake_cassandra::ClusterOptions options;
  options.compatibility = fake_cassandra::StorageCompatibility::kCassandra4;
  ASSERT_NO_FATAL_FAILURE(StartAll(options));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  EXPECT_NE(ShownAt(end_s - 1), ShownAt(end_s));
}

}  // namespace
}  // namespace cistern::testing
