#include "lib/codec/bit_pack.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace cistern {
namespace {

TEST(BitPack, EveryWidthAndManyCountsComeBack) {
  std::mt19937_64 random(1);
  for (unsigned width = 1; width <= 64; ++width) {
    for (const size_t count : {1u, 2u, 7u, 8u, 9u, 63u, 64u, 65u, 200u}) {
      std::vector<uint64_t> values(count);
      for (uint64_t& v : values) v = random() >> (64 - width);
      values[0] = ~uint64_t{0} >> (64 - width);
      std::string packed;
      BitWriter bits(&packed, count, width);
      for (const uint64_t v : values) bits.Put(v);
      bits.Finish();
      ASSERT_EQ(packed.size(), PackedBytes(count, width)) << width << " x " << count;
      ASSERT_TRUE(PaddingIsZero(packed, count, width));
      // An exact copy on the heap, so that a sanitizer sees a read beyond the end.
      const std::vector<char> exact(packed.begin(), packed.end());
      std::vector<uint64_t> got(count);
      UnpackBits({exact.data(), exact.size()}, count, width, got.data());
      ASSERT_EQ(got, values) << width << " x " << count;
      uint64_t sum = 0;
      for (size_t i = 0; i <= count; ++i) {
        ASSERT_EQ(SumPacked({exact.data(), exact.size()}, i, width), sum) << width << ": " << i;
        if (i < count) sum += values[i];
      }
    }
  }
}

// Lanes of a word hold what may be added to them, however large the values are.
TEST(BitPack, ManyGreatestValuesAreSummed) {
  for (unsigned width = 1; width <= 20; ++width) {
    constexpr size_t kCount = 100'000;
    const uint64_t greatest = (uint64_t{1} << width) - 1;
    std::string packed;
    BitWriter bits(&packed, kCount, width);
    for (size_t i = 0; i < kCount; ++i) bits.Put(greatest);
    bits.Finish();
    EXPECT_EQ(SumPacked(packed, kCount, width), kCount * greatest) << width;
  }
}

TEST(BitPack, LowestBitFirst) {
  std::string packed;
  BitWriter bits(&packed, 3, 3);
  for (const uint64_t v : {1u, 2u, 3u}) bits.Put(v);
  bits.Finish();
  // 001 at bit 0, 010 at bit 3, 011 at bit 6.
  EXPECT_EQ(packed, std::string("\xD1\x00", 2));
  EXPECT_TRUE(PaddingIsZero(packed, 3, 3));
  packed[1] = 2;
  EXPECT_FALSE(PaddingIsZero(packed, 3, 3));
}

}  // namespace
}  // namespace cistern
