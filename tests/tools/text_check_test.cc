#include <gtest/gtest.h>

#include "tools/record_reader.h"

namespace cistern::tool {
namespace {

TEST(CheckText, TakesWellFormedUtf8) {
  for (const char* text : {"", "plain", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "eight888\xc3\xa9"}) {
    EXPECT_TRUE(CheckText(text).ok()) << text;
  }
}

TEST(CheckText, RefusesEverythingElse) {
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3z", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "eight888\xfe"}) {
    EXPECT_EQ(CheckText(text).code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(CheckText, NamesThePlace) {
  EXPECT_EQ(CheckText("abcdefghij\xff").message(),
            "not UTF-8: byte 0xff at byte 11; a file of one byte a character is read by "
            "--encoding latin-1 or windows-1252");
  EXPECT_EQ(CheckText(std::string_view("ab\0", 3)).message(), "a NUL byte at byte 3");
}

}  // namespace
}  // namespace cistern::tool
