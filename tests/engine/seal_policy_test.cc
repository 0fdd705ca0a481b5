// When buckets are due, and the windows that take them.
#include "engine/seal/seal_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

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

WindowSpan Window(const TableSchema& schema, int64_t start_s, int64_t now_s) {
  return WindowOf(schema, Bucketer(schema), start_s, now_s);
}

// Of a bucket of today.
WindowSpan Window(const TableSchema& schema, int64_t start_s) {
  return Window(schema, start_s, start_s);
}

TEST(SealPolicy, AnOldRowDoesNotWaitForTheEndOfItsBucket) {
  const SealLimits limits{.age_s_max = 800};
  EXPECT_EQ(DueByAgeAt(INT64_MAX, 5 * kSecond, limits), 805 * kSecond);
  EXPECT_EQ(DueByAgeAt(906 * kSecond, 5 * kSecond, limits), 805 * kSecond);
  EXPECT_EQ(DueByAgeAt(905 * kSecond, 5 * kSecond, limits), 905 * kSecond) << "within an eighth";
  EXPECT_EQ(DueByAgeAt(700 * kSecond, 5 * kSecond, limits), 700 * kSecond);
  EXPECT_EQ(DueByAgeAt(1000 * kSecond, INT64_MAX, limits), 1000 * kSecond) << "not known";
  EXPECT_EQ(DueByAgeAt(1000 * kSecond, 5 * kSecond, SealLimits{}), INT64_MAX) << "no limit";
}

TEST(SealPolicy, ABucketIsFullByRowsOrByBytes) {
  const SealLimits limits{.open_rows_max = 1000, .open_bytes_max = 5000};
  EXPECT_FALSE(IsFull(999, 4999, limits));
  EXPECT_TRUE(IsFull(1000, 0, limits));
  EXPECT_TRUE(IsFull(1, 5000, limits));
  EXPECT_FALSE(IsFull(UINT64_MAX, UINT64_MAX, SealLimits{})) << "0 is no limit";
  EXPECT_TRUE(IsFull(1, 5000, SealLimits{.open_bytes_max = 5000}));
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

TEST(SealPolicy, FarFromNowWindowsAreWiderAndLieInsideOneAnother) {
  const auto days = Table("date", "1 day");
  const int64_t now_s = 20'000 * kSecondsPerDay;
  const int64_t width_s = 2 * kSecondsPerDay;
  std::set<int64_t> starts;
  for (int64_t day = 0; day < 20'000; ++day) {
    for (const int64_t start_s : {day * kSecondsPerDay, (40'000 - day) * kSecondsPerDay}) {
      const WindowSpan window = Window(*days, start_s, now_s);
      const int64_t distance_s = std::abs(now_s - start_s);
      ASSERT_TRUE(window.Holds(start_s)) << day;
      ASSERT_EQ(window.class_width_s, static_cast<uint64_t>(width_s));
      ASSERT_LE(window.end_s - window.start_s, std::max(width_s, distance_s / 4)) << day;
      ASSERT_GT(window.end_s - window.start_s, distance_s / 8 - 1) << day;
      const WindowSpan regular = Window(*days, start_s);
      ASSERT_TRUE(regular.start_s >= window.start_s && regular.end_s <= window.end_s) << day;
      if (start_s < now_s) starts.insert(window.start_s);
    }
  }
  EXPECT_LT(starts.size(), 64u) << "54 years";
}

TEST(SealPolicy, ABucketGoesIntoTheNarrowestWindowOfItsClassThatHoldsIt) {
  const auto days = Table("date", "1 day", " AND default_time_to_live = 86400");
  const auto weeks = Table("date", "1 day", " AND default_time_to_live = 31536000");
  std::vector<std::shared_ptr<const WindowFamily>> windows;
  const auto add = [&](WindowSpan span, int64_t start_day, int64_t end_day) {
    span.start_s = start_day * kSecondsPerDay;
    span.end_s = end_day * kSecondsPerDay;
    windows.push_back(std::make_shared<const WindowFamily>(windows.size(), nullptr,
                                                           WindowRecord{.span = span}));
  };
  const WindowSpan day_class = Window(*days, 0);
  add(Window(*weeks, 0), 5, 6);
  add(day_class, 0, 8);
  add(day_class, 4, 8);
  add(WindowSpan{}, -1, 1000);
  const int64_t start_s = 5 * kSecondsPerDay;
  WindowSpan span = Window(*days, start_s);
  EXPECT_EQ(ChooseWindow(windows, 40, start_s, &span), windows[2]);
  EXPECT_EQ(span, windows[2]->record.span);
  WindowSpan outside = Window(*days, 9 * kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 40, 9 * kSecondsPerDay, &outside), nullptr);
  EXPECT_EQ(outside, Window(*days, 9 * kSecondsPerDay));
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
    ASSERT_EQ(ChooseWindow(windows, 4, day * kSecondsPerDay, &span), nullptr);
    EXPECT_NE(span, WindowSpan{});
    add(span);
  }
  WindowSpan known = Window(*days, kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 4, kSecondsPerDay, &known), windows[1]);
  WindowSpan further = Window(*days, 100 * kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 4, 100 * kSecondsPerDay, &further), nullptr);
  EXPECT_EQ(further, WindowSpan{}) << "the family of all times";
  add(further);
  WindowSpan another = Window(*days, 200 * kSecondsPerDay);
  EXPECT_EQ(ChooseWindow(windows, 4, 200 * kSecondsPerDay, &another), windows[3]);
}

}  // namespace
}  // namespace cistern
