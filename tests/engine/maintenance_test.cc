// Maintenance in steps: rotation, rewriting of spills, meta, and what damage does to them.
#include "storage/rocksdb_options.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class MaintenanceTest : public EngineFixture {};

TEST_F(MaintenanceTest, EveryStepOfARotationMayBeTheLastOne) {
  uint64_t written = 0;
  bool done = false;
  for (int steps = 0; !done && steps < 20; ++steps) {
    written += 5;
    for (int i = 0; i < 5; ++i) MustAppend("a", kStartMs + i, i);
    (void)Core()->committer().Freeze();
    for (int i = 0; i < steps; ++i) {
      const auto report = engine_->Tick({1});
      ASSERT_TRUE(report.ok());
      done = !report->more_due;
    }
    MustAppend("b", kStartMs + steps, 1);
    ++written;
    Crash();
    EXPECT_EQ(engine_->GetMetrics().versions_written, written) << steps;
    EXPECT_FALSE(engine_->Recovery().recovered_with_loss) << steps;
    EXPECT_EQ(ScanAll("a").size(), 5u);
    EXPECT_EQ(ScanAll("b").size(), static_cast<size_t>(steps) + 1);
    ExpectSound();
  }
  EXPECT_TRUE(done);
}

TEST_F(MaintenanceTest, SpillFamiliesStayFewAndCountersHold) {
  options_.memory_budget_bytes = 8 << 20;
  Reopen();
  uint64_t written = 0;
  for (int round = 0; round < 60; ++round) {
    RowBatch batch(schema_);
    for (int i = 0; i < 300; ++i) {
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, "a").ok());
      ASSERT_TRUE(batch.SetInt(2, kStartMs + i).ok());  // overwritten every round
      std::string noise;
      for (int k = 0; k < 800; ++k) {
        noise.push_back(static_cast<char>('!' + (round * 7919 + i * 104729 + k * k * 31) % 90));
      }
      ASSERT_TRUE(batch.SetBytes(4, noise).ok());
      ASSERT_TRUE(batch.EndRow().ok());
    }
    ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
    written += batch.row_count();
    if (round == 20) {
      ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {kStartMs, kStartMs + 100}).ok());
      ++written;
    }
    Rotate();
    ASSERT_TRUE(engine_->Tick({1000}).ok());
    const Metrics m = engine_->GetMetrics();
    ASSERT_EQ(m.versions_written, written);
    ASSERT_EQ(m.versions_written, m.versions_open + m.versions_superseded);
    ASSERT_LE(m.spill_families, limits::kSpillFamilyCountMax);
  }
  ExpectSound();
  EXPECT_EQ(ScanAll("a").size(), 300u);
  Crash();
  EXPECT_EQ(engine_->GetMetrics().versions_written, written);
  EXPECT_EQ(ScanAll("a").size(), 300u);
  ExpectSound();
}

TEST_F(MaintenanceTest, MetaIsFlushedWhenItHasGrownWithoutRotations) {
  for (int i = 0; i < 300; ++i) {
    std::string name("t");
    name += std::to_string(i);
    std::string columns;
    for (int c = 0; c < 60; ++c) {
      columns += "a_rather_long_name_of_a_column_";
      columns += std::to_string(c);
      columns += " double, ";
    }
    std::string cql = "CREATE TABLE ";
    cql += name;
    cql += " (sensor text, day date, ts timestamp, ";
    cql += columns;
    cql += "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day'";
    const Status made = engine_->CreateTable(cql);
    ASSERT_TRUE(made.ok()) << made.ToString();
  }
  ASSERT_GE(Core()->store().MetaMemtableBytes(), kMetaFlushBytes);
  ASSERT_TRUE(engine_->Tick({100}).ok());
  EXPECT_LT(Core()->store().MetaMemtableBytes(), kMetaFlushBytes);
  Reopen();
  EXPECT_EQ(engine_->ListTables().size(), 301u);
}

TEST_F(MaintenanceTest, MoreDeletesThanAHeaderTakesRotateInSeveralGenerations) {
  options_.memory_budget_bytes = 64 << 20;
  Reopen();
  const uint64_t count = limits::kBucketRangeDeletesMax + 100;
  MustAppend("a", kStartMs, 1);
  for (uint64_t i = 0; i < count; ++i) {
    const auto time = static_cast<int64_t>(i) * 2 + 1;
    const auto deleted = engine_->DeleteRange(
        "pumps", Entity("a"), {kStartMs + time, kStartMs + time + 1}, {Durability::kLog});
    ASSERT_TRUE(deleted.ok()) << i << deleted.status().ToString();
  }
  Rotate();
  EXPECT_TRUE(engine_->Health().ok());
  EXPECT_EQ(engine_->GetMetrics().versions_written, count + 1);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  ExpectSound();
}

TEST_F(MaintenanceTest, ReadersWriteNothingAndSaySo) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  MustAppend("a", kStartMs + 1, 2);
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.read_only = true;
  Open();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}}));
  EXPECT_EQ(Append("a", kStartMs, 1).code(), StatusCode::kReadOnly);
  EXPECT_EQ(engine_->Rotate().code(), StatusCode::kReadOnly);
  EXPECT_EQ(engine_->Sync().code(), StatusCode::kReadOnly);
  EXPECT_EQ(engine_->Health().code(), StatusCode::kReadOnly);
  EXPECT_EQ(engine_->CreateTable("CREATE TABLE x (a int)").code(), StatusCode::kReadOnly);
  EXPECT_TRUE(engine_->Tick({10}).ok());
  ExpectSound();
  EXPECT_TRUE(engine_->Close().ok());
}

TEST_F(MaintenanceTest, AfterCloseEverythingSaysClosed) {
  auto producer = engine_->NewProducer();
  ASSERT_TRUE(producer.ok());
  const auto ticket = (*producer)->Submit(Row("a", kStartMs, 1));
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(engine_->Close().ok());
  EXPECT_TRUE((*producer)->Wait(*ticket).ok());  // Close commits what is queued
  EXPECT_EQ((*producer)->Append(Row("a", kStartMs, 1)).status().code(), StatusCode::kClosed);
  EXPECT_EQ(Append("a", kStartMs, 1).code(), StatusCode::kClosed);
  EXPECT_EQ(engine_->Scan(Request("a", 0, 1)).status().code(), StatusCode::kClosed);
  EXPECT_EQ(engine_->Tick({1}).status().code(), StatusCode::kClosed);
  EXPECT_EQ(engine_->Health().code(), StatusCode::kClosed);
  EXPECT_TRUE(engine_->Close().ok());
  producer->reset();
  engine_.reset();
  Open();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

}  // namespace
}  // namespace cistern::testing
