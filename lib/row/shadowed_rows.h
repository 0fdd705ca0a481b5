// Row versions that others of the same key make needless.
#ifndef CISTERN_ROW_SHADOWED_ROWS_H_
#define CISTERN_ROW_SHADOWED_ROWS_H_

#include <cstddef>

#include "cistern/schema.h"
#include "lib/row/reconcile.h"
#include "lib/row/version_columns.h"

namespace cistern {

// Whether `version` is a repeat of `kept`, another resolved version of its key: `kept` has each of
// its cells, and lives as long at least. It says nothing about which of the two shadows the other.
[[nodiscard]] bool IsRepeat(const TableSchema& schema, const VersionRef& version,
                            const VersionRef& kept);

struct DroppedRows {
  size_t count = 0;
  size_t repeats = 0;  // part of it
};

// Leaves out of *rows, which are sorted and have all columns, the versions that KeepUnshadowed does
// not keep beside those of the same key. Of each key one version stays at least. Keys that have
// provisional versions stay whole, as the order of those is not known yet.
[[nodiscard]] DroppedRows DropShadowed(const TableSchema& schema, VersionColumns* rows);

}  // namespace cistern

#endif  // CISTERN_ROW_SHADOWED_ROWS_H_
