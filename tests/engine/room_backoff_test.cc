#include "engine/room_backoff.h"

#include <gtest/gtest.h>

namespace cistern {
namespace {

constexpr int64_t kDayS = 86'400;

TEST(RoomBackoff, AsksForTwiceTheRoomEachTimeThatAWorkIsGivenUp) {
  RoomBackoff room;
  EXPECT_EQ(room.Ask(100, 0), 100u);
  room.NoteGivenUp(0);
  EXPECT_EQ(room.Ask(100, 10), 200u);
  room.NoteGivenUp(10);
  EXPECT_EQ(room.Ask(100, 20), 400u);
  room.NoteDone();
  EXPECT_EQ(room.Ask(100, 30), 100u);
}

TEST(RoomBackoff, ALargeWorkDoesNotKeepASmallOneFromItsRoom) {
  RoomBackoff room;
  EXPECT_EQ(room.Ask(1'000'000, 0), 1'000'000u);
  room.NoteGivenUp(0);
  EXPECT_EQ(room.Ask(10, 1), 20u);
}

TEST(RoomBackoff, EndsAfterADayHoweverTheClockGoes) {
  RoomBackoff room;
  room.NoteGivenUp(1000);
  EXPECT_EQ(room.Ask(100, 1000 + kDayS - 1), 200u);
  EXPECT_EQ(room.Ask(100, 1000 + kDayS), 100u);
  EXPECT_EQ(room.Ask(100, 1001), 100u) << "it is over";
  room.NoteGivenUp(1000);
  EXPECT_EQ(room.Ask(100, 999), 100u) << "the clock was set back";
}

TEST(RoomBackoff, NoRoomIsAskedForThatNoNumberHolds) {
  RoomBackoff room;
  for (int n = 0; n < 100; ++n) room.NoteGivenUp(n);
  EXPECT_EQ(room.Ask(1 << 20, 100), uint64_t{1} << 30);
}

// Rounds of a full disk, which make the room that large ones wait for.
TEST(RoomBackoff, ASmallWorkIsNotKeptFromItsRoomByManyThatWereGivenUp) {
  RoomBackoff room(1000);
  for (int n = 0; n < 10; ++n) room.NoteGivenUp(n);
  EXPECT_EQ(room.Ask(10, 10), 1010u);
  EXPECT_EQ(room.Ask(5000, 10), 10'000u) << "twice what it needs all the same";
  RoomBackoff once(1000);
  once.NoteGivenUp(0);
  EXPECT_EQ(once.Ask(10, 1), 20u);
}

}  // namespace
}  // namespace cistern
