#include "engine/replicate/upstream_rows.h"

#include <utility>

#include "engine/replicate/proof_statements.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"

namespace cistern::replicate {

Status UpstreamRows::Bad(const std::string& what) const {
  return Status::Corruption(Concat({"the cluster's answer about rows of table ",
      schema_.QualifiedName(), ": ", what}));
}

void UpstreamRows::Clear() {
  reader_.reset();
  row_.key.clear();
  has_more_pages_ = false;
  watch_.Clear();
}

Status UpstreamRows::Take(const cql::RowsResult& page) {
  const size_t width = RowAnswerWidth(schema_);
  if (page.rows.column_count() != width) {
    return Bad(Concat({page.rows.column_count(), " columns came, ", width, " were asked for"}));
  }
  if (const Status leads_on = watch_.Take(page.metadata); !leads_on.ok()) {
    return Bad(leads_on.message());
  }
  bytes_.assign(page.rows.cells());
  reader_.emplace(cql::RowsView(bytes_, page.rows.row_count(), width));
  has_more_pages_ = page.metadata.has_more_pages;
  paging_state_ = page.metadata.paging_state;
  return Status::Ok();
}

Result<bool> UpstreamRows::Next() {
  while (reader_ && reader_->Next()) {
    if (!ReadKey()) continue;
    if (!row_.key.empty() && CompareKeys(schema_, row_.key, next_key_) >= 0) {
      return Bad(Concat({KeyText(schema_, next_key_), " comes behind ",
          KeyText(schema_, row_.key)}));
    }
    watch_.NoteRow();
    std::swap(row_.key, next_key_);
    CISTERN_RETURN_IF_ERROR(ReadCells());
    return true;
  }
  return false;
}

// False: the row's key is none that Cistern can have.
bool UpstreamRows::ReadKey() {
  next_key_.resize(schema_.clustering_columns.size());
  for (size_t k = 0; k < next_key_.size(); ++k) {
    const cql::CellView& value = (*reader_)[k];
    const ColumnType& type = schema_.columns[schema_.clustering_columns[k]].type;
    if (!value || !ParseWireValue(type, *value, &next_key_[k]).ok()) return false;
  }
  return true;
}

Status UpstreamRows::ReadCells() {
  row_.cells.resize(schema_.regular_columns.size());
  size_t at = schema_.clustering_columns.size();
  for (size_t k = 0; k < row_.cells.size(); ++k) {
    const ColumnType& type = schema_.columns[schema_.regular_columns[k]].type;
    UpstreamCell& cell = row_.cells[k];
    cell = {(*reader_)[at], 0, std::nullopt};
    const size_t begin = std::exchange(at, at + RowCellsOf(type));
    if (!cell.value || type.is_multicell) continue;
    const cql::CellView& write_us = (*reader_)[begin + 1];
    const cql::CellView& ttl_s = (*reader_)[begin + 2];
    const bool is_right = write_us && write_us->size() == sizeof(int64_t) &&
                          (!ttl_s || ttl_s->size() == sizeof(int32_t));
    if (!is_right) {
      return Bad(Concat({"column '", schema_.columns[schema_.regular_columns[k]].name, "' of row ",
          KeyText(schema_, row_.key), " has no write time, or an odd TTL"}));
    }
    cell.write_us = GetBig<int64_t>(write_us->data());
    if (ttl_s) cell.ttl_s = GetBig<int32_t>(ttl_s->data());
  }
  return Status::Ok();
}

}  // namespace cistern::replicate
