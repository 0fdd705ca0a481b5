// When windows go.
#include "engine/retain/retention_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace cistern {
namespace {

WindowRecord Window(uint64_t endless_row_seals, uint32_t expiry_s_last) {
  WindowRecord window;
  window.version_count = 10;
  window.seal_count = 2;
  window.endless_row_seals = endless_row_seals;
  window.expiry_s_last = expiry_s_last;
  return window;
}

TEST(RetentionPolicy, AWindowHasExpiredWithItsLastRow) {
  const WindowRecord window = Window(0, 1000);
  EXPECT_FALSE(HasExpired(window, 0));
  EXPECT_FALSE(HasExpired(window, 999)) << "a row is visible before its second of expiry";
  EXPECT_TRUE(HasExpired(window, 1000));
  EXPECT_TRUE(HasExpired(window, INT64_MAX));
}

TEST(RetentionPolicy, OneSealWithSomethingEndlessKeepsItsWindow) {
  EXPECT_FALSE(HasExpired(Window(1, 1000), INT64_MAX));
  EXPECT_TRUE(HasExpired(Window(0, 1000), 1000));
  WindowRecord deletes = Window(0, 1000);
  deletes.delete_seals = 1;
  EXPECT_FALSE(HasExpired(deletes, INT64_MAX)) << "deletes never expire";
}

TEST(RetentionPolicy, ExpiryBeyond2038IsNoNegativeNumber) {
  const WindowRecord window = Window(0, UINT32_MAX);
  EXPECT_FALSE(HasExpired(window, int64_t{INT32_MAX} + 1));
  EXPECT_TRUE(HasExpired(window, UINT32_MAX));
}

constexpr int64_t kDayS = 86'400;

RetentionTime At(int64_t now_s) { return {now_s, now_s, true}; }

WindowRecord Ending(int64_t end_s, uint64_t confirmed_count = 0, int64_t confirmed_s = 0) {
  WindowRecord window = Window(1, 0);
  window.span = {static_cast<uint64_t>(kDayS), end_s - kDayS, end_s};
  window.confirmed_count = confirmed_count;
  window.confirmed_us_last = confirmed_s * 1'000'000;
  return window;
}

// Nothing that is nowhere else goes by a clock that may be wrong.
TEST(RetentionPolicy, WhatIsNotConfirmedGoesByTheTimeThatIsCertain) {
  const RetentionTime time{5000, 1999, true};
  WindowRecord window = Window(0, 2000);
  EXPECT_EQ(FateOf(window, time, {}), WindowFate::kStays);
  window.confirmed_count = 1;
  EXPECT_EQ(FateOf(window, time, {}), WindowFate::kStays) << "one seal of two is";
  EXPECT_EQ(FateOf(window, {5000, 2000, true}, {}), WindowFate::kExpired);
  window.confirmed_count = 2;
  EXPECT_EQ(FateOf(window, time, {}), WindowFate::kExpired);
  EXPECT_EQ(FateOf(window, {1999, 1999, true}, {}), WindowFate::kStays);

  const RetentionLimits limits{.keep_confirmed_s = 500, .keep_unconfirmed_s = 500};
  EXPECT_EQ(FateOf(Ending(1500), time, limits), WindowFate::kStays);
  EXPECT_EQ(FateOf(Ending(1499), time, limits), WindowFate::kShed);
  EXPECT_EQ(FateOf(Ending(1500, 2), time, limits), WindowFate::kOver);
}

TEST(RetentionPolicy, WhatIsNotConfirmedStaysForEverUnlessToldOtherwise) {
  const WindowRecord window = Ending(1000);
  EXPECT_EQ(FateOf(window, At(INT64_MAX), {}), WindowFate::kStays);
  EXPECT_EQ(FateOf(Ending(1000, 1), At(INT64_MAX), {}), WindowFate::kStays) << "one seal of two is";
  RetentionLimits limits;
  limits.keep_unconfirmed_s = 500;
  EXPECT_EQ(FateOf(window, At(1499), limits), WindowFate::kStays);
  EXPECT_EQ(FateOf(window, At(1500), limits), WindowFate::kShed);
  EXPECT_EQ(FateOf(Ending(1000, 2), At(1500), limits), WindowFate::kStays) << "confirmed";
}

TEST(RetentionPolicy, WhatIsConfirmedStaysSoLongAfterItsEndAndItsConfirmation) {
  RetentionLimits limits;
  limits.keep_confirmed_s = 30 * kDayS;
  for (const int64_t confirmed_s : {500, 9000}) {
    const WindowRecord window = Ending(1000, 2, confirmed_s);
    const int64_t since_s = std::max<int64_t>(1000, confirmed_s);
    EXPECT_EQ(FateOf(window, At(since_s + 30 * kDayS - 1), limits), WindowFate::kStays);
    EXPECT_EQ(FateOf(window, At(since_s + 30 * kDayS), limits), WindowFate::kOver);
  }
  limits.keep_confirmed_s = INT64_MAX;
  EXPECT_EQ(FateOf(Ending(1000, 2, 9000), At(INT64_MAX), limits), WindowFate::kStays);
}

TEST(RetentionPolicy, ExpiryComesBeforeEverythingElse) {
  WindowRecord window = Ending(1000);
  window.endless_row_seals = 0;
  window.expiry_s_last = 2000;
  RetentionLimits limits;
  limits.keep_unconfirmed_s = 1500;
  EXPECT_EQ(FateOf(window, At(1999), limits), WindowFate::kStays);
  EXPECT_EQ(FateOf(window, At(2500), limits), WindowFate::kExpired) << "no loss, so not shed";
}

TEST(RetentionPolicy, TheWindowOfAllTimesHasNoEnd) {
  WindowRecord window = Window(1, 0);
  RetentionLimits limits;
  limits.keep_unconfirmed_s = 1;
  limits.keep_confirmed_s = 1;
  EXPECT_EQ(FateOf(window, At(INT64_MAX), limits), WindowFate::kStays);
  window.confirmed_count = window.seal_count;
  EXPECT_EQ(FateOf(window, At(INT64_MAX), limits), WindowFate::kStays);
}

TEST(RetentionPolicy, ForRoomTheOldestConfirmedGoesFirstAndOthersOnlyWhenAllowed) {
  const std::vector<WindowRecord> windows = {Ending(5000), Ending(3000), Ending(9000, 2),
                                             Ending(8000, 2), Ending(2000, 1)};
  EXPECT_EQ(NextToShed(windows, DiskShed::kNothing), std::nullopt);
  EXPECT_EQ(NextToShed(windows, DiskShed::kConfirmed), 3u);
  EXPECT_EQ(NextToShed(windows, DiskShed::kOldest), 3u);
  const std::vector<WindowRecord> waiting = {Ending(5000), Ending(3000)};
  EXPECT_EQ(NextToShed(waiting, DiskShed::kConfirmed), std::nullopt);
  EXPECT_EQ(NextToShed(waiting, DiskShed::kOldest), 1u);
  EXPECT_EQ(NextToShed({}, DiskShed::kOldest), std::nullopt);
}

TEST(RetentionPolicy, ForRoomTheWindowOfAllTimesGoesLast) {
  std::vector<WindowRecord> windows = {Window(1, 0), Ending(5000), Ending(3000)};
  EXPECT_EQ(NextToShed(windows, DiskShed::kOldest), 2u) << "it may hold the newest rows";
  windows[0].confirmed_count = windows[0].seal_count;
  EXPECT_EQ(NextToShed(windows, DiskShed::kOldest), 0u) << "which are at the other end";
  EXPECT_EQ(NextToShed({windows.data(), 1}, DiskShed::kConfirmed), 0u);
}

}  // namespace
}  // namespace cistern
