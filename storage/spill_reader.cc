#include "storage/spill_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

using IteratorPtr = std::unique_ptr<rocksdb::Iterator>;

IteratorPtr Headers(const SpillFamily& family, bool whole_order) {
  rocksdb::ReadOptions options;
  options.total_order_seek = whole_order;
  options.prefix_same_as_start = !whole_order;
  return IteratorPtr(family.family->db()->NewIterator(options, family.family->handle()));
}

std::string_view KeyOf(const rocksdb::Iterator& it) {
  return {it.key().data(), it.key().size()};
}
std::string_view ValueOf(const rocksdb::Iterator& it) {
  return {it.value().data(), it.value().size()};
}

Status BadHeaderKey(const SpillFamily& family) {
  return Status::Corruption("spill family " + std::to_string(family.id) +
                            ": a segment header key does not parse");
}

Result<SegmentRef> MakeRef(const std::shared_ptr<const SpillFamily>& family, uint64_t segment_id,
                           std::string_view header_bytes) {
  Result<SegmentHeader> header = DecodeSegmentHeader(header_bytes);
  if (!header.ok()) {
    return Status(header.status().code(), "segment " + std::to_string(segment_id) +
                                              " of spill family " + std::to_string(family->id) +
                                              ": " + header.status().message());
  }
  return SegmentRef{family, segment_id, *std::move(header)};
}

}  // namespace

Result<std::vector<SegmentRef>> ListSegments(const SpillView& view, const BucketKey& bucket) {
  std::vector<SegmentRef> out;
  const std::string prefix = HeaderPrefix(bucket);
  for (const auto& family : view.families) {
    IteratorPtr it = Headers(*family, false);
    for (it->Seek(prefix); it->Valid() && KeyOf(*it).starts_with(prefix); it->Next()) {
      const auto parsed = ParseHeaderKey(KeyOf(*it));
      if (!parsed) return BadHeaderKey(*family);
      if (!family->record.Contains(RotationOf(parsed->segment_id))) continue;
      CISTERN_ASSIGN_OR_RETURN(SegmentRef ref, MakeRef(family, parsed->segment_id, ValueOf(*it)));
      out.push_back(std::move(ref));
    }
    if (!it->status().ok()) return ToStatus(it->status(), "listing a bucket's segments");
  }
  return out;
}

Result<std::optional<int64_t>> NextSpilledBucket(const SpillView& view, uint32_t table_id,
                                                 std::string_view entity, int64_t at_s,
                                                 bool descending) {
  std::optional<int64_t> best;
  const std::string prefix = EntityPrefix(table_id, entity);
  const BucketKey edge{table_id, std::string(entity), at_s, descending ? uint32_t{UINT16_MAX} : 0};
  for (const auto& family : view.families) {
    IteratorPtr it = Headers(*family, true);
    if (descending) {
      it->SeekForPrev(HeaderKey(edge, UINT64_MAX));
    } else {
      it->Seek(HeaderPrefix(edge));
    }
    while (it->Valid() && KeyOf(*it).starts_with(prefix)) {
      const auto parsed = ParseHeaderKey(KeyOf(*it));
      if (!parsed) return BadHeaderKey(*family);
      if (family->record.Contains(RotationOf(parsed->segment_id))) {
        const int64_t start = parsed->bucket.start_s;
        if (!best || (descending ? start > *best : start < *best)) best = start;
        break;
      }
      descending ? it->Prev() : it->Next();
    }
    if (!it->status().ok()) return ToStatus(it->status(), "looking for the next bucket");
  }
  return best;
}

Result<std::string> ReadPage(const SegmentRef& segment, uint32_t page) {
  std::string value;
  const std::string where = "page " + std::to_string(page) + " of segment " +
                            std::to_string(segment.id) + " in spill family " +
                            std::to_string(segment.family->id);
  const rocksdb::Status s = segment.family->family->db()->Get(
      rocksdb::ReadOptions(), segment.family->family->handle(), PageKey(segment.id, page), &value);
  if (s.IsNotFound()) return Status::Corruption(where + " is missing");
  if (!s.ok()) return ToStatus(s, where);
  return value;
}

Status VisitSegments(const SpillView& view, std::string_view from, const SegmentVisitor& visit) {
  std::vector<std::pair<IteratorPtr, std::shared_ptr<const SpillFamily>>> heads;
  for (const auto& family : view.families) {
    IteratorPtr it = Headers(*family, true);
    it->Seek(std::string(kHeaderKeysBegin).append(from));
    heads.emplace_back(std::move(it), family);
  }
  while (true) {
    rocksdb::Iterator* least = nullptr;
    const std::shared_ptr<const SpillFamily>* family = nullptr;
    for (auto& [it, f] : heads) {
      if (!it->status().ok()) return ToStatus(it->status(), "reading segment headers");
      if (!it->Valid() || !it->key().starts_with(std::string(kHeaderKeysBegin))) continue;
      if (least == nullptr || it->key().compare(least->key()) < 0) {
        least = it.get();
        family = &f;
      }
    }
    if (least == nullptr) return Status::Ok();
    const auto parsed = ParseHeaderKey(KeyOf(*least));
    if (!parsed) return BadHeaderKey(**family);
    if ((*family)->record.Contains(RotationOf(parsed->segment_id))) {
      CISTERN_ASSIGN_OR_RETURN(SegmentRef ref,
                               MakeRef(*family, parsed->segment_id, ValueOf(*least)));
      CISTERN_ASSIGN_OR_RETURN(const bool go_on, visit(parsed->bucket, std::move(ref)));
      if (!go_on) return Status::Ok();
    }
    least->Next();
  }
}

}  // namespace cistern
