#include "lib/base/memory_budget.h"

#include <gtest/gtest.h>

namespace cistern {
namespace {

TEST(MemoryBudget, RefusesWhatWouldPassTheLimitAndRemembersThePeak) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.TryCharge(60));
  EXPECT_FALSE(budget.TryCharge(41));
  EXPECT_TRUE(budget.TryCharge(40));
  budget.Release(100);
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_EQ(budget.peak_bytes(), 100u);
}

TEST(MemoryBudget, ChargeFollowsItsOwnerAndIsReleased) {
  MemoryBudget budget(100);
  {
    MemoryCharge a(&budget);
    EXPECT_TRUE(a.TrySet(70));
    EXPECT_FALSE(a.TrySet(101));
    EXPECT_EQ(a.bytes(), 70u);
    const MemoryCharge b = std::move(a);
    EXPECT_EQ(budget.used_bytes(), 70u);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace cistern
