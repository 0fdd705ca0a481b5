// Messages are put together of texts, characters and numbers of every width.
#include "lib/base/concat.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace cistern {
namespace {

TEST(Concat, HasItsPartsInOrder) {
  const std::string name = "readings";
  const std::string_view view = std::string_view("page header").substr(0, 4);
  EXPECT_EQ(Concat({view, ' ', 7, " of '", name, "' has ", size_t{12}, " bytes"}),
            "page 7 of 'readings' has 12 bytes");
}

TEST(Concat, OfNothingIsEmpty) {
  EXPECT_EQ(Concat({}), "");
  EXPECT_EQ(Concat({"", std::string(), std::string_view()}), "");
}

TEST(Concat, NumbersOfEveryWidthKeepTheirSignAndValue) {
  EXPECT_EQ(Concat({std::numeric_limits<int64_t>::min(), ' ', std::numeric_limits<int64_t>::max()}),
            "-9223372036854775808 9223372036854775807");
  EXPECT_EQ(Concat({std::numeric_limits<uint64_t>::max(), ' ', -1, ' ', uint8_t{200}, ' ',
                     int8_t{-128}, ' ', int16_t{-300}}),
            "18446744073709551615 -1 200 -128 -300");
}

TEST(Concat, TextsKeepTheirZeroBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(Concat({text, '\0', std::string_view(text)}), std::string("a\0b\0a\0b", 7));
}

}  // namespace
}  // namespace cistern
