#include "storage/spill_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/base/coding.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

std::unique_ptr<rocksdb::Iterator> NewIterator(const SpillFamily& family, bool fill_cache) {
  rocksdb::ReadOptions options;
  options.fill_cache = fill_cache;
  return std::unique_ptr<rocksdb::Iterator>(
      family.family->db()->NewIterator(options, family.family->handle()));
}

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// The bucket key bytes of a header key.
std::string_view BucketBytes(const rocksdb::Slice& key) {
  return View(key).substr(9);
}

std::string WhereIs(const SegmentFamily& family, uint64_t rotation) {
  return "rotation " + std::to_string(rotation) + " of " + family.Name();
}

// A header's value: the segment's index in its rotation, then the header itself.
Result<SegmentHeader> ParseHeader(const SegmentFamily& family, uint64_t rotation,
                                  std::string_view value, uint64_t* index) {
  ByteReader in(value, "segment header");
  *index = in.ReadCount("index", kSegmentIndexMask);
  Result<SegmentHeader> header = in.ok() ? DecodeSegmentHeader(value.substr(in.position()))
                                         : Result<SegmentHeader>(in.status());
  if (header.ok()) return header;
  return Status(header.status().code(),
                WhereIs(family, rotation) + ": " + header.status().message());
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
  CISTERN_ASSIGN_OR_RETURN(std::vector<SegmentRef> out, ListSealed(view, bucket, damaged));
  uint64_t sealed_round = out.empty() ? 0 : RotationOf(out.back().id);
  if (damaged != nullptr) {
    for (const DamagedSegment& d : *damaged) {
      sealed_round = std::max(sealed_round, RotationOf(d.id));
    }
  }
  CISTERN_ASSIGN_OR_RETURN(const uint64_t ended_round, RoundInEnded(view, bucket));
  sealed_round = std::max(sealed_round, ended_round);
  const std::string bucket_bytes = EncodeBucketKey(bucket);
  rocksdb::PinnableSlice value;
  for (const auto& family : view.families) {
    for (const SequenceInterval& interval : family->record.committed) {
      for (uint64_t r = interval.first; r < interval.first + interval.length; ++r) {
        if (r < sealed_round) continue;
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

Result<std::string> ReadPage(const SegmentRef& segment, uint32_t page) {
  std::string value;
  const std::string where = "page " + std::to_string(page) + " of segment " +
                            std::to_string(segment.id) + " in " + segment.family->Name();
  const rocksdb::Status s = segment.family->family->db()->Get(
      rocksdb::ReadOptions(), segment.family->family->handle(), PageKey(segment.id, page), &value);
  if (s.IsNotFound()) return Status::Corruption(where + " is missing");
  if (!s.ok()) return ToReadStatus(s, where);
  return value;
}

Result<FamilyContent> CountSegments(const SpillFamily& family) {
  FamilyContent content;
  const auto it = NewIterator(family, false);
  it->SeekToFirst();
  while (it->Valid()) {
    if (it->key().size() < sizeof(uint64_t)) {
      return Status::Corruption("spill family " + std::to_string(family.id) +
                                ": a key without a rotation");
    }
    const auto rotation = GetBig<uint64_t>(it->key().data());
    const std::string end = HeadersEnd(rotation);
    for (it->Seek(HeaderKeyFrom(rotation, "")); it->Valid() && it->key().compare(end) < 0;
         it->Next()) {
      uint64_t index = 0;
      CISTERN_ASSIGN_OR_RETURN(const SegmentHeader header,
                               ParseHeader(family, rotation, View(it->value()), &index));
      ++content.segments;
      content.versions += header.row_count + header.deletes.size();
    }
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
    return Status::Corruption("window " + std::to_string(window->id) +
                              ": a manifest key does not parse");
  }
  window->start_s = found->bucket.start_s;
  return Status::Ok();
}

Status BucketFrontier::Seek(Rotation* rotation, int64_t at_s) {
  const SpillFamily& family = *view_->families[rotation->family];
  auto& it = iterators_[rotation->family];
  if (!it) it = NewIterator(family, true);
  rotation->sought = true;
  rotation->start_s.reset();
  const BucketKey edge{table_id_, entity_, at_s, descending_ ? uint32_t{UINT16_MAX} : 0};
  const std::string key = HeaderKey(rotation->sequence, edge);
  descending_ ? it->SeekForPrev(key) : it->Seek(key);
  if (!it->Valid()) {
    return it->status().ok() ? Status::Ok() : ToStatus(it->status(), "looking for a bucket");
  }
  const std::string prefix = HeaderKeyFrom(rotation->sequence, EntityPrefix(table_id_, entity_));
  if (!View(it->key()).starts_with(prefix)) return Status::Ok();
  const std::optional<BucketKey> found = ParseHeaderKey(View(it->key()));
  if (!found) {
    return Status::Corruption(WhereIs(family, rotation->sequence) +
                              ": a segment header key does not parse");
  }
  rotation->start_s = found->start_s;
  return Status::Ok();
}

// --- SegmentWalker

SegmentWalker::SegmentWalker(std::shared_ptr<const SpillView> view, std::string_view from)
    : view_(std::move(view)), sealed_rounds_(std::make_unique<SealedRounds>(view_)) {
  for (const auto& family : view_->families) {
    for (const SequenceInterval& interval : family->record.committed) {
      for (uint64_t r = interval.first; r < interval.first + interval.length; ++r) {
        auto lane = std::make_unique<Lane>();
        lane->family = family;
        lane->rotation = r;
        lane->end = HeadersEnd(r);
        lane->iterator = NewIterator(*family, false);
        lane->iterator->Seek(HeaderKeyFrom(r, from));
        if (!lane->iterator->status().ok()) {
          status_ = ToStatus(lane->iterator->status(), "reading segment headers");
          return;
        }
        if (!lane->iterator->Valid() || lane->iterator->key().compare(lane->end) >= 0) continue;
        heap_.push_back(lane.get());
        lanes_.push_back(std::move(lane));
      }
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), Later);
}

SegmentWalker::~SegmentWalker() = default;

// Equal buckets come in the order of their rotations.
bool SegmentWalker::Later(const Lane* a, const Lane* b) {
  const int order = BucketBytes(a->iterator->key()).compare(BucketBytes(b->iterator->key()));
  return order != 0 ? order > 0 : a->rotation > b->rotation;
}

Result<std::optional<SegmentWalker::Item>> SegmentWalker::Next() {
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(std::optional<Item> item, NextOfAll());
    if (!item || !item->is_replaced()) return item;
  }
}

Result<std::optional<SegmentWalker::Item>> SegmentWalker::NextOfAll() {
  CISTERN_ASSIGN_OR_RETURN(std::optional<Item> item, NextSpilled());
  if (!item) return item;
  CISTERN_RETURN_IF_ERROR(FindSealedRound(&*item));
  if (item->is_replaced()) {
    const SegmentHeader& header = item->segment.header;
    versions_sealed_ += header.row_count + header.deletes.size();
  }
  return item;
}

Status SegmentWalker::FindSealedRound(Item* item) {
  if (view_->windows.empty() && view_->ended.empty()) return Status::Ok();
  if (!has_bucket_ || item->bucket != bucket_) {
    CISTERN_ASSIGN_OR_RETURN(sealed_round_, sealed_rounds_->Of(item->bucket));
    bucket_ = item->bucket;
    has_bucket_ = true;
  }
  item->sealed_round = sealed_round_;
  return Status::Ok();
}

Result<std::optional<SegmentWalker::Item>> SegmentWalker::NextSpilled() {
  CISTERN_RETURN_IF_ERROR(status_);
  if (heap_.empty()) return std::optional<Item>();
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  Lane* lane = heap_.back();
  const std::optional<BucketKey> bucket = ParseHeaderKey(View(lane->iterator->key()));
  if (!bucket) {
    return Status::Corruption(WhereIs(*lane->family, lane->rotation) +
                              ": a segment header key does not parse");
  }
  CISTERN_ASSIGN_OR_RETURN(
      SegmentRef ref, MakeSegmentRef(lane->family, lane->rotation, View(lane->iterator->value())));
  lane->iterator->Next();
  if (!lane->iterator->status().ok()) {
    return ToStatus(lane->iterator->status(), "reading segment headers");
  }
  if (lane->iterator->Valid() && lane->iterator->key().compare(lane->end) < 0) {
    std::push_heap(heap_.begin(), heap_.end(), Later);
  } else {
    lane->iterator.reset();
    heap_.pop_back();
  }
  return std::optional<Item>(Item{*bucket, std::move(ref), 0});
}

Status VisitSegments(std::shared_ptr<const SpillView> view, std::string_view from,
                     const SegmentVisitor& visit) {
  SegmentWalker walker(std::move(view), from);
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(auto item, walker.Next());
    if (!item) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(const bool go_on, visit(item->bucket, std::move(item->segment)));
    if (!go_on) return Status::Ok();
  }
}

}  // namespace cistern
