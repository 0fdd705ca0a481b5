#include "lib/row/shadowed_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr uint8_t kKnownFlags = kVersionLiveness | kVersionDeleteRow;

bool HaveEqualCell(const VersionRef& a, const VersionRef& b, size_t column) {
  const ColumnData& x = a.rows->columns[column];
  const ColumnData& y = b.rows->columns[column];
  if (x.state(a.index) != y.state(b.index)) return false;
  if (x.state(a.index) != CellState::kValue) return true;
  return x.lane == Lane::kFixed ? x.fixed[a.index] == y.fixed[b.index]
                                : x.bytes(a.index) == y.bytes(b.index);
}

template <typename T>
void KeepElements(const std::vector<bool>& keep, std::vector<T>* all) {
  if (all->empty()) return;
  size_t count = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) (*all)[count++] = (*all)[i];
  }
  all->resize(count);
}

void KeepCells(const std::vector<bool>& keep, ColumnData* column) {
  if (column->size() == 0) return;
  KeepElements(keep, &column->states);
  if (column->lane == Lane::kFixed) return KeepElements(keep, &column->fixed);
  char* const heap = column->heap.data();
  uint32_t end = 0;
  size_t count = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    const uint32_t from = column->offsets[i];
    const uint32_t bytes = column->offsets[i + 1] - from;
    std::memmove(heap + end, heap + from, bytes);
    end += bytes;
    column->offsets[++count] = end;
  }
  column->offsets.resize(count + 1);
  column->heap.resize(end);
}

void KeepRows(const std::vector<bool>& keep, VersionColumns* rows) {
  KeepElements(keep, &rows->write_us);
  KeepElements(keep, &rows->boot);
  KeepElements(keep, &rows->expiry_s);
  KeepElements(keep, &rows->flags);
  for (ColumnData& column : rows->columns) KeepCells(keep, &column);
  rows->row_count = static_cast<size_t>(std::count(keep.begin(), keep.end(), true));
}

// Where the versions of the key of row `begin` end.
size_t EndOfKey(const TableSchema& schema, const VersionColumns& rows, size_t begin) {
  size_t end = begin + 1;
  while (end < rows.row_count && CompareRows(schema, rows, begin, rows, end) == 0) ++end;
  return end;
}

// Which versions of a key are kept; `versions` and `keep` are of that key alone.
DroppedRows JudgeKey(const TableSchema& schema, const std::vector<VersionRef>& versions,
                     std::vector<bool>* keep) {
  DroppedRows dropped;
  const bool is_settled = std::all_of(versions.begin(), versions.end(), [](const VersionRef& v) {
    return v.rows->boot_of(v.index) == 0;
  });
  keep->assign(versions.size(), true);
  if (!is_settled) return dropped;
  KeepUnshadowed(schema, versions, std::numeric_limits<int64_t>::min(), keep);
  if (std::none_of(keep->begin(), keep->end(), [](bool kept) { return kept; })) (*keep)[0] = true;
  for (size_t i = 0; i < versions.size(); ++i) {
    if ((*keep)[i]) continue;
    ++dropped.count;
    bool repeats = false;
    for (size_t k = 0; k < versions.size() && !repeats; ++k) {
      repeats = (*keep)[k] && IsRepeat(schema, versions[i], versions[k]);
    }
    dropped.repeats += repeats ? 1 : 0;
  }
  return dropped;
}

}  // namespace

bool IsRepeat(const TableSchema& schema, const VersionRef& version, const VersionRef& kept) {
  const uint8_t flags = version.rows->flags[version.index];
  if (((flags ^ kept.rows->flags[kept.index]) & kKnownFlags) != 0) return false;
  const uint32_t expiry_s = version.rows->expiry_of(version.index);
  const uint32_t kept_s = kept.rows->expiry_of(kept.index);
  if (kept_s != 0 && (expiry_s == 0 || expiry_s > kept_s)) return false;
  return std::all_of(schema.regular_columns.begin(), schema.regular_columns.end(),
                     [&](size_t c) { return HaveEqualCell(version, kept, c); });
}

DroppedRows DropShadowed(const TableSchema& schema, VersionColumns* rows) {
  DroppedRows dropped;
  if (StandAlone(schema, *rows, 0, rows->row_count)) return dropped;
  std::vector<bool> keep(rows->row_count, true);
  std::vector<VersionRef> versions;
  std::vector<bool> keep_of_key;
  for (size_t begin = 0; begin < rows->row_count;) {
    const size_t end = EndOfKey(schema, *rows, begin);
    if (end - begin > 1) {
      versions.clear();
      for (size_t i = begin; i < end; ++i) versions.push_back({rows, i});
      const DroppedRows of_key = JudgeKey(schema, versions, &keep_of_key);
      std::copy(keep_of_key.begin(), keep_of_key.end(),
                keep.begin() + static_cast<ptrdiff_t>(begin));
      dropped.count += of_key.count;
      dropped.repeats += of_key.repeats;
    }
    begin = end;
  }
  if (dropped.count > 0) KeepRows(keep, rows);
  return dropped;
}

}  // namespace cistern
