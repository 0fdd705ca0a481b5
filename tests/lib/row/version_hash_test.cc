// The hash of row versions: every field counts, their order does not.
#include "lib/row/version_hash.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/lib/row/row_test_util.h"

namespace cistern {
namespace {

using row_test::Version;

VersionColumns Rows(const TableSchema& schema, const std::vector<Version>& versions) {
  VersionColumns rows = VersionColumns::For(schema);
  for (const Version& v : versions) row_test::Append(schema, v, &rows);
  return rows;
}

TEST(VersionHash, EveryFieldCounts) {
  const auto schema = row_test::PlainTable();
  const Version plain{.ts = 1,
                      .write_us = 2,
                      .expiry_s = 3,
                      .flags = 1,
                      .a_state = CellState::kValue,
                      .a = 4,
                      .b_state = CellState::kValue,
                      .b = "five"};
  std::vector<Version> versions(9, plain);
  versions[1].ts = 9;
  versions[2].write_us = 9;
  versions[3].expiry_s = 9;
  versions[4].flags = 0;
  versions[5].a_state = CellState::kNull;
  versions[6].a = 9;
  versions[7].b_state = CellState::kAbsent;
  versions[8].b = "fiver";
  std::set<uint64_t> hashes;
  for (const Version& v : versions) hashes.insert(HashVersions(*schema, Rows(*schema, {v})));
  EXPECT_EQ(hashes.size(), versions.size());
}

TEST(VersionHash, OrderDoesNot) {
  const auto schema = row_test::PlainTable();
  const Version a{.ts = 1, .write_us = 2};
  const Version b{.ts = 2, .write_us = 2};
  const uint64_t both = HashVersions(*schema, Rows(*schema, {a, b}));
  EXPECT_EQ(both, HashVersions(*schema, Rows(*schema, {b, a})));
  EXPECT_EQ(both, HashVersions(*schema, Rows(*schema, {a})) +
                      HashVersions(*schema, Rows(*schema, {b})));
  EXPECT_NE(both, HashVersions(*schema, Rows(*schema, {a, a})));
}

}  // namespace
}  // namespace cistern
