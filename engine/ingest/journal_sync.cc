// Committer: the syncs of what was written without one.
#include <mutex>

#include "engine/ingest/committer.h"

namespace cistern {

Status Committer::SyncNow() {
  bool did = false;
  return SyncIfDue(0, &did);
}

Status Committer::SyncIfDue(int64_t interval_us, bool* did) {
  // Whoever comes while a sync is under way waits for it: its own rows may be in it.
  const std::lock_guard syncing(sync_mutex_);
  uint64_t sequence = 0;
  {
    const std::lock_guard lock(mutex_);
    CISTERN_RETURN_IF_ERROR(failure());
    if (unsynced_since_us_ == 0) return Status::Ok();
    if (clock_->monotonic_us() - unsynced_since_us_ < interval_us) return Status::Ok();
    sequence = sequence_;
    unsynced_since_us_ = 0;  // what comes now waits for the next sync
  }
  // Without the lock: writers go on while the device works.
  if (const Status s = store_->journal().Sync(); !s.ok()) {
    Fail(s);
    return s;
  }
  *did = true;
  counters_.syncs++;
  uint64_t synced = synced_;
  while (synced < sequence && !synced_.compare_exchange_weak(synced, sequence)) {
  }
  return Status::Ok();
}

}  // namespace cistern
