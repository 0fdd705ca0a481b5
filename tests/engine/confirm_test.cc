// Seals that upstream has confirmed: each by its own name, and what follows from it.
#include "tests/engine/push_fixture.h"

namespace cistern::testing {
namespace {

class ConfirmTest : public PushFixture {
 protected:
  static constexpr uint64_t kVersionsOfADay = 2;  // that LiveDays writes

  void ExpectProved(uint64_t confirmed, uint64_t by_count, uint64_t by_rows) {
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_confirmed, confirmed);
    EXPECT_EQ(m.versions_confirmed_by_count, by_count);
    EXPECT_EQ(m.versions_confirmed_by_rows, by_rows);
    ExpectReconciled();
  }
};

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

// Each seal has a number of rows of its own, so no level can stand for another one.
TEST_F(ConfirmTest, TheLevelThatWasReachedIsKept) {
  const std::string entities[] = {"a", "b", "c"};
  for (int i = 0; i < 7; ++i) MustAppend(entities[i < 1 ? 0 : i < 3 ? 1 : 2], kStartMs + i, i);
  SealAll();
  const std::vector<SealName> pushed = Outbox();
  ASSERT_EQ(pushed.size(), 3u);
  ASSERT_EQ(pushed[0].bucket.entity, Entity("a").bytes);
  Confirm({pushed[0]});
  ExpectProved(1, 0, 0);
  Confirm({pushed[1]}, ProofLevel::kCount);
  ExpectProved(3, 2, 0);
  Confirm({pushed[2], pushed[2]}, ProofLevel::kRows);
  ExpectProved(7, 2, 4);
  // The answer comes once more: what was reached first stays.
  Confirm(pushed, ProofLevel::kRows);
  ExpectProved(7, 2, 4);
  Crash();
  ExpectProved(7, 2, 4);
  Reopen();
  ExpectProved(7, 2, 4);
}

TEST_F(ConfirmTest, OneCallTakesSealsOfEachLevel) {
  LiveDays(3);
  const std::vector<SealName> names = Outbox();
  ASSERT_EQ(names.size(), 3u);
  const ProvenSeal seals[] = {{names[0], ProofLevel::kRows},
                              {names[1], ProofLevel::kAck},
                              {names[2], ProofLevel::kCount},
                              {names[1], ProofLevel::kCount}};  // the last word counts
  ASSERT_TRUE(Core()->maintenance().Confirm(seals).ok());
  ExpectProved(3 * kVersionsOfADay, 2 * kVersionsOfADay, kVersionsOfADay);
}

// What the record and the manifests say of the level is compared.
TEST_F(ConfirmTest, VerifyFindsALevelThatWasNotReached) {
  LiveDays(1);
  const SealName name = Outbox().front();
  Confirm({name}, ProofLevel::kCount);
  const auto view = TheStore().spills().view();
  const uint64_t window = Windows().front()->id;
  auto manifest = ReadManifest(view->meta, window, name.bucket, name.seal);
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  manifest->proof = ProofLevel::kRows;
  ASSERT_TRUE(view->meta->db()
                  ->Put({}, view->meta->handle(), ManifestKey(window, name.bucket, name.seal),
                        EncodeManifest(*manifest))
                  .ok());
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->problems.size(), 1u);
  constexpr auto kWords = "its record says 1 with 2 row versions (2 proved by count, 0 by rows)";
  EXPECT_NE(report->problems[0].find(kWords), std::string::npos) << report->problems[0];
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
  Confirm({of_first.begin(), of_first.end() - 1}, ProofLevel::kRows);
  clock_->AdvanceSeconds(20 * kDayS);
  EXPECT_EQ(engine_->Expire()->windows, 0u) << "one of its seals is not confirmed";
  Confirm({of_first.back()}, ProofLevel::kRows);
  clock_->AdvanceSeconds(10 * kDayS - 1);
  EXPECT_EQ(engine_->Expire()->windows, 0u) << "it was confirmed just now";
  clock_->AdvanceSeconds(1);
  const uint64_t before = engine_->GetMetrics().versions_confirmed_by_rows;
  EXPECT_EQ(before, of_first.size() * kVersionsOfADay);
  EXPECT_EQ(engine_->Expire()->windows, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_shed, 0u);
  ExpectProved(0, 0, 0);
  EXPECT_LT(ScanEverything().size(), written_.size());
  // The answer to a push comes once more, and its window is no longer there.
  Confirm(of_first);
  ExpectSound();
}

TEST_F(ConfirmTest, AMergedWindowKnowsWhatWasConfirmed) {
  LiveDays(12);
  const std::vector<SealName> pushed = Outbox();
  Confirm({pushed.begin(), pushed.begin() + 2});
  Confirm({pushed.begin() + 2, pushed.begin() + 3}, ProofLevel::kCount);
  Confirm({pushed.begin() + 3, pushed.begin() + 5}, ProofLevel::kRows);
  LiveDays(20);
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  EXPECT_EQ(Confirmed(), 5u);
  ExpectProved(5 * kVersionsOfADay, kVersionsOfADay, 2 * kVersionsOfADay);
  Confirm(pushed, ProofLevel::kCount);  // by the names from before the merge
  EXPECT_EQ(Confirmed(), 12u);
  EXPECT_EQ(Outbox().size(), 20u);
  ExpectProved(12 * kVersionsOfADay, 8 * kVersionsOfADay, 2 * kVersionsOfADay);
  Reopen();
  ExpectProved(12 * kVersionsOfADay, 8 * kVersionsOfADay, 2 * kVersionsOfADay);
  EXPECT_EQ(Confirmed(), 12u);
  EXPECT_EQ(ScanEverything(), written_);
}

TEST_F(ConfirmTest, NothingIsConfirmedWhileWindowsAreMerged) {
  ASSERT_NO_FATAL_FAILURE(
      LiveIntoAMerge([this] { return TryConfirm(Outbox(), ProofLevel::kRows); }));
  TickAll();
  Confirm(Outbox());
  EXPECT_TRUE(Outbox().empty());
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
