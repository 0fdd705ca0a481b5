// What csv is beyond RFC 4180: escapes, lines before the header, comments, a line that names the
// delimiter.
#include "tools/csv_dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/reader_test_util.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ReadRecord> Read(std::string text, const CsvDialect& dialect) {
  const auto input = Input::FromText(std::move(text));
  return ReadAll(NewCsvReader(input.get(), dialect).get());
}

CsvDialect Escaped(std::string_view escape) {
  CsvDialect dialect;
  EXPECT_TRUE(ParseEscape(escape, &dialect).ok());
  return dialect;
}

TEST(CsvDialect, EscapesOfQuotesDelimitersLineEndsAndThemselves) {
  const auto records = Read("1,C:\\\\dir,\"say \\\"hi\\\"\"\n2,a\\,b,say \\\"hi\\\"\n"
                            "3,two\\\nlines,\"\\\\\"\n4,two\\\r\nlines,end\\\\\r\n",
                            Escaped("\\"));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0].texts, ElementsAre("1", "C:\\dir", "say \"hi\""));
  EXPECT_THAT(records[0].forms,
              ElementsAre(CellForm::kBare, CellForm::kBare, CellForm::kQuoted));
  EXPECT_THAT(records[1].texts, ElementsAre("2", "a,b", "say \"hi\""));
  EXPECT_THAT(records[2].texts, ElementsAre("3", "two\nlines", "\\"));
  EXPECT_EQ(records[2].raw, "3,two\\\nlines,\"\\\\\"\n");
  EXPECT_THAT(records[3].texts, ElementsAre("4", "two\r\nlines", "end\\"));
  EXPECT_EQ(records[3].line, 5u);
}

// DSBulk keeps a backslash that stands before another character. COPY TO shows control characters
// so, and Python's writer, which it uses, drops the backslash of all others.
TEST(CsvDialect, EscapesBeforeOtherCharacters) {
  const std::string text = "C:\\new\\table\\x41\\q\n";
  EXPECT_THAT(Read(text, Escaped("\\"))[0].texts, ElementsAre("C:\\new\\table\\x41\\q"));
  EXPECT_THAT(Read(text, Escaped("cqlsh"))[0].texts, ElementsAre("C:\new\tableAq"));
  EXPECT_THAT(Read("\\xa0\\x4\\x\n", Escaped("cqlsh"))[0].texts, ElementsAre("\xC2\xA0x4x"));
  EXPECT_THAT(Read("\\xa0\\r\"", Escaped("cqlsh"))[0].reason, HasSubstr("a quote inside"));
  EXPECT_THAT(Read("\\N,\\", Escaped("\\"))[0].texts, ElementsAre("\\N", "\\"));
}

// format_value_text of cqlsh doubles backslashes and shows control characters; the writer of Python
// 3.10 and later escapes the backslashes of both.
TEST(CsvDialect, BackslashesThatAreDoubledTwice) {
  const auto records =
      Read("C:\\\\\\\\dir,a\\\\nb\\\\x41,\"say \\\"hi\\\", \\\\\\\\\\\\\\\\n\"\n"
           "\\\\q,\\\\\n\\\\x00\n",
           Escaped("cqlsh-python3.10"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0].texts, ElementsAre("C:\\dir", "a\nbA", "say \"hi\", \\\\n"));
  EXPECT_THAT(records[1].texts, ElementsAre("\\q", "\\"));
  EXPECT_THAT(records[2].reason, HasSubstr("NUL"));
}

TEST(CsvDialect, EscapedNulIsRefusedLikeOneThatIsThere) {
  const auto records = Read("a\\x00,1\nb,2\n", Escaped("cqlsh"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].reason, HasSubstr("cell 1 holds a NUL byte"));
  EXPECT_FALSE(records[1].bad);
}

TEST(CsvDialect, WithoutTheOptionABackslashIsACharacterAndAdviceIsGiven) {
  const auto records = Read("C:\\\\dir,\"a\\\"\n\"say \\\"hi\\\"\",1\nsay \\\"hi\\\",1\n", {});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0].texts, ElementsAre("C:\\\\dir", "a\\"));
  EXPECT_THAT(records[1].reason, HasSubstr("--escape '\\' reads it"));
  EXPECT_THAT(records[2].reason, HasSubstr("--escape cqlsh"));
}

TEST(CsvDialect, EscapeOptions) {
  CsvDialect dialect;
  EXPECT_THAT(ParseEscape("\"", &dialect).message(), HasSubstr("leave it out"));
  EXPECT_THAT(ParseEscape(",", &dialect).message(), HasSubstr("beside the delimiter"));
  EXPECT_THAT(ParseEscape("ab", &dialect).message(),
              HasSubstr("neither cqlsh, cqlsh-python3.10 nor one"));
  EXPECT_EQ(dialect.escape, '\0');
}

TEST(CsvDialect, LinesBeforeTheHeaderAreKeptApart) {
  CsvDialect dialect;
  dialect.skip_lines = 3;
  const auto input = Input::FromText("\xEF\xBB\xBFStation: \"a\n\nSerial,no\nts,v\n1,2\n");
  const auto reader = NewCsvReader(input.get(), dialect);
  const auto records = ReadAll(reader.get());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].texts, ElementsAre("ts", "v"));
  EXPECT_EQ(records[0].line, 4u);
  EXPECT_EQ(reader->preamble(), "Station: \"a\n\nSerial,no\n");
}

TEST(CsvDialect, LongLinesBeforeTheHeaderAreCountedAsLines) {
  CsvDialect dialect;
  dialect.skip_lines = 2;
  const std::string long_line(3 * kLineBytesMax, 'x');
  const auto input = Input::FromText(long_line + "\n" + long_line + "\nts,v\n1,2\n");
  const auto reader = NewCsvReader(input.get(), dialect);
  const auto records = ReadAll(reader.get());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].texts, ElementsAre("ts", "v"));
  const std::string_view preamble = reader->preamble();
  EXPECT_EQ(std::count(preamble.begin(), preamble.end(), '\n'), 2);
  EXPECT_LE(preamble.size(), kLineBytesMax + 2);
}

TEST(CsvDialect, ThePreambleIsReadWithoutTheFirstRecord) {
  CsvDialect dialect;
  dialect.skip_lines = 1;
  const auto input = Input::FromText("# made by x\n1,2\n");
  const auto reader = NewCsvReader(input.get(), dialect);
  Record record;
  ASSERT_EQ(reader->ReadPreamble(&record), ReadOutcome::kRecord);
  EXPECT_EQ(reader->preamble(), "# made by x\n");
  const auto records = ReadAll(reader.get());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0].texts, ElementsAre("1", "2"));
}

TEST(CsvDialect, CommentsAreLeftOutButNotInsideOfQuotes) {
  CsvDialect dialect;
  dialect.comment = "#";
  const auto records =
      Read("# one\nts,v\n#two, \"\n1,\"a\n# text\n\"\n\"#3\",4\n #5,6\n#", dialect);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0].texts, ElementsAre("ts", "v"));
  EXPECT_THAT(records[1].texts, ElementsAre("1", "a\n# text\n"));
  EXPECT_THAT(records[2].texts, ElementsAre("#3", "4"));
  EXPECT_THAT(records[3].texts, ElementsAre(" #5", "6"));
}

TEST(CsvDialect, TheLineOfExcelNamesTheDelimiter) {
  for (const std::string_view line :
       {"sep=;\n", "SEP=;\r\n", "\"sep=;\"\r\n", "\xEF\xBB\xBFsep=;\n"}) {
    const auto records = Read(std::string(line) + "a;b\n1,5;2\n", {});
    ASSERT_EQ(records.size(), 2u) << line;
    EXPECT_THAT(records[1].texts, ElementsAre("1,5", "2"));
    EXPECT_EQ(records[0].line, 2u);
  }
  EXPECT_THAT(Read("a\nsep=;\n", {})[1].texts, ElementsAre("sep=;"));
  EXPECT_THAT(Read("sep=;;\n", {})[0].texts, ElementsAre("sep=;;"));
  EXPECT_THAT(Read("sep=\t\na\tb\n", {})[0].texts, ElementsAre("a", "b"));
}

TEST(CsvDialect, ADelimiterOfTheLineAndAnotherOfAPersonDoNotAgree) {
  CsvDialect dialect;
  dialect.delimiter_given = true;
  const auto records = Read("sep=;\na,b\n", dialect);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].reason, HasSubstr("the input says sep=;, and --delimiter ','"));
  dialect.skip_lines = 1;
  EXPECT_THAT(Read("sep=;\na,b\n", dialect)[0].texts, ElementsAre("a", "b"));
  dialect.delimiter = ';';
  dialect.skip_lines = 0;
  EXPECT_THAT(Read("sep=;\na;b\n", dialect)[0].texts, ElementsAre("a", "b"));
}

// A record of several lines is cut nowhere: its last line may lie in bytes that are not read yet.
TEST(CsvDialect, TheLastLineOfARecordMayComeLater) {
  namespace fs = std::filesystem;
  const fs::path path = fs::temp_directory_path() / ("cistern-csv-" + std::to_string(getpid()));
  constexpr size_t kChunkBytes = 128 * 1024;  // of an input
  const std::string record = "\"a\nb\",12345678\n";
  for (size_t cut = 1; cut < record.size(); ++cut) {
    std::string text;
    while (text.size() + 5000 < kChunkBytes) text += std::string(4000, 'x') + ",1\n";
    text.resize(kChunkBytes - cut - 1, 'y');
    text += "\n" + record + "z,2\n";
    std::ofstream(path) << text;
    const auto input = Input::Open(path.string());
    ASSERT_TRUE(input.ok());
    const auto records = ReadAll(NewCsvReader(input->get(), {}).get());
    ASSERT_GE(records.size(), 2u);
    EXPECT_THAT(records[records.size() - 2].texts, ElementsAre("a\nb", "12345678")) << cut;
    EXPECT_THAT(records.back().texts, ElementsAre("z", "2")) << cut;
  }
  fs::remove(path);
}

}  // namespace
}  // namespace cistern::tool
