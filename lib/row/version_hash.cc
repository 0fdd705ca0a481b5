#include "lib/row/version_hash.h"

#include <cstring>

#include "lib/base/checksum.h"

namespace cistern {

namespace {

constexpr size_t kHeadBytes = 13;  // timestamp, expiry, flags
constexpr size_t kCellBytes = 9;   // state, and a value of the fixed lane or a length

template <typename T>
char* WriteLittle(char* at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    *at++ = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return at;
}

}  // namespace

uint64_t HashVersion(const TableSchema& schema, const VersionColumns& rows, size_t row,
                     std::string* scratch) {
  size_t room = kHeadBytes + kCellBytes * schema.columns.size();
  for (const ColumnData& column : rows.columns) {
    if (column.lane == Lane::kBytes && column.size() != 0) room += column.bytes(row).size();
  }
  if (scratch->size() < room) scratch->resize(room);
  char* at = WriteLittle<int64_t>(scratch->data(), rows.write_us[row]);
  at = WriteLittle<uint32_t>(at, rows.expiry_of(row));
  at = WriteLittle<uint8_t>(at, rows.flags[row]);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnRole role = schema.columns[c].role;
    if (role != ColumnRole::kClustering && role != ColumnRole::kRegular) continue;
    const ColumnData& column = rows.columns[c];
    const CellState state = column.state(row);
    at = WriteLittle<uint8_t>(at, static_cast<uint8_t>(state));
    if (state != CellState::kValue) continue;
    if (column.lane == Lane::kFixed) {
      at = WriteLittle<int64_t>(at, column.fixed[row]);
    } else {
      const std::string_view bytes = column.bytes(row);
      at = WriteLittle<uint32_t>(at, static_cast<uint32_t>(bytes.size()));
      std::memcpy(at, bytes.data(), bytes.size());
      at += bytes.size();
    }
  }
  return Checksum({scratch->data(), static_cast<size_t>(at - scratch->data())});
}

uint64_t HashVersions(const TableSchema& schema, const VersionColumns& rows) {
  uint64_t sum = 0;
  std::string scratch;
  for (size_t i = 0; i < rows.row_count; ++i) sum += HashVersion(schema, rows, i, &scratch);
  return sum;
}

}  // namespace cistern
