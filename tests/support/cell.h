// Cell and WriteRow: rows as tests hold them, one value at a time.
#ifndef CISTERN_TESTS_SUPPORT_CELL_H_
#define CISTERN_TESTS_SUPPORT_CELL_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"

namespace cistern::testing {

// One value on its lane; the other lane is empty.
struct Cell {
  CellState state = CellState::kAbsent;
  int64_t fixed = 0;
  std::string bytes;

  static Cell Absent() { return {}; }
  static Cell Null() { return {CellState::kNull, 0, {}}; }
  static Cell Fixed(int64_t value) { return {CellState::kValue, value, {}}; }
  static Cell Bytes(std::string value) { return {CellState::kValue, 0, std::move(value)}; }
  friend bool operator==(const Cell&, const Cell&) = default;
};

// One row of a write: a cell per schema column; bucket and split stay absent.
struct WriteRow {
  RowKind kind = RowKind::kInsert;
  std::optional<uint32_t> ttl_s;
  std::vector<Cell> cells;
};

// Adds the row to the batch by the setters. False and the message of the failing one.
[[nodiscard]] inline Status AddRow(const WriteRow& row, RowBatch* batch) {
  const TableSchema& schema = *batch->schema();
  batch->BeginRow(row.kind);
  for (size_t c = 0; c < row.cells.size(); ++c) {
    const Cell& cell = row.cells[c];
    const ColumnType& type = schema.columns[c].type;
    if (cell.state == CellState::kAbsent) continue;
    if (cell.state == CellState::kNull) {
      CISTERN_RETURN_IF_ERROR(batch->SetNull(c));
    } else if (type.lane() == Lane::kBytes) {
      CISTERN_RETURN_IF_ERROR(batch->SetBytes(c, cell.bytes));
    } else if (type.kind == CqlType::kDouble) {
      CISTERN_RETURN_IF_ERROR(batch->SetDouble(c, std::bit_cast<double>(cell.fixed)));
    } else if (type.kind == CqlType::kFloat) {
      CISTERN_RETURN_IF_ERROR(
          batch->SetFloat(c, std::bit_cast<float>(static_cast<uint32_t>(cell.fixed))));
    } else {
      CISTERN_RETURN_IF_ERROR(batch->SetInt(c, cell.fixed));
    }
  }
  if (row.ttl_s.has_value()) CISTERN_RETURN_IF_ERROR(batch->SetTtl(*row.ttl_s));
  return batch->EndRow();
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_CELL_H_
