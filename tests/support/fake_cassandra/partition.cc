#include "tests/support/fake_cassandra/partition.h"

#include <algorithm>
#include <utility>

#include "tests/support/cell.h"
#include "tests/support/model.h"

namespace cistern::fake_cassandra {
namespace {

bool SameBound(const std::optional<RangeBound>& a, const std::optional<RangeBound>& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  return a->value == b->value && a->inclusive == b->inclusive;
}

bool SameRange(const RangeTombstone& a, const RangeTombstone& b) {
  return a.prefix == b.prefix && SameBound(a.lower, b.lower) && SameBound(a.upper, b.upper);
}

// Forgotten by a compaction once gc_grace is over.
bool IsOld(int64_t local_s, int64_t now_s, int64_t gc_grace_s) {
  return local_s < now_s - gc_grace_s;
}

using Cells = std::map<std::string, StoredCell>;

void MergeCells(const Cells& more, Cells* cells) {
  for (const auto& [name, cell] : more) {
    const auto [place, is_new] = cells->try_emplace(name, cell);
    if (!is_new && &Winner(place->second, cell) == &cell) place->second = cell;
  }
}

// An expired cell is turned into a tombstone of the second in which it was written.
bool IsPurgeable(const StoredCell& cell, int64_t now_s, int64_t gc_grace_s) {
  if (cell.IsLive(now_s)) return false;
  return IsOld(cell.local_deletion_s - cell.ttl_s, now_s, gc_grace_s);
}

}  // namespace

int CompareValues(const ColumnType& type, const CellValue& a, const CellValue& b) {
  return testing::CompareCells(type, {CellState::kValue, a.fixed, a.bytes},
                               {CellState::kValue, b.fixed, b.bytes});
}

bool ClusteringLess::operator()(const ClusteringKey& a, const ClusteringKey& b) const {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const int compared = CompareValues((*order)[i].type, a[i], b[i]);
    if (compared != 0) return (*order)[i].descending ? compared > 0 : compared < 0;
  }
  return a.size() < b.size();
}

bool RangeTombstone::Covers(const ClusteringOrder& order, const ClusteringKey& key) const {
  for (size_t i = 0; i < prefix.size(); ++i) {
    if (CompareValues(order[i].type, key[i], prefix[i]) != 0) return false;
  }
  const size_t next = prefix.size();
  if (lower.has_value()) {
    const int compared = CompareValues(order[next].type, key[next], lower->value);
    if (compared < 0 || (compared == 0 && !lower->inclusive)) return false;
  }
  if (upper.has_value()) {
    const int compared = CompareValues(order[next].type, key[next], upper->value);
    if (compared > 0 || (compared == 0 && !upper->inclusive)) return false;
  }
  return true;
}

bool StoredRow::IsLive(int64_t now_s) const {
  const auto lives = [now_s](const auto& cell) { return cell.second.IsLive(now_s); };
  return marker.IsLive(now_s) || std::any_of(cells.begin(), cells.end(), lives) ||
         std::any_of(collections.begin(), collections.end(), [&](const auto& entry) {
           const auto& elements = entry.second.cells;
           return std::any_of(elements.begin(), elements.end(), lives);
         });
}

Partition::Partition(std::shared_ptr<const ClusteringOrder> order)
    : order_(std::move(order)), rows_(ClusteringLess{order_}) {}

Deletion Partition::DeletionOf(const ClusteringKey& key) const {
  Deletion newest = deletion_;
  for (const RangeTombstone& range : ranges_) {
    if (range.Covers(*order_, key)) newest = Winner(newest, range.deletion);
  }
  return newest;
}

void Partition::Shadow(const Deletion& covering, StoredRow* row) {
  // A row deletion stays only while it says more than what covers the row.
  if (row->deletion.exists() && covering.exists() &&
      row->deletion.timestamp_us <= covering.timestamp_us) {
    row->deletion = {};
  }
  const Deletion& newest = Winner(covering, row->deletion);
  if (newest.Deletes(row->marker.timestamp_us)) row->marker = {};
  std::erase_if(row->cells,
                [&](const auto& cell) { return newest.Deletes(cell.second.timestamp_us); });
  for (auto& [name, elements] : row->collections) {
    if (newest.Deletes(elements.deletion.timestamp_us)) elements.deletion = {};
    std::erase_if(elements.cells, [&, &of = elements](const auto& cell) {
      const int64_t write_us = cell.second.timestamp_us;
      return newest.Deletes(write_us) || of.deletion.Deletes(write_us);
    });
  }
  std::erase_if(row->collections, [](const auto& entry) { return entry.second.IsEmpty(); });
}

void Partition::ShadowAll() {
  for (auto& [key, row] : rows_) Shadow(DeletionOf(key), &row);
  std::erase_if(rows_, [](const auto& entry) { return entry.second.IsEmpty(); });
  // Deletions of rows and ranges leave them.
  std::erase_if(statics_,
                [&](const auto& cell) { return deletion_.Deletes(cell.second.timestamp_us); });
}

void Partition::MergeStatics(const std::map<std::string, StoredCell>& cells) {
  if (cells.empty()) return;
  MergeCells(cells, &statics_);
  ShadowAll();
}

void Partition::MergeRow(const ClusteringKey& key, const StoredRow& row) {
  const auto at = rows_.try_emplace(key).first;
  StoredRow& stored = at->second;
  stored.marker = Winner(stored.marker, row.marker);
  stored.deletion = Winner(stored.deletion, row.deletion);
  MergeCells(row.cells, &stored.cells);
  for (const auto& [name, elements] : row.collections) {
    StoredElements& merged = stored.collections[name];
    merged.deletion = Winner(merged.deletion, elements.deletion);
    MergeCells(elements.cells, &merged.cells);
  }
  Shadow(DeletionOf(key), &stored);
  if (stored.IsEmpty()) rows_.erase(at);
}

void Partition::MergeRange(const RangeTombstone& range) {
  const auto same = std::find_if(ranges_.begin(), ranges_.end(), [&](const RangeTombstone& other) {
    return SameRange(range, other);
  });
  if (same == ranges_.end()) {
    ranges_.push_back(range);
  } else {
    same->deletion = Winner(same->deletion, range.deletion);
  }
  ShadowAll();
}

void Partition::MergeDeletion(const Deletion& deletion) {
  deletion_ = Winner(deletion_, deletion);
  ShadowAll();
}

void Partition::Merge(const Partition& other) {
  if (other.deletion_.exists()) MergeDeletion(other.deletion_);
  MergeStatics(other.statics_);
  for (const RangeTombstone& range : other.ranges_) MergeRange(range);
  for (const auto& [key, row] : other.rows_) MergeRow(key, row);
}

void Partition::HideDropped(const TableDefinition& table) {
  const auto hides = [&table](const auto& cell) {
    return table.Hides(cell.first, cell.second.timestamp_us);
  };
  std::erase_if(statics_, hides);
  for (auto& [key, row] : rows_) {
    std::erase_if(row.cells, hides);
    for (auto& [name, elements] : row.collections) {
      if (table.Hides(name, elements.deletion.timestamp_us)) elements.deletion = {};
      std::erase_if(elements.cells, [&table, &of = name](const auto& cell) {
        return table.Hides(of, cell.second.timestamp_us);
      });
    }
    std::erase_if(row.collections, [](const auto& entry) { return entry.second.IsEmpty(); });
  }
  std::erase_if(rows_, [](const auto& entry) { return entry.second.IsEmpty(); });
}

void Partition::Purge(int64_t now_s, int64_t gc_grace_s) {
  if (deletion_.exists() && IsOld(deletion_.local_s, now_s, gc_grace_s)) deletion_ = {};
  std::erase_if(ranges_, [&](const RangeTombstone& range) {
    return IsOld(range.deletion.local_s, now_s, gc_grace_s);
  });
  std::erase_if(statics_, [&](const auto& cell) {
    return IsPurgeable(cell.second, now_s, gc_grace_s);
  });
  for (auto& [key, row] : rows_) {
    if (row.deletion.exists() && IsOld(row.deletion.local_s, now_s, gc_grace_s)) row.deletion = {};
    if (row.marker.exists() && !row.marker.IsLive(now_s) &&
        IsOld(row.marker.expiry_s, now_s, gc_grace_s)) {
      row.marker = {};
    }
    const auto is_purgeable = [&](const auto& cell) {
      return IsPurgeable(cell.second, now_s, gc_grace_s);
    };
    std::erase_if(row.cells, is_purgeable);
    for (auto& [name, elements] : row.collections) {
      std::erase_if(elements.cells, is_purgeable);
      const Deletion& deletion = elements.deletion;
      if (deletion.exists() && IsOld(deletion.local_s, now_s, gc_grace_s)) elements.deletion = {};
    }
    std::erase_if(row.collections, [](const auto& entry) { return entry.second.IsEmpty(); });
  }
  std::erase_if(rows_, [](const auto& entry) { return entry.second.IsEmpty(); });
}

bool Partition::IsEmpty() const {
  return rows_.empty() && statics_.empty() && ranges_.empty() && !deletion_.exists();
}

bool Partition::HasLiveRow(int64_t now_s) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [now_s](const auto& entry) { return entry.second.IsLive(now_s); });
}

}  // namespace cistern::fake_cassandra
