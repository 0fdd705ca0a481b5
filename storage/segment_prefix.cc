#include "storage/segment_prefix.h"

#include "lib/base/coding.h"

namespace cistern {
namespace {

constexpr size_t kTableBytes = 4;
constexpr size_t kLengthBytes = 2;
constexpr size_t kBucketBytes = 8;
constexpr size_t kSplitBytes = 2;
constexpr size_t kSegmentIdBytes = 8;

class SegmentPrefix : public rocksdb::SliceTransform {
 public:
  // Part of every SST written: a change of the rule needs another name.
  const char* Name() const override { return "cistern.segment-prefix.1"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), SegmentPrefixLength({key.data(), key.size()})};
  }
  bool InDomain(const rocksdb::Slice& key) const override {
    return SegmentPrefixLength({key.data(), key.size()}) > 0;
  }
};

}  // namespace

size_t SegmentPrefixLength(std::string_view key) {
  if (key.empty()) return 0;
  size_t length = 0;
  if (key[0] == 'H') {
    constexpr size_t kEntityAt = 1 + kTableBytes + kLengthBytes;
    if (key.size() < kEntityAt) return 0;
    length =
        kEntityAt + GetBig<uint16_t>(key.data() + 1 + kTableBytes) + kBucketBytes + kSplitBytes;
  } else if (key[0] == 'P') {
    length = 1 + kSegmentIdBytes;
  }
  return key.size() < length ? 0 : length;
}

std::shared_ptr<const rocksdb::SliceTransform> SegmentPrefixTransform() {
  static const auto transform = std::make_shared<const SegmentPrefix>();
  return transform;
}

}  // namespace cistern
