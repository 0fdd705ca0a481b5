#include "storage/segment_stream.h"

#include <rocksdb/db.h>

#include <utility>

#include "lib/base/concat.h"
#include "storage/header_iterator.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

constexpr size_t kHeldBytesMax = 64 << 10;

std::unique_ptr<rocksdb::Iterator> NewCachedHeaderIterator(const SegmentFamily& family) {
  return NewHeaderIterator(family, /*fill_cache=*/true);
}

std::unique_ptr<rocksdb::Iterator> NewPageIterator(const SegmentFamily& family) {
  return std::unique_ptr<rocksdb::Iterator>(
      family.family->db()->NewIterator(rocksdb::ReadOptions(), family.family->handle()));
}

}  // namespace

SegmentStream::SegmentStream() = default;

SegmentStream::~SegmentStream() = default;

void SegmentStream::LetGoOfLarge() {
  if (pages_.value_bytes <= kHeldBytesMax) return;
  pages_.first.Reset();
  pages_.iterator.reset();
}

void SegmentStream::LetGo() {
  headers_ = {};
  pages_ = {};
}

// Finds the value of the key, which *status tells of if it is not there. The first of a family is
// looked up: who reads one alone needs no iterator.
std::optional<std::string_view> SegmentStream::Find(
    const std::shared_ptr<const SegmentFamily>& family, const std::string& key,
    MakeIterator make, Lane* lane, rocksdb::Status* status) {
  std::optional<std::string_view> value;
  if (lane->family != family) {
    *lane = {};
    lane->family = family;
    *status = family->family->db()->Get(rocksdb::ReadOptions(), family->family->handle(), key,
                                        &lane->first);
    if (status->ok()) value = lane->first.ToStringView();
    if (status->IsNotFound()) *status = rocksdb::Status::OK();
  } else {
    lane->first.Reset();
    if (!lane->iterator) lane->iterator = make(*family);
    rocksdb::Iterator& it = *lane->iterator;
    if (it.Valid()) it.Next();
    if (!it.Valid() || it.key().ToStringView() != key) it.Seek(key);
    if (it.Valid() && it.key().ToStringView() == key) value = it.value().ToStringView();
    *status = it.status();
  }
  lane->value_bytes = value ? value->size() : 0;
  return value;
}

Result<SegmentRef> SegmentStream::ReadSealed(const std::shared_ptr<const SegmentFamily>& window,
                                             const BucketKey& bucket, uint64_t seal) {
  rocksdb::Status status;
  const std::optional<std::string_view> value = Find(
      window, HeaderKey(RotationOf(seal), bucket), NewCachedHeaderIterator, &headers_, &status);
  if (!value && !status.ok()) return ToReadStatus(status, NameOfSeal(*window, seal));
  return MakeSealedRef(window, seal, value);
}

Result<std::string_view> SegmentStream::ReadPage(const SegmentRef& segment, uint32_t page) {
  return ReadPage(segment.family, segment.id, page);
}

Result<std::string_view> SegmentStream::ReadPage(
    const std::shared_ptr<const SegmentFamily>& family, uint64_t segment_id, uint32_t page) {
  rocksdb::Status status;
  const std::optional<std::string_view> value =
      Find(family, PageKey(segment_id, page), NewPageIterator, &pages_, &status);
  if (value) return *value;
  if (!status.ok()) return ToReadStatus(status, NameOfPage(*family, segment_id, page));
  return Status::Corruption(Concat({NameOfPage(*family, segment_id, page), " is missing"}));
}

}  // namespace cistern
