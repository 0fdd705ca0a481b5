// Reading segments: headers and pages of the spill families in a view.
#ifndef CISTERN_STORAGE_SPILL_READER_H_
#define CISTERN_STORAGE_SPILL_READER_H_

#include <cstdint>
#include <functional>
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
  std::shared_ptr<const SpillFamily> family;
  uint64_t id = 0;
  SegmentHeader header;
};

// Every segment of the bucket, oldest family first.
[[nodiscard]] Result<std::vector<SegmentRef>> ListSegments(const SpillView& view,
                                                           const BucketKey& bucket);

// Start of the entity's first bucket at or after `at_s`, or last at or before it.
[[nodiscard]] Result<std::optional<int64_t>> NextSpilledBucket(const SpillView& view,
                                                               uint32_t table_id,
                                                               std::string_view entity,
                                                               int64_t at_s, bool descending);

// One page's bytes. kCorruption names the segment and the page.
[[nodiscard]] Result<std::string> ReadPage(const SegmentRef& segment, uint32_t page);

// Visits the segments that count, in bucket key order over all families, until the
// visitor returns false. `from` (bucket key bytes) is where to begin.
using SegmentVisitor = std::function<Result<bool>(const BucketKey&, SegmentRef)>;
[[nodiscard]] Status VisitSegments(const SpillView& view, std::string_view from,
                                   const SegmentVisitor& visit);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SPILL_READER_H_
