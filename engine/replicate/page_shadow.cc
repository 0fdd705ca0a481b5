#include "engine/replicate/page_shadow.h"

#include <algorithm>
#include <tuple>

#include "engine/replicate/push_expiry.h"
#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"

namespace cistern::replicate {

PageShadow::PageShadow(const TableSchema& schema, TimestampMode mode, std::optional<int64_t> now_s,
                       VersionColumns* rows)
    : schema_(schema), mode_(mode), now_s_(now_s), rows_(rows) {}

void PageShadow::AddRanges(std::span<const RangeDelete> deletes) {
  if (deletes.empty()) return;
  is_deleted_.resize(rows_->row_count);
  for (size_t row = 0; row < rows_->row_count; ++row) {
    const int64_t up_to = DeletedUpTo(deletes, EventTime(schema_, *rows_, row));
    if (rows_->write_us[row] <= up_to) is_deleted_[row] = true;
  }
}

void PageShadow::AddRows(const VersionColumns& others) {
  size_t row = 0;
  for (size_t other = 0; other < others.row_count; ++other) {
    const auto order_of = [&](size_t i) { return CompareRows(schema_, *rows_, i, others, other); };
    while (row < rows_->row_count && order_of(row) < 0) ++row;
    // The next version of the other seal may have the same key.
    for (size_t i = row; i < rows_->row_count && order_of(i) == 0; ++i) Compare(others, other, i);
  }
}

// Both have one key. In event time their timestamps upstream are equal, and the later expiry wins.
void PageShadow::Compare(const VersionColumns& others, size_t other, size_t row) {
  const bool by_write = mode_ == TimestampMode::kWriteTime;
  const int64_t other_us = by_write ? others.write_us[other] : 0;
  const int64_t own_us = by_write ? rows_->write_us[row] : 0;
  if (own_us > other_us) return;
  if ((others.flags[other] & kVersionDeleteRow) != 0) {
    is_deleted_.resize(rows_->row_count);
    is_deleted_[row] = true;
    return;
  }
  const uint32_t expiry_s = others.expiry_of(other);
  const bool is_over = IsExpired(expiry_s, now_s_) &&
                       std::tuple(other_us, expiry_s) > std::tuple(own_us, rows_->expiry_of(row));
  bool is_stripped = false;
  if (is_over && (others.flags[other] & rows_->flags[row] & kVersionLiveness) != 0) {
    rows_->flags[row] &= static_cast<uint8_t>(~kVersionLiveness);
    is_stripped = true;
  }
  for (const size_t c : schema_.regular_columns) {
    const CellState state = others.columns[c].state(other);
    const bool deletes = state == CellState::kNull || (state == CellState::kValue && is_over);
    ColumnData& own = rows_->columns[c];
    if (!deletes || own.state(row) != CellState::kValue) continue;
    if (own.states.empty()) own.states.assign(rows_->row_count, CellState::kValue);
    own.states[row] = CellState::kAbsent;
    is_stripped = true;
  }
  if (is_stripped) stripped_.push_back(row);
}

bool PageShadow::SaysSomething(size_t row) const {
  constexpr uint8_t kWords = kVersionLiveness | kVersionDeleteRow;
  return (rows_->flags[row] & kWords) != 0 ||
         std::any_of(schema_.regular_columns.begin(), schema_.regular_columns.end(),
                     [&](size_t c) { return rows_->columns[c].state(row) != CellState::kAbsent; });
}

std::vector<bool> PageShadow::Take() {
  std::vector<bool> shadowed = std::move(is_deleted_);
  for (size_t row = 0; row < shadowed.size(); ++row) {
    if ((rows_->flags[row] & kVersionDeleteRow) != 0) shadowed[row] = false;
  }
  for (const size_t row : stripped_) {
    if (SaysSomething(row)) continue;
    shadowed.resize(rows_->row_count);
    shadowed[row] = true;
  }
  return shadowed;
}

}  // namespace cistern::replicate
