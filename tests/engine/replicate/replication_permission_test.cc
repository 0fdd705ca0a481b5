// A user who may not write to a table, or read it: no fault of a seal, and not of other tables.
#include <memory>
#include <string>
#include <string_view>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

// This user may not do such things with the table pumps.
class Denial final : public fake_cassandra::FaultScript {
 public:
  enum class Of { kWrites, kReads };
  explicit Denial(Of what) : what_(what) {}
  fake_cassandra::FaultStep Next(const fake_cassandra::RequestFacts& request) override {
    if (is_lifted_ || !IsMeant(request)) return {};
    ++count_;
    return {.fault = fake_cassandra::Fault::kUnauthorized};
  }
  void Begin() { is_lifted_ = false; }
  void Lift() { is_lifted_ = true; }
  [[nodiscard]] int count() const { return count_; }
  static constexpr char kOther[] = "mill";  // in rows of another table

 private:
  [[nodiscard]] bool IsMeant(const fake_cassandra::RequestFacts& request) const {
    if (what_ == Of::kWrites) {
      return request.is_write && request.body.find(kOther) == std::string_view::npos;
    }
    if (request.opcode == cql::Opcode::kExecute) return !request.is_write;
    return request.opcode == cql::Opcode::kQuery &&
           request.body.find("FROM plant.pumps") != std::string_view::npos;
  }
  const Of what_;
  bool is_lifted_ = false;
  int count_ = 0;
};

class ReplicationPermissionTest : public ReplicationFixture {
 protected:
  void ExpectHeldForPermission() {
    ASSERT_EQ(status_.held.size(), 1u) << Explain();
    EXPECT_EQ(status_.held[0].table, "plant.pumps");
    EXPECT_EQ(status_.held[0].reason, HeldReason::kNotPermitted);
    EXPECT_NE(status_.held[0].why.message().find("unauthorized (0x2100)"), std::string::npos)
        << Explain();
  }
};

TEST_F(ReplicationPermissionTest, ATableThatMayNotBeWrittenIsHeldAndOthersGo) {
  const auto denied = std::make_shared<Denial>(Denial::Of::kWrites);
  ASSERT_NO_FATAL_FAILURE(StartCluster({}, denied));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  ASSERT_NO_FATAL_FAILURE(CreateTableLikePumps("plant.mills"));
  replicator_.schema_retry_us = 60'000'000;
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(WriteDays(3));
  RowBatch mills(*engine_->FindTable("plant.mills"));
  AddRow(&mills, Denial::kOther, kStartMs, 1);
  ASSERT_TRUE(engine_->Append(mills).ok());
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 1u) << Explain();
  ExpectHeldForPermission();
  // Tried again once a minute, and held all the while for who looks.
  const int told_before = denied->count();
  ASSERT_TRUE(TurnUntil([&] {
    EXPECT_EQ(status_.held.size(), 1u);
    return denied->count() > told_before;
  }));
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(engine_->GetMetrics().versions_parked, 0u);
  denied->Lift();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_TRUE(status_.held.empty());
  ExpectEqual();
}

TEST_F(ReplicationPermissionTest, NothingIsSentToATableThatMayNotBeReadBack) {
  const auto denied = std::make_shared<Denial>(Denial::Of::kReads);
  ASSERT_NO_FATAL_FAILURE(StartCluster({}, denied));
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  replicator_.proof = ProofLevel::kRows;
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(WriteDays(3));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  EXPECT_EQ(status_.counters.batches_sent, 0u);
  ExpectHeldForPermission();
  const int told_before = denied->count();
  ASSERT_TRUE(TurnUntil([&] {
    EXPECT_EQ(status_.held.size(), 1u);
    return denied->count() > told_before;
  }));
  EXPECT_EQ(status_.counters.batches_sent, 0u);
  denied->Lift();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  ExpectEqual();
  // Taken away in the middle: what was sent is not confirmed until it was read.
  denied->Begin();
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kStuck));
  ExpectHeldForPermission();
  EXPECT_GT(engine_->GetMetrics().versions_waiting, 0u);
  denied->Lift();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_TRUE(status_.held.empty());
  ExpectEqual();
}

}  // namespace
}  // namespace cistern::testing
