// RowBatch: rows on their way into one table, checked as they are built.
#ifndef CISTERN_ROW_BATCH_H_
#define CISTERN_ROW_BATCH_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/export.h"
#include "cistern/limits.h"
#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// What a row of a batch does, with CQL's meaning. The values are persistent.
enum class RowKind : uint8_t {
  kInsert = 0,     // sets cells and the row's liveness marker
  kUpdate = 1,     // sets cells; the row lives only as long as one of its cells does
  kDeleteRow = 2,  // deletes the row; only key columns are set
};

// What batches need of a table's columns. Made once for a table; they share it.
struct RowLayout {
  // What a column takes. Bucket and split: nothing.
  struct ColumnRule {
    bool is_double = false;
    bool is_bytes = false;
    bool is_text = false;  // bytes that must be UTF-8 and nothing else
    int64_t int_min = 1;   // of SetInt; an empty range: none
    int64_t int_max = 0;
  };
  struct KeyColumn {
    uint32_t column = 0;
    bool is_entity = false;
    Lane lane = Lane::kFixed;
  };
  std::vector<ColumnRule> rules;  // by column
  std::vector<KeyColumn> keys;
  bool keys_always_fit = true;  // all of the fixed lane, and within every limit
};

// Rows of one table in declared column order, row-major. Build a row with
// BeginRow, Set..., EndRow; each setter checks the value against its column and
// refuses with the column's name and the reason. A row that failed is dropped by
// the next BeginRow or by DropRow; the rows before it stay.
//
// The bucket and split columns are derived and may not be set. All entity and
// clustering columns must be. Unset regular columns are absent (CQL's UNSET).
//
// Owns copies of everything. Can be moved and copied; one that was moved from has no table
// any more, and can only be assigned to or destroyed. One thread at a time.
//
// kOutOfMemory of a setter, EndRow or AppendColumns: the machine gave no memory, and the rows that
// were there stay. Only making and copying a batch throw std::bad_alloc, as a std::vector's do.
class CISTERN_EXPORT RowBatch {
 public:
  explicit RowBatch(std::shared_ptr<const TableSchema> schema);
  // A copy has no room beyond its rows.
  RowBatch(const RowBatch& other);
  RowBatch(RowBatch&& other) noexcept = default;
  RowBatch& operator=(const RowBatch& other);
  RowBatch& operator=(RowBatch&& other) noexcept = default;
  ~RowBatch() = default;

  void BeginRow(RowKind kind = RowKind::kInsert) {
    if (is_open() || !row_status_.ok()) DropRow();
    if (!HasRoomForRow() && !MakeRoomForRow()) return;  // no row is open then: setters say why
    AddEmptyRow(kind);
    row_heap_start_ = heap_.size();
    open_width_ = width_;
  }
  // Integers of every width, boolean (0/1), timestamp (ms), date (days since
  // 1970-01-01), time (ns of day). kOutOfRange beyond the column's type.
  [[nodiscard]] Status SetInt(size_t column, int64_t value) {
    if (column >= open_width_ || value < rules_[column].int_min || value > rules_[column].int_max) {
      return RefuseInt(column, value);
    }
    Place(column, value, CellState::kValue);
    return Status::Ok();
  }
  // double columns as they are, bit for bit; float columns rounded to nearest, kOutOfRange
  // for finite values beyond the range of float.
  [[nodiscard]] Status SetDouble(size_t column, double value) {
    if (column >= open_width_ || !rules_[column].is_double) return SetRounded(column, value);
    Place(column, std::bit_cast<int64_t>(value), CellState::kValue);
    return Status::Ok();
  }
  [[nodiscard]] Status SetFloat(size_t column, float value);
  // Columns of the bytes lane: the value as the native protocol serialises it,
  // checked (UTF-8, ASCII, 16 bytes of a uuid, version 1 of a timeuuid, ...). A collection that is
  // not frozen and has no element is set to null, as Cassandra has it.
  [[nodiscard]] Status SetBytes(size_t column, std::string_view value);
  // Deletes the cell. Not for key columns.
  [[nodiscard]] Status SetNull(size_t column);
  // Life of this row's cells from its write: overrides the table's default; 0 for ever.
  [[nodiscard]] Status SetTtl(uint32_t seconds);
  [[nodiscard]] Status EndRow() {
    if (!IsPlain()) return EndCheckedRow();
    open_width_ = 0;
    ++row_count_;
    return Status::Ok();
  }
  void DropRow();

  // Appends many rows at once: one ColumnData per column of `columns`, all of
  // equal size; columns not named are absent. All rows or none. Values are taken as by the setters.
  [[nodiscard]] Status AppendColumns(std::span<const size_t> columns,
                                     std::span<const ColumnData* const> data,
                                     RowKind kind = RowKind::kInsert);

  void Clear();  // keeps the schema and the capacity
  [[nodiscard]] bool empty() const { return row_count_ == 0; }
  [[nodiscard]] size_t row_count() const { return row_count_; }
  // Payload held, for limits: kBatchBytesMax, and BatchBytesMax of an engine's memory budget.
  [[nodiscard]] size_t byte_count() const {
    return rows_in_use() * (width_ * sizeof(int64_t) + state_width_) + heap_.size();
  }
  // Heap bytes held, for budgets: the payload, and the room for more rows.
  [[nodiscard]] size_t MemoryBytes() const;
  [[nodiscard]] const std::shared_ptr<const TableSchema>& schema() const { return schema_; }

  // --- reading, for the engine: `row` < row_count(), `column` in declared order
  [[nodiscard]] RowKind kind(size_t row) const { return kinds_[row]; }
  // The TTL set for the row; nullopt: the table's default applies.
  [[nodiscard]] std::optional<uint32_t> ttl(size_t row) const {
    if (ttls_.empty() || ttls_[row] == kTtlDefault) return std::nullopt;
    return ttls_[row];
  }
  [[nodiscard]] CellState state(size_t row, size_t column) const {
    return states_[row * state_width_ + column];
  }
  [[nodiscard]] int64_t fixed(size_t row, size_t column) const {
    return slots_[row * width_ + column];
  }
  [[nodiscard]] std::string_view bytes(size_t row, size_t column) const {
    const auto slot = static_cast<uint64_t>(slots_[row * width_ + column]);
    return {heap_.data() + (slot >> 32), static_cast<size_t>(slot & 0xffffffffu)};
  }
  // Whole rows, for hot loops: a cell for each column; states are padded to PaddedWidth.
  [[nodiscard]] const int64_t* slots(size_t row) const { return slots_.data() + row * width_; }
  [[nodiscard]] const CellState* states(size_t row) const {
    return states_.data() + row * state_width_;
  }
  // Columns, rounded up to a multiple of eight: states are looked at in words.
  [[nodiscard]] static constexpr size_t PaddedWidth(size_t columns) {
    return (columns + 7) / 8 * 8;
  }

 private:
  friend class RowBatchFiller;  // rows that were checked before they were stored
  static constexpr uint32_t kTtlDefault = UINT32_MAX;
  // The bytes of all values, one behind the other. A copy has no room beyond them.
  class Heap {
   public:
    Heap() = default;
    Heap(const Heap& other) { Append(other.view()); }
    Heap(Heap&& other) noexcept { swap(other); }
    Heap& operator=(Heap other) noexcept {
      swap(other);
      return *this;
    }
    ~Heap() = default;
    // `bytes` may be a part of it.
    void Append(std::string_view bytes);
    void Truncate(size_t size) { size_ = size; }  // to at most size(); keeps the room
    [[nodiscard]] size_t size() const { return size_; }
    [[nodiscard]] size_t room() const { return room_; }
    [[nodiscard]] const char* data() const { return memory_.get(); }
    [[nodiscard]] std::string_view view() const { return {memory_.get(), size_}; }

   private:
    void swap(Heap& other) noexcept {
      memory_.swap(other.memory_);
      std::swap(size_, other.size_);
      std::swap(room_, other.room_);
    }
    std::unique_ptr<char[]> memory_;  // of room_ bytes
    size_t size_ = 0;
    size_t room_ = 0;
  };
  [[nodiscard]] bool is_open() const { return open_width_ != 0; }
  [[nodiscard]] Status Fail(Status status);
  [[nodiscard]] Status CheckTarget(size_t column);
  [[nodiscard]] Status RefuseInt(size_t column, int64_t value);
  [[nodiscard]] Status SetRounded(size_t column, double value);
  // The next row, behind the last one, with absent cells; not yet counted.
  void AddEmptyRow(RowKind kind) {
    if (row_count_ >= kinds_.size()) AddRoom(row_count_ + 1);
    kinds_[row_count_] = kind;
    open_slot_ = row_count_ * width_;
    open_state_ = row_count_ * state_width_;
    if (!ttls_.empty()) ttls_.push_back(kTtlDefault);
  }
  void AddRoom(size_t rows);
  [[nodiscard]] bool HasRoomForRow() const {
    return row_count_ < kinds_.size() && (ttls_.empty() || ttls_.size() < ttls_.capacity());
  }
  [[nodiscard]] bool MakeRoomForRow();
  // Why there is none to set something of.
  [[nodiscard]] Status NoRowIsOpen() const;
  // Returns the slot of a copy of `value`, which may be a part of the heap itself.
  [[nodiscard]] int64_t AddBytes(std::string_view value);
  void EmptyRows(size_t begin, size_t end);
  // With one that is open.
  [[nodiscard]] size_t rows_in_use() const { return row_count_ + (is_open() ? 1 : 0); }
  // Whether nothing can be wrong with a row's keys. Cell by cell, as they were stored just now.
  [[nodiscard]] bool HasGoodKeys(const CellState* row_states) const {
    static_assert(CellState::kValue == CellState{0});
    unsigned missing = keys_always_fit_ ? 0 : 1;
    for (const auto& key : keys_) missing |= static_cast<unsigned>(row_states[key.column]);
    return missing == 0;
  }
  // Whether nothing can be wrong with the open row: what most rows are, found with few questions.
  [[nodiscard]] bool IsPlain() const {
    return is_open() && row_status_.ok() && kinds_[row_count_] == RowKind::kInsert &&
           HasGoodKeys(states_.data() + open_state_) && row_count_ < limits::kBatchRowsMax &&
           byte_count() <= limits::kBatchBytesMax;
  }
  [[nodiscard]] Status EndCheckedRow();
  [[nodiscard]] Status CheckRow(size_t row) const;
  [[nodiscard]] Status CheckKind(size_t row) const;
  [[nodiscard]] Status CheckColumns(std::span<const size_t> columns,
                                    std::span<const ColumnData* const> data) const;
  [[nodiscard]] Status AddCheckedColumns(std::span<const size_t> columns,
                                         std::span<const ColumnData* const> data, RowKind kind);
  void AddColumn(size_t column, const ColumnData& data);
  void Place(size_t column, int64_t slot, CellState state) {
    slots_[open_slot_ + column] = slot;
    states_[open_state_ + column] = state;
  }

  std::shared_ptr<const TableSchema> schema_;
  size_t width_ = 0;
  size_t state_width_ = 0;
  // The schema's RowLayout.
  const RowLayout::ColumnRule* rules_ = nullptr;
  std::span<const RowLayout::KeyColumn> keys_;
  bool keys_always_fit_ = true;
  size_t row_count_ = 0;
  // Of the row between BeginRow and EndRow, where there is one.
  size_t open_width_ = 0;      // 0: there is none
  size_t open_slot_ = 0;       // where its cells begin
  size_t open_state_ = 0;
  size_t row_heap_start_ = 0;
  Status row_status_;          // its first error, or why it could not begin
  // Of as many rows as there is room for; those that are not in use are empty: their slots 0,
  // their cells absent.
  std::vector<int64_t> slots_;  // fixed value, or heap offset << 32 | length
  std::vector<CellState> states_;
  std::vector<RowKind> kinds_;
  std::vector<uint32_t> ttls_;  // empty: every row has the default
  Heap heap_;
};

}  // namespace cistern

#endif  // CISTERN_ROW_BATCH_H_
