#include "engine/replicate/outbox_feed.h"

#include <algorithm>
#include <utility>

#include "cistern/limits.h"
#include "engine/bucketing/bucket_name.h"
#include "lib/base/concat.h"

namespace cistern::replicate {

// One step: the store as it is now, and how much of it may still be looked at.
class OutboxFeed::Pass {
 public:
  Pass(OutboxFeed* feed, std::shared_ptr<const SpillView> view, int64_t now_s);

  // --- false: the step is over before this was done
  [[nodiscard]] Result<bool> LookAtBuckets();
  [[nodiscard]] Result<bool> Go(size_t walk_index);

 private:
  enum class Outcome : uint8_t {
    kEnd,   // all was visited
    kFull,  // what follows has no room
    kOver,  // the step is
  };
  [[nodiscard]] Result<Outcome> Visit(size_t walk_index, uint64_t window_id,
                                      const OutboxRange& range);
  [[nodiscard]] Result<bool> VisitEntry(const OutboxEntry& entry, const Place& place);
  [[nodiscard]] bool Offer(DrainItem item, const Place& place);
  [[nodiscard]] bool HasRoomFor(const Place& place) const;
  [[nodiscard]] Stretch* VisitedOf(Walk* walk, uint64_t window_id) const;
  [[nodiscard]] std::pair<size_t, uint64_t> OrderOf(const Place& place) const;
  [[nodiscard]] size_t LastOf(size_t walk_index) const;

  OutboxFeed* const feed_;
  const std::shared_ptr<const SpillView> view_;
  const int64_t now_s_;
  const uint64_t seals_end_;  // behind every seal that the view has
  WaitingSeals waiting_;
  std::vector<const WindowFamily*> windows_;  // where seals wait, oldest first
  std::map<uint64_t, size_t> ranks_;          // of those, from 0
  size_t looks_left_ = 0;
};

OutboxFeed::Pass::Pass(OutboxFeed* feed, std::shared_ptr<const SpillView> view, int64_t now_s)
    : feed_(feed),
      view_(std::move(view)),
      now_s_(now_s),
      seals_end_((view_->round_last + 1) << kSegmentIndexBits),
      waiting_(view_),
      looks_left_(feed_->limits_.look_count_max) {
  for (const auto& window : view_->windows) {
    if (WaitingCount(window->record) > 0) windows_.push_back(window.get());
  }
  std::stable_sort(windows_.begin(), windows_.end(), [](const auto* a, const auto* b) {
    return a->record.span.start_s < b->record.span.start_s;
  });
  for (size_t i = 0; i < windows_.size(); ++i) ranks_[windows_[i]->id] = i;
}

// A window that was never visited begins at the end that the walk comes from.
OutboxFeed::Stretch* OutboxFeed::Pass::VisitedOf(Walk* walk, uint64_t window_id) const {
  const Stretch none = walk->newest_first ? Stretch{seals_end_, seals_end_} : Stretch{};
  return &walk->visited.try_emplace(window_id, none).first->second;
}

// By which the places of a walk compare, the first least. A window where nothing waits any more
// stands behind all others.
std::pair<size_t, uint64_t> OutboxFeed::Pass::OrderOf(const Place& place) const {
  const bool newest_first = feed_->walks_[place.walk].newest_first;
  const uint64_t seal = newest_first ? ~place.seal : place.seal;
  const auto rank = ranks_.find(place.window_id);
  if (rank == ranks_.end()) return {windows_.size(), seal};
  return {newest_first ? windows_.size() - 1 - rank->second : rank->second, seal};
}

size_t OutboxFeed::Pass::LastOf(size_t walk_index) const {
  std::optional<size_t> last;
  for (size_t i = 0; i < feed_->places_.size(); ++i) {
    const Place& place = feed_->places_[i];
    if (place.walk != walk_index) continue;
    if (!last || OrderOf(place) > OrderOf(feed_->places_[*last])) last = i;
  }
  return *last;
}

// Whether the items of its walk are too few, or one of them stands behind it.
bool OutboxFeed::Pass::HasRoomFor(const Place& place) const {
  const Walk& walk = feed_->walks_[place.walk];
  return walk.item_count < walk.item_count_max ||
         OrderOf(place) < OrderOf(feed_->places_[LastOf(place.walk)]);
}

// False: there is no room.
bool OutboxFeed::Pass::Offer(DrainItem item, const Place& place) {
  if (!HasRoomFor(place)) return false;
  const Walk& walk = feed_->walks_[place.walk];
  if (walk.item_count == walk.item_count_max) {
    const size_t last = LastOf(place.walk);
    const Place gives_way = feed_->places_[last];
    feed_->Remove(last);
    feed_->ForgetVisit(gives_way);
  }
  feed_->Add(std::move(item), place);
  return true;
}

Result<bool> OutboxFeed::Pass::LookAtBuckets() {
  std::vector<BucketKey>& buckets = feed_->to_look_at_;
  for (; !buckets.empty(); buckets.pop_back()) {
    if (looks_left_ == 0) return false;
    --looks_left_;
    ++feed_->looked_count_;
    CISTERN_ASSIGN_OR_RETURN(const auto earliest, feed_->EarliestOf(&waiting_, buckets.back()));
    if (!earliest || feed_->item_seals_.contains(earliest->seal)) continue;
    std::optional<DrainItem> item = feed_->ItemOf({buckets.back(), earliest->seal});
    if (!item || !feed_->may_go_(*item)) continue;
    const bool is_live = feed_->policy_.IsLive(item->bucket_end_s, now_s_);
    const Place place{is_live ? feed_->walks_.size() - 1 : 0, earliest->window_id, earliest->seal};
    (void)VisitedOf(&feed_->walks_[place.walk], place.window_id);
    if (!Offer(*std::move(item), place)) feed_->ForgetVisit(place);
  }
  return true;
}

// First what is new in a window, then what the walk has not come to yet.
Result<bool> OutboxFeed::Pass::Go(size_t walk_index) {
  Walk& walk = feed_->walks_[walk_index];
  for (size_t i = 0; i < windows_.size(); ++i) {
    const WindowFamily& window = *windows_[walk.newest_first ? windows_.size() - 1 - i : i];
    if (walk.live_only && !feed_->policy_.IsLive(window.record.span.end_s, now_s_)) continue;
    Stretch* visited = VisitedOf(&walk, window.id);
    Outcome outcome = Outcome::kEnd;
    if (visited->below < seals_end_) {
      CISTERN_ASSIGN_OR_RETURN(outcome,
                               Visit(walk_index, window.id, {visited->below, seals_end_, false}));
    }
    if (outcome == Outcome::kEnd && walk.newest_first && visited->from > 0) {
      CISTERN_ASSIGN_OR_RETURN(outcome, Visit(walk_index, window.id, {0, visited->from, true}));
    }
    if (outcome == Outcome::kFull) return true;
    if (outcome == Outcome::kOver) return false;
  }
  return true;
}

Result<OutboxFeed::Pass::Outcome> OutboxFeed::Pass::Visit(size_t walk_index, uint64_t window_id,
                                                          const OutboxRange& range) {
  Walk& walk = feed_->walks_[walk_index];
  Stretch* visited = VisitedOf(&walk, window_id);
  // Of what may come the first, in the walk's order.
  const uint64_t first = walk.newest_first ? range.below - 1 : range.from;
  if (!HasRoomFor({walk_index, window_id, first})) return Outcome::kFull;
  if (looks_left_ == 0) return Outcome::kOver;
  OutboxWalker walker(view_, window_id, range);
  while (true) {
    if (looks_left_ == 0) return Outcome::kOver;
    const Result<std::optional<OutboxEntry>> entry = walker.Next();
    if (!entry.ok() && entry.status().code() != StatusCode::kCorruption) return entry.status();
    if (entry.ok() && !*entry) break;
    if (!entry.ok()) {
      // Its seal is not known, so a step that ended here would meet it again for ever.
      feed_->NoteDamaged(entry.status().message());
      if (walker.is_over()) break;
      continue;
    }
    --looks_left_;
    ++feed_->looked_count_;
    const uint64_t seal = (*entry)->seal;
    CISTERN_ASSIGN_OR_RETURN(const bool is_visited,
                             VisitEntry(**entry, {walk_index, window_id, seal}));
    if (!is_visited) return Outcome::kFull;
    range.descending ? visited->from = seal : visited->below = seal + 1;
  }
  range.descending ? visited->from = range.from : visited->below = range.below;
  return Outcome::kEnd;
}

// False: it may go, and there is no room.
Result<bool> OutboxFeed::Pass::VisitEntry(const OutboxEntry& entry, const Place& place) {
  if (feed_->item_seals_.contains(entry.seal)) return true;
  std::optional<DrainItem> item = feed_->ItemOf(entry);
  if (!item) return true;
  if (!entry.has_manifest) {
    const TablePtr table = feed_->tables_->FindById(entry.bucket.table_id);
    feed_->NoteDamaged(Concat({
        BucketName(*table->schema, entry.bucket.entity, entry.bucket.start_s, entry.bucket.split),
        ": the outbox has seal ", entry.seal, " of window ", place.window_id,
        ", which has no manifest"}));
    return true;
  }
  const bool is_live = feed_->policy_.IsLive(item->bucket_end_s, now_s_);
  if (feed_->walks_[place.walk].live_only && !is_live) return true;
  if (!feed_->may_go_(*item)) return true;
  CISTERN_ASSIGN_OR_RETURN(const auto earliest, feed_->EarliestOf(&waiting_, entry.bucket));
  if (!earliest) return true;
  if (earliest->seal != entry.seal) {
    item->seal = earliest->seal;
    if (feed_->item_seals_.contains(item->seal) || !feed_->may_go_(*item)) return true;
  }
  return Offer(*std::move(item), place);
}

// --- OutboxFeed

OutboxFeed::OutboxFeed(Store* store, const TableSet* tables, const DrainPolicy& policy,
                       MayGo may_go, const FeedLimits& limits)
    : store_(store), tables_(tables), policy_(policy), may_go_(std::move(may_go)), limits_(limits) {
  const bool has_two = policy_.mode == DrainMode::kLiveFirst;
  const size_t item_count_max = limits_.item_count_max / (has_two ? 2 : 1);
  walks_.push_back({policy_.mode == DrainMode::kNewest, false, item_count_max, 0, {}});
  if (has_two) walks_.push_back({true, true, item_count_max, 0, {}});
}

OutboxFeed::~OutboxFeed() = default;

Result<bool> OutboxFeed::Step(int64_t now_s) {
  // Taken before the view, so that one which comes in between is looked at again.
  const uint64_t number = store_->spills().number();
  if (!has_more_ && number == view_number_) return false;
  const std::shared_ptr<const SpillView> view = store_->spills().view();
  if (!HasVisitedWindows(*view)) Wake();
  has_more_ = false;
  view_number_ = number;
  Pass pass(this, view, now_s);
  Result<bool> is_done = pass.LookAtBuckets();
  for (size_t walk = 0; walk < walks_.size() && is_done.ok() && *is_done; ++walk) {
    is_done = pass.Go(walk);
  }
  if (!is_done.ok() || !*is_done) has_more_ = true;
  CISTERN_RETURN_IF_ERROR(is_done.status());
  return has_more_;
}

Result<std::optional<DrainItem>> OutboxFeed::Take(size_t index) {
  WaitingSeals waiting(store_->spills().view());
  CISTERN_ASSIGN_OR_RETURN(const auto earliest, EarliestOf(&waiting, items_[index].bucket));
  DrainItem item = items_[index];
  Remove(index);
  if (!earliest) return std::optional<DrainItem>();
  if (earliest->seal != item.seal) {
    LookAt(item.bucket);
    return std::optional<DrainItem>();
  }
  if (may_go_(item)) return std::optional(std::move(item));
  // What holds this one holds others, as a rule.
  for (size_t i = items_.size(); i-- > 0;) {
    if (!may_go_(items_[i])) Remove(i);
  }
  return std::optional<DrainItem>();
}

void OutboxFeed::LookAt(const BucketKey& bucket) {
  if (to_look_at_.size() >= limits::kDrainItemsMax) return Wake();
  to_look_at_.push_back(bucket);
  has_more_ = true;
}

void OutboxFeed::Wake() {
  items_.clear();
  places_.clear();
  item_seals_.clear();
  to_look_at_.clear();
  damaged_.clear();
  for (Walk& walk : walks_) {
    walk.item_count = 0;
    walk.visited.clear();
  }
  has_more_ = true;
}

size_t OutboxFeed::MemoryBytes() const {
  constexpr size_t kNodeBytes = 64;  // of a map or set, about
  size_t bytes = sizeof(*this) + items_.size() * (sizeof(DrainItem) + sizeof(Place) + kNodeBytes);
  for (const DrainItem& item : items_) bytes += item.bucket.entity.capacity();
  for (const BucketKey& bucket : to_look_at_) bytes += sizeof(bucket) + bucket.entity.capacity();
  for (const Walk& walk : walks_) bytes += walk.visited.size() * kNodeBytes;
  for (const std::string& what : damaged_) bytes += kNodeBytes + what.capacity();
  return bytes;
}

void OutboxFeed::Add(DrainItem item, const Place& place) {
  item_seals_.insert(item.seal);
  items_.push_back(std::move(item));
  places_.push_back(place);
  ++walks_[place.walk].item_count;
}

void OutboxFeed::Remove(size_t index) {
  item_seals_.erase(items_[index].seal);
  --walks_[places_[index].walk].item_count;
  std::swap(items_[index], items_.back());
  std::swap(places_[index], places_.back());
  items_.pop_back();
  places_.pop_back();
  has_more_ = true;  // there is room
}

void OutboxFeed::ForgetVisit(const Place& place) {
  for (Walk& walk : walks_) {
    const auto at = walk.visited.find(place.window_id);
    if (at == walk.visited.end()) continue;
    Stretch& visited = at->second;
    if (place.seal < visited.from || place.seal >= visited.below) continue;
    walk.newest_first ? visited.from = place.seal + 1 : visited.below = place.seal;
    has_more_ = true;
  }
}

// A window that was merged into another, or has ended, takes its seals along.
bool OutboxFeed::HasVisitedWindows(const SpillView& view) const {
  std::set<uint64_t> live;
  for (const auto& window : view.windows) live.insert(window->id);
  return std::all_of(walks_.begin(), walks_.end(), [&live](const Walk& walk) {
    return std::all_of(walk.visited.begin(), walk.visited.end(),
                       [&live](const auto& visited) { return live.contains(visited.first); });
  });
}

std::optional<DrainItem> OutboxFeed::ItemOf(const SealName& name) {
  const BucketKey& bucket = name.bucket;
  const TablePtr table = tables_->FindById(bucket.table_id);
  if (table == nullptr) {
    NoteDamaged(Concat({"seal ", name.seal, ": there is no table of number ", bucket.table_id}));
    return std::nullopt;
  }
  auto rule = rules_.find(bucket.table_id);
  if (rule == rules_.end() || rule->second.table != table) {
    rule =
        rules_.insert_or_assign(bucket.table_id, TableRule{table, Bucketer(*table->schema)}).first;
  }
  const Bucketer& bucketer = rule->second.bucketer;
  if (!bucketer.IsStart(bucket.start_s)) {
    NoteDamaged(Concat({BucketName(*table->schema, bucket.entity, bucket.start_s, bucket.split),
        ": seal ", name.seal, " is of no bucket of the table"}));
    return std::nullopt;
  }
  DrainItem item;
  item.bucket = bucket;
  item.seal = name.seal;
  item.bucket_end_s = bucketer.Next(bucket.start_s);
  return item;
}

// What cannot be told of a damaged bucket does not stop the others.
Result<std::optional<WaitingSeals::Place>> OutboxFeed::EarliestOf(WaitingSeals* waiting,
                                                                  const BucketKey& bucket) {
  Result<std::optional<WaitingSeals::Place>> earliest = waiting->EarliestOf(bucket);
  if (earliest.ok() || earliest.status().code() != StatusCode::kCorruption) return earliest;
  NoteDamaged(earliest.status().message());
  return std::optional<WaitingSeals::Place>();
}

void OutboxFeed::NoteDamaged(std::string what) {
  if (damaged_.size() < limits::kDrainItemsMax) damaged_.insert(std::move(what));
}

}  // namespace cistern::replicate
