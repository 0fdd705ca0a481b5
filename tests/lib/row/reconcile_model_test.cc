// Reconcile against its model, and KeepUnshadowed against every later scan.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lib/row/reconcile.h"
#include "tests/lib/row/reconcile_model.h"

namespace cistern {
namespace {

using row_test::ModelRow;
using row_test::RandomVersion;
using row_test::ReadMerged;
using row_test::ReadModel;
using row_test::Version;

class ReconcileModel : public testing::TestWithParam<uint64_t> {};

TEST_P(ReconcileModel, MergeSeesWhatTheModelSees) {
  std::mt19937_64 random(GetParam());
  const auto schema = row_test::PlainTable();
  for (int round = 0; round < 3000; ++round) {
    std::vector<Version> versions(1 + random() % 5);
    VersionColumns rows = VersionColumns::For(*schema);
    std::vector<VersionRef> refs;
    for (Version& v : versions) {
      v = RandomVersion(&random);
      row_test::Append(*schema, v, &rows);
    }
    for (size_t i = 0; i < versions.size(); ++i) refs.push_back({&rows, i});
    std::shuffle(refs.begin(), refs.end(), random);
    const int64_t deleted = random() % 3 == 0 ? static_cast<int64_t>(random() % 5) : INT64_MIN;
    for (const int64_t now_s : {0, 9, 10, 20, 29, 30, 99}) {
      ModelRow want = ReadModel(versions, deleted, now_s);
      ASSERT_EQ(ReadMerged(*schema, refs, deleted, now_s, true), want)
          << "seed " << GetParam() << " round " << round << " now " << now_s;
      want.b.reset();  // existence still counts it
      ASSERT_EQ(ReadMerged(*schema, refs, deleted, now_s, false), want)
          << "seed " << GetParam() << " round " << round << " now " << now_s;
    }
  }
}

TEST_P(ReconcileModel, DroppingShadowedVersionsChangesNoScan) {
  std::mt19937_64 random(GetParam());
  const auto schema = row_test::PlainTable();
  size_t dropped = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Version> merged(1 + random() % 5);
    std::vector<Version> elsewhere(random() % 4);  // older, newer or of the same time
    VersionColumns rows = VersionColumns::For(*schema);
    std::vector<VersionRef> refs;
    for (Version& v : merged) {
      v = RandomVersion(&random);
      row_test::Append(*schema, v, &rows);
    }
    for (Version& v : elsewhere) v = RandomVersion(&random);
    for (size_t i = 0; i < merged.size(); ++i) refs.push_back({&rows, i});
    const int64_t deleted = random() % 3 == 0 ? static_cast<int64_t>(random() % 5) : INT64_MIN;
    std::vector<bool> keep;
    KeepUnshadowed(*schema, refs, deleted, &keep);
    ASSERT_EQ(keep.size(), merged.size());
    std::vector<Version> before = elsewhere;
    std::vector<Version> after = elsewhere;
    for (size_t i = 0; i < merged.size(); ++i) {
      before.push_back(merged[i]);
      if (keep[i]) after.push_back(merged[i]);
      else ++dropped;
    }
    for (const int64_t now_s : {0, 9, 10, 20, 29, 30, 99}) {
      ASSERT_EQ(ReadModel(after, deleted, now_s), ReadModel(before, deleted, now_s))
          << "seed " << GetParam() << " round " << round << " now " << now_s;
    }
  }
  EXPECT_GT(dropped, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReconcileModel, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace cistern
