#include "engine/cql/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace cistern::cql {
namespace {

TEST(Backoff, DoublesToItsBoundAndStaysInItsUpperHalf) {
  Backoff backoff(1'000, 60'000, 7);
  int64_t whole_us = 1'000;
  for (int i = 0; i < 100; ++i) {
    const int64_t wait_us = backoff.NextUs();
    EXPECT_LE(wait_us, whole_us);
    EXPECT_GT(wait_us, whole_us / 2);
    whole_us = std::min<int64_t>(whole_us * 2, 60'000);
  }
  backoff.Reset();
  EXPECT_EQ(backoff.failure_count(), 0u);
  EXPECT_LE(backoff.NextUs(), 1'000);
}

TEST(Backoff, SeedsSpreadAFleet) {
  std::set<int64_t> waits;
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    waits.insert(Backoff(1'000'000, 1'000'000, seed).NextUs());
  }
  EXPECT_GT(waits.size(), 990u);
  EXPECT_EQ(Backoff(1'000'000, 1'000'000, 5).NextUs(), Backoff(1'000'000, 1'000'000, 5).NextUs());
}

TEST(Backoff, SmallestAndLargestBoundsDoNotOverflow) {
  Backoff least(1, 1, 3);
  for (int i = 0; i < 70; ++i) EXPECT_EQ(least.NextUs(), 1);
  Backoff most(1, INT64_MAX / 4, 3);
  for (int i = 0; i < 100; ++i) EXPECT_GT(most.NextUs(), 0);
}

}  // namespace
}  // namespace cistern::cql
