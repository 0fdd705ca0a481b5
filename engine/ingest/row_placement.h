// Row placement: entity, event time and expiry of a row of a batch. Pure.
#ifndef CISTERN_ENGINE_INGEST_ROW_PLACEMENT_H_
#define CISTERN_ENGINE_INGEST_ROW_PLACEMENT_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "cistern/limits.h"
#include "cistern/row_batch.h"
#include "lib/base/coding.h"
#include "lib/cql/wire_value.h"
#include "lib/row/row_order.h"
#include "storage/head.h"

namespace cistern {

// Event time of a row in the table's ticks.
[[nodiscard]] inline int64_t EventTimeOf(const TableSchema& schema, const RowBatch& batch,
                                         size_t row) {
  const size_t column = schema.time_column();
  return schema.columns[column].type.kind == CqlType::kTimeuuid
             ? TimeuuidTicks(batch.bytes(row, column))
             : batch.fixed(row, column);
}

// Replaces *key by the row's entity key bytes (see entity.h).
inline void AppendEntityKey(const TableSchema& schema, const RowBatch& batch, size_t row,
                            std::string* key) {
  key->clear();
  for (const size_t column : schema.entity_columns) {
    const size_t at = key->size();
    key->append(2, '\0');
    const ColumnType& type = schema.columns[column].type;
    if (type.lane() == Lane::kBytes) {
      key->append(batch.bytes(row, column));
    } else {
      AppendWireValue(type, batch.fixed(row, column), {}, key);
    }
    const size_t length = key->size() - at - 2;
    (*key)[at] = static_cast<char>(length >> 8);
    (*key)[at + 1] = static_cast<char>(length);
  }
}

// Stamps rows with their flags and expiry: the row's TTL, else the table's, counted from
// the second of the write; on an untrusted clock (boot != 0) the TTL itself.
class RowExpiry {
 public:
  RowExpiry(const TableSchema& schema, uint32_t boot, int64_t now_s)
      : default_ttl_s_(schema.default_ttl_s), boot_(boot), now_s_(now_s) {}

  [[nodiscard]] RowStamp StampOf(const RowBatch& batch, size_t row, int64_t write_us) const {
    RowStamp stamp;
    stamp.write_us = write_us;
    stamp.boot = boot_;
    const RowKind kind = batch.kind(row);
    stamp.flags = kind == RowKind::kInsert      ? kVersionLiveness
                  : kind == RowKind::kDeleteRow ? kVersionDeleteRow
                                                : uint8_t{0};
    const uint32_t ttl_s = batch.ttl(row).value_or(default_ttl_s_);
    if (ttl_s == 0 || kind == RowKind::kDeleteRow) return stamp;
    stamp.expiry_s = boot_ != 0 ? ttl_s
                                : static_cast<uint32_t>(std::clamp<int64_t>(
                                      now_s_ + ttl_s, 1, limits::kExpirySecondsMax));
    return stamp;
  }

 private:
  const uint32_t default_ttl_s_;
  const uint32_t boot_;
  const int64_t now_s_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_ROW_PLACEMENT_H_
