#include "engine/maintenance.h"

#include <mutex>
#include <shared_mutex>

#include "storage/rocksdb_options.h"

namespace cistern {

namespace {
constexpr uint64_t kFamilyHeadroomBytes = 1 << 20;
// More generations than this in the journal, after many short runs, and the head
// rotates: opening replays at most one or two families.
constexpr size_t kActiveFamiliesMax = 3;
}  // namespace

Result<TickReport> Maintenance::Tick(TickBudget budget) {
  const std::lock_guard lock(mutex_);
  TickReport report;
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(Watch(committer_->PollClock()));
  while (report.steps_done < budget.steps_max) {
    const Result<bool> did = Step();
    if (!did.ok()) return did.status();
    if (!*did) return report;
    ++report.steps_done;
  }
  report.more_due = true;
  return report;
}

// Errors of a step that may have left RocksDB's state unknown end this opening of the
// store. Refusals before anything was changed (no room) do not.
Status Maintenance::Watch(const Status& status) {
  if (!status.ok()) committer_->Fail(status);
  return status;
}

Result<bool> Maintenance::Step() {
  for (const auto step :
       {&Maintenance::StepJournal, &Maintenance::StepRotation, &Maintenance::StepSync,
        &Maintenance::StepMeta, &Maintenance::StepBallast}) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, (this->*step)());
    if (did) return true;
  }
  if (committer_->CommitQueued()) return true;
  if (!rotation_->idle()) return false;
  const Result<bool> did = respill_->Step(clock_->settled());
  if (!did.ok()) return Watch(did.status());
  return *did;
}

// Keeps a journal family to write and the next one ready.
Result<bool> Maintenance::StepJournal() {
  Journal& journal = store_->journal();
  if (journal.writable() && journal.next_ready()) return false;
  // Without the next family rotations wait; without any, writes do. Neither is a failure.
  if (const Status room = store_->CheckHeadroom(kFamilyHeadroomBytes); !room.ok()) {
    if (journal.writable()) return false;
    return room;
  }
  const Result<uint64_t> id = store_->NextSequence();
  if (!id.ok()) return Watch(id.status());
  CISTERN_RETURN_IF_ERROR(Watch(journal.PrepareNext(*id)));
  return true;
}

Result<bool> Maintenance::StepRotation() {
  if (rotation_->idle()) {
    const bool due = store_->journal().active_count() > kActiveFamiliesMax ||
                     (limits_.head_age_us > 0 && committer_->HeadIsOlderThan(limits_.head_age_us));
    if (due) (void)committer_->Freeze();
    if (heads_->frozen_head() != nullptr &&
        !store_->CheckHeadroom(rotation_->headroom_bytes()).ok()) {
      return false;
    }
  }
  const Result<bool> did = rotation_->Step();
  if (!did.ok()) return Watch(did.status());
  return *did;
}

Result<bool> Maintenance::StepSync() {
  bool did = false;
  CISTERN_RETURN_IF_ERROR(committer_->SyncIfDue(limits_.sync_interval_us, &did));
  const int64_t now_us = clock_->monotonic_us();
  if (now_us - beacon_us_ >= limits_.beacon_interval_us &&
      committer_->synced_sequence() > store_->beacon_sequence()) {
    beacon_us_ = now_us;
    // Where even this finds no room the beacon stays behind for a while: it only notices
    // less of a loss.
    const Status written = store_->WriteBeacon(committer_->synced_sequence());
    if (written.code() != StatusCode::kNoSpace) CISTERN_RETURN_IF_ERROR(Watch(written));
    did = true;
  }
  return did;
}

// One unflushed record of meta pins every log file behind it. Rotation flushes meta; a
// host that declares tables and writes no rows never rotates.
Result<bool> Maintenance::StepMeta() {
  if (store_->MetaMemtableBytes() < kMetaFlushBytes) return false;
  if (!store_->CheckHeadroom(kFamilyHeadroomBytes).ok()) return false;
  CISTERN_RETURN_IF_ERROR(Watch(store_->FlushMeta()));
  return true;
}

// Takes the ballast again once the disk has room for it.
Result<bool> Maintenance::StepBallast() {
  const int64_t now_us = clock_->monotonic_us();
  if (store_->ballast_held() || now_us - ballast_us_ < limits_.ballast_interval_us) return false;
  ballast_us_ = now_us;
  return store_->HoldBallast().ok();  // no room is no failure: it tries again
}

Status Maintenance::PrepareJournals() {
  const std::lock_guard lock(mutex_);
  for (bool more = true; more;) {
    const Result<bool> did = StepJournal();
    if (!did.ok()) {
      return did.status().code() == StatusCode::kNoSpace ? Status::Ok() : did.status();
    }
    more = *did;
  }
  return Status::Ok();
}

Status Maintenance::MakeRoom() {
  const std::lock_guard lock(mutex_);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  while (!committer_->HasRoom()) {
    CISTERN_ASSIGN_OR_RETURN(const bool journal, StepJournal());
    CISTERN_ASSIGN_OR_RETURN(const bool rotation, StepRotation());
    if (journal || rotation) continue;
    return WhyNotRotated();
  }
  return Status::Ok();
}

Status Maintenance::RotateAll() {
  const std::lock_guard lock(mutex_);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  // What is frozen first, then what is in the head now.
  for (int generation = 0; generation < 2; ++generation) {
    bool more = true;
    while (more) {
      CISTERN_ASSIGN_OR_RETURN(const bool journal, StepJournal());
      CISTERN_ASSIGN_OR_RETURN(const bool rotation, StepRotation());
      more = journal || rotation;
    }
    if (heads_->frozen_head() != nullptr) return WhyNotRotated();
    if (generation == 0 && !committer_->Freeze()) {
      const std::shared_lock heads_lock(heads_->mutex);
      return heads_->active->version_count() == 0 ? Status::Ok() : WhyNotRotated();
    }
  }
  return GatherRotations();
}

// Whoever asks for rotations faster than he ticks pays for the files that they make.
Status Maintenance::GatherRotations() {
  for (bool more = true; more;) {
    const Result<bool> did = respill_->Step(clock_->settled(), Respill::Scope::kGather);
    if (!did.ok()) return Watch(did.status());
    more = *did;
  }
  return Status::Ok();
}

// Why the head stays where it is though every step was taken.
Status Maintenance::WhyNotRotated() const {
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(rotation_->headroom_bytes()));
  return Status::Busy("the head is full and cannot rotate yet: try again after a pause");
}

Status Maintenance::WriteBeacon() {
  const std::lock_guard lock(mutex_);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(committer_->SyncNow());
  return store_->WriteBeacon(committer_->synced_sequence());
}

}  // namespace cistern
