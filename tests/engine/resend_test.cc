// Confirmed seals that are to be sent once more: which they are, and that each is counted once.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/push_fixture.h"

namespace cistern::testing {
namespace {

class ResendTest : public PushFixture {
 protected:
  static constexpr int64_t kStartS = kStartMs / 1000;
  // Of the table with the number, days [from, to) of the fixture.
  static SealResend Days(int64_t from, int64_t to, uint32_t table_id = 1) {
    return {table_id, kStartS + from * kDayS, kStartS + to * kDayS};
  }
  bool Step(SealResend* resend) {
    const Result<bool> more = Core()->maintenance().Resend(resend);
    EXPECT_TRUE(more.ok()) << more.status().ToString();
    EXPECT_EQ(more.ok() && *more, !resend->is_over);
    return more.ok() && *more;
  }
  uint64_t Resend(SealResend resend) {
    while (Step(&resend)) {
    }
    return resend.seal_count;
  }
  static std::vector<uint64_t> Numbers(std::vector<SealName> names) {
    std::vector<uint64_t> out;
    for (const SealName& name : names) out.push_back(name.seal);
    std::sort(out.begin(), out.end());
    return out;
  }
  static std::vector<SealName> OfDays(const std::vector<SealName>& names, int64_t from,
                                      int64_t to) {
    std::vector<SealName> out;
    for (const SealName& name : names) {
      const int64_t day = (name.bucket.start_s - kStartS) / kDayS;
      if (day >= from && day < to) out.push_back(name);
    }
    return out;
  }
};

TEST_F(ResendTest, WhatWasConfirmedOfTheTimeGoesBackAndNothingElse) {
  ASSERT_TRUE(engine_
                  ->CreateTable("CREATE TABLE air (s text, day date, ts timestamp, v int, "
                                "PRIMARY KEY ((s, day), ts)) WITH comment = "
                                "'cistern: bucket day = 1 day'")
                  .ok());
  LiveDays(6);
  RowBatch air(*engine_->FindTable("air"));
  air.BeginRow();
  ASSERT_TRUE(air.SetBytes(0, "s").ok());
  ASSERT_TRUE(air.SetInt(2, kStartMs + 2 * kDayMs).ok());
  ASSERT_TRUE(air.EndRow().ok());
  ASSERT_TRUE(engine_->Append(air).ok());
  MustAppend("b", kStartMs + 2 * kDayMs, 1);
  MustAppend("a", kStartMs + 3 * kDayMs + 1, 1);  // an amendment
  SealAll();
  const std::vector<SealName> all = Outbox();
  ASSERT_EQ(all.size(), 9u);
  const auto waiting = std::find_if(all.begin(), all.end(), [](const SealName& name) {
    return name.bucket.table_id == 1 && name.bucket.start_s == kStartS + 2 * kDayS;
  });
  std::vector<SealName> confirmed = all;
  confirmed.erase(confirmed.begin() + (waiting - all.begin()));
  Note({{*waiting, Parked("no")}});
  Confirm(confirmed);
  EXPECT_EQ(Resend(Days(2, 2)), 0u);
  EXPECT_EQ(Resend(Days(10, 20)), 0u);
  EXPECT_EQ(Resend(Days(2, 4, 3)), 0u) << "there is no such table";
  EXPECT_EQ(OutboxSeals(), std::vector{waiting->seal});
  std::vector<SealName> expected = OfDays(all, 2, 4);
  std::erase_if(expected, [](const SealName& name) { return name.bucket.table_id != 1; });
  ASSERT_EQ(expected.size(), 4u);
  EXPECT_EQ(Resend(Days(2, 4)), 3u) << "one of the four was waiting";
  EXPECT_EQ(OutboxSeals(), Numbers(expected));
  EXPECT_EQ(Confirmed(), 5u);
  EXPECT_EQ(Noted(), std::vector{waiting->seal}) << "what is parked stays so";
  ExpectReconciled();
  EXPECT_EQ(Resend(Days(2, 4)), 0u);
  EXPECT_EQ(Resend(Days(2, 4, 2)), 1u) << "the other table's";
  Crash();
  EXPECT_EQ(Outbox().size(), 5u);
  ExpectReconciled();
  Confirm(all);
  Confirm(all);
  EXPECT_EQ(Confirmed(), 9u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, engine_->GetMetrics().versions_sealed);
  ExpectReconciled();
}

// What goes back is taken from the level that it had reached, and may reach another one.
TEST_F(ResendTest, WhatGoesBackIsNotProvedAnyMore) {
  LiveDays(6);
  const std::vector<SealName> all = Outbox();
  ASSERT_EQ(all.size(), 6u);
  Confirm({all.begin(), all.begin() + 2});
  Confirm({all.begin() + 2, all.begin() + 4}, ProofLevel::kCount);
  Confirm({all.begin() + 4, all.end()}, ProofLevel::kRows);
  const auto proved = [this] {
    ExpectReconciled();
    const Metrics m = engine_->GetMetrics();
    return std::vector{m.versions_confirmed, m.versions_confirmed_by_count,
                       m.versions_confirmed_by_rows};
  };
  EXPECT_EQ(proved(), (std::vector<uint64_t>{12, 4, 4}));
  EXPECT_EQ(Resend(Days(1, 3)), 2u);
  EXPECT_EQ(proved(), (std::vector<uint64_t>{8, 2, 4}));
  EXPECT_EQ(Resend(Days(4, 5)), 1u);
  EXPECT_EQ(proved(), (std::vector<uint64_t>{6, 2, 2}));
  Crash();
  EXPECT_EQ(proved(), (std::vector<uint64_t>{6, 2, 2}));
  Confirm({all[1], all[4]}, ProofLevel::kCount);
  Confirm({all[2]});
  EXPECT_EQ(proved(), (std::vector<uint64_t>{12, 6, 2}));
  EXPECT_EQ(Resend(Days(0, 100)), 6u);
  EXPECT_EQ(proved(), (std::vector<uint64_t>{0, 0, 0}));
}

// Then a seal goes back that was never counted. The sums are wrong, which Verify says, and the
// window's record is one that the next opening reads.
TEST_F(ResendTest, ALostEntryLeavesARecordThatIsRead) {
  LiveDays(4);
  const std::vector<SealName> all = Outbox();
  auto view = TheStore().spills().view();
  const auto window = std::find_if(view->windows.begin(), view->windows.end(), [&](const auto& w) {
    return w->record.span.Holds(all[2].bucket.start_s);
  });
  ASSERT_NE(window, view->windows.end());
  ASSERT_TRUE((*window)->record.span.Holds(all[1].bucket.start_s)) << "two seals of one window";
  Confirm({all[1]}, ProofLevel::kRows);
  ASSERT_TRUE(view->meta->db()
                  ->Delete({}, view->meta->handle(), OutboxKey((*window)->id, all[2].seal))
                  .ok());
  view.reset();  // it holds the store open
  EXPECT_EQ(Resend(Days(2, 3)), 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed_by_rows, 0u);
  EXPECT_FALSE(engine_->Verify()->problems.empty());
  Reopen();
  EXPECT_EQ(engine_->GetMetrics().versions_waiting, 8u);
  EXPECT_EQ(engine_->Recovery().records_damaged, 0u);
}

// Writers wait for one step at most.
TEST_F(ResendTest, AStepIsBounded) {
  constexpr int kBuckets = 2500;
  options_.memory_budget_bytes = 16 << 20;
  Reopen();
  RowBatch rows(schema_);
  for (int i = 0; i < kBuckets; ++i) AddRow(&rows, "pump-" + std::to_string(i), kStartMs, 1);
  ASSERT_TRUE(engine_->Append(rows).ok());
  SealAll();
  const std::vector<SealName> all = Outbox();
  Confirm(all);
  SealResend resend = Days(0, 1);
  uint64_t steps = 0;
  for (uint64_t before = 0; Step(&resend); before = resend.seal_count, ++steps) {
    EXPECT_LE(resend.seal_count - before, 1024u);
    ExpectReconciled();
  }
  EXPECT_GE(steps, 3u);
  EXPECT_EQ(resend.seal_count, static_cast<uint64_t>(kBuckets));
  EXPECT_EQ(OutboxSeals(), Numbers(all));
}

// Windows become one between its steps, others end, new seals come and are confirmed.
TEST_F(ResendTest, ItGoesOnWhateverHappensToTheWindows) {
  LiveDays(12);
  const std::vector<SealName> before = Outbox();
  Confirm(before, ProofLevel::kRows);
  SealResend resend = Days(0, 100);
  ASSERT_TRUE(Step(&resend));
  ASSERT_TRUE(Step(&resend));
  ASSERT_LT(resend.seal_count, before.size());
  const uint64_t merges = engine_->GetMetrics().window_merges;
  for (int round = 0; Step(&resend); ++round) {
    if (round >= 10) continue;
    LiveDays(2);
    std::vector<SealName> later = Outbox();
    std::erase_if(later, [&](const SealName& name) { return name.seal <= before.back().seal; });
    Confirm(later, ProofLevel::kCount);
  }
  EXPECT_GT(engine_->GetMetrics().window_merges, merges);
  EXPECT_EQ(resend.seal_count, before.size());
  EXPECT_EQ(OutboxSeals(), Numbers(before)) << "what was sealed later stays confirmed";
  ExpectReconciled();
}

TEST_F(ResendTest, AMergeThatIsUnderWayComesFirst) {
  ASSERT_NO_FATAL_FAILURE(
      LiveIntoAMerge([this] { return TryConfirm(Outbox(), ProofLevel::kCount); }));
  const uint64_t merges = engine_->GetMetrics().window_merges;
  const uint64_t confirmed = Confirmed();
  ASSERT_GT(confirmed, 0u);
  EXPECT_EQ(Resend(Days(0, 100)), confirmed);
  EXPECT_EQ(engine_->GetMetrics().window_merges, merges + 1);
  EXPECT_EQ(Confirmed(), 0u);
  ExpectReconciled();
}

// It cannot be sent, and what cannot be confirmed again is not taken from the sums.
TEST_F(ResendTest, ADamagedManifestIsPassedOver) {
  LiveDays(3);
  const std::vector<SealName> all = Outbox();
  const auto damage = [&](const SealName& name) {
    const auto view = TheStore().spills().view();
    for (const auto& window : Windows()) {
      const std::string key = ManifestKey(window->id, name.bucket, name.seal);
      if (KeysOf(key) == 0) continue;
      ASSERT_TRUE(view->meta->db()->Put({}, view->meta->handle(), key, "damaged").ok());
    }
  };
  Confirm({all[0], all[1]});
  damage(all[1]);
  EXPECT_EQ(Resend(Days(0, 100)), 1u);
  EXPECT_EQ(Confirmed(), 1u);
  damage(all[2]);
  Confirm(all);
  EXPECT_EQ(OutboxSeals(), std::vector{all[2].seal}) << "it waits as it is";
  Note({{all[2], Parked("no")}});
  EXPECT_TRUE(Noted().empty());
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_confirmed, 4u);
  EXPECT_EQ(m.versions_waiting, 2u);
  EXPECT_TRUE(engine_->Health().ok());
}

}  // namespace
}  // namespace cistern::testing
