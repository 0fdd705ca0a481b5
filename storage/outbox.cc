#include "storage/outbox.h"

#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Behind every seal that the view has.
uint64_t SealsEnd(const SpillView& view) {
  return (view.round_last + 1) << kSegmentIndexBits;
}

Result<bool> HasManifest(const SpillView& view, uint64_t window_id, const SealName& name) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status s =
      view.meta->db()->Get(rocksdb::ReadOptions(), view.meta->handle(),
                           ManifestKey(window_id, name.bucket, name.seal), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return ToReadStatus(s, Concat({"the manifest of seal ", name.seal}));
  return true;
}

}  // namespace

OutboxWalker::OutboxWalker(std::shared_ptr<const SpillView> view, uint64_t window_id,
                           const OutboxRange& range)
    : view_(std::move(view)),
      window_id_(window_id),
      descending_(range.descending),
      first_key_(range.from == 0 ? OutboxKeyFrom(window_id) : OutboxKey(window_id, range.from)),
      end_key_(OutboxKey(window_id, std::min(range.below, SealsEnd(*view_)))),
      iterator_(view_->meta->db()->NewIterator(MetaIteratorOptions(), view_->meta->handle())) {
  if (!descending_) {
    iterator_->Seek(first_key_);
    return;
  }
  iterator_->SeekForPrev(end_key_);
  if (iterator_->Valid() && View(iterator_->key()) == end_key_) iterator_->Prev();
}

OutboxWalker::~OutboxWalker() = default;

bool OutboxWalker::is_over() const {
  if (!iterator_->Valid()) return true;
  const std::string_view key = View(iterator_->key());
  return descending_ ? key < first_key_ : key >= end_key_;
}

Result<std::optional<OutboxEntry>> OutboxWalker::Next() {
  if (!iterator_->status().ok()) return ToStatus(iterator_->status(), "reading the outbox");
  if (is_over()) return std::optional<OutboxEntry>();
  Result<OutboxEntry> entry = Parse(View(iterator_->key()), View(iterator_->value()));
  descending_ ? iterator_->Prev() : iterator_->Next();
  if (!entry.ok()) return entry.status();
  return std::optional<OutboxEntry>(*std::move(entry));
}

Result<OutboxEntry> OutboxWalker::Parse(std::string_view key, std::string_view value) const {
  const size_t seal_at = OutboxKeyFrom(window_id_).size();
  std::optional<BucketKey> bucket = DecodeBucketKey(value);
  if (key.size() != seal_at + sizeof(uint64_t) || !bucket) {
    return Status::Corruption(Concat({"window ", window_id_, ": an outbox entry does not parse"}));
  }
  OutboxEntry entry{{*std::move(bucket), GetBig<uint64_t>(key.data() + seal_at)}, false};
  CISTERN_ASSIGN_OR_RETURN(entry.has_manifest, HasManifest(*view_, window_id_, entry));
  return entry;
}

WaitingSeals::WaitingSeals(std::shared_ptr<const SpillView> view) : view_(std::move(view)) {}

WaitingSeals::~WaitingSeals() = default;

Result<std::optional<WaitingSeals::Place>> WaitingSeals::EarliestOf(const BucketKey& bucket) {
  std::optional<Place> earliest;
  const std::string bucket_bytes = EncodeBucketKey(bucket);
  for (const auto& window : view_->windows) {
    if (!window->record.span.Holds(bucket.start_s) || WaitingCount(window->record) == 0) continue;
    if (!manifests_) manifests_ = NewManifestIterator(*view_);
    const std::string prefix = ManifestKeyFrom(window->id, bucket_bytes);
    for (manifests_->Seek(prefix);
         manifests_->Valid() && View(manifests_->key()).starts_with(prefix); manifests_->Next()) {
      const std::optional<ManifestName> name = ParseManifestKey(View(manifests_->key()));
      if (!name) continue;
      if (RotationOf(name->seal) > view_->round_last) break;
      if (earliest && name->seal >= earliest->seal) break;
      CISTERN_ASSIGN_OR_RETURN(const bool waits,
                               IsInOutbox(view_->meta, window->id, {bucket, name->seal}));
      if (!waits) continue;
      earliest = Place{window->id, name->seal};
      break;
    }
    if (!manifests_->status().ok()) return ToStatus(manifests_->status(), "reading manifests");
  }
  return earliest;
}

Result<bool> IsInOutbox(const FamilyPtr& meta, uint64_t window_id, const SealName& name) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status s = meta->db()->Get(rocksdb::ReadOptions(), meta->handle(),
                                            OutboxKey(window_id, name.seal), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return ToReadStatus(s, Concat({"the outbox entry of seal ", name.seal}));
  return value == EncodeBucketKey(name.bucket);
}

OutboxSummary SummarizeOutbox(const SpillView& view) {
  OutboxSummary summary;
  for (const auto& window : view.windows) {
    const uint64_t waiting = WaitingCount(window->record);
    if (waiting == 0) continue;
    summary.seal_count += waiting;
    ++summary.window_count;
    const int64_t start_s = window->record.span.start_s;
    if (start_s == INT64_MIN) continue;
    summary.oldest_start_s = std::min(summary.oldest_start_s.value_or(INT64_MAX), start_s);
  }
  return summary;
}

}  // namespace cistern
