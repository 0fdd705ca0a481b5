// Merging the versions of one row, cell by cell, by Cassandra's rules.
//
// Source: Apache Cassandra 5.0, org.apache.cassandra.db.rows.Cells.resolveRegular,
// db.rows.Row.Merger, db.DeletionTime: the larger write timestamp wins; at equal
// timestamps a deleted or expiring cell beats a plain one, a deleted beats an
// expiring one, a later expiry beats an earlier one, then the larger value bytes win.
// A deletion covers everything of its range with a write timestamp <= its own. An
// expired cell still shadows older ones. A row exists while its liveness marker or
// one of its cells lives. A table whose timestamps are those of the event (TimestampMode) has one
// timestamp for all versions of a row, and the rule for ties alone decides. Of two that expire in
// one second Cassandra asks for the smaller TTL before it asks for values: what is pushed in event
// time has a TTL that the expiry alone decides (engine/replicate/push_expiry.h).
#ifndef CISTERN_ROW_RECONCILE_H_
#define CISTERN_ROW_RECONCILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern {

// Base of each boot's provisional timestamps: effective write timestamp =
// base_us[boot] + write_us. Index 0 is unused; 0 means that the boot's base is not known yet.
using BootBases = std::vector<int64_t>;

// Turns provisional versions into ordinary ones, in place. Versions of a boot
// without a base keep their place in time by base 0 and are never the newest; their
// second of expiry is not known either, so they do not expire. `rows` may be null.
void ResolveBoots(const BootBases& bases, VersionColumns* rows, std::span<RangeDelete> deletes);

// Largest write timestamp of the deletes that cover `event_time`; INT64_MIN if none.
[[nodiscard]] int64_t DeletedUpTo(std::span<const RangeDelete> deletes, int64_t event_time);

// Leaves out the deletes whose whole range newer ones cover: they delete nothing more. The
// rest stands newest first. Provisional ones must be resolved.
void FoldDeletes(std::vector<RangeDelete>* deletes);

// Whether resolved rows begin..end-1, sorted, show as they are, but for expiry and range deletes:
// each is the only version of its key among them, deletes nothing, and exists, by its marker or a
// value of a regular column.
[[nodiscard]] bool StandAlone(const TableSchema& schema, const VersionColumns& rows, size_t begin,
                              size_t end);

// One version among several of the same clustering key.
struct VersionRef {
  const VersionColumns* rows = nullptr;
  size_t index = 0;
};

// The visible row at second `now_s`, cell by cell. Reused between rows to avoid
// allocation. One thread at a time.
class RowMerger {
 public:
  // `columns`: regular columns to merge (the projection); the schema must outlive it.
  // Existence is judged on all regular columns of the versions, so the versions must
  // carry the states of every regular column even if only a few are projected; the
  // values of the others may be left out. No states: every cell is a value.
  RowMerger(const TableSchema& schema, std::vector<size_t> columns);

  // Merges resolved versions of one clustering key in any order; `deleted_up_to` from
  // range deletes. Returns whether the row exists at `now_s`; if so winner(k) tells
  // which version supplies columns[k], nullopt: null.
  [[nodiscard]] bool Merge(std::span<const VersionRef> versions, int64_t deleted_up_to,
                           int64_t now_s);
  [[nodiscard]] std::optional<VersionRef> winner(size_t k) const { return winners_[k]; }

 private:
  [[nodiscard]] bool MergeOne(const VersionRef& version, int64_t deleted_up_to, int64_t now_s);

  const TableSchema& schema_;
  std::vector<size_t> columns_;
  std::vector<size_t> others_;  // regular columns that are not in columns_
  std::vector<std::optional<VersionRef>> winners_;
};

// Which of the resolved versions of one clustering key must be kept when segments are
// merged: drops a version when every cell of it (liveness included) is shadowed by a
// kept version or deletion, whatever the time. Expired versions that still shadow are
// kept; of equal versions the first is. What shadows is a maximum over all cells of the
// key, so leaving out what is below a kept one changes no result, whatever versions of
// the key exist elsewhere. keep[i] answers for versions[i].
void KeepUnshadowed(const TableSchema& schema, std::span<const VersionRef> versions,
                    int64_t deleted_up_to, std::vector<bool>* keep);

}  // namespace cistern

#endif  // CISTERN_ROW_RECONCILE_H_
