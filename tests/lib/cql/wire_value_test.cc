#include "lib/cql/wire_value.h"

#include <gtest/gtest.h>

#include "cistern/limits.h"

namespace cistern {
namespace {

using namespace std::string_literals;

ColumnType Type(CqlType kind, std::vector<ColumnType> arguments = {}) {
  return {kind, std::move(arguments)};
}

// fixed value, its wire bytes by the protocol's specification
TEST(WireValue, FixedLaneValuesAreBigEndian) {
  const struct {
    CqlType kind;
    int64_t fixed;
    std::string wire;
  } kCases[] = {
      {CqlType::kBoolean, 1, "\x01"s},
      {CqlType::kTinyint, -1, "\xff"s},
      {CqlType::kSmallint, -2, "\xff\xfe"s},
      {CqlType::kInt, 0x01020304, "\x01\x02\x03\x04"s},
      {CqlType::kBigint, -1, std::string(8, '\xff')},
      {CqlType::kTimestamp, 1, "\0\0\0\0\0\0\0\x01"s},
      {CqlType::kDate, 0, "\x80\0\0\0"s},
      {CqlType::kDate, -1, "\x7f\xff\xff\xff"s},
      {CqlType::kTime, 86'399'999'999'999, "\0\0\x4e\x94\x91\x4e\xff\xff"s},
      {CqlType::kFloat, 0x3f800000, "\x3f\x80\0\0"s},
      {CqlType::kFloat, 0xbf800000, "\xbf\x80\0\0"s},
      {CqlType::kDouble, 0x3ff0000000000000, "\x3f\xf0\0\0\0\0\0\0"s},
  };
  for (const auto& c : kCases) {
    const ColumnType type = Type(c.kind);
    std::string wire;
    AppendWireValue(type, c.fixed, {}, &wire);
    EXPECT_EQ(wire, c.wire) << type.ToCql() << " " << c.fixed;
    CellValue back;
    ASSERT_TRUE(ParseWireValue(type, wire, &back).ok());
    EXPECT_EQ(back.fixed, c.fixed) << type.ToCql();
    EXPECT_TRUE(back.bytes.empty());
    EXPECT_FALSE(CheckWireBytes(type, wire + "x").ok());
    EXPECT_FALSE(CheckWireBytes(type, std::string_view(wire).substr(1)).ok());
  }
}

TEST(WireValue, BytesLaneValuesAreChecked) {
  const std::string v1 = "\x50\x55\x4d\x6e\x29\xbb\x11\xe5\xb3\x45\xfe\xff\x81\x9c\xdc\x9f"s;
  std::string v4 = v1;
  v4[6] = '\x41';
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kTimeuuid), v1).ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kTimeuuid), v4).ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kUuid), v4).ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kUuid), v4 + "x").ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kUuid), "").ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kInet), "\x7f\0\0\x01"s).ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kInet), std::string(16, '\0')).ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kInet), "\x7f\0\0"s).ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kAscii), "plain\0"s).ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kAscii), "\xc3\xa4").ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kBlob), "\xff\xfe").ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kBlob), "").ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kVarint), "").ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kVarint), "\x80").ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kDecimal), "\0\0\0\x01"s).ok());
  EXPECT_TRUE(CheckWireBytes(Type(CqlType::kDecimal), "\0\0\0\x01\x0f"s).ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kBoolean), "\x02").ok());
  EXPECT_FALSE(CheckWireBytes(Type(CqlType::kTime), "\0\0\x4e\x94\x91\x4f\0\0"s).ok());
  EXPECT_EQ(
      CheckWireBytes(Type(CqlType::kVarint), std::string(limits::kVarintBytesMax + 1, '\1')).code(),
      StatusCode::kTooLarge);
  EXPECT_EQ(
      CheckWireBytes(Type(CqlType::kBlob), std::string(limits::kCellBytesMax + 1, '\1')).code(),
      StatusCode::kTooLarge);
}

TEST(WireValue, Utf8IsJudgedAsRfc3629Does) {
  for (const std::string& good :
       {"\xc2\x80"s, "\xdf\xbf"s, "\xe0\xa0\x80"s, "\xed\x9f\xbf"s, "\xee\x80\x80"s,
        "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s, "\0"s}) {
    EXPECT_TRUE(IsUtf8(good));
    EXPECT_TRUE(IsUtf8("abcdefghij" + good + "abcdefghij"));
    for (size_t cut = 1; cut < good.size(); ++cut) EXPECT_FALSE(IsUtf8(good.substr(0, cut)));
  }
  for (const std::string& bad : {"\x80"s, "\xbf"s, "\xc0\xaf"s, "\xc1\xbf"s, "\xe0\x9f\xbf"s,
                                 "\xed\xa0\x80"s, "\xf0\x8f\xbf\xbf"s, "\xf4\x90\x80\x80"s,
                                 "\xf5\x80\x80\x80"s, "\xff"s, "\xc2\x41"s, "\xe1\x80\x41"s}) {
    EXPECT_FALSE(IsUtf8(bad));
    EXPECT_FALSE(IsUtf8("abcdefghij" + bad + "abcdefghij"));
  }
}

TEST(WireValue, CollectionsAreCheckedElementByElement) {
  const ColumnType list = Type(CqlType::kList, {Type(CqlType::kSmallint)});
  EXPECT_TRUE(CheckWireBytes(list, "\0\0\0\0"s).ok());
  EXPECT_TRUE(CheckWireBytes(list, "\0\0\0\x01\0\0\0\x02\x12\x34"s).ok());
  EXPECT_FALSE(CheckWireBytes(list, "\0\0\0\x01\0\0\0\x03\x12\x34\x56"s).ok());
  const ColumnType map = Type(CqlType::kMap, {Type(CqlType::kAscii), list});
  const std::string good = "\0\0\0\x01\0\0\0\x01k\0\0\0\x04\0\0\0\0"s;
  EXPECT_TRUE(CheckWireBytes(map, good).ok());
  for (size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_FALSE(CheckWireBytes(map, good.substr(0, cut)).ok()) << cut;
  }
  EXPECT_FALSE(CheckWireBytes(map, good + "x").ok());
  EXPECT_FALSE(CheckWireBytes(list, "\0\0\0\x01\xff\xff\xff\xff"s).ok());  // null element
  EXPECT_FALSE(CheckWireBytes(list, "\xff\xff\xff\xff"s).ok());            // negative count
  EXPECT_FALSE(CheckWireBytes(list, "\x7f\xff\xff\xff"s).ok());            // count beyond the bytes
  const Status s = CheckWireBytes(map, "\0\0\0\x01\0\0\0\x01\xff\0\0\0\x04\0\0\0\0"s);
  EXPECT_NE(s.message().find("element 0"), std::string::npos) << s.ToString();
}

TEST(WireValue, TuplesAreCheckedFieldByField) {
  const ColumnType tuple = Type(CqlType::kTuple, {Type(CqlType::kSmallint), Type(CqlType::kAscii)});
  const std::string good = "\0\0\0\2\x12\x34\0\0\0\1k"s;
  EXPECT_TRUE(CheckWireBytes(tuple, good).ok());
  EXPECT_TRUE(CheckWireBytes(tuple, "\xff\xff\xff\xff\0\0\0\1k"s).ok());
  EXPECT_TRUE(CheckWireBytes(tuple, good.substr(0, 6)).ok()) << "the last is missing";
  for (const size_t cut : {1, 3, 5, 7, 9, 10}) {
    EXPECT_FALSE(CheckWireBytes(tuple, good.substr(0, cut)).ok()) << cut;
  }
  EXPECT_FALSE(CheckWireBytes(tuple, good + "\0\0\0\0"s).ok());
  const Status s = CheckWireBytes(tuple, "\0\0\0\2\x12\x34\0\0\0\1\xff"s);
  EXPECT_NE(s.message().find("element 1"), std::string::npos) << s.ToString();
  std::vector<std::optional<std::string_view>> fields;
  ASSERT_TRUE(SplitFields(tuple, "\xff\xff\xff\xff"s, &fields).ok());
  EXPECT_EQ(fields, (std::vector<std::optional<std::string_view>>{std::nullopt, std::nullopt}));
}

TEST(WireValue, VectorsHaveAsManyElementsAsDeclared) {
  ColumnType fixed = Type(CqlType::kVector, {Type(CqlType::kInt)});
  fixed.dimension = 2;
  EXPECT_TRUE(CheckWireBytes(fixed, std::string(8, '\1')).ok());
  EXPECT_FALSE(CheckWireBytes(fixed, std::string(7, '\1')).ok());
  EXPECT_FALSE(CheckWireBytes(fixed, std::string(12, '\1')).ok());
  ColumnType varying = Type(CqlType::kVector, {Type(CqlType::kAscii)});
  varying.dimension = 2;
  const std::string good = "\2ab\0"s;
  EXPECT_TRUE(CheckWireBytes(varying, good).ok());
  for (size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_FALSE(CheckWireBytes(varying, good.substr(0, cut)).ok()) << cut;
  }
  EXPECT_FALSE(CheckWireBytes(varying, good + "x").ok());
  EXPECT_FALSE(CheckWireBytes(varying, "\xff\xff\xff\xff\xff\xff\xff\xff\xff").ok());
  EXPECT_FALSE(CheckWireBytes(varying, "\1\xff\0"s).ok()) << "no ascii";
}

TEST(WireValue, CollectionsAreSplit) {
  const ColumnType map = Type(CqlType::kMap, {Type(CqlType::kAscii), Type(CqlType::kInt)});
  const std::string two = "\0\0\0\x02\0\0\0\x01k\0\0\0\0\0\0\0\x02lm\0\0\0\x01x"s;
  std::vector<std::string_view> elements = {"of another"};
  EXPECT_TRUE(SplitCollection(map, two, &elements).ok());
  EXPECT_EQ(elements, (std::vector<std::string_view>{"k", "", "lm", "x"}));  // whatever they are
  for (size_t cut = 0; cut < two.size(); ++cut) {
    EXPECT_FALSE(SplitCollection(map, two.substr(0, cut), &elements).ok()) << cut;
  }
  EXPECT_FALSE(SplitCollection(map, two + "x", &elements).ok());
  EXPECT_TRUE(SplitCollection(map, "\0\0\0\0"s, &elements).ok());
  EXPECT_TRUE(elements.empty());
}

}  // namespace
}  // namespace cistern
