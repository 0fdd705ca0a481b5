#include "engine/replicate/outbox_feed.h"

#include <gtest/gtest.h>

#include "storage/seal_records.h"
#include "tests/engine/replicate/outbox_fixture.h"

namespace cistern::replicate {
namespace {

using testing::kDayMs;
using testing::kDayS;
using testing::kStartMs;
using testing::Rows;

constexpr int64_t kStartS = kStartMs / 1000;

class OutboxFeedTest : public OutboxFixture {
 protected:
  OutboxFeed Feed(const DrainPolicy& policy, const FeedLimits& limits = {}) {
    return OutboxFeed(
        &Core()->store(), &Core()->tables(), policy,
        [this](const DrainItem& item) {
          return !held_.contains(item.bucket.entity) && !under_way_.contains(item.seal);
        },
        limits);
  }
  // Days of the buckets in the order in which they go, each confirmed before the next.
  std::vector<int64_t> DrainDays(const DrainPolicy& policy, const FeedLimits& limits = {}) {
    OutboxFeed feed = Feed(policy, limits);
    DrainOrder order(policy);
    std::vector<int64_t> days;
    while (const auto item = TakeNext(&feed, order)) {
      days.push_back((item->bucket.start_s - kStartS) / kDayS);
      EXPECT_EQ(item->bucket_end_s, item->bucket.start_s + kDayS);
      order.NotePushed(*item, feed.items(), now_s(), 1000);
      Confirm({{item->bucket, item->seal}});
      feed.LookAt(item->bucket);
    }
    EXPECT_TRUE(Outbox().empty());
    return days;
  }
  void SealDays(const std::vector<int>& days, const std::string& sensor = "a") {
    for (const int day : days) {
      AppendDay(sensor, day);
      SealAll();
    }
  }
  // `count` sensors with a row on the day.
  void SealMany(int count, int day, const std::string& prefix) {
    RowBatch batch(schema_);
    for (int i = 0; i < count; ++i) {
      AddRow(&batch, prefix + std::to_string(i), kStartMs + day * kDayMs, 1);
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    SealAll();
  }
  std::string EntityBytes(const std::string& sensor) { return Entity(sensor).bytes; }
  // Puts a record of meta beside the engine.
  void PutMeta(const std::string& key, const std::string& value) {
    const auto view = Core()->store().spills().view();
    ASSERT_TRUE(view->meta->db()->Put({}, view->meta->handle(), key, value).ok());
  }
  void DeleteMeta(const std::string& key) {
    const auto view = Core()->store().spills().view();
    ASSERT_TRUE(view->meta->db()->Delete({}, view->meta->handle(), key).ok());
  }

  std::set<std::string> held_;  // entities
  std::set<uint64_t> under_way_;
};

TEST_F(OutboxFeedTest, AnEmptyOutboxHasNothing) {
  OutboxFeed feed = Feed({});
  EXPECT_FALSE(*feed.Step(now_s()));
  EXPECT_TRUE(feed.items().empty());
  EXPECT_EQ(feed.looked_count(), 0u);
}

TEST_F(OutboxFeedTest, EachModeHasItsOrder) {
  const std::vector<int> sealed = {5, 1, 9, 3, 0, 7};
  SealDays(sealed);
  EXPECT_EQ(DrainDays({.mode = DrainMode::kOldest}), (std::vector<int64_t>{0, 1, 3, 5, 7, 9}));
  SealDays(sealed, "b");
  EXPECT_EQ(DrainDays({.mode = DrainMode::kNewest}, {2, 1}),
            (std::vector<int64_t>{9, 7, 5, 3, 1, 0}));
  SealDays(sealed, "c");
  clock_->AdvanceSeconds(8 * kDayS);  // the buckets of 7 and 9 are live
  EXPECT_EQ(DrainDays({.mode = DrainMode::kLiveFirst, .live_span_s = kDayS, .live_percent = 50}),
            (std::vector<int64_t>{9, 0, 7, 1, 3, 5}));
}

TEST_F(OutboxFeedTest, AmendmentsGoInTheOrderOfTheirSeals) {
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    for (int n = 0; n < 4; ++n) {
      MustAppend("a", kStartMs + n, n);
      SealAll();
    }
    ASSERT_EQ(Outbox().size(), 4u);
    const DrainPolicy policy{.mode = mode};
    OutboxFeed feed = Feed(policy);
    const DrainOrder order(policy);
    uint64_t last = 0;
    for (int n = 0; n < 4; ++n) {
      const auto item = TakeNext(&feed, order);
      ASSERT_TRUE(item);
      EXPECT_GT(item->seal, last);
      last = item->seal;
      under_way_.insert(last);
      EXPECT_FALSE(TakeNext(&feed, order)) << "one holds back those behind it";
      if (n == 2) {  // it waits again
        under_way_.clear();
        feed.LookAt(item->bucket);
        EXPECT_EQ(TakeNext(&feed, order)->seal, last);
        under_way_.insert(last);
      }
      Confirm({{item->bucket, last}});
      feed.LookAt(item->bucket);
    }
    EXPECT_FALSE(TakeNext(&feed, order));
  }
}

// No engine writes such a store: a bucket is sealed into one window. The feed does not rely on it.
TEST_F(OutboxFeedTest, AmendmentsInSeveralWindowsGoInOrder) {
  SealDays({0, 8});
  const auto entries = Outbox();
  ASSERT_EQ(entries.size(), 2u);
  auto view = std::make_shared<SpillView>(*Core()->store().spills().view());
  for (auto& window : view->windows) {
    WindowRecord record = window->record;
    if (window->id == entries[1].window_id) record.span.start_s = entries[0].bucket.start_s;
    record.seal_count = 2;
    window = std::make_shared<const WindowFamily>(window->id, window->family, record);
  }
  Core()->store().spills().Publish(view);
  const uint64_t later = entries[1].seal - 1;  // of the bucket of day 0, in the window of day 8
  ASSERT_GT(later, entries[0].seal);
  PutMeta(ManifestKey(entries[1].window_id, entries[0].bucket, later), EncodeManifest({}));
  PutMeta(OutboxKey(entries[1].window_id, later), EncodeBucketKey(entries[0].bucket));
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    OutboxFeed feed = Feed({.mode = mode});
    StepAll(&feed);
    EXPECT_EQ(SealsOf(feed.items()), (std::set<uint64_t>{entries[0].seal, entries[1].seal}));
  }
  DeleteMeta(OutboxKey(entries[0].window_id, entries[0].seal));
  OutboxFeed feed = Feed({.mode = DrainMode::kOldest});
  StepAll(&feed);
  EXPECT_EQ(SealsOf(feed.items()), (std::set<uint64_t>{later, entries[1].seal}));
}

TEST_F(OutboxFeedTest, ItemsAreBoundedAndAllGo) {
  SealMany(2900, 0, "a");
  SealMany(100, 6, "z");
  clock_->AdvanceSeconds(6 * kDayS);
  ASSERT_EQ(Outbox().size(), 3000u);
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    const DrainPolicy policy{.mode = mode};
    OutboxFeed feed = Feed(policy);
    StepAll(&feed);
    const size_t live_count = mode == DrainMode::kOldest ? 0 : 100;
    const size_t full_count =
        mode == DrainMode::kLiveFirst ? limits::kDrainItemsMax / 2 + 100 : limits::kDrainItemsMax;
    EXPECT_EQ(feed.items().size(), full_count);
    EXPECT_EQ(static_cast<size_t>(std::count_if(
                  feed.items().begin(), feed.items().end(),
                  [](const DrainItem& item) { return item.bucket.start_s > kStartS; })),
              live_count);
    size_t taken = 0;
    for (; !feed.items().empty(); StepAll(&feed)) {
      const auto item = feed.Take(feed.items().size() / 2);
      ASSERT_TRUE(item.ok() && *item);
      EXPECT_TRUE(under_way_.insert((*item)->seal).second) << "twice";
      ++taken;
    }
    EXPECT_EQ(taken, 3000u);
    EXPECT_LT(feed.looked_count(), 6100u) << "an entry is looked at once by each walk";
    under_way_.clear();
  }
}

TEST_F(OutboxFeedTest, WhatMayNotGoIsPassedOverOnce) {
  for (int i = 0; i < 600; ++i) held_.insert(EntityBytes("h" + std::to_string(i)));
  SealMany(600, 0, "h");
  SealDays({1, 2, 3});
  OutboxFeed feed = Feed({.mode = DrainMode::kOldest});
  StepAll(&feed);
  EXPECT_EQ(feed.items().size(), 3u);
  EXPECT_EQ(feed.looked_count(), 603u);
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE((*feed.Take(0)).has_value());
    StepAll(&feed);
  }
  SealDays({1, 5});
  StepAll(&feed);
  EXPECT_EQ(feed.looked_count(), 605u) << "only what is new is looked at";
  EXPECT_EQ(feed.items().size(), 2u);
  held_.clear();
  StepAll(&feed);
  EXPECT_EQ(feed.items().size(), 2u);
  feed.Wake();
  StepAll(&feed);
  EXPECT_EQ(feed.items().size(), 605u - 1) << "two seals of day 1 are of one bucket";
  EXPECT_EQ(feed.looked_count(), 2 * 605u);
}

// A table was found to differ upstream when the first of its seals was about to go.
TEST_F(OutboxFeedTest, WhatMayNotGoAnyMoreLeavesTheItems) {
  SealMany(5, 0, "h");
  SealDays({1});
  OutboxFeed feed = Feed({.mode = DrainMode::kOldest});
  StepAll(&feed);
  ASSERT_EQ(feed.items().size(), 6u);
  for (int i = 0; i < 5; ++i) held_.insert(EntityBytes("h" + std::to_string(i)));
  const auto items = feed.items();
  const auto at = std::find_if(items.begin(), items.end(), [this](const DrainItem& item) {
    return held_.contains(item.bucket.entity);
  });
  EXPECT_FALSE((*feed.Take(static_cast<size_t>(at - items.begin()))).has_value());
  ASSERT_EQ(feed.items().size(), 1u);
  EXPECT_TRUE((*feed.Take(0)).has_value());
}

// With the items full, what comes into a window that the walk has passed takes the place of what
// it found last, which is found again.
TEST_F(OutboxFeedTest, NewSealsThatGoBeforeAreAmongTheItems) {
  const FeedLimits limits{4, 256};
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest}) {
    const int sign = mode == DrainMode::kOldest ? 1 : -1;
    const DrainPolicy policy{.mode = mode};
    SealMany(6, 20, "a");
    OutboxFeed feed = Feed(policy, limits);
    StepAll(&feed);
    ASSERT_EQ(feed.items().size(), 4u);
    SealMany(2, 20 - sign * 10, "b");
    SealMany(2, 20 + sign * 10, "c");
    StepAll(&feed);
    ASSERT_EQ(feed.items().size(), 4u);
    const DrainOrder order(policy);
    std::vector<int64_t> days;
    std::vector<SealName> gone;
    while (const auto item = TakeNext(&feed, order)) {
      days.push_back((item->bucket.start_s - kStartS) / kDayS);
      gone.push_back({item->bucket, item->seal});
    }
    const int64_t first = 20 - sign * 10;
    const int64_t last = 20 + sign * 10;
    EXPECT_EQ(days, (std::vector<int64_t>{first, first, 20, 20, 20, 20, 20, 20, last, last}));
    Confirm(gone);
  }
}

TEST_F(OutboxFeedTest, WhatIsConfirmedMeanwhileIsDropped) {
  SealDays({0, 1});
  MustAppend("a", kStartMs + 1, 2);
  SealAll();
  OutboxFeed feed = Feed({.mode = DrainMode::kOldest});
  StepAll(&feed);
  ASSERT_EQ(feed.items().size(), 2u);
  const SealName first = Earliest().front();
  Confirm({first});
  EXPECT_EQ(feed.items()[0].seal, first.seal);
  EXPECT_FALSE((*feed.Take(0)).has_value());
  StepAll(&feed);
  EXPECT_EQ(SealsOf(feed.items()), SealsOf(Earliest())) << "the amendment comes in its place";
}

// A seal that waits again, by hand, goes before those of its bucket that are known.
TEST_F(OutboxFeedTest, AnEarlierSealThatIsBackGoesFirst) {
  SealDays({0, 0});
  const SealName first = Earliest().front();
  const auto window_id = Outbox().front().window_id;
  DeleteMeta(OutboxKey(window_id, first.seal));
  OutboxFeed feed = Feed({.mode = DrainMode::kOldest});
  StepAll(&feed);
  ASSERT_EQ(feed.items().size(), 1u);
  ASSERT_GT(feed.items()[0].seal, first.seal);
  PutMeta(OutboxKey(window_id, first.seal), EncodeBucketKey(first.bucket));
  EXPECT_FALSE((*feed.Take(0)).has_value());
  StepAll(&feed);
  ASSERT_EQ(feed.items().size(), 1u);
  EXPECT_EQ((*feed.Take(0))->seal, first.seal);
}

TEST_F(OutboxFeedTest, MergedWindowsLoseNothing) {
  LiveDays(7);
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    OutboxFeed feed = Feed({.mode = mode}, {1000, 2});
    EXPECT_TRUE(*feed.Step(now_s()));
    EXPECT_TRUE(*feed.Step(now_s()));
    const uint64_t merges = engine_->GetMetrics().window_merges;
    LiveDays(8);
    ASSERT_GT(engine_->GetMetrics().window_merges, merges);
    StepAll(&feed);
    EXPECT_EQ(SealsOf(feed.items()), SealsOf(Outbox()));
    LiveDays(8);
    StepAll(&feed);
    EXPECT_EQ(SealsOf(feed.items()), SealsOf(Outbox()));
    for (; !feed.items().empty(); StepAll(&feed)) {
      const auto item = feed.Take(0);
      ASSERT_TRUE(item.ok() && *item);
      under_way_.insert((*item)->seal);
    }
    EXPECT_EQ(under_way_, SealsOf(Outbox()));
    under_way_.clear();
  }
}

// The feed holds nothing of the store between two steps: a window that ended is forgotten.
TEST_F(OutboxFeedTest, AWindowThatEndsTakesItsSealsAlong) {
  RowBatch batch(schema_);
  AddRow(&batch, "a", kStartMs, 1, RowKind::kInsert, 3600);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  SealDays({8});
  OutboxFeed feed = Feed({.mode = DrainMode::kOldest});
  StepAll(&feed);
  ASSERT_EQ(feed.items().size(), 2u);
  const uint64_t dead = Outbox().front().seal;
  clock_->AdvanceSeconds(3600);
  ASSERT_EQ(engine_->Expire()->windows, 1u);
  TickAll();
  EXPECT_TRUE(Core()->store().spills().view()->ended.empty());
  EXPECT_TRUE(SealsOf(feed.items()).contains(dead)) << "until it is taken, or the next step";
  const size_t index = feed.items()[0].seal == dead ? 0 : 1;
  EXPECT_FALSE((*feed.Take(index)).has_value());
  StepAll(&feed);
  EXPECT_EQ(SealsOf(feed.items()), SealsOf(Outbox()));
  EXPECT_EQ(feed.items().size(), 1u);
}

TEST_F(OutboxFeedTest, WhatIsDamagedIsNamedAndTheOthersGo) {
  SealDays({0, 1, 2, 3, 4});
  const auto entries = Outbox();
  DeleteMeta(ManifestKey(entries[0].window_id, entries[0].bucket, entries[0].seal));
  PutMeta(OutboxKey(entries[1].window_id, entries[1].seal), "no bucket");
  BucketKey unknown = entries[2].bucket;
  unknown.table_id = 77;
  PutMeta(OutboxKey(entries[2].window_id, entries[2].seal), EncodeBucketKey(unknown));
  for (const DrainMode mode : {DrainMode::kOldest, DrainMode::kNewest, DrainMode::kLiveFirst}) {
    OutboxFeed feed = Feed({.mode = mode}, {100, 1});
    StepAll(&feed);
    EXPECT_EQ(SealsOf(feed.items()), (std::set<uint64_t>{entries[3].seal, entries[4].seal}));
    std::string all;
    for (const std::string& what : feed.damaged()) all += what + "\n";
    EXPECT_EQ(feed.damaged().size(), 3u) << all;
    EXPECT_NE(all.find("plant.pumps a 2027-01-15: the outbox has seal"), std::string::npos) << all;
    EXPECT_NE(all.find("which has no manifest"), std::string::npos) << all;
    EXPECT_NE(all.find("an outbox entry does not parse"), std::string::npos) << all;
    EXPECT_NE(all.find("there is no table of number 77"), std::string::npos) << all;
  }
}

TEST_F(OutboxFeedTest, ANewOneBeginsWhereAnOldOneWould) {
  SealDays({4, 2, 2, 0});
  OutboxFeed feed = Feed({.mode = DrainMode::kNewest});
  StepAll(&feed);
  const auto seals = SealsOf(feed.items());
  EXPECT_EQ(seals.size(), 3u);
  Reopen();
  OutboxFeed anew = Feed({.mode = DrainMode::kNewest});
  StepAll(&anew);
  EXPECT_EQ(SealsOf(anew.items()), seals);
}

TEST_F(OutboxFeedTest, TheSummaryIsThatOfTheEntries) {
  const auto summary = [this] { return SummarizeOutbox(*Core()->store().spills().view()); };
  EXPECT_EQ(summary().seal_count, 0u);
  EXPECT_EQ(summary().oldest_start_s, std::nullopt);
  SealDays({0, 0, 8});
  EXPECT_EQ(summary().seal_count, 3u);
  EXPECT_EQ(summary().window_count, 2u);
  EXPECT_EQ(summary().oldest_start_s, Outbox().front().window_start_s);
  Confirm({Outbox()[0], Outbox()[1]});
  EXPECT_EQ(summary().seal_count, 1u);
  EXPECT_EQ(summary().window_count, 1u);
  EXPECT_EQ(summary().oldest_start_s, Outbox().front().window_start_s);
  Reopen();
  EXPECT_EQ(summary().seal_count, 1u);
}

}  // namespace
}  // namespace cistern::replicate
