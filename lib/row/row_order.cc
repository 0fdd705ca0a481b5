#include "lib/row/row_order.h"

#include <bit>
#include <cmath>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/row/value_check.h"

namespace cistern {

namespace {

// 100 ns ticks between 1582-10-15, where uuid time begins, and 1970-01-01.
constexpr int64_t kUuidEpochTicks = 0x01B21DD213814000;

std::strong_ordering CompareBytes(std::string_view a, std::string_view b) {
  const int c = a.compare(b);  // char_traits<char> compares as unsigned bytes
  return c <=> 0;
}

// The first eight bytes of a version 1 uuid with its time fields in order of weight.
uint64_t TimeFields(uint64_t high) {
  return high << 48 | (high << 16 & 0xffff00000000u) | high >> 32;
}

std::strong_ordering CompareUuids(std::string_view a, std::string_view b, bool timeuuid) {
  if (a.size() != 16 || b.size() != 16) {
    if (a.size() == 16) return std::strong_ordering::greater;
    if (b.size() == 16) return std::strong_ordering::less;
    return CompareBytes(a, b);
  }
  const auto high_a = GetBig<uint64_t>(a.data());
  const auto high_b = GetBig<uint64_t>(b.data());
  const auto low_a = GetBig<uint64_t>(a.data() + 8);
  const auto low_b = GetBig<uint64_t>(b.data() + 8);
  if (timeuuid) {
    if (const auto c = TimeFields(high_a) <=> TimeFields(high_b); c != 0) return c;
    // Cassandra compares the rest byte by byte, signed.
    constexpr uint64_t kFlip = 0x8080808080808080;
    return (low_a ^ kFlip) <=> (low_b ^ kFlip);
  }
  const uint64_t version_a = high_a >> 12 & 0xf;
  const uint64_t version_b = high_b >> 12 & 0xf;
  if (version_a != version_b) return version_a <=> version_b;
  const auto c = version_a == 1 ? TimeFields(high_a) <=> TimeFields(high_b) : high_a <=> high_b;
  return c != 0 ? c : low_a <=> low_b;
}

// Orders -0.0 below 0.0 and every NaN, all of them equal, above infinity.
template <typename Bits, typename Float>
std::strong_ordering CompareFloats(Bits bits_a, Bits bits_b) {
  const auto a = std::bit_cast<Float>(bits_a);
  const auto b = std::bit_cast<Float>(bits_b);
  if (a < b) return std::strong_ordering::less;
  if (a > b) return std::strong_ordering::greater;
  const bool nan_a = std::isnan(a);
  const bool nan_b = std::isnan(b);
  if (nan_a || nan_b) return nan_a <=> nan_b;
  const bool minus_a = bits_a >> (sizeof(Bits) * 8 - 1) != 0;
  const bool minus_b = bits_b >> (sizeof(Bits) * 8 - 1) != 0;
  return minus_b <=> minus_a;
}

// Two's complement numbers of any length, the empty one below all.
std::strong_ordering CompareVarints(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() <=> b.size();
  const bool minus_a = (a[0] & 0x80) != 0;
  const bool minus_b = (b[0] & 0x80) != 0;
  if (minus_a != minus_b) return minus_b <=> minus_a;
  const char fill = minus_a ? '\xff' : '\0';
  const auto strip = [fill](std::string_view* v) {
    while (v->size() > 1 && v->front() == fill) v->remove_prefix(1);
  };
  strip(&a);
  strip(&b);
  // Stripping may leave bytes of equal weight only when the lengths agree.
  if (a.size() != b.size()) return minus_a ? b.size() <=> a.size() : a.size() <=> b.size();
  return CompareBytes(a, b);
}

struct Cell {
  int64_t fixed;
  std::string_view bytes;
};
Cell CellOf(const VersionColumns& rows, size_t column, size_t i) {
  const ColumnData& data = rows.columns[column];
  if (data.lane == Lane::kFixed) return {data.fixed[i], {}};
  return {0, data.bytes(i)};
}
Cell CellOf(const RowBatch& rows, size_t column, size_t i) {
  const int64_t slot = rows.fixed(i, column);
  if (rows.schema()->columns[column].type.lane() == Lane::kFixed) return {slot, {}};
  return {0, rows.bytes(i, column)};
}

template <typename RowsA, typename RowsB>
std::strong_ordering CompareKeys(const TableSchema& schema, const RowsA& a, size_t i,
                                 const RowsB& b, size_t j) {
  const bool first_descending = schema.columns[schema.time_column()].descending;
  for (const size_t c : schema.clustering_columns) {
    const ColumnSpec& spec = schema.columns[c];
    const Cell x = CellOf(a, c, i);
    const Cell y = CellOf(b, c, j);
    const auto order = CompareValues(spec.type, x.fixed, x.bytes, y.fixed, y.bytes);
    if (order != 0) return spec.descending == first_descending ? order : 0 <=> order;
  }
  return std::strong_ordering::equal;
}

template <typename Rows>
int64_t EventTimeOf(const TableSchema& schema, const Rows& rows, size_t i) {
  const Cell cell = CellOf(rows, schema.time_column(), i);
  if (schema.columns[schema.time_column()].type.kind == CqlType::kTimeuuid) {
    return TimeuuidTicks(cell.bytes);
  }
  return cell.fixed;
}

}  // namespace

std::strong_ordering CompareValues(const ColumnType& type, int64_t fixed_a,
                                   std::string_view bytes_a, int64_t fixed_b,
                                   std::string_view bytes_b) {
  switch (type.kind) {
    case CqlType::kBoolean:
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
    case CqlType::kBigint:
    case CqlType::kTimestamp:
    case CqlType::kDate:
    case CqlType::kTime:
      return fixed_a <=> fixed_b;
    case CqlType::kDouble:
      return CompareFloats<uint64_t, double>(fixed_a, fixed_b);
    case CqlType::kFloat:
      return CompareFloats<uint32_t, float>(static_cast<uint32_t>(fixed_a),
                                            static_cast<uint32_t>(fixed_b));
    case CqlType::kUuid:
      return CompareUuids(bytes_a, bytes_b, false);
    case CqlType::kTimeuuid:
      return CompareUuids(bytes_a, bytes_b, true);
    case CqlType::kVarint:
      return CompareVarints(bytes_a, bytes_b);
    default:
      return CompareBytes(bytes_a, bytes_b);
  }
}

std::strong_ordering CompareRows(const TableSchema& schema, const VersionColumns& a, size_t i,
                                 const VersionColumns& b, size_t j) {
  return CompareKeys(schema, a, i, b, j);
}

std::strong_ordering CompareRows(const TableSchema& schema, const RowBatch& a, size_t i,
                                 const VersionColumns& b, size_t j) {
  return CompareKeys(schema, a, i, b, j);
}

int64_t EventTime(const TableSchema& schema, const VersionColumns& rows, size_t i) {
  return EventTimeOf(schema, rows, i);
}
int64_t EventTime(const TableSchema& schema, const RowBatch& rows, size_t i) {
  return EventTimeOf(schema, rows, i);
}

int64_t TimeuuidTicks(std::string_view uuid_bytes) {
  if (uuid_bytes.size() != 16) return 0;
  const uint64_t fields = TimeFields(GetBig<uint64_t>(uuid_bytes.data()));
  return static_cast<int64_t>(fields & 0x0fffffffffffffff) - kUuidEpochTicks;
}

std::string EncodeClusteringKey(const TableSchema& schema, const VersionColumns& rows, size_t i) {
  std::string out;
  for (const size_t c : schema.clustering_columns) {
    const Cell cell = CellOf(rows, c, i);
    if (schema.columns[c].type.lane() == Lane::kFixed) {
      PutBig<uint16_t>(&out, 8);
      PutBig<int64_t>(&out, cell.fixed);
    } else {
      PutBig<uint16_t>(&out, static_cast<uint16_t>(cell.bytes.size()));
      out.append(cell.bytes);
    }
  }
  return out;
}

bool DecodeClusteringKey(const TableSchema& schema, std::string_view bytes, VersionColumns* out) {
  *out = VersionColumns::For(schema);
  if (bytes.size() > limits::kClusteringKeyBytesMax) return false;
  for (const size_t c : schema.clustering_columns) {
    if (bytes.size() < 2) return false;
    const size_t length = GetBig<uint16_t>(bytes.data());
    bytes.remove_prefix(2);
    if (bytes.size() < length) return false;
    const std::string_view value = bytes.substr(0, length);
    bytes.remove_prefix(length);
    ColumnData& column = out->columns[c];
    if (column.lane == Lane::kBytes) {
      column.AppendBytes(value);
      continue;
    }
    if (length != 8) return false;
    const auto fixed = GetBig<int64_t>(value.data());
    if (!CheckFixed(schema.columns[c].type, fixed).ok()) return false;
    column.AppendFixed(fixed);
  }
  out->row_count = 1;
  out->write_us.assign(1, 0);
  out->flags.assign(1, 0);
  return bytes.empty();
}

}  // namespace cistern
