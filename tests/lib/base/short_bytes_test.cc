#include "lib/base/short_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace cistern {
namespace {

// Every length around the borders between its loads, and a difference at every place.
TEST(EqualBytes, SeesADifferenceAtEveryPlace) {
  for (size_t size = 0; size <= 40; ++size) {
    std::string a(size, '\0');
    for (size_t i = 0; i < size; ++i) a[i] = static_cast<char>(i * 37 + 200);
    const std::string same = a;
    EXPECT_TRUE(EqualBytes(a, same)) << size;
    EXPECT_FALSE(EqualBytes(a, same + '\0')) << size;
    for (size_t i = 0; i < size; ++i) {
      std::string other = a;
      other[i] = static_cast<char>(other[i] ^ 0x80);
      EXPECT_FALSE(EqualBytes(a, other)) << size << " at " << i;
      EXPECT_FALSE(EqualBytes(other, a)) << size << " at " << i;
    }
  }
}

TEST(EqualBytes, TakesNoBytesOutsideOfTheViews) {
  for (size_t size = 0; size <= 20; ++size) {
    const std::string a = 'x' + std::string(size, 'k') + 'y';
    const std::string b = 'z' + std::string(size, 'k') + 'w';
    const std::string_view inner = std::string_view(a).substr(1, size);
    EXPECT_TRUE(EqualBytes(inner, std::string_view(b).substr(1, size)));
  }
  EXPECT_TRUE(EqualBytes({}, std::string_view("", 0)));
}

// Into the midst of other bytes, which stay.
TEST(CopyBytes, CopiesEveryByteAndNoOther) {
  for (size_t size = 0; size <= 40; ++size) {
    std::string a(size, '\0');
    for (size_t i = 0; i < size; ++i) a[i] = static_cast<char>(i * 37 + 1);
    std::string out(size + 2, '#');
    CopyBytes(a, out.data() + 1);
    EXPECT_EQ(out, '#' + a + '#') << size;
  }
  CopyBytes({}, nullptr);
}

TEST(IsShortAscii, SeesOneOtherByteAtEveryPlace) {
  for (size_t size = 0; size <= 16; ++size) {
    EXPECT_TRUE(IsShortAscii(std::string(size, '\x7f'))) << size;
    for (size_t i = 0; i < size; ++i) {
      std::string other(size, 'a');
      other[i] = '\x80';
      EXPECT_FALSE(IsShortAscii(other)) << size << " at " << i;
    }
  }
  EXPECT_FALSE(IsShortAscii(std::string(17, 'a'))) << "it is not short";
}

}  // namespace
}  // namespace cistern
