// ExportArrowBatch and ExportArrowRows.
#include <string>
#include <utility>
#include <vector>

#include "cistern/arrow.h"
#include "lib/arrow/arrow_column.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/row/value_check.h"

namespace cistern {

namespace {

Status ExportField(const ColumnSpec& spec, ColumnData data, size_t rows, ArrowArray* array) {
  CISTERN_RETURN_IF_ERROR(CheckShape(spec.type, data, rows));
  if (spec.role != ColumnRole::kRegular) {
    for (const CellState state : data.states) {
      if (state == CellState::kValue) continue;
      return Status::InvalidArgument("is part of the key and cannot be null");
    }
  }
  return ExportColumn(spec.type, std::move(data), kArrowOffsetMax, array);
}

Status ExportFields(const TableSchema& table, std::span<const size_t> columns, ResultBatch batch,
                    ArrowArray** fields) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] >= table.columns.size()) {
      return Status::InvalidArgument(Concat({"table ", table.QualifiedName(),
          " has no column number ", columns[i]}));
    }
    const ColumnSpec& spec = table.columns[columns[i]];
    const Status s = ExportField(spec, std::move(batch.columns[i]), batch.row_count, fields[i]);
    if (!s.ok()) return InColumn(spec, s);
  }
  return Status::Ok();
}

ColumnData ColumnOf(const RowBatch& rows, size_t column) {
  ColumnData out;
  out.lane = rows.schema()->columns[column].type.lane();
  for (size_t row = 0; row < rows.row_count(); ++row) {
    if (rows.state(row, column) != CellState::kValue) {
      out.AppendMissing(CellState::kNull);
    } else if (out.lane == Lane::kFixed) {
      out.AppendFixed(rows.fixed(row, column));
    } else {
      out.AppendBytes(rows.bytes(row, column));
    }
  }
  return out;
}

}  // namespace

Status ExportArrowBatch(const TableSchema& table, std::span<const size_t> columns,
                        ResultBatch batch, ArrowArray* array) {
  return Guarded([&]() -> Status {
    *array = ArrowArray{};
    if (columns.size() != batch.columns.size()) {
      return Status::InvalidArgument(Concat({"the batch has ", batch.columns.size(),
          " columns, named are ", columns.size()}));
    }
    MakeStructArray(columns.size(), batch.row_count, array);
    const Status status =
        Guarded([&] { return ExportFields(table, columns, std::move(batch), array->children); });
    if (!status.ok()) array->release(array);
    return status;
  });
}

Status ExportArrowRows(const RowBatch& rows, ArrowSchema* schema, ArrowArray* array) {
  return Guarded([&]() -> Status {
    *schema = ArrowSchema{};
    *array = ArrowArray{};
    for (size_t row = 0; row < rows.row_count(); ++row) {
      if (rows.kind(row) != RowKind::kDeleteRow) continue;
      return Status::InvalidArgument(Concat({"row ", row, " deletes, which Arrow has no row "
          "for"}));
    }
    const TableSchema& table = *rows.schema();
    std::vector<size_t> columns;
    ResultBatch batch;
    batch.row_count = rows.row_count();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const ColumnRole role = table.columns[c].role;
      if (role == ColumnRole::kBucket || role == ColumnRole::kSplit) continue;
      columns.push_back(c);
      batch.columns.push_back(ColumnOf(rows, c));
    }
    CISTERN_RETURN_IF_ERROR(ExportArrowBatch(table, columns, std::move(batch), array));
    const Status status = ExportArrowSchema(table, columns, schema);
    if (!status.ok()) array->release(array);
    return status;
  });
}

}  // namespace cistern
