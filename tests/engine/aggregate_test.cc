// Aggregates: which way each answer comes, and what is refused. That all ways give the same is the
// business of tests/model/aggregate_model_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "storage/keyspace.h"
#include "storage/seal_reader.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kHourMs = 3'600'000;

struct Step {
  int64_t start = 0;
  int64_t count = 0;
  double sum = 0;
  friend bool operator==(const Step&, const Step&) = default;
};

class AggregateTest : public EngineFixture {
 protected:
  AggregateTest() { options_.event_future_s_max = 40 * 86'400; }

  // Rows a minute apart from `first` on, of flow 0.5, 1.5 ...
  void AppendMinutes(const std::string& sensor, int64_t first, int64_t count,
                     std::optional<uint32_t> ttl_s = {}, RowKind kind = RowKind::kInsert) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < count; ++i) {
      AddRow(&batch, sensor, first + i * 60'000, static_cast<double>(i) + 0.5, kind, ttl_s);
    }
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }

  AggregateRequest Request(int64_t step) {
    AggregateRequest request;
    request.table = schema_->name;
    request.entities = {Entity("a")};
    request.step = step;
    request.of = {{"flow", AggregateFunction::kCount}, {"flow", AggregateFunction::kSum}};
    return request;
  }

  std::vector<Step> Read(const AggregateRequest& request) {
    std::vector<Step> steps;
    const auto cursor = engine_->Aggregate(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return steps;
    AggregateBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.starts.size(); ++i) {
        steps.push_back({batch.starts[i], batch.columns[0].fixed[i], batch.columns[1].AsDouble(i)});
      }
    }
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    work_ = (*cursor)->work();
    return steps;
  }

  Status Refusal(const AggregateRequest& request) { return engine_->Aggregate(request).status(); }

  AggregateWork work_;
};

TEST_F(AggregateTest, AManifestAnswersForAWholeBucket) {
  AppendMinutes("a", kStartMs, 1440);
  SealAll();
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 1440, 1440.0 * 720}}));
  EXPECT_EQ(work_.rows_by_manifest, 1440u);
  EXPECT_EQ(work_.rows_decoded + work_.rows_merged + work_.rows_by_page, 0u);
}

TEST_F(AggregateTest, WhatIsCutByAStepOrTheRangeIsDecoded) {
  AppendMinutes("a", kStartMs, 1440);
  SealAll();
  const std::vector<Step> hours = Read(Request(kHourMs));
  ASSERT_EQ(hours.size(), 24u);
  EXPECT_EQ(hours[1], (Step{kStartMs + kHourMs, 60, 60.0 * 90}));
  EXPECT_EQ(work_.rows_decoded, 1440u);
  AggregateRequest part = Request(kDayMs);
  part.from = kStartMs + 30'000;
  part.to = kStartMs + 120'001;
  EXPECT_EQ(Read(part), (std::vector<Step>{{kStartMs, 2, 4.0}}));
  EXPECT_EQ(work_.rows_by_manifest, 0u);
}

TEST_F(AggregateTest, PagesAnswerWhereNothingElseHasTheirTimes) {
  AppendMinutes("a", kStartMs, 300);
  SealAll();
  AppendMinutes("a", kStartMs + 10 * kHourMs, 300);
  SealAll();
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 600, 2 * 300.0 * 150}}));
  EXPECT_EQ(work_.rows_by_page, 600u);
  MustAppend("a", kStartMs + 60'000, 1001.5);  // instead of 1.5
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 600, 2 * 300.0 * 150 + 1000}}));
  EXPECT_EQ(work_.rows_by_page, 300u);
  EXPECT_EQ(work_.rows_merged, 300u);
}

// They have no statistics.
TEST_F(AggregateTest, SpilledPagesAreDecoded) {
  AppendMinutes("a", kStartMs, 300);
  Rotate();
  AppendMinutes("a", kStartMs + 10 * kHourMs, 300);
  Rotate();
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 600, 2 * 300.0 * 150}}));
  EXPECT_EQ(work_.rows_decoded, 600u);
  EXPECT_EQ(work_.rows_by_page + work_.rows_merged, 0u);
}

TEST_F(AggregateTest, AnAmendmentIsMerged) {
  AppendMinutes("a", kStartMs, 1440);
  SealAll();
  MustAppend("a", kStartMs, 100.5);
  SealAll();
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 1440, 1440.0 * 720 + 100}}));
  EXPECT_EQ(work_.rows_by_manifest, 0u);
  EXPECT_EQ(work_.rows_merged, 1440u);
}

TEST_F(AggregateTest, WhatMayHaveExpiredIsDecoded) {
  AppendMinutes("a", kStartMs, 200, 1000);
  SealAll();
  EXPECT_EQ(Read(Request(kDayMs)).size(), 1u);
  EXPECT_EQ(work_.rows_by_manifest, 200u);
  clock_->AdvanceSeconds(1001);
  EXPECT_EQ(Read(Request(kDayMs)), std::vector<Step>());
  EXPECT_EQ(work_.rows_by_manifest, 0u);
}

TEST_F(AggregateTest, ADeletionTakesStatisticsAway) {
  AppendMinutes("a", kStartMs, 300);
  SealAll();
  const auto deleted = engine_->DeleteRange(schema_->name, Entity("a"),
                                            {kStartMs, kStartMs + 60'000});
  ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 299, 300.0 * 150 - 0.5}}));
  EXPECT_EQ(work_.rows_by_manifest + work_.rows_by_page, 0u);
}

TEST_F(AggregateTest, DeletionsOfTheSameSealTakeStatisticsAway) {
  AppendMinutes("a", kStartMs, 300);
  const auto deleted = engine_->DeleteRange(schema_->name, Entity("a"),
                                            {kStartMs, kStartMs + 60'000});
  ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  SealAll();
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 299, 300.0 * 150 - 0.5}}));
  EXPECT_EQ(Read(Request(kHourMs)).size(), 5u);
}

TEST_F(AggregateTest, WhatIsDecodedMayHaveExpired) {
  AppendMinutes("a", kStartMs, 200, 1000);
  SealAll();
  EXPECT_EQ(Read(Request(kHourMs)).size(), 4u);
  EXPECT_EQ(work_.rows_decoded, 200u);
  clock_->AdvanceSeconds(1001);
  EXPECT_EQ(Read(Request(kHourMs)), std::vector<Step>());
}

TEST_F(AggregateTest, TheClockIsAskedForEachBucket) {
  for (int64_t day = 0; day < 3; ++day) AppendMinutes("a", kStartMs + day * kDayMs, 200, 1000);
  SealAll();
  AggregateRequest request = Request(kDayMs);
  request.batch_steps_max = 1;
  const auto cursor = engine_->Aggregate(request);
  ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
  AggregateBatch batch;
  EXPECT_TRUE((*cursor)->Next(&batch));
  clock_->AdvanceSeconds(1001);
  EXPECT_TRUE((*cursor)->Next(&batch));  // which ended the step before
  EXPECT_FALSE((*cursor)->Next(&batch));
  EXPECT_TRUE((*cursor)->status().ok());
}

TEST_F(AggregateTest, RowsThatLivedByADroppedColumnAreNotCounted) {
  AppendMinutes("a", kStartMs, 200, {}, RowKind::kUpdate);
  SealAll();
  AggregateRequest request = Request(kDayMs);
  request.of = {{"ts", AggregateFunction::kCount}};
  const auto rows = [&] {
    const auto cursor = engine_->Aggregate(request);
    AggregateBatch batch;
    return cursor.ok() && (*cursor)->Next(&batch) ? batch.columns[0].fixed[0] : 0;
  };
  EXPECT_EQ(rows(), 200);
  const Status altered = engine_->AlterTable(
      "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, state text, PRIMARY KEY "
      "((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';");
  ASSERT_TRUE(altered.ok()) << altered.ToString();
  EXPECT_EQ(rows(), 0);
}

// The manifest tells how many rows the only page of a bucket has; what else is there is damage.
TEST_F(AggregateTest, AnotherPageInPlaceOfTheOnlyOneIsDamage) {
  AppendMinutes("a", kStartMs, 300);
  AppendMinutes("b", kStartMs, 200);
  SealAll();
  const auto core = EngineImpl::Of(engine_.get())->core();
  ASSERT_TRUE(core.ok()) << core.status().ToString();
  const auto view = (*core)->store().spills().view();
  ASSERT_EQ(view->windows.size(), 1u);
  const FamilyPtr& family = view->windows[0]->family;
  const auto page_key = [&](const std::string& sensor) {
    const auto sealed = ListSealed(*view, {1, Entity(sensor).bytes, kStartMs / 1000, 0});
    EXPECT_TRUE(sealed.ok() && sealed->size() == 1);
    return sealed.ok() ? PageKey(sealed->front().id, 0) : std::string();
  };
  std::string page;
  ASSERT_TRUE(family->db()->Get({}, family->handle(), page_key("b"), &page).ok());
  ASSERT_TRUE(family->db()->Put({}, family->handle(), page_key("a"), page).ok());
  for (const bool is_there : {true, false}) {
    if (!is_there) {
      ASSERT_TRUE(family->db()->Delete({}, family->handle(), page_key("a")).ok());
    }
    const auto cursor = engine_->Aggregate(Request(kHourMs));
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    AggregateBatch batch;
    EXPECT_FALSE((*cursor)->Next(&batch)) << batch.starts.size();
    EXPECT_EQ((*cursor)->status().code(), StatusCode::kCorruption);
    EXPECT_EQ((*cursor)->gaps().size(), 1u);
  }
}

TEST_F(AggregateTest, RowsOfTheHeadAreThere) {
  AppendMinutes("a", kStartMs, 10);
  EXPECT_EQ(Read(Request(kDayMs)), (std::vector<Step>{{kStartMs, 10, 50.0}}));
  EXPECT_EQ(work_.rows_merged, 10u);
}

// A rotation between two batches moves rows that the cursor has not come to.
TEST_F(AggregateTest, GoesOnOverARotation) {
  for (int64_t day = 0; day < 4; ++day) AppendMinutes("a", kStartMs + day * kDayMs, 3);
  AggregateRequest request = Request(kDayMs);
  request.batch_steps_max = 1;
  const auto cursor = engine_->Aggregate(request);
  ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
  AggregateBatch batch;
  std::vector<int64_t> starts;
  while ((*cursor)->Next(&batch)) {
    starts.insert(starts.end(), batch.starts.begin(), batch.starts.end());
    Rotate();
  }
  ASSERT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
  EXPECT_EQ(starts, (std::vector<int64_t>{kStartMs, kStartMs + kDayMs, kStartMs + 2 * kDayMs,
                                          kStartMs + 3 * kDayMs}));
}

TEST_F(AggregateTest, EntitiesFollowOneAnother) {
  for (const char* sensor : {"c", "a", "b"}) AppendMinutes(sensor, kStartMs, 2);
  AggregateRequest request = Request(kDayMs);
  request.entities = {Entity("b"), Entity("none"), Entity("a")};
  const auto names = [&] {
    std::string out;
    const auto cursor = engine_->Aggregate(request);
    AggregateBatch batch;
    while (cursor.ok() && (*cursor)->Next(&batch)) {
      out += EntityToText(*schema_, batch.entity.bytes);
    }
    return out;
  };
  EXPECT_EQ(names(), "ba");
  request.entities.clear();
  EXPECT_EQ(names(), "abc");
}

TEST_F(AggregateTest, ManyBucketsOfManyEntitiesAreFound) {
  for (int64_t day = 0; day < 100; ++day) {
    for (const char* sensor : {"a", "bb", "b"}) AppendMinutes(sensor, kStartMs + day * kDayMs, 1);
    if (day % 30 == 0) SealAll();
    clock_->AdvanceSeconds(86'400);
  }
  AggregateRequest request = Request(1000 * kDayMs);
  request.entities.clear();
  const std::vector<Step> steps = Read(request);
  ASSERT_EQ(steps.size(), 3u);
  for (const Step& step : steps) EXPECT_EQ(step.count, 100);
}

TEST_F(AggregateTest, WhatCannotBeIsRefused) {
  AggregateRequest request = Request(0);
  EXPECT_EQ(Refusal(request).code(), StatusCode::kInvalidArgument);
  request = Request(1);
  request.from = request.to = 5;
  EXPECT_EQ(Refusal(request).code(), StatusCode::kInvalidArgument);
  request = Request(1);
  request.of.clear();
  EXPECT_EQ(Refusal(request).code(), StatusCode::kInvalidArgument);
  request.of.assign(limits::kAggregatesMax + 1, {"flow", AggregateFunction::kMin});
  EXPECT_EQ(Refusal(request).code(), StatusCode::kTooLarge);
  for (const AggregateColumn& bad :
       {AggregateColumn{"none", AggregateFunction::kCount},
        AggregateColumn{"sensor", AggregateFunction::kCount},
        AggregateColumn{"state", AggregateFunction::kSum},
        AggregateColumn{"ts", AggregateFunction::kAvg}}) {
    request.of = {bad};
    EXPECT_EQ(Refusal(request).code(), StatusCode::kInvalidArgument) << bad.column;
  }
  request = Request(1);
  request.entities = {{"x"}};
  EXPECT_EQ(Refusal(request).code(), StatusCode::kInvalidArgument);
  request = Request(1);
  request.table = "none";
  EXPECT_EQ(Refusal(request).code(), StatusCode::kNotFound);
}

// --- the order of values, and sums

TEST_F(AggregateTest, NanIsAboveAllAndZerosHaveASign) {
  RowBatch batch(schema_);
  const double values[] = {0.0, -0.0, std::nan(""), 3.0};
  for (int64_t i = 0; i < 4; ++i) AddRow(&batch, "a", kStartMs + i, values[i]);
  ASSERT_TRUE(engine_->Append(batch).ok());
  AggregateRequest request = Request(kDayMs);
  request.of = {{"flow", AggregateFunction::kMin}, {"flow", AggregateFunction::kMax},
                {"flow", AggregateFunction::kSum}, {"flow", AggregateFunction::kFirst}};
  const auto cursor = engine_->Aggregate(request);
  AggregateBatch got;
  ASSERT_TRUE(cursor.ok() && (*cursor)->Next(&got));
  EXPECT_EQ(got.columns[0].AsDouble(0), 0.0);
  EXPECT_TRUE(std::signbit(got.columns[0].AsDouble(0)));
  EXPECT_TRUE(std::isnan(got.columns[1].AsDouble(0)));
  EXPECT_TRUE(std::isnan(got.columns[2].AsDouble(0)));
  EXPECT_FALSE(std::signbit(got.columns[3].AsDouble(0)));
}

TEST_F(AggregateTest, ASumBeyond64BitsIsTold) {
  engine_.reset();
  directory_ = temp_.path() + "/integers";
  OpenWithTable("CREATE TABLE t (k text, day date, ts timestamp, n bigint, "
                "PRIMARY KEY ((k, day), ts))");
  RowBatch batch(schema_);
  for (int64_t i = 0; i < 2; ++i) {
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "a").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + i * kDayMs).ok());
    ASSERT_TRUE(batch.SetInt(3, INT64_MAX - i).ok());
    ASSERT_TRUE(batch.EndRow().ok());
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  AggregateRequest request = Request(4 * kDayMs);
  request.from = kStartMs;
  request.of = {{"n", AggregateFunction::kSum}};
  AggregateBatch got;
  const auto whole = engine_->Aggregate(request);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE((*whole)->Next(&got));
  EXPECT_EQ((*whole)->status().code(), StatusCode::kOutOfRange);
  request.step = kDayMs;
  const auto days = engine_->Aggregate(request);
  ASSERT_TRUE(days.ok() && (*days)->Next(&got));
  EXPECT_EQ(got.columns[0].fixed, (std::vector<int64_t>{INT64_MAX, INT64_MAX - 1}));
}

}  // namespace
}  // namespace cistern::testing
