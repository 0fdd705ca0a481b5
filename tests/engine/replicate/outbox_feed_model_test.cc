// The feed beside a look at all of the outbox, through random seals, confirmations, merges and ends
// of windows.
#include <gtest/gtest.h>

#include "tests/engine/replicate/outbox_fixture.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

using testing::kDayMs;
using testing::kDayS;
using testing::kStartMs;
using testing::Rng;

class OutboxFeedModelTest : public OutboxFixture {
 protected:
  void Run(const DrainPolicy& policy, const FeedLimits& limits, int op_count);

  void SealSome();
  void TakeOne(OutboxFeed* feed);
  void EndOne(OutboxFeed* feed);
  void ToggleHold(OutboxFeed* feed);
  void ExpectAsLookedAtAll(OutboxFeed* feed);
  void DrainAll(OutboxFeed* feed);
  [[nodiscard]] bool MayGo(const DrainItem& item) const {
    return !held_.contains(item.bucket.entity) && !under_way_.contains(item.seal);
  }
  // What may go, in the order of a walk from the oldest on.
  std::vector<DrainItem> AllThatMayGo() {
    std::vector<DrainItem> out;
    for (const WaitingSeal& w : Earliest()) {
      const DrainItem item{w.bucket, w.seal, w.bucket.start_s + kDayS,
                           DrainItem::State::kWaiting};
      if (MayGo(item)) out.push_back(item);
    }
    return out;
  }

  std::unique_ptr<Rng> rng_;
  DrainPolicy policy_;
  FeedLimits limits_;
  int last_day_ = 0;
  std::map<uint64_t, SealName> under_way_;
  std::set<std::string> held_;  // entities
  uint64_t ends_ = 0;           // of windows
};

// Mostly of the last days, some of any; nearly all expire.
void OutboxFeedModelTest::SealSome() {
  const uint32_t ttl_s = static_cast<uint32_t>(rng_->Between(1, 9) * kDayS);
  const bool expires = !rng_->OneIn(60);
  for (uint64_t n = 1 + rng_->Below(4); n > 0; --n) {
    RowBatch batch(schema_);
    const int64_t day = rng_->OneIn(4) ? rng_->Between(0, last_day_)
                                       : std::max<int64_t>(0, last_day_ - rng_->Between(0, 2));
    AddRow(&batch, std::string(1, static_cast<char>('a' + rng_->Below(3))),
           kStartMs + day * kDayMs + rng_->Between(0, 1000), 1, RowKind::kInsert,
           expires ? std::optional(ttl_s) : std::nullopt);
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  SealAll();
}

void OutboxFeedModelTest::TakeOne(OutboxFeed* feed) {
  const DrainOrder order(policy_);
  const std::optional<size_t> index = order.Choose(feed->items(), now_s());
  if (!index) return;
  const auto item = feed->Take(*index);
  ASSERT_TRUE(item.ok()) << item.status().ToString();
  if (!*item) return;
  EXPECT_TRUE(MayGo(**item));
  const auto earliest = SealsOf(Earliest());
  EXPECT_TRUE(earliest.contains((*item)->seal)) << "it is dead, or not its bucket's earliest";
  under_way_[(*item)->seal] = {(*item)->bucket, (*item)->seal};
}

// One that is under way is confirmed, or waits again.
void OutboxFeedModelTest::EndOne(OutboxFeed* feed) {
  if (under_way_.empty()) return;
  auto at = under_way_.begin();
  std::advance(at, rng_->Below(under_way_.size()));
  const SealName name = at->second;
  under_way_.erase(at);
  if (!rng_->OneIn(3)) Confirm({name});
  feed->LookAt(name.bucket);
}

void OutboxFeedModelTest::ToggleHold(OutboxFeed* feed) {
  const std::string entity = Entity(std::string(1, static_cast<char>('a' + rng_->Below(3)))).bytes;
  if (held_.erase(entity) == 0) held_.insert(entity);
  feed->Wake();
}

void OutboxFeedModelTest::ExpectAsLookedAtAll(OutboxFeed* feed) {
  StepAll(feed);
  const std::vector<DrainItem> all = AllThatMayGo();
  // Those whose windows ended go when they are taken.
  std::set<uint64_t> expected;
  for (const DrainItem& item : all) expected.insert(item.seal);
  const std::set<uint64_t> found = SealsOf(feed->items());
  if (all.size() <= limits_.item_count_max / 2) {
    ASSERT_EQ(found, expected);
    const DrainOrder order(policy_);
    const auto chosen = order.Choose(feed->items(), now_s());
    const auto by_all = order.Choose(all, now_s());
    ASSERT_EQ(chosen.has_value(), by_all.has_value());
    if (chosen) {
      EXPECT_EQ(feed->items()[*chosen].seal, all[*by_all].seal);
    }
    return;
  }
  for (const uint64_t seal : found) EXPECT_TRUE(expected.contains(seal)) << seal;
  if (policy_.mode != DrainMode::kOldest) return;
  expected.clear();
  for (const DrainItem& item : all) {
    if (expected.size() < limits_.item_count_max) expected.insert(item.seal);
  }
  EXPECT_EQ(found, expected) << "the first ones of the walk";
}

// What is left goes, each once.
void OutboxFeedModelTest::DrainAll(OutboxFeed* feed) {
  held_.clear();
  under_way_.clear();
  feed->Wake();
  const DrainOrder order(policy_);
  while (const auto item = TakeNext(feed, order)) {
    EXPECT_TRUE(MayGo(*item)) << "twice";
    under_way_[item->seal] = {item->bucket, item->seal};
    if (rng_->OneIn(2)) {
      Confirm({under_way_.at(item->seal)});
      feed->LookAt(item->bucket);
    }
  }
  EXPECT_TRUE(AllThatMayGo().empty());
  std::vector<SealName> names;
  for (const auto& [seal, name] : under_way_) names.push_back(name);
  Confirm(names);
  under_way_.clear();
}

void OutboxFeedModelTest::Run(const DrainPolicy& policy, const FeedLimits& limits, int op_count) {
  policy_ = policy;
  limits_ = limits;
  OutboxFeed feed(
      &Core()->store(), &Core()->tables(), policy,
      [this](const DrainItem& item) { return MayGo(item); }, limits);
  for (int op = 0; op < op_count && !HasFailure(); ++op) {
    switch (rng_->Below(12)) {
      case 0:
      case 1:
      case 2: SealSome(); break;
      case 3:
        last_day_ += static_cast<int>(rng_->Between(0, 2));
        clock_->AdvanceSeconds(rng_->Between(0, 3 * kDayS));
        break;
      case 4: ToggleHold(&feed); break;
      case 5:
        ends_ += engine_->Expire()->windows;
        std::erase_if(under_way_, [all = SealsOf(Outbox())](const auto& entry) {
          return !all.contains(entry.first);
        });
        break;
      case 6:
      case 7: EndOne(&feed); break;
      case 8:
      case 9: TakeOne(&feed); break;
      case 10: ASSERT_TRUE(feed.Step(now_s()).ok()); break;
      default: ExpectAsLookedAtAll(&feed);
    }
  }
  if (!HasFailure()) DrainAll(&feed);
  EXPECT_TRUE(feed.damaged().empty()) << *feed.damaged().begin();
}

TEST_F(OutboxFeedModelTest, FindsWhatALookAtAllFinds) {
  const uint64_t seed = testing::SeedFromEnv();
  SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
  rng_ = std::make_unique<Rng>(seed);
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    const DrainPolicy policy{.mode = mode, .live_span_s = 3 * kDayS};
    for (const FeedLimits limits : {FeedLimits{1000, 3}, FeedLimits{6, 5}, FeedLimits{2, 1}}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + ", " +
                   std::to_string(limits.item_count_max) + " items");
      Run(policy, limits, 150);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(engine_->GetMetrics().window_merges, 0u);
  EXPECT_GT(ends_, 0u);
}

}  // namespace
}  // namespace cistern::replicate
