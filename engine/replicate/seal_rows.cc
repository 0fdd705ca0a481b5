#include "engine/replicate/seal_rows.h"

#include <algorithm>
#include <utility>

#include "engine/replicate/timestamp_mode.h"
#include "lib/base/concat.h"
#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"

namespace cistern::replicate {
namespace {

// Cassandra's rules for two cells, db.rows.Cells.resolveRegular. Equal ones: either.
bool Beats(const SealCell& a, const SealCell& b) {
  if (b.state == CellState::kAbsent) return true;
  if (a.write_us != b.write_us) return a.write_us > b.write_us;
  if (a.state != b.state) return a.state == CellState::kNull;
  if (a.expiry_s != b.expiry_s) return a.expiry_s > b.expiry_s;
  return a.bytes > b.bytes;
}

void ForgetDeleted(int64_t deleted_up_to_us, SealCell* cell) {
  if (cell->write_us <= deleted_up_to_us) cell->state = CellState::kAbsent;
}

}  // namespace

SealRows::SealRows(const SealSource& source, PageSpan span)
    : source_(source),
      schema_(source_.binder->statements().schema()),
      span_(span),
      is_backwards_(schema_.columns[schema_.time_column()].descending),
      deletes_(source_.content.deletes),
      pages_left_(span.last - span.first + 1) {
  FoldDeletes(&deletes_);
}

Result<SealPage> SealRows::ReadPage(uint32_t page, std::optional<int64_t> now_s) {
  CISTERN_ASSIGN_OR_RETURN(SealPage read, source_.content.read_page(page, now_s));
  const VersionColumns& rows = read.rows;
  if (rows.columns.size() != schema_.columns.size()) {
    return Status::Internal(Concat({"page ", page, " of table ", schema_.QualifiedName(),
        " was not mapped to the schema of its statements"}));
  }
  if (rows.row_count > 0) version_bytes_ = rows.MemoryBytes() / rows.row_count;
  return read;
}

Result<SealRows::TimeBounds> SealRows::ReadBounds(std::optional<int64_t> now_s) {
  RowKey low;
  RowKey high;
  for (uint32_t page = span_.first; page <= span_.last && low.empty(); ++page) {
    CISTERN_ASSIGN_OR_RETURN(const SealPage read, ReadPage(page, now_s));
    if (read.rows.row_count > 0) TakeKey(schema_, read.rows, 0, &low);
  }
  if (low.empty()) return TimeBounds();
  for (uint32_t page = span_.last; high.empty(); --page) {
    CISTERN_ASSIGN_OR_RETURN(const SealPage read, ReadPage(page, now_s));
    const size_t count = read.rows.row_count;
    if (count > 0) TakeKey(schema_, read.rows, count - 1, &high);
  }
  return TimeBounds({std::move(low[0]), std::move(high[0])});
}

// Pages stand in ascending order of time. Where the table declares its time DESC the declared order
// is exactly their reverse (lib/row/row_order.h).
Status SealRows::OpenPage(std::optional<int64_t> now_s) {
  page_ = is_backwards_ ? span_.first + pages_left_ - 1 : span_.last - pages_left_ + 1;
  CISTERN_ASSIGN_OR_RETURN(SealPage read, ReadPage(page_, now_s));
  rows_ = std::move(read.rows);
  shadowed_ = std::move(read.shadowed);
  --pages_left_;
  rows_left_ = rows_.row_count;
  return Status::Ok();
}

Result<SealRows::Found> SealRows::Next(std::optional<int64_t> now_s, SealRow* row) {
  bool has_read = false;
  for (;;) {
    for (; rows_left_ > 0; --rows_left_) {
      const size_t i = is_backwards_ ? rows_left_ - 1 : rows_.row_count - rows_left_;
      if (row_is_begun_ && !HasKey(schema_, rows_, i, row_.key)) break;
      if (!row_is_begun_) Begin(i);
      Add(i);
    }
    const bool is_complete = rows_left_ > 0 || pages_left_ == 0;
    if (row_is_begun_ && is_complete) {
      Finish();
      std::swap(*row, row_);
      return Found::kRow;
    }
    if (pages_left_ == 0) return Found::kEnd;
    if (has_read) return Found::kPage;
    CISTERN_RETURN_IF_ERROR(OpenPage(now_s));
    has_read = true;
  }
}

void SealRows::Begin(size_t i) {
  row_is_begun_ = true;
  TakeKey(schema_, rows_, i, &row_.key);
  row_.pages = {page_, page_};
  row_.deleted_up_to_us = DeletedUpTo(deletes_, EventTime(schema_, rows_, i));
  row_.marker.state = CellState::kAbsent;
  row_.cells.resize(schema_.regular_columns.size());
  for (SealCell& cell : row_.cells) cell.state = CellState::kAbsent;
}

void SealRows::Add(size_t i) {
  row_.pages.Add({page_, page_});
  if (!shadowed_.empty() && shadowed_[i]) return;
  const int64_t write_us = PushTimestamp(source_.options.mode, schema_, rows_, i);
  if ((rows_.flags[i] & kVersionDeleteRow) != 0) {
    row_.deleted_up_to_us = std::max(row_.deleted_up_to_us, write_us);
    return;
  }
  if ((rows_.flags[i] & kVersionLiveness) != 0) {
    SealCell marker{CellState::kValue, write_us, rows_.expiry_of(i), {}};
    if (Beats(marker, row_.marker)) row_.marker = std::move(marker);
  }
  for (size_t k = 0; k < row_.cells.size(); ++k) AddCell(k, i, write_us);
}

void SealRows::AddCell(size_t k, size_t i, int64_t write_us) {
  const size_t c = schema_.regular_columns[k];
  const ColumnData& column = rows_.columns[c];
  const CellState state = column.state(i);
  if (state == CellState::kAbsent) return;
  SealCell cell{state, write_us, state == CellState::kNull ? 0 : rows_.expiry_of(i),
                std::move(scratch_)};
  cell.bytes.clear();
  if (state == CellState::kValue) {
    const bool is_fixed = column.lane == Lane::kFixed;
    AppendWireValue(schema_.columns[c].type, is_fixed ? column.fixed[i] : 0,
                    is_fixed ? std::string_view() : column.bytes(i), &cell.bytes);
  }
  if (Beats(cell, row_.cells[k])) std::swap(cell, row_.cells[k]);
  scratch_ = std::move(cell.bytes);
}

void SealRows::Finish() {
  row_is_begun_ = false;
  ForgetDeleted(row_.deleted_up_to_us, &row_.marker);
  for (SealCell& cell : row_.cells) ForgetDeleted(row_.deleted_up_to_us, &cell);
}

}  // namespace cistern::replicate
