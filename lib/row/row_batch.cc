#include "cistern/row_batch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/base/short_bytes.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/wire_value.h"
#include "lib/row/column_roles.h"
#include "lib/row/value_check.h"

namespace cistern {

namespace {

constexpr size_t kRoomRowsMin = 16;  // of narrow rows
constexpr size_t kRoomBytesMin = 2048;
constexpr size_t kRoomHeapMin = 256;

Status TooLarge(const char* what, size_t bytes, size_t limit) {
  return Status::TooLarge(Concat({what, " has ", bytes, " bytes; the limit is ", limit}));
}

Status OutOfFloat(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return Status::OutOfRange(Concat({text.data(), " does not fit float (-3.40282e+38 to "
      "3.40282e+38)"}));
}

// Whether a value that was checked leaves no cell in Cassandra, where it is null.
bool HasNoCell(const ColumnType& type, std::string_view value) {
  return type.is_multicell && IsEmptyCollection(value);
}

}  // namespace

RowBatch::RowBatch(std::shared_ptr<const TableSchema> schema)
    : schema_(std::move(schema)),
      width_(schema_->columns.size()),
      state_width_(PaddedWidth(width_)) {
  const RowLayout& layout = schema_->row_layout.Of(*schema_);
  rules_ = layout.rules.data();
  keys_ = layout.keys;
  keys_always_fit_ = layout.keys_always_fit;
}

RowBatch::RowBatch(const RowBatch& other)
    : schema_(other.schema_),
      width_(other.width_),
      state_width_(other.state_width_),
      rules_(other.rules_),
      keys_(other.keys_),
      keys_always_fit_(other.keys_always_fit_),
      row_count_(other.row_count_),
      open_width_(other.open_width_),
      open_slot_(other.open_slot_),
      open_state_(other.open_state_),
      row_heap_start_(other.row_heap_start_),
      row_status_(other.row_status_),
      ttls_(other.ttls_),
      heap_(other.heap_) {
  const size_t rows = std::min(other.rows_in_use(), other.kinds_.size());  // none once it was moved
  slots_.assign(other.slots_.data(), other.slots_.data() + rows * width_);
  states_.assign(other.states_.data(), other.states_.data() + rows * state_width_);
  kinds_.assign(other.kinds_.data(), other.kinds_.data() + rows);
}

RowBatch& RowBatch::operator=(const RowBatch& other) {
  RowBatch copy(other);
  *this = std::move(copy);
  return *this;
}

size_t RowBatch::MemoryBytes() const {
  return slots_.capacity() * sizeof(int64_t) + states_.capacity() * sizeof(CellState) +
         kinds_.capacity() * sizeof(RowKind) + ttls_.capacity() * sizeof(uint32_t) + heap_.room();
}

// The first room of wide rows is for fewer of them: many batches have one row.
void RowBatch::AddRoom(size_t rows) {
  const size_t row_bytes = width_ * sizeof(int64_t) + state_width_;
  const size_t first = std::min(kRoomRowsMin, kRoomBytesMin / row_bytes);
  rows = std::max({rows, 2 * kinds_.size(), first});
  slots_.resize(rows * width_, 0);
  states_.resize(rows * state_width_, CellState::kAbsent);
  kinds_.resize(rows);
}

// False: no memory for it.
bool RowBatch::MakeRoomForRow() {
  row_status_ = Guarded([this] {
    if (row_count_ >= kinds_.size()) AddRoom(row_count_ + 1);
    if (!ttls_.empty()) ttls_.reserve(std::max(row_count_ + 1, 2 * ttls_.size()));
    return Status::Ok();
  });
  return row_status_.ok();
}

Status RowBatch::NoRowIsOpen() const {
  if (!row_status_.ok()) return row_status_;
  return Status::InvalidArgument("no row is open: call BeginRow first");
}

void RowBatch::EmptyRows(size_t begin, size_t end) {
  end = std::min(end, kinds_.size());  // there are none once it was moved
  begin = std::min(begin, end);
  std::fill(slots_.data() + begin * width_, slots_.data() + end * width_, 0);
  std::fill(states_.data() + begin * state_width_, states_.data() + end * state_width_,
            CellState::kAbsent);
  if (ttls_.size() > begin) ttls_.resize(begin);
}

void RowBatch::DropRow() {
  row_status_ = Status::Ok();
  if (!is_open()) return;
  EmptyRows(row_count_, row_count_ + 1);
  heap_.Truncate(row_heap_start_);
  open_width_ = 0;
}

Status RowBatch::Fail(Status status) {
  if (is_open() && row_status_.ok()) row_status_ = status;  // of no row: told to the caller alone
  return status;
}

Status RowBatch::CheckTarget(size_t column) {
  if (!is_open()) return NoRowIsOpen();
  if (column >= width_) {
    return Status::InvalidArgument(Concat({"table ", schema_->QualifiedName(),
        " has no column number ", column}));
  }
  const ColumnSpec& spec = schema_->columns[column];
  if (IsDerived(spec.role)) {
    return InColumn(spec, Status::InvalidArgument("is derived from the row and cannot be set"));
  }
  return Status::Ok();
}

Status RowBatch::RefuseInt(size_t column, int64_t value) {
  return Fail(Guarded([&]() -> Status {
    CISTERN_RETURN_IF_ERROR(CheckTarget(column));
    const ColumnSpec& spec = schema_->columns[column];
    if (TakesIntegers(spec.type.kind)) return InColumn(spec, CheckFixed(spec.type, value));
    return InColumn(
        spec, Status::InvalidArgument(Concat({"is ", spec.type.ToCql(),
            " and takes no integer"})));
  }));
}

// A float column, or none that takes a double.
Status RowBatch::SetRounded(size_t column, double value) {
  return Fail(Guarded([&]() -> Status {
    CISTERN_RETURN_IF_ERROR(CheckTarget(column));
    const ColumnSpec& spec = schema_->columns[column];
    if (spec.type.kind != CqlType::kFloat) {
      return InColumn(spec, Status::InvalidArgument(Concat({"is ", spec.type.ToCql(),
          " and takes no floating-point number"})));
    }
    if (std::isfinite(value) && std::abs(value) > double{std::numeric_limits<float>::max()}) {
      return InColumn(spec, OutOfFloat(value));
    }
    Place(column, std::bit_cast<uint32_t>(static_cast<float>(value)), CellState::kValue);
    return Status::Ok();
  }));
}

Status RowBatch::SetFloat(size_t column, float value) {
  if (column < open_width_ && schema_->columns[column].type.kind == CqlType::kFloat) {
    Place(column, std::bit_cast<uint32_t>(value), CellState::kValue);
    return Status::Ok();
  }
  return SetDouble(column, static_cast<double>(value));
}

void RowBatch::Heap::Append(std::string_view bytes) {
  if (bytes.size() > room_ - size_) {
    const size_t room = std::max({size_ + bytes.size(), 2 * room_, kRoomHeapMin});
    auto larger = std::make_unique_for_overwrite<char[]>(room);
    CopyBytes(view(), larger.get());
    CopyBytes(bytes, larger.get() + size_);
    memory_ = std::move(larger);
    room_ = room;
  } else {
    CopyBytes(bytes, memory_.get() + size_);
  }
  size_ += bytes.size();
}

int64_t RowBatch::AddBytes(std::string_view value) {
  const uint64_t offset = heap_.size();
  heap_.Append(value);
  return static_cast<int64_t>(offset << 32 | value.size());
}

Status RowBatch::SetBytes(size_t column, std::string_view value) {
  Status set = Guarded([&]() -> Status {
    if (column >= open_width_ || !rules_[column].is_bytes) {
      CISTERN_RETURN_IF_ERROR(CheckTarget(column));
      const ColumnSpec& spec = schema_->columns[column];
      return InColumn(spec,
                      Status::InvalidArgument(Concat({"is ", spec.type.ToCql(),
                          " and takes no bytes"})));
    }
    const ColumnSpec& spec = schema_->columns[column];
    if (value.size() > limits::kCellBytesMax) {
      return InColumn(spec, TooLarge("the value", value.size(), limits::kCellBytesMax));
    }
    const size_t row_bytes = heap_.size() - row_heap_start_ + value.size();
    if (row_bytes > limits::kRowBytesMax) {
      return InColumn(spec, TooLarge("the row", row_bytes, limits::kRowBytesMax));
    }
    const bool is_good_text = rules_[column].is_text && (IsShortAscii(value) || IsUtf8(value));
    if (!is_good_text) {
      if (Status s = CheckWireBytes(spec.type, value); !s.ok()) return InColumn(spec, s);
      if (HasNoCell(spec.type, value)) {
        Place(column, 0, CellState::kNull);
        return Status::Ok();
      }
    }
    Place(column, AddBytes(value), CellState::kValue);
    return Status::Ok();
  });
  return set.ok() ? set : Fail(std::move(set));
}

Status RowBatch::SetNull(size_t column) {
  return Fail(Guarded([&]() -> Status {
    CISTERN_RETURN_IF_ERROR(CheckTarget(column));
    const ColumnSpec& spec = schema_->columns[column];
    if (IsKey(spec.role)) {
      return InColumn(spec, Status::InvalidArgument("is part of the key and cannot be null"));
    }
    Place(column, 0, CellState::kNull);
    return Status::Ok();
  }));
}

Status RowBatch::SetTtl(uint32_t seconds) {
  return Fail(Guarded([&]() -> Status {
    if (!is_open()) return NoRowIsOpen();
    if (seconds > limits::kTtlSecondsMax) {
      return Status::OutOfRange(Concat({"a TTL of ", seconds, " s is beyond the limit of ",
          limits::kTtlSecondsMax, " s"}));
    }
    if (kinds_[row_count_] == RowKind::kDeleteRow) {
      return Status::InvalidArgument("a row deletion takes no TTL");
    }
    if (ttls_.empty()) ttls_.assign(row_count_ + 1, kTtlDefault);
    ttls_[row_count_] = seconds;
    return Status::Ok();
  }));
}

// Whether `row` is complete: every key column set, what its kind demands, keys and row
// within their limits.
Status RowBatch::CheckRow(size_t row) const {
  const CellState* const row_states = states(row);
  if (kinds_[row] == RowKind::kInsert && HasGoodKeys(row_states)) return Status::Ok();
  const int64_t* const row_slots = slots(row);
  size_t entity_bytes = 0;
  size_t clustering_bytes = 0;
  for (const RowLayout::KeyColumn& key : keys_) {
    if (row_states[key.column] != CellState::kValue) {
      return InColumn(schema_->columns[key.column],
                      Status::InvalidArgument("is part of the key and must be set"));
    }
    const size_t bytes = KeyPartBytes(key.lane, row_slots[key.column] & 0xffffffff);
    (key.is_entity ? entity_bytes : clustering_bytes) += bytes;
  }
  if (entity_bytes > limits::kEntityKeyBytesMax) {
    return TooLarge("the entity key", entity_bytes, limits::kEntityKeyBytesMax);
  }
  if (clustering_bytes > limits::kClusteringKeyBytesMax) {
    return TooLarge("the clustering key", clustering_bytes, limits::kClusteringKeyBytesMax);
  }
  return kinds_[row] == RowKind::kInsert ? Status::Ok() : CheckKind(row);
}

// What updates and row deletions set.
Status RowBatch::CheckKind(size_t row) const {
  const CellState* const row_states = states(row);
  size_t cells = 0;
  for (const size_t c : schema_->regular_columns) cells += row_states[c] != CellState::kAbsent;
  if (kinds_[row] == RowKind::kUpdate && cells == 0) {
    return Status::InvalidArgument("an update must set at least one regular column");
  }
  if (kinds_[row] == RowKind::kDeleteRow && cells != 0) {
    return Status::InvalidArgument("a row deletion sets key columns alone");
  }
  return Status::Ok();
}

Status RowBatch::EndCheckedRow() {
  const Status status = Guarded([&]() -> Status {
    if (!is_open()) return NoRowIsOpen();
    CISTERN_RETURN_IF_ERROR(row_status_);
    CISTERN_RETURN_IF_ERROR(CheckRow(row_count_));
    if (row_count_ >= limits::kBatchRowsMax) {
      return Status::TooLarge(Concat({"a batch holds at most ", limits::kBatchRowsMax, " rows"}));
    }
    if (byte_count() > limits::kBatchBytesMax) {
      return TooLarge("the batch", byte_count(), limits::kBatchBytesMax);
    }
    return Status::Ok();
  });
  if (!status.ok()) {
    DropRow();
    return status;
  }
  open_width_ = 0;
  ++row_count_;
  return Status::Ok();
}

void RowBatch::Clear() {
  EmptyRows(0, rows_in_use());
  heap_.Truncate(0);
  row_count_ = 0;
  open_width_ = 0;
  row_status_ = Status::Ok();
}

namespace {

Status CheckValues(const ColumnSpec& spec, const ColumnData& data) {
  for (size_t i = 0; i < data.size(); ++i) {
    const CellState state = data.state(i);
    if (state == CellState::kValue) {
      if (data.lane == Lane::kFixed) {
        CISTERN_RETURN_IF_ERROR(CheckFixed(spec.type, data.fixed[i]));
        continue;
      }
      const std::string_view value = data.bytes(i);
      if (value.size() > limits::kCellBytesMax) {
        return TooLarge("a value", value.size(), limits::kCellBytesMax);
      }
      CISTERN_RETURN_IF_ERROR(CheckWireBytes(spec.type, value));
    } else if (state != CellState::kAbsent && state != CellState::kNull) {
      return Status::InvalidArgument("has a state that is none of value, absent, null");
    } else if (IsKey(spec.role)) {
      return Status::InvalidArgument("is part of the key and must be set");
    }
  }
  return Status::Ok();
}

}  // namespace

Status RowBatch::CheckColumns(std::span<const size_t> columns,
                              std::span<const ColumnData* const> data) const {
  if (columns.size() != data.size() || columns.empty()) {
    return Status::InvalidArgument("each named column takes one column of data");
  }
  const size_t rows = data[0]->size();
  std::vector<bool> seen(width_);
  size_t bytes = rows * width_ * (sizeof(int64_t) + 1);
  if (rows + row_count_ > limits::kBatchRowsMax) {
    return Status::TooLarge(Concat({"a batch holds at most ", limits::kBatchRowsMax, " rows"}));
  }
  for (size_t k = 0; k < columns.size(); ++k) {
    if (columns[k] >= width_) {
      return Status::InvalidArgument(Concat({"table ", schema_->QualifiedName(),
          " has no column number ", columns[k]}));
    }
    const ColumnSpec& spec = schema_->columns[columns[k]];
    if (IsDerived(spec.role)) {
      return InColumn(spec, Status::InvalidArgument("is derived from the row and cannot be set"));
    }
    if (seen[columns[k]]) return InColumn(spec, Status::InvalidArgument("is named twice"));
    seen[columns[k]] = true;
    if (Status s = CheckShape(spec.type, *data[k], rows); !s.ok()) return InColumn(spec, s);
    bytes += data[k]->lane == Lane::kBytes && rows != 0 ? data[k]->offsets[rows] : 0;
  }
  if (bytes + byte_count() > limits::kBatchBytesMax) {
    return TooLarge("the batch", bytes + byte_count(), limits::kBatchBytesMax);
  }
  for (size_t k = 0; k < columns.size(); ++k) {
    const ColumnSpec& spec = schema_->columns[columns[k]];
    if (Status s = CheckValues(spec, *data[k]); !s.ok()) return InColumn(spec, s);
  }
  return Status::Ok();
}

void RowBatch::AddColumn(size_t column, const ColumnData& data) {
  const ColumnType& type = schema_->columns[column].type;
  for (size_t i = 0; i < data.size(); ++i) {
    CellState state = data.state(i);
    int64_t slot = 0;
    if (state == CellState::kValue && data.lane == Lane::kFixed) slot = data.fixed[i];
    if (state == CellState::kValue && data.lane == Lane::kBytes) {
      if (HasNoCell(type, data.bytes(i))) {
        state = CellState::kNull;
      } else {
        slot = AddBytes(data.bytes(i));
      }
    }
    slots_[(row_count_ + i) * width_ + column] = slot;
    states_[(row_count_ + i) * state_width_ + column] = state;
  }
}

Status RowBatch::AppendColumns(std::span<const size_t> columns,
                               std::span<const ColumnData* const> data, RowKind kind) {
  DropRow();
  const size_t heap_before = heap_.size();
  Status status = Guarded([&]() -> Status {
    CISTERN_RETURN_IF_ERROR(CheckColumns(columns, data));
    return AddCheckedColumns(columns, data, kind);
  });
  if (status.ok()) {
    row_count_ += data[0]->size();
  } else {
    EmptyRows(row_count_, kinds_.size());
    heap_.Truncate(heap_before);
  }
  return status;
}

// Behind the rows that are counted.
Status RowBatch::AddCheckedColumns(std::span<const size_t> columns,
                                   std::span<const ColumnData* const> data, RowKind kind) {
  const size_t rows = data[0]->size();
  const size_t begin = row_count_;
  if (begin + rows > kinds_.size()) AddRoom(begin + rows);
  std::fill_n(kinds_.begin() + static_cast<ptrdiff_t>(begin), rows, kind);
  if (!ttls_.empty()) ttls_.resize(begin + rows, kTtlDefault);
  for (size_t k = 0; k < columns.size(); ++k) AddColumn(columns[k], *data[k]);
  for (size_t row = begin; row < begin + rows; ++row) {
    Status status = CheckRow(row);
    size_t row_bytes = 0;
    for (const ColumnData* column : data) {
      if (column->lane == Lane::kBytes) row_bytes += column->bytes(row - begin).size();
    }
    if (status.ok() && row_bytes > limits::kRowBytesMax) {
      status = TooLarge("the row", row_bytes, limits::kRowBytesMax);
    }
    if (!status.ok()) {
      return {status.code(), Concat({"row ", row - begin, ": ", status.message()})};
    }
  }
  return Status::Ok();
}

}  // namespace cistern
