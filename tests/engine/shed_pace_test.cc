#include "engine/retain/shed_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cistern {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr uint64_t kDevice = 1 << 30;
constexpr uint64_t kLoss = ShedPace::kLossBytes;

TEST(ShedPace, WhatTheStoreItselfTakesIsNoLoss) {
  ShedPace pace;
  for (int n = 0; n < 100; ++n) {
    EXPECT_TRUE(pace.MayShed(kDevice, n)) << n;
    pace.NoteShed(kDevice, n);
  }
}

TEST(ShedPace, TheNextOneWaitsTwiceAsLongEachTimeThatOthersTookIt) {
  ShedPace pace;
  uint64_t device = kDevice;
  int64_t now_us = 5 * kSecondUs;
  pace.NoteShed(device, now_us);
  int64_t total_us = 0;
  for (int64_t pause_us = ShedPace::kPauseUsMin; total_us < 10 * ShedPace::kPauseUsMax;
       pause_us = std::min(2 * pause_us, ShedPace::kPauseUsMax)) {
    device -= kLoss;
    EXPECT_FALSE(pace.MayShed(device, now_us + pause_us - 1));
    EXPECT_TRUE(pace.MayShed(device, now_us + pause_us));
    now_us += pause_us;
    total_us += pause_us;
    pace.NoteShed(device, now_us);
  }
}

// Windows that are smaller than what is counted as a loss are not lost one by one.
TEST(ShedPace, SmallLossesAddUp) {
  ShedPace pace;
  pace.NoteShed(kDevice, 0);
  for (uint64_t lost = kLoss / 4; lost < kLoss; lost += kLoss / 4) {
    EXPECT_TRUE(pace.MayShed(kDevice - lost, 1));
    pace.NoteShed(kDevice - lost, 1);
  }
  EXPECT_FALSE(pace.MayShed(kDevice - kLoss, 2));
}

TEST(ShedPace, ADayLaterItBeginsAnew) {
  ShedPace pace;
  pace.NoteShed(kDevice, 0);
  uint64_t device = kDevice;
  int64_t now_us = 0;
  for (int n = 0; n < 20; ++n) {
    device -= kLoss;
    now_us += ShedPace::kPauseUsMax;
    pace.NoteShed(device, now_us);
  }
  now_us += 86'400 * kSecondUs;
  pace.NoteShed(device, now_us);
  EXPECT_FALSE(pace.MayShed(device - kLoss, now_us + ShedPace::kPauseUsMin - 1));
  EXPECT_TRUE(pace.MayShed(device - kLoss, now_us + ShedPace::kPauseUsMin));
}

}  // namespace
}  // namespace cistern
