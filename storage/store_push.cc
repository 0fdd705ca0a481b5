// What is remembered of pushes, and seals that are to be pushed once more.
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/confirmed_seals.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"
#include "storage/store.h"

namespace cistern {

namespace {

constexpr uint64_t kDropHeadroomBytes = 512 * 1024;  // keys of records that are dropped
constexpr uint64_t kResendLooksMax = 1024;           // manifests that a step looks at

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

bool IsDamage(const Status& s) {
  return s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew;
}

// Those that are forgotten for a resend.
std::map<uint64_t, std::optional<PushRecord>> PositionsOf(
    const std::map<uint64_t, PushRecord>& pushes, const SealResend& resend) {
  std::map<uint64_t, std::optional<PushRecord>> positions;
  for (const auto& [seal, record] : pushes) {
    const BucketKey& bucket = record.bucket;
    const bool is_meant = record.state == PushState::kPushing &&
                          bucket.table_id == resend.table_id && bucket.start_s >= resend.from_s &&
                          bucket.start_s < resend.to_s;
    if (is_meant) positions.emplace(seal, std::nullopt);
  }
  return positions;
}

}  // namespace

// They are read here and not with the other records, as each needs its outbox entry. A record whose
// entry is gone is what damage left: one batch removes both.
Status Store::LoadPushes(bool read_only, RecoveryReport* report) {
  rocksdb::WriteBatch lost;
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->db()->NewIterator(MetaIteratorOptions(), meta_->handle()));
  for (it->Seek(rocksdb::Slice(kPushKeyPrefix)); it->Valid(); it->Next()) {
    const std::string_view key = View(it->key());
    if (!key.starts_with(kPushKeyPrefix)) break;
    const std::optional<uint64_t> seal = ParsePushKey(key);
    Result<PushRecord> record = seal ? DecodePush(View(it->value()))
                                     : Result<PushRecord>(Status::Corruption("its key is damaged"));
    const Status s = record.ok() ? CheckPush({record->bucket, *seal}, *record) : record.status();
    if (s.ok()) {
      pushes_.emplace(*seal, *std::move(record));
      continue;
    }
    if (s.code() != StatusCode::kCorruption) return s;
    lost.Delete(meta_->handle(), it->key());
    ++report->records_damaged;
    NoteDamage(Concat({"what was remembered of the push of seal ",
        (seal ? std::to_string(*seal) : "?"), " is lost (", s.message(),
        "): it is pushed from its start"}),
               report);
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading what is remembered of pushes");
  if (read_only || lost.Count() == 0 || !CheckDevice(kDropHeadroomBytes).ok()) return Status::Ok();
  const rocksdb::Status s = db_->db()->Write(rocksdb::WriteOptions(), &lost);
  return s.ok() ? Status::Ok() : ToStatus(s, "dropping what is remembered of pushes");
}

Status Store::CheckPush(const SealName& name, const PushRecord& record) const {
  const auto window = window_records_.find(record.window_id);
  if (window != window_records_.end() && !window->second.ended) {
    CISTERN_ASSIGN_OR_RETURN(const bool waits, IsInOutbox(meta_, record.window_id, name));
    if (waits) return Status::Ok();
  }
  return Status::Corruption("the outbox does not have it");
}

std::map<uint64_t, PushRecord> Store::pushes() const {
  const std::lock_guard lock(pushes_mutex_);
  return pushes_;
}

std::optional<PushRecord> Store::push(uint64_t seal) const {
  const std::lock_guard lock(pushes_mutex_);
  const auto found = pushes_.find(seal);
  return found == pushes_.end() ? std::nullopt : std::optional(found->second);
}

uint64_t Store::push_bytes() const {
  const std::lock_guard lock(pushes_mutex_);
  uint64_t bytes = 0;
  for (const auto& [seal, record] : pushes_) {
    bytes += 4 * sizeof(void*) + sizeof(std::pair<uint64_t, PushRecord>) +
             record.bucket.entity.size() + record.position.size() + record.words.size();
  }
  return bytes;
}

std::map<uint64_t, uint64_t> Store::VersionsParked() const {
  std::map<uint64_t, uint64_t> by_window;
  for (const auto& [seal, record] : pushes_) {
    if (record.state == PushState::kParked) by_window[record.window_id] += record.version_count;
  }
  return by_window;
}

void Store::AddToBatch(const PushChanges& changes, rocksdb::WriteBatch* batch) const {
  for (const auto& [seal, record] : changes) {
    if (record) {
      batch->Put(meta_->handle(), PushKey(seal), EncodePush(*record));
    } else {
      batch->Delete(meta_->handle(), PushKey(seal));
    }
  }
}

void Store::Apply(PushChanges changes, SpillView* next) {
  {
    const std::lock_guard lock(pushes_mutex_);
    for (auto& [seal, record] : changes) {
      if (record) {
        pushes_[seal] = *std::move(record);
      } else {
        pushes_.erase(seal);
      }
    }
  }
  next->versions_parked = VersionsParked();
}

// Upstream is sent what a manifest names, so without one a seal is neither pushed nor confirmed.
// What cannot be read is not there: who walks the outbox meets the damage, and Verify names it.
Result<std::optional<Store::FoundEntry>> Store::FindEntry(const SealName& name) const {
  for (const auto& window : spills_.view()->windows) {
    if (!window->record.span.Holds(name.bucket.start_s)) continue;
    const Result<bool> is_here = IsInOutbox(meta_, window->id, name);
    if (!is_here.ok() && !IsDamage(is_here.status())) return is_here.status();
    if (!is_here.ok() || !*is_here) continue;
    const Result<Manifest> manifest = ReadManifest(meta_, window->id, name.bucket, name.seal);
    if (manifest.ok()) {
      return std::optional(FoundEntry{window->id, *manifest});
    }
    if (IsDamage(manifest.status()) || manifest.status().code() == StatusCode::kNotFound) break;
    return manifest.status();
  }
  return std::optional<FoundEntry>();
}

Result<std::shared_ptr<const SpillView>> Store::PutPushes(
    std::span<const std::pair<SealName, PushRecord>> pushes) {
  PushChanges changes;
  bool sync = false;
  size_t count = pushes_.size();
  for (const auto& [name, push] : pushes) {
    if (push.position.size() > limits::kPushPositionBytesMax) {
      return Status::TooLarge(Concat({"a push position has ", push.position.size(),
          " bytes, at most ", limits::kPushPositionBytesMax, " are kept"}));
    }
    CISTERN_ASSIGN_OR_RETURN(const auto entry, FindEntry(name));
    if (!entry) continue;
    if (!pushes_.contains(name.seal) && !changes.contains(name.seal)) ++count;
    PushRecord record = push;
    record.bucket = name.bucket;
    record.window_id = entry->window_id;
    record.version_count = entry->manifest.version_count();
    record.words = KeptWords(push.words);
    sync |= record.state == PushState::kParked;
    changes[name.seal] = std::move(record);
  }
  if (count > limits::kPushRecordsMax) {
    return Status::TooLarge(Concat({"at most ", limits::kPushRecordsMax,
        " seals may be parked or begun at once"}));
  }
  return CommitPushes(std::move(changes), sync);
}

Result<std::shared_ptr<const SpillView>> Store::ErasePushes(std::span<const uint64_t> seals) {
  PushChanges changes;
  for (const uint64_t seal : seals) {
    if (pushes_.contains(seal)) changes[seal] = std::nullopt;
  }
  return CommitPushes(std::move(changes), /*sync=*/true);
}

Result<std::shared_ptr<const SpillView>> Store::CommitPushes(PushChanges changes, bool sync) {
  if (changes.empty()) return std::shared_ptr<const SpillView>();
  rocksdb::WriteBatch batch;
  AddToBatch(changes, &batch);
  rocksdb::WriteOptions options;
  options.sync = sync;
  CrashPoint("push:before_commit");
  const rocksdb::Status s = db_->db()->Write(options, &batch);
  if (!s.ok()) return ToStatus(s, "remembering pushes");
  CrashPoint("push:after_commit");
  auto next = std::make_shared<SpillView>(*spills_.view());
  const auto parked_before = next->versions_parked;
  Apply(std::move(changes), next.get());
  if (next->versions_parked == parked_before) return std::shared_ptr<const SpillView>();
  return std::shared_ptr<const SpillView>(std::move(next));
}

// Windows come in the order of their numbers. What a merge has made of some is looked through
// after them: what was put back from one has its entry there.
Result<std::shared_ptr<const SpillView>> Store::ResendSome(SealResend* resend) {
  const auto view = spills_.view();
  if (!resend->round_last) {
    // What was sent of a seal is to be sent once more as well: it begins at its start.
    PushChanges positions = PositionsOf(pushes_, *resend);
    const uint64_t count = positions.size();
    CISTERN_ASSIGN_OR_RETURN(auto changed, CommitPushes(std::move(positions), /*sync=*/true));
    resend->round_last = view->round_last;
    resend->seal_count += count;
    return changed;
  }
  const auto window =
      std::find_if(view->windows.begin(), view->windows.end(), [resend](const auto& w) {
        const WindowSpan& span = w->record.span;
        return w->id >= resend->window_id && span.start_s < resend->to_s &&
               span.end_s > resend->from_s;
      });
  resend->is_over = window == view->windows.end();
  if (resend->is_over) return std::shared_ptr<const SpillView>();
  SealResend next = *resend;
  if ((*window)->id != next.window_id) next.key_last.clear();
  next.window_id = (*window)->id;
  CISTERN_ASSIGN_OR_RETURN(const std::vector<FoundSeal> found, FindConfirmed(&next));
  std::shared_ptr<const SpillView> changed;
  if (!found.empty()) {
    CISTERN_ASSIGN_OR_RETURN(changed, PutBack(**window, found));
  }
  next.seal_count += found.size();
  *resend = std::move(next);
  return changed;
}

// Looks at some manifests behind `resend->key_last`, and moves it on. What is damaged is passed
// over: Verify names it.
Result<std::vector<Store::FoundSeal>> Store::FindConfirmed(SealResend* resend) const {
  std::vector<FoundSeal> found;
  const std::string prefix = ManifestKeyFrom(resend->window_id, TablePrefix(resend->table_id));
  const auto it = NewManifestIterator(*spills_.view());
  it->Seek(resend->key_last.empty() ? prefix : resend->key_last + '\0');
  for (uint64_t looks = 0; looks < kResendLooksMax; ++looks, it->Next()) {
    if (!it->status().ok()) return ToReadStatus(it->status(), "reading manifests");
    if (!it->Valid() || !it->key().starts_with(prefix)) {
      ++resend->window_id;
      resend->key_last.clear();
      break;
    }
    resend->key_last = it->key().ToString();
    const std::optional<ManifestName> name = ParseManifestKey(resend->key_last);
    if (!name || name->bucket.start_s < resend->from_s || name->bucket.start_s >= resend->to_s ||
        RotationOf(name->seal) > *resend->round_last) {
      continue;
    }
    const Result<Manifest> manifest = DecodeManifest(View(it->value()));
    if (!manifest.ok()) continue;
    CISTERN_ASSIGN_OR_RETURN(const bool waits,
                             IsInOutbox(meta_, name->window_id, {name->bucket, name->seal}));
    if (!waits) found.push_back({{name->bucket, name->seal}, *manifest});
  }
  return found;
}

// An entry that damage took was never counted as confirmed.
Result<std::shared_ptr<const SpillView>> Store::PutBack(const WindowFamily& window,
                                                        std::span<const FoundSeal> seals) {
  rocksdb::WriteBatch batch;
  WindowRecord record = window_records_.at(window.id);
  record.confirmed_count -= std::min<uint64_t>(seals.size(), record.confirmed_count);
  std::vector<uint64_t> numbers;
  for (const auto& [name, manifest] : seals) {
    TakeConfirmed(manifest, &record);
    numbers.push_back(name.seal);
    batch.Put(meta_->handle(), OutboxKey(window.id, name.seal), EncodeBucketKey(name.bucket));
    if (manifest.proof == ProofLevel::kAck) continue;
    Manifest waiting = manifest;
    waiting.proof = ProofLevel::kAck;
    batch.Put(meta_->handle(), ManifestKey(window.id, name.bucket, name.seal),
              EncodeManifest(waiting));
  }
  batch.Put(meta_->handle(), WindowKey(window.id), EncodeWindow(record));
  std::string copied;
  PutWaiting(std::move(numbers), &copied);
  CatalogChange change;
  change.Append(CatalogConfirmedKey(window.id), std::move(copied));
  CrashPoint("resend:before_commit");
  CISTERN_RETURN_IF_ERROR(
      WriteSynced(&batch, "putting seals back into the outbox", std::move(change)));
  CrashPoint("resend:after_commit");
  return std::shared_ptr<const SpillView>(WithWindows({{window.id, record}}));
}

}  // namespace cistern
