// The policies of filters and aggregates: without a store.
#include <gtest/gtest.h>

#include <numeric>
#include <span>

#include "engine/query/aggregate_groups.h"
#include "engine/query/aggregate_plan.h"
#include "engine/query/row_filter.h"
#include "engine/query/stretches.h"

namespace cistern {
namespace {

std::shared_ptr<const TableSchema> Schema() {
  return *ParseCreateTable(
      "CREATE TABLE t (k text, day date, ts timestamp, v double, n int, s text, l "
      "frozen<list<int>>, d decimal, PRIMARY KEY ((k, day), ts))");
}

SegmentHeader Header(const std::vector<TimeExtent>& pages) {
  SegmentHeader header;
  for (const TimeExtent& t : pages) header.pages.push_back({1, 1, t.first, t.last});
  return header;
}

std::string Text(const std::vector<Stretch>& stretches) {
  std::string out;
  for (const Stretch& s : stretches) {
    out += s.is_page ? "page " + std::to_string(s.segment) + "." + std::to_string(s.page) : "merge";
    out += " " + std::to_string(s.times.first) + ".." + std::to_string(s.times.last) + "; ";
  }
  return out;
}

TEST(Stretches, PagesStandAloneWhereNothingElseHasTheirTimes) {
  const SegmentHeader a = Header({{0, 9}, {10, 19}, {30, 39}});
  const SegmentHeader b = Header({{15, 16}, {50, 59}});
  const SegmentHeader* const headers[] = {&a, &b};
  EXPECT_EQ(Text(StretchesOf(headers, {})),
            "page 0.0 0..9; merge 10..19; page 0.2 30..39; page 1.1 50..59; ");
  const TimeExtent heads[] = {{39, 50}, {70, 80}};
  EXPECT_EQ(Text(StretchesOf(headers, heads)),
            "page 0.0 0..9; merge 10..19; merge 30..59; merge 70..80; ");
  EXPECT_EQ(Text(StretchesOf({}, {})), "");
}

// A key may have versions on both sides of a border.
TEST(Stretches, PagesThatShareATimeAreMerged) {
  const SegmentHeader a = Header({{0, 9}, {9, 19}, {20, 29}});
  const SegmentHeader* const headers[] = {&a};
  EXPECT_EQ(Text(StretchesOf(headers, {})), "merge 0..19; page 0.2 20..29; ");
}

TEST(Stretches, DeletesMeetTimesUpToTheirEnd) {
  const std::vector<RangeDelete> deletes = {{10, 20, 1, 0}};
  EXPECT_FALSE(AnyMeets(deletes, {0, 9}));
  EXPECT_TRUE(AnyMeets(deletes, {0, 10}));
  EXPECT_TRUE(AnyMeets(deletes, {19, 30}));
  EXPECT_FALSE(AnyMeets(deletes, {20, 30}));
  EXPECT_TRUE(AnyMeets(std::vector<RangeDelete>{{}}, {INT64_MAX, INT64_MAX}));
}

AggregatePlan Plan(int64_t step, int64_t from = INT64_MIN, int64_t to = INT64_MAX) {
  AggregateRequest request;
  request.step = step;
  request.from = from;
  request.to = to;
  request.of = {{"v", AggregateFunction::kMin}};
  return *AggregatePlan::Make(*Schema(), request);
}

AggregateStep StepOf(const AggregatePlan& plan, int64_t time) {
  return plan.StepOf(time, std::nullopt);
}

TEST(AggregatePlan, StepsAreCountedFrom1970) {
  const AggregatePlan plan = Plan(10);
  EXPECT_EQ(StepOf(plan, 0).first, 0);
  EXPECT_EQ(StepOf(plan, 9).first, 0);
  EXPECT_EQ(StepOf(plan, -1).first, -10);
  EXPECT_EQ(StepOf(plan, -10).first, -10);
  EXPECT_EQ(StepOf(plan, -10).last, -1);
  EXPECT_TRUE(plan.IsWhole({-10, -1}));
  EXPECT_FALSE(plan.IsWhole({-1, 0}));
}

TEST(AggregatePlan, StepsEndWithTime) {
  const AggregatePlan plan = Plan(10);
  const AggregateStep least = StepOf(plan, INT64_MIN);
  EXPECT_EQ(least.first, INT64_MIN);
  EXPECT_EQ(StepOf(plan, least.last).first, INT64_MIN);
  EXPECT_EQ(StepOf(plan, least.last + 1).first, least.last + 1);
  EXPECT_EQ(StepOf(plan, INT64_MAX).last, INT64_MAX);
  const AggregatePlan all = Plan(INT64_MAX);
  EXPECT_EQ(StepOf(all, 5).first, 0);
  EXPECT_EQ(StepOf(all, INT64_MIN).first, INT64_MIN);
}

TEST(AggregatePlan, TheStepBeforeChangesNothing) {
  for (const int64_t step : {int64_t{1}, int64_t{10}, INT64_MAX - 7, INT64_MAX}) {
    const AggregatePlan plan = Plan(step);
    for (const int64_t edge : {int64_t{0}, INT64_MIN, INT64_MAX}) {
      for (int64_t off = -25; off <= 25; ++off) {
        const auto time = static_cast<int64_t>(static_cast<uint64_t>(edge) + off);
        const AggregateStep want = StepOf(plan, time);
        EXPECT_TRUE(want.first <= time && time <= want.last) << step << ' ' << time;
        for (const int64_t from : {time, INT64_MIN, int64_t{-20}, int64_t{-10}, int64_t{0}}) {
          EXPECT_EQ(plan.StepOfAll({time, time}, StepOf(plan, from)), want) << step << ' ' << time;
        }
      }
    }
  }
}

AggregateRequest TensAndAHole() {
  AggregateRequest request;
  request.of = {{"v", AggregateFunction::kMin}};
  // 0..9, 10..29, and of all other times what holds none of them.
  request.step_of = [](int64_t time) {
    if (time >= 0 && time < 10) return AggregateStep{0, 9};
    return time >= 10 && time < 30 ? AggregateStep{10, 29} : AggregateStep{7, 8};
  };
  return request;
}

TEST(AggregatePlan, StepsMayBeOfUnequalWidths) {
  const AggregatePlan plan = *AggregatePlan::Make(*Schema(), TensAndAHole());
  EXPECT_EQ(StepOf(plan, 3), (AggregateStep{0, 9}));
  EXPECT_EQ(StepOf(plan, 29), (AggregateStep{10, 29}));
  EXPECT_TRUE(plan.IsWhole({10, 29}));
  EXPECT_FALSE(plan.IsWhole({9, 10}));
  const std::optional<AggregateStep> tens = AggregateStep{0, 9};
  EXPECT_EQ(plan.StepOfAll({10, 29}, tens)->last, 29);
  EXPECT_EQ(plan.StepOfAll({0, 9}, tens)->last, 9);
  EXPECT_FALSE(plan.StepOfAll({9, 10}, tens));
}

TEST(AggregatePlan, AStepThatDoesNotHoldItsTimeIsOfOneTick) {
  const AggregatePlan plan = *AggregatePlan::Make(*Schema(), TensAndAHole());
  EXPECT_EQ(StepOf(plan, 30), (AggregateStep{30, 30}));
  EXPECT_EQ(StepOf(plan, -1), (AggregateStep{-1, -1}));
}

TEST(AggregatePlan, StepsAreOfOneKind) {
  AggregateRequest request = TensAndAHole();
  request.step = 10;
  EXPECT_EQ(AggregatePlan::Make(*Schema(), request).status().code(), StatusCode::kInvalidArgument);
  request.step_of = nullptr;
  EXPECT_TRUE(AggregatePlan::Make(*Schema(), request).ok());
  request.step = 0;
  EXPECT_EQ(AggregatePlan::Make(*Schema(), request).status().code(), StatusCode::kInvalidArgument);
}

TEST(AggregatePlan, GroupsAreByValuesThatHaveAnOrder) {
  const auto code = [](const std::vector<std::string>& names) {
    AggregateRequest request = TensAndAHole();
    request.group_by = names;
    return AggregatePlan::Make(*Schema(), request).status().code();
  };
  EXPECT_EQ(code({"s", "n"}), StatusCode::kOk);
  for (const char* name : {"l", "d", "k", "day", "ts", "none"}) {
    EXPECT_EQ(code({name}), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(code({"s", "s"}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::vector<std::string>(limits::kGroupColumnsMax + 1, "s")),
            StatusCode::kTooLarge);
}

// A page may have a group in each of its rows: they are added in pieces, so that what the groups
// take is charged before it is much.
TEST(AggregateGroups, NewGroupsOfAPageAreAddedInPieces) {
  const std::shared_ptr<const TableSchema> schema = Schema();
  AggregateRequest request = TensAndAHole();
  request.group_by = {"n"};
  const AggregatePlan plan = *AggregatePlan::Make(*schema, request);
  VersionColumns rows = VersionColumns::For(*schema);
  const size_t v = *schema->FindColumn("v");
  for (int64_t i = 0; i < limits::kPageRowsMax; ++i, ++rows.row_count) {
    rows.columns[v].AppendFixed(0);
    rows.columns[v + 1].AppendFixed(i);
  }
  std::vector<uint32_t> picked(rows.row_count);
  std::iota(picked.begin(), picked.end(), 0u);
  AggregateGroups groups(&plan, *schema);
  size_t pieces = 0;
  for (std::span<const uint32_t> left = picked; !left.empty(); ++pieces) {
    const size_t before = groups.MemoryBytes();
    const Result<size_t> added = groups.AddPicked(rows, left);
    ASSERT_TRUE(added.ok()) << added.status().ToString();
    ASSERT_GT(*added, 0u);
    EXPECT_LT(groups.MemoryBytes(), before + 2 * AggregateGroups::kGrowthBytes);
    left = left.subspan(*added);
  }
  EXPECT_GT(pieces, 2u);
  EXPECT_EQ(groups.size(), rows.row_count);
  const Result<size_t> again = groups.AddPicked(rows, picked);  // all groups are there
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, picked.size());
}

TEST(AggregatePlan, AStepThatTheRangeCutsIsNotWhole) {
  const AggregatePlan plan = Plan(10, 5, 18);
  EXPECT_FALSE(plan.IsWhole({4, 9}));
  EXPECT_TRUE(plan.IsWhole({5, 9}));
  EXPECT_TRUE(plan.IsWhole({10, 17}));
  EXPECT_FALSE(plan.IsWhole({10, 18}));
}

TEST(RowFilter, RefusesWhatHasNoOrder) {
  const auto code = [](const char* column, const char* value) {
    return RowFilter::Make(*Schema(), {{column, Comparison::kEqual, value}}).status().code();
  };
  EXPECT_EQ(code("v", "1.5"), StatusCode::kOk);
  EXPECT_EQ(code("s", "x"), StatusCode::kOk);
  EXPECT_EQ(code("l", "[1]"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("d", "1"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("k", "x"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("none", "x"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("n", "x"), StatusCode::kInvalidArgument);
  const std::vector<Condition> many(limits::kConditionsMax + 1, {"n", Comparison::kLess, "1"});
  EXPECT_EQ(RowFilter::Make(*Schema(), many).status().code(), StatusCode::kTooLarge);
}

// 200 rows: v from 10 to 209, n without values, s of one text.
TEST(RowFilter, PagesAreSkippedByTheirStatistics) {
  const std::shared_ptr<const TableSchema> declared = Schema();
  const TableSchema& schema = *declared;
  VersionColumns rows = VersionColumns::For(schema);
  const size_t v = *schema.FindColumn("v");
  for (int64_t i = 0; i < 200; ++i) {
    rows.write_us.push_back(i);
    rows.flags.push_back(kVersionLiveness);
    rows.columns[schema.time_column()].AppendFixed(1000 + i);
    rows.columns[v].AppendFixed(std::bit_cast<int64_t>(static_cast<double>(10 + i)));
    rows.columns[v + 1].AppendMissing(CellState::kNull);
    rows.columns[v + 2].AppendBytes("x");
    for (const size_t c : {v + 3, v + 4}) rows.columns[c].AppendMissing(CellState::kAbsent);
  }
  rows.row_count = 200;
  SegmentHeader header = Header({{1000, 1199}});
  header.statistics = PageStatisticsOf(schema, rows, 0, 200);
  header.pages[0].row_count = 200;
  header.pages[0].statistics_size = static_cast<uint32_t>(header.statistics.size());
  const auto may = [&](const char* column, Comparison comparison, const char* value) {
    return RowFilter::Make(schema, {{column, comparison, value}})
        ->MayMatch(schema, header, header.pages[0]);
  };
  EXPECT_FALSE(may("v", Comparison::kLess, "10"));
  EXPECT_TRUE(may("v", Comparison::kLessOrEqual, "10"));
  EXPECT_FALSE(may("v", Comparison::kGreater, "209"));
  EXPECT_TRUE(may("v", Comparison::kGreaterOrEqual, "209"));
  EXPECT_FALSE(may("v", Comparison::kEqual, "9.5"));
  EXPECT_TRUE(may("v", Comparison::kEqual, "15.5"));
  EXPECT_TRUE(may("v", Comparison::kNotEqual, "10"));
  EXPECT_FALSE(may("v", Comparison::kGreaterOrEqual, "NaN"));
  EXPECT_FALSE(may("n", Comparison::kNotEqual, "1"));
  EXPECT_TRUE(may("s", Comparison::kEqual, "y"));
  EXPECT_FALSE(may("ts", Comparison::kLess, "1970-01-01T00:00:01Z"));
  EXPECT_TRUE(may("ts", Comparison::kGreater, "1970-01-01T00:00:01Z"));
  header.pages[0].statistics_size = 1;  // damaged
  EXPECT_TRUE(may("v", Comparison::kLess, "10"));
}

}  // namespace
}  // namespace cistern
