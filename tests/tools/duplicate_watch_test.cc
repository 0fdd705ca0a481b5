#include "tools/duplicate_watch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace cistern::tool {
namespace {

using Verdict = DuplicateWatch::Verdict;

std::shared_ptr<const TableSchema> Schema(std::string_view columns = "v int, w int") {
  auto schema = ParseCreateTable("CREATE TABLE t (e text, day date, ts timestamp, part int, " +
                                 std::string(columns) + ", PRIMARY KEY ((e, day), ts, part))");
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return *schema;
}

// A row that sets the columns of `set`, of column 4 on.
RowBatch RowOf(const std::shared_ptr<const TableSchema>& schema, std::string_view entity,
               int64_t time, int64_t part, const std::set<size_t>& set) {
  RowBatch batch(schema);
  batch.BeginRow();
  EXPECT_TRUE(batch.SetBytes(0, entity).ok());
  EXPECT_TRUE(batch.SetInt(2, time).ok());
  EXPECT_TRUE(batch.SetInt(3, part).ok());
  for (const size_t column : set) EXPECT_TRUE(batch.SetInt(column, 7).ok());
  EXPECT_TRUE(batch.EndRow().ok());
  return batch;
}

TEST(DuplicateWatch, OneKeyAndOneColumnReplace) {
  const auto schema = Schema();
  DuplicateWatch watch(schema);
  const auto add = [&](std::string_view entity, int64_t time, int64_t part,
                       const std::set<size_t>& set) {
    return watch.Add(RowOf(schema, entity, time, part, set), 0);
  };
  EXPECT_EQ(add("a", 5, 1, {4}), Verdict::kNew);
  EXPECT_EQ(add("a", 5, 1, {5}), Verdict::kNew) << "merged";
  EXPECT_EQ(add("a", 5, 1, {5}), Verdict::kReplaces);
  EXPECT_EQ(add("a", 5, 2, {4}), Verdict::kNew) << "another part";
  EXPECT_EQ(add("b", 5, 1, {4}), Verdict::kNew) << "another entity";
  EXPECT_EQ(add("a", 4, 1, {4}), Verdict::kNew);
  EXPECT_EQ(add("a", 5, 1, {4, 5}), Verdict::kReplaces);
  EXPECT_EQ(add("a", 5, 1, {}), Verdict::kNew) << "it says nothing";
}

TEST(DuplicateWatch, EveryColumnOfManyCounts) {
  std::string columns;
  for (int i = 0; i < 130; ++i) columns += (i == 0 ? "c" : ", c") + std::to_string(i) + " int";
  const auto schema = Schema(columns);
  DuplicateWatch watch(schema);
  for (size_t column = 4; column < 134; ++column) {
    EXPECT_EQ(watch.Add(RowOf(schema, "a", 5, 1, {column}), 0), Verdict::kNew) << column;
  }
  for (size_t column = 4; column < 134; ++column) {
    EXPECT_EQ(watch.Look(RowOf(schema, "a", 5, 1, {column}), 0), Verdict::kReplaces) << column;
  }
}

TEST(DuplicateWatch, ARowThatWasNotStoredIsForgotten) {
  const auto schema = Schema();
  DuplicateWatch watch(schema);
  EXPECT_EQ(watch.Add(RowOf(schema, "a", 5, 1, {4}), 0), Verdict::kNew);
  EXPECT_EQ(watch.Add(RowOf(schema, "a", 5, 1, {5}), 0), Verdict::kNew);
  watch.Forget(RowOf(schema, "a", 5, 1, {5}), 0);
  EXPECT_EQ(watch.Look(RowOf(schema, "a", 5, 1, {5}), 0), Verdict::kNew);
  EXPECT_EQ(watch.Look(RowOf(schema, "a", 5, 1, {4}), 0), Verdict::kReplaces);
}

TEST(DuplicateWatch, LongRecordingsInOrderAreJudgedExactly) {
  const auto schema = Schema();
  DuplicateWatch watch(schema, 100);
  for (int64_t time = 0; time < 1000; ++time) {
    ASSERT_EQ(watch.Add(RowOf(schema, "a", time, 1, {4}), 0), Verdict::kNew) << time;
  }
  EXPECT_EQ(watch.Look(RowOf(schema, "a", 900, 1, {4}), 0), Verdict::kReplaces);
  EXPECT_EQ(watch.Look(RowOf(schema, "a", 5, 1, {4}), 0), Verdict::kUnknown) << "it is forgotten";
  EXPECT_EQ(watch.Look(RowOf(schema, "a", -1, 1, {4}), 0), Verdict::kNew) << "before all others";
  EXPECT_EQ(watch.Look(RowOf(schema, "b", 5, 1, {4}), 0), Verdict::kNew);
}

// Against all rows kept in a map.
TEST(DuplicateWatch, AgreesWithAMapOfAllRows) {
  const auto schema = Schema();
  DuplicateWatch watch(schema, 3000);
  std::map<std::tuple<std::string, int64_t, int64_t>, std::pair<std::set<size_t>, int>> rows;
  std::mt19937 random(7);
  int replaced = 0;
  int unknown = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string entity(1, static_cast<char>('a' + random() % 3));
    const auto time = static_cast<int64_t>(i / 4 + random() % 2000);
    const auto part = static_cast<int64_t>(random() % 2);
    std::set<size_t> set;
    if (random() % 2 == 0) set.insert(4);
    if (random() % 2 == 0) set.insert(5);
    auto& [known, last] = rows[{entity, time, part}];
    bool replaces = false;
    for (const size_t column : set) replaces = !known.insert(column).second || replaces;
    const Verdict verdict = watch.Add(RowOf(schema, entity, time, part, set), 0);
    if (verdict == Verdict::kReplaces) {
      ASSERT_TRUE(replaces) << i;
      ++replaced;
    } else if (replaces) {
      ASSERT_EQ(verdict, Verdict::kUnknown) << i;
      ASSERT_GE(i - last, 3000) << "rows so near are compared";
    }
    if (verdict == Verdict::kUnknown) ++unknown;
    if (!set.empty()) last = i;
  }
  EXPECT_GT(replaced, 1000);
  EXPECT_GT(unknown, 1000);
}

}  // namespace
}  // namespace cistern::tool
