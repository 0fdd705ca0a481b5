#include "tools/line_protocol_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(LineProtocolReader, ABackslashTakesTheCommaBehindItIntoTheValue) {
  const auto records = ReadLines(
      "disk,drive=C:\\,ok=true v=1 1\n"
      "disk,filter=a=b v=1 2\n"
      "disk,drive=C:\\ v=1 3\n"
      "disk,drive=C:\\dir v=1 4\n");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0].reason, HasSubstr("column 18: the value of tag 'drive' holds a bare '='"));
  EXPECT_THAT(records[1].reason, HasSubstr("column 14: the value of tag 'filter' holds"));
  EXPECT_TRUE(records[2].bad);
  EXPECT_THAT(records[3].texts, ElementsAre("disk", "C:\\dir", "1", "4"));
}

TEST(LineProtocolReader, AStringMayHaveLineEnds) {
  const auto records = ReadLines(
      "m,e=a note=\"one\r\n# two\n\nm v=66 6\n\",v=1 5\n"
      "m note=\"one\ntwo\"x 5\n"
      "m note=\"open 5\nm v=2 6\n");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0].texts, ElementsAre("m", "a", "one\r\n# two\n\nm v=66 6\n", "1", "5"));
  EXPECT_EQ(records[1].line, 6u);
  EXPECT_EQ(records[1].raw, "m note=\"one\ntwo\"x 5\n");
  EXPECT_EQ(records[1].reason,
            "line 2 of the point, column 5: field 'note': text after its closing quote");
  EXPECT_EQ(records[2].line, 8u);
  EXPECT_EQ(records[2].raw, "m note=\"open 5\n");
  EXPECT_EQ(records[2].reason, "column 8: the quote of field 'note' is never closed");
  EXPECT_THAT(records[3].texts, ElementsAre("m", "2", "6"));
  EXPECT_EQ(records[3].line, 9u);
}

// A pipe hands out what was written so far, and then nothing for a while.
TEST(LineProtocolReader, AStringMayComeInPieces) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto input = Input::Open("/dev/fd/" + std::to_string(ends[0]));
  ASSERT_TRUE(input.ok()) << input.status().ToString();
  const auto reader = NewLineProtocolReader(input->get());
  const auto send = [&](std::string_view text) {
    ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  Record record;
  send("m v=1 1\nm note=\"one\n");
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kRecord);
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kIdle);
  send("two\n");
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kIdle);
  send("three\",v=2 2\nm v=");
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kRecord);
  ASSERT_EQ(record.cells.size(), 4u);
  EXPECT_EQ(record.cells[1].text, "one\ntwo\nthree");
  EXPECT_EQ(record.line, 2u);
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kIdle);
  send("3 3\nm note=\"open\n");
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kRecord);
  EXPECT_EQ(record.line, 5u);
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kIdle);
  close(ends[1]);
  ASSERT_EQ(reader->Next(&record), ReadOutcome::kBad);
  EXPECT_EQ(record.raw, "m note=\"open\n");
  EXPECT_EQ(reader->Next(&record), ReadOutcome::kEnd);
  close(ends[0]);
}

TEST(LineProtocolReader, AQuoteThatIsNeverClosedSpoilsItsOwnLine) {
  const std::string rows(100, 'x');
  std::string text = "m note=\"open\n";
  for (int i = 0; i < 1000; ++i) text += "m v=1,w" + rows + "=2 5\n";
  const auto records = ReadLines(text + "m note=\"closed\" 6\n");
  ASSERT_EQ(records.size(), 1002u) << "the next quote is further than a point may be long";
  EXPECT_TRUE(records[0].bad);
  for (size_t i = 1; i < records.size(); ++i) ASSERT_FALSE(records[i].bad) << i;
}

TEST(LineProtocolReader, BadLines) {
  const auto records = ReadLines(
      "cpu\n"
      "cpu,host idle=1\n"
      "cpu,host= idle=1\n"
      "cpu idle\n"
      "cpu idle=\n"
      "cpu s=\"a\"b\n"
      "cpu idle=1 5 6\n"
      ",a=b c=1\n"
      "cpu idle=1 5\n");
  ASSERT_EQ(records.size(), 9u);
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(records[i].bad) << i;
  EXPECT_THAT(records[0].reason, HasSubstr("column 4: expected a space and the fields"));
  EXPECT_THAT(records[5].reason, HasSubstr("text after its closing quote"));
  EXPECT_THAT(records[6].reason, HasSubstr("text after the timestamp"));
  EXPECT_FALSE(records[8].bad);
}

}  // namespace
}  // namespace cistern::tool
