// Seals that upstream has confirmed: each by its own name, and what follows from it.
#include "tests/engine/push_fixture.h"

namespace cistern::testing {
namespace {

class ConfirmTest : public PushFixture {};

// The answer to the first push of a bucket comes when an amendment has been sealed: what the
// amendment has was not in it.
TEST_F(ConfirmTest, AnAnswerToAnOldSealConfirmsThatOneAlone) {
  MustAppend("a", kStartMs, 1);
  MustAppend("b", kStartMs, 1);
  SealAll();
  const std::vector<SealName> pushed = Outbox();
  ASSERT_EQ(pushed.size(), 2u);
  MustAppend("a", kStartMs + 1, 2);
  SealAll();
  ASSERT_EQ(Outbox().size(), 3u);
  for (int time = 0; time < 2; ++time) {
    Confirm({pushed[0], pushed[0]});
    const std::vector<SealName> left = Outbox();
    ASSERT_EQ(left.size(), 2u) << "one answer, " << time << " times before";
    EXPECT_EQ(left[0].seal, pushed[1].seal);
    EXPECT_EQ(left[1].bucket, pushed[0].bucket);
    EXPECT_EQ(Confirmed(), 1u);
  }
  ExpectSound();
  Reopen();
  EXPECT_EQ(Outbox().size(), 2u);
  EXPECT_EQ(Confirmed(), 1u);
  Confirm({pushed[1]});
  Confirm(Outbox());
  EXPECT_TRUE(Outbox().empty());
  EXPECT_EQ(Confirmed(), 3u);
  ExpectSound();
}

TEST_F(ConfirmTest, WhatWasNeverSealedIsNotConfirmed) {
  MustAppend("a", kStartMs, 1);
  SealAll();
  SealName wrong = Outbox().front();
  wrong.bucket.entity += "x";
  Confirm({wrong});
  ASSERT_EQ(Outbox().size(), 1u);
  wrong = Outbox().front();
  ++wrong.seal;
  Confirm({wrong});
  Confirm({});
  EXPECT_EQ(Outbox().size(), 1u);
  EXPECT_EQ(Confirmed(), 0u);
}

TEST_F(ConfirmTest, TheOutboxKnowsOfWhichBucketASealIs) {
  MustAppend("a", kStartMs, 1);
  SealAll();
  const auto view = TheStore().spills().view();
  SealName name = Outbox().front();
  const auto is_there = [&] {
    for (const auto& window : view->windows) {
      if (*IsInOutbox(view->meta, window->id, name)) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_there());
  name.bucket.start_s += 86'400;
  EXPECT_FALSE(is_there());
}

TEST_F(ConfirmTest, AConfirmedWindowEndsWhenItsLocalRetentionIsOver) {
  options_.keep_confirmed_s = 10 * kDayS;
  Reopen();
  LiveDays(4);
  ASSERT_GE(Windows().size(), 2u);
  const uint64_t first = Windows().front()->id;
  std::vector<SealName> of_first;
  OutboxWalker walker(Core()->store().spills().view(), first);
  for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
    of_first.push_back(**entry);
  }
  Confirm({of_first.begin(), of_first.end() - 1});
  clock_->AdvanceSeconds(20 * kDayS);
  EXPECT_EQ(engine_->Expire()->windows, 0u) << "one of its seals is not confirmed";
  Confirm({of_first.back()});
  clock_->AdvanceSeconds(10 * kDayS - 1);
  EXPECT_EQ(engine_->Expire()->windows, 0u) << "it was confirmed just now";
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(engine_->Expire()->windows, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_shed, 0u);
  EXPECT_LT(ScanEverything().size(), written_.size());
  // The answer to a push comes once more, and its window is no longer there.
  Confirm(of_first);
  ExpectSound();
}

TEST_F(ConfirmTest, AMergedWindowKnowsWhatWasConfirmed) {
  LiveDays(12);
  const std::vector<SealName> pushed = Outbox();
  Confirm({pushed.begin(), pushed.begin() + 5});
  LiveDays(20);
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  EXPECT_EQ(Confirmed(), 5u);
  ExpectSound();
  Confirm(pushed);  // by the names from before the merge
  EXPECT_EQ(Confirmed(), 12u);
  EXPECT_EQ(Outbox().size(), 20u);
  ExpectSound();
  Reopen();
  EXPECT_EQ(Confirmed(), 12u);
  EXPECT_EQ(ScanEverything(), written_);
}

TEST_F(ConfirmTest, NothingIsConfirmedWhileWindowsAreMerged) {
  ASSERT_NO_FATAL_FAILURE(
      LiveIntoAMerge([this] { return Core()->maintenance().Confirm(Outbox()); }));
  TickAll();
  Confirm(Outbox());
  EXPECT_TRUE(Outbox().empty());
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
