#include "engine/replicate/later_tombstones.h"

#include <gtest/gtest.h>

#include "tests/engine/replicate/push_test_util.h"

namespace cistern::replicate {
namespace {

TestVersion Row(int64_t ts, int64_t write_us, uint8_t flags = kVersionLiveness) {
  return Small(ts, write_us, 0, flags, Cell::Absent(), Cell::Absent());
}

TEST(LaterTombstones, NoneShadowsNothing) {
  const auto schema = SmallTable();
  const LaterTombstones later(schema);
  EXPECT_TRUE(later.empty());
  EXPECT_FALSE(later.Shadows(PageOf(*schema, {Row(1, 1)}), 0));
}

TEST(LaterTombstones, ARangeShadowsWhatWasWrittenNoLater) {
  const auto schema = SmallTable();
  LaterTombstones later(schema);
  const std::vector<RangeDelete> first = {{10, 20, 100, 0}};
  const std::vector<RangeDelete> second = {{15, 30, 50, 0}};
  later.AddRanges(first);
  later.AddRanges(second);
  const VersionColumns rows =
      PageOf(*schema, {Row(10, 100), Row(10, 101), Row(9, 1), Row(20, 51), Row(20, 50), Row(30, 1),
                       Row(16, 99)});
  const std::vector<bool> expected = {true, false, false, false, true, false, true};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(later.Shadows(rows, i), expected[i]) << i;
}

TEST(LaterTombstones, APartitionDeleteShadowsAllTimes) {
  const auto schema = SmallTable();
  LaterTombstones later(schema);
  RangeDelete all;
  all.write_us = 7;
  later.AddRanges(std::span(&all, 1));
  const VersionColumns rows =
      PageOf(*schema, {Row(INT64_MIN, 7), Row(INT64_MAX, 7), Row(0, 8), Row(0, -5)});
  EXPECT_TRUE(later.Shadows(rows, 0));
  EXPECT_TRUE(later.Shadows(rows, 1));
  EXPECT_FALSE(later.Shadows(rows, 2));
  EXPECT_TRUE(later.Shadows(rows, 3));
}

TEST(LaterTombstones, ADeletedRowShadowsItsKeyAlone) {
  const auto schema = SmallTable();
  LaterTombstones later(schema);
  later.AddRows(PageOf(*schema, {Row(5, 100, kVersionDeleteRow), Row(5, 60, kVersionDeleteRow),
                                 Row(6, 100)}));
  const VersionColumns rows = PageOf(*schema, {Row(5, 100), Row(5, 101), Row(6, 1)});
  EXPECT_TRUE(later.Shadows(rows, 0));
  EXPECT_FALSE(later.Shadows(rows, 1));
  EXPECT_FALSE(later.Shadows(rows, 2));
}

TEST(LaterTombstones, KeysOfSeveralColumnsAreToldApart) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timestamp, n text, m text, a int, "
      "PRIMARY KEY ((id, day), ts, n, m))");
  LaterTombstones later(schema);
  const auto row = [](const char* n, const char* m, uint8_t flags) {
    return TestVersion{9, 0, flags,
                       {Cell::Fixed(1), Cell::Bytes(n), Cell::Bytes(m), Cell::Absent()}};
  };
  later.AddRows(PageOf(*schema, {row("ab", "c", kVersionDeleteRow)}));
  const VersionColumns rows = PageOf(*schema, {row("ab", "c", 0), row("a", "bc", 0)});
  EXPECT_TRUE(later.Shadows(rows, 0));
  EXPECT_FALSE(later.Shadows(rows, 1));
}

// The cluster has forgotten the tombstones of the second seal when the first is sent once more.
TEST(LaterTombstones, NothingRisesFromTheDead) {
  const auto schema = SmallTable();
  const auto binder = BinderOf(schema, {"p1"});
  const auto push = [&](std::vector<TestVersion> rows, std::vector<RangeDelete> deletes,
                        const LaterTombstones* later, int64_t now_s, ServerModel* server) {
    BatchStream stream(binder, {}, ContentOf({PageOf(*schema, rows)}, std::move(deletes)), {},
                       later);
    while (!stream.at_end()) {
      PushBatch batch;
      ASSERT_TRUE(stream.Next(now_s, &batch).ok());
      server->Apply(batch, now_s);
    }
  };
  const std::vector<TestVersion> first = {Row(1, 10), Row(2, 11), Row(3, 12)};
  const std::vector<TestVersion> second = {Row(1, 20, kVersionDeleteRow)};
  const std::vector<RangeDelete> ranges = {{2, 3, 21, 0}};
  ServerModel server(StatementsOf(schema), 0);
  push(first, {}, nullptr, kDayStartS, &server);
  push(second, ranges, nullptr, kDayStartS, &server);
  ASSERT_EQ(server.partition().rows().size(), 2u);  // a tombstone and the row of time 3
  const int64_t later_s = kDayStartS + 2 * schema->gc_grace_s;
  server.partition().Purge(later_s, schema->gc_grace_s);
  ASSERT_EQ(server.partition().rows().size(), 1u);

  LaterTombstones later(schema);
  later.AddRanges(ranges);
  later.AddRows(PageOf(*schema, second));
  push(first, {}, &later, later_s, &server);
  EXPECT_EQ(server.partition().rows().size(), 1u);
  push(first, {}, nullptr, later_s, &server);
  EXPECT_EQ(server.partition().rows().size(), 3u);  // what it guards against
}

// Deletions arrive long after they were written: the cluster must keep them for its own grace.
TEST(LaterTombstones, TheClusterKeepsADeletionThatComesAfterItsGrace) {
  const auto schema = SmallTable();
  const auto binder = BinderOf(schema, {"p1"});
  ServerModel server(StatementsOf(schema), 0);
  const int64_t write_s = kDayStartS;
  const int64_t now_s = write_s + 3 * schema->gc_grace_s;
  TestVersion expiring = Row(2, write_s * 1'000'000);
  expiring.expiry_s = static_cast<uint32_t>(now_s + 500);
  const TestVersion overwrite =
      Small(3, write_s * 1'000'000 + 1, static_cast<uint32_t>(write_s + 5), 0, Cell::Fixed(1),
            Cell::Absent());
  BatchStream stream(
      binder, {},
      ContentOf({PageOf(*schema, {Row(1, write_s * 1'000'000, kVersionDeleteRow), expiring,
                                  overwrite})},
                {}),
      {}, nullptr);
  while (!stream.at_end()) {
    PushBatch batch;
    ASSERT_TRUE(stream.Next(now_s, &batch).ok());
    server.Apply(batch, now_s);
  }
  server.partition().Purge(now_s + 1, schema->gc_grace_s);
  EXPECT_EQ(server.partition().rows().size(), 3u);
}

}  // namespace
}  // namespace cistern::replicate
