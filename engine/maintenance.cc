#include "engine/maintenance.h"

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
       {&Maintenance::StepJournal, &Maintenance::StepRotation, &Maintenance::StepSync}) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, (this->*step)());
    if (did) return true;
  }
  if (committer_->CommitQueued()) return true;
  if (!rotation_->idle()) return false;
  const Result<bool> did = respill_->Step(clock_->trusted());
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
    if (heads_->frozen_head() != nullptr && !store_->CheckHeadroom(Rotation::kHeadroomBytes).ok())
      return false;
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
    CISTERN_RETURN_IF_ERROR(Watch(store_->WriteBeacon(committer_->synced_sequence())));
    did = true;
  }
  return did;
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
    CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(Rotation::kHeadroomBytes));
    return Status::Busy("the head is full and cannot rotate yet: try again after a pause");
  }
  return Status::Ok();
}

Status Maintenance::RotateAll() {
  const std::lock_guard lock(mutex_);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  // What is frozen first, then what is in the head now.
  for (int generation = 0; generation < 2; ++generation) {
    CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(Rotation::kHeadroomBytes));
    bool more = true;
    while (more) {
      CISTERN_ASSIGN_OR_RETURN(const bool journal, StepJournal());
      CISTERN_ASSIGN_OR_RETURN(const bool rotation, StepRotation());
      more = journal || rotation;
    }
    if (generation == 0) (void)committer_->Freeze();
  }
  return Status::Ok();
}

Status Maintenance::WriteBeacon() {
  const std::lock_guard lock(mutex_);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(committer_->SyncNow());
  return store_->WriteBeacon(committer_->synced_sequence());
}

}  // namespace cistern
