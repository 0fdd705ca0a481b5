// What is sent is paid from the engine's memory budget: where it has no room fewer seals go side
// by side, or none, until it has.
#include <algorithm>
#include <string>

#include "tests/engine/replicate/replication_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

class PushMemoryTest : public ReplicationFixture {
 protected:
  PushMemoryTest() { options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin; }

  // `count` sealed buckets with one page of some hundred kilobytes each.
  void SealWide(int count) {
    constexpr int kRows = 30;
    constexpr size_t kTextBytes = 10'000;
    for (int bucket = 0; bucket < count; ++bucket) {
      const std::string sensor = "p" + std::to_string(bucket);
      for (int row = 0; row < kRows; ++row) {
        RowBatch batch(schema_);
        batch.BeginRow();
        ASSERT_TRUE(batch.SetBytes(0, sensor).ok());
        ASSERT_TRUE(batch.SetInt(2, kStartMs + row).ok());
        std::string text;
        while (text.size() < kTextBytes) text += std::to_string(Mix(text.size() + row));
        ASSERT_TRUE(batch.SetBytes(4, text).ok());
        ASSERT_TRUE(batch.EndRow().ok());
        ASSERT_TRUE(engine_->Append(batch).ok());
      }
      SealAll();
    }
  }
  void StartAll() {
    replicator_.pushing_count_max = 16;
    replicator_.flow.start_bytes = 4 << 20;  // not what bounds it
    ASSERT_NO_FATAL_FAILURE(StartCluster());
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  MemoryBudget* Budget() { return Core()->query().budget; }
  uint64_t Confirmed() { return engine_->GetMetrics().versions_confirmed; }
};

TEST_F(PushMemoryTest, FewerSealsGoSideBySideThanWouldPassTheShare) {
  constexpr int kBuckets = 24;
  ASSERT_NO_FATAL_FAILURE(SealWide(kBuckets));
  ASSERT_NO_FATAL_FAILURE(StartAll());
  uint64_t pushing_most = 0;
  uint64_t memory_most = 0;
  ASSERT_TRUE(TurnUntil([&] {
    pushing_most = std::max(pushing_most, status_.seals_pushing);
    memory_most = std::max(memory_most, status_.memory_bytes);
    return status_.phase == ReplicationPhase::kIdle;
  })) << Explain();
  EXPECT_EQ(Confirmed(), 30u * kBuckets);
  EXPECT_GT(memory_most, 0u);
  EXPECT_LE(memory_most, status_.memory_share_bytes);
  EXPECT_GT(pushing_most, 1u);
  EXPECT_LT(pushing_most, replicator_.pushing_count_max);
  EXPECT_LE(engine_->GetMetrics().memory_bytes_peak, options_.memory_budget_bytes);
  EXPECT_EQ(status_.memory_bytes, 0u);
}

TEST_F(PushMemoryTest, ItWaitsForABudgetThatOthersHaveTaken) {
  ASSERT_NO_FATAL_FAILURE(SealWide(2));
  MemoryCharge others(Budget());
  others.Set(Budget()->left_bytes());
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(RunFor(30'000'000));
  EXPECT_EQ(status_.counters.versions_sent, 0u);
  EXPECT_EQ(status_.counters.seals_parked, 0u);
  EXPECT_EQ(status_.phase, ReplicationPhase::kWorking);
  others.Set(0);
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 60u);
}

// Whoever has the smallest budget has seals that pass the share alone.
TEST_F(PushMemoryTest, OneHugePageGoesAlone) {
  RowBatch batch(schema_);
  for (int row = 0; row < 3; ++row) {
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "p").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + row).ok());
    ASSERT_TRUE(batch.SetBytes(4, std::string(900'000, 'x')).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
    batch.Clear();
  }
  SealAll();
  ASSERT_NO_FATAL_FAILURE(SealWide(4));
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 3u + 30u * 4);
}

}  // namespace
}  // namespace cistern::testing
