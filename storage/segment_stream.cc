#include "storage/segment_stream.h"

#include <rocksdb/iterator.h>

#include "storage/header_iterator.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"

namespace cistern {

SegmentStream::SegmentStream() = default;

SegmentStream::~SegmentStream() = default;

// Whether the lane is at the key then; if not, its status tells whether it could be looked for.
bool SegmentStream::MoveTo(std::string_view key, Lane* lane) {
  rocksdb::Iterator& it = *lane->iterator;
  if (it.Valid()) it.Next();
  if (!it.Valid() || it.key().ToStringView() != key) it.Seek(key);
  return it.Valid() && it.key().ToStringView() == key;
}

Result<SegmentRef> SegmentStream::ReadSealed(const std::shared_ptr<const SegmentFamily>& window,
                                             const BucketKey& bucket, uint64_t seal) {
  if (headers_.family != window) headers_ = {window, NewHeaderIterator(*window, true)};
  const bool is_there = MoveTo(HeaderKey(RotationOf(seal), bucket), &headers_);
  const rocksdb::Status status = headers_.iterator->status();
  if (!status.ok()) return ToReadStatus(status, NameOfSeal(*window, seal));
  if (!is_there) return MakeSealedRef(window, seal, std::nullopt);
  return MakeSealedRef(window, seal, headers_.iterator->value().ToStringView());
}

Result<std::string_view> SegmentStream::ReadPage(const SegmentRef& segment, uint32_t page) {
  if (pages_.family != segment.family) {
    const FamilyPtr& family = segment.family->family;
    pages_ = {segment.family, std::unique_ptr<rocksdb::Iterator>(family->db()->NewIterator(
                                  rocksdb::ReadOptions(), family->handle()))};
  }
  const bool is_there = MoveTo(PageKey(segment.id, page), &pages_);
  const rocksdb::Status status = pages_.iterator->status();
  if (!status.ok()) return ToReadStatus(status, NameOfPage(segment, page));
  if (!is_there) return Status::Corruption(NameOfPage(segment, page) + " is missing");
  return pages_.iterator->value().ToStringView();
}

}  // namespace cistern
