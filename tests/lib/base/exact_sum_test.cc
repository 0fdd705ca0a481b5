// Exact sums beside an independent method: Shewchuk's growing expansions, as in Python's fsum.
#include "lib/base/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();

// J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic" (1997): partial sums that do
// not overlap. For finite sums alone.
double ByExpansion(const std::vector<double>& values) {
  std::vector<double> partials;
  for (double x : values) {
    std::vector<double> next;
    for (double y : partials) {
      if (std::abs(x) < std::abs(y)) std::swap(x, y);
      const double high = x + y;
      const double low = y - (high - x);
      if (low != 0) next.push_back(low);
      x = high;
    }
    next.push_back(x);
    partials = std::move(next);
  }
  if (partials.empty()) return 0;
  size_t n = partials.size() - 1;
  double high = partials[n];
  double low = 0;
  while (n > 0 && low == 0) {
    const double x = high;
    const double y = partials[--n];
    high = x + y;
    low = y - (high - x);
  }
  // A tie is decided by what is below it.
  if (n > 0 && (low < 0) == (partials[n - 1] < 0) && low != 0 && partials[n - 1] != 0) {
    const double doubled = low * 2;
    if ((high + doubled) - high == doubled) high += doubled;
  }
  return high;
}

std::vector<int64_t> BitsOf(const std::vector<double>& values) {
  std::vector<int64_t> bits;
  for (const double v : values) bits.push_back(std::bit_cast<int64_t>(v));
  return bits;
}

double SumOf(const std::vector<double>& values) {
  ExactSum sum;
  sum.AddDoubles(BitsOf(values));
  return sum.Round();
}

TEST(ExactSum, RoundsOnce) {
  EXPECT_EQ(SumOf({}), 0.0);
  EXPECT_FALSE(std::signbit(SumOf({-0.0, -0.0})));
  EXPECT_EQ(SumOf({0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}), 1.0);
  EXPECT_EQ(SumOf({1e308, 1.0, -1e308}), 1.0);
  EXPECT_EQ(SumOf({1e16, 1.0, 1e-16}), 10000000000000002.0);  // above the tie
  EXPECT_EQ(SumOf({1e16, 1.0}), 1e16);                        // the tie, to even
  EXPECT_EQ(SumOf({1e16, 2.0, 1.0}), 10000000000000004.0);    // the tie, to even
  EXPECT_EQ(SumOf({kLeast, kLeast, -1.0, 1.0}), 2 * kLeast);
  EXPECT_EQ(SumOf({kLargest, -kLargest, kLeast}), kLeast);
}

TEST(ExactSum, OverflowOfTheSumAloneIsInfinite) {
  EXPECT_EQ(SumOf({kLargest, kLargest, -kLargest}), kLargest);
  EXPECT_EQ(SumOf({kLargest, kLargest}), kInfinity);
  EXPECT_EQ(SumOf({-kLargest, -kLargest}), -kInfinity);
}

TEST(ExactSum, SpecialValues) {
  EXPECT_EQ(SumOf({1.0, kInfinity, 2.0}), kInfinity);
  EXPECT_EQ(SumOf({-kInfinity, kLargest}), -kInfinity);
  EXPECT_TRUE(std::isnan(SumOf({kInfinity, -kInfinity})));
  EXPECT_TRUE(std::isnan(SumOf({1.0, std::nan("")})));
}

// Doubles of sizes that are near each other, far apart, or that cancel.
std::vector<double> RandomValues(Rng* rng) {
  std::vector<double> values(rng->Below(300));
  const uint64_t kind = rng->Below(4);
  for (double& v : values) {
    const double unit = static_cast<double>(rng->Between(-1'000'000, 1'000'000));
    switch (kind) {
      case 0: v = unit / 100; break;
      case 1: v = std::ldexp(unit, static_cast<int>(rng->Between(-900, 900))); break;
      case 2: v = std::ldexp(unit, static_cast<int>(rng->Between(-1090, -1040))); break;
      default: v = std::ldexp(unit, static_cast<int>(rng->Between(-30, 30))); break;
    }
    if (rng->OneIn(20)) v = 0.0;
    if (rng->OneIn(3) && &v != values.data()) v = -*(&v - 1);
  }
  return values;
}

TEST(ExactSum, IsThatOfExpansionsHoweverItIsGrouped) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed);
    const std::vector<double> values = RandomValues(&rng);
    const double expected = ByExpansion(values);
    ASSERT_EQ(SumOf(values), expected) << "seed " << seed;
    ExactSum grouped;
    const std::vector<int64_t> bits = BitsOf(values);
    for (size_t begin = 0; begin < bits.size();) {
      const size_t count = std::min<size_t>(1 + rng.Below(40), bits.size() - begin);
      ExactSum part;
      part.AddDoubles(std::span(bits).subspan(begin, count));
      const auto compact = part.Compact();
      if (compact) {
        ASSERT_EQ(std::bit_cast<int64_t>(Round(*compact)), std::bit_cast<int64_t>(part.Round()))
            << "seed " << seed;
      }
      if (compact && rng.OneIn(2)) {
        grouped.Add(*compact);
      } else {
        grouped.AddDoubles(std::span(bits).subspan(begin, count));
      }
      begin += count;
    }
    ASSERT_EQ(grouped.Round(), expected) << "seed " << seed;
  }
}

// What one conversion and one product cannot round: more than 64 bits, and what is near the ends of
// the doubles.
TEST(ExactSum, ACompactSumIsRoundedAsTheWhole) {
  Rng rng(7);
  for (int run = 0; run < 20'000; ++run) {
    CompactSum sum;
    sum.low = rng.Next() >> rng.Below(64) | 1;
    if (rng.OneIn(2)) sum.low = ~sum.low | 1;
    sum.high = static_cast<int64_t>(sum.low) >> 63;
    if (rng.OneIn(3)) sum.high = static_cast<int64_t>(rng.Next()) >> rng.Below(64);
    if (rng.OneIn(3)) sum.high = ~sum.high;
    sum.exponent = static_cast<int32_t>(rng.Between(-1074, 880));
    if (rng.OneIn(10)) sum.special = static_cast<uint8_t>(rng.Below(8));
    ExactSum whole;
    whole.Add(sum);
    ASSERT_EQ(std::bit_cast<int64_t>(Round(sum)), std::bit_cast<int64_t>(whole.Round()))
        << sum.high << ' ' << sum.low << ' ' << sum.exponent;
  }
}

TEST(ExactSum, IntegersAreExact) {
  ExactSum sum;
  const std::vector<int64_t> large(5, INT64_MAX);
  sum.AddIntegers(large);
  EXPECT_EQ(sum.ToInteger(), std::nullopt);
  EXPECT_EQ(sum.Round(), 5 * std::ldexp(1.0, 63));
  const std::vector<int64_t> small(4, INT64_MIN);
  sum.AddIntegers(small);
  EXPECT_EQ(sum.ToInteger(), INT64_MAX - 4);
  sum.Clear();
  EXPECT_EQ(sum.ToInteger(), 0);
  sum.AddIntegers(std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(sum.ToInteger(), INT64_MIN);
  sum.AddIntegers(std::vector<int64_t>{-1});
  EXPECT_EQ(sum.ToInteger(), std::nullopt);
  sum.AddIntegers(std::vector<int64_t>{7, -3});
  EXPECT_EQ(sum.ToInteger(), INT64_MIN + 3);
}

TEST(ExactSum, CompactIsOddAndComesBack) {
  ExactSum sum;
  sum.AddIntegers(std::vector<int64_t>{-96, INT64_MIN, INT64_MIN});
  const auto compact = sum.Compact();
  ASSERT_TRUE(compact.has_value());
  EXPECT_EQ(compact->exponent, 5);
  EXPECT_EQ(compact->low & 1, 1u);
  ExactSum back;
  back.Add(*compact);
  EXPECT_EQ(back.Compact(), compact);
  EXPECT_EQ(back.Round(), sum.Round());
  sum.AddDoubles(BitsOf({std::ldexp(1.0, 200)}));
  EXPECT_EQ(sum.Compact(), std::nullopt);
}

TEST(ExactSum, FloatsAsTheDoublesThatTheyAre) {
  ExactSum sum;
  std::vector<int64_t> bits(1000, std::bit_cast<uint32_t>(0.1f));
  sum.AddFloats(bits);
  EXPECT_EQ(sum.Round(), 1000 * static_cast<double>(0.1f));
}

// Whatever the bounds allow: the same as when they are looked for, to the last bit.
TEST(ExactSum, OfOneSignIsTheSameSum) {
  Rng rng(7);
  for (int run = 0; run < 400; ++run) {
    const auto count = static_cast<size_t>(1 + rng.Below(3'000));
    const uint64_t exponent_spread = rng.Below(14);
    const uint64_t exponent_least = rng.Below(10) == 0 ? rng.Below(3) : 1'000 + rng.Below(1'000);
    const uint64_t sign = rng.Below(2) << 63;
    std::vector<int64_t> bits;
    uint64_t least = ~uint64_t{0};
    uint64_t greatest = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t exponent = exponent_least + rng.Below(exponent_spread + 1);
      const uint64_t magnitude = exponent << 52 | rng.Next() >> 12;
      least = std::min(least, magnitude);
      greatest = std::max(greatest, magnitude);
      bits.push_back(static_cast<int64_t>(magnitude | sign));
    }
    ExactSum sought;
    sought.AddDoubles(bits);
    ExactSum told;
    told.AddDoublesOfOneSign(bits, least, greatest);
    EXPECT_EQ(std::bit_cast<int64_t>(told.Round()), std::bit_cast<int64_t>(sought.Round())) << run;
    EXPECT_EQ(told.Compact(), sought.Compact()) << run;
  }
}

}  // namespace
}  // namespace cistern
