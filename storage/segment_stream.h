// SegmentStream: headers and pages of segments, read one behind another.
#ifndef CISTERN_STORAGE_SEGMENT_STREAM_H_
#define CISTERN_STORAGE_SEGMENT_STREAM_H_

#include <rocksdb/iterator.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "storage/spill_reader.h"

namespace cistern {

// For who reads buckets of one entity in order of time: seals of a round have their headers, and
// their pages, behind one another, and a step of an iterator costs much less than a lookup by key.
// What does not follow is sought, and the first of each family looked up: an iterator pays from the
// second on. Keeps an iterator for headers and one for pages, and the family that they are of. One
// thread.
class SegmentStream {
 public:
  SegmentStream();
  ~SegmentStream();

  // As ReadSealedSegment, which it is instead of.
  [[nodiscard]] Result<SegmentRef> ReadSealed(const std::shared_ptr<const SegmentFamily>& window,
                                              const BucketKey& bucket, uint64_t seal);
  // As cistern::ReadPage. The bytes are good until the next call.
  [[nodiscard]] Result<std::string_view> ReadPage(const SegmentRef& segment, uint32_t page);
  // The same of a segment whose header was not read; that of a seal has the seal's number.
  [[nodiscard]] Result<std::string_view> ReadPage(
      const std::shared_ptr<const SegmentFamily>& family, uint64_t segment_id, uint32_t page);

  // Holds nothing of the page that was read last, if it is large: its block would stay in memory,
  // which is nobody's budget, for as long as the reader waits.
  void LetGoOfLarge();
  // Holds no family any more.
  void LetGo();

 private:
  using MakeIterator = std::unique_ptr<rocksdb::Iterator> (*)(const SegmentFamily& family);
  struct Lane {
    std::shared_ptr<const SegmentFamily> family;
    rocksdb::PinnableSlice first;                 // before there is an iterator
    std::unique_ptr<rocksdb::Iterator> iterator;
    size_t value_bytes = 0;                       // of what was found last
  };
  [[nodiscard]] static std::optional<std::string_view> Find(
      const std::shared_ptr<const SegmentFamily>& family, const std::string& key,
      MakeIterator make, Lane* lane, rocksdb::Status* status);

  Lane headers_;
  Lane pages_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEGMENT_STREAM_H_
