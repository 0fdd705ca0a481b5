#include "engine/replicate/push_expiry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cistern/limits.h"
#include "tests/engine/replicate/push_test_util.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

constexpr uint32_t kTtlMax = limits::kTtlSecondsMax;

struct Written {
  int64_t write_s;
  uint32_t expiry_s;
};

std::optional<int32_t> NowOf(const std::vector<Written>& versions) {
  VersionColumns rows;
  rows.row_count = versions.size();
  for (const Written& v : versions) {
    rows.write_us.push_back(v.write_s * 1'000'000 + 999'999);
    rows.expiry_s.push_back(v.expiry_s);
  }
  return PageNow(rows);
}

TEST(PageNow, IsTheNewestWriteSecond) {
  EXPECT_EQ(NowOf({{1'000, 2'000}, {1'500, 2'100}, {1'400, 1'900}}), 1'500);
  EXPECT_EQ(NowOf({{1'000, 0}, {1'500, 2'100}}), 1'500);
}

TEST(PageNow, IsNoneWithoutExpiry) {
  EXPECT_EQ(NowOf({{1'000, 0}, {1'500, 0}}), std::nullopt);
  VersionColumns rows;
  rows.row_count = 1;
  rows.write_us = {5};
  EXPECT_EQ(PageNow(rows), std::nullopt);
}

TEST(PageNow, IsBeforeTheFirstExpiry) {
  EXPECT_EQ(NowOf({{1'000, 1'010}, {1'500, 2'100}}), 1'009);
  EXPECT_EQ(NowOf({{1'000, 1'500}, {1'500, 2'100}}), 1'499);
}

TEST(PageNow, IsAtMostTwentyYearsBeforeTheLastExpiry) {
  EXPECT_EQ(NowOf({{1'000, 1'001}, {1'500, 1'500 + kTtlMax}}), 1'500);
  EXPECT_EQ(NowOf({{1'000, 1'001 + kTtlMax}, {900, 5'000}}), 1'001);
}

TEST(PageNow, KeepsToWhatTheServerTakes) {
  EXPECT_EQ(NowOf({{-500, 100}}), 0);  // an event time before 1970
  EXPECT_EQ(NowOf({{2'147'483'700, 2'147'483'900}}), 2'147'483'647);
}

TEST(ExactTtl, IsTheDistanceToThePagesNow) {
  EXPECT_EQ(ExactTtlOf(1'000, 1'001), (ExactTtl{1'000, 1}));
  EXPECT_EQ(ExactTtlOf(1'000, 1'000 + kTtlMax), (ExactTtl{1'000, 630'720'000}));
}

TEST(ExactTtl, HasANowOfItsOwnWhereThePagesDoesNotReach) {
  EXPECT_EQ(ExactTtlOf(1'000, 1'000), (ExactTtl{999, 1}));  // a TTL of 0 would mean for ever
  EXPECT_EQ(ExactTtlOf(1'000, 700), (ExactTtl{699, 1}));
  EXPECT_EQ(ExactTtlOf(1'000, 1'001 + kTtlMax), (ExactTtl{1'001, 630'720'000}));
  EXPECT_EQ(ExactTtlOf(5, 1), (ExactTtl{0, 1}));
}

TEST(ExactTtl, EndsWithWhatTheProtocolCanSay) {
  EXPECT_EQ(ExactTtlOf(2'147'483'647, 2'147'483'647 + kTtlMax),
            (ExactTtl{2'147'483'647, 630'720'000}));
  EXPECT_EQ(ExactTtlOf(2'147'483'647, 2'147'483'648 + kTtlMax), std::nullopt);
}

TEST(EventTtl, IsOfTheExpiryAlone) {
  EXPECT_EQ(EventTtlOf(1'720'000'000), (ExactTtl{1'719'792'000, 208'000}));
  EXPECT_EQ(EventTtlOf(1'719'792'001), (ExactTtl{1'719'792'000, 1}));
  EXPECT_EQ(EventTtlOf(1'719'792'000), (ExactTtl{1'719'360'000, 432'000}));
  EXPECT_EQ(EventTtlOf(1), (ExactTtl{0, 1}));
  EXPECT_EQ(EventTtlOf(2'147'483'647 + kTtlMax), (ExactTtl{2'147'483'647, 630'720'000}));
  EXPECT_EQ(EventTtlOf(2'147'483'648 + kTtlMax), std::nullopt);
}

TEST(ExpiresLate, InTheLastYearsBeforeTheLastSecond) {
  EXPECT_TRUE(ExpiresLate(2'147'483'646));
  EXPECT_TRUE(ExpiresLate(2'147'483'646 - 1'000 * 86'400));
  EXPECT_FALSE(ExpiresLate(2'147'483'646 - 1'100 * 86'400));
  EXPECT_FALSE(ExpiresLate(2'147'483'647));  // refused whatever its now, or taken by any
  EXPECT_FALSE(ExpiresLate(1));
}

TEST(EventPageNow, IsThatOfTheLastExpiry) {
  VersionColumns rows;
  rows.row_count = 3;
  rows.write_us = {9, 5, 7};
  EXPECT_EQ(EventPageNow(rows), std::nullopt);
  rows.expiry_s = {0, 0, 0};
  EXPECT_EQ(EventPageNow(rows), std::nullopt);
  rows.expiry_s = {1'720'000'000, 0, 1'719'000'000};
  EXPECT_EQ(EventPageNow(rows), 1'719'792'000);
}

TEST(ExactTtl, AlwaysAddsUpToTheExpiry) {
  testing::Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<Written> page;
    for (int v = 0; v < 4; ++v) {
      const int64_t write_s = rng.Between(-1'000, 2'147'483'647);
      const int64_t ttl_s = rng.OneIn(3) ? rng.Between(1, 100) : rng.Between(1, kTtlMax);
      const int64_t expiry_s = std::clamp<int64_t>(write_s + ttl_s, 1, 2'147'483'647);
      page.push_back({write_s, rng.OneIn(5) ? 0 : static_cast<uint32_t>(expiry_s)});
    }
    const auto now_s = NowOf(page);
    for (const Written& v : page) {
      if (v.expiry_s == 0) continue;
      ASSERT_TRUE(now_s.has_value());
      const auto exact = ExactTtlOf(*now_s, v.expiry_s);
      ASSERT_TRUE(exact.has_value());
      ASSERT_GE(exact->ttl_s, 1);
      ASSERT_LE(exact->ttl_s, static_cast<int32_t>(kTtlMax));
      ASSERT_GE(exact->now_s, 0);
      ASSERT_EQ(int64_t{exact->now_s} + exact->ttl_s, int64_t{v.expiry_s});
    }
  }
}

TEST(IsExpired, AtItsSecondAndNotWithoutAClock) {
  EXPECT_FALSE(IsExpired(100, 99));
  EXPECT_TRUE(IsExpired(100, 100));
  EXPECT_FALSE(IsExpired(0, 100));
  EXPECT_FALSE(IsExpired(100, std::nullopt));
}

TEST(RemainingTtl, CountsFromTheMomentOfSending) {
  EXPECT_EQ(RemainingTtl(1'500, 1'000).value(), 500);
  EXPECT_EQ(RemainingTtl(1'001, 1'000).value(), 1);
}

TEST(RemainingTtl, WaitsForAClock) {
  EXPECT_EQ(RemainingTtl(1'500, std::nullopt).status().code(), StatusCode::kBusy);
  EXPECT_EQ(RemainingTtl(1'001 + kTtlMax, 1'000).status().code(), StatusCode::kBusy);
  EXPECT_EQ(RemainingTtl(5, std::numeric_limits<int64_t>::min()).status().code(),
            StatusCode::kBusy);
  EXPECT_TRUE(RemainingTtl(1'000 + kTtlMax, 1'000).ok());
}

}  // namespace
}  // namespace cistern::replicate
