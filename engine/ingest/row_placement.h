// Row placement: entity, event time and expiry of a row of a batch. Pure.
#ifndef CISTERN_ENGINE_INGEST_ROW_PLACEMENT_H_
#define CISTERN_ENGINE_INGEST_ROW_PLACEMENT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/limits.h"
#include "cistern/row_batch.h"
#include "lib/base/coding.h"
#include "lib/cql/cql_type.h"
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

// The entity key bytes (see entity.h) of a batch's rows, one row after the other.
class EntityKeys {
 public:
  EntityKeys(const TableSchema& schema, const RowBatch& batch) : schema_(schema), batch_(batch) {
    if (schema.entity_columns.size() == 1) {
      only_column_ = schema.entity_columns[0];
      const ColumnType& type = schema.columns[only_column_].type;
      if (type.lane() == Lane::kFixed) only_width_ = WireWidth(type.kind);
      only_kind_ = type.kind;
    }
    if (!batch.empty()) Make(0);
  }

  // Of the first row at first; valid until it is called again. REQUIRES: a row is left.
  // A key is made a row before it is looked for: bytes written one by one have left the store
  // buffer then, and can be loaded as words.
  [[nodiscard]] std::string_view Next() {
    const size_t at = row_ % 2;
    if (++row_ < batch_.row_count()) Make(row_);
    if (only_width_ != 0) return {only_[at].data(), 2 + only_width_};
    return keys_[at];
  }

 private:
  void Make(size_t row) {
    if (only_width_ != 0) return MakeOnly(row);
    std::string* const key = &keys_[row % 2];
    key->clear();
    for (const size_t column : schema_.entity_columns) {
      const size_t at = key->size();
      key->append(2, '\0');
      const ColumnType& type = schema_.columns[column].type;
      if (type.lane() == Lane::kBytes) {
        key->append(batch_.bytes(row, column));
      } else {
        AppendWireValue(type, batch_.fixed(row, column), {}, key);
      }
      const size_t length = key->size() - at - 2;
      (*key)[at] = static_cast<char>(length >> 8);
      (*key)[at + 1] = static_cast<char>(length);
    }
  }
  // Many tables have one number for their sensor: the value in one piece, and behind it what it
  // does not need.
  void MakeOnly(size_t row) {
    const uint64_t bits = WireBits(only_kind_, batch_.fixed(row, only_column_));
    char* const key = only_[row % 2].data();
    key[1] = static_cast<char>(only_width_);
    SetBig<uint64_t>(key + 2, bits << (64 - 8 * only_width_));
  }

  const TableSchema& schema_;
  const RowBatch& batch_;
  size_t row_ = 0;
  std::array<std::string, 2> keys_;
  // Of a single column of the fixed lane; width 0: it is not one.
  size_t only_column_ = 0;
  size_t only_width_ = 0;
  CqlType only_kind_ = CqlType::kInt;
  std::array<std::array<char, 2 + sizeof(uint64_t)>, 2> only_{};
};

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
