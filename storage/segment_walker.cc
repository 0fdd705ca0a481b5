#include "storage/segment_walker.h"

#include <algorithm>
#include <utility>

#include "lib/base/concat.h"
#include "storage/header_iterator.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

// Read ahead of a rotation: most headers are of about 100 bytes.
constexpr size_t kAheadHeaders = 32;
constexpr size_t kAheadBytes = 4 << 10;
constexpr size_t kIteratorBytes = 64 << 10;

size_t BytesOf(const std::string& key, const std::string& value) {
  return key.capacity() + value.capacity() + 2 * sizeof(std::string);
}

}  // namespace

SegmentWalker::SegmentWalker(std::shared_ptr<const SpillView> view, std::string_view from)
    : view_(std::move(view)), seal_covers_(view_), iterators_(view_->families.size()) {
  for (size_t f = 0; f < view_->families.size(); ++f) {
    for (const SequenceInterval& interval : view_->families[f]->record.committed) {
      for (uint64_t r = interval.first; r < interval.first + interval.length; ++r) {
        auto lane = std::make_unique<Lane>();
        lane->family = f;
        lane->rotation = r;
        lane->end = HeadersEnd(r);
        lane->from = HeaderKeyFrom(r, from);
        status_ = Fill(lane.get());
        if (!status_.ok()) return;
        if (lane->ahead.empty()) continue;
        heap_.push_back(lane.get());
        lanes_.push_back(std::move(lane));
      }
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), Later);
}

SegmentWalker::~SegmentWalker() = default;

// Behind the rotation and the tag.
std::string_view SegmentWalker::Lane::bucket_bytes() const {
  return std::string_view(ahead.back().key).substr(9);
}

// Equal buckets come in the order of their rotations.
bool SegmentWalker::Later(const Lane* a, const Lane* b) {
  const int order = a->bucket_bytes().compare(b->bucket_bytes());
  return order != 0 ? order > 0 : a->rotation > b->rotation;
}

// Reads the next headers of the lane, if there are any. What cannot be read fails it when all
// before that was given out.
Status SegmentWalker::Fill(Lane* lane) {
  auto& it = iterators_[lane->family];
  if (!it) it = NewHeaderIterator(*view_->families[lane->family], false);
  size_t bytes = 0;
  it->Seek(lane->from);
  for (; bytes < kAheadBytes && lane->ahead.size() < kAheadHeaders; it->Next()) {
    const bool is_of_lane = it->Valid() && it->key().compare(lane->end) < 0;
    if (!is_of_lane && !it->status().ok()) {
      if (lane->ahead.empty()) return ToStatus(it->status(), "reading segment headers");
      break;
    }
    lane->has_more = is_of_lane;
    if (!is_of_lane) break;
    const Header& header =
        lane->ahead.emplace_back(Header{it->key().ToString(), it->value().ToString()});
    bytes += BytesOf(header.key, header.value);
  }
  if (!lane->ahead.empty()) lane->from = lane->ahead.back().key + '\0';
  std::reverse(lane->ahead.begin(), lane->ahead.end());
  ahead_bytes_ += bytes;
  return Status::Ok();
}

size_t SegmentWalker::MemoryBytes() const {
  const auto open = static_cast<size_t>(std::count_if(
      iterators_.begin(), iterators_.end(), [](const auto& it) { return it != nullptr; }));
  return open * kIteratorBytes + lanes_.size() * sizeof(Lane) + ahead_bytes_;
}

Result<std::optional<SegmentWalker::Item>> SegmentWalker::Next() {
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(std::optional<Item> item, NextOfAll());
    if (!item || !item->is_replaced) return item;
  }
}

Result<std::optional<SegmentWalker::Item>> SegmentWalker::NextOfAll() {
  CISTERN_ASSIGN_OR_RETURN(std::optional<Item> item, NextSpilled());
  if (!item) return item;
  CISTERN_RETURN_IF_ERROR(FindCover(&*item));
  if (item->is_replaced) {
    const SegmentHeader& header = item->segment.header;
    versions_sealed_ += header.row_count + header.deletes.size();
  }
  return item;
}

Status SegmentWalker::FindCover(Item* item) {
  if (view_->windows.empty() && view_->ended.empty()) return Status::Ok();
  if (!has_bucket_ || item->bucket != bucket_) {
    CISTERN_ASSIGN_OR_RETURN(cover_, seal_covers_.Of(item->bucket));
    bucket_ = item->bucket;
    has_bucket_ = true;
  }
  item->is_of_sealed = !cover_.is_empty();
  item->is_replaced = cover_.Has(RotationOf(item->segment.id));
  return Status::Ok();
}

Result<std::optional<SegmentWalker::Item>> SegmentWalker::NextSpilled() {
  CISTERN_RETURN_IF_ERROR(status_);
  if (heap_.empty()) return std::optional<Item>();
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  Lane* lane = heap_.back();
  const auto& family = view_->families[lane->family];
  const Header header = std::move(lane->ahead.back());
  lane->ahead.pop_back();
  ahead_bytes_ -= BytesOf(header.key, header.value);
  const std::optional<BucketKey> bucket = ParseHeaderKey(header.key);
  if (!bucket) {
    return Status::Corruption(Concat({"rotation ", lane->rotation, " of ", family->Name(),
        ": a segment header key does not parse"}));
  }
  CISTERN_ASSIGN_OR_RETURN(SegmentRef ref, MakeSegmentRef(family, lane->rotation, header.value));
  if (lane->ahead.empty() && lane->has_more) status_ = Fill(lane);
  if (lane->ahead.empty()) {
    heap_.pop_back();
  } else {
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  return std::optional<Item>(Item{*bucket, std::move(ref)});
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
