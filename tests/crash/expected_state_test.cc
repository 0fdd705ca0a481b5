// The checker is tested before it is believed: each kind of damage must be seen.
#include "tests/support/expected_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

namespace cistern::testing {
namespace {

// Batches of ten rows.
uint64_t Tens(size_t, uint64_t first) { return first + 10; }

class ExpectedStateTest : public ::testing::Test {
 protected:
  ExpectedStateTest() {
    state_->Clear();
    for (size_t w = 0; w < 2; ++w) {
      state_->writers[w].attempted = 40;
      state_->writers[w].acknowledged = 30;
      state_->writers[w].durable = 20;
      for (uint64_t i = 0; i < 3; ++i) {
        state_->writers[w].batches[i] = {(i + 1) * 10, i * 2 + w + 1};
      }
      state_->writers[w].batch_count = 3;
    }
  }
  static std::vector<uint64_t> First(size_t count) {
    std::vector<uint64_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  std::string Acknowledged(const SurvivingRows& rows) const {
    return CompareSurvivors(*state_, rows, Promise::kAcknowledged, Tens);
  }
  std::string Durable(const SurvivingRows& rows) const {
    return CompareSurvivors(*state_, rows, Promise::kDurable, Tens);
  }

  std::unique_ptr<ExpectedState> state_ = std::make_unique<ExpectedState>();
};

TEST_F(ExpectedStateTest, WhatWasPromisedIsEnoughAndTheUnansweredMayBeThere) {
  EXPECT_EQ(Acknowledged({First(30), First(40)}), "");
  EXPECT_EQ(Durable({First(20), First(20)}), "");
}

TEST_F(ExpectedStateTest, SeesALostRow) {
  EXPECT_NE(Acknowledged({First(20), First(40)}).find("lost acknowledged rows"),
            std::string::npos);
  EXPECT_NE(Durable({First(10), First(10)}).find("lost acknowledged rows"), std::string::npos);
}

TEST_F(ExpectedStateTest, SeesAnInventedRow) {
  EXPECT_NE(Acknowledged({First(50), First(40)}).find("invented"), std::string::npos);
}

TEST_F(ExpectedStateTest, SeesAHoleATwinAndATornBatch) {
  std::vector<uint64_t> hole = First(40);
  hole.erase(hole.begin() + 5);
  EXPECT_NE(Acknowledged({hole, First(40)}).find("no prefix"), std::string::npos);
  std::vector<uint64_t> twin = First(30);
  twin.insert(twin.begin() + 5, 5);
  EXPECT_NE(Acknowledged({twin, First(40)}).find("no prefix"), std::string::npos);
  EXPECT_NE(Acknowledged({First(33), First(40)}).find("torn batch"), std::string::npos);
}

TEST_F(ExpectedStateTest, SeesAGapBetweenWriters) {
  // Writer 1's third batch is group 6; writer 0's third is group 5 and gone.
  EXPECT_NE(Durable({First(20), First(30)}).find("a gap"), std::string::npos);
  EXPECT_EQ(Durable({First(30), First(20)}), "");
}

}  // namespace
}  // namespace cistern::testing
