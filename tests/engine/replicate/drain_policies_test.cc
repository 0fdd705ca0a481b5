// What is pushed next, how much at a time, how fast, and when again.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/replicate/bandwidth_cap.h"
#include "engine/replicate/drain_order.h"
#include "engine/replicate/flow_control.h"
#include "engine/replicate/retry_backoff.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

using State = DrainItem::State;

constexpr int64_t kNowS = 1'000'000;

DrainItem Item(int64_t start_s, uint64_t seal, State state = State::kWaiting,
               const std::string& entity = "e") {
  return {{1, entity, start_s, 0}, seal, start_s + 100, state};
}

DrainPolicy Mode(DrainMode mode) {
  DrainPolicy policy;
  policy.mode = mode;
  policy.live_span_s = 1'000;
  return policy;
}

std::optional<size_t> Next(DrainMode mode, const std::vector<DrainItem>& items) {
  return DrainOrder(Mode(mode)).Choose(items, kNowS);
}

TEST(DrainOrder, ByMode) {
  const std::vector<DrainItem> items = {Item(300, 3), Item(100, 5), Item(kNowS - 200, 1),
                                        Item(kNowS - 500, 2)};
  EXPECT_EQ(Next(DrainMode::kOldest, items), 1u);
  EXPECT_EQ(Next(DrainMode::kNewest, items), 2u);
  EXPECT_EQ(Next(DrainMode::kLiveFirst, items), 2u);
  EXPECT_EQ(Next(DrainMode::kOldest, {}), std::nullopt);
}

TEST(DrainOrder, WithoutLiveOnesTheBacklogGoesFromItsOldest) {
  EXPECT_EQ(Next(DrainMode::kLiveFirst, {Item(300, 3), Item(100, 5), Item(200, 4)}), 1u);
}

TEST(DrainOrder, SealsOfOneBucketGoInSequence) {
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    EXPECT_EQ(Next(mode, {Item(100, 7), Item(100, 5), Item(100, 6)}), 1u);
  }
}

TEST(DrainOrder, AParkedSealOrOneOnItsWayHoldsBackItsAmendments) {
  for (const State state : {State::kParked, State::kPushing}) {
    EXPECT_EQ(Next(DrainMode::kOldest, {Item(100, 5, state), Item(100, 6)}), std::nullopt);
    // ... but nothing of other buckets: another entity, time, split or table.
    EXPECT_EQ(Next(DrainMode::kOldest, {Item(100, 5, state), Item(100, 6), Item(200, 9)}), 2u);
    EXPECT_EQ(Next(DrainMode::kOldest,
                   {Item(100, 5, state), Item(100, 6, State::kWaiting, "other")}),
              1u);
  }
}

// While both kinds wait, bytes are shared as the policy says, whatever the sizes.
TEST(DrainOrder, LiveOnesTakeTheirShare) {
  for (const uint32_t percent : {10u, 50u, 70u, 95u}) {
    DrainPolicy policy = Mode(DrainMode::kLiveFirst);
    policy.live_percent = percent;
    DrainOrder order(policy);
    testing::Rng rng(percent);
    const std::vector<DrainItem> items = {Item(100, 1), Item(kNowS, 2)};
    uint64_t live_bytes = 0;
    uint64_t all_bytes = 0;
    for (int i = 0; i < 10'000; ++i) {
      const auto chosen = order.Choose(items, kNowS);
      ASSERT_TRUE(chosen.has_value());
      const uint64_t bytes = 1'000 + rng.Below(50'000);
      order.NotePushed(items[*chosen], items, kNowS, bytes);
      live_bytes += *chosen == 1 ? bytes : 0;
      all_bytes += bytes;
    }
    EXPECT_NEAR(100.0 * static_cast<double>(live_bytes) / static_cast<double>(all_bytes), percent,
                1.0);
  }
}

// A gateway that was up to date has sent live ones alone for months; then comes an outage.
TEST(DrainOrder, WhatAKindTookAloneIsNoDebt) {
  DrainOrder order(Mode(DrainMode::kLiveFirst));
  const DrainItem live = Item(kNowS, 1);
  const DrainItem old = Item(100, 2);
  const std::vector<DrainItem> both = {live, old};
  order.NotePushed(live, both, kNowS, 1 << 20);
  EXPECT_EQ(order.Choose(both, kNowS), 1u) << "it has had its share";
  for (int i = 0; i < 1'000; ++i) order.NotePushed(live, {}, kNowS, 1 << 20);
  EXPECT_EQ(order.Choose(both, kNowS), 0u) << "the newest goes first";
  for (int i = 0; i < 1'000; ++i) order.NotePushed(old, {}, kNowS, 1 << 20);
  order.NotePushed(live, both, kNowS, 1 << 20);
  EXPECT_EQ(order.Choose(both, kNowS), 1u) << "the other way about too";
}

// A live seal may wait behind an earlier one of its bucket for long; then it has a credit, not all.
TEST(DrainOrder, WhatAKindIsBehindHasABound) {
  DrainOrder order(Mode(DrainMode::kLiveFirst));
  const DrainItem old = Item(100, 2);
  const std::vector<DrainItem> both = {Item(kNowS, 1), old};
  for (int i = 0; i < 100'000; ++i) order.NotePushed(old, both, kNowS, 1 << 20);
  int live_seals = 0;
  while (order.Choose(both, kNowS) == 0u && live_seals < 1'000) {
    order.NotePushed(both[0], both, kNowS, 1 << 20);
    ++live_seals;
  }
  EXPECT_LT(live_seals, 60) << "16 MiB by its share of 70%";
}

FlowLimits SmallFlow() { return {100, 400, 1'000, 50, 1'000}; }

TEST(FlowControl, AdmitsUpToItsWindowAndOneAlways) {
  FlowControl flow(SmallFlow());
  EXPECT_TRUE(flow.Admits(5'000));
  const uint64_t first = flow.NoteSent(300);
  EXPECT_TRUE(flow.Admits(100));
  EXPECT_FALSE(flow.Admits(101));
  flow.NoteDone(first, 300, 10);
  EXPECT_EQ(flow.in_flight_bytes(), 0u);
}

TEST(FlowControl, GrowsByAStepForEachWindowOfAnswers) {
  FlowControl flow(SmallFlow());
  for (int i = 0; i < 4; ++i) flow.NoteDone(flow.NoteSent(400), 400, 10);
  EXPECT_EQ(flow.window_bytes(), 500u);  // 400, 450 (after 800 more), 500
  for (int i = 0; i < 1'000; ++i) flow.NoteDone(flow.NoteSent(900), 900, 10);
  EXPECT_EQ(flow.window_bytes(), 1'000u);
}

TEST(FlowControl, DoesNotGrowWhileItIsNotUsed) {
  FlowControl flow(SmallFlow());
  for (int i = 0; i < 1'000; ++i) flow.NoteDone(flow.NoteSent(10), 10, 10);
  EXPECT_EQ(flow.window_bytes(), 400u);
}

TEST(FlowControl, HalvesOnceForWhatWasOnItsWayTogether) {
  FlowControl flow(SmallFlow());
  const uint64_t a = flow.NoteSent(100);
  const uint64_t b = flow.NoteSent(100);
  const uint64_t c = flow.NoteSent(100);
  flow.NoteOverload(a, 100);
  EXPECT_EQ(flow.window_bytes(), 200u);
  flow.NoteOverload(b, 100);
  flow.NoteDone(c, 100, 5'000);
  EXPECT_EQ(flow.window_bytes(), 200u);
  flow.NoteDone(flow.NoteSent(100), 100, 5'000);  // slow, and sent since
  EXPECT_EQ(flow.window_bytes(), 100u);
  flow.NoteOverload(flow.NoteSent(100), 100);
  EXPECT_EQ(flow.window_bytes(), 100u);  // the floor
}

TEST(FlowControl, LostBytesAreNotOnTheirWay) {
  FlowControl flow(SmallFlow());
  EXPECT_EQ(flow.NoteSent(300), 1u);
  flow.NoteLost(300);
  EXPECT_EQ(flow.in_flight_bytes(), 0u);
  EXPECT_EQ(flow.window_bytes(), 400u);
}

TEST(BandwidthCap, WithoutACapNothingWaits) {
  BandwidthCap cap(0);
  cap.Take(1'000'000'000, 0);
  EXPECT_EQ(cap.WaitUs(0), 0);
}

TEST(BandwidthCap, KeepsTheRateOverAnyTime) {
  constexpr uint64_t kRate = 10'000;
  BandwidthCap cap(kRate);
  testing::Rng rng(3);
  int64_t now_us = 5'000'000;
  const int64_t begin_us = now_us;
  uint64_t taken = 0;
  for (int i = 0; i < 5'000; ++i) {
    const int64_t wait_us = cap.WaitUs(now_us);
    if (wait_us > 0) {
      EXPECT_GT(cap.WaitUs(now_us + wait_us - 2), 0);
      EXPECT_EQ(cap.WaitUs(now_us + wait_us), 0);
      now_us += wait_us;
    }
    const uint64_t bytes = 1 + rng.Below(3'000);
    cap.Take(bytes, now_us);
    taken += bytes;
    const double allowed = static_cast<double>(now_us - begin_us) * 1e-6 * kRate + kRate + 3'000;
    ASSERT_LE(static_cast<double>(taken), allowed + 1);
  }
  const double rate = static_cast<double>(taken) / (static_cast<double>(now_us - begin_us) * 1e-6);
  EXPECT_NEAR(rate, kRate, kRate * 0.05);
}

TEST(BandwidthCap, SavesUpASecondAndNoMore) {
  BandwidthCap cap(1'000);
  cap.Take(1, 0);
  cap.Take(1'500, INT64_MAX / 2);  // years later: 1,000 were saved up, 500 are owed
  EXPECT_EQ(cap.WaitUs(INT64_MAX / 2), 500'001);
}

TEST(BandwidthCap, AClockThatGoesBackGivesNothing) {
  BandwidthCap cap(1'000);
  cap.Take(2'000, 10'000'000);
  const int64_t wait_us = cap.WaitUs(10'000'000);
  EXPECT_EQ(cap.WaitUs(0), wait_us);
  cap.Take(1, 0);
  EXPECT_GE(cap.WaitUs(10'000'000), wait_us);
}

TEST(RetryBackoff, DoublesToItsLongestWithJitter) {
  RetryBackoff backoff({100, 1'000}, 42);
  for (const int64_t longest : {100, 200, 400, 800, 1'000, 1'000, 1'000}) {
    const int64_t pause_us = backoff.NextPauseUs();
    EXPECT_GE(pause_us, longest / 2);
    EXPECT_LE(pause_us, longest);
  }
  EXPECT_EQ(backoff.failures(), 7u);
  backoff.NoteSuccess();
  EXPECT_LE(backoff.NextPauseUs(), 100);
}

TEST(RetryBackoff, GatewaysSpreadOverTheTime) {
  std::vector<int64_t> pauses;
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    RetryBackoff backoff({1'000'000, 1'000'000}, seed);
    pauses.push_back(backoff.NextPauseUs());
  }
  for (int tenth = 0; tenth < 10; ++tenth) {
    const int64_t from = 500'000 + tenth * 50'000;
    const auto count = std::count_if(pauses.begin(), pauses.end(),
                                     [&](int64_t p) { return p >= from && p < from + 50'000; });
    EXPECT_GT(count, 50);
    EXPECT_LT(count, 150);
  }
}

TEST(RetryBackoff, EqualSeedsGiveEqualPauses) {
  RetryBackoff a({}, 9);
  RetryBackoff b({}, 9);
  std::set<int64_t> different;
  for (int i = 0; i < 50; ++i) {
    const int64_t pause_us = a.NextPauseUs();
    EXPECT_EQ(pause_us, b.NextPauseUs());
    different.insert(pause_us);
  }
  EXPECT_GT(different.size(), 45u);
}

}  // namespace
}  // namespace cistern::replicate
