// The coder's state and the decimal form of doubles.
#include "storage/journal_coder.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "tests/lib/row/row_test_util.h"

namespace cistern::journal {
namespace {

TEST(CodedText, HoldsWhatItWasGivenWhateverTheLength) {
  HeadArena arena(nullptr);
  CodedText text;
  EXPECT_EQ(text.view(), "");
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const size_t length = random() % (random() % 2 == 0 ? 20 : 2000);
    const std::string value(length, static_cast<char>('a' + i % 26));
    text.Set(value, &arena);
    ASSERT_EQ(text.view(), value);
  }
  EXPECT_LT(arena.memory_bytes(), 200'000u) << "memory of outgrown texts is used again";
}

TEST(EntityCoder, BeginsWithZeroesAndAShapeOfValues) {
  HeadArena arena(nullptr);
  const auto schema = row_test::PlainTable();
  TableCoder table(3, schema);
  EntityCoder* coder = EntityCoder::New(&table, "key", 7, &arena);
  EXPECT_EQ(coder->key(), "key");
  EXPECT_EQ(coder->number, 7u);
  EXPECT_EQ(coder->value_count, 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(coder->last()[i], 0);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(coder->shape()[i], CellState::kValue);
  EXPECT_EQ(coder->texts()[0].view(), "");
}

TEST(Decimals, RoundTripWithTheirExponent) {
  for (const int64_t d : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2150}, int64_t{-99999},
                          int64_t{123'456'789'012}}) {
    for (int exponent = 0; exponent <= 6; ++exponent) {
      const double value = static_cast<double>(d) / kPowersOfTen[exponent];
      const int64_t bits = std::bit_cast<int64_t>(value);
      EXPECT_EQ(ScaledInteger(value, exponent), d) << exponent;
      EXPECT_EQ(BitsOf(d, exponent, false), bits) << d << " " << exponent;
    }
  }
}

TEST(Decimals, WhatHasNoProductBelow2To53ScalesToZero) {
  EXPECT_EQ(ScaledInteger(std::numeric_limits<double>::quiet_NaN(), 3), 0);
  EXPECT_EQ(ScaledInteger(std::numeric_limits<double>::infinity(), 0), 0);
  EXPECT_EQ(ScaledInteger(-std::numeric_limits<double>::infinity(), 0), 0);
  EXPECT_EQ(ScaledInteger(9007199254740992.0, 0), 0);
  EXPECT_EQ(ScaledInteger(9007199254740991.0, 0), 9007199254740991);
  EXPECT_EQ(ScaledInteger(-9007199254740991.0, 0), -9007199254740991);
  EXPECT_EQ(ScaledInteger(1e300, 15), 0);
}

}  // namespace
}  // namespace cistern::journal
