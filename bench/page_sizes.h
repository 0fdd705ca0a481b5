// What pages of made rows take, straight through the page encoder: no store around them.
#ifndef CISTERN_BENCH_PAGE_SIZES_H_
#define CISTERN_BENCH_PAGE_SIZES_H_

#include <cstddef>
#include <cstdint>

namespace cistern::bench {

struct PageRun {
  size_t page_rows = 360;
  // Rows are written 1.5 ms after their event, and up to this many microseconds more.
  uint64_t jitter_us = 1;
};

// Bytes a row in pages and the headers of their segments, one page a bucket, for 100 buckets:
// rows of `workload.h`, one sensor's.
[[nodiscard]] double GatewayBytesPerRow(const PageRun& run);
// ... and readings of TSBS's IoT suite: a truck each 10 s, seven doubles that walk at random and
// are cut to 5, 5, 0, 0, 0, 0 and 1 decimals.
[[nodiscard]] double TruckBytesPerRow(const PageRun& run);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PAGE_SIZES_H_
