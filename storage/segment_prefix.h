// The prefix of a spill family's keys: what a bloom filter remembers.
#ifndef CISTERN_STORAGE_SEGMENT_PREFIX_H_
#define CISTERN_STORAGE_SEGMENT_PREFIX_H_

#include <rocksdb/slice_transform.h>

#include <cstddef>
#include <memory>
#include <string_view>

namespace cistern {

// Length of the prefix of a spill key, or 0 if it has none (too short, another kind):
//   'H' table u32 | entity length u16 | entity | bucket i64 | split u16 [| segment id u64]
//       the prefix ends before the segment id: all segment headers of one bucket
//   'P' segment id u64 [| page u32]
//       the prefix ends after the segment id: all pages of one segment
// A bare prefix is its own prefix, so a seek to it may use the filter.
[[nodiscard]] size_t SegmentPrefixLength(std::string_view key);

// Seeks with ReadOptions::prefix_same_as_start use the filters; a walk over a whole
// family needs ReadOptions::total_order_seek.
[[nodiscard]] std::shared_ptr<const rocksdb::SliceTransform> SegmentPrefixTransform();

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEGMENT_PREFIX_H_
