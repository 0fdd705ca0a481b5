// The dictionaries that were read last, and which of them make room.
#include "storage/dictionary_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "tests/support/trained_lines.h"

namespace cistern {
namespace {

using Numbers = std::vector<uint64_t>;

class DictionaryCacheTest : public ::testing::Test {
 protected:
  // A dictionary of its own under the number, which only the cache holds.
  void Add(uint64_t number, const std::string& bytes) {
    auto made = ZstdDictionary::Make(bytes);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    added_[number] = *made;
    cache_.Add({number, *std::move(made)});
  }
  void Add(uint64_t number) { Add(number, small_); }
  // The numbers that it holds, without asking it: that would be a use.
  [[nodiscard]] Numbers Held() const {
    Numbers held;
    for (const auto& [number, dictionary] : added_) {
      if (!dictionary.expired()) held.push_back(number);
    }
    return held;
  }
  [[nodiscard]] size_t HeldBytes() const {
    size_t bytes = 0;
    for (const auto& [number, weak] : added_) {
      const auto dictionary = weak.lock();
      if (dictionary != nullptr) bytes += dictionary->ReaderBytes();
    }
    return bytes;
  }
  // How many small ones there is room for.
  [[nodiscard]] size_t Room() const {
    return DictionaryCache::kBytesMax / (*ZstdDictionary::Make(small_))->ReaderBytes();
  }
  // Adds the numbers from 1 on until there is no room for one more.
  void Fill() {
    for (uint64_t number = 1; number <= Room(); ++number) Add(number);
    ASSERT_EQ(Held().size(), Room());
  }

  const std::string small_ = testing::TrainOnLogLines();
  DictionaryCache cache_;
  std::map<uint64_t, std::weak_ptr<const ZstdDictionary>> added_;
};

TEST_F(DictionaryCacheTest, FindsWhatWasAddedAndNothingElse) {
  EXPECT_EQ(cache_.Find(1), nullptr);
  for (const uint64_t number : {uint64_t{1}, uint64_t{0}, UINT64_MAX}) Add(number);
  for (const auto& [number, dictionary] : added_) {
    const auto found = cache_.Find(number);
    ASSERT_NE(found, nullptr) << number;
    EXPECT_EQ(found, dictionary.lock());
    EXPECT_EQ(found->bytes(), small_);
  }
  for (const uint64_t other : {uint64_t{2}, uint64_t{1} << 32 | 1, UINT64_MAX - 1}) {
    EXPECT_EQ(cache_.Find(other), nullptr) << other;
  }
}

TEST_F(DictionaryCacheTest, TheOneUsedLongestAgoMakesRoom) {
  const size_t room = Room();
  ASSERT_GE(room, 5u);
  Fill();
  // By adding alone.
  Add(100);
  Numbers want;
  for (uint64_t number = 2; number <= room; ++number) want.push_back(number);
  want.push_back(100);
  EXPECT_EQ(Held(), want);
  EXPECT_EQ(cache_.Find(1), nullptr);
  // What is found is used; what is not there is not.
  EXPECT_NE(cache_.Find(2), nullptr);
  EXPECT_NE(cache_.Find(4), nullptr);
  EXPECT_EQ(cache_.Find(1), nullptr);
  Add(101);
  Add(102);
  want.erase(want.begin() + 1);  // 3
  want.erase(want.begin() + 2);  // 5
  want.insert(want.end(), {101, 102});
  EXPECT_EQ(Held(), want);
}

TEST_F(DictionaryCacheTest, NeverHoldsMoreThanItMayAndNoLessThanItCan) {
  std::string great = small_;
  great.resize(limits::kDictionaryBytesMax, 'x');
  const size_t most = (*ZstdDictionary::Make(great))->ReaderBytes();
  testing::Rng rng(3);
  for (uint64_t number = 1; number <= 100; ++number) {
    Add(number, rng.OneIn(3) ? great : small_);
    ASSERT_LE(HeldBytes(), DictionaryCache::kBytesMax) << number;
    // What went had to.
    const bool all_held = Held().size() == number;
    ASSERT_TRUE(all_held || HeldBytes() + most > DictionaryCache::kBytesMax) << number;
    // The last ones, without a gap.
    ASSERT_EQ(Held().back(), number);
    ASSERT_EQ(Held().front(), number - Held().size() + 1);
  }
}

TEST_F(DictionaryCacheTest, TheSameNumberTwiceCountsOnce) {
  Fill();
  const Numbers all = Held();
  // It is the last one that stays, and takes nobody's room.
  for (int i = 0; i < 30; ++i) {
    const std::weak_ptr<const ZstdDictionary> before = added_[2];
    Add(2);
    ASSERT_EQ(Held(), all) << i;
    ASSERT_TRUE(before.expired());
    ASSERT_EQ(cache_.Find(2), added_[2].lock());
  }
  // Adding is a use.
  Add(1);
  Add(100);
  Numbers want = all;
  want.erase(want.begin() + 2);  // 3
  want.push_back(100);
  EXPECT_EQ(Held(), want);
}

}  // namespace
}  // namespace cistern
