#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/reader_test_util.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ReadRecord> ReadLines(std::string text) {
  const auto input = Input::FromText(std::move(text));
  return ReadAll(NewLineProtocolReader(input.get()).get());
}

TEST(LineProtocolReader, TagsFieldsAndTimestamp) {
  const auto records = ReadLines(
      "cpu,host=a,dc=b\\ 1 idle=98.5,n=3i,u=4u,up=t,note=\"x, \\\"y\\\"\" 1465839830100400200\n"
      "# a comment\n\n"
      "m v=1\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].names, ElementsAre("measurement()", "host", "dc", "idle", "n", "u", "up",
                                            "note", "timestamp()"));
  EXPECT_THAT(records[0].texts, ElementsAre("cpu", "a", "b 1", "98.5", "3", "4", "true",
                                            "x, \"y\"", "1465839830100400200"));
  EXPECT_EQ(records[0].forms[7], CellForm::kQuoted);
  EXPECT_THAT(records[1].names, ElementsAre("measurement()", "v"));
  EXPECT_EQ(records[1].line, 4u);
}

TEST(LineProtocolReader, EscapesInNames) {
  const auto records = ReadLines("a\\,b,k\\=1=v\\=2 f\\ g=1 5\n");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0].names, ElementsAre("measurement()", "k=1", "f g", "timestamp()"));
  EXPECT_THAT(records[0].texts, ElementsAre("a,b", "v=2", "1", "5"));
}

TEST(LineProtocolReader, BadLines) {
  const auto records = ReadLines(
      "cpu\n"
      "cpu,host idle=1\n"
      "cpu,host= idle=1\n"
      "cpu idle\n"
      "cpu idle=\n"
      "cpu s=\"open\n"
      "cpu s=\"a\"b\n"
      "cpu idle=1 5 6\n"
      ",a=b c=1\n"
      "cpu idle=1 5\n");
  ASSERT_EQ(records.size(), 10u);
  for (size_t i = 0; i < 9; ++i) EXPECT_TRUE(records[i].bad) << i;
  EXPECT_THAT(records[0].reason, HasSubstr("column 4: expected a space and the fields"));
  EXPECT_THAT(records[5].reason, HasSubstr("never closed"));
  EXPECT_THAT(records[7].reason, HasSubstr("text after the timestamp"));
  EXPECT_FALSE(records[9].bad);
}

}  // namespace
}  // namespace cistern::tool
