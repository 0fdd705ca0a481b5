// When a bucket is due for its seal, and which window takes it. Pure.
#ifndef CISTERN_ENGINE_SEAL_SEAL_POLICY_H_
#define CISTERN_ENGINE_SEAL_SEAL_POLICY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cistern/limits.h"
#include "cistern/schema.h"
#include "engine/bucketing/bucketer.h"
#include "storage/spill_set.h"

namespace cistern {

struct SealLimits {
  int64_t grace_s = 300;  // behind the bucket's end
  int64_t idle_s = 300;   // since its last row
  size_t window_count_max = limits::kWindowFamilyCountMax;
  // Of a bucket's open segments; 0: no limit.
  uint64_t open_rows_max = 0;
  uint64_t open_bytes_max = 0;
  int64_t age_s_max = 0;  // of a row, until it leaves though its bucket goes on; 0: no limit
};

// As many windows as take about a tenth of the memory budget.
[[nodiscard]] inline size_t WindowCountFor(size_t budget_bytes) {
  return std::clamp<size_t>(budget_bytes / (10 * limits::kWindowFamilyBytes), 8,
                            limits::kWindowFamilyCountMax);
}

// From when on the bucket that ends at `end_s` and took its last row at `last_row_us` is over.
// Row time alone decides nothing: history read from a file is sealed once it has rested, and one
// row from the year 2106 does not seal the world.
[[nodiscard]] int64_t DueAt(int64_t end_s, int64_t last_row_us, const SealLimits& limits);

// From when on a bucket whose oldest row was written at `oldest_us` does not wait for `due_at_us`,
// when it is due by itself; the last time of all: never. One that is due within an eighth of the
// age limit is waited for: its rows would only be in two seals.
[[nodiscard]] int64_t DueByAgeAt(int64_t due_at_us, int64_t oldest_us, const SealLimits& limits);

// Whether it is over at `now_us`, a trusted time.
[[nodiscard]] inline bool IsDue(int64_t end_s, int64_t last_row_us, int64_t now_us,
                                const SealLimits& limits) {
  return DueAt(end_s, last_row_us, limits) <= now_us;
}

// Whether so much of the bucket is spilled that it does not wait for its end: a year's bucket
// leaves in pieces.
[[nodiscard]] inline bool IsFull(uint64_t open_rows, uint64_t open_bytes,
                                 const SealLimits& limits) {
  return (limits.open_rows_max != 0 && open_rows >= limits.open_rows_max) ||
         (limits.open_bytes_max != 0 && open_bytes >= limits.open_bytes_max);
}

// The window that the bucket that starts at `start_s` would have to itself: a whole number of
// buckets, so wide that about 24 windows cover the rows' life, which is the table's TTL or,
// without one, 30 days. TWCS advises 20 to 30 (Apache Cassandra, Time Window Compaction
// Strategy). Far from `now_s` it is wider, by a power of two, up to a quarter of the distance:
// fifty years of history are some forty windows, and not ten thousand.
[[nodiscard]] WindowSpan WindowOf(const TableSchema& schema, const Bucketer& bucketer,
                                  int64_t start_s, int64_t now_s);

// The window for a bucket that starts at `start_s` and would have *span: the narrowest one of
// its class that holds it, and *span is that one's; nothing: a new one of *span. At the bound
// on families *span becomes the one of all times, which is shared by what finds no other.
[[nodiscard]] std::shared_ptr<const WindowFamily> ChooseWindow(
    const std::vector<std::shared_ptr<const WindowFamily>>& windows, size_t window_count_max,
    int64_t start_s, WindowSpan* span);

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_SEAL_POLICY_H_
