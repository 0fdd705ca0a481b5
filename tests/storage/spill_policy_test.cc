// Where rotations write and what is rewritten: the policy alone, played for many rotations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cistern/limits.h"
#include "storage/spill_set.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kPartBytes = 256 * kKiB;  // a rewriting's rotations

// A store that obeys the policy.
class Played {
 public:
  // With `may_rewrite` false the rewriting waits, as it does behind an untrusted clock.
  void Rotate(uint64_t bytes, bool may_rewrite = true) {
    ingested_bytes_ += bytes;
    auto target = RotationTarget(families_, limits_);
    if (!target) {
      families_.push_back({});
      target = families_.size() - 1;
    }
    families_[*target].byte_count += bytes;
    families_[*target].rotation_count += 1;
    while (may_rewrite && Rewrite()) {
    }
    files_max_ = std::max(files_max_, files());
    families_max_ = std::max(families_max_, families_.size());
  }
  [[nodiscard]] uint64_t files() const {
    uint64_t files = 0;
    for (const SpillStats& f : families_) files += f.rotation_count;
    return files;
  }
  [[nodiscard]] uint64_t files_max() const { return files_max_; }
  [[nodiscard]] size_t families_max() const { return families_max_; }
  // Bytes rewritten for each that came.
  [[nodiscard]] double amplification() const {
    return static_cast<double>(rewritten_bytes_) / static_cast<double>(ingested_bytes_);
  }
  [[nodiscard]] uint64_t rewritten_bytes() const { return rewritten_bytes_; }

 private:
  bool Rewrite() {
    const auto due = NextRewrite(families_, limits_);
    if (!due) return false;
    EXPECT_NE(RotationTarget(families_, limits_), due->source);
    const SpillStats source = families_[due->source];
    if (due->gathers) {
      EXPECT_LT(source.byte_count, source.rotation_count * limits_.small_rotation_bytes);
      EXPECT_EQ(due->tier, source.tier + 1);
    }
    if (!due->target) families_.push_back({.tier = due->tier});
    SpillStats& target = families_[due->target.value_or(families_.size() - 1)];
    EXPECT_EQ(target.tier, due->tier);
    target.byte_count += source.byte_count;
    target.rotation_count += source.byte_count / kPartBytes + 1;
    rewritten_bytes_ += source.byte_count;
    families_.erase(families_.begin() + static_cast<ptrdiff_t>(due->source));
    return true;
  }

  SpillLimits limits_;
  std::vector<SpillStats> families_;
  uint64_t ingested_bytes_ = 0;
  uint64_t rewritten_bytes_ = 0;
  uint64_t files_max_ = 0;
  size_t families_max_ = 0;
};

TEST(SpillPolicy, AnEmptyStoreAndAFullFamilyRoll) {
  const SpillLimits limits;
  EXPECT_FALSE(RotationTarget({}, limits));
  std::vector<SpillStats> one = {{.byte_count = limits.base_bytes - 1, .rotation_count = 3}};
  EXPECT_EQ(RotationTarget(one, limits), 0u);
  one[0].byte_count = limits.base_bytes;
  EXPECT_FALSE(RotationTarget(one, limits));
  EXPECT_FALSE(NextRewrite(one, limits));
}

TEST(SpillPolicy, ManySmallRotationsRollAndManyLargeOnesDoNot) {
  const SpillLimits limits{.base_bytes = 100 * kMiB};
  std::vector<SpillStats> one = {{.byte_count = kMiB, .rotation_count = 31}};
  EXPECT_EQ(RotationTarget(one, limits), 0u);
  one[0].rotation_count = 32;
  EXPECT_FALSE(RotationTarget(one, limits));
  EXPECT_FALSE(NextRewrite(one, limits)) << "a rotation may be writing into it";
  one[0].byte_count = 32 * limits.small_rotation_bytes;
  EXPECT_EQ(RotationTarget(one, limits), 0u);
}

TEST(SpillPolicy, WhatRolledByCountIsGatheredATierAbove) {
  const SpillLimits limits;
  std::vector<SpillStats> two = {{.byte_count = kMiB, .rotation_count = 32},
                                 {.byte_count = 1, .rotation_count = 1}};
  auto due = NextRewrite(two, limits);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->source, 0u);
  EXPECT_FALSE(due->target);
  EXPECT_EQ(due->tier, 1);
  EXPECT_TRUE(due->gathers);
  // A family of that tier takes it, wherever it stands; not one that is crowded itself.
  two.push_back({.tier = 1, .byte_count = kMiB, .rotation_count = 1});
  EXPECT_EQ(NextRewrite(two, limits)->target, 2u);
  EXPECT_EQ(RotationTarget(two, limits), 1u);
  two[2].rotation_count = 32;
  due = NextRewrite(two, limits);
  EXPECT_EQ(due->source, 0u);
  EXPECT_FALSE(due->target);
  two[0].damaged = true;
  due = NextRewrite(two, limits);
  EXPECT_EQ(due->source, 2u);
  EXPECT_EQ(due->tier, 2);
}

TEST(SpillPolicy, TheLastTierIsNotGathered) {
  const std::vector<SpillStats> two = {
      {.tier = limits::kSpillTierMax, .byte_count = 1000, .rotation_count = 1000},
      {.byte_count = 1, .rotation_count = 1}};
  EXPECT_FALSE(NextRewrite(two, {}));
}

TEST(SpillPolicy, TheOldestOfTooManyGoesIntoOneThatTakesMore) {
  const SpillLimits limits;
  std::vector<SpillStats> families(5, {.byte_count = 4 * kMiB, .rotation_count = 4});
  families[4].byte_count = kMiB;
  auto due = NextRewrite(families, limits);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->source, 0u);
  EXPECT_EQ(due->target, 4u);
  EXPECT_FALSE(due->gathers);
  families[4].byte_count = 50 * kMiB;  // it rolls with the next rotation
  EXPECT_FALSE(NextRewrite(families, limits));
  families[4].byte_count = kMiB;
  families[0].damaged = true;
  EXPECT_FALSE(NextRewrite(families, limits));
  families[0].damaged = false;
  families.erase(families.begin());
  EXPECT_FALSE(NextRewrite(families, limits));
}

// It neither takes nor gives, and the others are rewritten as they would be without it.
TEST(SpillPolicy, ADamagedFamilyIsNotThere) {
  const SpillLimits limits;
  std::vector<SpillStats> families(6, {.byte_count = 4 * kMiB, .rotation_count = 4});
  families[0].damaged = true;
  families[5].byte_count = kMiB;
  const auto due = NextRewrite(families, limits);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->source, 1u);
  EXPECT_EQ(due->target, 5u);
  EXPECT_EQ(RotationTarget(families, limits), 5u);
  families[5].damaged = true;
  EXPECT_EQ(RotationTarget(families, limits), 4u) << "what is written into it would stay in it";
  EXPECT_FALSE(NextRewrite(families, limits));
  families[0].byte_count = 1000 * kMiB;
  families.push_back({.byte_count = 20 * kMiB, .rotation_count = 20});
  EXPECT_FALSE(RotationTarget(families, limits)) << "its bytes do not keep others from rolling";
}

// Rotations of one size, from nothing but a header to a full head: files are few, families
// are few, and a byte is rewritten a logarithm of times.
TEST(SpillPolicy, FilesStayFewAndRewritingIsLogarithmic) {
  for (const uint64_t bytes : {100, 2'000, 20'000, 60'000}) {
    Played store;
    for (int i = 0; i < 50'000; ++i) store.Rotate(bytes);
    const double total_mib = 50'000 * static_cast<double>(bytes) / kMiB;
    // Each tier gathers 32, and what is beyond the base size stands by 64 KiB and more.
    EXPECT_LE(store.files_max(), 33u * 4 + static_cast<uint64_t>(total_mib * 16)) << bytes;
    EXPECT_LE(store.families_max(), limits::kSpillFamilyCountMax) << bytes;
    const double tiers = std::log(50'000) / std::log(32);
    const double rolls = std::max(0.0, std::log2(total_mib / 4));
    EXPECT_LE(store.amplification(), tiers + rolls) << bytes;
  }
}

TEST(SpillPolicy, LargeRotationsAreNeverGathered) {
  Played store;
  for (int i = 0; i < 12; ++i) store.Rotate(500 * kKiB);
  EXPECT_EQ(store.rewritten_bytes(), 0u);
}

TEST(SpillPolicy, WhatPiledUpWhileNothingCouldBeRewrittenIsGatheredAfterwards) {
  Played store;
  for (int i = 0; i < 3'000; ++i) store.Rotate(500, false);
  EXPECT_EQ(store.files(), 3'000u);
  store.Rotate(500);
  EXPECT_LE(store.files(), 33u * 3);
}

TEST(SpillPolicy, LoadsThatChangeDoNotPileUpFamilies) {
  Rng random(1);
  for (int round = 0; round < 20; ++round) {
    Played store;
    uint64_t bytes = 100;
    for (int i = 0; i < 10'000; ++i) {
      if (random.OneIn(200)) bytes = 50 + (random.Next() >> 40 >> random.Below(20));
      store.Rotate(bytes);
    }
    EXPECT_LE(store.families_max(), limits::kSpillFamilyCountMax) << round;
    EXPECT_LE(store.amplification(), 12) << round;
  }
}

}  // namespace
}  // namespace cistern
