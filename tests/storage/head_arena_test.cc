#include "storage/head_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace cistern {
namespace {

TEST(HeadArena, ClassesHoldWhatIsAskedAndWasteAtMostAThird) {
  for (size_t bytes = 1; bytes < 5000; ++bytes) {
    const size_t rounded = HeadArena::ClassBytes(bytes);
    ASSERT_GE(rounded, bytes);
    ASSERT_LT(rounded, std::max<size_t>(33, bytes * 3 / 2)) << bytes;
    ASSERT_EQ(HeadArena::ClassBytes(rounded), rounded) << "a class holds itself";
  }
  EXPECT_EQ(HeadArena::ClassBytes(33), 48u);
  EXPECT_EQ(HeadArena::ClassBytes(49), 64u);
  EXPECT_EQ(HeadArena::ClassBytes(size_t{1} << 30), size_t{1} << 30);
}

TEST(HeadArena, MemoryOfDifferentCallsNeverOverlaps) {
  std::mt19937_64 random(7);
  HeadArena arena(nullptr);
  std::map<char*, size_t> held;  // by first byte
  std::vector<char*> freeable;
  for (int i = 0; i < 5000; ++i) {
    if (!freeable.empty() && random() % 3 == 0) {
      std::swap(freeable[random() % freeable.size()], freeable.back());
      arena.Free(freeable.back(), held[freeable.back()]);
      held.erase(freeable.back());
      freeable.pop_back();
      continue;
    }
    const size_t bytes = 1 + random() % (random() % 10 == 0 ? 100'000 : 300);
    const bool once = random() % 4 == 0;
    char* memory = once ? arena.AllocateOnce(bytes) : arena.Allocate(bytes);
    if (!once) freeable.push_back(memory);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % 8, 0u);
    const auto [it, is_new] = held.emplace(memory, bytes);
    ASSERT_TRUE(is_new);
    if (it != held.begin()) {
      const auto before = std::prev(it);
      ASSERT_LE(before->first + before->second, memory);
    }
    if (std::next(it) != held.end()) {
      ASSERT_LE(memory + bytes, std::next(it)->first);
    }
    std::memset(memory, 0x5a, bytes);
  }
}

TEST(HeadArena, FreedMemoryIsUsedAgain) {
  HeadArena arena(nullptr);
  char* first = arena.Allocate(100);
  arena.Free(first, 100);
  EXPECT_EQ(arena.Allocate(120), first) << "of the same class";
}

TEST(HeadArena, ChargesItsBlocksAndGivesThemBack) {
  MemoryBudget budget(1 << 20);
  {
    HeadArena arena(&budget);
    EXPECT_EQ(budget.used_bytes(), 0u);
    EXPECT_NE(arena.AllocateOnce(10), nullptr);
    EXPECT_EQ(budget.used_bytes(), 64u * 1024);
    EXPECT_NE(arena.AllocateOnce(200'000), nullptr);
    EXPECT_EQ(budget.used_bytes(), 64u * 1024 + 200'000);
    EXPECT_NE(arena.AllocateOnce(10), nullptr);
    EXPECT_EQ(budget.used_bytes(), 64u * 1024 + 200'000) << "the block before goes on";
    EXPECT_EQ(arena.memory_bytes(), budget.used_bytes());
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace cistern
