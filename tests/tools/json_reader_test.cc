#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/reader_test_util.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ReadRecord> ReadJson(std::string text, const std::vector<std::string>& names = {},
                                 JsonLayout layout = JsonLayout::kLines) {
  const auto input = Input::FromText(std::move(text));
  return ReadAll(NewJsonReader(input.get(), layout, names).get());
}

std::vector<ReadRecord> ReadDocument(std::string text) {
  return ReadJson(std::move(text), {}, JsonLayout::kDocument);
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

TEST(JsonReader, MembersOfNestedValuesByTheirPath) {
  const std::string text =
      R"({"t":1,"s":{"id":"a","pos":{"x":1.50,"y":[7,{"z":8}]},"tags":["q"]},"o":{"x":1}})";
  const auto records = ReadJson(text + "\n" + text + "\n", {"t", "s.id", "s.pos.y.1.z"});
  ASSERT_EQ(records.size(), 2u);
  for (const ReadRecord& record : records) {
    EXPECT_THAT(record.names,
                ElementsAre("t", "s.id", "s.pos.x", "s.pos.y.0", "s.pos.y.1.z", "s.tags", "o"));
    EXPECT_THAT(record.texts, ElementsAre("1", "a", "1.50", "7", "8", "['q']", "{'x': 1}"));
    EXPECT_EQ(record.forms[1], CellForm::kString);
    EXPECT_EQ(record.forms[5], CellForm::kNested);
  }
}

TEST(JsonReader, ANestedValueThatIsNullHasNoMembers) {
  const auto records = ReadJson("{\"s\":null,\"t\":1}\n{\"s\":{},\"t\":2}\n{\"s\":5,\"t\":3}\n",
                                {"s.x"});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0].names, ElementsAre("t"));
  EXPECT_THAT(records[1].names, ElementsAre("t"));
  EXPECT_THAT(records[2].names, ElementsAre("s", "t"));
}

TEST(JsonReader, BareWordsOfPythonAreNumbersOutsideOfStrings) {
  const auto records = ReadJson(
      R"({"a":NaN,"NaN":"NaN","b":[Infinity,"it is NaN"],"c":-Infinity,"d":"\"NaN","e":Infinity})"
      "\n{\"a\":NaNa}\n{\"a\":-NaN}\n{NaN:1}\n");
  ASSERT_EQ(records.size(), 4u);
  ASSERT_FALSE(records[0].bad) << records[0].reason;
  EXPECT_THAT(records[0].names, ElementsAre("a", "NaN", "b", "c", "d", "e"));
  EXPECT_THAT(records[0].texts, ElementsAre("NaN", "NaN", "[Infinity, 'it is NaN']", "-Infinity",
                                            "\"NaN", "Infinity"));
  EXPECT_EQ(records[0].forms[0], CellForm::kBare);
  EXPECT_EQ(records[0].forms[1], CellForm::kString);
  EXPECT_EQ(records[0].forms[3], CellForm::kBare);
  EXPECT_EQ(records[0].forms[4], CellForm::kString);
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(records[i].bad) << i;
}

TEST(JsonReader, ArraysAndObjectsOverLinesAskForTheOtherFormat) {
  for (const std::string_view text : {"[{\"a\":1}]\n", " [\n", "{\n", "{"}) {
    const auto records = ReadJson(std::string(text));
    ASSERT_EQ(records.size(), 1u);
    EXPECT_THAT(records[0].reason, HasSubstr("--format json reads")) << text;
  }
  EXPECT_THAT(ReadJson("{\"a\":}\n")[0].reason, ::testing::Not(HasSubstr("--format")));
}

TEST(JsonDocument, AnArrayOfObjects) {
  const auto records = ReadDocument(
      "\xEF\xBB\xBF[\n  {\"a\": \"}]\\\"\",\n   \"b\": [1, {\"c\": 2}]},\n  {\"a\": 2}]\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].texts, ElementsAre("}]\"", "[1, {'c': 2}]"));
  EXPECT_EQ(records[0].line, 2u);
  EXPECT_EQ(records[1].line, 4u);
  EXPECT_EQ(records[1].raw, "{\"a\": 2}");
}

TEST(JsonDocument, ObjectsOneAfterAnother) {
  const auto records = ReadDocument("{\"a\":1}{\"a\":2}\r\n{\n\"a\":3\n}\n[]\n[{\"a\":4}]");
  ASSERT_EQ(records.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(records[i].texts, ElementsAre(std::to_string(i + 1)));
  }
  EXPECT_EQ(records[1].raw, "{\"a\":2}\r\n");
  EXPECT_TRUE(ReadDocument("").empty());
  EXPECT_TRUE(ReadDocument("[]").empty());
  EXPECT_TRUE(ReadDocument("[ ]\n").empty());
}

TEST(JsonDocument, AMistakeInAnObjectSpoilsItAlone) {
  const auto records = ReadDocument(
      "[{\"a\":tru,\"b\":{\"a\":9}},\n{\"a\":1},\n5,\n\"x,]\",\n[{\"a\":8}],{\"a\":2}]");
  ASSERT_EQ(records.size(), 6u);
  EXPECT_THAT(records[0].reason, HasSubstr("not JSON"));
  EXPECT_EQ(records[0].raw, "{\"a\":tru,\"b\":{\"a\":9}}");
  EXPECT_THAT(records[1].texts, ElementsAre("1"));
  for (size_t i = 2; i < 5; ++i) {
    EXPECT_THAT(records[i].reason, HasSubstr("is not an object"));
  }
  EXPECT_EQ(records[4].raw, "[{\"a\":8}]");
  EXPECT_THAT(records[5].texts, ElementsAre("2"));
}

TEST(JsonDocument, AMistakeBetweenObjectsSpoilsTheRest) {
  const auto records = ReadDocument("[{\"a\":1} {\"a\":2}]\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[1].reason, HasSubstr("'{' where a comma or a bracket is expected"));
  EXPECT_EQ(records[1].raw, "{\"a\":2}]\n");
  EXPECT_THAT(ReadDocument("5")[0].reason, HasSubstr("'5' where an object is expected"));
  EXPECT_THAT(ReadDocument("[{\"a\":1},]")[1].reason, HasSubstr("']' where an object"));
}

TEST(JsonDocument, AnEndThatComesTooEarlyIsTold) {
  auto records = ReadDocument("[{\"a\":1},{\"a\":");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[1].reason, HasSubstr("ends inside an object"));
  EXPECT_EQ(records[1].raw, "{\"a\":");
  records = ReadDocument("[{\"a\":1}\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[1].reason, HasSubstr("its bracket is never closed"));
}

TEST(JsonDocument, AnObjectThatIsTooLongComesInPiecesAndTheNextIsRead) {
  const std::string longest = "{\"a\":\"" + std::string(300'000, '{') + "\"}";
  const auto records = ReadDocument("[" + longest + ",{\"a\":1}]");
  ASSERT_GT(records.size(), 2u);
  std::string raw;
  for (size_t i = 0; i + 1 < records.size(); ++i) {
    EXPECT_TRUE(records[i].bad);
    EXPECT_EQ(records[i].raw_continues, i + 2 < records.size());
    raw += records[i].raw;
  }
  EXPECT_EQ(raw, longest);
  EXPECT_THAT(records[0].reason, HasSubstr("longer than 65536 bytes"));
  EXPECT_THAT(records.back().texts, ElementsAre("1"));
}

}  // namespace
}  // namespace cistern::tool
