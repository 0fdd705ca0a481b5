// The runs of a bucket's segments: which of them can only be sealed together.
#ifndef CISTERN_STORAGE_SEGMENT_RUNS_H_
#define CISTERN_STORAGE_SEGMENT_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "storage/spill_reader.h"

namespace cistern {

// Encoded, with its deletes.
[[nodiscard]] inline uint64_t BytesOf(const SegmentRef& segment) {
  return segment.header.byte_count() + segment.header.deletes.size() * sizeof(RangeDelete);
}

// Sorts segments of one bucket by their journal records, and gives the end of each run, as an index
// behind its last segment. All records of a run come before those of the next one, so that what
// is left behind a piece is newer than the piece, as a window's end relies on. A rotation makes one
// run, and so does what a rewriting merges.
[[nodiscard]] inline std::vector<size_t> SortIntoRuns(std::vector<SegmentRef>* segments) {
  std::sort(segments->begin(), segments->end(), [](const SegmentRef& a, const SegmentRef& b) {
    return std::pair(a.header.journal_first, a.id) < std::pair(b.header.journal_first, b.id);
  });
  std::vector<size_t> ends;
  uint64_t journal_last = 0;
  for (size_t i = 0; i < segments->size(); ++i) {
    const SegmentHeader& header = (*segments)[i].header;
    if (i > 0 && header.journal_first > journal_last) ends.push_back(i);
    journal_last = std::max(journal_last, header.journal_last);
  }
  if (!segments->empty()) ends.push_back(segments->size());
  return ends;
}

// Encoded bytes of the largest run; sorts the segments as SortIntoRuns does.
[[nodiscard]] inline uint64_t LargestRunBytes(std::vector<SegmentRef>* segments) {
  uint64_t largest = 0;
  size_t begin = 0;
  for (const size_t end : SortIntoRuns(segments)) {
    uint64_t bytes = 0;
    for (; begin < end; ++begin) bytes += BytesOf((*segments)[begin]);
    largest = std::max(largest, bytes);
  }
  return largest;
}

// Sorts them by their numbers, as readers have them.
inline void SortByNumber(std::vector<SegmentRef>* segments) {
  std::sort(segments->begin(), segments->end(),
            [](const SegmentRef& a, const SegmentRef& b) { return a.id < b.id; });
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEGMENT_RUNS_H_
