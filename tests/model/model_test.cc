// The model judges the engine, so the model is judged first, by Cassandra's rules.
#include "tests/support/model.h"

#include <gtest/gtest.h>

#include "tests/support/calendar.h"

namespace cistern::testing {
namespace {

constexpr int64_t kDayMs = 86'400'000;

class ModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto schema = ParseCreateTable(
        "CREATE TABLE t (s text, day date, ts timestamp, k int, a int, b text,"
        " PRIMARY KEY ((s, day), ts, k)) WITH CLUSTERING ORDER BY (ts DESC, k ASC)");
    ASSERT_TRUE(schema.ok()) << schema.status().ToString();
    table_ = std::make_unique<ModelTable>(*schema);
    entity_ = std::string("\0\1x", 3);
  }
  static WriteRow Row(RowKind kind, int64_t ts, int64_t k, Cell a, Cell b = Cell::Absent()) {
    WriteRow row;
    row.kind = kind;
    row.cells = {Cell::Bytes("x"), Cell::Absent(), Cell::Fixed(ts), Cell::Fixed(k), std::move(a),
                 std::move(b)};
    return row;
  }
  std::vector<VisibleRow> All(int64_t now_s) const {
    return table_->Scan(entity_, INT64_MIN, INT64_MAX, now_s);
  }

  std::unique_ptr<ModelTable> table_;
  std::string entity_;
};

TEST_F(ModelTest, LaterCellsReplaceEarlierAndAbsentOnesLeaveThem) {
  table_->Write(Row(RowKind::kInsert, 5, 1, Cell::Fixed(1), Cell::Bytes("one")), 100);
  table_->Write(Row(RowKind::kInsert, 5, 1, Cell::Fixed(2)), 101);
  table_->Write(Row(RowKind::kUpdate, 5, 1, Cell::Absent(), Cell::Null()), 102);
  const auto rows = All(103);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][4], Cell::Fixed(2));
  EXPECT_EQ(rows[0][5], Cell::Null());
  EXPECT_EQ(rows[0][1], Cell::Fixed(0)) << "the bucket is 1970-01-01";
}

TEST_F(ModelTest, AnUpdatedRowLivesAsLongAsItsLastCell) {
  WriteRow row = Row(RowKind::kUpdate, 5, 1, Cell::Fixed(1));
  row.ttl_s = 10;
  table_->Write(row, 100);
  EXPECT_EQ(All(109).size(), 1u);
  EXPECT_EQ(All(110).size(), 0u) << "expired the very second";
  table_->Write(Row(RowKind::kUpdate, 5, 1, Cell::Absent(), Cell::Bytes("b")), 111);
  ASSERT_EQ(All(112).size(), 1u);
  EXPECT_EQ(All(112)[0][4], Cell::Null());
  table_->Write(Row(RowKind::kUpdate, 5, 1, Cell::Absent(), Cell::Null()), 113);
  EXPECT_EQ(All(114).size(), 0u);
}

TEST_F(ModelTest, AnInsertedRowOutlivesItsCells) {
  table_->Write(Row(RowKind::kInsert, 5, 1, Cell::Absent()), 100);
  WriteRow row = Row(RowKind::kUpdate, 5, 1, Cell::Fixed(7));
  row.ttl_s = 10;
  table_->Write(row, 100);
  ASSERT_EQ(All(200).size(), 1u);
  EXPECT_EQ(All(200)[0][4], Cell::Null());
}

TEST_F(ModelTest, AnExpiredCellStillShadowsTheOlderValue) {
  table_->Write(Row(RowKind::kInsert, 5, 1, Cell::Fixed(1)), 100);
  WriteRow row = Row(RowKind::kUpdate, 5, 1, Cell::Fixed(2));
  row.ttl_s = 5;
  table_->Write(row, 101);
  EXPECT_EQ(All(105)[0][4], Cell::Fixed(2));
  EXPECT_EQ(All(106)[0][4], Cell::Null());
}

TEST_F(ModelTest, DeletesCoverWhatWasWrittenBefore) {
  for (int64_t day = -1; day <= 2; ++day) {
    table_->Write(Row(RowKind::kInsert, day * kDayMs, 1, Cell::Fixed(day)), 100);
  }
  table_->Write(Row(RowKind::kDeleteRow, kDayMs, 1, Cell::Absent()), 101);
  EXPECT_EQ(All(102).size(), 3u);
  table_->DeleteBucket(entity_, -1);  // 1969-12-31
  EXPECT_EQ(All(102).size(), 2u);
  table_->DeleteRange(entity_, 0, 2 * kDayMs);
  ASSERT_EQ(All(102).size(), 1u);
  table_->Write(Row(RowKind::kInsert, 0, 1, Cell::Fixed(9)), 103);
  EXPECT_EQ(All(104).size(), 2u);
}

TEST_F(ModelTest, OrderFollowsTheTimeAndKeepsTheOthersRelativeToIt) {
  for (int64_t k = 1; k <= 2; ++k) {
    for (int64_t ts = 1; ts <= 2; ++ts) {
      table_->Write(Row(RowKind::kInsert, ts, k, Cell::Fixed(0)), 100);
    }
  }
  // Declared (ts DESC, k ASC): descending scans give the declared order.
  const auto down = table_->Scan(entity_, INT64_MAX, INT64_MIN, 100);
  ASSERT_EQ(down.size(), 4u);
  EXPECT_EQ(down[0][2], Cell::Fixed(2));
  EXPECT_EQ(down[0][3], Cell::Fixed(1));
  EXPECT_EQ(down[1][3], Cell::Fixed(2));
  const auto up = table_->Scan(entity_, 1, 2, 100);
  ASSERT_EQ(up.size(), 2u) << "half-open";
  EXPECT_EQ(up[0][3], Cell::Fixed(2));
  const ClusteringKey after = table_->KeyOf(up[0]);
  ASSERT_EQ(table_->Scan(entity_, 1, 2, 100, &after).size(), 1u);
}

TEST(Compare, AsCassandra) {
  const auto compare = [](CqlType type, const Cell& a, const Cell& b) {
    return CompareCells(ColumnType{type, {}}, a, b);
  };
  const auto number = [](double d) { return Cell::Fixed(std::bit_cast<int64_t>(d)); };
  EXPECT_LT(compare(CqlType::kDouble, number(-0.0), number(0.0)), 0);
  EXPECT_GT(compare(CqlType::kDouble, number(__builtin_nan("")), number(1e300)), 0);
  EXPECT_LT(compare(CqlType::kBlob, Cell::Bytes("\x7f"), Cell::Bytes("\x80")), 0);
  // Times equal: the tail of a timeuuid compares as signed bytes, that of a uuid unsigned.
  const std::string low("\0\0\0\0\0\0\x10\0\x80\x01\0\0\0\0\0\0", 16);
  const std::string high("\0\0\0\0\0\0\x10\0\x80\x81\0\0\0\0\0\0", 16);
  EXPECT_GT(compare(CqlType::kTimeuuid, Cell::Bytes(low), Cell::Bytes(high)), 0);
  EXPECT_LT(compare(CqlType::kUuid, Cell::Bytes(low), Cell::Bytes(high)), 0);
  const std::string version4("\0\0\0\0\0\0\x40\0\x80\0\0\0\0\0\0\0", 16);
  const std::string version1("\xff\xff\xff\xff\0\0\x10\0\x80\0\0\0\0\0\0\0", 16);
  EXPECT_LT(compare(CqlType::kUuid, Cell::Bytes(version1), Cell::Bytes(version4)), 0);
}

TEST(Calendar, KnownBuckets) {
  const BucketRule week{BucketUnit::kIsoWeek, 1, BucketEncoding::kText};
  const auto value = [](const BucketRule& rule, int64_t s) {
    return BucketValue(rule, SpanOf(rule, s).start_s);
  };
  EXPECT_EQ(value(week, 1609632000), Cell::Bytes("2020-W53"));  // 2021-01-03, a Sunday
  EXPECT_EQ(value(week, 1609718400), Cell::Bytes("2021-W01"));
  EXPECT_EQ(value({BucketUnit::kMonth, 1, BucketEncoding::kCalendarNumber}, -1),
            Cell::Fixed(196912));
  EXPECT_EQ(SpanOf({BucketUnit::kYear, 1, BucketEncoding::kDate}, 1709164800).end_s, 1735689600);
  EXPECT_EQ(value({BucketUnit::kHour, 1, BucketEncoding::kText}, 1705327200),
            Cell::Bytes("2024-01-15-14"));
  EXPECT_EQ(value({BucketUnit::kMinute, 15, BucketEncoding::kTimestamp}, -1),
            Cell::Fixed(-900'000));
}

}  // namespace
}  // namespace cistern::testing
