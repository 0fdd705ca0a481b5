// Open buckets are looked through when one may be due: none is forgotten between two looks, and
// no look is made for nothing.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kDueS = kDayS + 300;  // the first day's buckets, where nothing came late
constexpr int64_t kLookS = 61;          // within which a look follows

// Times are in seconds since the start, which is a midnight.
class SealOutlookFlowTest : public EngineFixture {
 protected:
  SealOutlookFlowTest() { options_.seal_when_due = true; }

  [[nodiscard]] int64_t now_s() const { return (clock_->WallMicros() - kStartUs) / 1'000'000; }
  [[nodiscard]] uint64_t sealed() const { return engine_->GetMetrics().versions_sealed; }
  // Ticks at least once a minute until then.
  void PassTo(int64_t s) {
    while (now_s() < s) {
      clock_->AdvanceSeconds(std::min(kLookS, s - now_s()));
      TickAll();
    }
  }
  // So many versions more than now, and not before.
  void ExpectSealedFrom(int64_t due_s, uint64_t versions) {
    const uint64_t before = sealed();
    PassTo(due_s - 1);
    EXPECT_EQ(sealed(), before) << "too early";
    PassTo(due_s + kLookS);
    EXPECT_EQ(sealed(), before + versions);
  }
  // How many sequences the store has given since this was asked last: a look takes one.
  uint64_t SequencesTaken() {
    const uint64_t next = *Core()->store().NextSequence();
    return next - std::exchange(next_sequence_, next + 1);
  }
  // A look that finds nothing which is due.
  void LookForNothing() {
    const uint64_t before = sealed();
    (void)SequencesTaken();
    PassTo(now_s() + 2 * kLookS);
    EXPECT_EQ(SequencesTaken(), 1u);
    EXPECT_EQ(sealed(), before);
  }
  void AppendRows(const std::string& sensor, int rows) {
    RowBatch batch(schema_);
    for (int i = 0; i < rows; ++i) AddRow(&batch, sensor, kStartMs + next_row_++, i);
    ASSERT_TRUE(engine_->Append(batch).ok());
  }

  uint64_t next_sequence_ = 0;
  int64_t next_row_ = 0;
};

TEST_F(SealOutlookFlowTest, RowsAfterAFruitlessLookAreSealedWhenTheirBucketEnds) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  LookForNothing();
  PassTo(12 * 3600);
  MustAppend("a", kStartMs + 1, 2);
  MustAppend("b", kStartMs + 1, 2);
  MustAppend("a", kStartMs + kDayMs, 3);  // of tomorrow
  Rotate();
  ExpectSealedFrom(kDueS, 3);
  ExpectSealedFrom(kDayS + kDueS, 1);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, RowsOfAnEmptyStoreAreSealedWhenTheirBucketEnds) {
  LookForNothing();
  PassTo(12 * 3600);
  MustAppend("a", kStartMs, 1);
  Rotate();
  ExpectSealedFrom(kDueS, 1);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, RowsAroundTheEndOfTheirBucketRestFirst) {
  LookForNothing();
  PassTo(kDayS + 200);
  MustAppend("a", kStartMs, 1);
  Rotate();
  ExpectSealedFrom(kDayS + 500, 1);
  ExpectSound();
}

// Of a bucket that is sealed, and of one that nobody has seen.
TEST_F(SealOutlookFlowTest, LateRowsThatWereRotatedAreSealedOnceTheyRest) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  ExpectSealedFrom(kDueS, 1);
  MustAppend("a", kStartMs + kDayMs, 1);
  Rotate();
  PassTo(kDayS + 3600);
  MustAppend("a", kStartMs + 1, 2);
  MustAppend("z", kStartMs, 2);
  Rotate();
  ExpectSealedFrom(now_s() + 300, 2);
  EXPECT_EQ(engine_->GetMetrics().amendments, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 1u);
  ExpectSealedFrom(kDayS + kDueS, 1);
  ExpectSound();
}

// Beside rows of today, which are to stay there.
TEST_F(SealOutlookFlowTest, LateRowsInTheHeadAreSealedOnceTheyRest) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  ExpectSealedFrom(kDueS, 1);
  PassTo(kDayS + 3600);
  for (const int64_t day : {1, 0, 2}) MustAppend("a", kStartMs + day * kDayMs + 1, 2);
  MustAppend("z", kStartMs, 2);
  ExpectSealedFrom(now_s() + 300, 2);
  EXPECT_EQ(engine_->GetMetrics().amendments, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 2u);
  ExpectSound();
}

// A bucket of which a part is spilled and a newer one is not.
TEST_F(SealOutlookFlowTest, ARowInTheHeadPutsItsBucketOffUntilItRests) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  LookForNothing();
  PassTo(kDayS + 150);
  MustAppend("a", kStartMs + 1, 2);
  ExpectSealedFrom(kDayS + 450, 2);
  EXPECT_EQ(engine_->GetMetrics().amendments, 0u);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, ABucketThatFillsBySmallRotationsIsSealedBeforeItsEnd) {
  options_.seal_rows_max = 1000;
  Reopen();
  AppendRows("a", 500);
  Rotate();
  LookForNothing();
  for (int i = 0; i < 10; ++i) {
    AppendRows("a", 49);
    AppendRows("b", 1);
    Rotate();
    PassTo(now_s() + kLookS);
  }
  EXPECT_EQ(sealed(), 0u);
  AppendRows("a", 10);
  Rotate();
  PassTo(now_s() + kLookS);
  EXPECT_EQ(sealed(), 1000u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 10u);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, ABucketOfManyBytesIsSealedBeforeItsEnd) {
  options_.seal_bytes_max = 45'000;
  Reopen();
  Rng rng(1);
  LookForNothing();
  for (int rotation = 1; rotation <= 6; ++rotation) {
    EXPECT_EQ(sealed(), 0u) << rotation;
    RowBatch batch(schema_);
    for (int i = 0; i < 10; ++i) {
      std::string noise(1000, ' ');
      for (char& c : noise) c = static_cast<char>('!' + rng.Below(90));
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, "a").ok());
      ASSERT_TRUE(batch.SetInt(2, kStartMs + next_row_++).ok());
      ASSERT_TRUE(batch.SetBytes(4, noise).ok());
      ASSERT_TRUE(batch.EndRow().ok());
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    Rotate();
    PassTo(now_s() + kLookS);
  }
  EXPECT_EQ(sealed(), 60u);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, NoLookIsMadeWhileNothingCanBeDue) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  LookForNothing();
  for (int i = 0; i < 100; ++i) {
    MustAppend("a", kStartMs + now_s() * 1000, 1);
    PassTo(now_s() + kLookS);
    ASSERT_EQ(SequencesTaken(), 0u) << i;
  }
  Rotate();
  (void)SequencesTaken();
  PassTo(kDueS - 1);
  EXPECT_EQ(SequencesTaken(), 0u);
  PassTo(kDueS + kLookS);
  EXPECT_GE(SequencesTaken(), 2u) << "that finds it, and that finds no more";
  EXPECT_EQ(sealed(), 101u);
  PassTo(10 * kDayS);
  EXPECT_EQ(SequencesTaken(), 0u);
}

// Rotations take sequences themselves: as many where nobody ever looks.
TEST_F(SealOutlookFlowTest, NoLookIsMadeForRotationsOfBucketsThatGoOn) {
  const auto sequences_of_two_hours = [&] {
    MustAppend("a", kStartMs, 1);
    Rotate();
    PassTo(now_s() + 2 * kLookS);
    (void)SequencesTaken();
    for (int i = 0; i < 120; ++i) {
      for (const char* sensor : {"a", "b", "c"}) MustAppend(sensor, kStartMs + i * 1000, i);
      if (i % 6 == 5) Rotate();
      PassTo(now_s() + kLookS);
    }
    EXPECT_EQ(sealed(), 0u);
    return SequencesTaken();
  };
  const uint64_t with_looks = sequences_of_two_hours();
  directory_ = std::filesystem::path(temp_.path()) / "other";
  options_.seal_when_due = false;
  engine_.reset();
  OpenWithTable(kPumps);
  EXPECT_EQ(with_looks, sequences_of_two_hours());
  EXPECT_GE(with_looks, 20u);
}

TEST_F(SealOutlookFlowTest, AnAlteredTableIsLookedThroughOnce) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  LookForNothing();
  ASSERT_TRUE(engine_->AlterTable(R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text, power double,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)").ok());
  LookForNothing();
  PassTo(12 * 3600);
  EXPECT_EQ(SequencesTaken(), 0u);
  ExpectSealedFrom(kDueS, 1);
}

TEST_F(SealOutlookFlowTest, WhatWasSpilledBeforeTheStoreWasOpenedIsSealedWhenDue) {
  for (int day = 0; day < 4; ++day) {
    PassTo(day * kDayS + 3600);
    const bool is_late = day >= 2;
    MustAppend("a", kStartMs + (is_late ? 0 : day * kDayMs) + day, day);
    Rotate();
    PassTo(now_s() + 2 * kLookS);
    if (day % 2 == 0) {
      Reopen();
    } else {
      Crash();
    }
    LookForNothing();
    ExpectSealedFrom(is_late ? day * kDayS + 3900 : day * kDayS + kDueS, 1);
    ExpectSound();
  }
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
}

TEST_F(SealOutlookFlowTest, WhatIsDueWhenTheStoreIsOpenedIsSealedAtOnce) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  LookForNothing();
  clock_->AdvanceSeconds(2 * kDayS);
  Reopen();
  PassTo(now_s() + kLookS);
  EXPECT_EQ(sealed(), 1u);
  ExpectSound();
}

// What is gathered counts as new from when it is looked at: at once, and not when it is due.
TEST_F(SealOutlookFlowTest, GatheredRotationsAreSealedWhenTheirBucketEnds) {
  uint64_t rows = 0;
  const auto rotate_until = [&](uint64_t end) {
    for (; rows < end; ++rows) {
      MustAppend("a", kStartMs + static_cast<int64_t>(rows), 1);
      Rotate();
    }
  };
  rotate_until(20);
  LookForNothing();
  ASSERT_EQ(engine_->GetMetrics().respill_bytes, 0u);
  PassTo(12 * 3600);
  rotate_until(40);
  ASSERT_GT(engine_->GetMetrics().respill_bytes, 0u);
  ExpectSealedFrom(kDueS, rows);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, ALateRowThatIsGatheredIsSealedOnceItRests) {
  LookForNothing();
  PassTo(2 * kDayS + 3600);
  MustAppend("late", kStartMs, 1);
  Rotate();
  PassTo(now_s() + 100);
  for (int i = 0; i < 40; ++i) {
    MustAppend("a", kStartMs + 2 * kDayMs + i, 1);
    Rotate();
  }
  ASSERT_GT(engine_->GetMetrics().respill_bytes, 0u);
  PassTo(now_s() + kLookS + 300 + kLookS);
  EXPECT_EQ(sealed(), 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 40u);
  ExpectSound();
}

// Nobody knows when those rows came, so nobody tells of the rotation.
TEST_F(SealOutlookFlowTest, RowsThatWereRotatedWithoutATrustedClockAreSealedOnceTheyRest) {
  LookForNothing();
  PassTo(2 * kDayS);
  const int64_t wall_us = clock_->WallMicros();
  clock_->SetWallMicros(0);
  MustAppend("a", kStartMs, 1);
  ASSERT_FALSE(engine_->GetMetrics().clock_trusted);
  Rotate();
  clock_->SetWallMicros(wall_us);
  TickAll();
  ASSERT_TRUE(engine_->GetMetrics().clock_trusted);
  const int64_t rotated_s = now_s();
  PassTo(rotated_s + 299);
  EXPECT_EQ(sealed(), 0u);
  PassTo(rotated_s + kLookS + 300 + kLookS);
  EXPECT_EQ(sealed(), 1u);
  ExpectSound();
}

TEST_F(SealOutlookFlowTest, ALookAtOneSensorSaysNothingOfTheOthers) {
  for (const bool due_only : {true, false}) {
    const int64_t day = now_s() / kDayS;
    MustAppend("a", kStartMs + day * kDayMs, 1);
    Rotate();
    SealRequest request;
    request.due_only = due_only;
    request.table = schema_->name;
    request.entity = Entity("b");
    ASSERT_EQ(engine_->Seal(request)->buckets, 0u);
    ExpectSealedFrom(day * kDayS + kDueS, 1);
  }
  ExpectSound();
}

// What a walk over more segments than one step takes has not reached, or has passed.
class SealOutlookWalkTest : public SealOutlookFlowTest {
 protected:
  static constexpr int kPumps = 600;

  // A row of each, and 600 of one of them.
  void SpillPumps(int large) {
    RowBatch batch(schema_);
    for (int n = 0; n < kPumps; ++n) AddRow(&batch, Pump(n), kStartMs, n);
    ASSERT_TRUE(engine_->Append(batch).ok());
    next_row_ = 1;
    AppendRows(Pump(large), 599);
    Rotate();
  }
  static std::string Pump(int n) { return "p" + std::to_string(1000 + n); }
  // Into the midst of a walk, which has been begun and has not ended.
  void StepIntoAWalk() {
    clock_->AdvanceSeconds(kLookS);
    (void)SequencesTaken();
    while (SequencesTaken() == 0) ASSERT_TRUE(engine_->Tick({.steps_max = 1})->more_due);
    ASSERT_TRUE(engine_->Tick({.steps_max = 1})->more_due);
  }
};

TEST_F(SealOutlookWalkTest, LateRowsThatAreRotatedMeanwhileAreSealedOnceTheyRest) {
  PassTo(kDayS / 2);
  Reopen();
  SpillPumps(0);
  StepIntoAWalk();
  MustAppend(Pump(0), kStartMs - kDayMs, 1);
  MustAppend("z", kStartMs - kDayMs, 1);
  Rotate();
  TickAll();
  ExpectSealedFrom(now_s() + 300, 2);
  ExpectSealedFrom(kDueS, kPumps + 599);
  ExpectSound();
}

TEST_F(SealOutlookWalkTest, ABucketThatIsFilledBehindTheWalkIsSealed) {
  options_.seal_rows_max = 1000;
  Reopen();
  SpillPumps(0);
  StepIntoAWalk();
  AppendRows(Pump(0), 400);
  Rotate();
  TickAll();
  PassTo(now_s() + kLookS);
  EXPECT_EQ(sealed(), 1000u);
  ExpectSound();
}

TEST_F(SealOutlookWalkTest, ABucketThatIsFilledAheadOfTheWalkIsSealed) {
  options_.seal_rows_max = 1000;
  Reopen();
  SpillPumps(kPumps - 1);
  StepIntoAWalk();
  AppendRows(Pump(kPumps - 1), 400);
  Rotate();
  TickAll();
  PassTo(now_s() + kLookS);
  EXPECT_EQ(sealed(), 1000u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
