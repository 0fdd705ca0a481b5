// Metrics: counters of one engine. Row versions reconcile at every moment:
//   versions_written = versions_open + versions_sealed + versions_superseded
//                    + versions_expired + versions_shed + versions_quarantined
//   versions_sealed = versions_waiting + versions_parked + versions_confirmed
// What is sealed and cannot be read is quarantined: it is missing from what waits first.
#ifndef CISTERN_METRICS_H_
#define CISTERN_METRICS_H_

#include <cstdint>

namespace cistern {

struct Metrics {
  // --- row versions, exact across restarts and crashes. Deletes count as versions.
  uint64_t versions_written = 0;      // committed to the journal since the store was created
  uint64_t versions_open = 0;         // in the head or in spill segments
  uint64_t versions_sealed = 0;       // in sealed buckets
  uint64_t versions_waiting = 0;      // part of versions_sealed: upstream is to be sent them
  uint64_t versions_parked = 0;       // the same: upstream refused their seals
  uint64_t versions_confirmed = 0;    // the same: upstream has all rows of their seals
  // Parts of versions_confirmed, by how arrival was proved (ProofLevel); the rest was acknowledged.
  uint64_t versions_confirmed_by_count = 0;
  uint64_t versions_confirmed_by_rows = 0;
  uint64_t versions_superseded = 0;   // dropped by a merge because every cell was shadowed
  uint64_t versions_expired = 0;      // went with their window when its time was over
  uint64_t versions_shed = 0;         // went with it before that, by the retention options
  // Kept and not read: what the opening found (RecoveryReport), and pages that scans and
  // Verify have met since.
  uint64_t versions_quarantined = 0;
  uint64_t versions_head = 0;         // part of versions_open

  // --- the write path, since open
  uint64_t commit_groups = 0;
  uint64_t journal_bytes = 0;      // records, before RocksDB's framing
  uint64_t journal_syncs = 0;
  uint64_t rotations = 0;
  uint64_t spill_bytes = 0;        // pages and headers written by rotations
  uint64_t respill_bytes = 0;      // the same, rewritten when spill families roll
  uint64_t buckets_sealed = 0;     // amendments included
  uint64_t amendments = 0;         // seals of buckets that were sealed before
  uint64_t seal_bytes = 0;         // pages and headers written by seals
  // Part of versions_superseded: dropped, as another version that was kept has all their cells.
  uint64_t versions_repeated = 0;
  uint64_t windows_dropped = 0;    // column families of windows that have ended
  uint64_t window_merges = 0;      // some windows made one, as there may be only so many
  uint64_t window_merge_bytes = 0;  // copied by them: pages, headers, manifests
  uint64_t busy_rejections = 0;
  uint64_t rows_provisional = 0;   // taken on an untrusted clock

  // --- what the kernel was handed, since open, by the store's own files
  uint64_t wal_bytes_written = 0;
  uint64_t sst_bytes_written = 0;
  uint64_t manifest_bytes_written = 0;
  uint64_t other_bytes_written = 0;

  // --- state
  uint64_t memory_bytes_charged = 0;  // to the budget; RocksDB's own memory as a fixed share
  uint64_t memory_bytes_peak = 0;     // the most that was charged at once
  uint64_t memory_budget_bytes = 0;
  uint64_t queued_batches = 0;  // handed to a producer, and not yet on their way to the journal
  uint64_t queued_bytes = 0;    // of memory, held by submitted batches until their outcome is known
  uint64_t disk_bytes_used = 0;
  uint64_t disk_budget_bytes = 0;
  uint64_t wal_bytes_on_disk = 0;
  uint64_t spill_families = 0;
  uint64_t window_families = 0;
  uint64_t journal_families = 0;
  uint64_t records_replayed_at_open = 0;
  uint64_t open_micros = 0;
  bool clock_trusted = false;
  bool recovered_with_loss = false;  // acknowledged rows are missing: see Engine::Recovery()
};

}  // namespace cistern

#endif  // CISTERN_METRICS_H_
