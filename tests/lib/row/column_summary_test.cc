// Bounds and sums of a column beside what a sort of its values and a plain sum tell.
#include "lib/row/column_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

constexpr SummaryParts kAll = {.bounds = true, .sum = true};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t BitsOf(double value) { return std::bit_cast<int64_t>(value); }

ColumnSummary SummaryOf(const std::vector<double>& values, SummaryParts parts = kAll) {
  std::vector<int64_t> bits;
  for (const double v : values) bits.push_back(BitsOf(v));
  ColumnSummary summary;
  summary.Add(CqlType::kDouble, parts, bits);
  return summary;
}

double MinOf(const ColumnSummary& summary) {
  return std::bit_cast<double>(FromOrderKey(CqlType::kDouble, summary.min));
}
double MaxOf(const ColumnSummary& summary) {
  return std::bit_cast<double>(FromOrderKey(CqlType::kDouble, summary.max));
}

// The order of all doubles: -infinity, ..., -0.0, 0.0, ..., infinity, NaN.
TEST(ColumnSummary, BoundsOfDoublesHaveTheirOrder) {
  const std::vector<double> ordered = {-kInfinity, -1e300, -2, -1e-310, -0.0, 0.0,
                                       1e-310,     0.5,    3,  1e300,   kInfinity};
  for (size_t i = 0; i < ordered.size(); ++i) {
    for (size_t j = i; j < ordered.size(); ++j) {
      const ColumnSummary summary = SummaryOf({ordered[j], ordered[i], ordered[j]});
      EXPECT_EQ(BitsOf(MinOf(summary)), BitsOf(ordered[i]));
      EXPECT_EQ(BitsOf(MaxOf(summary)), BitsOf(ordered[j]));
    }
  }
}

TEST(ColumnSummary, NansOfEitherSignAreOneAboveAll) {
  for (const double nan : {kNan, -kNan, std::bit_cast<double>(uint64_t{0xfff0000000000001})}) {
    const ColumnSummary summary = SummaryOf({-3, nan, -kInfinity});
    EXPECT_EQ(MinOf(summary), -kInfinity);
    EXPECT_EQ(BitsOf(MaxOf(summary)), BitsOf(kNan));
    const ColumnSummary alone = SummaryOf({nan});
    EXPECT_EQ(alone.min, alone.max);
    EXPECT_EQ(BitsOf(MinOf(alone)), BitsOf(kNan));
    EXPECT_NE(alone.sum.Round(), alone.sum.Round());
  }
}

// Several values are compared at once, and zeros and NaNs apart.
TEST(ColumnSummary, BoundsAreThoseOfTheKeys) {
  Rng rng(12);
  const std::vector<double> all = {0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-310, kInfinity, kNan};
  for (int run = 0; run < 5'000; ++run) {
    const size_t kinds = 1 + rng.Below(all.size());
    std::vector<double> values;
    std::vector<int64_t> keys;
    for (uint64_t i = 1 + rng.Below(13); i > 0; --i) {
      values.push_back(all[rng.Below(kinds)]);
      keys.push_back(OrderKey(CqlType::kDouble, BitsOf(values.back())));
    }
    const ColumnSummary summary = SummaryOf(values);
    ASSERT_EQ(summary.min, *std::min_element(keys.begin(), keys.end())) << run;
    ASSERT_EQ(summary.max, *std::max_element(keys.begin(), keys.end())) << run;
  }
}

// With bounds the sum goes another way.
TEST(ColumnSummary, SumIsTheSameWithBoundsAndWithout) {
  Rng rng(11);
  const std::vector<double> odd = {0.0, -0.0, kInfinity, -kInfinity, kNan, 1e-310, -1e-310, 1e300};
  for (int run = 0; run < 500; ++run) {
    const bool is_one_sign = rng.OneIn(2);
    const double sign = rng.OneIn(2) ? -1 : 1;
    std::vector<double> values;
    for (uint64_t i = 1 + rng.Below(3'000); i > 0; --i) {
      const double size = static_cast<double>(1 + rng.Below(100'000)) / 64;
      values.push_back((is_one_sign || rng.OneIn(2) ? sign : -sign) * size);
    }
    if (rng.OneIn(4)) values[rng.Below(values.size())] = odd[rng.Below(odd.size())];
    const ColumnSummary with = SummaryOf(values);
    const ColumnSummary without = SummaryOf(values, {.bounds = false, .sum = true});
    EXPECT_EQ(BitsOf(with.sum.Round()), BitsOf(without.sum.Round())) << run;
    EXPECT_EQ(with.sum.Compact(), without.sum.Compact()) << run;
    EXPECT_EQ(with.count, values.size());
    EXPECT_EQ(with.first, BitsOf(values.front()));
    EXPECT_EQ(with.last, BitsOf(values.back()));
  }
}

}  // namespace
}  // namespace cistern
