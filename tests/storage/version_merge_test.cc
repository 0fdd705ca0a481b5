// Versions of one bucket from many sources: every key once, all its versions, in either
// direction, compared with a map; and what a reader makes of them with the model of cells.
#include "storage/version_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/lib/row/reconcile_model.h"
#include "tests/storage/memory_source.h"

namespace cistern {
namespace {

class VersionMergeTest : public ::testing::Test {
 protected:
  const std::shared_ptr<const TableSchema> schema_ = row_test::PlainTable();
};

class RandomMerge : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomMerge, EveryKeyComesOnceWithAllItsVersions) {
  std::mt19937_64 random(GetParam());
  const auto schema = row_test::PlainTable();
  for (int round = 0; round < 400; ++round) {
    const bool descending = random() % 2 == 0;
    const size_t key_count = 1 + random() % 30;
    std::map<int64_t, std::vector<Version>> expected;
    VersionMerge merge(*schema, descending);
    for (size_t s = random() % 7; s > 0; --s) {
      std::vector<Version> rows(1 + random() % 25);
      // Some sources lie apart, some on top of one another; a source may repeat a key.
      const auto first = static_cast<int64_t>(random() % key_count);
      for (Version& v : rows) {
        v = row_test::RandomVersion(&random);
        v.ts = first + static_cast<int64_t>(random() % key_count);
        expected[v.ts].push_back(v);
      }
      std::stable_sort(rows.begin(), rows.end(),
                       [](const Version& x, const Version& y) { return x.ts < y.ts; });
      merge.Add(std::make_unique<MemorySource>(*schema, rows, 1 + random() % 6, descending));
    }
    std::vector<int64_t> keys;
    for (const auto& [ts, versions] : expected) keys.push_back(ts);
    if (descending) std::reverse(keys.begin(), keys.end());
    for (const int64_t ts : keys) {
      const auto more = merge.NextKey();
      ASSERT_TRUE(more.ok()) << more.status().ToString();
      ASSERT_TRUE(*more) << "seed " << GetParam() << " round " << round << ": ends before " << ts;
      std::vector<Version>& want = expected[ts];
      std::vector<Version> got;
      for (const VersionRef& ref : merge.versions()) got.push_back(At(*schema, ref));
      ASSERT_EQ(got.size(), want.size()) << "seed " << GetParam() << " round " << round;
      std::sort(got.begin(), got.end(), Less);
      std::sort(want.begin(), want.end(), Less);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].ts, ts);
        ASSERT_FALSE(Less(got[i], want[i]) || Less(want[i], got[i]));
      }
      const int64_t deleted = random() % 3 == 0 ? static_cast<int64_t>(random() % 5) : INT64_MIN;
      for (const int64_t now_s : {0, 10, 29, 99}) {
        ASSERT_EQ(row_test::ReadMerged(*schema, merge.versions(), deleted, now_s, true),
                  row_test::ReadModel(want, deleted, now_s))
            << "seed " << GetParam() << " round " << round << " key " << ts << " now " << now_s;
      }
    }
    const auto end = merge.NextKey();
    ASSERT_TRUE(end.ok() && !*end) << "seed " << GetParam() << " round " << round;
  }
}

// More versions than are gathered at once: those that are shadowed may go on the way.
TEST_P(RandomMerge, AKeyOfThousandsOfVersionsReadsTheSame) {
  std::mt19937_64 random(GetParam());
  const auto schema = row_test::PlainTable();
  for (int round = 0; round < 4; ++round) {
    std::vector<Version> all;
    VersionMerge merge(*schema, false);
    for (int s = 0; s < 4; ++s) {
      std::vector<Version> rows(700);
      for (Version& v : rows) {
        v = row_test::RandomVersion(&random);
        v.write_us += static_cast<int64_t>(random() % 2000);
        all.push_back(v);
      }
      merge.Add(std::make_unique<MemorySource>(*schema, rows, 64, false));
    }
    const auto more = merge.NextKey();
    ASSERT_TRUE(more.ok() && *more);
    EXPECT_LT(merge.versions().size(), 300u);
    const int64_t deleted = round % 2 == 0 ? INT64_MIN : 1990;
    for (const int64_t now_s : {0, 10, 20, 29, 99}) {
      ASSERT_EQ(row_test::ReadMerged(*schema, merge.versions(), deleted, now_s, true),
                row_test::ReadModel(all, deleted, now_s))
          << "seed " << GetParam() << " round " << round << " now " << now_s;
    }
    const auto end = merge.NextKey();
    ASSERT_TRUE(end.ok() && !*end);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMerge, ::testing::Range<uint64_t>(1, 6));

// The rules of Cassandra's Cells.resolveRegular, one by one, across two sources.
TEST_F(VersionMergeTest, TiesAreResolvedAsCassandraDoes) {
  constexpr uint8_t kInsert = kVersionLiveness;
  constexpr CellState kValue = CellState::kValue;
  struct Case {
    const char* rule;
    Version one;
    Version other;
    std::optional<int64_t> a;  // visible at second 15
  };
  const std::vector<Case> cases = {
      {"the larger write timestamp", {0, 2, 0, kInsert, kValue, 1}, {0, 1, 0, kInsert, kValue, 9},
       1},
      {"a deleted cell beats a value", {0, 1, 0, 0, CellState::kNull}, {0, 1, 0, 0, kValue, 9}, {}},
      {"a deleted cell beats an expiring one", {0, 1, 0, 0, CellState::kNull},
       {0, 1, 20, 0, kValue, 9}, {}},
      {"expiring beats plain", {0, 1, 20, 0, kValue, 1}, {0, 1, 0, 0, kValue, 9}, 1},
      {"expired, too, beats plain", {0, 1, 10, 0, kValue, 1}, {0, 1, 0, 0, kValue, 9}, {}},
      {"the later expiry", {0, 1, 30, 0, kValue, 1}, {0, 1, 20, 0, kValue, 9}, 1},
      {"the larger bytes", {0, 1, 0, 0, kValue, 2}, {0, 1, 0, 0, kValue, 1}, 2},
      {"bytes are unsigned", {0, 1, 0, 0, kValue, -1}, {0, 1, 0, 0, kValue, 1}, -1},
      {"a deleted row covers its own time", {0, 1, 0, kVersionDeleteRow}, {0, 1, 0, 0, kValue, 9},
       {}},
      {"and nothing above it", {0, 1, 0, kVersionDeleteRow}, {0, 2, 0, 0, kValue, 9}, 9},
      {"an absent cell says nothing", {0, 2, 0, kInsert}, {0, 1, 0, 0, kValue, 9}, 9},
  };
  for (const Case& c : cases) {
    for (const bool swapped : {false, true}) {
      VersionMerge merge(*schema_, false);
      for (const Version& v : {swapped ? c.other : c.one, swapped ? c.one : c.other}) {
        merge.Add(std::make_unique<MemorySource>(*schema_, std::vector<Version>{v}, 1, false));
      }
      const auto more = merge.NextKey();
      ASSERT_TRUE(more.ok() && *more);
      const auto row = row_test::ReadMerged(*schema_, merge.versions(), INT64_MIN, 15, true);
      EXPECT_EQ(row.a, c.a ? std::optional(row_test::IntWire(*c.a)) : std::nullopt) << c.rule;
    }
  }
}

TEST_F(VersionMergeTest, NothingIsAnEnd) {
  VersionMerge merge(*schema_, false);
  for (int i = 0; i < 2; ++i) {
    const auto more = merge.NextKey();
    ASSERT_TRUE(more.ok());
    EXPECT_FALSE(*more);
  }
}

TEST_F(VersionMergeTest, SourcesAreOpenedWhenTheirTimeComes) {
  for (const bool descending : {false, true}) {
    VersionMerge merge(*schema_, descending);
    std::vector<int> asks(10);
    for (int64_t s = 0; s < 10; ++s) {
      auto source = std::make_unique<MemorySource>(
          *schema_, std::vector<Version>{{.ts = 10 * s}, {.ts = 10 * s + 5}}, 1, descending);
      source->CountAsks(&asks[static_cast<size_t>(s)]);
      merge.Add(std::move(source));
    }
    for (size_t keys = 1; keys <= 20; ++keys) {
      const auto more = merge.NextKey();
      ASSERT_TRUE(more.ok() && *more);
      const auto opened = static_cast<size_t>(
          std::count_if(asks.begin(), asks.end(), [](int n) { return n > 0; }));
      EXPECT_LE(opened, (keys + 1) / 2 + 1) << keys;
    }
  }
}

TEST_F(VersionMergeTest, ADamagedSourceIsAStatusAndNotAnEnd) {
  for (size_t good_chunks = 0; good_chunks < 3; ++good_chunks) {
    VersionMerge merge(*schema_, false);
    const std::vector<Version> rows = {{.ts = 1}, {.ts = 2}, {.ts = 3}};
    auto damaged = std::make_unique<MemorySource>(*schema_, rows, 1, false);
    damaged->FailAfter(good_chunks);
    merge.Add(std::move(damaged));
    merge.Add(std::make_unique<MemorySource>(*schema_, rows, 3, false));
    Status status;
    for (int keys = 0; status.ok() && keys < 4; ++keys) {
      const auto more = merge.NextKey();
      status = more.status();
      ASSERT_TRUE(!more.ok() || *more) << "the end was reached over the damage";
    }
    EXPECT_EQ(status.code(), StatusCode::kCorruption);
    EXPECT_EQ(status.message(), "page 7 is damaged");
  }
}

}  // namespace
}  // namespace cistern
