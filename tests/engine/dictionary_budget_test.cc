// Dictionaries of many columns of text beside a small budget: some go without, nobody is refused.
#include <string>

#include "storage/window_dictionaries.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr int kTexts = 20;  // columns: more than may have a dictionary
constexpr int kRows = 40;   // of a sensor a day

class DictionaryBudgetTest : public EngineFixture {
 protected:
  DictionaryBudgetTest() {
    options_.seal_when_due = false;
    options_.memory_budget_bytes = 64 << 20;
  }
  void SetUp() override {
    std::string cql = "CREATE TABLE plant.wide (sensor text, day date, ts timestamp";
    for (int i = 0; i < kTexts; ++i) cql += ", t" + std::to_string(i) + " text";
    cql += ", PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';";
    OpenWithTable(cql.c_str());
  }
  RowBatch Lines(int sensor, int64_t day, int rows, int64_t late_ms = 0) {
    RowBatch batch(schema_);
    for (int i = 0; i < rows; ++i) {
      batch.BeginRow();
      EXPECT_TRUE(batch.SetBytes(0, "s" + std::to_string(100 + sensor)).ok());
      EXPECT_TRUE(batch.SetInt(2, kStartMs + day * kDayMs + late_ms + i * 60'000).ok());
      for (int c = 0; c < kTexts; ++c) {
        const std::string line = std::to_string(c) + " modbus: no answer of the unit, attempt " +
                                 std::to_string(random_.Below(100'000));
        EXPECT_TRUE(batch.SetBytes(static_cast<size_t>(3 + c), line).ok());
      }
      EXPECT_TRUE(batch.EndRow().ok());
    }
    return batch;
  }
  void LiveDay(int64_t day, int sensors, int64_t late_ms = 0) {
    const int64_t after_us = (kStartMs + (day + 1) * kDayMs) * 1000;
    if (clock_->WallMicros() < after_us) clock_->PassTo(after_us);
    for (int sensor = 0; sensor < sensors; ++sensor) {
      const Status s = engine_->Append(Lines(sensor, day, kRows, late_ms)).status();
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
    Rotate();
    SealAll();
  }
  size_t CountRows(int sensor) {
    ScanRequest request = Request("s" + std::to_string(100 + sensor), kStartMs,
                                  kStartMs + 100 * kDayMs);
    request.columns = {"ts", "t0", "t5"};
    auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    size_t rows = 0;
    for (ResultBatch batch; cursor.ok() && (*cursor)->Next(&batch);) rows += batch.row_count;
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    return rows;
  }
  size_t ChargedBytes() { return engine_->GetMetrics().memory_bytes_charged; }

  Rng random_{7};
};

TEST_F(DictionaryBudgetTest, AWindowGetsOneOfEachColumnHoweverShortMemoryIs) {
  for (const int64_t hour : {0, 2, 4, 6}) LiveDay(0, 400, hour * 3'600'000);
  const auto windows = Core()->store().spills().view()->windows;
  ASSERT_EQ(windows.size(), 1u);
  const size_t count = windows[0]->record.dictionaries.size();
  EXPECT_GE(count, 8u);
  EXPECT_LE(count, limits::kDictionaryColumnsMax);
  EXPECT_LE(ChargedBytes(), options_.memory_budget_bytes);
  EXPECT_EQ(CountRows(0), size_t{4 * kRows});
}

TEST_F(DictionaryBudgetTest, ASmallerBudgetGoesOnWithFewer) {
  LiveDay(0, 400);
  ASSERT_TRUE(engine_->Close().ok());
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  Open();
  for (int64_t day = 2; day < 8; day += 2) {
    LiveDay(day, 100);
    EXPECT_LE(ChargedBytes(), options_.memory_budget_bytes) << "day " << day;
  }
  LiveDay(1, 100);  // into the window that has them
  EXPECT_LE(ChargedBytes(), options_.memory_budget_bytes);
  EXPECT_EQ(CountRows(0), size_t{5 * kRows});
  EXPECT_EQ(CountRows(399), size_t{kRows});
  auto producer = engine_->NewProducer();
  ASSERT_TRUE(producer.ok());
  const Status submitted = (*producer)->Submit(Lines(0, 8, 1)).status();
  EXPECT_TRUE(submitted.ok()) << submitted.ToString();
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
