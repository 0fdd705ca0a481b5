// Which split of its bucket a row belongs to. Pure; docs/schema.md specifies the hash, so
// that any client of the cluster can compute it.
#ifndef CISTERN_BUCKETING_SPLIT_POLICY_H_
#define CISTERN_BUCKETING_SPLIT_POLICY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/row_batch.h"
#include "cistern/schema.h"

namespace cistern {

// The counter of round-robin splits, kept by whoever takes the rows in. One thread at a time.
class RoundRobin {
 public:
  // 0, 1, ..., count - 1, 0, ... REQUIRES: count > 0.
  [[nodiscard]] uint32_t Next(uint32_t count) {
    const uint32_t split = next_ < count ? next_ : 0;
    next_ = split + 1;
    return split;
  }

 private:
  uint32_t next_ = 0;
};

// Appends one clustering column to the bytes that are hashed: u16 big-endian length and the
// value as the native protocol serialises it. Call it for each column in key order.
void AppendSplitKey(const ColumnType& type, int64_t fixed, std::string_view bytes,
                    std::string* key);

// XXH3-64 of the key, modulo count. REQUIRES: count > 0.
[[nodiscard]] uint32_t HashSplit(std::string_view key, uint32_t count);

// The value of the split column for a whole row of `batch`; 0 for a table without splits.
// `round_robin` advances only under that rule; it may be null under the others.
[[nodiscard]] uint32_t SplitOfRow(const TableSchema& schema, const RowBatch& batch, size_t row,
                                  RoundRobin* round_robin);

}  // namespace cistern

#endif  // CISTERN_BUCKETING_SPLIT_POLICY_H_
