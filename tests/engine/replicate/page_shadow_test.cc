#include "engine/replicate/page_shadow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/engine/replicate/push_test_util.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

using testing::Rng;

constexpr int64_t kNowS = kDayStartS;
constexpr uint32_t kOver = static_cast<uint32_t>(kNowS);

TestVersion Row(int64_t ts, int64_t write_us, uint8_t flags = kVersionLiveness) {
  return Small(ts, write_us, 0, flags, Cell::Absent(), Cell::Absent());
}
TestVersion Deleted(int64_t ts, int64_t write_us) {
  return Row(ts, write_us, kVersionDeleteRow);
}

class PageShadowTest : public ::testing::Test {
 protected:
  // The page without what the others have deleted.
  SealPage Shadowed(const std::vector<TestVersion>& own,
                    const std::vector<std::vector<TestVersion>>& others,
                    const std::vector<RangeDelete>& ranges = {},
                    std::optional<int64_t> now_s = kNowS) {
    SealPage page;
    page.rows = PageOf(*schema_, own);
    PageShadow shadow(*schema_, mode_, now_s, &page.rows);
    shadow.AddRanges(ranges);
    for (const auto& versions : others) shadow.AddRows(PageOf(*schema_, versions));
    page.shadowed = shadow.Take();
    return page;
  }

  std::shared_ptr<const TableSchema> schema_ = SmallTable();
  TimestampMode mode_ = TimestampMode::kWriteTime;
};

TEST_F(PageShadowTest, NothingShadowsNothing) {
  EXPECT_TRUE(Shadowed({Row(1, 1)}, {}).shadowed.empty());
  EXPECT_TRUE(Shadowed({Row(1, 1)}, {{Row(1, 2), Row(2, 2)}}).shadowed.empty());
}

TEST_F(PageShadowTest, ARangeShadowsWhatWasWrittenNoLater) {
  const SealPage page = Shadowed(
      {Row(9, 1), Row(10, 100), Row(10, 101), Row(16, 99), Row(20, 51), Row(20, 50), Row(30, 1)},
      {}, {{10, 20, 100, 0}, {15, 30, 50, 0}});
  EXPECT_EQ(page.shadowed, (std::vector<bool>{false, true, false, true, false, true, false}));
}

TEST_F(PageShadowTest, APartitionDeleteShadowsAllTimes) {
  RangeDelete all;
  all.write_us = 7;
  const SealPage page =
      Shadowed({Row(INT64_MIN, 7), Row(0, 8), Row(0, -5), Row(INT64_MAX, 7)}, {}, {all});
  EXPECT_EQ(page.shadowed, (std::vector<bool>{true, false, true, true}));
}

TEST_F(PageShadowTest, ADeletedRowShadowsItsKeyAlone) {
  const SealPage page = Shadowed({Row(4, 1), Row(5, 101), Row(5, 100), Row(6, 1)},
                                 {{Deleted(5, 100), Deleted(5, 60), Row(6, 100)}});
  EXPECT_EQ(page.shadowed, (std::vector<bool>{false, false, true, false}));
}

// Otherwise each of two seals would leave it to the other one.
TEST_F(PageShadowTest, ADeletionIsSentByEachSealThatHasIt) {
  RangeDelete all;
  all.write_us = 100;
  const SealPage page = Shadowed({Row(5, 20), Deleted(5, 10)}, {{Deleted(5, 30)}}, {all});
  EXPECT_EQ(page.shadowed, (std::vector<bool>{true, false}));
}

TEST_F(PageShadowTest, KeysOfSeveralColumnsAreToldApart) {
  schema_ = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timestamp, n text, m text, a int, "
      "PRIMARY KEY ((id, day), ts, n, m))");
  const auto row = [](const char* n, const char* m, uint8_t flags) {
    return TestVersion{
        9, 0, flags, {Cell::Fixed(1), Cell::Bytes(n), Cell::Bytes(m), Cell::Fixed(1)}};
  };
  const SealPage page =
      Shadowed({row("a", "bc", 0), row("ab", "c", 0)}, {{row("ab", "c", kVersionDeleteRow)}});
  EXPECT_EQ(page.shadowed, (std::vector<bool>{false, true}));
}

TEST_F(PageShadowTest, ANullTakesItsCellAlone) {
  const TestVersion own = Small(1, 10, 0, 0, Cell::Fixed(1), Cell::Bytes("kept"));
  for (const int64_t write_us : {9, 10, 11}) {
    const TestVersion null = Small(1, write_us, 0, 0, Cell::Null(), Cell::Bytes("other"));
    const SealPage page = Shadowed({own}, {{null}});
    EXPECT_TRUE(page.shadowed.empty());
    const bool is_taken = write_us >= 10;
    EXPECT_EQ(page.rows.columns[3].state(0), is_taken ? CellState::kAbsent : CellState::kValue);
    EXPECT_EQ(page.rows.columns[4].state(0), CellState::kValue);
  }
  const TestVersion one = Small(1, 10, 0, 0, Cell::Fixed(1), Cell::Absent());
  EXPECT_EQ(Shadowed({one}, {{Small(1, 11, 0, 0, Cell::Null(), Cell::Absent())}}).shadowed,
            std::vector<bool>{true});
}

TEST_F(PageShadowTest, WhatIsOverTakesWhatItHadOverwritten) {
  const TestVersion own = Small(1, 10, 0, kVersionLiveness, Cell::Fixed(1), Cell::Absent());
  const TestVersion over = Small(1, 11, kOver, kVersionLiveness, Cell::Fixed(2), Cell::Absent());
  EXPECT_EQ(Shadowed({own}, {{over}}).shadowed, std::vector<bool>{true});
  EXPECT_TRUE(Shadowed({own}, {{over}}, {}, kNowS - 1).shadowed.empty()) << "it is not over yet";
  EXPECT_TRUE(Shadowed({own}, {{over}}, {}, std::nullopt).shadowed.empty()) << "no clock";
  EXPECT_TRUE(Shadowed({over}, {{over}}).shadowed.empty()) << "it stands in both seals";
  TestVersion update = over;
  update.flags = 0;
  const SealPage page = Shadowed({own}, {{update}});
  EXPECT_TRUE(page.shadowed.empty()) << "the row's marker is left";
  EXPECT_EQ(page.rows.flags[0], kVersionLiveness);
  EXPECT_EQ(page.rows.columns[3].state(0), CellState::kAbsent);
}

// Upstream both have one timestamp: the one that expires later wins, whenever it was written.
TEST_F(PageShadowTest, InEventTimeTheLaterExpiryWins) {
  mode_ = TimestampMode::kEventTime;
  const TestVersion own = Small(1, 10, 0, 0, Cell::Fixed(1), Cell::Absent());
  const TestVersion over = Small(1, 9, kOver, 0, Cell::Fixed(2), Cell::Absent());
  EXPECT_EQ(Shadowed({own}, {{over}}).shadowed, std::vector<bool>{true});
  EXPECT_TRUE(Shadowed({over}, {{own}}).shadowed.empty());
}

// A seal is sent when the cluster has forgotten all tombstones of another one: what shows then must
// be what merging both gives.
TEST_F(PageShadowTest, RandomSealsNeverRiseFromTheDead) {
  const uint64_t seed = testing::SeedFromEnv();
  SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const auto binder = BinderOf(schema_, {"p1"});
  const auto random_cell = [&rng](Cell value) {
    return rng.OneIn(3) ? Cell::Absent() : rng.OneIn(4) ? Cell::Null() : std::move(value);
  };
  const auto random_seal = [&] {
    std::vector<TestVersion> versions;
    for (uint64_t n = 1 + rng.Below(8); n > 0; --n) {
      TestVersion v =
          Small(static_cast<int64_t>(rng.Below(3)), static_cast<int64_t>(rng.Below(9)),
                rng.OneIn(2) ? kOver : 0, rng.OneIn(2) ? kVersionLiveness : 0,
                random_cell(Cell::Fixed(rng.Between(0, 9))), random_cell(Cell::Bytes("b")));
      if (rng.OneIn(5)) v = Deleted(v.cells[0].fixed, v.write_us);
      versions.push_back(std::move(v));
    }
    std::stable_sort(versions.begin(), versions.end(), [](const auto& a, const auto& b) {
      return a.cells[0].fixed < b.cells[0].fixed;
    });
    return versions;
  };
  const auto push = [&](SealPage page, ServerModel* server) {
    SealContent content;
    content.page_count = 1;
    content.read_page = [&](uint32_t, std::optional<int64_t>) -> Result<SealPage> { return page; };
    BatchStream stream(binder, {}, content, {});
    while (!stream.at_end()) {
      PushBatch batch;
      ASSERT_TRUE(stream.Next(kNowS, &batch).ok());
      server->Apply(batch, kNowS);
    }
  };
  // Keys and cells of the rows that show once all tombstones are forgotten.
  const auto visible = [&](ServerModel* server) {
    const int64_t later_s = kNowS + 2 * schema_->gc_grace_s;
    server->partition().Purge(later_s, schema_->gc_grace_s);
    std::map<int64_t, std::map<std::string, std::string>> rows;
    for (const auto& [key, row] : server->partition().rows()) {
      if (!row.IsLive(later_s)) continue;
      auto& cells = rows[key[0].fixed];
      for (const auto& [name, cell] : row.cells) {
        if (cell.IsLive(later_s)) cells[name] = cell.value;
      }
    }
    return rows;
  };
  for (int run = 0; run < 2000; ++run) {
    const auto own = random_seal();
    const auto other = random_seal();
    ServerModel together(StatementsOf(schema_), 0);
    push({PageOf(*schema_, own), {}}, &together);
    push({PageOf(*schema_, other), {}}, &together);
    ServerModel apart(StatementsOf(schema_), 0);
    push({PageOf(*schema_, other), {}}, &apart);
    (void)visible(&apart);  // forgets
    push(Shadowed(own, {other}), &apart);
    ASSERT_EQ(visible(&apart), visible(&together)) << "run " << run;
  }
}

// Deletions arrive long after they were written: the cluster must keep them for its own grace.
TEST_F(PageShadowTest, TheClusterKeepsADeletionThatComesAfterItsGrace) {
  const auto binder = BinderOf(schema_, {"p1"});
  ServerModel server(StatementsOf(schema_), 0);
  const int64_t write_s = kDayStartS;
  const int64_t now_s = write_s + 3 * schema_->gc_grace_s;
  TestVersion expiring = Row(2, write_s * 1'000'000);
  expiring.expiry_s = static_cast<uint32_t>(now_s + 500);
  const TestVersion overwrite =
      Small(3, write_s * 1'000'000 + 1, static_cast<uint32_t>(write_s + 5), 0, Cell::Fixed(1),
            Cell::Absent());
  BatchStream stream(
      binder, {},
      ContentOf({PageOf(*schema_, {Deleted(1, write_s * 1'000'000), expiring, overwrite})}, {}),
      {});
  while (!stream.at_end()) {
    PushBatch batch;
    ASSERT_TRUE(stream.Next(now_s, &batch).ok());
    server.Apply(batch, now_s);
  }
  server.partition().Purge(now_s + 1, schema_->gc_grace_s);
  EXPECT_EQ(server.partition().rows().size(), 3u);
}

}  // namespace
}  // namespace cistern::replicate
