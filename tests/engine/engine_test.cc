// The engine's contract from outside: write, read, rotate, close, open.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cistern/cistern.h"
#include "tests/support/temp_dir.h"

namespace cistern {
namespace {

constexpr char kPumps[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)";
constexpr int64_t kStartMs = 1'799'971'200'000;  // 2027-01-15T00:00:00Z

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(temp_.path()) / "store";
    Open();
    ASSERT_TRUE(engine_->CreateTable(kPumps).ok());
    schema_ = *engine_->FindTable("pumps");
  }
  void Open() {
    EngineOptions options;
    options.background_threads = false;
    options.memory_budget_bytes = 8 << 20;
    options.clock = SystemClock();
    options.event_future_s_max = 10LL * 365 * 86400;
    auto opened = Engine::Open(directory_, options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = *std::move(opened);
  }
  void Reopen() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    Open();
  }
  Status Append(const std::string& sensor, int64_t ts, double flow) {
    RowBatch batch(schema_);
    batch.BeginRow();
    EXPECT_TRUE(batch.SetBytes(0, sensor).ok());
    EXPECT_TRUE(batch.SetInt(2, ts).ok());
    EXPECT_TRUE(batch.SetDouble(3, flow).ok());
    const Status s = batch.EndRow();
    if (!s.ok()) return s;
    return engine_->Append(batch).status();
  }
  std::vector<std::pair<int64_t, double>> Scan(const std::string& sensor, int64_t from, int64_t to,
                                               size_t batch_rows = 1024) {
    ScanRequest request;
    request.table = "pumps";
    const std::string_view parts[] = {sensor};
    request.entity = *EntityFromText(*schema_, parts);
    request.from = from;
    request.to = to;
    request.batch_rows_max = batch_rows;
    request.columns = {"ts", "flow"};
    auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    std::vector<std::pair<int64_t, double>> out;
    if (!cursor.ok()) return out;
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        out.emplace_back(batch.columns[0].fixed[i], batch.columns[1].AsDouble(i));
      }
    }
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    return out;
  }

  const cistern::testing::TempDir temp_{"cistern-engine"};
  std::string directory_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
};

TEST_F(EngineTest, RowsComeBackInOrderFromHeadSegmentsAndJournal) {
  std::vector<std::pair<int64_t, double>> expected;
  for (int i = 0; i < 3000; ++i) {
    const int64_t ts = kStartMs + int64_t{(i * 7919) % 3000} * 60'000;  // late rows, two days
    ASSERT_TRUE(Append("pump-1", ts, i * 0.25).ok());
    expected.emplace_back(ts, i * 0.25);
    if (i == 1500) Reopen();
    if (i == 1000 || i == 2000) {
      ASSERT_TRUE(engine_->Rotate().ok());
    }
  }
  std::sort(expected.begin(), expected.end());
  const int64_t end = kStartMs + 10 * 86'400'000;
  EXPECT_EQ(Scan("pump-1", kStartMs, end), expected);
  EXPECT_EQ(Scan("pump-1", kStartMs, end, 7), expected);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(Scan("pump-1", end, kStartMs, 13), expected);
  EXPECT_TRUE(Scan("pump-2", kStartMs, end).empty());
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->problems.empty()) << report->problems[0];
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_written, 3000u);
  EXPECT_EQ(m.versions_open + m.versions_superseded, 3000u);
  EXPECT_GT(m.memory_bytes_charged, 0u);
  EXPECT_LE(m.memory_bytes_charged, m.memory_bytes_peak);
}

TEST_F(EngineTest, NewestWriteWinsAcrossRotationsAndDeletes) {
  ASSERT_TRUE(Append("p", kStartMs, 1).ok());
  ASSERT_TRUE(engine_->Rotate().ok());
  ASSERT_TRUE(Append("p", kStartMs, 2).ok());
  ASSERT_TRUE(Append("p", kStartMs + 1000, 3).ok());
  using Rows = std::vector<std::pair<int64_t, double>>;
  EXPECT_EQ(Scan("p", kStartMs, kStartMs + 5000), (Rows{{kStartMs, 2}, {kStartMs + 1000, 3}}));
  const std::string_view parts[] = {"p"};
  const EntityKey p = *EntityFromText(*schema_, parts);
  ASSERT_TRUE(engine_->DeleteRange("pumps", p, {kStartMs, kStartMs + 500}).ok());
  EXPECT_EQ(Scan("p", kStartMs, kStartMs + 5000), (Rows{{kStartMs + 1000, 3}}));
  Reopen();
  EXPECT_EQ(Scan("p", kStartMs, kStartMs + 5000), (Rows{{kStartMs + 1000, 3}}));
  ASSERT_TRUE(engine_->DeleteBucket("pumps", p, kStartMs).ok());
  EXPECT_TRUE(Scan("p", kStartMs, kStartMs + 5000).empty());
  ASSERT_TRUE(Append("p", kStartMs, 9).ok());
  ASSERT_TRUE(engine_->Rotate().ok());
  EXPECT_EQ(Scan("p", kStartMs, kStartMs + 5000), (Rows{{kStartMs, 9}}));
}

TEST_F(EngineTest, ARefusedBatchNamesItsRow) {
  RowBatch batch(schema_);
  for (const int64_t time : {kStartMs, kStartMs * 1000, kStartMs + 1}) {  // one in microseconds
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "p").ok());
    ASSERT_TRUE(batch.SetInt(*schema_->FindColumn("ts"), time).ok());
    ASSERT_TRUE(batch.EndRow().ok());
  }
  const Status refused = engine_->Append(batch).status();
  EXPECT_EQ(refused.code(), StatusCode::kOutOfRange);
  EXPECT_NE(refused.message().find("row 1 of the batch"), std::string::npos) << refused.message();
  EXPECT_TRUE(Scan("p", kStartMs, kStartMs + 5000).empty()) << "all or none";
}

}  // namespace
}  // namespace cistern
