// A store with an outbox, and what is in it by looking at all of it.
#ifndef CISTERN_TESTS_ENGINE_REPLICATE_OUTBOX_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_REPLICATE_OUTBOX_FIXTURE_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/bucketing/bucketer.h"
#include "engine/replicate/outbox_feed.h"
#include "storage/outbox.h"
#include "tests/engine/window_merge_fixture.h"

namespace cistern::replicate {

// One that waits, beside the window it waits in.
struct WaitingSeal : SealName {
  uint64_t window_id = 0;
  int64_t window_start_s = 0;
};

class OutboxFixture : public testing::WindowMergeTest {
 protected:
  OutboxFixture() { options_.event_future_s_max = 1000 * testing::kDayS; }

  void AppendDay(const std::string& sensor, int day, double flow = 1) {
    MustAppend(sensor, testing::kStartMs + day * testing::kDayMs, flow);
  }
  [[nodiscard]] int64_t now_s() const { return clock_->WallMicros() / 1'000'000; }
  // All of the outbox, by the beginnings of the windows, then seals.
  std::vector<WaitingSeal> Outbox() {
    std::vector<WaitingSeal> out;
    const auto view = Core()->store().spills().view();
    auto windows = view->windows;
    std::stable_sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) {
      return a->record.span.start_s < b->record.span.start_s;
    });
    for (const auto& window : windows) {
      OutboxWalker walker(view, window->id);
      for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
        out.push_back(
            {{(*entry)->bucket, (*entry)->seal}, window->id, window->record.span.start_s});
      }
    }
    return out;
  }
  // Of each bucket the earliest, in that order.
  std::vector<WaitingSeal> Earliest() {
    std::map<std::string, uint64_t> first;
    std::vector<WaitingSeal> out = Outbox();
    for (const WaitingSeal& w : out) {
      const auto at = first.try_emplace(EncodeBucketKey(w.bucket), w.seal).first;
      at->second = std::min(at->second, w.seal);
    }
    std::erase_if(out, [&first](const WaitingSeal& w) {
      return first.at(EncodeBucketKey(w.bucket)) != w.seal;
    });
    return out;
  }
  void Confirm(const std::vector<SealName>& seals) {
    const Status s = TryConfirm(seals);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  static std::set<uint64_t> SealsOf(std::span<const DrainItem> items) {
    std::set<uint64_t> seals;
    for (const DrainItem& item : items) seals.insert(item.seal);
    EXPECT_EQ(seals.size(), items.size());
    return seals;
  }
  static std::set<uint64_t> SealsOf(const std::vector<WaitingSeal>& waiting) {
    std::set<uint64_t> seals;
    for (const WaitingSeal& w : waiting) seals.insert(w.seal);
    return seals;
  }
  // Steps until nothing more is found.
  void StepAll(OutboxFeed* feed) {
    for (int steps = 0; steps < 100'000; ++steps) {
      const Result<bool> more = feed->Step(now_s());
      ASSERT_TRUE(more.ok()) << more.status().ToString();
      if (!*more) return;
    }
    FAIL() << "it finds more for ever";
  }
  // Takes what the order chooses; nothing when all is taken.
  std::optional<DrainItem> TakeNext(OutboxFeed* feed, const DrainOrder& order) {
    while (true) {
      StepAll(feed);
      const std::optional<size_t> index = order.Choose(feed->items(), now_s());
      if (!index) return std::nullopt;
      auto item = feed->Take(*index);
      EXPECT_TRUE(item.ok()) << item.status().ToString();
      if (!item.ok()) return std::nullopt;
      if (*item) return **item;
    }
  }
};

}  // namespace cistern::replicate

#endif  // CISTERN_TESTS_ENGINE_REPLICATE_OUTBOX_FIXTURE_H_
