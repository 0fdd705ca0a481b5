#include "storage/seal_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/concat.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Bucket key and seal of a manifest key.
std::string_view OrderBytes(const rocksdb::Slice& key) {
  return View(key).substr(9);
}

Status DamagedKey(uint64_t window_id) {
  return Status::Corruption(Concat({"window ", window_id, ": a manifest key does not parse"}));
}

}  // namespace

std::unique_ptr<rocksdb::Iterator> NewManifestIterator(const SpillView& view) {
  return std::unique_ptr<rocksdb::Iterator>(
      view.meta->db()->NewIterator(MetaIteratorOptions(), view.meta->handle()));
}

std::string NameOfSeal(const SegmentFamily& window, uint64_t seal) {
  return Concat({"seal ", seal, " in ", window.Name()});
}

Result<SegmentRef> MakeSealedRef(const std::shared_ptr<const SegmentFamily>& window, uint64_t seal,
                                 std::optional<std::string_view> value) {
  if (!value) return Status::Corruption(Concat({NameOfSeal(*window, seal),
      ": its segment is missing"}));
  CISTERN_ASSIGN_OR_RETURN(SegmentRef ref, MakeSegmentRef(window, RotationOf(seal), *value));
  if (ref.id == seal) return ref;
  return Status::Corruption(Concat({NameOfSeal(*window, seal), ": its segment has another "
      "number"}));
}

Result<SegmentRef> ReadSealedSegment(const std::shared_ptr<const SegmentFamily>& window,
                                     const BucketKey& bucket, uint64_t seal) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status s =
      window->family->db()->Get(rocksdb::ReadOptions(), window->family->handle(),
                                HeaderKey(RotationOf(seal), bucket), &value);
  if (s.IsNotFound()) return MakeSealedRef(window, seal, std::nullopt);
  if (!s.ok()) return ToReadStatus(s, NameOfSeal(*window, seal));
  return MakeSealedRef(window, seal, View(value));
}

Result<std::map<uint64_t, SealOfBucket>> ListSeals(const SpillView& view,
                                                   const BucketKey& bucket) {
  std::map<uint64_t, SealOfBucket> out;
  const std::string bucket_bytes = EncodeBucketKey(bucket);
  std::unique_ptr<rocksdb::Iterator> it;
  for (const auto& window : view.windows) {
    if (!window->record.span.Holds(bucket.start_s)) continue;
    const std::string prefix = ManifestKeyFrom(window->id, bucket_bytes);
    if (!it) it = NewManifestIterator(view);
    for (it->Seek(prefix); it->Valid() && View(it->key()).starts_with(prefix); it->Next()) {
      const std::optional<ManifestName> name = ParseManifestKey(View(it->key()));
      if (!name) return DamagedKey(window->id);
      if (RotationOf(name->seal) > view.round_last) break;
      out.try_emplace(name->seal, SealOfBucket{window, DecodeManifest(View(it->value()))});
    }
    if (!it->status().ok()) return ToStatus(it->status(), "reading manifests");
  }
  return out;
}

Result<std::vector<SegmentRef>> ListSealed(const SpillView& view, const BucketKey& bucket,
                                           std::vector<DamagedSegment>* damaged,
                                           SealCover* cover) {
  std::vector<SegmentRef> out;
  CISTERN_ASSIGN_OR_RETURN(const auto seals, ListSeals(view, bucket));
  for (const auto& [number, seal] : seals) {
    if (cover != nullptr) cover->Add(RotationOf(number), seal.manifest);
    Result<SegmentRef> ref = ReadSealedSegment(seal.window, bucket, number);
    if (ref.ok()) {
      out.push_back(*std::move(ref));
    } else if (damaged != nullptr && ref.status().code() == StatusCode::kCorruption) {
      damaged->push_back({seal.window, number,
                          seal.manifest.ok() ? std::optional(*seal.manifest) : std::nullopt,
                          ref.status()});
    } else {
      return ref.status();
    }
  }
  return out;
}

namespace {

// Adds the bucket's seals in a window that the view has: the newest that has all of before it
// and those behind it.
Status AddSealsIn(const SpillView& view, uint64_t window_id, const BucketKey& bucket,
                  rocksdb::Iterator* it, SealCover* cover) {
  const uint64_t seal_last = view.round_last << kSegmentIndexBits | kSegmentIndexMask;
  const std::string prefix = ManifestKeyFrom(window_id, EncodeBucketKey(bucket));
  it->SeekForPrev(ManifestKey(window_id, bucket, seal_last));
  for (; it->Valid() && View(it->key()).starts_with(prefix); it->Prev()) {
    const std::optional<ManifestName> name = ParseManifestKey(View(it->key()));
    if (!name) return DamagedKey(window_id);
    if (cover->Add(RotationOf(name->seal), DecodeManifest(View(it->value())))) break;
  }
  return it->status().ok() ? Status::Ok() : ToStatus(it->status(), "reading manifests");
}

}  // namespace

Result<Manifest> ReadManifest(const FamilyPtr& meta, uint64_t window_id, const BucketKey& bucket,
                              uint64_t seal) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status s = meta->db()->Get(rocksdb::ReadOptions(), meta->handle(),
                                            ManifestKey(window_id, bucket, seal), &value);
  if (!s.ok()) return ToReadStatus(s, Concat({"the manifest of seal ", seal}));
  return DecodeManifest(View(value));
}

Result<bool> IsSealedIn(const SpillView& view, uint64_t window_id, const BucketKey& bucket) {
  SealCover cover;
  CISTERN_RETURN_IF_ERROR(
      AddSealsIn(view, window_id, bucket, NewManifestIterator(view).get(), &cover));
  return !cover.is_empty();
}

Status AddEndedSeals(const SpillView& view, const BucketKey& bucket, SealCover* cover) {
  for (const EndedWindow& window : view.ended) {
    if (!window.span.Holds(bucket.start_s)) continue;
    CISTERN_RETURN_IF_ERROR(
        AddSealsIn(view, window.id, bucket, NewManifestIterator(view).get(), cover));
  }
  return Status::Ok();
}

SealCovers::SealCovers(std::shared_ptr<const SpillView> view) : view_(std::move(view)) {}

SealCovers::~SealCovers() = default;

Result<SealCover> SealCovers::Of(const BucketKey& bucket) {
  SealCover cover;
  const auto look_in = [&](uint64_t window_id, const WindowSpan& span) -> Status {
    if (!span.Holds(bucket.start_s)) return Status::Ok();
    if (!manifests_) manifests_ = NewManifestIterator(*view_);
    return AddSealsIn(*view_, window_id, bucket, manifests_.get(), &cover);
  };
  for (const auto& w : view_->windows) CISTERN_RETURN_IF_ERROR(look_in(w->id, w->record.span));
  for (const EndedWindow& w : view_->ended) CISTERN_RETURN_IF_ERROR(look_in(w.id, w.span));
  return cover;
}

ManifestWalker::ManifestWalker(std::shared_ptr<const SpillView> view, std::string_view from)
    : view_(std::move(view)) {
  for (const auto& window : view_->windows) {
    auto lane = std::make_unique<Lane>();
    lane->window = window;
    lane->prefix = ManifestKeyFrom(window->id, "");
    lane->iterator = NewManifestIterator(*view_);
    lane->iterator->Seek(ManifestKeyFrom(window->id, from));
    const Result<bool> over = IsOver(*lane);
    if (!over.ok()) {
      status_ = over.status();
      return;
    }
    if (*over) continue;
    heap_.push_back(lane.get());
    lanes_.push_back(std::move(lane));
  }
  std::make_heap(heap_.begin(), heap_.end(), Later);
}

ManifestWalker::~ManifestWalker() = default;

bool ManifestWalker::Later(const Lane* a, const Lane* b) {
  return OrderBytes(a->iterator->key()) > OrderBytes(b->iterator->key());
}

Result<bool> ManifestWalker::IsOver(const Lane& lane) const {
  if (!lane.iterator->status().ok()) return ToStatus(lane.iterator->status(), "reading manifests");
  return !lane.iterator->Valid() || !View(lane.iterator->key()).starts_with(lane.prefix);
}

Result<std::optional<ManifestWalker::Item>> ManifestWalker::Next() {
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(std::optional<Item> item, NextOfAll());
    if (!item || RotationOf(item->seal) <= view_->round_last) return item;
  }
}

Result<std::optional<ManifestWalker::Item>> ManifestWalker::NextOfAll() {
  CISTERN_RETURN_IF_ERROR(status_);
  if (heap_.empty()) return std::optional<Item>();
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  Lane* lane = heap_.back();
  std::optional<ManifestName> name = ParseManifestKey(View(lane->iterator->key()));
  if (!name) return DamagedKey(lane->window->id);
  Result<Manifest> manifest = DecodeManifest(View(lane->iterator->value()));
  if (!manifest.ok()) {
    return Status(manifest.status().code(), Concat({"seal ", name->seal, " in ",
        lane->window->Name(), ": ", manifest.status().message()}));
  }
  Item item{lane->window, std::move(name->bucket), name->seal, *manifest};
  lane->iterator->Next();
  CISTERN_ASSIGN_OR_RETURN(const bool over, IsOver(*lane));
  if (over) {
    lane->iterator.reset();
    heap_.pop_back();
  } else {
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  return std::optional<Item>(std::move(item));
}

}  // namespace cistern
