#include "lib/base/memory_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// Something that is kept, of which each piece is of ten bytes.
class Keeper {
 public:
  explicit Keeper(MemoryBudget* budget)
      : kept_(budget, [this](size_t bytes) {
          ++asked_;
          while (bytes > 0 && kept_.bytes() > 0) {
            kept_.Shrink(10);
            bytes -= std::min<size_t>(bytes, 10);
          }
        }) {}
  bool TryKeep(size_t spare) { return kept_.TryGrow(10, spare); }
  [[nodiscard]] size_t bytes() const { return kept_.bytes(); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  int asked_ = 0;
  KeptMemory kept_;
};

TEST(MemoryBudget, WhatIsKeptGivesWayToEveryCharge) {
  MemoryBudget budget(100);
  MemoryCharge some(&budget);
  some.Set(30);
  {
    Keeper keeper(&budget);
    while (keeper.TryKeep(5)) continue;
    EXPECT_EQ(keeper.bytes(), 60u) << "what is to stay free stays free";
    EXPECT_EQ(budget.used_bytes(), 90u);
    EXPECT_EQ(budget.free_bytes(), 10u);
    EXPECT_EQ(budget.left_bytes(), 70u) << "for who charges what is kept is not there";
    MemoryCharge other(&budget);
    EXPECT_TRUE(other.TrySet(10));
    EXPECT_EQ(keeper.asked(), 0);
    EXPECT_TRUE(other.TrySet(25));
    EXPECT_EQ(keeper.bytes(), 40u);
    some.Set(60);  // what is there already
    EXPECT_EQ(keeper.bytes(), 10u);
    EXPECT_TRUE(other.TrySet(40));
    EXPECT_EQ(keeper.bytes(), 0u);
    EXPECT_FALSE(other.TrySet(41));
    EXPECT_FALSE(keeper.TryKeep(0));
    some.Set(30);
    EXPECT_TRUE(keeper.TryKeep(20));
    EXPECT_FALSE(keeper.TryKeep(20));
  }
  EXPECT_EQ(budget.used_bytes(), 30u);
  EXPECT_EQ(budget.peak_bytes(), 100u);
  some.Set(100);  // nobody is asked any more
}

TEST(MemoryBudget, OfSeveralThatKeepEachGivesWhatIsMissing) {
  MemoryBudget budget(100);
  Keeper first(&budget);
  Keeper second(&budget);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(first.TryKeep(0) && second.TryKeep(0));
  EXPECT_FALSE(first.TryKeep(0));
  MemoryCharge some(&budget);
  EXPECT_TRUE(some.TrySet(70));
  EXPECT_EQ(first.bytes() + second.bytes(), 30u);
  EXPECT_LE(budget.used_bytes(), 100u);
}

}  // namespace
}  // namespace cistern
