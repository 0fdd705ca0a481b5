// Aggregates over buckets that were sealed under different versions of their table: the statistics
// of each are read by the columns of its own version.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kRows = 200;  // of a bucket; enough for statistics

// The columns between the key and its end.
std::string Table(const std::string& columns) {
  return "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, " + columns +
         " PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';";
}

// What a bucket shows of a column: values and their sum.
struct Shown {
  int64_t count = 0;
  int64_t sum = 0;
  friend bool operator==(const Shown&, const Shown&) = default;
};

class AggregateAlterTest : public EngineFixture {
 protected:
  AggregateAlterTest() { options_.event_future_s_max = 40 * 86'400; }
  void SetUp() override { OpenWithTable(Table("a int, b int, c int,").c_str()); }

  void Alter(const std::string& columns) {
    const Status s = engine_->AlterTable(Table(columns));
    ASSERT_TRUE(s.ok()) << s.ToString();
    schema_ = *engine_->FindTable("pumps");
  }
  // A bucket of a sensor, of which each column is the number of its name everywhere.
  void SealDay(const std::string& sensor, int64_t day) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < kRows; ++i) {
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, sensor).ok());
      ASSERT_TRUE(batch.SetInt(2, kStartMs + day * kDayMs + i * 1000).ok());
      for (const size_t c : schema_->regular_columns) {
        ASSERT_TRUE(batch.SetInt(c, Number(schema_->columns[c].name)).ok());
      }
      ASSERT_TRUE(batch.EndRow().ok());
    }
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
    SealAll();
  }
  static int64_t Number(const std::string& column) { return 1 << (column[0] - 'a'); }
  static Shown Full(const std::string& column) { return {kRows, kRows * Number(column)}; }

  // By bucket in the order of sensors and days, and by column; statistics tell all of it.
  std::vector<std::vector<Shown>> Read(const std::vector<std::string>& columns) {
    AggregateRequest request;
    request.table = schema_->name;
    request.step = kDayMs;
    for (const std::string& column : columns) {
      request.of.push_back({column, AggregateFunction::kCount});
      request.of.push_back({column, AggregateFunction::kSum});
    }
    std::vector<std::vector<Shown>> out;
    const auto cursor = engine_->Aggregate(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    AggregateBatch batch;
    while (cursor.ok() && (*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.starts.size(); ++i) {
        std::vector<Shown>& bucket = out.emplace_back();
        for (size_t k = 0; k < batch.columns.size(); k += 2) {
          const ColumnData& sums = batch.columns[k + 1];
          const bool has_sum = sums.state(i) == CellState::kValue;
          bucket.push_back({batch.columns[k].fixed[i], has_sum ? sums.fixed[i] : 0});
        }
      }
    }
    if (cursor.ok()) {
      EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
      EXPECT_EQ((*cursor)->work().rows_by_manifest, out.size() * kRows);
    }
    return out;
  }
};

using Buckets = std::vector<std::vector<Shown>>;

TEST_F(AggregateAlterTest, VersionsAlternateFromBucketToBucket) {
  // Old and new by turns, in each of two sensors and from one to the other.
  for (const char* sensor : {"p", "q"}) {
    for (const int64_t day : {0, 2}) SealDay(sensor, day);
  }
  // In front and behind, and one is gone: each column is elsewhere.
  Alter("d int, e int, b int, c int, f int,");
  for (const char* sensor : {"p", "q"}) {
    for (const int64_t day : {1, 3}) SealDay(sensor, day);
  }
  const Buckets sensor = {{Full("b"), Full("c"), {}},
                          {Full("b"), Full("c"), Full("d")},
                          {Full("b"), Full("c"), {}},
                          {Full("b"), Full("c"), Full("d")}};
  Buckets want = sensor;
  want.insert(want.end(), sensor.begin(), sensor.end());
  EXPECT_EQ(Read({"b", "c", "d"}), want);
  // Which version is first changes nothing, nor does an aggregate of one column.
  want.assign(8, {Full("c")});
  EXPECT_EQ(Read({"c"}), want);
  EXPECT_EQ(Read({"f"}),
            (Buckets{{{}}, {Full("f")}, {{}}, {Full("f")}, {{}}, {Full("f")}, {{}}, {Full("f")}}));
}

TEST_F(AggregateAlterTest, EachOfManyVersionsIsReadByItsOwn) {
  SealDay("p", 3);
  Alter("b int, c int,");
  SealDay("p", 0);
  Alter("d int, b int, c int,");
  SealDay("p", 2);
  Alter("d int, b int, e int, c int,");
  SealDay("p", 1);
  EXPECT_EQ(Read({"b", "c"}), Buckets(4, {Full("b"), Full("c")}));
  EXPECT_EQ(Read({"c", "e", "d"}), (Buckets{{Full("c"), {}, {}},
                                            {Full("c"), Full("e"), Full("d")},
                                            {Full("c"), {}, Full("d")},
                                            {Full("c"), {}, {}}}));
}

}  // namespace
}  // namespace cistern::testing
