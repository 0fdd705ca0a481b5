// DropShadowed leaves out what others of a key make needless, and nothing that any scan could miss.
#include "lib/row/shadowed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lib/row/row_order.h"
#include "tests/lib/row/reconcile_model.h"

namespace cistern {
namespace {

using row_test::RandomVersion;
using row_test::ReadModel;
using row_test::Version;

Version Plain(int64_t ts, int64_t write_us, int64_t a, uint32_t expiry_s = 0) {
  Version v;
  v.ts = ts;
  v.write_us = write_us;
  v.expiry_s = expiry_s;
  v.flags = kVersionLiveness;
  v.a_state = CellState::kValue;
  v.a = a;
  v.b_state = CellState::kValue;
  v.b = a % 2 == 0 ? "even" : "an odd one";
  return v;
}

class ShadowedRows : public testing::Test {
 protected:
  VersionColumns Of(const std::vector<Version>& versions) {
    VersionColumns rows = VersionColumns::For(*schema_);
    for (const Version& v : versions) row_test::Append(*schema_, v, &rows);
    return rows;
  }
  const std::shared_ptr<const TableSchema> schema_ = row_test::PlainTable();
};

TEST_F(ShadowedRows, RepeatsAreCountedApartFromWhatIsSuperseded) {
  VersionColumns rows = Of({Plain(1, 9, 5), Plain(1, 8, 5), Plain(2, 9, 6), Plain(2, 8, 7),
                            Plain(3, 9, 8), Plain(4, 9, 8, 50), Plain(4, 8, 8, 60),
                            Plain(5, 9, 3, 60), Plain(5, 8, 3, 50), Plain(5, 7, 3, 40)});
  const DroppedRows dropped = DropShadowed(*schema_, &rows);
  EXPECT_EQ(dropped.count, 5u);
  EXPECT_EQ(dropped.repeats, 3u) << "another value and a later expiry are none";
  ASSERT_EQ(rows.row_count, 5u);
  EXPECT_EQ(rows.write_us, (std::vector<int64_t>{9, 9, 9, 9, 9}));
  EXPECT_EQ(rows.expiry_s, (std::vector<uint32_t>{0, 0, 0, 50, 60}));
  const ColumnData& b = rows.columns[*schema_->FindColumn("b")];
  ASSERT_EQ(b.size(), 5u);
  EXPECT_EQ(b.bytes(0), "an odd one");
  EXPECT_EQ(b.bytes(1), "even");
  EXPECT_EQ(b.bytes(4), "an odd one");
  EXPECT_EQ(rows.columns[*schema_->FindColumn("a")].fixed, (std::vector<int64_t>{5, 6, 8, 8, 3}));
}

TEST_F(ShadowedRows, KeysOfProvisionalVersionsStayWhole) {
  VersionColumns rows = Of({Plain(1, 9, 5), Plain(1, 8, 5), Plain(2, 9, 6), Plain(2, 8, 6)});
  rows.boot = {0, 3, 0, 0};
  EXPECT_EQ(DropShadowed(*schema_, &rows).count, 1u);
  EXPECT_EQ(rows.boot, (std::vector<uint32_t>{0, 3, 0}));
  EXPECT_EQ(rows.write_us, (std::vector<int64_t>{9, 8, 9}));
}

TEST_F(ShadowedRows, OneVersionOfEachKeyStays) {
  Version nothing;
  nothing.ts = 1;
  VersionColumns rows = Of({nothing, nothing});
  EXPECT_EQ(DropShadowed(*schema_, &rows).count, 1u);
  EXPECT_EQ(rows.row_count, 1u);
}

class ShadowedRowsModel : public ShadowedRows, public testing::WithParamInterface<uint64_t> {};

TEST_P(ShadowedRowsModel, NoScanMissesWhatIsDropped) {
  std::mt19937_64 random(GetParam());
  size_t dropped_count = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Version> all;
    for (int64_t ts = 1; ts <= 4; ++ts) {
      std::vector<Version> of_key(1 + random() % 4);
      for (Version& v : of_key) {
        v = RandomVersion(&random);
        v.ts = ts;
      }
      std::stable_sort(of_key.begin(), of_key.end(), [](const Version& a, const Version& b) {
        return a.write_us > b.write_us;
      });
      all.insert(all.end(), of_key.begin(), of_key.end());
    }
    VersionColumns rows = Of(all);
    const VersionColumns before = rows;
    const DroppedRows dropped = DropShadowed(*schema_, &rows);
    ASSERT_EQ(rows.row_count + dropped.count, all.size());
    ASSERT_LE(dropped.repeats, dropped.count);
    dropped_count += dropped.count;
    std::vector<Version> elsewhere(random() % 3);  // older, newer or of the same time
    VersionColumns others = VersionColumns::For(*schema_);
    for (Version& v : elsewhere) {
      v = RandomVersion(&random);
      row_test::Append(*schema_, v, &others);
    }
    const int64_t deleted = random() % 3 == 0 ? static_cast<int64_t>(random() % 5) : INT64_MIN;
    for (int64_t ts = 1; ts <= 4; ++ts) {
      std::vector<Version> model = elsewhere;
      for (const Version& v : all) {
        if (v.ts == ts) model.push_back(v);
      }
      std::vector<VersionRef> kept;
      for (size_t i = 0; i < others.row_count; ++i) kept.push_back({&others, i});
      for (size_t i = 0; i < rows.row_count; ++i) {
        if (EventTime(*schema_, rows, i) == ts) kept.push_back({&rows, i});
      }
      ASSERT_GT(kept.size(), others.row_count);
      for (const int64_t now_s : {0, 9, 10, 20, 29, 30, 99}) {
        ASSERT_EQ(row_test::ReadMerged(*schema_, kept, deleted, now_s, true),
                  ReadModel(model, deleted, now_s))
            << "seed " << GetParam() << " round " << round << " now " << now_s;
      }
    }
  }
  EXPECT_GT(dropped_count, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShadowedRowsModel, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace cistern
