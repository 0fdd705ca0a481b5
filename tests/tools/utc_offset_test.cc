#include "tools/utc_offset.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cistern::tool {
namespace {

TEST(UtcOffset, IsReadAsItIsWritten) {
  const std::pair<const char*, int32_t> offsets[] = {
      {"+08:00", 28'800}, {"-0530", -19'800}, {"Z", 0},          {"z", 0},        {"+8", 28'800},
      {"-08", -28'800},   {"+00:00", 0},      {"+05:53:28", 21'208}, {"-001530", -930}};
  for (const auto& [text, offset_s] : offsets) {
    const Result<int32_t> read = ParseUtcOffset(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, offset_s) << text;
  }
}

TEST(UtcOffset, AnythingElseIsRefused) {
  for (const char* text : {"", "+", "8", "+19", "+08:", "+08:0", "+08:60", "+0860", "+08:00:",
                           "+08:00:60", "+08:0000",
                           "+080:00", "+08000", "+08:00x", "UTC", "Asia/Shanghai"}) {
    const Result<int32_t> read = ParseUtcOffset(text);
    EXPECT_FALSE(read.ok()) << text;
    EXPECT_NE(read.status().message().find("is not an offset from UTC; expected for example"),
              std::string::npos);
  }
  size_t i = 0;
  int32_t offset_s = 0;
  EXPECT_FALSE(ReadUtcOffset("+8:00", &i, 2, &offset_s));
}

TEST(UtcOffset, IsWrittenWithItsSeconds) {
  EXPECT_EQ(FormatUtcOffset(28'800), "+08:00");
  EXPECT_EQ(FormatUtcOffset(-19'800), "-05:30");
  EXPECT_EQ(FormatUtcOffset(-930), "-00:15:30");
}

}  // namespace
}  // namespace cistern::tool
