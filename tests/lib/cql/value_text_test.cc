#include "lib/cql/value_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "cistern/limits.h"
#include "lib/cql/time_text.h"

namespace cistern {
namespace {

using namespace std::string_literals;

ColumnType Type(CqlType kind, std::vector<ColumnType> arguments = {}) {
  return {kind, std::move(arguments)};
}

std::string Format(const ColumnType& type, const CellValue& value) {
  std::string text;
  FormatValueText(type, value.fixed, value.bytes, &text);
  return text;
}

struct Good {
  CqlType kind;
  std::string text;
  int64_t fixed;
  std::string canonical;  // empty: the same
};

TEST(ValueText, FixedLane) {
  const Good kCases[] = {
      {CqlType::kBoolean, "true", 1, ""},
      {CqlType::kBoolean, "FALSE", 0, "false"},
      {CqlType::kBoolean, "1", 1, "true"},
      {CqlType::kTinyint, "-128", -128, ""},
      {CqlType::kSmallint, "32767", 32767, ""},
      {CqlType::kInt, "-2147483648", std::numeric_limits<int32_t>::min(), ""},
      {CqlType::kBigint, "9223372036854775807", std::numeric_limits<int64_t>::max(), ""},
      {CqlType::kBigint, "+7", 7, "7"},
      {CqlType::kDouble, "0.1", std::bit_cast<int64_t>(0.1), ""},
      {CqlType::kDouble, "-0.0", std::bit_cast<int64_t>(-0.0), "-0"},
      {CqlType::kDouble, "1e300", std::bit_cast<int64_t>(1e300), "1e+300"},
      {CqlType::kDouble, "-inf", std::bit_cast<int64_t>(-std::numeric_limits<double>::infinity()),
       "-Infinity"},
      {CqlType::kDouble, "NaN", std::bit_cast<int64_t>(std::numeric_limits<double>::quiet_NaN()),
       ""},
      {CqlType::kFloat, "0.1", std::bit_cast<uint32_t>(0.1f), ""},
      {CqlType::kFloat, "16777216", std::bit_cast<uint32_t>(16777216.0f), ""},
      {CqlType::kTimestamp, "2024-01-15", 1'705'276'800'000, "2024-01-15T00:00:00.000Z"},
      {CqlType::kTimestamp, "2024-01-15 14:05", 1'705'327'500'000, "2024-01-15T14:05:00.000Z"},
      {CqlType::kTimestamp, "2024-01-15T14:05:30.1Z", 1'705'327'530'100,
       "2024-01-15T14:05:30.100Z"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30.123000", 1'705'327'530'123,
       "2024-01-15T14:05:30.123Z"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30+01:00", 1'705'323'930'000,
       "2024-01-15T13:05:30.000Z"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30-0530", 1'705'347'330'000,
       "2024-01-15T19:35:30.000Z"},
      {CqlType::kTimestamp, "1969-12-31T23:59:59.999Z", -1, ""},
      {CqlType::kTimestamp, "-1", -1, "1969-12-31T23:59:59.999Z"},
      {CqlType::kTimestamp, "0001-01-01T00:00:00.000Z", -62'135'596'800'000, ""},
      {CqlType::kTimestamp, "9999-12-31T23:59:59.999Z", 253'402'300'799'999, ""},
      {CqlType::kTimestamp, "253402300800000", 253'402'300'800'000, ""},  // year 10000: as a number
      {CqlType::kDate, "2024-02-29", 19'782, ""},
      {CqlType::kDate, "-0044-03-15", -735'525, ""},
      {CqlType::kDate, "5881580-07-11", std::numeric_limits<int32_t>::max(), ""},
      {CqlType::kDate, "-5877641-06-23", std::numeric_limits<int32_t>::min(), ""},
      {CqlType::kTime, "14:05:30", 50'730'000'000'000, "14:05:30.000000000"},
      {CqlType::kTime, "23:59:59.999999999", 86'399'999'999'999, ""},
  };
  for (const Good& c : kCases) {
    const ColumnType type = Type(c.kind);
    CellValue value;
    const Status parsed = ParseValueText(type, c.text, &value);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.ToString();
    EXPECT_EQ(value.fixed, c.fixed) << c.text;
    EXPECT_EQ(Format(type, value), c.canonical.empty() ? c.text : c.canonical);
    CellValue again;
    ASSERT_TRUE(ParseValueText(type, Format(type, value), &again).ok());
    EXPECT_EQ(again, value) << c.text;
  }
}

struct GoodBytes {
  ColumnType type;
  std::string text;
  std::string bytes;
  std::string canonical;
};

TEST(ValueText, BytesLane) {
  const ColumnType text = Type(CqlType::kText);
  const ColumnType integer = Type(CqlType::kInt);
  const ColumnType set = Type(CqlType::kSet, {integer});
  const std::string v4_mapped = std::string(10, '\0') + "\xff\xff\x01\x02\x03\x04";
  const GoodBytes kCases[] = {
      {text, "pump-7 'a' ä", "pump-7 'a' ä", ""},
      {text, "", "", ""},
      {Type(CqlType::kAscii), "x", "x", ""},
      {Type(CqlType::kBlob), "0x00Ff", "\x00\xff"s, "0x00ff"},
      {Type(CqlType::kBlob), "0x", "", ""},
      {Type(CqlType::kUuid), "50554D6E-29bb-41e5-b345-feff819cdc9f",
       "\x50\x55\x4d\x6e\x29\xbb\x41\xe5\xb3\x45\xfe\xff\x81\x9c\xdc\x9f"s,
       "50554d6e-29bb-41e5-b345-feff819cdc9f"},
      {Type(CqlType::kInet), "192.168.0.1", "\xc0\xa8\x00\x01"s, ""},
      {Type(CqlType::kInet), "2001:DB8:0:0:0:0:0:1",
       "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x01", "2001:db8::1"},
      {Type(CqlType::kInet), "::", std::string(16, '\0'), ""},
      {Type(CqlType::kInet), "1::", "\0\x01"s + std::string(14, '\0'), ""},
      {Type(CqlType::kInet), "::ffff:1.2.3.4", v4_mapped, "::ffff:102:304"},
      {Type(CqlType::kInet), "1:2:3:4:5:6:7:8", "\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\10"s, ""},
      {Type(CqlType::kInet), "1:0:0:4:0:0:0:8", "\0\1\0\0\0\0\0\4\0\0\0\0\0\0\0\10"s, "1:0:0:4::8"},
      {Type(CqlType::kVarint), "0", "\0"s, ""},
      {Type(CqlType::kVarint), "127", "\x7f", ""},
      {Type(CqlType::kVarint), "128", "\0\x80"s, ""},
      {Type(CqlType::kVarint), "-1", "\xff", ""},
      {Type(CqlType::kVarint), "-128", "\x80", ""},
      {Type(CqlType::kVarint), "-129", "\xff\x7f", ""},
      {Type(CqlType::kVarint), "-0007", "\xf9", "-7"},
      {Type(CqlType::kVarint), "-18446744073709551616", "\xff\0\0\0\0\0\0\0\0"s, ""},
      {Type(CqlType::kVarint), "340282366920938463463374607431768211456",
       "\x01"s + std::string(16, '\0'), ""},
      {Type(CqlType::kVarint), "-2147483648", "\x80\0\0\0"s, ""},
      {Type(CqlType::kDecimal), "1.50", "\0\0\0\2\0\x96"s, ""},
      {Type(CqlType::kDecimal), "-0.001", "\0\0\0\3\xff"s, ""},
      {Type(CqlType::kDecimal), ".5", "\0\0\0\1\5"s, "0.5"},
      {Type(CqlType::kDecimal), "12e3", "\xff\xff\xff\xfd\x0c"s, "1.2E+4"},
      {Type(CqlType::kDecimal), "1E-10", "\0\0\0\x0a\x01"s, "1E-10"},
      {Type(CqlType::kDecimal), "0.000001", "\0\0\0\6\1"s, ""},
      {Type(CqlType::kDecimal), "0.00", "\0\0\0\2\0"s, ""},
      {Type(CqlType::kList, {integer}), "[ 1,2 ]", "\0\0\0\2\0\0\0\4\0\0\0\1\0\0\0\4\0\0\0\2"s,
       "[1, 2]"},
      {Type(CqlType::kList, {text}), "[]", "\0\0\0\0"s, ""},
      {Type(CqlType::kMap, {text, integer}), "{'it''s': -1}",
       "\0\0\0\1\0\0\0\4it's\0\0\0\4\xff\xff\xff\xff"s, ""},
      {Type(CqlType::kSet, {Type(CqlType::kTimestamp)}), "{'1970-01-01T00:00:00.001Z'}",
       "\0\0\0\1\0\0\0\x08\0\0\0\0\0\0\0\1"s, ""},
      {Type(CqlType::kList, {set}), "[{1}, {}]",
       "\0\0\0\2\0\0\0\x0c\0\0\0\1\0\0\0\4\0\0\0\1\0\0\0\4\0\0\0\0"s, ""},
  };
  for (const GoodBytes& c : kCases) {
    CellValue value;
    const Status parsed = ParseValueText(c.type, c.text, &value);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.ToString();
    EXPECT_EQ(value.bytes, c.bytes) << c.text;
    EXPECT_TRUE(CheckWireBytes(c.type, value.bytes).ok()) << c.text;
    EXPECT_EQ(Format(c.type, value), c.canonical.empty() ? c.text : c.canonical);
    CellValue again;
    ASSERT_TRUE(ParseValueText(c.type, Format(c.type, value), &again).ok())
        << Format(c.type, value);
    EXPECT_EQ(again, value) << c.text;
  }
}

TEST(ValueText, RefusesWithTheReason) {
  const struct {
    CqlType kind;
    const char* text;
    StatusCode code;
    const char* message;
  } kCases[] = {
      {CqlType::kTinyint, "300", StatusCode::kOutOfRange, "'300' is outside tinyint (-128 to 127)"},
      {CqlType::kBigint, "9223372036854775808", StatusCode::kOutOfRange, "outside bigint"},
      {CqlType::kInt, "1.0", StatusCode::kInvalidArgument, "expected int such as 42, got '1.0'"},
      {CqlType::kInt, "", StatusCode::kInvalidArgument, "got ''"},
      {CqlType::kInt, "+-1", StatusCode::kInvalidArgument, "'+-1'"},
      {CqlType::kInt, " 1", StatusCode::kInvalidArgument, "' 1'"},
      {CqlType::kBoolean, "yes", StatusCode::kInvalidArgument, "'yes'"},
      {CqlType::kDouble, "", StatusCode::kInvalidArgument, "got ''"},
      {CqlType::kDouble, "1,5", StatusCode::kInvalidArgument, "'1,5'"},
      {CqlType::kDouble, "0x10", StatusCode::kInvalidArgument, "'0x10'"},
      {CqlType::kDouble, "+-1", StatusCode::kInvalidArgument, "'+-1'"},
      {CqlType::kDouble, "1e999", StatusCode::kOutOfRange, "beyond what a double can hold"},
      {CqlType::kFloat, "1e39", StatusCode::kOutOfRange, "beyond what a float can hold"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30.1234", StatusCode::kInvalidArgument,
       "is finer than the column's milliseconds"},
      {CqlType::kTimestamp, "2024-02-30", StatusCode::kInvalidArgument, "expected a time such as"},
      {CqlType::kTimestamp, "2024-01-15 24:00:00", StatusCode::kInvalidArgument, "24:00:00"},
      {CqlType::kTimestamp, "2024-01-15 23:59:60", StatusCode::kInvalidArgument, "23:59:60"},
      {CqlType::kTimestamp, "2024-01-15-14", StatusCode::kInvalidArgument, "2024-01-15-14"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30.", StatusCode::kInvalidArgument, "expected"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30+1", StatusCode::kInvalidArgument, "expected"},
      {CqlType::kTimestamp, "2024-01-15 14:05:30+01:00x", StatusCode::kInvalidArgument, "expected"},
      {CqlType::kTimestamp, "9223372036854775808", StatusCode::kOutOfRange, "64 bits"},
      {CqlType::kDate, "2023-02-29", StatusCode::kInvalidArgument, "expected a date"},
      {CqlType::kDate, "5881580-07-12", StatusCode::kOutOfRange, "beyond the dates"},
      {CqlType::kDate, "19782", StatusCode::kInvalidArgument, "expected a date"},
      {CqlType::kTime, "14:05", StatusCode::kInvalidArgument, "time of day"},
      {CqlType::kTime, "14:05:30.1234567891", StatusCode::kInvalidArgument,
       "finer than nanoseconds"},
      {CqlType::kText, "\xff", StatusCode::kInvalidArgument, "not UTF-8"},
      {CqlType::kAscii, "ä", StatusCode::kInvalidArgument, "above 127"},
      {CqlType::kBlob, "00ff", StatusCode::kInvalidArgument, "0x"},
      {CqlType::kBlob, "0x0", StatusCode::kInvalidArgument, "two digits"},
      {CqlType::kBlob, "0x0g", StatusCode::kInvalidArgument, "0x"},
      {CqlType::kUuid, "50554d6e29bb11e5b345feff819cdc9f", StatusCode::kInvalidArgument, "uuid"},
      {CqlType::kTimeuuid, "50554d6e-29bb-41e5-b345-feff819cdc9f", StatusCode::kInvalidArgument,
       "version 4"},
      {CqlType::kInet, "256.1.1.1", StatusCode::kInvalidArgument, "256.1.1.1"},
      {CqlType::kInet, "1.2.3", StatusCode::kInvalidArgument, "1.2.3"},
      {CqlType::kInet, "1.2.3.04", StatusCode::kInvalidArgument, "1.2.3.04"},
      {CqlType::kInet, "1:2:3:4:5:6:7", StatusCode::kInvalidArgument, "inet"},
      {CqlType::kInet, "1::2::3", StatusCode::kInvalidArgument, "inet"},
      {CqlType::kInet, "1:2:3:4:5:6:7:8::", StatusCode::kInvalidArgument, "inet"},
      {CqlType::kInet, "12345::", StatusCode::kInvalidArgument, "inet"},
      {CqlType::kInet, ":1", StatusCode::kInvalidArgument, "inet"},
      {CqlType::kVarint, "1.0", StatusCode::kInvalidArgument, "whole number"},
      {CqlType::kDecimal, "1e", StatusCode::kInvalidArgument, "decimal"},
      {CqlType::kDecimal, ".", StatusCode::kInvalidArgument, "decimal"},
      {CqlType::kDecimal, "1e3000000000", StatusCode::kOutOfRange, "exponent"},
  };
  for (const auto& c : kCases) {
    CellValue value;
    const Status s = ParseValueText(Type(c.kind), c.text, &value);
    EXPECT_EQ(s.code(), c.code) << c.text << ": " << s.ToString();
    EXPECT_NE(s.message().find(c.message), std::string::npos) << c.text << ": " << s.ToString();
  }
}

ColumnType Vector(ColumnType element, uint32_t dimension) {
  ColumnType type = Type(CqlType::kVector, {std::move(element)});
  type.dimension = dimension;
  return type;
}

TEST(ValueText, TuplesAndVectors) {
  const ColumnType integer = Type(CqlType::kInt);
  const ColumnType text = Type(CqlType::kText);
  const ColumnType tuple = Type(CqlType::kTuple, {integer, text, Type(CqlType::kSet, {text})});
  const GoodBytes kCases[] = {
      {tuple, "(1, 'it''s', {'a'})",
       "\0\0\0\4\0\0\0\1\0\0\0\4it's\0\0\0\x09\0\0\0\1\0\0\0\1a"s, ""},
      {tuple, " [ null , 'x',['a'] ] ",
       "\xff\xff\xff\xff\0\0\0\1x\0\0\0\x09\0\0\0\1\0\0\0\1a"s, "(null, 'x', {'a'})"},
      {tuple, "(null, null, null)", std::string(12, '\xff'), ""},
      {Vector(integer, 2), "[1,-1]", "\0\0\0\1\xff\xff\xff\xff"s, "[1, -1]"},
      // Cassandra calls these of varying length, whatever they have.
      {Vector(Type(CqlType::kSmallint), 2), "[1, 2]", "\2\0\1\2\0\2"s, ""},
      {Vector(text, 2), "['', 'ab']", "\0\2ab"s, ""},
      {Vector(Vector(Type(CqlType::kBoolean), 2), 2), "[[true, false], [false, true]]",
       "\1\0\0\1"s, ""},
      {Type(CqlType::kSet, {text}), "['a']", "\0\0\0\1\0\0\0\1a"s, "{'a'}"},
      {Type(CqlType::kMap, {text, Type(CqlType::kDuration)}), "{'a': 2h}",
       "\0\0\0\1\0\0\0\1a\0\0\0\x09"s
           "\x00\x00\xfc\x0d\x18\xc2\xe2\x80\x00"s, "{'a': 2h}"},
  };
  for (const auto& c : kCases) {
    CellValue value;
    const Status s = ParseValueText(c.type, c.text, &value);
    ASSERT_TRUE(s.ok()) << c.text << ": " << s.ToString();
    EXPECT_EQ(value.bytes, c.bytes) << c.text;
    EXPECT_TRUE(CheckWireBytes(c.type, value.bytes).ok()) << c.text;
    EXPECT_EQ(Format(c.type, value), c.canonical.empty() ? c.text : c.canonical);
  }
  CellValue value;
  for (const char* bad : {"", "()", "(1)", "(1, 'a')", "(1, 'a', {}, 2)", "(1, null",
                          "{1, 'a', {}}", "(1, 'a', {}]", "(nul, 'a', {})", "(1, 'b', null) x"}) {
    EXPECT_FALSE(ParseValueText(tuple, bad, &value).ok()) << bad;
  }
  for (const char* bad : {"[]", "[1]", "[1, 2, 3]", "[1, null]", "(1, 2)", "[1 2]"}) {
    EXPECT_FALSE(ParseValueText(Vector(integer, 2), bad, &value).ok()) << bad;
  }
  // A type that has got a field since.
  value.bytes = "\0\0\0\4\0\0\0\1"s;
  EXPECT_EQ(Format(tuple, value), "(1, null, null)");
}

TEST(ValueText, UserDefinedTypes) {
  ColumnType type = Type(CqlType::kUserType, {Type(CqlType::kInt), Type(CqlType::kText)});
  type.name = "place";
  type.field_names = {"level", "Site"};
  const std::string both = "\0\0\0\4\0\0\0\7\0\0\0\1x"s;
  const GoodBytes kCases[] = {
      {type, "{level: 7, \"Site\": 'x'}", both, ""},
      {type, "{ 'Site':'x' , LEVEL:7 }", both, "{level: 7, \"Site\": 'x'}"},
      {type, "{level: 7}", "\0\0\0\4\0\0\0\7\xff\xff\xff\xff"s, "{level: 7, \"Site\": null}"},
      {type, "{}", std::string(8, '\xff'), "{level: null, \"Site\": null}"},
      {Type(CqlType::kSet, {type}), "[{'level': null, 'Site': ''}]",
       "\0\0\0\1\0\0\0\x08\xff\xff\xff\xff\0\0\0\0"s, "{{level: null, \"Site\": ''}}"},
  };
  for (const auto& c : kCases) {
    CellValue value;
    const Status s = ParseValueText(c.type, c.text, &value);
    ASSERT_TRUE(s.ok()) << c.text << ": " << s.ToString();
    EXPECT_EQ(value.bytes, c.bytes) << c.text;
    EXPECT_EQ(Format(c.type, value), c.canonical.empty() ? c.text : c.canonical);
  }
  CellValue value;
  for (const char* bad : {"", "{", "(7, 'x')", "{site: 'x'}", "{level: 7, level: 8}", "{level 7}",
                          "{level: 'x'}", "{level: 7", "{: 7}", "{level: 7} x", "{'level: 7}"}) {
    EXPECT_FALSE(ParseValueText(type, bad, &value).ok()) << bad;
  }
  EXPECT_EQ(ParseValueText(type, "{level: 7, site: 'x'}", &value).message(),
            "expected a field of (level int, \"Site\" text) that is not there yet at character 12 "
            "of the literal, got 'site: 'x'}'");
}

TEST(ValueText, CollectionsNameThePlace) {
  const ColumnType map = Type(CqlType::kMap, {Type(CqlType::kText), Type(CqlType::kInt)});
  CellValue value;
  for (const char* bad : {"", "{", "{'a'", "{'a':", "{'a': 1", "{'a': 1,", "{'a': 1}x", "{a: 1}",
                          "['a']", "{'a' 1}", "{'a': 1,}", "{'a: 1}"}) {
    EXPECT_FALSE(ParseValueText(map, bad, &value).ok()) << bad;
  }
  EXPECT_EQ(ParseValueText(map, "{'a' 1}", &value).message(),
            "expected ':' at character 6 of the literal, got '1}'");
  EXPECT_EQ(ParseValueText(map, "{'a': 3000000000}", &value).code(), StatusCode::kOutOfRange);
}

TEST(ValueText, BigNumbersRoundTripAtTheirLimit) {
  const std::string longest = "-1" + std::string(limits::kVarintBytesMax * 12 / 5, '3');
  CellValue value;
  ASSERT_TRUE(ParseValueText(Type(CqlType::kVarint), longest, &value).ok());
  EXPECT_EQ(Format(Type(CqlType::kVarint), value), longest);
  EXPECT_EQ(ParseValueText(Type(CqlType::kVarint), std::string(3'000, '9'), &value).code(),
            StatusCode::kTooLarge);
  EXPECT_EQ(ParseValueText(Type(CqlType::kVarint), std::string(1 << 20, '9'), &value).code(),
            StatusCode::kTooLarge);
}

TEST(ValueText, RandomBytesAndNumbersRoundTrip) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    for (const CqlType kind :
         {CqlType::kDouble, CqlType::kFloat, CqlType::kTimestamp, CqlType::kDate}) {
      CellValue value;
      value.fixed = static_cast<int64_t>(random());
      if (kind == CqlType::kFloat) value.fixed &= 0xffffffff;
      if (kind == CqlType::kDate) value.fixed = static_cast<int32_t>(value.fixed);
      if (kind == CqlType::kDouble && std::isnan(std::bit_cast<double>(value.fixed))) continue;
      if (kind == CqlType::kFloat &&
          std::isnan(std::bit_cast<float>(static_cast<uint32_t>(value.fixed))))
        continue;
      CellValue again;
      const Status s = ParseValueText(Type(kind), Format(Type(kind), value), &again);
      ASSERT_TRUE(s.ok()) << s.ToString();
      ASSERT_EQ(again.fixed, value.fixed) << Format(Type(kind), value);
    }
    for (const CqlType kind :
         {CqlType::kVarint, CqlType::kDecimal, CqlType::kInet, CqlType::kUuid}) {
      CellValue value;
      size_t size = kind == CqlType::kDecimal ? 4 : 0;
      size += kind == CqlType::kInet   ? (i % 2 == 0 ? 4 : 16)
              : kind == CqlType::kUuid ? 16
                                       : 1 + random() % 20;
      while (value.bytes.size() < size)
        value.bytes.push_back(static_cast<char>(random() % 3 == 0 ? 0 : random()));
      const std::string text = Format(Type(kind), value);
      CellValue again;
      const Status s = ParseValueText(Type(kind), text, &again);
      ASSERT_TRUE(s.ok()) << s.ToString();
      ASSERT_EQ(Format(Type(kind), again), text);  // the same number; its bytes may be fewer
      if (kind == CqlType::kInet || kind == CqlType::kUuid) {
        ASSERT_EQ(again.bytes, value.bytes);
      }
    }
  }
}

TEST(ValueText, BytesThatAreNoValueAreShownInHex) {
  CellValue value;
  value.bytes = "\xff\x01";
  EXPECT_EQ(Format(Type(CqlType::kText), value), "0xff01");
  EXPECT_EQ(Format(Type(CqlType::kUuid), value), "0xff01");
  EXPECT_EQ(Format(Type(CqlType::kList, {Type(CqlType::kInt)}), value), "0xff01");
  value.bytes.clear();
  EXPECT_EQ(Format(Type(CqlType::kVarint), value), "0x");
}

TEST(TimeText, EveryUnitHasItsDigits) {
  const struct {
    TimeUnit unit;
    const char* text;
    int64_t ticks;
  } kCases[] = {
      {TimeUnit::kSeconds, "2024-01-15T14:05:30Z", 1'705'327'530},
      {TimeUnit::kMicros, "2024-01-15T14:05:30.123456Z", 1'705'327'530'123'456},
      {TimeUnit::kTicks100ns, "2024-01-15T14:05:30.1234567Z", 17'053'275'301'234'567},
      {TimeUnit::kNanos, "2024-01-15T14:05:30.123456789Z", 1'705'327'530'123'456'789},
      {TimeUnit::kNanos, "1677-09-21T00:12:43.145224192Z", std::numeric_limits<int64_t>::min()},
  };
  for (const auto& c : kCases) {
    std::string text;
    FormatTimeText(c.ticks, c.unit, &text);
    EXPECT_EQ(text, c.text);
    int64_t ticks = 0;
    if (c.ticks == std::numeric_limits<int64_t>::min()) continue;
    ASSERT_TRUE(ParseTimeText(c.text, c.unit, &ticks).ok()) << c.text;
    EXPECT_EQ(ticks, c.ticks);
  }
  int64_t ticks = 0;
  EXPECT_FALSE(ParseTimeText("2024-01-15T14:05:30.5Z", TimeUnit::kSeconds, &ticks).ok());
  EXPECT_EQ(ParseTimeText("2262-04-12", TimeUnit::kNanos, &ticks).code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace cistern
