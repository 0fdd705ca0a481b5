#include "storage/spill_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/header_iterator.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

std::unique_ptr<rocksdb::Iterator> NewIterator(const SpillFamily& family) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return std::unique_ptr<rocksdb::Iterator>(
      family.family->db()->NewIterator(options, family.family->handle()));
}

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

std::string WhereIs(const SegmentFamily& family, uint64_t rotation) {
  return Concat({"rotation ", rotation, " of ", family.Name()});
}

// A header's value: the segment's index in its rotation, then the header itself.
Result<SegmentHeader> ParseHeader(const SegmentFamily& family, uint64_t rotation,
                                  std::string_view value, uint64_t* index) {
  ByteReader in(value, "segment header");
  *index = in.ReadCount("index", kSegmentIndexMask);
  Result<SegmentHeader> header = in.ok() ? DecodeSegmentHeader(value.substr(in.position()))
                                         : Result<SegmentHeader>(in.status());
  if (header.ok()) return header;
  return Status(header.status().code(), Concat({WhereIs(family, rotation), ": ",
      header.status().message()}));
}

}  // namespace

Result<SegmentRef> MakeSegmentRef(const std::shared_ptr<const SegmentFamily>& family,
                                  uint64_t rotation, std::string_view value) {
  uint64_t index = 0;
  CISTERN_ASSIGN_OR_RETURN(SegmentHeader header, ParseHeader(*family, rotation, value, &index));
  return SegmentRef{family, (rotation << kSegmentIndexBits) | index, std::move(header)};
}

Result<std::vector<SegmentRef>> ListSegments(const SpillView& view, const BucketKey& bucket,
                                             std::vector<DamagedSegment>* damaged) {
  SealCover cover;
  CISTERN_ASSIGN_OR_RETURN(std::vector<SegmentRef> out,
                           ListSealed(view, bucket, damaged, &cover));
  CISTERN_RETURN_IF_ERROR(AddEndedSeals(view, bucket, &cover));
  const std::string bucket_bytes = EncodeBucketKey(bucket);
  rocksdb::PinnableSlice value;
  for (const auto& family : view.families) {
    for (const SequenceInterval& interval : family->record.committed) {
      for (uint64_t r = interval.first; r < interval.first + interval.length; ++r) {
        if (cover.Has(r)) continue;
        value.Reset();
        const rocksdb::Status s =
            family->family->db()->Get(rocksdb::ReadOptions(), family->family->handle(),
                                      HeaderKeyFrom(r, bucket_bytes), &value);
        if (s.IsNotFound()) continue;
        Result<SegmentRef> ref =
            s.ok() ? MakeSegmentRef(family, r, View(value))
                   : Result<SegmentRef>(ToReadStatus(s, "the header in " + WhereIs(*family, r)));
        if (ref.ok()) {
          out.push_back(*std::move(ref));
        } else if (damaged != nullptr && ref.status().code() == StatusCode::kCorruption) {
          damaged->push_back({family, r << kSegmentIndexBits, std::nullopt, ref.status()});
        } else {
          return ref.status();
        }
      }
    }
  }
  return out;
}

std::string NameOfPage(const SegmentRef& segment, uint32_t page) {
  return NameOfPage(*segment.family, segment.id, page);
}

std::string NameOfPage(const SegmentFamily& family, uint64_t segment_id, uint32_t page) {
  return Concat({"page ", page, " of segment ", segment_id, " in ", family.Name()});
}

Result<std::string> ReadPage(const SegmentRef& segment, uint32_t page) {
  std::string value;
  const rocksdb::Status s = segment.family->family->db()->Get(
      rocksdb::ReadOptions(), segment.family->family->handle(), PageKey(segment.id, page), &value);
  if (s.IsNotFound()) return Status::Corruption(Concat({NameOfPage(segment, page),
      " is missing"}));
  if (!s.ok()) return ToReadStatus(s, NameOfPage(segment, page));
  return value;
}

Result<FamilyContent> CountSegments(const SpillFamily& family) {
  FamilyContent content;
  const auto headers = NewHeaderIterator(family, false);
  const auto it = NewIterator(family);
  it->SeekToFirst();
  while (it->Valid()) {
    if (it->key().size() < sizeof(uint64_t)) {
      return Status::Corruption(Concat({"spill family ", family.id,
          ": a key without a rotation"}));
    }
    const auto rotation = GetBig<uint64_t>(it->key().data());
    for (headers->Seek(HeaderKeyFrom(rotation, "")); headers->Valid(); headers->Next()) {
      uint64_t index = 0;
      CISTERN_ASSIGN_OR_RETURN(const SegmentHeader header,
                               ParseHeader(family, rotation, View(headers->value()), &index));
      ++content.segments;
      content.versions += header.row_count + header.deletes.size();
    }
    if (!headers->status().ok()) return ToStatus(headers->status(), "reading segment headers");
    if (rotation == UINT64_MAX) break;
    it->Seek(HeaderKeyFrom(rotation + 1, ""));  // past its pages
  }
  if (!it->status().ok()) return ToStatus(it->status(), "reading segment headers");
  return content;
}

// --- BucketFrontier

BucketFrontier::BucketFrontier(std::shared_ptr<const SpillView> view, uint32_t table_id,
                               std::string_view entity, bool descending)
    : view_(std::move(view)), table_id_(table_id), entity_(entity), descending_(descending) {
  iterators_.resize(view_->families.size());
  for (size_t f = 0; f < view_->families.size(); ++f) {
    for (const SequenceInterval& interval : view_->families[f]->record.committed) {
      for (uint64_t i = 0; i < interval.length; ++i) {
        rotations_.push_back({f, interval.first + i, false, std::nullopt});
      }
    }
  }
  for (const auto& window : view_->windows) {
    windows_.push_back({window->id, window->record.span, false, std::nullopt});
  }
}

BucketFrontier::~BucketFrontier() = default;

Result<std::optional<int64_t>> BucketFrontier::Next(int64_t at_s) {
  std::optional<int64_t> best;
  const auto is_behind = [&](const std::optional<int64_t>& start_s) {
    return start_s && (descending_ ? *start_s > at_s : *start_s < at_s);
  };
  const auto consider = [&](const std::optional<int64_t>& start_s) {
    if (start_s && (!best || (descending_ ? *start_s > *best : *start_s < *best))) best = start_s;
  };
  for (Rotation& rotation : rotations_) {
    if (!rotation.sought || is_behind(rotation.start_s)) {
      CISTERN_RETURN_IF_ERROR(Seek(&rotation, at_s));
    }
    consider(rotation.start_s);
  }
  for (Window& window : windows_) {
    if (!window.sought || is_behind(window.start_s)) {
      CISTERN_RETURN_IF_ERROR(SeekSealed(&window, at_s));
    }
    consider(window.start_s);
  }
  return best;
}

Status BucketFrontier::SeekSealed(Window* window, int64_t at_s) {
  window->sought = true;
  window->start_s.reset();
  if (descending_ ? window->span.start_s > at_s : window->span.end_s <= at_s) return Status::Ok();
  if (!manifests_) {
    manifests_ = NewManifestIterator(*view_);
  }
  const BucketKey edge{table_id_, entity_, at_s, descending_ ? uint32_t{UINT16_MAX} : 0};
  const std::string key = ManifestKey(window->id, edge, descending_ ? UINT64_MAX : 0);
  descending_ ? manifests_->SeekForPrev(key) : manifests_->Seek(key);
  if (!manifests_->Valid()) {
    return manifests_->status().ok() ? Status::Ok()
                                     : ToStatus(manifests_->status(), "looking for a manifest");
  }
  const std::string prefix = ManifestKeyFrom(window->id, EntityPrefix(table_id_, entity_));
  if (!View(manifests_->key()).starts_with(prefix)) return Status::Ok();
  const std::optional<ManifestName> found = ParseManifestKey(View(manifests_->key()));
  if (!found) {
    return Status::Corruption(Concat({"window ", window->id, ": a manifest key does not parse"}));
  }
  window->start_s = found->bucket.start_s;
  return Status::Ok();
}

Status BucketFrontier::Seek(Rotation* rotation, int64_t at_s) {
  const SpillFamily& family = *view_->families[rotation->family];
  auto& it = iterators_[rotation->family];
  if (!it) it = NewHeaderIterator(family, true);
  rotation->sought = true;
  rotation->start_s.reset();
  const BucketKey edge{table_id_, entity_, at_s, descending_ ? uint32_t{UINT16_MAX} : 0};
  const std::string key = HeaderKey(rotation->sequence, edge);
  descending_ ? it->SeekForPrev(key) : it->Seek(key);
  if (descending_ && !it->status().ok()) return SeekUpwards(rotation, at_s);
  if (!it->Valid()) {
    return it->status().ok() ? Status::Ok() : ToStatus(it->status(), "looking for a bucket");
  }
  const std::string prefix = HeaderKeyFrom(rotation->sequence, EntityPrefix(table_id_, entity_));
  if (!View(it->key()).starts_with(prefix)) return Status::Ok();
  CISTERN_ASSIGN_OR_RETURN(rotation->start_s, StartOf(*rotation, View(it->key())));
  return Status::Ok();
}

// Goes through the entity's headers from the first on. RocksDB looks backwards by way of the last
// block of each file that ends before the key, which may be damaged where no header is.
Status BucketFrontier::SeekUpwards(Rotation* rotation, int64_t at_s) {
  auto& it = iterators_[rotation->family];
  it = NewHeaderIterator(*view_->families[rotation->family], true);
  const std::string prefix = HeaderKeyFrom(rotation->sequence, EntityPrefix(table_id_, entity_));
  std::optional<int64_t> last;
  for (it->Seek(prefix); it->Valid() && View(it->key()).starts_with(prefix); it->Next()) {
    CISTERN_ASSIGN_OR_RETURN(const int64_t start_s, StartOf(*rotation, View(it->key())));
    if (start_s > at_s) break;
    last = start_s;
  }
  if (!it->status().ok()) return ToStatus(it->status(), "looking for a bucket");
  rotation->start_s = last;
  return Status::Ok();
}

Result<int64_t> BucketFrontier::StartOf(const Rotation& rotation, std::string_view key) const {
  const std::optional<BucketKey> found = ParseHeaderKey(key);
  if (found) return found->start_s;
  return Status::Corruption(Concat({WhereIs(*view_->families[rotation.family], rotation.sequence),
      ": a segment header key does not parse"}));
}

}  // namespace cistern
