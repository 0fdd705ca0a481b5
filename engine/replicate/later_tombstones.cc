#include "engine/replicate/later_tombstones.h"

#include <algorithm>
#include <utility>

#include "lib/base/coding.h"
#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"

namespace cistern::replicate {

LaterTombstones::LaterTombstones(std::shared_ptr<const TableSchema> schema)
    : schema_(std::move(schema)) {}

void LaterTombstones::AddRanges(std::span<const RangeDelete> deletes) {
  ranges_.insert(ranges_.end(), deletes.begin(), deletes.end());
  FoldDeletes(&ranges_);
}

void LaterTombstones::AddRows(const VersionColumns& rows) {
  std::string key;
  for (size_t i = 0; i < rows.row_count; ++i) {
    if ((rows.flags[i] & kVersionDeleteRow) == 0) continue;
    KeyOf(rows, i, &key);
    const auto [at, is_new] = rows_.try_emplace(key, rows.write_us[i]);
    if (!is_new) at->second = std::max(at->second, rows.write_us[i]);
  }
}

bool LaterTombstones::Shadows(const VersionColumns& rows, size_t i) const {
  if (!ranges_.empty() && rows.write_us[i] <= DeletedUpTo(ranges_, EventTime(*schema_, rows, i))) {
    return true;
  }
  if (rows_.empty()) return false;
  KeyOf(rows, i, &scratch_);
  const auto at = rows_.find(scratch_);
  return at != rows_.end() && rows.write_us[i] <= at->second;
}

// Equal for equal keys, and only for them: u32 length and bytes, or the number.
void LaterTombstones::KeyOf(const VersionColumns& rows, size_t i, std::string* key) const {
  key->clear();
  for (const size_t c : schema_->clustering_columns) {
    const ColumnData& column = rows.columns[c];
    if (column.lane == Lane::kFixed) {
      PutLittle(key, column.fixed[i]);
      continue;
    }
    PutLittle(key, static_cast<uint32_t>(column.bytes(i).size()));
    key->append(column.bytes(i));
  }
}

}  // namespace cistern::replicate
