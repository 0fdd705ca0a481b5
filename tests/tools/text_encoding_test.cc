#include "tools/text_encoding.h"

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
using namespace std::string_view_literals;

std::string Decoded(TextEncoding encoding, std::string_view bytes, size_t piece = 1) {
  TextDecoder decoder(encoding);
  std::string utf8;
  for (size_t i = 0; i < bytes.size(); i += piece) decoder.Decode(bytes.substr(i, piece), &utf8);
  decoder.Finish(&utf8);
  return utf8;
}

TEST(TextEncoding, Names) {
  EXPECT_EQ(*ParseTextEncoding("Latin-1"), TextEncoding::kLatin1);
  EXPECT_EQ(*ParseTextEncoding("ISO-8859-1"), TextEncoding::kLatin1);
  EXPECT_EQ(*ParseTextEncoding("cp1252"), TextEncoding::kWindows1252);
  EXPECT_EQ(*ParseTextEncoding("UTF-8"), TextEncoding::kUtf8);
  EXPECT_THAT(ParseTextEncoding("ebcdic").status().message(), HasSubstr("windows-1252"));
}

TEST(TextEncoding, Utf16InPiecesOfAnySize) {
  const std::string_view little = "a\0\xfc\0\xac\x20\x3d\xd8\x00\xde\n\0"sv;
  const std::string_view big = "\0a\0\xfc\x20\xac\xd8\x3d\xde\x00\0\n"sv;
  for (const size_t piece : {1, 2, 3, 5, 100}) {
    EXPECT_EQ(Decoded(TextEncoding::kUtf16Le, little, piece), "a\u00fc\u20ac\U0001F600\n");
    EXPECT_EQ(Decoded(TextEncoding::kUtf16Be, big, piece), "a\u00fc\u20ac\U0001F600\n");
  }
}

TEST(TextEncoding, WhatIsNoCharacterIsNoUtf8) {
  EXPECT_FALSE(CheckText(Decoded(TextEncoding::kUtf16Le, "\x3d\xd8"sv)).ok());     // half a pair
  EXPECT_FALSE(CheckText(Decoded(TextEncoding::kUtf16Le, "\x3d\xd8" "a\0"sv)).ok());
  EXPECT_FALSE(CheckText(Decoded(TextEncoding::kUtf16Le, "\x00\xde"sv)).ok());     // its other half
  EXPECT_FALSE(CheckText(Decoded(TextEncoding::kUtf16Le, "a\0b"sv)).ok());         // half a unit
  EXPECT_FALSE(CheckText(Decoded(TextEncoding::kWindows1252, "\x81")).ok());
  EXPECT_TRUE(CheckText(Decoded(TextEncoding::kLatin1, "\x81")).ok());
}

TEST(TextEncoding, OneByteEncodingsThereAndBackForEveryByte) {
  std::string bytes;
  for (int b = 1; b < 256; ++b) bytes += static_cast<char>(b);
  for (const TextEncoding encoding : {TextEncoding::kLatin1, TextEncoding::kWindows1252}) {
    std::string buffer;
    EXPECT_EQ(EncodedAs(encoding, Decoded(encoding, bytes, 7), &buffer), bytes);
    for (const char byte : bytes) {
      const std::string_view one(&byte, 1);
      EXPECT_EQ(EncodedAs(encoding, Decoded(encoding, one), &buffer), one);
    }
  }
  EXPECT_EQ(Decoded(TextEncoding::kWindows1252, "\x80\x92\xe9"), "\u20ac\u2019\u00e9");
  EXPECT_EQ(Decoded(TextEncoding::kLatin1, "\x80\xe9"), "\u0080\u00e9");
}

TEST(TextEncoding, AnInputIsKnownByItsMark) {
  const std::string text("\xff\xfe" "a\0,\0\xfc\0\n\0", 10);
  const auto input = Input::FromText(text);
  const auto records = ReadAll(NewCsvReader(input.get(), {}).get());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0].texts, ElementsAre("a", "\u00fc"));
  EXPECT_EQ(input->Original(records[0].raw), "a,\u00fc\n");
}

TEST(TextEncoding, AMarkAgainstTheOptionIsRefused) {
  for (const std::string_view mark : {"\xff\xfe"sv, "\xfe\xff"sv, "\xEF\xBB\xBF"sv}) {
    const auto input = Input::FromText(std::string(mark) + "a\n", TextEncoding::kLatin1);
    EXPECT_EQ(input->Grow(), Fill::kError);
    EXPECT_THAT(input->status().message(), HasSubstr("leave --encoding out"));
  }
}

// Of a stream the first bytes come one by one: what they are is known from the third on.
TEST(TextEncoding, AStreamThatBeginsSlowly) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto input = Input::Open("/proc/self/fd/" + std::to_string(ends[0]), TextEncoding::kUtf8);
  ASSERT_TRUE(input.ok());
  const std::string_view bytes = "\xff\xfe\xe9\0\n\0"sv;
  for (const char byte : bytes) {
    ASSERT_EQ(write(ends[1], &byte, 1), 1);
    ASSERT_EQ((*input)->Grow(), Fill::kData);
  }
  EXPECT_EQ((*input)->window(), "\xEF\xBB\xBF\u00e9\n");
  close(ends[1]);
  EXPECT_EQ((*input)->Grow(), Fill::kEnd);
  close(ends[0]);
}

// Through a file, whose chunks cut characters anywhere.
TEST(TextEncoding, AFileOfManyChunks) {
  namespace fs = std::filesystem;
  const fs::path path = fs::temp_directory_path() / ("cistern-text-" + std::to_string(getpid()));
  std::string utf16 = "\xfe\xff";
  std::string latin = "odd";
  std::string expected;
  for (int i = 0; i < 60000; ++i) {
    utf16.append("\xd8\x3d\xde\x00\0\n", 6);
    latin += "\xe9\n";
    expected += "\u00e9\n";
  }
  std::ofstream(path) << utf16;
  auto input = Input::Open(path.string());
  ASSERT_TRUE(input.ok());
  size_t count = 0;
  for (const ReadRecord& record : ReadAll(NewCsvReader(input->get(), {}).get())) {
    ASSERT_THAT(record.texts, ElementsAre("\U0001F600"));
    ++count;
  }
  EXPECT_EQ(count, 60000u);
  std::ofstream(path) << latin;
  input = Input::Open(path.string(), TextEncoding::kLatin1);
  ASSERT_TRUE(input.ok());
  std::string raw;
  for (const ReadRecord& record : ReadAll(NewCsvReader(input->get(), {}).get())) raw += record.raw;
  EXPECT_EQ(raw, "odd" + expected);
  std::ofstream(path) << "\xe9";
  input = Input::Open(path.string(), TextEncoding::kLatin1);
  ASSERT_TRUE(input.ok());
  const auto records = ReadAll(NewCsvReader(input->get(), {}).get());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0].texts, ElementsAre("\u00e9"));
  fs::remove(path);
}

}  // namespace
}  // namespace cistern::tool
