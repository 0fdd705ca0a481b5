#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tools/interrupt.h"
#include "tools/record_printer.h"
#include "tools/scan_token.h"

namespace cistern::tool {
namespace {

// What a printer writes for the rows.
std::string Printed(PrintFormat format, std::vector<PrintColumn> columns,
                    const std::vector<std::vector<PrintCell>>& rows) {
  int fds[2];
  EXPECT_EQ(pipe(fds), 0);
  Output output(fds[1]);
  const auto printer = RecordPrinter::New(format, std::move(columns), &output);
  for (const auto& row : rows) printer->Row(row);
  printer->Finish();
  output.Flush();
  close(fds[1]);
  std::string text(65536, '\0');
  const ssize_t count = read(fds[0], text.data(), text.size());
  close(fds[0]);
  text.resize(static_cast<size_t>(count > 0 ? count : 0));
  return text;
}

TEST(RecordPrinter, CsvTellsNullFromEmptyText) {
  EXPECT_EQ(Printed(PrintFormat::kCsv, {{"a", false}, {"b,c", false}},
                    {{{"x", false, false}, {"", true, false}},
                     {{"", false, false}, {"say \"hi\", twice\n", false, false}},
                     {{" lead", false, false}, {"1.5", false, true}}}),
            "a,\"b,c\"\nx,\n\"\",\"say \"\"hi\"\", twice\n\"\n\" lead\",1.5\n");
}

TEST(RecordPrinter, Jsonl) {
  EXPECT_EQ(Printed(PrintFormat::kJsonl, {{"a\"", false}, {"b", true}},
                    {{{"x\\\n\x01\xc3\xa9", false, false}, {"-1.5e-7", false, true}},
                     {{"", true, false}, {"NaN", false, false}}}),
            "{\"a\\\"\":\"x\\\\\\n\\u0001\xc3\xa9\",\"b\":-1.5e-7}\n"
            "{\"a\\\"\":null,\"b\":\"NaN\"}\n");
}

TEST(RecordPrinter, JsonIsUtf8WhateverTheTextIs) {
  std::string json;
  AppendJsonString("a\xff\xc3\xa9\xe2\x82", &json);
  EXPECT_EQ(json, "\"a\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\"");
  json.clear();
  AppendJsonString("\xed\xa0\x80\"", &json);  // half a surrogate pair
  EXPECT_EQ(json, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\\\"\"");
  json.clear();
  AppendJsonString("", &json);
  EXPECT_EQ(json, "\"\"");
}

TEST(RecordPrinter, TableAlignsAndIsNotTornByControlCharacters) {
  EXPECT_EQ(Printed(PrintFormat::kTable, {{"name", false}, {"n", true}},
                    {{{"x\ny", false, false}, {"10", false, true}},
                     {{"\xc3\xa9", false, false}, {"", true, true}}}),
            "name     n\n------  --\nx\\x0ay  10\n\xc3\xa9        -\n");
}

TEST(Output, ReaderThatHadEnoughIsNoError) {
  std::signal(SIGPIPE, SIG_IGN);
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  close(fds[0]);
  Output output(fds[1]);
  output.Write("x");
  EXPECT_FALSE(output.closed());
  output.Flush();
  EXPECT_TRUE(output.closed());
  EXPECT_TRUE(output.status().ok());
  close(fds[1]);
}

// Before anything is written, and however long it would wait.
TEST(Output, AReaderThatIsGoneEndsAPause) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  EXPECT_TRUE(PauseWhileRead(0, fds[1]));
  close(fds[0]);
  EXPECT_FALSE(PauseWhileRead(60'000'000, fds[1]));
  close(fds[1]);
  EXPECT_FALSE(PauseWhileRead(60'000'000, fds[1])) << "nobody reads what is closed";
}

TEST(Output, FullDiskIsAnError) {
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  Output output(fd);
  output.Write("x");
  output.Flush();
  EXPECT_EQ(output.status().code(), StatusCode::kNoSpace);
  close(fd);
}

TEST(ScanToken, RoundTrip) {
  const ScanToken token{12345, std::string("\0\xff token", 8)};
  const Result<ScanToken> back = ParseScanToken(FormatScanToken(token));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->rows_before, token.rows_before);
  EXPECT_EQ(back->engine_token, token.engine_token);
  EXPECT_FALSE(back->from || back->to);
}

TEST(ScanToken, HasBoundsThatCountedFromNow) {
  constexpr std::optional<int64_t> kNone;
  for (const auto& [from, to] : {std::pair<std::optional<int64_t>, std::optional<int64_t>>(5, 7),
                                 {INT64_MIN, kNone}, {kNone, -7}}) {
    const std::string text = FormatScanToken({1, "x", from, to});
    const Result<ScanToken> back = ParseScanToken(text);
    ASSERT_TRUE(back.ok()) << text;
    EXPECT_EQ(back->from, from) << text;
    EXPECT_EQ(back->to, to) << text;
  }
}

TEST(ScanToken, RefusesWhatWasNotPrinted) {
  for (const char* text : {"", "5", "5.", ".00", "5.0", "5.zz", "x.00", "-1.00", "5.00 ",
                           "99999999999999999999999.00", "1.00.x.5", "1.00.5.x", "1.00.1.2.3",
                           "1.00.99999999999999999999."}) {
    EXPECT_EQ(ParseScanToken(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ParseScanToken("1." + std::string(100'000, '0')).ok());
}

}  // namespace
}  // namespace cistern::tool
