// Aggregates of chosen rows, by groups and by steps of unequal widths: which way each answer comes,
// and where its limits are.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr char kMetrics[] = R"(
CREATE TABLE plant.metrics (
  sensor text, day date, ts timestamp, metric text, value double, quality int,
  PRIMARY KEY ((sensor, day), ts, metric))
WITH comment = 'cistern: bucket day = 1 day';
)";

struct Line {
  int64_t start = 0;
  std::string group;
  int64_t count = 0;
  double sum = 0;
  friend bool operator==(const Line&, const Line&) = default;
};

class AggregateGroupTest : public EngineFixture {
 protected:
  AggregateGroupTest() {
    options_.memory_budget_bytes = 64 << 20;
    options_.event_future_s_max = 2 * 86'400;
  }
  void SetUp() override { OpenWithTable(kMetrics); }

  void AddValue(RowBatch* batch, int64_t ts, const std::string& metric, double value,
                std::optional<int64_t> quality = {}) {
    batch->BeginRow();
    EXPECT_TRUE(batch->SetBytes(0, "a").ok());
    EXPECT_TRUE(batch->SetInt(2, ts).ok());
    EXPECT_TRUE(batch->SetBytes(3, metric).ok());
    EXPECT_TRUE(batch->SetDouble(4, value).ok());
    if (quality) {
      EXPECT_TRUE(batch->SetInt(5, *quality).ok());
    }
    const Status ended = batch->EndRow();
    EXPECT_TRUE(ended.ok()) << ended.ToString();
  }

  // A minute apart: temp 1, 2, 3 ... and, beside it, flow 100, 200, 300 ...
  void AppendMinutes(int64_t first, int64_t count) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < count; ++i) {
      AddValue(&batch, first + i * 60'000, "temp", static_cast<double>(i + 1));
      AddValue(&batch, first + i * 60'000, "flow", static_cast<double>(i + 1) * 100);
    }
    Append(batch);
  }
  void Append(const RowBatch& batch) {
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }

  AggregateRequest Request(int64_t step) {
    AggregateRequest request;
    request.table = schema_->name;
    request.entities = {Entity("a")};
    request.step = step;
    request.of = {{"value", AggregateFunction::kCount}, {"value", AggregateFunction::kSum}};
    return request;
  }

  std::vector<Line> Read(const AggregateRequest& request) {
    std::vector<Line> lines;
    const auto cursor = engine_->Aggregate(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return lines;
    AggregateBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.starts.size(); ++i) {
        lines.push_back({batch.starts[i], GroupText(batch, i), batch.columns[0].fixed[i],
                         batch.columns[1].AsDouble(i)});
      }
    }
    status_ = (*cursor)->status();
    work_ = (*cursor)->work();
    return lines;
  }

  static std::string GroupText(const AggregateBatch& batch, size_t i) {
    std::string text;
    for (const ColumnData& group : batch.groups) {
      if (!text.empty()) text += '/';
      if (group.state(i) != CellState::kValue) text += "null";
      else if (group.lane == Lane::kFixed) text += std::to_string(group.fixed[i]);
      else text += group.bytes(i);
    }
    return text;
  }

  Status status_;
  AggregateWork work_;
};

TEST_F(AggregateGroupTest, EachGroupOfAStepHasALine) {
  AppendMinutes(kStartMs, 3);
  AggregateRequest request = Request(120'000);
  request.group_by = {"metric"};
  const std::vector<Line> want = {{kStartMs, "flow", 2, 300},
                                  {kStartMs, "temp", 2, 3},
                                  {kStartMs + 120'000, "flow", 1, 300},
                                  {kStartMs + 120'000, "temp", 1, 3}};
  EXPECT_EQ(Read(request), want);
  EXPECT_EQ(work_.rows_merged, 6u);
  SealAll();
  EXPECT_EQ(Read(request), want);
  EXPECT_EQ(work_.rows_decoded, 6u);
  request.batch_steps_max = 1;
  EXPECT_EQ(Read(request), want);
}

TEST_F(AggregateGroupTest, StatisticsDoNotAnswerForGroupsOrConditions) {
  AppendMinutes(kStartMs, 300);
  SealAll();
  EXPECT_EQ(Read(Request(kDayMs)).size(), 1u);
  EXPECT_EQ(work_.rows_by_manifest, 600u);
  AggregateRequest request = Request(kDayMs);
  request.group_by = {"metric"};
  EXPECT_EQ(Read(request), (std::vector<Line>{{kStartMs, "flow", 300, 45'150.0 * 100},
                                              {kStartMs, "temp", 300, 45'150.0}}));
  EXPECT_EQ(work_.rows_decoded, 600u);
  EXPECT_EQ(work_.rows_by_manifest + work_.rows_by_page, 0u);
  request.group_by.clear();
  request.where = {{"metric", Comparison::kEqual, "temp"}};
  EXPECT_EQ(Read(request), (std::vector<Line>{{kStartMs, "", 300, 45'150.0}}));
  EXPECT_EQ(work_.rows_decoded, 600u);
  EXPECT_EQ(work_.rows_by_manifest + work_.rows_by_page, 0u);
}

TEST_F(AggregateGroupTest, ConditionsHoldWhereRowsAreMergedToo) {
  AppendMinutes(kStartMs, 3);
  SealAll();
  RowBatch batch(schema_);
  AddValue(&batch, kStartMs, "temp", 50);  // instead of 1
  Append(batch);
  AggregateRequest request = Request(kDayMs);
  request.where = {{"metric", Comparison::kEqual, "temp"}, {"value", Comparison::kGreater, "2"}};
  EXPECT_EQ(Read(request), (std::vector<Line>{{kStartMs, "", 2, 53}}));
  EXPECT_GT(work_.rows_merged, 0u);
}

TEST_F(AggregateGroupTest, AStepOfWhichNoRowPassesHasNoLine) {
  AppendMinutes(kStartMs, 3);
  SealAll();
  AggregateRequest request = Request(60'000);
  request.where = {{"value", Comparison::kEqual, "2"}};
  EXPECT_EQ(Read(request), (std::vector<Line>{{kStartMs + 60'000, "", 1, 2}}));
  request.where = {{"value", Comparison::kEqual, "2.5"}};
  EXPECT_EQ(Read(request), std::vector<Line>());
  EXPECT_TRUE(status_.ok());
}

// By their statistics.
TEST_F(AggregateGroupTest, PagesThatCannotMeetTheConditionsAreNotRead) {
  AppendMinutes(kStartMs, 300);
  SealAll();
  AppendMinutes(kStartMs + kDayMs, 3);
  SealAll();
  AggregateRequest request = Request(kDayMs);
  request.where = {{"value", Comparison::kGreaterOrEqual, "5000"}};
  ASSERT_EQ(Read(request).size(), 1u);
  EXPECT_EQ(work_.rows_decoded, 600u);
}

TEST_F(AggregateGroupTest, RegularColumnsGroupAsWellAndNullIsAGroup) {
  RowBatch batch(schema_);
  AddValue(&batch, kStartMs, "temp", 1, 7);
  AddValue(&batch, kStartMs + 1, "temp", 2);
  AddValue(&batch, kStartMs + 2, "temp", 4, -7);
  AddValue(&batch, kStartMs + 3, "flow", 8, 7);
  AddValue(&batch, kStartMs + 4, "temp", 16);
  Append(batch);
  AggregateRequest request = Request(kDayMs);
  request.group_by = {"quality"};
  EXPECT_EQ(Read(request), (std::vector<Line>{{kStartMs, "null", 2, 18},
                                              {kStartMs, "-7", 1, 4},
                                              {kStartMs, "7", 2, 9}}));
  request.group_by = {"quality", "metric"};
  EXPECT_EQ(Read(request), (std::vector<Line>{{kStartMs, "null/temp", 2, 18},
                                              {kStartMs, "-7/temp", 1, 4},
                                              {kStartMs, "7/flow", 1, 8},
                                              {kStartMs, "7/temp", 1, 1}}));
}

TEST_F(AggregateGroupTest, StepsOfUnequalWidthsAreKept) {
  AppendMinutes(kStartMs, 10);
  SealAll();
  AggregateRequest request = Request(0);
  request.where = {{"metric", Comparison::kEqual, "temp"}};
  request.step_of = [](int64_t time) {  // two minutes, three, and all the rest
    const int64_t bounds[] = {INT64_MIN, kStartMs + 120'000, kStartMs + 300'000};
    size_t i = 2;
    while (time < bounds[i]) --i;
    return AggregateStep{bounds[i], i == 2 ? INT64_MAX : bounds[i + 1] - 1};
  };
  const std::vector<Line> want = {
      {INT64_MIN, "", 2, 3}, {kStartMs + 120'000, "", 3, 12}, {kStartMs + 300'000, "", 5, 40}};
  EXPECT_EQ(Read(request), want);
  request.where.clear();
  request.step_of = [](int64_t) { return AggregateStep{kStartMs, kStartMs + kDayMs - 1}; };
  EXPECT_EQ(Read(request).size(), 1u);
  EXPECT_EQ(work_.rows_by_manifest, 20u);
}

TEST_F(AggregateGroupTest, MoreGroupsThanThereMayBeAreRefused) {
  constexpr auto kMax = static_cast<int64_t>(limits::kAggregateGroupsMax);
  for (const int64_t last : {kMax, kMax + 1}) {
    RowBatch batch(schema_);
    for (int64_t i = last == kMax ? 0 : kMax; i < last; ++i) {
      AddValue(&batch, kStartMs + i, "temp", 1, i);
      if (batch.row_count() < 1000 && i + 1 < last) continue;
      Append(batch);
      batch = RowBatch(schema_);
    }
    AggregateRequest request = Request(kDayMs);
    request.group_by = {"quality"};
    EXPECT_EQ(Read(request).size(), last == kMax ? limits::kAggregateGroupsMax : 0u);
    EXPECT_EQ(status_.code(), last == kMax ? StatusCode::kOk : StatusCode::kTooLarge);
  }
}

TEST_F(AggregateGroupTest, GroupsTakeOfTheMemoryBudget) {
  RowBatch batch(schema_);
  for (int64_t i = 0; i < 2000; ++i) AddValue(&batch, kStartMs + i, "temp", 1, i);
  Append(batch);
  AggregateRequest request = Request(kDayMs);
  request.group_by = {"quality"};
  for (const char* column : {"value", "quality"}) {
    for (const auto f : {AggregateFunction::kAvg, AggregateFunction::kMin}) {
      request.of.push_back({column, f});
    }
  }
  EXPECT_EQ(Read(request).size(), 2000u);
  const size_t left = Core()->budget()->left_bytes();
  const auto cursor = engine_->Aggregate(request);
  ASSERT_TRUE(cursor.ok());
  AggregateBatch got;
  EXPECT_TRUE((*cursor)->Next(&got));
  EXPECT_LT(Core()->budget()->left_bytes() + 1'000'000, left);
}

TEST_F(AggregateGroupTest, WhatCannotBeIsRefused) {
  AggregateRequest request = Request(1);
  request.group_by = {"ts"};
  EXPECT_EQ(engine_->Aggregate(request).status().code(), StatusCode::kInvalidArgument);
  request.group_by = {"sensor"};
  EXPECT_EQ(engine_->Aggregate(request).status().code(), StatusCode::kInvalidArgument);
  request.group_by.clear();
  request.where = {{"none", Comparison::kEqual, "1"}};
  EXPECT_EQ(engine_->Aggregate(request).status().code(), StatusCode::kInvalidArgument);
  request.where.assign(limits::kConditionsMax + 1, {"value", Comparison::kEqual, "1"});
  EXPECT_EQ(engine_->Aggregate(request).status().code(), StatusCode::kTooLarge);
}

}  // namespace
}  // namespace cistern::testing
