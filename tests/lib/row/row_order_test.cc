#include "lib/row/row_order.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tests/lib/row/row_test_util.h"

namespace cistern {
namespace {

std::strong_ordering Bytes(CqlType kind, std::string_view a, std::string_view b) {
  return CompareValues(ColumnType{kind, {}}, 0, a, 0, b);
}
std::strong_ordering Doubles(double a, double b) {
  return CompareValues(ColumnType{CqlType::kDouble, {}}, std::bit_cast<int64_t>(a), {},
                       std::bit_cast<int64_t>(b), {});
}
std::strong_ordering Floats(float a, float b) {
  return CompareValues(ColumnType{CqlType::kFloat, {}}, std::bit_cast<uint32_t>(a), {},
                       std::bit_cast<uint32_t>(b), {});
}
std::string Hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

TEST(CompareValues, FloatingPointAsJavaOrdersIt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Doubles(-0.0, 0.0) < 0);
  EXPECT_TRUE(Doubles(inf, nan) < 0);
  EXPECT_TRUE(Doubles(-nan, nan) == 0);
  EXPECT_TRUE(Doubles(-inf, -1.5) < 0);
  EXPECT_TRUE(Doubles(2.5, -2.5) > 0);
  EXPECT_TRUE(Floats(-0.0f, 0.0f) < 0);
  EXPECT_TRUE(Floats(-1.0f, -2.0f) > 0);
  EXPECT_TRUE(Floats(std::numeric_limits<float>::quiet_NaN(), 3e38f) > 0);
}

TEST(CompareValues, TextAsUnsignedBytes) {
  EXPECT_TRUE(Bytes(CqlType::kText, "z", "\xc3\xa4") < 0);
  EXPECT_TRUE(Bytes(CqlType::kText, "a", "ab") < 0);
  EXPECT_TRUE(Bytes(CqlType::kBlob, std::string_view("\0", 1), "") > 0);
  EXPECT_TRUE(Bytes(CqlType::kInet, Hex("0a000001"), Hex("0a000002")) < 0);
}

TEST(CompareValues, TimeuuidByTimeThenSignedBytes) {
  // Time fields low, mid, high: the second is one tick later though its bytes are smaller.
  const std::string early = Hex("ffffffff000011ee8000000000000000");
  const std::string late = Hex("00000000000111ee8000000000000000");
  EXPECT_TRUE(Bytes(CqlType::kTimeuuid, early, late) < 0);
  EXPECT_TRUE(Bytes(CqlType::kUuid, early, late) < 0);
  const std::string high_node = Hex("00000000000111ee80000000000000ff");
  EXPECT_TRUE(Bytes(CqlType::kTimeuuid, high_node, late) < 0) << "0xff is -1";
  EXPECT_TRUE(Bytes(CqlType::kUuid, high_node, late) > 0);
}

TEST(CompareValues, UuidByVersionFirst) {
  EXPECT_TRUE(Bytes(CqlType::kUuid, Hex("ffffffffffff1fff8000000000000000"),
                    Hex("00000000000040008000000000000000")) < 0);
  EXPECT_TRUE(Bytes(CqlType::kUuid, Hex("00000000000040008000000000000000"),
                    Hex("00000000000140008000000000000000")) < 0);
}

TEST(CompareValues, BytesThatAreNoUuidHaveAPlace) {
  const std::string uuid = Hex("00000000000040008000000000000000");
  EXPECT_TRUE(Bytes(CqlType::kUuid, "x", uuid) < 0);
  EXPECT_TRUE(Bytes(CqlType::kUuid, uuid, "") > 0);
  EXPECT_TRUE(Bytes(CqlType::kTimeuuid, "a", "b") < 0);
}

TEST(CompareValues, VarintsByValue) {
  EXPECT_TRUE(Bytes(CqlType::kVarint, Hex("ff"), Hex("00")) < 0);
  EXPECT_TRUE(Bytes(CqlType::kVarint, Hex("ff00"), Hex("fe")) < 0) << "-256 and -2";
  EXPECT_TRUE(Bytes(CqlType::kVarint, Hex("feff"), Hex("ff00")) < 0) << "-257 and -256";
  EXPECT_TRUE(Bytes(CqlType::kVarint, Hex("0080"), Hex("7f")) > 0) << "128 and 127";
  EXPECT_TRUE(Bytes(CqlType::kVarint, Hex("000001"), Hex("01")) == 0);
}

TEST(Timeuuid, TicksSince1970) {
  EXPECT_EQ(TimeuuidTicks(Hex("13814000" "1dd2" "11b2" "8000000000000000")), 0);
  EXPECT_EQ(TimeuuidTicks(Hex("13814001" "1dd2" "11b2" "8000000000000000")), 1);
  EXPECT_EQ(TimeuuidTicks("short"), 0);
}

class Keys : public testing::Test {
 protected:
  VersionColumns Row(const TableSchema& schema, int64_t ts, int64_t k, std::string_view t) {
    VersionColumns rows = VersionColumns::For(schema);
    rows.columns[*schema.FindColumn("ts")].AppendFixed(ts);
    rows.columns[*schema.FindColumn("k")].AppendFixed(k);
    rows.columns[*schema.FindColumn("t")].AppendBytes(t);
    rows.row_count = 1;
    return rows;
  }
  std::shared_ptr<const TableSchema> Table(const std::string& order) {
    return row_test::Parse(
        "CREATE TABLE t (id text, day date, ts timestamp, k int, t text, v int, "
        "PRIMARY KEY ((id, day), ts, k, t))" +
        order);
  }
};

TEST_F(Keys, TimeAscendsWhateverTheDeclaredOrder) {
  for (const char* order : {"", " WITH CLUSTERING ORDER BY (ts DESC, k DESC, t DESC)"}) {
    const auto s = Table(order);
    EXPECT_TRUE(CompareRows(*s, Row(*s, 1, 9, "z"), 0, Row(*s, 2, 0, ""), 0) < 0);
    EXPECT_TRUE(CompareRows(*s, Row(*s, 2, -1, ""), 0, Row(*s, 2, 0, ""), 0) < 0);
    EXPECT_TRUE(CompareRows(*s, Row(*s, 2, 0, "b"), 0, Row(*s, 2, 0, "a"), 0) > 0);
    EXPECT_TRUE(CompareRows(*s, Row(*s, 2, 0, "b"), 0, Row(*s, 2, 0, "b"), 0) == 0);
  }
}

TEST_F(Keys, OtherColumnsKeepTheirDirectionRelativeToTime) {
  const auto s = Table(" WITH CLUSTERING ORDER BY (ts DESC, k ASC, t DESC)");
  EXPECT_TRUE(CompareRows(*s, Row(*s, 1, 0, ""), 0, Row(*s, 2, 0, ""), 0) < 0);
  EXPECT_TRUE(CompareRows(*s, Row(*s, 2, -1, ""), 0, Row(*s, 2, 0, ""), 0) > 0);
  EXPECT_TRUE(CompareRows(*s, Row(*s, 2, 0, "a"), 0, Row(*s, 2, 0, "b"), 0) < 0);
}

TEST_F(Keys, EncodedKeysComeBackAndDamagedOnesAreRefused) {
  const auto s = Table("");
  const VersionColumns row = Row(*s, -5, 1 << 20, "pump");
  const std::string bytes = EncodeClusteringKey(*s, row, 0);
  VersionColumns back;
  ASSERT_TRUE(DecodeClusteringKey(*s, bytes, &back));
  EXPECT_EQ(back.row_count, 1u);
  EXPECT_TRUE(CompareRows(*s, row, 0, back, 0) == 0);
  EXPECT_EQ(EventTime(*s, back, 0), -5);
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(DecodeClusteringKey(*s, std::string_view(bytes).substr(0, cut), &back)) << cut;
  }
  EXPECT_FALSE(DecodeClusteringKey(*s, bytes + "x", &back));
  std::string wide = bytes;
  wide[12] = 1;  // k beyond an int
  EXPECT_FALSE(DecodeClusteringKey(*s, wide, &back));
}

}  // namespace
}  // namespace cistern
