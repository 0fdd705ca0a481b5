#include "engine/seal/largest_run.h"

#include <gtest/gtest.h>

namespace cistern {
namespace {

TEST(LargestRun, IsUnknownUntilALookHasComeToItsEnd) {
  LargestRun run;
  run.NoteRotation(5);
  run.BeginLook();
  run.NoteSeen(7);
  EXPECT_EQ(run.bytes(), std::nullopt);
  run.EndLook();
  EXPECT_EQ(run.bytes(), 7u);
}

TEST(LargestRun, FallsByALookAndGrowsByRotations) {
  LargestRun run;
  run.EndLook();
  EXPECT_EQ(run.bytes(), 0u);
  run.NoteRotation(5);
  run.NoteRotation(3);
  EXPECT_EQ(run.bytes(), 5u);
  run.BeginLook();
  EXPECT_EQ(run.bytes(), 5u) << "until the look has come to its end";
  run.NoteSeen(3);
  run.NoteRotation(4);  // the look does not see it
  run.EndLook();
  EXPECT_EQ(run.bytes(), 4u);
  run.BeginLook();
  run.NoteSeen(3);
  run.EndLook();
  EXPECT_EQ(run.bytes(), 3u);
}

// A look that began in the midst and goes over all once more.
TEST(LargestRun, ALookThatBeginsAgainKeepsWhatRotationsSpilled) {
  LargestRun run;
  run.EndLook();
  run.BeginLook();
  run.NoteSeen(9);  // and is sealed meanwhile
  run.NoteRotation(5);
  run.LookAgain();
  run.NoteSeen(3);
  run.EndLook();
  EXPECT_EQ(run.bytes(), 5u);
}

// A look that was given up, and one that has begun anew since.
TEST(LargestRun, ALookThatWasGivenUpTellsNothing) {
  LargestRun run;
  run.EndLook();
  run.BeginLook();
  run.NoteSeen(9);
  EXPECT_EQ(run.bytes(), 9u) << "what is there is there";
  run.BeginLook();
  run.EndLook();
  EXPECT_EQ(run.bytes(), 0u);
}

}  // namespace
}  // namespace cistern
