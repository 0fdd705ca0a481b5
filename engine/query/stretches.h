// Stretches: which pages of a bucket stand alone, and which rows have to be merged. Pure.
#ifndef CISTERN_ENGINE_QUERY_STRETCHES_H_
#define CISTERN_ENGINE_QUERY_STRETCHES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/row/version_columns.h"
#include "lib/segment/segment_header.h"

namespace cistern {

// Event times that something of a bucket has rows of, both inclusive.
struct TimeExtent {
  int64_t first = 0;
  int64_t last = 0;
};

// A run of event times of a bucket: either the rows of one page, with which nothing else has an
// event time in common, or rows of several pages and heads, which have to be merged.
struct Stretch {
  TimeExtent times;
  bool is_page = false;
  uint32_t segment = 0;  // the page's; an index into the headers
  uint32_t page = 0;
};

// All rows of the bucket, in order of time. `heads`: of what is not in pages.
[[nodiscard]] std::vector<Stretch> StretchesOf(std::span<const SegmentHeader* const> headers,
                                               std::span<const TimeExtent> heads);

// Whether a delete is of some of these times.
[[nodiscard]] bool AnyMeets(std::span<const RangeDelete> deletes, const TimeExtent& times);

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_STRETCHES_H_
