#include "bench/peers/row_packing.h"

#include <bit>
#include <cstring>
#include <tuple>

namespace cistern::bench {

namespace {

constexpr size_t kNullBytes = 2;

template <typename T>
void AppendRaw(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T ReadRaw(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
T SwapToBig(T value) {
  if constexpr (std::endian::native == std::endian::big) return value;
  if constexpr (sizeof value == 4) return __builtin_bswap32(value);
  return static_cast<T>(__builtin_bswap64(value));
}

}  // namespace

RowPacking::RowPacking(PeerTable table, KeyOrder order)
    : table_(std::move(table)), order_(order), fixed_offsets_(table_.columns.size()) {
  size_t offset = 0;
  for (size_t i = 0; !table_.has_nulls && i < table_.columns.size(); ++i) {
    fixed_offsets_[i] = offset;
    if (table_.columns[i].type == CellType::kText) break;
    offset += CellBytes(nullptr, i);
  }
}

size_t RowPacking::CellBytes(const char* at, size_t column) const {
  switch (table_.columns[column].type) {
    case CellType::kDouble: return 8;
    case CellType::kInt: return 4;
    case CellType::kBool: return 1;
    case CellType::kText: return 1 + static_cast<unsigned char>(*at);
  }
  return 0;
}

RowPacking::Key RowPacking::KeyOf(uint32_t entity, int64_t time_ms) const {
  Key key;
  const uint32_t big_entity = SwapToBig(entity);
  const uint64_t big_time = SwapToBig(static_cast<uint64_t>(time_ms));
  const bool entity_first = order_ == KeyOrder::kEntityTime;
  std::memcpy(key.data() + (entity_first ? 0 : 8), &big_entity, sizeof big_entity);
  std::memcpy(key.data() + (entity_first ? 4 : 0), &big_time, sizeof big_time);
  return key;
}

std::pair<uint32_t, int64_t> RowPacking::ReadKey(std::string_view key) const {
  const bool entity_first = order_ == KeyOrder::kEntityTime;
  const auto entity = SwapToBig(ReadRaw<uint32_t>(key.data() + (entity_first ? 0 : 8)));
  const auto time = SwapToBig(ReadRaw<uint64_t>(key.data() + (entity_first ? 4 : 0)));
  return {entity, static_cast<int64_t>(time)};
}

void RowPacking::PackValue(const RowView& row, std::string* value) const {
  value->clear();
  if (table_.has_nulls) AppendRaw(static_cast<uint16_t>(row.nulls), value);
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    if (row.IsNull(i)) continue;
    switch (table_.columns[i].type) {
      case CellType::kDouble: AppendRaw(row.cells[i], value); break;
      case CellType::kInt: AppendRaw(static_cast<int32_t>(row.cells[i]), value); break;
      case CellType::kBool: AppendRaw(static_cast<uint8_t>(row.cells[i]), value); break;
      case CellType::kText:
        AppendRaw(static_cast<uint8_t>(row.Text(i).size()), value);
        value->append(row.Text(i));
        break;
    }
  }
}

RowView RowPacking::Unpack(std::string_view key, std::string_view value) {
  RowView row;
  std::tie(row.entity, row.time_ms) = ReadKey(key);
  row.cells = cells_.data();
  row.heap = value.data();
  const char* at = value.data();
  if (table_.has_nulls) {
    row.nulls = ReadRaw<uint16_t>(at);
    at += kNullBytes;
  }
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    cells_[i] = 0;
    if (row.IsNull(i)) continue;
    switch (table_.columns[i].type) {
      case CellType::kDouble: cells_[i] = ReadRaw<int64_t>(at); break;
      case CellType::kInt: cells_[i] = ReadRaw<int32_t>(at); break;
      case CellType::kBool: cells_[i] = ReadRaw<uint8_t>(at); break;
      case CellType::kText: {
        const auto offset = static_cast<uint64_t>(at + 1 - value.data());
        cells_[i] = static_cast<int64_t>(offset << 32 | static_cast<unsigned char>(*at));
        break;
      }
    }
    at += CellBytes(at, i);
  }
  return row;
}

std::optional<double> RowPacking::Number(std::string_view value, size_t column) const {
  const char* at = value.data();
  if (fixed_offsets_[column]) {
    at += *fixed_offsets_[column];
  } else {
    uint32_t nulls = 0;
    if (table_.has_nulls) {
      nulls = ReadRaw<uint16_t>(at);
      at += kNullBytes;
    }
    if ((nulls >> column & 1) != 0) return std::nullopt;
    for (size_t i = 0; i < column; ++i) {
      if ((nulls >> i & 1) == 0) at += CellBytes(at, i);
    }
  }
  if (table_.columns[column].type == CellType::kDouble) return ReadRaw<double>(at);
  if (table_.columns[column].type == CellType::kInt) return ReadRaw<int32_t>(at);
  return ReadRaw<uint8_t>(at);
}

}  // namespace cistern::bench
