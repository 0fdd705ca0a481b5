// The ends of windows: the batch by which all buckets of one go, and what is left to do then.
#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/crash_point.h"
#include "storage/confirmed_seals.h"
#include "storage/ended_seals.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_status.h"
#include "storage/store.h"

namespace cistern {

namespace {

// With its outbox entries.
void DeleteManifests(uint64_t window_id, rocksdb::ColumnFamilyHandle* meta,
                     rocksdb::WriteBatch* batch) {
  batch->DeleteRange(meta, ManifestKeyFrom(window_id, ""), ManifestKeyFrom(window_id + 1, ""));
  batch->DeleteRange(meta, OutboxKeyFrom(window_id), OutboxKeyFrom(window_id + 1));
}

}  // namespace

bool Store::MayBeRead(uint64_t spill_id) const {
  const auto view = spills_.view();
  const bool live = std::any_of(view->families.begin(), view->families.end(),
                                [&](const auto& f) { return f->id == spill_id; });
  if (live) return true;
  const bool damaged = std::any_of(damaged_.begin(), damaged_.end(),
                                   [&](const auto& d) { return d.family_id == spill_id; });
  const auto held = held_spills_.find(spill_id);
  return damaged || (held != held_spills_.end() && !held->second.expired());
}

void Store::HandOnAwaited(uint64_t from, uint64_t to, rocksdb::WriteBatch* batch,
                          std::map<uint64_t, WindowRecord>* changed) const {
  for (const auto& [id, record] : window_records_) {
    std::set<uint64_t> awaited(record.awaited.begin(), record.awaited.end());
    if (record.ended || awaited.erase(from) == 0) continue;
    awaited.insert(to);
    WindowRecord& next = (*changed)[id] = record;
    next.awaited.assign(awaited.begin(), awaited.end());
    batch->Put(meta_->handle(), WindowKey(id), EncodeWindow(next));
  }
}

// The sums of the window's record move the counters, so that the batch is as small for ten
// million rows as for one. What it leaves in meta is removed later, by one range. What is
// remembered of pushes is not: it is little, and kept by seal.
Result<std::shared_ptr<const SpillView>> Store::EndWindow(uint64_t window_id, Ending ending) {
  WindowRecord record = window_records_.at(window_id);
  CISTERN_CHECK(!record.ended);
  record.ended = true;
  if (HasSourceToRead(record)) CopyEndedSeals(window_id);
  rocksdb::WriteBatch batch;
  batch.Put(meta_->handle(), WindowKey(window_id), EncodeWindow(record));
  PushChanges pushes;
  for (const auto& [seal, push] : pushes_) {
    if (push.window_id == window_id) pushes[seal] = std::nullopt;
  }
  AddToBatch(pushes, &batch);
  auto next = std::make_shared<SpillView>(*spills_.view());
  {
    const std::lock_guard lock(state_mutex_);
    StateRecord state = state_;
    (ending == Ending::kExpired ? state.versions_expired : state.versions_shed) +=
        record.version_count;
    batch.Put(meta_->handle(), std::string(kStateKey), EncodeState(state));
    CrashPoint("window:before_end");
    CatalogChange change;
    change.Delete(CatalogRoundsKey(window_id));
    change.Delete(CatalogConfirmedKey(window_id));
    CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "ending a window", std::move(change)));
    CrashPoint("window:after_end");
    state_ = state;
    next->versions_expired = state.versions_expired;
    next->versions_shed = state.versions_shed;
  }
  Apply(std::move(pushes), next.get());
  MoveToEnded(window_id, std::move(record), next.get());
  return std::shared_ptr<const SpillView>(std::move(next));
}

void Store::MoveToEnded(uint64_t window_id, WindowRecord record, SpillView* next) {
  const auto at = std::find_if(next->windows.begin(), next->windows.end(),
                               [&](const auto& w) { return w->id == window_id; });
  ended_families_[window_id] = (*at)->family;
  ended_by_view_[window_id] = spills_.number() + 1;
  next->windows.erase(at);
  next->ended.push_back({window_id, record.span});
  window_records_[window_id] = std::move(record);
}

// The records of the sources are emptied: nothing of them counts twice, and no spill family
// needs their manifests, which the target has as well. Readers of an older view do.
Result<std::shared_ptr<const SpillView>> Store::CommitMerge(const WindowMerge& merge) {
  WindowRecord target = merge.sums;
  target.span = merge.span;
  rocksdb::WriteBatch batch;
  std::set<uint64_t> sources;
  std::set<uint64_t> awaited;
  std::map<uint64_t, WindowRecord> emptied;
  CatalogChange change;
  const auto records = copy_->content().records;
  for (const auto& window : merge.sources) {
    const WindowRecord& was = window_records_.at(window->id);
    sources.insert(was.sources.begin(), was.sources.end());
    awaited.insert(was.awaited.begin(), was.awaited.end());
    WindowRecord& record = emptied[window->id];
    record.span = was.span;
    record.ended = true;
    batch.Put(meta_->handle(), WindowKey(window->id), EncodeWindow(record));
    for (const auto key_of : {CatalogRoundsKey, CatalogConfirmedKey}) {
      const auto copied = records.find(key_of(window->id));
      if (copied == records.end()) continue;
      change.Append(key_of(merge.target_id), copied->second);
      change.Delete(copied->first);
    }
  }
  PushChanges pushes;
  for (const auto& [seal, push] : pushes_) {
    if (!emptied.contains(push.window_id)) continue;
    PushRecord moved = push;
    moved.window_id = merge.target_id;
    pushes[seal] = std::move(moved);
  }
  AddToBatch(pushes, &batch);
  target.sources.assign(sources.begin(), sources.end());
  target.awaited.assign(awaited.begin(), awaited.end());
  batch.Put(meta_->handle(), WindowKey(merge.target_id), EncodeWindow(target));
  CrashPoint("merge:before_commit");
  CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "merging windows", std::move(change)));
  CrashPoint("merge:after_commit");
  auto next = std::make_shared<SpillView>(*spills_.view());
  Apply(std::move(pushes), next.get());
  for (auto& [id, record] : emptied) MoveToEnded(id, std::move(record), next.get());
  next->windows.push_back(
      std::make_shared<const WindowFamily>(merge.target_id, merge.target, target));
  window_records_[merge.target_id] = std::move(target);
  return std::shared_ptr<const SpillView>(std::move(next));
}

// Its manifests first: without the family nobody would know of them.
Status Store::AbandonWindow(uint64_t window_id, const FamilyPtr& family) {
  rocksdb::WriteBatch batch;
  DeleteManifests(window_id, meta_->handle(), &batch);
  CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "abandoning a window"));
  const rocksdb::Status s = db_->db()->DropColumnFamily(family->handle());
  return s.ok() ? Status::Ok() : ToStatus(s, "dropping an unused window");
}

Result<std::optional<DroppedWindow>> Store::DropEndedWindow() {
  if (ended_families_.empty()) return std::optional<DroppedWindow>();
  const auto ended = ended_families_.begin();
  // One that was merged has an emptied record; no other is without seals.
  const DroppedWindow dropped{window_records_.at(ended->first).seal_count == 0};
  CrashPoint("window:before_drop");
  const rocksdb::Status s = db_->db()->DropColumnFamily(ended->second->handle());
  if (!s.ok()) return ToStatus(s, "dropping a window");
  CrashPoint("window:after_drop");
  held_windows_.push_back(ended->second);
  ended_families_.erase(ended);
  std::erase_if(held_windows_, [](const auto& held) { return held.expired(); });
  return std::optional(dropped);
}

bool Store::HoldsDroppedWindow() const {
  return std::any_of(held_windows_.begin(), held_windows_.end(),
                     [](const auto& held) { return !held.expired(); });
}

Result<std::shared_ptr<const SpillView>> Store::ForgetEndedWindow() {
  std::erase_if(held_spills_, [](const auto& held) { return held.second.expired(); });
  for (const auto& [id, record] : window_records_) {
    if (!record.ended || ended_families_.contains(id) || HasSourceToRead(record)) continue;
    const auto by_view = ended_by_view_.find(id);
    if (by_view != ended_by_view_.end() && spills_.HoldsBefore(by_view->second)) continue;
    return Forget(id);
  }
  return std::shared_ptr<const SpillView>();
}

// Not synced: what a power cut takes back is done again.
Result<std::shared_ptr<const SpillView>> Store::Forget(uint64_t window_id) {
  rocksdb::WriteBatch batch;
  DeleteManifests(window_id, meta_->handle(), &batch);
  batch.Delete(meta_->handle(), WindowKey(window_id));
  CrashPoint("window:before_forget");
  CISTERN_RETURN_IF_ERROR(WriteMeta(&batch, false, "forgetting a window"));
  CrashPoint("window:after_forget");
  // What is left of it goes with the next opening.
  RemoveEndedSeals(db_->opened().fs.get(), directory(), window_id).IgnoreError();
  window_records_.erase(window_id);
  ended_by_view_.erase(window_id);
  auto next = std::make_shared<SpillView>(*spills_.view());
  std::erase_if(next->ended, [&](const EndedWindow& w) { return w.id == window_id; });
  return std::shared_ptr<const SpillView>(std::move(next));
}

}  // namespace cistern
