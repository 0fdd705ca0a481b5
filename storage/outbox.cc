#include "storage/outbox.h"

#include <string_view>
#include <utility>

#include "lib/base/coding.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"

namespace cistern {

OutboxWalker::OutboxWalker(std::shared_ptr<const SpillView> view, uint64_t window_id)
    : view_(std::move(view)),
      window_id_(window_id),
      prefix_(OutboxKeyFrom(window_id)),
      iterator_(view_->meta->db()->NewIterator(MetaIteratorOptions(), view_->meta->handle())) {
  iterator_->Seek(prefix_);
}

OutboxWalker::~OutboxWalker() = default;

Result<std::optional<OutboxEntry>> OutboxWalker::Next() {
  for (; iterator_->Valid(); iterator_->Next()) {
    const std::string_view key{iterator_->key().data(), iterator_->key().size()};
    if (!key.starts_with(prefix_)) return std::optional<OutboxEntry>();
    std::optional<BucketKey> bucket =
        DecodeBucketKey({iterator_->value().data(), iterator_->value().size()});
    if (key.size() != prefix_.size() + sizeof(uint64_t) || !bucket) {
      return Status::Corruption("window " + std::to_string(window_id_) +
                                ": an outbox entry does not parse");
    }
    OutboxEntry entry{{*std::move(bucket), GetBig<uint64_t>(key.data() + prefix_.size())}, false};
    if (RotationOf(entry.seal) > view_->round_last) continue;
    CISTERN_ASSIGN_OR_RETURN(entry.has_manifest, HasManifest(entry));
    iterator_->Next();
    return std::optional<OutboxEntry>(std::move(entry));
  }
  if (!iterator_->status().ok()) return ToStatus(iterator_->status(), "reading the outbox");
  return std::optional<OutboxEntry>();
}

Result<bool> OutboxWalker::HasManifest(const OutboxEntry& entry) const {
  rocksdb::PinnableSlice value;
  const rocksdb::Status s =
      view_->meta->db()->Get(rocksdb::ReadOptions(), view_->meta->handle(),
                             ManifestKey(window_id_, entry.bucket, entry.seal), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return ToReadStatus(s, "the manifest of seal " + std::to_string(entry.seal));
  return true;
}

Result<bool> IsInOutbox(const FamilyPtr& meta, uint64_t window_id, const SealName& name) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status s = meta->db()->Get(rocksdb::ReadOptions(), meta->handle(),
                                            OutboxKey(window_id, name.seal), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return ToReadStatus(s, "the outbox entry of seal " + std::to_string(name.seal));
  return value == EncodeBucketKey(name.bucket);
}

}  // namespace cistern
