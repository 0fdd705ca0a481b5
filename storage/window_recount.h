// CountWindow: what `meta` has of the seals of a window, beside the record that has their sums.
#ifndef CISTERN_STORAGE_WINDOW_RECOUNT_H_
#define CISTERN_STORAGE_WINDOW_RECOUNT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "cistern/result.h"
#include "storage/seal_records.h"
#include "storage/store_db.h"

namespace cistern {

// The windows whose records are in memtables, as an opening has just read them from logs. All other
// records were flushed, with everything that was written before them. kCorruption: a key of them
// does not parse.
[[nodiscard]] Result<std::vector<uint64_t>> ListLoggedWindows(const FamilyPtr& meta);

// The seals that are in the window's outbox, ascending.
[[nodiscard]] Result<std::vector<uint64_t>> ListWaiting(const FamilyPtr& meta, uint64_t window_id);

struct WindowCount {
  // Those of manifests and outbox entries, and no other field. Absent: a manifest is damaged, so
  // that its sums are not known.
  std::optional<WindowRecord> sums;
  uint64_t manifest_count = 0;
  uint64_t confirmed_count = 0;  // of these, those that are not in the outbox
  uint64_t stray_count = 0;      // outbox entries without a manifest
};

// Reads all manifests and outbox entries of the window: as many as it has sealed buckets, 8 bytes
// of memory for each that waits. Blocks that are read are not kept.
[[nodiscard]] Result<WindowCount> CountWindow(const FamilyPtr& meta, uint64_t window_id);

// Whether the record counts the seals that are there, and no others.
[[nodiscard]] bool CountsSealsOf(const WindowRecord& record, const WindowCount& found);
// Whether it calls seals confirmed that are in the outbox, or others than those that are not. One
// that lets more wait than the outbox has was told to send some again: that is lost, and to call
// them confirmed would hide it.
[[nodiscard]] bool CallsMoreConfirmed(const WindowRecord& record, const WindowCount& found);

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_RECOUNT_H_
