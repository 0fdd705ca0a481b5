// Batches that are answered in any order, or not at all: the position moves over what is
// acknowledged, and nothing is taken for acknowledged that was not.
#include "engine/replicate/seal_push.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/engine/replicate/push_test_util.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kTs = kDayStartS * 1'000;
constexpr int64_t kWriteS = kDayStartS + 90'000;
constexpr size_t kManyFlights = 100;
constexpr int64_t kHoldUs = 10'000;

class SealPushTest : public ::testing::Test {
 protected:
  // One row in each batch.
  SealPush Push(int64_t row_count, PushPosition from = {}, uint64_t checkpoint_bytes = 1 << 20) {
    std::vector<TestVersion> rows;
    for (int64_t i = 0; i < row_count; ++i) {
      rows.push_back(Small(kTs + i, kWriteS * 1'000'000 + i, 0, kVersionLiveness, Cell::Fixed(i),
                           Cell::Absent()));
    }
    SealSource source;
    source.binder = BinderOf(schema_, {"p1"});
    source.options.statement_count_max = 1;
    source.content = ContentOf({PageOf(*schema_, rows)}, {});
    source.version_count = static_cast<uint64_t>(row_count);
    return {DrainItem{}, std::move(source), from, checkpoint_bytes};
  }
  // The ticket of the next batch.
  uint64_t Send(SealPush* push) {
    const auto ticket = push->Next(kWriteS, now_us_, &batch_);
    EXPECT_TRUE(ticket.ok() && *ticket) << ticket.status().ToString();
    return ticket.ok() && *ticket ? **ticket : 0;
  }
  static uint32_t RowOf(const PushPosition& position) { return position.row; }

  std::shared_ptr<const TableSchema> schema_ = SmallTable();
  PushBatch batch_;
  int64_t now_us_ = 0;
};

TEST_F(SealPushTest, ThePositionMovesOverWhatIsAcknowledgedAtTheFront) {
  SealPush push = Push(3);
  const uint64_t first = Send(&push);
  const uint64_t second = Send(&push);
  push.Acknowledge(second, now_us_);
  EXPECT_EQ(RowOf(push.acknowledged()), 0u);
  push.Acknowledge(first, now_us_);
  EXPECT_EQ(RowOf(push.acknowledged()), 2u);
  EXPECT_FALSE(push.is_done());
  push.Acknowledge(Send(&push), now_us_);
  EXPECT_TRUE(push.is_done());
  EXPECT_TRUE(push.is_quiet());
}

TEST_F(SealPushTest, OnlySoManyAreUnanswered) {
  SealPush push = Push(5);
  EXPECT_TRUE(push.MaySend(2));
  const uint64_t first = Send(&push);
  (void)Send(&push);
  EXPECT_FALSE(push.MaySend(2));
  push.Acknowledge(first, now_us_);
  EXPECT_TRUE(push.MaySend(2));
}

TEST_F(SealPushTest, AfterALossItGoesOnFromTheFirstThatWasNotAcknowledged) {
  SealPush push = Push(4);
  const uint64_t first = Send(&push);
  const uint64_t second = Send(&push);
  const std::string lost_values(batch_.values());
  const uint64_t third = Send(&push);
  push.Lose(second);
  EXPECT_FALSE(push.MaySend(kManyFlights));
  EXPECT_FALSE(push.is_interrupted()) << "two are unanswered";
  push.Acknowledge(third, now_us_);
  push.Acknowledge(first, now_us_);
  ASSERT_TRUE(push.is_interrupted());
  EXPECT_FALSE(push.is_done());
  push.Rewind();
  EXPECT_EQ(RowOf(push.acknowledged()), 1u);
  (void)Send(&push);
  EXPECT_EQ(batch_.values(), lost_values);
}

TEST_F(SealPushTest, AnEmptyBatchNeedsNoAnswerButTakesItsTurn) {
  // Over, and nothing older: nothing is sent of the first row.
  SealSource source;
  source.binder = BinderOf(schema_, {"p1"});
  source.options.statement_count_max = 1;
  source.options.older_may_exist = false;
  source.content = ContentOf(
      {PageOf(*schema_, {Small(kTs, 1, 10, kVersionLiveness, Cell::Fixed(1), Cell::Absent())})},
      {});
  SealPush push({}, std::move(source), {}, 1 << 20);
  const auto ticket = push.Next(kWriteS, now_us_, &batch_);
  ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
  EXPECT_FALSE(ticket->has_value());
  EXPECT_EQ(batch_.tally.expired, 1u);
  EXPECT_TRUE(push.is_done());
}

TEST_F(SealPushTest, APositionIsDurableOnceItIsOldEnough) {
  SealPush push = Push(4, {}, 1);
  const uint64_t first = Send(&push);
  now_us_ = 1'000;
  push.Acknowledge(first, now_us_);
  EXPECT_FALSE(push.Durable(now_us_ + kHoldUs - 1, kHoldUs));
  const auto position = push.Durable(now_us_ + kHoldUs, kHoldUs);
  ASSERT_TRUE(position.has_value());
  EXPECT_EQ(RowOf(*position), 1u);
  push.NoteDurable();
  EXPECT_FALSE(push.Durable(now_us_ + kHoldUs, kHoldUs));
}

TEST_F(SealPushTest, WhatWasNotMadeDurableIsSentAgainWhenAHostIsLost) {
  SealPush push = Push(4, {}, 1);
  push.Acknowledge(Send(&push), now_us_);
  ASSERT_TRUE(push.Durable(now_us_ + kHoldUs, kHoldUs));
  push.NoteDurable();
  push.Acknowledge(Send(&push), now_us_);
  const uint64_t orphan = Send(&push);
  push.RewindToDurable();
  EXPECT_EQ(RowOf(push.acknowledged()), 1u);
  EXPECT_FALSE(push.Durable(now_us_ + kHoldUs, kHoldUs)) << "it was acknowledged before the loss";
  EXPECT_FALSE(push.is_quiet());
  push.Acknowledge(orphan, now_us_);
  EXPECT_EQ(RowOf(push.acknowledged()), 1u) << "an answer of before counts for nothing";
  EXPECT_TRUE(push.is_quiet());
  for (int i = 0; i < 3; ++i) push.Acknowledge(Send(&push), now_us_);
  EXPECT_TRUE(push.is_done());
}

TEST_F(SealPushTest, GoesOnFromAPosition) {
  SealPush push = Push(4, PushPosition{0, 0, PushPass::kWhole, 0, 3});
  push.Acknowledge(Send(&push), now_us_);
  EXPECT_TRUE(push.is_done());
}

// A cluster that remembers what it acknowledged until it loses what is not durable.
TEST_F(SealPushTest, WhateverComesAllRowsAreAcknowledgedInTheEnd) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    testing::Rng rng(seed);
    now_us_ = 0;
    const auto row_count = static_cast<int64_t>(1 + rng.Below(30));
    SealPush push = Push(row_count, {}, 1 + rng.Below(200));
    std::map<uint64_t, uint32_t> unanswered;  // row by ticket
    std::map<uint32_t, int64_t> there;        // rows, and since when
    uint32_t durable_row = 0;
    for (int turn = 0; !push.is_done() || !push.is_quiet(); ++turn) {
      ASSERT_LT(turn, 20'000);
      now_us_ += static_cast<int64_t>(rng.Below(kHoldUs));
      if (push.is_interrupted()) push.Rewind();
      if (push.MaySend(1 + rng.Below(6))) {
        const uint64_t ticket = Send(&push);
        unanswered[ticket] =
            batch_.next.row == 0 ? static_cast<uint32_t>(row_count) - 1 : batch_.next.row - 1;
      }
      if (!unanswered.empty() && rng.OneIn(2)) {
        auto at = unanswered.begin();
        std::advance(at, rng.Below(unanswered.size()));
        const auto [ticket, row] = *at;
        unanswered.erase(at);
        if (rng.OneIn(4)) {
          push.Lose(ticket);
        } else {
          there.emplace(row, now_us_);
          push.Acknowledge(ticket, now_us_);
        }
      }
      if (const auto position = push.Durable(now_us_, kHoldUs)) {
        durable_row = position->page > 0 ? static_cast<uint32_t>(row_count) : position->row;
        for (uint32_t row = 0; row < durable_row; ++row) {
          ASSERT_TRUE(there.contains(row)) << row;
          ASSERT_LE(there[row] + kHoldUs, now_us_) << row;
        }
        push.NoteDurable();
      }
      if (rng.OneIn(60)) {  // the cluster forgets what is not durable
        there.erase(there.lower_bound(durable_row), there.end());
        // Answers that are under way may come from before.
        push.RewindToDurable();
        for (auto& [ticket, row] : unanswered) push.Lose(ticket);
        unanswered.clear();
      }
    }
    EXPECT_EQ(there.size(), static_cast<size_t>(row_count));
  }
}

}  // namespace
}  // namespace cistern::replicate
