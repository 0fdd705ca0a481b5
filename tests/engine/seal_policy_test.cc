// When buckets are due, and the windows that take them.
#include "engine/seal/seal_policy.h"

#include <gtest/gtest.h>

#include "lib/base/civil_time.h"

namespace cistern {
namespace {

constexpr int64_t kSecond = 1'000'000;

std::shared_ptr<const TableSchema> Table(const char* bucket, const char* rule,
                                         const char* options = "") {
  const std::string cql = std::string("CREATE TABLE t (sensor text, b ") + bucket +
                          ", ts timestamp, v double, PRIMARY KEY ((sensor, b), ts)) WITH comment = "
                          "'cistern: bucket b = " +
                          rule + "'" + options + ";";
  auto schema = ParseCreateTable(cql);
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return *schema;
}

WindowSpan Window(const TableSchema& schema, int64_t start_s) {
  return WindowOf(schema, Bucketer(schema), start_s);
}

TEST(SealPolicy, ABucketIsDueAfterItsEndAndAnIdleTime) {
  const SealLimits limits{.grace_s = 300, .idle_s = 60};
  const int64_t end_s = 1'700'000'000;
  EXPECT_FALSE(IsDue(end_s, 0, (end_s + 299) * kSecond, limits));
  EXPECT_TRUE(IsDue(end_s, 0, (end_s + 300) * kSecond, limits));
  const int64_t now_us = (end_s + 1000) * kSecond;
  EXPECT_TRUE(IsDue(end_s, now_us - 60 * kSecond, now_us, limits));
  EXPECT_FALSE(IsDue(end_s, now_us - 60 * kSecond + 1, now_us, limits));
  // A row of the year 2106 does not make its bucket due, nor a clock that stands in 1970.
  EXPECT_FALSE(IsDue(4'291'747'200, 0, now_us, limits));
  EXPECT_FALSE(IsDue(end_s, 0, 1000 * kSecond, limits));
}

TEST(SealPolicy, WindowsAreWholeBucketsAndCoverTheTtlByAboutTwentyFour) {
  const auto hours = Table("timestamp", "1 hour", " AND default_time_to_live = 864000");
  const WindowSpan ten_hours = Window(*hours, 1'700'002'800);
  EXPECT_EQ(ten_hours.end_s - ten_hours.start_s, 36'000);
  EXPECT_TRUE(ten_hours.Holds(1'700'002'800));
  EXPECT_EQ(ten_hours.start_s % 36'000, 0);
  // Without a TTL 30 days: windows of 30 hours, or the bucket itself where it is wider.
  EXPECT_EQ(Window(*Table("timestamp", "1 hour"), 0).class_width_s, 30u * 3600);
  EXPECT_EQ(Window(*Table("date", "1 day"), 0).class_width_s, 2u * 86400);
  const auto months = Table("text", "month");
  const int64_t february_s = DaysFromCivil(2024, 2, 1) * kSecondsPerDay;
  const WindowSpan february = Window(*months, february_s);
  EXPECT_EQ(february.start_s, february_s);
  EXPECT_EQ(february.end_s, DaysFromCivil(2024, 3, 1) * kSecondsPerDay);
}

TEST(SealPolicy, WindowsTileTheTimeBefore1970Too) {
  const auto days = Table("date", "1 day", " AND default_time_to_live = 6307200");
  for (int64_t day = -100; day < 100; ++day) {
    const WindowSpan window = Window(*days, day * kSecondsPerDay);
    EXPECT_TRUE(window.Holds(day * kSecondsPerDay)) << day;
    EXPECT_EQ(window.end_s, Window(*days, window.end_s).start_s) << day;
  }
}

TEST(SealPolicy, WindowsTakeAboutATenthOfTheBudget) {
  EXPECT_EQ(WindowCountFor(8 << 20), 8u);
  EXPECT_EQ(WindowCountFor(32 << 20), 35u);
  EXPECT_EQ(WindowCountFor(size_t{1} << 30), limits::kWindowFamilyCountMax);
}

TEST(SealPolicy, AtTheBoundOneWindowTakesWhatHasNoneOfItsOwn) {
  const auto days = Table("date", "1 day", " AND default_time_to_live = 86400");
  std::vector<std::shared_ptr<const WindowFamily>> windows;
  const auto add = [&](const WindowSpan& span) {
    windows.push_back(std::make_shared<const WindowFamily>(windows.size(), nullptr,
                                                           WindowRecord{.span = span}));
  };
  for (int64_t day = 0; windows.size() < 3; ++day) {
    WindowSpan span = Window(*days, day * kSecondsPerDay);
    ASSERT_EQ(ChooseWindow(windows, 4, &span), nullptr);
    EXPECT_NE(span, WindowSpan{});
    add(span);
  }
  WindowSpan known = Window(*days, kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 4, &known), windows[1]);
  WindowSpan further = Window(*days, 100 * kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 4, &further), nullptr);
  EXPECT_EQ(further, WindowSpan{}) << "the family of all times";
  add(further);
  WindowSpan another = Window(*days, 200 * kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 4, &another), windows[3]);
}

}  // namespace
}  // namespace cistern
