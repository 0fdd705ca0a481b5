// Each tie rule by itself, provisional versions and range deletes.
#include "lib/row/reconcile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cistern/limits.h"
#include "tests/lib/row/row_test_util.h"

namespace cistern {
namespace {

using row_test::Version;

// What column a reads after merging `versions` in both orders: the value, or nullopt.
class Ties : public testing::Test {
 protected:
  std::optional<int64_t> ReadA(const std::vector<Version>& versions, int64_t now_s,
                               int64_t deleted = INT64_MIN) {
    VersionColumns rows = VersionColumns::For(*schema_);
    std::vector<VersionRef> refs;
    for (const Version& v : versions) row_test::Append(*schema_, v, &rows);
    for (size_t i = 0; i < versions.size(); ++i) refs.push_back({&rows, i});
    RowMerger merger(*schema_, {a_});
    exists_ = merger.Merge(refs, deleted, now_s);
    const auto first = merger.winner(0);
    std::reverse(refs.begin(), refs.end());
    EXPECT_EQ(merger.Merge(refs, deleted, now_s), exists_);
    const auto second = merger.winner(0);
    EXPECT_EQ(first.has_value(), second.has_value());
    if (!first || !second) return std::nullopt;
    EXPECT_EQ(rows.columns[a_].fixed[first->index], rows.columns[a_].fixed[second->index]);
    return rows.columns[a_].fixed[first->index];
  }
  static Version Value(int64_t write_us, int64_t a, uint32_t expiry_s = 0) {
    return {.write_us = write_us, .expiry_s = expiry_s, .a_state = CellState::kValue, .a = a};
  }
  static Version Null(int64_t write_us) {
    return {.write_us = write_us, .a_state = CellState::kNull};
  }
  std::shared_ptr<const TableSchema> schema_ = row_test::PlainTable();
  size_t a_ = *schema_->FindColumn("a");
  bool exists_ = false;
};

TEST_F(Ties, LargerWriteTimestampWins) { EXPECT_EQ(ReadA({Value(1, 9), Value(2, 3)}, 0), 3); }
TEST_F(Ties, DeletedBeatsPlain) { EXPECT_EQ(ReadA({Value(1, 9), Null(1)}, 0), std::nullopt); }
TEST_F(Ties, DeletedBeatsExpiring) {
  EXPECT_EQ(ReadA({Value(1, 9, 50), Null(1)}, 0), std::nullopt);
}
TEST_F(Ties, ExpiringBeatsPlainEvenWhenExpired) {
  EXPECT_EQ(ReadA({Value(1, 9), Value(1, 3, 50)}, 0), 3);
  EXPECT_EQ(ReadA({Value(1, 9), Value(1, 3, 50)}, 50), std::nullopt);
}
TEST_F(Ties, LaterExpiryWins) { EXPECT_EQ(ReadA({Value(1, 9, 40), Value(1, 3, 50)}, 0), 3); }
TEST_F(Ties, LargerBytesWinSoNegativeBeatsPositive) {
  EXPECT_EQ(ReadA({Value(1, 5), Value(1, 4)}, 0), 5);
  EXPECT_EQ(ReadA({Value(1, 5), Value(1, -4)}, 0), -4);
}
TEST_F(Ties, DeletionAtTheSameTimestampWins) {
  EXPECT_EQ(ReadA({Value(7, 5)}, 0, 7), std::nullopt);
  EXPECT_FALSE(exists_);
  EXPECT_EQ(ReadA({Value(8, 5)}, 0, 7), 5);
  EXPECT_EQ(ReadA({Value(7, 5), {.write_us = 7, .flags = kVersionDeleteRow}}, 0), std::nullopt);
  EXPECT_FALSE(exists_);
}
TEST_F(Ties, ExpiredCellShadowsAnOlderOne) {
  EXPECT_EQ(ReadA({Value(1, 9), Value(2, 3, 50)}, 49), 3);
  EXPECT_EQ(ReadA({Value(1, 9), Value(2, 3, 50)}, 50), std::nullopt);
}
TEST_F(Ties, RowOfAnInsertOutlivesItsCellsAndAnUpdatedOneDoesNot) {
  Version insert = Null(1);
  insert.flags = kVersionLiveness;
  ReadA({insert}, 0);
  EXPECT_TRUE(exists_);
  ReadA({Value(1, 4), Null(2)}, 0);
  EXPECT_FALSE(exists_);
}
TEST_F(Ties, ExistenceCountsColumnsOutsideTheProjection) {
  EXPECT_EQ(ReadA({{.write_us = 1, .b_state = CellState::kValue, .b = "x"}}, 0), std::nullopt);
  EXPECT_TRUE(exists_);
}

TEST_F(Ties, ColumnsOutsideTheProjectionNeedOnlyTheirStates) {
  VersionColumns rows = VersionColumns::For(*schema_);
  Version update{.write_us = 1, .b_state = CellState::kValue, .b = "x"};
  row_test::Append(*schema_, update, &rows);
  update.b = "y";  // a tie that only values could break
  row_test::Append(*schema_, update, &rows);
  ColumnData& b = rows.columns[*schema_->FindColumn("b")];
  b.offsets.clear();
  b.heap.clear();
  ASSERT_TRUE(b.states.empty());
  RowMerger merger(*schema_, {a_});
  const std::vector<VersionRef> both = {{&rows, 0}, {&rows, 1}};
  EXPECT_TRUE(merger.Merge(std::span(both).first(1), INT64_MIN, 0));
  EXPECT_TRUE(merger.Merge(both, INT64_MIN, 0));
  b.states = {CellState::kNull, CellState::kAbsent};
  EXPECT_FALSE(merger.Merge(std::span(both).first(1), INT64_MIN, 0));
  EXPECT_FALSE(merger.Merge(both, INT64_MIN, 0));
}

// By event time the order of writing says nothing.
class TiesByEventTime : public Ties {
 protected:
  TiesByEventTime() {
    schema_ = row_test::Parse(
        "CREATE TABLE t (id text, day date, ts timestamp, a int, b text, d double, "
        "PRIMARY KEY ((id, day), ts)) WITH comment = 'cistern: timestamps = event'");
  }
};
TEST_F(TiesByEventTime, TheLargerValueWinsWhicheverCameLater) {
  EXPECT_EQ(ReadA({Value(1, 9), Value(2, 3)}, 0), 9);
  EXPECT_EQ(ReadA({Value(2, 9), Value(1, 3)}, 0), 9);
}
TEST_F(TiesByEventTime, WhatExpiresBeatsWhatDoesNotAlsoWhenItIsOver) {
  EXPECT_EQ(ReadA({Value(1, 3, 50), Value(2, 9)}, 0), 3);
  EXPECT_EQ(ReadA({Value(1, 3, 50), Value(2, 9)}, 50), std::nullopt);
  EXPECT_EQ(ReadA({Value(1, 9, 50), Value(2, 3, 40)}, 0), 9);
}
TEST_F(TiesByEventTime, ARowIsInsertedAsLongAsTheLongestInsertSays) {
  Version brief = Value(2, 1, 10);
  Version lasting = {.write_us = 1, .expiry_s = 20, .flags = kVersionLiveness};
  brief.flags = kVersionLiveness;
  EXPECT_EQ(ReadA({brief, lasting}, 15), std::nullopt);
  EXPECT_TRUE(exists_);
  EXPECT_EQ(ReadA({brief, lasting}, 20), std::nullopt);
  EXPECT_FALSE(exists_);
}
TEST_F(TiesByEventTime, OfAMergeTheWinnersStay) {
  VersionColumns rows = VersionColumns::For(*schema_);
  for (const Version& v : {Value(3, 1), Value(2, 7), Value(1, 5, 9)}) {
    row_test::Append(*schema_, v, &rows);
  }
  std::vector<bool> keep;
  const std::vector<VersionRef> plain = {{&rows, 0}, {&rows, 1}};
  KeepUnshadowed(*schema_, plain, INT64_MIN, &keep);
  EXPECT_EQ(keep, (std::vector<bool>{false, true}));
  const std::vector<VersionRef> all = {{&rows, 0}, {&rows, 1}, {&rows, 2}};
  KeepUnshadowed(*schema_, all, INT64_MIN, &keep);
  EXPECT_EQ(keep, (std::vector<bool>{false, false, true}));
}

TEST(ResolveBoots, AddsBasesAndTurnsTtlIntoExpiry) {
  const auto schema = row_test::PlainTable();
  VersionColumns rows = VersionColumns::For(*schema);
  for (const uint32_t ttl : {30u, 0u, 30u, 77u, limits::kTtlSecondsMax}) {
    row_test::Append(*schema, {.write_us = 2'500'000, .expiry_s = ttl}, &rows);
  }
  rows.boot = {1, 1, 2, 0, 3};
  RangeDelete d{.write_us = 5, .boot = 1};
  const int64_t kLateUs = (limits::kExpirySecondsMax - 10) * 1'000'000;
  ResolveBoots({0, 1'000'000'000, 0, kLateUs}, &rows, std::span(&d, 1));
  EXPECT_EQ(rows.write_us, (std::vector<int64_t>{1'002'500'000, 1'002'500'000, 2'500'000, 2'500'000,
                                                 kLateUs + 2'500'000}));
  EXPECT_EQ(rows.expiry_s[0], 1032u);
  EXPECT_EQ(rows.expiry_s[1], 0u);
  EXPECT_EQ(rows.expiry_s[2], 0u) << "the base is not known, so the expiry is not";
  EXPECT_EQ(rows.expiry_s[3], 77u);
  EXPECT_EQ(rows.expiry_s[4], limits::kExpirySecondsMax);
  EXPECT_TRUE(rows.boot.empty());
  EXPECT_EQ(d.write_us, 1'000'000'005);
  EXPECT_EQ(d.boot, 0u);
  RangeDelete unknown{.write_us = 5, .boot = 99};
  ResolveBoots({}, nullptr, std::span(&unknown, 1));
  EXPECT_EQ(unknown.write_us, 5);
}

// Whatever is folded away, no event time is deleted up to another timestamp.
TEST(FoldDeletes, DeletesTheSameAsBefore) {
  std::mt19937_64 random(11);
  size_t folded = 0;
  for (int run = 0; run < 300; ++run) {
    std::vector<RangeDelete> deletes(1 + random() % 12);
    for (RangeDelete& d : deletes) {
      d.from = random() % 9 == 0 ? INT64_MIN : static_cast<int64_t>(random() % 20);
      d.to = random() % 9 == 0 ? INT64_MAX : std::max<int64_t>(d.from, 0) + 1 +
                                                 static_cast<int64_t>(random() % 8);
      d.write_us = static_cast<int64_t>(random() % 10);
    }
    std::vector<RangeDelete> kept = deletes;
    FoldDeletes(&kept);
    folded += deletes.size() - kept.size();
    for (const int64_t time : {INT64_MIN, INT64_MAX}) {
      EXPECT_EQ(DeletedUpTo(kept, time), DeletedUpTo(deletes, time));
    }
    for (int64_t time = -2; time < 32; ++time) {
      EXPECT_EQ(DeletedUpTo(kept, time), DeletedUpTo(deletes, time)) << run << " at " << time;
    }
  }
  EXPECT_GT(folded, 300u);
}

TEST(DeletedUpTo, IsHalfOpenAndTakesTheNewest) {
  const std::vector<RangeDelete> deletes = {{.from = 10, .to = 20, .write_us = 5},
                                            {.from = 15, .to = 30, .write_us = 3}};
  EXPECT_EQ(DeletedUpTo(deletes, 9), INT64_MIN);
  EXPECT_EQ(DeletedUpTo(deletes, 10), 5);
  EXPECT_EQ(DeletedUpTo(deletes, 19), 5);
  EXPECT_EQ(DeletedUpTo(deletes, 20), 3);
  EXPECT_EQ(DeletedUpTo(deletes, 30), INT64_MIN);
  const std::vector<RangeDelete> all = {{.write_us = 1}};
  EXPECT_EQ(DeletedUpTo(all, INT64_MAX), 1);
  EXPECT_EQ(DeletedUpTo(all, INT64_MIN), 1);
}

TEST(KeepUnshadowed, KeepsOneOfEqualVersionsAndTheExpiredThatShadow) {
  const auto schema = row_test::PlainTable();
  VersionColumns rows = VersionColumns::For(*schema);
  const Version plain{
      .write_us = 1, .flags = kVersionLiveness, .a_state = CellState::kValue, .a = 1};
  Version expired = plain;
  expired.write_us = 2;
  expired.expiry_s = 3;
  for (const Version& v : {plain, expired, expired}) row_test::Append(*schema, v, &rows);
  const std::vector<VersionRef> refs = {{&rows, 0}, {&rows, 1}, {&rows, 2}};
  std::vector<bool> keep;
  KeepUnshadowed(*schema, refs, INT64_MIN, &keep);
  EXPECT_EQ(keep, (std::vector<bool>{false, true, false}));
  KeepUnshadowed(*schema, refs, 2, &keep);
  EXPECT_EQ(keep, (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace cistern
