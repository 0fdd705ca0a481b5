// Reading segments of open buckets: headers and pages of the spill families in a view.
#ifndef CISTERN_STORAGE_SPILL_READER_H_
#define CISTERN_STORAGE_SPILL_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "lib/segment/segment_header.h"
#include "storage/spill_set.h"

namespace cistern {

// A segment that counts. Holds its family, so its pages stay readable.
struct SegmentRef {
  std::shared_ptr<const SegmentFamily> family;
  uint64_t id = 0;
  SegmentHeader header;
};

// A header's value as a segment of that rotation or seal round. kCorruption names both.
[[nodiscard]] Result<SegmentRef> MakeSegmentRef(const std::shared_ptr<const SegmentFamily>& family,
                                                uint64_t rotation, std::string_view value);

// A segment of a bucket that cannot be read.
struct DamagedSegment {
  std::shared_ptr<const SegmentFamily> family;
  uint64_t id = 0;  // of a seal; of a rotation: the number that its segments begin with
  std::optional<Manifest> manifest;  // of a seal
  Status status;
};

// Every segment of the bucket: of its seals, oldest first, then those spilled since, oldest
// rotation of the oldest family first. Those that are damaged fail it, unless there is a place
// to name them.
[[nodiscard]] Result<std::vector<SegmentRef>> ListSegments(
    const SpillView& view, const BucketKey& bucket, std::vector<DamagedSegment>* damaged = nullptr);

// "page 0 of segment 17 in window 3", for messages.
[[nodiscard]] std::string NameOfPage(const SegmentRef& segment, uint32_t page);
[[nodiscard]] std::string NameOfPage(const SegmentFamily& family, uint64_t segment_id,
                                     uint32_t page);
// One page's bytes. kCorruption names the segment and the page.
[[nodiscard]] Result<std::string> ReadPage(const SegmentRef& segment, uint32_t page);

// What lies in a family, whether it counts or not: for families whose record is damaged.
struct FamilyContent {
  uint64_t segments = 0;
  uint64_t versions = 0;  // deletes included
};
[[nodiscard]] Result<FamilyContent> CountSegments(const SpillFamily& family);

// Finds the buckets of one entity, in order of time. Remembers where each rotation and
// window stands, so that going through all buckets seeks once for each segment; descending beside a
// damaged file it passes all headers of the entity each time. One thread.
class BucketFrontier {
 public:
  BucketFrontier(std::shared_ptr<const SpillView> view, uint32_t table_id, std::string_view entity,
                 bool descending);
  ~BucketFrontier();
  [[nodiscard]] const SpillView* view() const { return view_.get(); }
  // Start of the first bucket at or after `at_s`, descending: of the last at or before
  // it. `at_s` must not go back.
  [[nodiscard]] Result<std::optional<int64_t>> Next(int64_t at_s);

 private:
  struct Rotation {
    size_t family = 0;
    uint64_t sequence = 0;
    bool sought = false;
    std::optional<int64_t> start_s;  // of its next bucket; none: no more
  };
  struct Window {
    uint64_t id = 0;
    WindowSpan span;
    bool sought = false;
    std::optional<int64_t> start_s;
  };
  [[nodiscard]] Status Seek(Rotation* rotation, int64_t at_s);
  [[nodiscard]] Status SeekUpwards(Rotation* rotation, int64_t at_s);
  [[nodiscard]] Result<int64_t> StartOf(const Rotation& rotation, std::string_view key) const;
  [[nodiscard]] Status SeekSealed(Window* window, int64_t at_s);

  const std::shared_ptr<const SpillView> view_;
  const uint32_t table_id_;
  const std::string entity_;
  const bool descending_;
  std::vector<std::unique_ptr<rocksdb::Iterator>> iterators_;  // by family
  std::vector<Rotation> rotations_;
  std::unique_ptr<rocksdb::Iterator> manifests_;
  std::vector<Window> windows_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_READER_H_
