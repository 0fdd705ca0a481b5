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
  if (it.Valid() && it.key().ToStringView() == key) return true;
  it.Seek(key);
  return it.Valid() && it.key().ToStringView() == key;
}

Result<SegmentRef> SegmentStream::ReadSealed(const std::shared_ptr<const SegmentFamily>& window,
                                             const BucketKey& bucket, uint64_t seal) {
  if (headers_.family != window) headers_ = {window, NewHeaderIterator(*window, true)};
  if (MoveTo(HeaderKey(RotationOf(seal), bucket), &headers_)) {
    return MakeSealedRef(window, seal, headers_.iterator->value().ToStringView());
  }
  const rocksdb::Status status = headers_.iterator->status();
  if (!status.ok()) return ToReadStatus(status, NameOfSeal(*window, seal));
  return MakeSealedRef(window, seal, std::nullopt);
}

Result<std::string_view> SegmentStream::ReadPage(const SegmentRef& segment, uint32_t page) {
  return ReadPage(segment.family, segment.id, page);
}

Result<std::string_view> SegmentStream::ReadPage(
    const std::shared_ptr<const SegmentFamily>& family, uint64_t segment_id, uint32_t page) {
  if (pages_.family != family) {
    pages_ = {family, std::unique_ptr<rocksdb::Iterator>(family->family->db()->NewIterator(
                          rocksdb::ReadOptions(), family->family->handle()))};
  }
  if (MoveTo(PageKey(segment_id, page), &pages_)) return pages_.iterator->value().ToStringView();
  const rocksdb::Status status = pages_.iterator->status();
  if (!status.ok()) return ToReadStatus(status, NameOfPage(*family, segment_id, page));
  return Status::Corruption(NameOfPage(*family, segment_id, page) + " is missing");
}

}  // namespace cistern
