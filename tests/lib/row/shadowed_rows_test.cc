// DropShadowed leaves out what others of a key make needless, and nothing that any scan could miss.
#include "lib/row/shadowed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

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

// Which kinds of tables and rows there are: TTLs are in all of them.
enum class Kind : uint8_t {
  kWriteTime,
  kEventTime,    // all versions of a key are of one age, and nothing is deleted
  kProvisional,  // some were written before the time was known
};

class ShadowedRowsModel : public testing::TestWithParam<std::tuple<Kind, uint64_t>> {
 protected:
  ShadowedRowsModel() : random_(std::get<1>(GetParam())) {}

  Version SomeVersion() {
    Version v = RandomVersion(&random_);
    while (kind_ == Kind::kEventTime && (v.flags & kVersionDeleteRow) != 0) {
      v = RandomVersion(&random_);
    }
    return v;
  }
  // One to four of each of four keys, as they are sorted.
  std::vector<Version> SomeVersions() {
    std::vector<Version> all;
    for (int64_t ts = 1; ts <= 4; ++ts) {
      std::vector<Version> of_key(1 + random_() % 4);
      for (Version& v : of_key) {
        v = SomeVersion();
        v.ts = ts;
      }
      std::stable_sort(of_key.begin(), of_key.end(), [](const Version& a, const Version& b) {
        return a.write_us > b.write_us;
      });
      all.insert(all.end(), of_key.begin(), of_key.end());
    }
    return all;
  }
  VersionColumns Of(const std::vector<Version>& versions) {
    VersionColumns rows = VersionColumns::For(*schema_);
    for (const Version& v : versions) row_test::Append(*schema_, v, &rows);
    if (kind_ != Kind::kProvisional) return rows;
    for (size_t i = 0; i < versions.size(); ++i) rows.boot.push_back(random_() % 3 == 0 ? 1 : 0);
    return rows;
  }
  std::vector<VersionRef> OfKey(const VersionColumns& rows, int64_t ts) {
    std::vector<VersionRef> of_key;
    for (size_t i = 0; i < rows.row_count; ++i) {
      if (EventTime(*schema_, rows, i) == ts) of_key.push_back({&rows, i});
    }
    return of_key;
  }
  // Whatever else of the key is elsewhere, whatever was deleted, and at any time.
  void ExpectSame(const VersionColumns& before, const VersionColumns& kept) {
    std::vector<Version> elsewhere(random_() % 3);  // older, newer or of the same time
    VersionColumns others = VersionColumns::For(*schema_);
    for (Version& v : elsewhere) {
      v = SomeVersion();
      row_test::Append(*schema_, v, &others);
    }
    const bool deletes = kind_ != Kind::kEventTime && random_() % 3 == 0;
    const int64_t deleted = deletes ? static_cast<int64_t>(random_() % 5) : INT64_MIN;
    for (int64_t ts = 1; ts <= 4; ++ts) {
      std::vector<VersionRef> all = OfKey(before, ts);
      std::vector<VersionRef> some = OfKey(kept, ts);
      ASSERT_FALSE(some.empty()) << "one of each key stays";
      for (size_t i = 0; i < others.row_count; ++i) {
        all.push_back({&others, i});
        some.push_back({&others, i});
      }
      for (const int64_t now_s : {0, 9, 10, 20, 29, 30, 99}) {
        ASSERT_EQ(row_test::ReadMerged(*schema_, some, deleted, now_s, true),
                  row_test::ReadMerged(*schema_, all, deleted, now_s, true))
            << "now " << now_s;
        if (kind_ == Kind::kProvisional) continue;
        ASSERT_EQ(row_test::ReadMerged(*schema_, some, deleted, now_s, true),
                  ReadModel(Modelled(all), deleted, now_s))
            << "now " << now_s;
      }
    }
  }
  // In event time all are of one time.
  std::vector<Version> Modelled(const std::vector<VersionRef>& refs) {
    const auto column = [&](const char* name) { return *schema_->FindColumn(name); };
    std::vector<Version> versions;
    for (const VersionRef& ref : refs) {
      const ColumnData& a = ref.rows->columns[column("a")];
      const ColumnData& b = ref.rows->columns[column("b")];
      Version& v = versions.emplace_back();
      v.write_us = kind_ == Kind::kEventTime ? 0 : ref.rows->write_us[ref.index];
      v.expiry_s = ref.rows->expiry_of(ref.index);
      v.flags = ref.rows->flags[ref.index];
      v.a_state = a.state(ref.index);
      if (v.a_state == CellState::kValue) v.a = a.fixed[ref.index];
      v.b_state = b.state(ref.index);
      if (v.b_state == CellState::kValue) v.b = b.bytes(ref.index);
    }
    return versions;
  }

  const Kind kind_ = std::get<0>(GetParam());
  const std::shared_ptr<const TableSchema> schema_ =
      kind_ == Kind::kEventTime ? EventTable() : row_test::PlainTable();
  std::mt19937_64 random_;

 private:
  static std::shared_ptr<const TableSchema> EventTable() {
    return row_test::Parse(
        "CREATE TABLE t (id text, day date, ts timestamp, a int, b text, d double, "
        "PRIMARY KEY ((id, day), ts)) "
        "WITH comment = 'cistern: bucket day = 1 day; timestamps = event'");
  }
};

TEST_P(ShadowedRowsModel, NoScanMissesWhatIsDropped) {
  size_t dropped_count = 0;
  for (int round = 0; round < 2000 && !HasFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << std::get<1>(GetParam()) << " round " << round);
    VersionColumns before = Of(SomeVersions());
    VersionColumns rows = before;
    const DroppedRows dropped = DropShadowed(*schema_, &rows);
    ASSERT_EQ(rows.row_count + dropped.count, before.row_count);
    ASSERT_LE(dropped.repeats, dropped.count);
    dropped_count += dropped.count;
    // What the time was then is known later, or never.
    const BootBases bases = {0, static_cast<int64_t>(random_() % 6)};
    ResolveBoots(bases, &before, {});
    ResolveBoots(bases, &rows, {});
    ASSERT_NO_FATAL_FAILURE(ExpectSame(before, rows));
  }
  EXPECT_GT(dropped_count, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShadowedRowsModel,
                         testing::Combine(testing::Values(Kind::kWriteTime, Kind::kEventTime,
                                                          Kind::kProvisional),
                                          testing::Range<uint64_t>(1, 4)));

}  // namespace
}  // namespace cistern
