// SpilledBuckets: what one rotation has added to the open buckets.
#ifndef CISTERN_ENGINE_SPILLED_BUCKETS_H_
#define CISTERN_ENGINE_SPILLED_BUCKETS_H_

#include <algorithm>
#include <cstdint>

namespace cistern {

// As much of it as tells whether a bucket may be due for its seal.
struct SpilledBuckets {
  uint64_t rotation = 0;
  int64_t oldest_us = INT64_MIN;    // when the first of its rows was written; lowest: not known
  int64_t end_first_s = INT64_MAX;  // where the first of them ends
  uint64_t rows_max = 0;            // of one of them
  uint64_t bytes_max = 0;           // the same, encoded

  void Note(int64_t end_s, uint64_t rows, uint64_t bytes) {
    end_first_s = std::min(end_first_s, end_s);
    rows_max = std::max(rows_max, rows);
    bytes_max = std::max(bytes_max, bytes);
  }
  // Counts what another rotation has spilled before as if this one had.
  void NoteEarlier(const SpilledBuckets& other) {
    Note(other.end_first_s, other.rows_max, other.bytes_max);
    oldest_us = std::min(oldest_us, other.oldest_us);
  }
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SPILLED_BUCKETS_H_
