// Which of two writes wins, rule by rule, and that the rules make an order.
#include "tests/support/fake_cassandra/reconcile.h"

#include <gtest/gtest.h>

#include <vector>

namespace cistern::fake_cassandra {
namespace {

StoredCell Plain(int64_t timestamp_us, std::string value) {
  return {timestamp_us, 0, kNever, std::move(value)};
}
StoredCell Expiring(int64_t timestamp_us, uint32_t ttl_s, int64_t expiry_s, std::string value) {
  return {timestamp_us, ttl_s, expiry_s, std::move(value)};
}
StoredCell Tombstone(int64_t timestamp_us, int64_t local_s) {
  return {timestamp_us, 0, local_s, {}};
}

void ExpectFirstWins(const StoredCell& winner, const StoredCell& loser) {
  EXPECT_EQ(Winner(winner, loser), winner);
  EXPECT_EQ(Winner(loser, winner), winner);
}

TEST(Reconcile, TheLargerTimestampWinsWhateverTheKind) {
  ExpectFirstWins(Plain(2, "a"), Tombstone(1, 100));
  ExpectFirstWins(Plain(2, "a"), Expiring(1, 10, 100, "z"));
  ExpectFirstWins(Tombstone(2, 100), Plain(1, "z"));
  ExpectFirstWins(Plain(-1, "a"), Plain(-2, "z"));
}

TEST(Reconcile, OnATieWhatEndsBeatsWhatStays) {
  ExpectFirstWins(Expiring(1, 10, 100, "a"), Plain(1, "z"));
  ExpectFirstWins(Tombstone(1, 100), Plain(1, "z"));
}

TEST(Reconcile, OnATieATombstoneBeatsAnExpiringCellOfAnyExpiry) {
  ExpectFirstWins(Tombstone(1, 100), Expiring(1, 10, 50, "z"));
  ExpectFirstWins(Tombstone(1, 100), Expiring(1, 10, 5000, "z"));
}

TEST(Reconcile, OnATieTheLaterExpiryWinsBeforeTheLargerValue) {
  ExpectFirstWins(Expiring(1, 10, 101, "a"), Expiring(1, 10, 100, "z"));
  ExpectFirstWins(Tombstone(1, 101), Tombstone(1, 100));
}

TEST(Reconcile, ThenTheLargerValueWinsAsUnsignedBytes) {
  ExpectFirstWins(Plain(1, "\x80"), Plain(1, "\x7f"));
  ExpectFirstWins(Plain(1, "ab"), Plain(1, "a"));
  ExpectFirstWins(Expiring(1, 10, 100, "b"), Expiring(1, 10, 100, "a"));
}

TEST(Reconcile, IsAssociativeAndIdempotent) {
  const std::vector<StoredCell> cells = {
      Plain(1, "a"), Plain(1, "b"), Plain(2, ""), Expiring(1, 10, 100, "a"),
      Expiring(1, 20, 100, "a"), Expiring(1, 10, 99, "z"), Tombstone(1, 7), Tombstone(2, 7)};
  for (const StoredCell& a : cells) {
    EXPECT_EQ(Winner(a, a), a);
    for (const StoredCell& b : cells) {
      EXPECT_EQ(Winner(a, b), Winner(b, a));
      for (const StoredCell& c : cells) EXPECT_EQ(Winner(Winner(a, b), c), Winner(a, Winner(b, c)));
    }
  }
}

TEST(Reconcile, ACellLivesUpToTheSecondBeforeItsExpiry) {
  EXPECT_TRUE(Expiring(1, 10, 100, "a").IsLive(99));
  EXPECT_FALSE(Expiring(1, 10, 100, "a").IsLive(100));
  EXPECT_FALSE(Tombstone(1, 100).IsLive(99));
  EXPECT_TRUE(Plain(1, "a").IsLive(kNever - 1));
}

TEST(Reconcile, OfMarkersTheExpiringOneWinsATieAndThenTheLaterExpiry) {
  const RowMarker plain{1, 0, kNever};
  const RowMarker expiring{1, 10, 100};
  const RowMarker later{1, 10, 101};
  EXPECT_EQ(Winner(plain, expiring), expiring);
  EXPECT_EQ(Winner(expiring, plain), expiring);
  EXPECT_EQ(Winner(expiring, later), later);
  EXPECT_EQ(Winner(later, expiring), later);
  EXPECT_EQ(Winner(RowMarker{2, 0, kNever}, later), (RowMarker{2, 0, kNever}));
  EXPECT_EQ(Winner(RowMarker{}, plain), plain);
}

TEST(Reconcile, ADeletionTakesItsOwnTimestampToo) {
  const Deletion deletion{5, 100};
  EXPECT_TRUE(deletion.Deletes(5));
  EXPECT_FALSE(deletion.Deletes(6));
  EXPECT_FALSE(Deletion{}.Deletes(kNoTimestamp));
  EXPECT_EQ(Winner(deletion, Deletion{5, 101}), (Deletion{5, 101}));
  EXPECT_EQ(Winner(Deletion{6, 1}, deletion), (Deletion{6, 1}));
}

}  // namespace
}  // namespace cistern::fake_cassandra
