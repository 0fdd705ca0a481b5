#include "tools/time_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/time_steps.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kClock = "hour*3600 + minute*60 + second + micro/1e6";

TimeSum Sum(std::string_view text) {
  Result<TimeSum> sum = TimeSum::Parse(text);
  EXPECT_TRUE(sum.ok()) << sum.status().ToString();
  return std::move(*sum);
}

Instant At(std::string_view text, const std::vector<std::string_view>& cells, Instant base = {}) {
  const Result<Instant> at = Sum(text).At(cells, base, false);
  EXPECT_TRUE(at.ok()) << at.status().ToString();
  return at.ok() ? *at : Instant{-1, -1};
}

std::string Refusal(std::string_view text, const std::vector<std::string_view>& cells) {
  const Result<Instant> at = Sum(text).At(cells, {}, false);
  return at.ok() ? "" : at.status().message();
}

TEST(TimeSum, TheCellsOfAClock) {
  EXPECT_THAT(Sum(kClock).names(), ElementsAre("hour", "minute", "second", "micro"));
  EXPECT_EQ(At(kClock, {"1", "2", "3", "1.5004e+05"}), (Instant{3723, 150'040'000}));
  EXPECT_EQ(At(kClock, {"1", "2", "3", "1.50041e+05"}), (Instant{3723, 150'041'000}));
  EXPECT_EQ(At(kClock, {"23", "59", "59.999999999", "0"}), (Instant{86399, 999'999'999}));
  EXPECT_EQ(At(kClock, {"0", "0", "-1", "1"}), (Instant{-1, 1'000}));
  EXPECT_EQ(At(kClock, {"0", "0", "0", "7"}, {1'700'000'000, 999'993'000}),
            (Instant{1'700'000'001, 0}));
}

// No double lies between: 0.1 + 0.2 is 0.3, and seconds of 64 bits keep their nanoseconds.
TEST(TimeSum, NothingIsRounded) {
  EXPECT_EQ(At("a + b", {"0.1", "0.2"}), (Instant{0, 300'000'000}));
  EXPECT_EQ(At("t", {"1772524800.123456789"}), (Instant{1'772'524'800, 123'456'789}));
  EXPECT_THAT(Refusal("ticks/32768", {"1"}), HasSubstr("finer than a nanosecond"));  // 30517.578125
}

TEST(TimeSum, DivisionsThatEndAndThoseThatDoNot) {
  EXPECT_EQ(At("ticks/1024", {"512"}), (Instant{0, 500'000'000}));
  EXPECT_EQ(At("x*60/3", {"1"}), (Instant{20, 0}));
  EXPECT_EQ(At("x/2/5/10", {"7"}), (Instant{0, 70'000'000}));
  EXPECT_EQ(At("serial*86400 - 25569*86400", {"45436.25"}), (Instant{1'716'530'400, 0}));
  EXPECT_EQ(At("-{t (s)} + 2*3 * 4", {"1"}), (Instant{23, 0}));
  EXPECT_EQ(At("a.b_1 + a.b_1", {"1"}), (Instant{2, 0}));
  EXPECT_THAT(TimeSum::Parse("x/3").status().message(), HasSubstr("decimals never end"));
}

TEST(TimeSum, TruncationGoesToThePast) {
  const TimeSum sum = Sum("ticks/32768");
  EXPECT_EQ(*sum.At({"1"}, {}, true), (Instant{0, 30'517}));
  EXPECT_EQ(*sum.At({"-1"}, {}, true), (Instant{-1, 999'969'482}));
  EXPECT_EQ(*Sum("t").At({"-0.00000000000000000000001"}, {}, true), (Instant{-1, 999'999'999}));
}

TEST(TimeSum, RefusedCells) {
  EXPECT_EQ(Refusal("h*3600", {"x"}), "--time-sum: 'x' of cell 'h' is not a number");
  EXPECT_THAT(Refusal("h*3600", {""}), HasSubstr("is not a number"));
  EXPECT_THAT(Refusal("h*3600", {"1e30"}), HasSubstr("outside the years"));
  EXPECT_THAT(Refusal("h*3600", {"1e999"}), HasSubstr("outside the years"));
  EXPECT_THAT(Refusal("h + h*1e18*1e18", {"99999999999999999999"}), HasSubstr("outside the years"));
  EXPECT_THAT(Refusal("s", {"0.0000000001"}), HasSubstr("finer than a nanosecond"));
  EXPECT_THAT(Refusal("s", {"1e-400"}), HasSubstr("finer than a nanosecond"));
}

TEST(TimeSum, RefusedSums) {
  const auto refusal = [](std::string_view text) {
    return TimeSum::Parse(text).status().message();
  };
  EXPECT_THAT(refusal(""), HasSubstr("expected a cell's name or a number at character 1"));
  EXPECT_THAT(refusal("3600"), HasSubstr("names no cell"));
  EXPECT_THAT(refusal("a*b"), HasSubstr("a term has one cell"));
  EXPECT_THAT(refusal("a/b"), HasSubstr("a number to divide by"));
  EXPECT_THAT(refusal("a b"), HasSubstr("expected + - * or / at character 3"));
  EXPECT_THAT(refusal("a + "), HasSubstr("expected a cell's name"));
  EXPECT_THAT(refusal("a/0"), HasSubstr("division by zero"));
  EXPECT_THAT(refusal("a*1.2.3"), HasSubstr("no number"));
  EXPECT_THAT(refusal("{a"), HasSubstr("expected {NAME}"));
  EXPECT_THAT(refusal("a*9999999999999999999999*9999999999999999999999"), HasSubstr("too large"));
}

TEST(TimeSteps, CountFromTheFirstRecord) {
  const TimeSteps steps{{100, 999'000'000}, 1'500'000};
  EXPECT_EQ(*steps.At(1), (Instant{100, 999'000'000}));
  EXPECT_EQ(*steps.At(2), (Instant{101, 500'000}));
  EXPECT_EQ(*steps.At(1'000'001), (Instant{1600, 999'000'000}));
  EXPECT_EQ(steps.At(UINT64_MAX).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ((*TimeSteps{{-1, 0}, 250'000'000}.At(4)), (Instant{-1, 750'000'000}));
}

TEST(TimeSteps, Spans) {
  EXPECT_EQ(*ParseTimeStep("20ms"), 20'000'000);
  EXPECT_EQ(*ParseTimeStep("15.625ms"), 15'625'000);
  EXPECT_EQ(*ParseTimeStep("0.5s"), 500'000'000);
  EXPECT_EQ(*ParseTimeStep("100ns"), 100);
  EXPECT_EQ(*ParseTimeStep("1h"), 3'600'000'000'000);
  EXPECT_EQ(*ParseTimeStep("365d"), 31'536'000'000'000'000);
  for (const std::string_view text :
       {"", "20", "ms", "0s", "-1s", "0.5ns", "1w", "1e3s", "1.2.3s", "99999999999999999999d"}) {
    EXPECT_THAT(ParseTimeStep(text).status().message(), HasSubstr("--time-step")) << text;
  }
}

}  // namespace
}  // namespace cistern::tool
