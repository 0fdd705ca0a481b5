#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/reader_test_util.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ReadRecord> ReadJson(std::string text) {
  const auto input = Input::FromText(std::move(text));
  return ReadAll(NewJsonReader(input.get()).get());
}

TEST(JsonReader, NumbersKeepTheirDigits) {
  const auto records = ReadJson(
      R"({"t":1.700000000123456789,"i":-9223372036854775808,"u":18446744073709551615,)"
      R"("big":123456789012345678901234567890,"z":-0,"e":1e-7,"b":true,"n":null,"s":"x\"é"})");
  ASSERT_EQ(records.size(), 1u);
  ASSERT_FALSE(records[0].bad) << records[0].reason;
  EXPECT_THAT(records[0].names, ElementsAre("t", "i", "u", "big", "z", "e", "b", "n", "s"));
  EXPECT_THAT(records[0].texts,
              ElementsAre("1.700000000123456789", "-9223372036854775808", "18446744073709551615",
                          "123456789012345678901234567890", "-0", "1e-7", "true", "null",
                          "x\"\xc3\xa9"));
  EXPECT_EQ(records[0].forms[7], CellForm::kNull);
  EXPECT_EQ(records[0].forms[8], CellForm::kString);
}

TEST(JsonReader, NestedValuesBecomeCqlLiterals) {
  const auto records = ReadJson(R"({"l":[1,2,[3]],"m":{"it's":1,"b":["x"]},"e":[],"after":7})");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0].names, ElementsAre("l", "m", "e", "after"));
  EXPECT_EQ(records[0].forms[0], CellForm::kNested);
  EXPECT_EQ(records[0].forms[1], CellForm::kNested);
  EXPECT_THAT(records[0].texts,
              ElementsAre("[1, 2, [3]]", "{'it''s': 1, 'b': ['x']}", "[]", "7"));
}

TEST(JsonReader, BadLinesSayWhyAndTheRestGoesOn) {
  const auto records =
      ReadJson("{\"a\":}\n[1]\n42\n{\"a\":1} {\"b\":2}\n\n{\"a\":1}\n{\"a\":\"\\u0000\"}\n");
  ASSERT_EQ(records.size(), 6u);
  EXPECT_THAT(records[0].reason, HasSubstr("not JSON at byte 6"));
  EXPECT_THAT(records[1].reason, HasSubstr("this is an array"));
  EXPECT_THAT(records[2].reason, HasSubstr("one JSON object"));
  EXPECT_THAT(records[3].reason, HasSubstr("not JSON at byte 9"));
  EXPECT_FALSE(records[4].bad);
  EXPECT_EQ(records[4].line, 6u);
  EXPECT_THAT(records[5].reason, HasSubstr("NUL"));
}

TEST(JsonReader, ReasonsAreOurs) {
  const auto records = ReadJson("{\"a\":1e999}\n{\"a\":tru}\n{\"a\"\n");
  ASSERT_EQ(records.size(), 3u);
  for (const ReadRecord& record : records) {
    EXPECT_TRUE(record.bad);
    EXPECT_THAT(record.reason, HasSubstr("not JSON at byte"));
    EXPECT_THAT(record.reason, ::testing::Not(HasSubstr("exception")));
    EXPECT_THAT(record.reason, ::testing::Not(HasSubstr("parse error at")));
  }
}

TEST(JsonReader, DeepNestingIsHarmless) {
  const std::string deep(30000, '[');
  const auto records = ReadJson("{\"a\":" + deep + std::string(30000, ']') + "}\n{\"a\":1}\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_FALSE(records[1].bad);
}

}  // namespace
}  // namespace cistern::tool
