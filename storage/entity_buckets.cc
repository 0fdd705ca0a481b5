#include "storage/entity_buckets.h"

#include <algorithm>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/header_iterator.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr size_t kPlaceBytes = 10;  // start and split of a bucket key
constexpr size_t kSealBytes = 8;

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace

BucketOutline OutlineOf(const BucketParts& parts) {
  BucketOutline outline;
  outline.start_s = parts.start_s;
  outline.split = parts.split;
  outline.window = parts.window;
  if (parts.window == nullptr) return outline;
  const Manifest& m = parts.manifest;
  outline.seal = parts.seal;
  outline.row_count = m.row_count;
  outline.has_deletes = m.delete_count > 0;
  outline.first_time = m.first_time;
  outline.last_time = m.last_time;
  outline.schema_version = m.schema_version;
  if (m.statistics.empty()) return outline;
  const Result<RowStatistics> rows = ReadRowStatistics(m.statistics);
  if (rows.ok()) outline.rows = *rows;
  return outline;
}

EntityBuckets::EntityBuckets(std::shared_ptr<const SpillView> view, uint32_t table_id,
                             std::string entity, int64_t from_s)
    : view_(std::move(view)),
      table_id_(table_id),
      entity_(std::move(entity)),
      from_s_(from_s) {
  for (const auto& window : view_->windows) {
    if (window->record.span.end_s > from_s_ || window->record.span.end_s == INT64_MAX) {
      waiting_.push_back(window);
    }
  }
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) {
    return a->record.span.start_s > b->record.span.start_s;
  });
  headers_.resize(view_->families.size());
  for (size_t f = 0; f < view_->families.size(); ++f) {
    for (const SequenceInterval& interval : view_->families[f]->record.committed) {
      for (uint64_t i = 0; i < interval.length; ++i) {
        rotations_.push_back({f, interval.first + i, {}});
      }
    }
  }
}

EntityBuckets::~EntityBuckets() = default;

std::optional<EntityBuckets::Place> EntityBuckets::Least() const {
  std::optional<Place> least;
  for (const Window& w : windows_) {
    if (!least || w.place < *least) least = w.place;
  }
  for (const Rotation& r : rotations_) {
    if (!least || r.place < *least) least = r.place;
  }
  return least;
}

// Opens every window that may have a bucket at or before the least one.
Status EntityBuckets::OpenDue() {
  while (!waiting_.empty()) {
    const std::optional<Place> least = Least();
    if (least && waiting_.back()->record.span.start_s > least->start_s) break;
    Window window;
    window.family = std::move(waiting_.back());
    waiting_.pop_back();
    CISTERN_ASSIGN_OR_RETURN(const bool has_more, Open(&window));
    if (has_more) {
      windows_.push_back(std::move(window));
    } else {
      spare_ = std::move(window.iterator);
    }
  }
  return Status::Ok();
}

Result<bool> EntityBuckets::Open(Window* window) {
  const BucketKey edge{table_id_, entity_, from_s_, 0};
  window->prefix = ManifestKeyFrom(window->family->id, EntityPrefix(table_id_, entity_));
  window->iterator = spare_ ? std::move(spare_) : NewManifestIterator(*view_);
  window->iterator->Seek(ManifestKey(window->family->id, edge, 0));
  return Land(window);
}

// Takes in the key that the iterator is at; false if the window has no more of the entity.
Result<bool> EntityBuckets::Land(Window* window) const {
  rocksdb::Iterator& it = *window->iterator;
  for (; it.Valid(); it.Next()) {
    const std::string_view key = View(it.key());
    if (!key.starts_with(window->prefix)) return false;
    if (key.size() != window->prefix.size() + kPlaceBytes + kSealBytes) {
      return Status::Corruption(Concat({"window ", window->family->id,
          ": a manifest key does not parse"}));
    }
    const char* rest = key.data() + window->prefix.size();
    window->place.start_s = static_cast<int64_t>(GetBig<uint64_t>(rest) ^ kSignBit);
    window->place.split = GetBig<uint16_t>(rest + 8);
    window->seal = GetBig<uint64_t>(rest + kPlaceBytes);
    if (RotationOf(window->seal) <= view_->round_last) return true;
  }
  if (!it.status().ok()) return ToStatus(it.status(), "reading manifests");
  return false;
}

Result<bool> EntityBuckets::Seek(Rotation* rotation, const Place& from) {
  const SpillFamily& family = *view_->families[rotation->family];
  auto& it = headers_[rotation->family];
  if (!it) it = NewHeaderIterator(family, true);
  it->Seek(HeaderKey(rotation->sequence, {table_id_, entity_, from.start_s, from.split}));
  if (!it->Valid()) {
    if (it->status().ok()) return false;
    return ToStatus(it->status(), "looking for a bucket");
  }
  const std::string prefix = HeaderKeyFrom(rotation->sequence, EntityPrefix(table_id_, entity_));
  if (!View(it->key()).starts_with(prefix)) return false;
  const std::optional<BucketKey> found = ParseHeaderKey(View(it->key()));
  if (!found) {
    return Status::Corruption(Concat({"rotation ", rotation->sequence, " of ", family.Name(),
        ": a segment header key does not parse"}));
  }
  rotation->place = {found->start_s, found->split};
  return true;
}

// Passes over the bucket's manifests. Whether there is one alone, and it is sound: then *parts has
// it.
Result<bool> EntityBuckets::TakeSeals(const Place& place, BucketParts* parts, SealCover* cover) {
  size_t seal_count = 0;
  bool is_sound = false;
  for (size_t i = 0; i < windows_.size();) {
    Window& window = windows_[i];
    bool has_more = true;
    while (has_more && window.place == place) {
      const Status decoded = DecodeManifest(View(window.iterator->value()), &parts->manifest);
      cover->Add(RotationOf(window.seal), decoded.ok() ? &parts->manifest : nullptr);
      is_sound = ++seal_count == 1 && decoded.ok();
      // Mostly that of the bucket before, and counting who holds it is dear.
      if (is_sound && parts->window != window.family) parts->window = window.family;
      parts->seal = window.seal;
      window.iterator->Next();
      CISTERN_ASSIGN_OR_RETURN(has_more, Land(&window));
    }
    if (has_more) {
      ++i;
    } else {
      spare_ = std::move(window.iterator);
      windows_.erase(windows_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return is_sound;
}

// Passes over the bucket's segments in spill families. Whether one of them is not sealed.
Result<bool> EntityBuckets::TakeSpilled(const Place& place, SealCover* cover) {
  bool has_open = false;
  bool knows_ended = false;
  for (size_t i = 0; i < rotations_.size();) {
    Rotation& rotation = rotations_[i];
    if (rotation.place != place) {
      ++i;
      continue;
    }
    if (!knows_ended) {
      knows_ended = true;
      const BucketKey key{table_id_, entity_, place.start_s, place.split};
      CISTERN_RETURN_IF_ERROR(AddEndedSeals(*view_, key, cover));
    }
    has_open = has_open || !cover->Has(rotation.sequence);
    const Place behind{place.start_s, place.split + 1};
    CISTERN_ASSIGN_OR_RETURN(const bool has_more, Seek(&rotation, behind));
    if (has_more) {
      ++i;
    } else {
      rotations_.erase(rotations_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return has_open;
}

// The first time, as nothing is known of the rotations yet.
Status EntityBuckets::SeekAll() {
  is_begun_ = true;
  std::vector<Rotation> all = std::exchange(rotations_, {});
  for (Rotation& rotation : all) {
    CISTERN_ASSIGN_OR_RETURN(const bool has_any, Seek(&rotation, {from_s_, 0}));
    if (has_any) rotations_.push_back(rotation);
  }
  return Status::Ok();
}

Result<bool> EntityBuckets::Next(BucketParts* parts) {
  if (!is_begun_) CISTERN_RETURN_IF_ERROR(SeekAll());
  if (!waiting_.empty()) CISTERN_RETURN_IF_ERROR(OpenDue());
  const std::optional<Place> least = Least();
  if (!least) return false;
  SealCover cover;
  CISTERN_ASSIGN_OR_RETURN(const bool is_told, TakeSeals(*least, parts, &cover));
  bool is_open = false;
  if (!rotations_.empty()) {
    CISTERN_ASSIGN_OR_RETURN(is_open, TakeSpilled(*least, &cover));
  }
  parts->start_s = least->start_s;
  parts->split = least->split;
  if (!is_told || is_open) parts->window = nullptr;
  return true;
}

}  // namespace cistern
