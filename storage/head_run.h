// HeadRun: row versions of one bucket in typed columns that grow at the end.
#ifndef CISTERN_STORAGE_HEAD_RUN_H_
#define CISTERN_STORAGE_HEAD_RUN_H_

#include <compare>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "lib/row/version_columns.h"
#include "storage/head_arena.h"

namespace cistern {

// Write timestamp, boot and expiry of one version; expiry_s is the TTL when boot != 0.
struct RowStamp {
  int64_t write_us = 0;
  uint32_t boot = 0;
  uint32_t expiry_s = 0;
  uint8_t flags = 0;  // kVersionLiveness, kVersionDeleteRow
};

// Where a table's columns lie in a run's block: clustering columns, then regular ones,
// each `capacity` values of `width` bytes behind the one before.
struct HeadLayout {
  explicit HeadLayout(std::shared_ptr<const TableSchema> table_schema);
  struct Column {
    size_t column = 0;     // of the schema
    uint8_t width = 8;     // bytes a value: 1, 2, 4, 8
    bool is_text = false;  // the value is a pointer to a copy in the arena
    bool is_float = false;
    size_t offset = 0;  // bytes of one row before it
  };
  std::shared_ptr<const TableSchema> schema;
  std::vector<Column> columns;
  size_t clustering_count = 0;
  size_t row_bytes = 0;  // all columns, the write timestamp first and the flags last
};

// Not thread-safe; const methods may run at the same time.
class HeadRun {
 public:
  void Append(const HeadLayout& layout, HeadArena* arena, const RowBatch& batch, size_t row,
              const RowStamp& stamp);

  [[nodiscard]] uint32_t size() const { return count_; }
  [[nodiscard]] int64_t Fixed(const HeadLayout::Column& c, size_t i) const;
  [[nodiscard]] std::string_view Text(const HeadLayout::Column& c, size_t i) const;
  [[nodiscard]] int64_t EventTimeOf(const HeadLayout& layout, size_t i) const;
  // Appends the versions at `indices` to *rows; regular columns that are not wanted only
  // with their states.
  void CopyColumn(const HeadLayout& layout, size_t column, std::span<const uint32_t> indices,
                  bool wanted, ColumnData* out) const;
  [[nodiscard]] CellState state(size_t column, size_t i) const {
    return states_ == nullptr ? CellState::kValue
                              : static_cast<CellState>(states_[column * capacity_ + i]);
  }
  [[nodiscard]] bool has_states() const { return states_ != nullptr; }
  [[nodiscard]] int64_t write_us(size_t i) const;
  [[nodiscard]] uint8_t flags(const HeadLayout& layout, size_t i) const;
  [[nodiscard]] uint32_t expiry_s(size_t i) const { return expiry_ == nullptr ? 0 : expiry_[i]; }
  [[nodiscard]] uint32_t boot(size_t i) const { return boot_ == nullptr ? 0 : boot_[i]; }

 private:
  void Grow(const HeadLayout& layout, HeadArena* arena);
  void PutValue(const HeadLayout::Column& c, HeadArena* arena, int64_t slot, std::string_view text);
  template <typename T>
  void GrowLane(T** lane, size_t per_row, uint32_t capacity, HeadArena* arena);
  template <typename T>
  void MakeLane(T** lane, size_t per_row, HeadArena* arena);
  [[nodiscard]] char* At(const HeadLayout::Column& c, size_t i) const {
    return block_ + c.offset * capacity_ + i * c.width;
  }

  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
  char* block_ = nullptr;
  uint8_t* states_ = nullptr;   // by column, then row; null: all values
  uint32_t* expiry_ = nullptr;  // null: none expires
  uint32_t* boot_ = nullptr;    // null: all trusted
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_RUN_H_
