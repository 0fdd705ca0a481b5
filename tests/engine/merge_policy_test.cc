// Which windows become one.
#include "engine/retain/merge_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cistern/limits.h"

namespace cistern {
namespace {

constexpr int64_t kDayS = 86'400;

MergeCandidate Days(int64_t first, int64_t last, uint64_t bytes = 0, uint64_t class_days = 1) {
  return {{class_days * kDayS, first * kDayS, last * kDayS},
          bytes != 0 ? bytes : static_cast<uint64_t>(last - first) * 1000};
}
using Chosen = std::vector<size_t>;

TEST(MergePolicy, NothingToMergeWithoutTwoOfAClass) {
  EXPECT_TRUE(NextToMerge({}, 0).empty());
  const std::vector<MergeCandidate> windows{Days(0, 1), Days(1, 3, 9, 2), MergeCandidate{},
                                            {{kDayS, INT64_MIN, INT64_MAX}, 5}};
  EXPECT_TRUE(NextToMerge(windows, 100 * kDayS).empty());
}

TEST(MergePolicy, TheFewestBytesForEachFamilyThatIsGivenBack) {
  const std::vector<MergeCandidate> windows{Days(2, 3, 500), Days(0, 1, 100), Days(3, 4, 500),
                                            Days(1, 2, 100)};
  EXPECT_EQ(NextToMerge(windows, 1000 * kDayS), (Chosen{1, 3})) << "200 for one";
  const std::vector<MergeCandidate> equal{Days(0, 1), Days(1, 2), Days(2, 3)};
  EXPECT_EQ(NextToMerge(equal, 1000 * kDayS), (Chosen{0, 1, 2})) << "1,500 for each, not 2,000";
  std::vector<MergeCandidate> many;
  for (int64_t day = 0; day < 20; ++day) many.push_back(Days(day, day + 1));
  EXPECT_EQ(NextToMerge(many, 1000 * kDayS).size(), 8u);
  EXPECT_EQ(NextToMerge(many, 1000 * kDayS).front(), 0u) << "the oldest of equals";
}

TEST(MergePolicy, WhatIsYoungStaysNarrow) {
  // Three of the middle would cost least, and be as wide as they are old.
  const std::vector<MergeCandidate> windows{Days(0, 1, 5000), Days(1, 2, 5000), Days(5, 6, 1),
                                            Days(6, 7, 1),    Days(7, 8, 1),    Days(8, 9, 1)};
  EXPECT_EQ(NextToMerge(windows, 9 * kDayS), (Chosen{0, 1}));
  // Where nothing else is left they go after all, the older ones first.
  const std::vector<MergeCandidate> young{Days(6, 7), Days(7, 8), Days(8, 9)};
  EXPECT_EQ(NextToMerge(young, 9 * kDayS), (Chosen{0, 1}));
}

// A record of a window names all of its dictionaries: there is a limit to what becomes one.
TEST(MergePolicy, WhatTheyHaveOfDictionariesEndsARun) {
  constexpr size_t kMax = limits::kMergedDictionariesMax;
  std::vector<MergeCandidate> windows{Days(0, 1), Days(1, 2), Days(2, 3), Days(3, 4)};
  const size_t counts[] = {kMax - 2, 1, 1, 1};
  for (size_t i = 0; i < windows.size(); ++i) windows[i].dictionary_count = counts[i];
  EXPECT_EQ(NextToMerge(windows, 1000 * kDayS), (Chosen{0, 1, 2}));
  windows[2].dictionary_count = 2;
  EXPECT_EQ(NextToMerge(windows, 1000 * kDayS), (Chosen{1, 2, 3}));
  windows[0].dictionary_count = kMax;
  windows[2].dictionary_count = kMax;
  EXPECT_TRUE(NextToMerge(windows, 1000 * kDayS).empty());
}

TEST(MergePolicy, TheFutureIsAsFarAsThePast) {
  const std::vector<MergeCandidate> windows{Days(0, 1), Days(1, 2), Days(100, 101, 900),
                                            Days(101, 102, 900)};
  EXPECT_EQ(NextToMerge(windows, 2 * kDayS), (Chosen{2, 3}));
}

// Ten years of days: what age a window has bounds its width, and a day is copied a logarithm
// of times.
TEST(MergePolicy, WidthsGrowWithAge) {
  std::vector<MergeCandidate> windows;
  uint64_t copied = 0;
  constexpr int64_t kDays = 3650;
  for (int64_t day = 0; day < kDays; ++day) {
    windows.push_back(Days(day, day + 1));
    if (windows.size() < 34) continue;
    const Chosen run = NextToMerge(windows, (day + 1) * kDayS);
    ASSERT_GE(run.size(), 2u);
    MergeCandidate merged = windows[run.front()];
    for (size_t i = 1; i < run.size(); ++i) {
      ASSERT_EQ(merged.span.end_s, windows[run[i]].span.start_s) << "neighbours";
      merged.span.end_s = windows[run[i]].span.end_s;
      merged.byte_count += windows[run[i]].byte_count;
    }
    copied += merged.byte_count;
    windows.erase(windows.begin() + static_cast<ptrdiff_t>(run.front()) + 1,
                  windows.begin() + static_cast<ptrdiff_t>(run.back()) + 1);
    windows[run.front()] = merged;
  }
  EXPECT_LT(copied, 8u * 1000 * kDays) << "of 1,000 bytes a day";
  for (const MergeCandidate& w : windows) {
    const int64_t age_s = kDays * kDayS - w.span.start_s;
    EXPECT_LE(w.span.end_s - w.span.start_s, std::max(2 * kDayS, age_s / 2))
        << "day " << w.span.start_s / kDayS;
  }
  EXPECT_EQ(windows.back().span.end_s - windows.back().span.start_s, kDayS);
}

}  // namespace
}  // namespace cistern
