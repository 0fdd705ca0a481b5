// What the trainer takes, what it leaves, and how much it gathers for that.
#include "engine/seal/text_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

ColumnData Column() {
  ColumnData column;
  column.lane = Lane::kBytes;
  return column;
}

// 60 lines of a kind, each with a number of its own.
ColumnData PageOf(const std::string& kind, Rng* rng) {
  ColumnData page = Column();
  for (int i = 0; i < 60; ++i) {
    page.AppendBytes(kind + std::to_string(rng->Below(4)) + ": state of unit " +
                     std::to_string(rng->Below(100'000)));
  }
  return page;
}

class TextTrainerTest : public ::testing::Test {
 protected:
  static constexpr size_t kPages = 1000;  // more than it needs

  void GatherLines(const std::string& kind) {
    for (size_t i = 0; i < kPages && !trainer_.IsDue(); ++i) trainer_.Note(PageOf(kind, &rng_));
    ASSERT_TRUE(trainer_.IsDue());
  }
  // As if so many pages had gone by.
  void GoThroughRest() {
    ColumnData one = Column();
    one.AppendBytes("x");
    const size_t before = trainer_.MemoryBytes();
    size_t pages = 0;
    while (trainer_.MemoryBytes() == before) {
      trainer_.Note(one);
      ASSERT_LT(++pages, TextTrainer::kRestPages << TextTrainer::kRestDoublingsMax);
    }
    rested_pages_ = pages - 1;
  }

  Rng rng_{1};
  MemoryBudget budget_{64 << 20};
  TextTrainer trainer_;
  size_t rested_pages_ = 0;
};

TEST_F(TextTrainerTest, TakesWhatPays) {
  GatherLines("modbus: read failed, attempt ");
  EXPECT_EQ(trainer_.dictionary(), nullptr);
  trainer_.Train(&budget_);
  ASSERT_NE(trainer_.dictionary(), nullptr);
  EXPECT_FALSE(trainer_.IsDue());
  EXPECT_GT(trainer_.SavedBytes(3000), 30.0);
  EXPECT_EQ(trainer_.SavedBytes(1 << 20), trainer_.SavedBytes(TextTrainer::kSampleBytes));
  EXPECT_GE(budget_.peak_bytes(), kTrainingBytes);
  EXPECT_EQ(budget_.used_bytes(), 0u);
  EXPECT_LE(trainer_.dictionary()->WriterBytes(), kDictionaryMemoryBytes);
  GoThroughRest();
  EXPECT_EQ(rested_pages_, TextTrainer::kRestPages);
}

TEST_F(TextTrainerTest, LeavesWhatDoesNotPayAndRestsLonger) {
  for (const size_t rest : {2 * TextTrainer::kRestPages, 4 * TextTrainer::kRestPages}) {
    for (size_t i = 0; i < kPages && !trainer_.IsDue(); ++i) {
      ColumnData page = Column();
      std::string noise(40, '\0');
      for (int row = 0; row < 60; ++row) {
        for (char& c : noise) c = static_cast<char>(rng_.Below(256));
        page.AppendBytes(noise);
      }
      trainer_.Note(page);
    }
    ASSERT_TRUE(trainer_.IsDue());
    trainer_.Train(&budget_);
    EXPECT_EQ(trainer_.dictionary(), nullptr);
    GoThroughRest();
    EXPECT_EQ(rested_pages_, rest);
  }
}

TEST_F(TextTrainerTest, OnlyAMuchBetterOneReplacesTheOneThatIsThere) {
  GatherLines("modbus: read failed, attempt ");
  trainer_.Train(&budget_);
  const auto first = trainer_.dictionary();
  ASSERT_NE(first, nullptr);
  GoThroughRest();
  GatherLines("modbus: read failed, attempt ");
  trainer_.Train(&budget_);
  EXPECT_EQ(trainer_.dictionary(), first);
  GoThroughRest();
  GatherLines("uplink of the new firmware has no answer from the broker in the plant; try ");
  trainer_.Train(&budget_);
  ASSERT_NE(trainer_.dictionary(), nullptr);
  EXPECT_NE(trainer_.dictionary(), first);
  EXPECT_GT(trainer_.SavedBytesBeside(*first, 3000), 0.0);
  EXPECT_EQ(trainer_.SavedBytesBeside(*trainer_.dictionary(), 3000), 0.0);
}

TEST_F(TextTrainerTest, OneThatHadNoneBeforeItIsBetterThanNoOther) {
  TextTrainer another;
  for (size_t i = 0; i < kPages && !another.IsDue(); ++i) {
    another.Note(PageOf("modbus: read failed, attempt ", &rng_));
  }
  another.Train(&budget_);
  GatherLines("modbus: read failed, attempt ");
  trainer_.Train(&budget_);
  ASSERT_NE(another.dictionary(), nullptr);
  ASSERT_NE(trainer_.dictionary(), nullptr);
  EXPECT_EQ(trainer_.SavedBytesBeside(*another.dictionary(), 3000), 0.0);
}

// Each fourth page, from the first on, is one that it does not train on: what only those say is
// not learned from them.
TEST_F(TextTrainerTest, IsJudgedByPagesThatItWasNotTrainedOn) {
  for (size_t i = 0; i < kPages && !trainer_.IsDue(); ++i) {
    ColumnData page = Column();
    for (int row = 0; row < 60; ++row) {
      page.AppendBytes(i % 4 == 0 ? "the only sentence of its kind, number " +
                                        std::to_string(rng_.Below(1000))
                                  : std::to_string(rng_.Next()));
    }
    trainer_.Note(page);
  }
  ASSERT_TRUE(trainer_.IsDue());
  trainer_.Train(&budget_);
  EXPECT_EQ(trainer_.dictionary(), nullptr);
}

TEST_F(TextTrainerTest, RestsAsAtFirstAfterOneThatPaid) {
  for (size_t i = 0; i < kPages && !trainer_.IsDue(); ++i) {
    ColumnData page = Column();
    for (int row = 0; row < 60; ++row) page.AppendBytes(std::to_string(rng_.Next()));
    trainer_.Note(page);
  }
  trainer_.Train(&budget_);
  ASSERT_EQ(trainer_.dictionary(), nullptr);
  GoThroughRest();
  ASSERT_EQ(rested_pages_, 2 * TextTrainer::kRestPages);
  GatherLines("modbus: read failed, attempt ");
  trainer_.Train(&budget_);
  ASSERT_NE(trainer_.dictionary(), nullptr);
  GoThroughRest();
  EXPECT_EQ(rested_pages_, TextTrainer::kRestPages);
  trainer_.Forget();
  EXPECT_EQ(trainer_.dictionary(), nullptr);
  GoThroughRest();
  EXPECT_EQ(rested_pages_, 2 * TextTrainer::kRestPages) << "there was no memory for it";
}

TEST_F(TextTrainerTest, OneFromAnotherRunIsJudgedByTheNextTraining) {
  GatherLines("modbus: read failed, attempt ");
  trainer_.Train(&budget_);
  TextTrainer later;
  later.Adopt(trainer_.dictionary());
  EXPECT_GT(later.SavedBytes(1000), 0.0);
  for (size_t i = 0; i < kPages && !later.IsDue(); ++i) {
    ColumnData page = Column();
    for (int row = 0; row < 60; ++row) page.AppendBytes(std::to_string(rng_.Next()));
    later.Note(page);
  }
  later.Train(&budget_);
  EXPECT_NE(later.dictionary(), trainer_.dictionary()) << "it is of no use any more";
}

TEST_F(TextTrainerTest, WithoutRoomInTheBudgetItRests) {
  MemoryBudget small(kTrainingBytes - 1);
  GatherLines("modbus: read failed, attempt ");
  trainer_.Train(&small);
  EXPECT_EQ(trainer_.dictionary(), nullptr);
  EXPECT_FALSE(trainer_.IsDue());
  GoThroughRest();
  EXPECT_EQ(rested_pages_, TextTrainer::kRestPages);
}

TEST_F(TextTrainerTest, GathersLittleHoweverTheTextsAre) {
  for (const int filled : {0, 1, 8, 400, 4096}) {
    TextTrainer trainer;
    ColumnData page = Column();
    for (int i = 0; i < 4096; ++i) page.AppendBytes(i < filled ? "f" : "");
    size_t peak = 0;
    for (int pages = 0; pages < 40'000 && !trainer.IsDue(); ++pages) {
      trainer.Note(page);
      peak = std::max(peak, trainer.MemoryBytes());
    }
    EXPECT_EQ(trainer.IsDue(), filled > 0);
    EXPECT_LT(peak, 1u << 20) << filled;
    if (trainer.IsDue()) trainer.Train(&budget_);  // too little, or nothing in common
  }
  ColumnData large = Column();
  large.AppendBytes(std::string(64 * 1024, 'x'));
  for (int i = 0; i < 100; ++i) trainer_.Note(large);
  EXPECT_LT(trainer_.MemoryBytes(), 64u);
}

}  // namespace
}  // namespace cistern
