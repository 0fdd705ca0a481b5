#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/tools/reader_test_util.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ReadRecord> ReadDialect(std::string text, CsvDialect dialect) {
  const auto input = Input::FromText(std::move(text));
  return ReadAll(NewCsvReader(input.get(), std::move(dialect)).get());
}

std::vector<ReadRecord> ReadCsv(std::string text, char delimiter = ',') {
  CsvDialect dialect;
  dialect.delimiter = delimiter;
  return ReadDialect(std::move(text), dialect);
}

TEST(CsvReader, BareCellsWithLfCrlfAndNoLastLineEnd) {
  const auto records = ReadCsv("a,b\r\n1,,3\n\n4,5");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0].texts, ElementsAre("a", "b"));
  EXPECT_EQ(records[0].raw, "a,b\r\n");
  EXPECT_THAT(records[1].texts, ElementsAre("1", "", "3"));
  EXPECT_THAT(records[2].texts, ElementsAre("4", "5"));
  EXPECT_EQ(records[2].line, 4u);
}

TEST(CsvReader, QuotesDelimitersAndLineEndsInside) {
  const auto records = ReadCsv("\"a,b\",\"say \"\"hi\"\"\",\"two\r\nlines\"\r\nx,\"\",\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].texts, ElementsAre("a,b", "say \"hi\"", "two\r\nlines"));
  EXPECT_THAT(records[1].texts, ElementsAre("x", "", ""));
  EXPECT_THAT(records[1].forms,
              ElementsAre(CellForm::kBare, CellForm::kQuoted, CellForm::kBare));
  EXPECT_EQ(records[1].line, 3u);
}

TEST(CsvReader, ByteOrderMarkIsNotPartOfTheFirstName) {
  const auto records = ReadCsv("\xEF\xBB\xBFts,v\n");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0].texts, ElementsAre("ts", "v"));
}

TEST(CsvReader, OtherDelimiters) {
  EXPECT_THAT(ReadCsv("1;2,5;3\n", ';')[0].texts, ElementsAre("1", "2,5", "3"));
  EXPECT_THAT(ReadCsv("15 40 -29\n", ' ')[0].texts, ElementsAre("15", "40", "-29"));
  EXPECT_THAT(ReadCsv("a\tb\n", '\t')[0].texts, ElementsAre("a", "b"));
}

TEST(CsvReader, QuoteNeverClosedSpoilsItsOwnLineOnly) {
  const auto records = ReadCsv("1,\"open\n2,b\n3,c\n");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_TRUE(records[0].bad);
  EXPECT_THAT(records[0].reason, HasSubstr("never closed"));
  EXPECT_EQ(records[0].raw, "1,\"open\n");
  EXPECT_THAT(records[1].texts, ElementsAre("2", "b"));
  EXPECT_EQ(records[2].line, 3u);
}

TEST(CsvReader, StrayQuotesAreBad) {
  const auto records = ReadCsv("1,5\" pipe\n2,\"x\"y\n3,ok\n");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0].reason, HasSubstr("cell 2: a quote inside"));
  EXPECT_THAT(records[1].reason, HasSubstr("cell 2: text after its closing quote"));
  EXPECT_FALSE(records[2].bad);
}

TEST(CsvReader, NulAndInvalidUtf8AreBadWithTheirPlace) {
  const auto records = ReadCsv(std::string("a\0b\n", 4) + "x,\xff\n\xc3\xa9t\xc3\xa9\n");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0].reason, HasSubstr("NUL byte at byte 2"));
  EXPECT_THAT(records[1].reason, HasSubstr("0xff at byte 3"));
  EXPECT_THAT(records[2].texts, ElementsAre("\xc3\xa9t\xc3\xa9"));
}

TEST(CsvReader, TooLongLineComesInPiecesAndTheNextIsRead) {
  const std::string longest(10 * 1024 * 1024, 'x');
  const auto records = ReadCsv("1,a\n" + longest + "\n2,b\n");
  ASSERT_GT(records.size(), 3u);
  EXPECT_FALSE(records.front().bad);
  std::string raw;
  for (size_t i = 1; i + 1 < records.size(); ++i) {
    EXPECT_TRUE(records[i].bad);
    EXPECT_LE(records[i].raw.size(), kLineBytesMax);
    EXPECT_EQ(records[i].raw_continues, i + 2 < records.size());
    EXPECT_EQ(records[i].line, 2u);
    raw += records[i].raw;
  }
  EXPECT_EQ(raw, longest + "\n");
  EXPECT_THAT(records.back().texts, ElementsAre("2", "b"));
  EXPECT_EQ(records.back().line, 3u);
}

TEST(CsvReader, LongestAllowedLine) {
  const auto records = ReadCsv(std::string(kLineBytesMax - 1, 'x') + "\n1\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_FALSE(records[0].bad);
  EXPECT_EQ(records[1].line, 2u);
}

TEST(CsvReader, TenThousandCellsAreBad) {
  const auto records = ReadCsv(std::string(9999, ',') + "\n1,2\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].reason, HasSubstr("more than 4096 cells"));
}

TEST(CsvReader, RandomBytesLoseNothing) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string_view alphabet = "ab,,\"\"\"\n\n\r\xff\xc3";
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const size_t size = random() % 400;
    for (size_t i = 0; i < size; ++i) text += alphabet[random() % alphabet.size()];
    std::string raw;
    uint64_t line = 0;
    for (const ReadRecord& r : ReadCsv(text)) {
      raw += r.raw;
      EXPECT_GT(r.line, line);
      line = r.line;
      EXPECT_EQ(r.bad, r.texts.empty());
    }
    // Only blank lines are skipped.
    std::string expected = text;
    const auto squeeze = [](std::string s) {
      std::erase_if(s, [](char c) { return c == '\n' || c == '\r'; });
      return s;
    };
    EXPECT_EQ(squeeze(raw), squeeze(expected));
  }
}

}  // namespace
}  // namespace cistern::tool
