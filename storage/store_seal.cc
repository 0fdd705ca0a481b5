// Sealing: the batches by which buckets move from spill families into windows, and by which
// upstream confirms them.
#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/confirmed_seals.h"
#include "storage/create_family.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_status.h"
#include "storage/store.h"

namespace cistern {

Result<FamilyPtr> Store::CreateWindow(uint64_t window_id) {
  CrashPoint("seal:before_create");
  CISTERN_ASSIGN_OR_RETURN(
      FamilyPtr made,
      CreateFamily(db_, FamilyKind::kWindow, WindowFamilyName(window_id), "a window"));
  CrashPoint("seal:after_create");
  return made;
}

void Store::NoteFamilies(const SealCommit& commit, WindowRecord* window) const {
  const auto add = [this](std::set<uint64_t> ids, std::vector<uint64_t>* to) {
    ids.insert(to->begin(), to->end());
    std::erase_if(ids, [this](uint64_t id) { return !MayBeRead(id); });
    to->assign(ids.begin(), ids.end());
  };
  std::set<uint64_t> sources;
  for (const auto& [id, count] : commit.sealed_counts) sources.insert(id);
  add(std::move(sources), &window->sources);
  add(commit.awaited, &window->awaited);
}

Result<std::shared_ptr<const SpillView>> Store::CommitSeal(const SealCommit& commit) {
  rocksdb::WriteBatch batch;
  WindowRecord window = window_records_[commit.window_id];
  window.span = commit.span;
  uint64_t versions_kept = 0;
  for (const SealCommit::Bucket& bucket : commit.buckets) {
    batch.Put(meta_->handle(), ManifestKey(commit.window_id, bucket.key, bucket.seal),
              EncodeManifest(bucket.manifest));
    batch.Put(meta_->handle(), OutboxKey(commit.window_id, bucket.seal),
              EncodeBucketKey(bucket.key));
    versions_kept += bucket.manifest.version_count();
    AddSeal(bucket.manifest, &window);
  }
  window.dictionaries.insert(window.dictionaries.end(), commit.dictionaries.begin(),
                             commit.dictionaries.end());
  NoteFamilies(commit, &window);
  batch.Put(meta_->handle(), WindowKey(commit.window_id), EncodeWindow(window));
  std::map<uint64_t, SpillRecord> spills;
  uint64_t versions_taken = 0;
  for (const auto& [id, count] : commit.sealed_counts) {
    SpillRecord& record = spills[id] = spill_records_.at(id);
    record.sealed_count += count;
    if (record.sealed_count > record.version_count) {
      return Status::Corruption(Concat({"spill family ", id, " has ", record.version_count,
          " row versions and more than those would be sealed: a manifest of what was sealed before "
          "is missing"}));
    }
    versions_taken += count;
    batch.Put(meta_->handle(), SpillKey(id), EncodeSpill(record));
  }
  versions_taken += commit.versions_brought;
  CISTERN_CHECK(versions_taken >= versions_kept);  // merging makes nothing

  CatalogChange change;
  if (!commit.buckets.empty()) {
    std::string round;
    PutSealRound(&round, RoundOf(commit));
    change.Append(CatalogRoundsKey(commit.window_id), std::move(round));
  }
  auto next = std::make_shared<SpillView>(*spills_.view());
  if (!commit.buckets.empty()) next->round_last = RotationOf(commit.buckets.front().seal);
  {
    const std::lock_guard lock(state_mutex_);
    StateRecord state = state_;
    state.versions_written += commit.versions_brought;
    state.versions_superseded += versions_taken - versions_kept;
    batch.Put(meta_->handle(), std::string(kStateKey), EncodeState(state));
    CrashPoint("seal:before_commit");
    CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "committing seals", std::move(change)));
    CrashPoint("seal:after_commit");
    state_ = state;
    next->versions_superseded = state.versions_superseded;
  }
  window_records_[commit.window_id] = window;
  for (auto& family : next->families) {
    const auto changed = spills.find(family->id);
    if (changed == spills.end()) continue;
    spill_records_[family->id] = changed->second;
    family = std::make_shared<const SpillFamily>(family->id, family->family, changed->second);
  }
  std::erase_if(next->windows, [&](const auto& w) { return w->id == commit.window_id; });
  next->windows.push_back(
      std::make_shared<const WindowFamily>(commit.window_id, commit.window, window));
  std::sort(next->windows.begin(), next->windows.end(),
            [](const auto& a, const auto& b) { return a->id < b->id; });
  return std::shared_ptr<const SpillView>(std::move(next));
}

Result<std::shared_ptr<const SpillView>> Store::ConfirmSeals(std::span<const ProvenSeal> seals,
                                                             int64_t now_us,
                                                             std::set<uint64_t>* confirmed) {
  // By seal, as one may be named twice: the last proof counts.
  std::map<uint64_t, std::map<uint64_t, FoundSeal>> by_window;
  PushChanges pushes;
  for (const auto& [name, proof] : seals) {
    CISTERN_ASSIGN_OR_RETURN(auto entry, FindEntry(name));
    if (!entry) continue;
    entry->manifest.proof = proof;
    by_window[entry->window_id][name.seal] = {name, std::move(entry->manifest)};
    confirmed->insert(name.seal);
    if (pushes_.contains(name.seal)) pushes[name.seal] = std::nullopt;
  }
  if (by_window.empty()) return std::shared_ptr<const SpillView>();
  rocksdb::WriteBatch batch;
  CatalogChange change;
  std::map<uint64_t, WindowRecord> records;
  for (const auto& [window_id, numbers] : by_window) {
    ConfirmedSeals proofs;
    WindowRecord& record = records[window_id] = window_records_.at(window_id);
    for (const auto& [seal, found] : numbers) {
      batch.Delete(meta_->handle(), OutboxKey(window_id, seal));
      AddConfirmed(found.manifest, &record);
      proofs.Confirm(seal, 1, found.manifest.proof);
      if (found.manifest.proof == ProofLevel::kAck) continue;  // its manifest says so already
      batch.Put(meta_->handle(), ManifestKey(window_id, found.name.bucket, seal),
                EncodeManifest(found.manifest));
    }
    record.confirmed_count += numbers.size();
    record.confirmed_us_last = std::max(record.confirmed_us_last, now_us);
    batch.Put(meta_->handle(), WindowKey(window_id), EncodeWindow(record));
    std::string copied;
    PutConfirmed(proofs, &copied);
    change.Append(CatalogConfirmedKey(window_id), std::move(copied));
  }
  AddToBatch(pushes, &batch);
  CrashPoint("confirm:before_commit");
  CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "confirming seals", std::move(change)));
  CrashPoint("confirm:after_commit");
  auto next = WithWindows(records);
  Apply(std::move(pushes), next.get());
  return std::shared_ptr<const SpillView>(std::move(next));
}

std::shared_ptr<SpillView> Store::WithWindows(const std::map<uint64_t, WindowRecord>& records) {
  auto next = std::make_shared<SpillView>(*spills_.view());
  for (auto& window : next->windows) {
    const auto changed = records.find(window->id);
    if (changed == records.end()) continue;
    window_records_[window->id] = changed->second;
    window = std::make_shared<const WindowFamily>(window->id, window->family, changed->second);
  }
  return next;
}

Result<std::shared_ptr<const SpillView>> Store::SupersedeSpill(uint64_t family_id) {
  SpillRecord record = spill_records_.at(family_id);
  CISTERN_CHECK(record.sealed_count == record.version_count);
  record.superseded = true;
  rocksdb::WriteBatch batch;
  batch.Put(meta_->handle(), SpillKey(family_id), EncodeSpill(record));
  CrashPoint("spill:before_commit");
  CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "superseding a spill family"));
  spill_records_[family_id] = record;
  auto next = std::make_shared<SpillView>(*spills_.view());
  std::erase_if(next->families, [&](const auto& f) { return f->id == family_id; });
  return std::shared_ptr<const SpillView>(std::move(next));
}

}  // namespace cistern
