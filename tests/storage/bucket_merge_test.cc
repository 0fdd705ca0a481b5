// What a merge for good keeps: runs of rows that are taken as they stand are no other than what
// merging them key by key would give.
#include "storage/bucket_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/lib/row/reconcile_model.h"
#include "tests/storage/memory_source.h"

namespace cistern {
namespace {

TablePtr PlainTable() {
  return std::make_shared<const Table>(1, std::vector<TableVersion>{{row_test::PlainTable()}});
}

// One version, whose text outlives the columns.
Version LastingAt(const TableSchema& schema, const VersionRef& ref) {
  static std::set<std::string, std::less<>> texts;
  Version v = At(schema, ref);
  v.b = *texts.emplace(v.b).first;
  return v;
}

using Keys = std::map<int64_t, std::vector<Version>>;  // by event time

// By the definition: of each key those that something of shows.
std::vector<Version> KeptOf(const TableSchema& schema, const Keys& keys,
                            const std::vector<RangeDelete>& deletes) {
  std::vector<Version> kept;
  for (const auto& [time, versions] : keys) {
    VersionColumns rows = VersionColumns::For(schema);
    std::vector<VersionRef> refs;
    for (const Version& v : versions) row_test::Append(schema, v, &rows);
    for (size_t i = 0; i < rows.row_count; ++i) refs.push_back({&rows, i});
    std::vector<bool> keep;
    KeepUnshadowed(schema, refs, DeletedUpTo(deletes, time), &keep);
    const size_t first = kept.size();
    for (size_t i = 0; i < refs.size(); ++i) {
      if (keep[i]) kept.push_back(LastingAt(schema, refs[i]));
    }
    std::sort(kept.begin() + static_cast<ptrdiff_t>(first), kept.end(), Less);
  }
  return kept;
}

// In the order that it came in, the versions of one key sorted.
std::vector<Version> MergedOf(const TableSchema& schema, BucketMerge* merge) {
  VersionColumns rows = VersionColumns::For(schema);
  for (bool more = true; more;) {
    const Result<bool> next = merge->Next(&rows);
    EXPECT_TRUE(next.ok());
    more = next.ok() && *next;
  }
  std::vector<Version> versions;
  for (size_t i = 0; i < rows.row_count; ++i) versions.push_back(LastingAt(schema, {&rows, i}));
  for (auto first = versions.begin(); first != versions.end();) {
    const auto last = std::find_if(first, versions.end(),
                                   [&](const Version& v) { return v.ts != first->ts; });
    std::sort(first, last, Less);
    first = last;
  }
  return versions;
}

class RandomBucketMerge : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomBucketMerge, KeepsWhatMergingKeyByKeyKeeps) {
  std::mt19937_64 random(GetParam());
  const TablePtr table = PlainTable();
  const TableSchema& schema = *table->schema;
  for (int round = 0; round < 200; ++round) {
    BucketMerge merge(table, BucketKey{}, {}, std::make_shared<const BootBases>());
    Keys keys;
    std::vector<RangeDelete> deletes;
    if (random() % 4 == 0) deletes.push_back({10, 40, 1ll << 39});
    int64_t time = 0;
    for (size_t s = 1 + random() % 4; s > 0; --s) {
      std::vector<Version> rows(1 + random() % 300);
      // Most sources follow the one before, others go back into it; most rows are plain inserts.
      // No two were written at once: of equals it is not said which one is kept.
      if (random() % 3 == 0) time = std::max<int64_t>(0, time - 30);
      for (Version& v : rows) {
        v = row_test::RandomVersion(&random);
        v.write_us = static_cast<int64_t>(random() % (1ull << 40));
        if (random() % 8 != 0) v.flags = kVersionLiveness;
        if (random() % 10 != 0) ++time;
        v.ts = time;
        keys[v.ts].push_back(v);
      }
      merge.Add(std::make_unique<MemorySource>(schema, rows, 1 + random() % 200, false),
                s == 1 ? deletes : std::vector<RangeDelete>{});
    }
    const std::vector<Version> expected = KeptOf(schema, keys, deletes);
    const std::vector<Version> merged = MergedOf(schema, &merge);
    ASSERT_EQ(merged.size(), expected.size()) << "round " << round;
    for (size_t i = 0; i < merged.size(); ++i) {
      ASSERT_EQ(merged[i].ts, expected[i].ts) << "round " << round << ", row " << i;
      ASSERT_FALSE(Less(merged[i], expected[i]) || Less(expected[i], merged[i]))
          << "round " << round << ", row " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomBucketMerge, ::testing::Values(1u, 2u, 3u));

}  // namespace
}  // namespace cistern
