// OutboxFeed: which seals of the outbox may be pushed next.
//
// The outbox may have hundreds of thousands of entries, and lies by window and seal: the feed holds
// a bounded number of them for DrainOrder, the first ones of a walk. A walk goes over the windows
// in order of time, oldest or newest first, and in each over the seals. It remembers of each window
// which stretch of seals it has visited, so that what it passed over costs nothing any more, and
// new seals, whose numbers are above all others, are found by one look at each window. Nothing of
// the store is held between two steps.
//
// Only the earliest seal of a bucket may go; where a walk meets a later one first it takes the
// earliest instead.
#ifndef CISTERN_ENGINE_REPLICATE_OUTBOX_FEED_H_
#define CISTERN_ENGINE_REPLICATE_OUTBOX_FEED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "cistern/result.h"
#include "engine/bucketing/bucketer.h"
#include "engine/replicate/drain_order.h"
#include "storage/outbox.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern::replicate {

struct FeedLimits {
  size_t item_count_max = limits::kDrainItemsMax;  // from 2
  size_t look_count_max = 256;                     // of entries, in one step; from 1
};

// One thread at a time.
class OutboxFeed {
 public:
  // Whether the seal may go now: not one that is parked, under way or held, nor one of a table that
  // may not be sent to. Called from Step and Take alone.
  using MayGo = std::function<bool(const DrainItem&)>;

  // `store` and `tables` outlive the feed.
  OutboxFeed(Store* store, const TableSet* tables, const DrainPolicy& policy, MayGo may_go,
             const FeedLimits& limits = {});
  ~OutboxFeed();

  // Looks at a bounded number of entries. True: there is more to find now. False: only once
  // something changes: the store, or by one of the calls below. `now_s`: which buckets are live.
  // Errors are the store's; the same step may be taken again.
  [[nodiscard]] Result<bool> Step(int64_t now_s);

  // Seals that wait, each the earliest of its bucket, at most FeedLimits::item_count_max. They
  // may go, as far as was known when they were found. Valid until the next call.
  [[nodiscard]] std::span<const DrainItem> items() const { return items_; }
  // Takes one out. Nothing: it is gone meanwhile, not its bucket's earliest any more, or may not
  // go; then nothing that may not go is left among the items. REQUIRES: index < items().size().
  [[nodiscard]] Result<std::optional<DrainItem>> Take(size_t index);

  // --- what walks have passed over, or was taken, may go now
  // The bucket's earliest seal: one was confirmed, or waits again.
  void LookAt(const BucketKey& bucket);
  // Any, or confirmed seals were put back: every entry is looked at anew.
  void Wake();

  // Entries that cannot be sent, each in words, as far as they were met since the last Wake(); at
  // most limits::kDrainItemsMax.
  [[nodiscard]] const std::set<std::string>& damaged() const { return damaged_; }
  // Entries that were looked at, since the feed was made.
  [[nodiscard]] uint64_t looked_count() const { return looked_count_; }
  // Of heap, about.
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  // Seals of a window: from <= seal < below.
  struct Stretch {
    uint64_t from = 0;
    uint64_t below = 0;
  };
  struct Walk {
    bool newest_first = false;
    bool live_only = false;  // passes over buckets that are not live
    size_t item_count_max = 0;
    size_t item_count = 0;
    std::map<uint64_t, Stretch> visited;  // by window
  };
  // Where an item stands in a walk: at the entry that led to it.
  struct Place {
    size_t walk = 0;
    uint64_t window_id = 0;
    uint64_t seal = 0;
  };
  struct TableRule {
    TablePtr table;
    Bucketer bucketer;
  };
  class Pass;  // what a step looks at

  void Add(DrainItem item, const Place& place);
  void Remove(size_t index);
  // An entry that was visited is visited again once there is room for it.
  void ForgetVisit(const Place& place);
  [[nodiscard]] bool HasVisitedWindows(const SpillView& view) const;
  // Nothing: it cannot be sent, and is noted.
  [[nodiscard]] std::optional<DrainItem> ItemOf(const SealName& name);
  [[nodiscard]] Result<std::optional<WaitingSeals::Place>> EarliestOf(WaitingSeals* waiting,
                                                                      const BucketKey& bucket);
  void NoteDamaged(std::string what);

  Store* const store_;
  const TableSet* const tables_;
  const DrainPolicy policy_;
  const MayGo may_go_;
  const FeedLimits limits_;

  std::vector<DrainItem> items_;
  std::vector<Place> places_;      // of the items
  std::set<uint64_t> item_seals_;  // the same
  std::vector<Walk> walks_;        // the second, if there is one, is that of live buckets
  std::vector<BucketKey> to_look_at_;
  std::map<uint32_t, TableRule> rules_;
  std::set<std::string> damaged_;
  uint64_t looked_count_ = 0;
  bool has_more_ = true;  // to find, in the view of that number
  uint64_t view_number_ = 0;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_OUTBOX_FEED_H_
