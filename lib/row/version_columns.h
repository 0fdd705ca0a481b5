// VersionColumns: row versions by column, the shape in which rows travel between
// head, segments, merges and scans.
#ifndef CISTERN_ROW_VERSION_COLUMNS_H_
#define CISTERN_ROW_VERSION_COLUMNS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/schema.h"

namespace cistern {

// Flags of a row version. The values are persistent.
inline constexpr uint8_t kVersionLiveness = 1;   // carries the row's liveness marker (INSERT)
inline constexpr uint8_t kVersionDeleteRow = 2;  // deletes the row; has key columns only

// Row versions 0..row_count-1 of one bucket.
//
// write_us[i] is the write timestamp in microseconds since 1970. Where boot[i] is not 0
// the version is provisional: write_us[i] counts from the base of boot record boot[i],
// and expiry_s[i] holds the TTL instead of the second of expiry, until ResolveBoots().
//
// columns[c] belongs to schema column c in declared order. Entity, bucket and split
// columns are empty (the bucket's key has them), and so are columns left out by a
// projection. Clustering columns are always values.
struct VersionColumns {
  size_t row_count = 0;
  std::vector<int64_t> write_us;
  std::vector<uint32_t> boot;      // empty: all 0
  std::vector<uint32_t> expiry_s;  // second of expiry, 0: never; empty: all 0
  std::vector<uint8_t> flags;
  std::vector<ColumnData> columns;

  [[nodiscard]] uint32_t boot_of(size_t i) const { return boot.empty() ? 0 : boot[i]; }
  [[nodiscard]] uint32_t expiry_of(size_t i) const { return expiry_s.empty() ? 0 : expiry_s[i]; }

  // Empty columns with the schema's lanes.
  static VersionColumns For(const TableSchema& schema) {
    VersionColumns v;
    v.columns.resize(schema.columns.size());
    for (size_t c = 0; c < v.columns.size(); ++c) v.columns[c].lane = schema.columns[c].type.lane();
    return v;
  }
  [[nodiscard]] size_t MemoryBytes() const {
    size_t n = write_us.capacity() * 8 + boot.capacity() * 4 + expiry_s.capacity() * 4 +
               flags.capacity();
    for (const ColumnData& c : columns) n += c.MemoryBytes() + sizeof(ColumnData);
    return n;
  }
};

// Deletes every row version of its bucket with from <= event time < to whose write
// timestamp is at most write_us. A partition delete spans the whole int64 range.
// `boot` as in VersionColumns.
struct RangeDelete {
  int64_t from = std::numeric_limits<int64_t>::min();
  int64_t to = std::numeric_limits<int64_t>::max();  // max: no upper end
  int64_t write_us = 0;
  uint32_t boot = 0;
  friend bool operator==(const RangeDelete&, const RangeDelete&) = default;
};

}  // namespace cistern

#endif  // CISTERN_ROW_VERSION_COLUMNS_H_
