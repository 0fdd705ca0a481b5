#include "tools/size_text.h"

#include <gtest/gtest.h>

#include <utility>

namespace cistern::tool {
namespace {

TEST(SizeText, SizesAreRead) {
  const std::pair<const char*, uint64_t> right[] = {
      {"0", 0}, {"7", 7}, {"1KiB", 1024}, {"16MiB", 16ull << 20}, {"3GiB", 3ull << 30}};
  for (const auto& [text, bytes] : right) {
    const Result<uint64_t> parsed = ParseSize("--x", text, 0, UINT64_MAX);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, bytes);
  }
  EXPECT_EQ(*ParseRate("--x", "256KiB/s", 0, UINT64_MAX), 256u << 10);
  EXPECT_EQ(*ParseRate("--x", "9/s", 0, UINT64_MAX), 9u);
}

TEST(SizeText, WhatIsNoSize) {
  for (const char* text : {"", "KiB", "-1", "1kB", "1 KiB", "1.5MiB", "0x10", "1KiB/s",
                           "18446744073709551616", "17179869184GiB"}) {
    const auto parsed = ParseSize("--x", text, 0, UINT64_MAX);
    EXPECT_EQ(parsed.status().message(), std::string("--x '") + text +
                                             "' is not a whole number of bytes, KiB, MiB or GiB");
  }
  for (const char* text : {"", "/s", "1KiB", "1KiB/h", "1KiB /s", "-1/s"}) {
    const auto parsed = ParseRate("--x", text, 1024, UINT64_MAX);
    EXPECT_EQ(parsed.status().message(),
              std::string("--x '") + text +
                  "' is not a rate such as 256KiB/s or 2MiB/s, from 1 KiB/s on");
  }
}

TEST(SizeText, BoundsAreTold) {
  EXPECT_TRUE(ParseSize("--x", "1KiB", 1024, 2048).ok());
  EXPECT_TRUE(ParseSize("--x", "2048", 1024, 2048).ok());
  EXPECT_EQ(ParseSize("--x", "1023", 1024, 2048).status().message(),
            "--x '1023' is less than 1 KiB");
  EXPECT_EQ(ParseSize("--x", "2049", 1024, 2049 - 1).status().message(),
            "--x '2049' is more than 2 KiB");
  EXPECT_EQ(ParseRate("--x", "1GiB/s", 0, 1500).status().message(),
            "--x '1GiB/s' is more than 1500 bytes/s");
}

TEST(SizeText, ForPeople) {
  const std::pair<uint64_t, const char*> texts[] = {
      {0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {1536, "1.5 KiB"}, {1048575, "1.0 MiB"},
      {5ull << 30, "5.0 GiB"}, {5ull << 40, "5120.0 GiB"}};
  for (const auto& [bytes, text] : texts) EXPECT_EQ(FormatSize(bytes), text);
}

}  // namespace
}  // namespace cistern::tool
