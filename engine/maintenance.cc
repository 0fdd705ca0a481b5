#include "engine/maintenance.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "storage/meta_merge.h"
#include "storage/rocksdb_options.h"

namespace cistern {

namespace {
// More than a merge of files writes. No space comes of it: it leaves the rest to what frees some.
constexpr uint64_t kFileMergeBytes = 8 << 20;
static_assert(kFileMergeBytes >= 4 * kMergedFileBytesMax);
// Where many files are small, as behind an update, merging them takes that part of the time: the
// device does other things too.
constexpr int64_t kFileMergeParts = 10;
// A flush of meta that has no room for a merge behind it is put off no further.
constexpr uint64_t kMetaFlushBytesMax = 4 * kMetaFlushBytes;
// More generations than this in the journal, after many short runs, and the head
// rotates: opening replays at most one or two families.
constexpr size_t kActiveFamiliesMax = 3;
constexpr int64_t kNever = INT64_MAX;  // in this opening
}  // namespace

Result<TickReport> Maintenance::Tick(TickBudget budget) {
  const Turn turn(this);
  TickReport report;
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(Watch(store_->CheckPlace()));
  CISTERN_RETURN_IF_ERROR(Watch(committer_->PollClock()));
  while (report.steps_done < budget.steps_max) {
    const Result<bool> did = Step();
    if (!did.ok()) return did.status();
    if (!*did) {
      NoteWhyNotSealing();
      idle_us_ = IdleUs();
      return report;
    }
    ++report.steps_done;
  }
  NoteWhyNotSealing();
  report.more_due = true;
  return report;
}

// For how long no step can be due, as nothing comes. What depends on the wall clock, which may be
// set, or on the room that others take, is looked at once in a while, where there is such a thing.
// REQUIRES: mutex_; no step was due.
int64_t Maintenance::IdleUs() const {
  const int64_t now_us = clock_->monotonic_us();
  int64_t idle_us = INT64_MAX;
  const auto due_at = [&](int64_t due_us) {
    // What is due and was not done waits for room, for the clock, or for other work.
    idle_us = std::min(idle_us, due_us > now_us ? due_us - now_us : limits_.retry_interval_us);
  };
  const Committer::Waiting waiting = committer_->waiting();
  if (waiting.unsynced_since_us != 0) due_at(waiting.unsynced_since_us + limits_.sync_interval_us);
  if (waiting.rows_since_us != 0) due_at(waiting.rows_since_us + limits_.head_age_us);
  if (committer_->synced_sequence() > store_->beacon_sequence()) {
    due_at(beacon_us_ + limits_.beacon_interval_us);
  }
  if (!store_->ballast_held()) due_at(ballast_us_ + limits_.ballast_interval_us);
  const Journal& journal = store_->journal();
  const bool waits_for_room = !journal.writable() || !journal.next_ready() || journal.has_frozen();
  if (waits_for_room || !clock_->settled()) due_at(now_us + limits_.retry_interval_us);
  if (MetaMergesWait(*store_)) due_at(meta_merges_us_);
  const auto view = store_->spills().view();
  const bool has_rows = waiting.rows_since_us != 0 || !view->families.empty();
  if (files_us_ > now_us) due_at(files_us_);
  if (has_rows && limits_.seal_interval_us != 0) due_at(seal_us_ + limits_.seal_interval_us);
  if (has_rows || !view->windows.empty() || !view->ended.empty()) {
    due_at(now_us + limits_.look_interval_us);
  }
  return idle_us;
}

// Errors of a step that may have left RocksDB's state unknown end this opening of the
// store. Refusals before anything was changed (no room) do not.
Status Maintenance::Watch(const Status& status) {
  if (!status.ok()) committer_->Fail(status);
  return status;
}

Result<bool> Maintenance::Step() {
  // A disk without room for the journal is told in the end: what gives room back comes before.
  const Result<bool> prepared = StepJournal();
  if (!prepared.ok() && prepared.status().code() != StatusCode::kNoSpace) return prepared;
  if (prepared.ok() && *prepared) return true;
  for (const auto step : {&Maintenance::StepRotation, &Maintenance::StepSync,
                          &Maintenance::StepMeta, &Maintenance::StepBallast}) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, (this->*step)());
    if (did) return true;
  }
  if (committer_->CommitQueued()) return true;
  if (!rotation_->idle()) return false;
  for (const auto step : {&Maintenance::StepMetaMerges, &Maintenance::StepMerge,
                          &Maintenance::StepDropSealed, &Maintenance::StepSeal,
                          &Maintenance::StepWindows, &Maintenance::StepFiles}) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, (this->*step)());
    if (did) return true;
  }
  CISTERN_ASSIGN_OR_RETURN(const bool did, StepRewrite(Respill::Scope::kAll));
  return did ? Result<bool>(true) : prepared;
}

// Between seal rounds, so that they do not need the room of all that they seal.
Result<bool> Maintenance::StepDropSealed() {
  return StepRewrite(Respill::Scope::kDropSealed);
}

Result<bool> Maintenance::StepRewrite(Respill::Scope scope) {
  if (!sealer_->idle() || !merger_->idle()) return false;
  const Result<bool> did = respill_->Step(clock_->settled(), scope);
  if (!did.ok()) return Watch(did.status());
  return *did;
}

// Ends windows between seal rounds and rewritings, which look at the set of windows.
Result<bool> Maintenance::StepWindows() {
  if (!sealer_->idle() || !respill_->idle() || !merger_->idle()) return false;
  const Result<bool> did =
      keeper_->Step(retention_time(), committer_->RoomSought(), clock_->monotonic_us());
  if (!did.ok()) return Watch(did.status());
  if (*did) {
    sealer_->ChargeWindows();
    ChargeRecords();
  }
  return *did;
}

// Before the next seal round, so that it finds a family for its window.
Result<bool> Maintenance::StepMerge() {
  if (!sealer_->idle() || !respill_->idle()) return false;
  // One that has begun needs no time.
  if (merger_->idle() && !clock_->settled()) return false;
  const Result<bool> did = merger_->Step(clock_->now_s());
  if (!did.ok()) return Watch(did.status());
  if (*did) sealer_->ChargeWindows();
  return *did;
}

// What rounds have left in small files is gathered, once none is under way.
Result<bool> Maintenance::StepFiles() {
  const uint64_t seals = sealer_->buckets_sealed();
  if (seals == files_seals_ || store_->db().opened().config.segments_rest) return false;
  if (!sealer_->idle() || !respill_->idle() || !merger_->idle() || seal_more_ || by_hand_) {
    return false;
  }
  const int64_t began_us = clock_->monotonic_us();
  if (began_us < files_us_ || !store_->CheckHeadroom(kFileMergeBytes).ok()) return false;
  const auto view = store_->spills().view();
  for (const auto& window : view->windows) {
    const auto outcome = window_files_.MergeSmall(*window->family);
    if (!outcome.ok()) return Watch(outcome.status());
    if (*outcome != WindowFiles::Outcome::kMerged) continue;
    const int64_t ended_us = clock_->monotonic_us();
    files_us_ = ended_us + (kFileMergeParts - 1) * (ended_us - began_us);
    return true;
  }
  // Files that RocksDB had at work are looked at again behind the next seal.
  files_seals_ = seals;
  return false;
}

Result<ExpireReport> Maintenance::Expire() {
  uint64_t ended_before = 0;
  {
    const Turn turn(this);
    CISTERN_RETURN_IF_ERROR(committer_->failure());
    CISTERN_RETURN_IF_ERROR(Watch(committer_->PollClock()));
    if (!clock_->settled()) {
      return Status::Busy("the clock is not trusted yet: nothing ends by it; expire later, or see "
                          "what cistern clock (Engine::GetClock) says");
    }
    ended_before = keeper_->ended_count();
  }
  const StateRecord before = store_->state();
  const uint64_t windows_before = keeper_->windows_dropped();
  for (bool more = true; more;) {
    const Turn turn(this);
    CISTERN_RETURN_IF_ERROR(committer_->failure());
    CISTERN_ASSIGN_OR_RETURN(more, ExpireStep());
  }
  const Turn turn(this);
  ExpireReport report;
  report.ended = keeper_->EndedSince(ended_before);
  report.windows = keeper_->windows_dropped() - windows_before;
  report.versions = store_->state().versions_expired - before.versions_expired;
  report.versions_shed = store_->state().versions_shed - before.versions_shed;
  report.left = keeper_->Outlooks(retention_time());
  heads_->work_came->Soon();
  return report;
}

// One step of what stands before the end of a window, or of that; false: nothing is left.
// REQUIRES: mutex_.
Result<bool> Maintenance::ExpireStep() {
  if (!sealer_->idle()) return SealRoundStep();
  // A rewriting goes on when no rotation writes.
  if (!respill_->idle() && !rotation_->idle()) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, StepRotation());
    if (!did) return WhyNotRotated();
    return true;
  }
  if (!respill_->idle()) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, StepRewrite(Respill::Scope::kAll));
    if (did) return true;
  }
  if (!merger_->idle()) return StepMerge();
  return StepWindows();
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
                     committer_->HeadIsOlderThan(limits_.head_age_us) ||
                     committer_->HeadIsLargeForDisk();
    if (due) (void)committer_->Freeze();
    if (heads_->frozen_head() != nullptr && !RoomForRotation().ok()) return false;
  }
  const Result<bool> did = rotation_->Step();
  if (!did.ok()) return Watch(did.status());
  const std::optional<SpilledBuckets> spilled = rotation_->TakeSpilled();
  if (spilled) {
    sealer_->NoteRotation(*spilled,
                          clock_->settled() ? std::optional(now_us()) : std::nullopt);
    committer_->KeepRoomToSeal(sealer_->BytesToKeepRoomFor());
  }
  return *did;
}

// Rows that are to be sealed may have the ballast: their journal goes, and what is sealed does once
// upstream has it. Not while no round finds room itself: it would be given up for nothing.
Status Maintenance::RoomForRotation() {
  const uint64_t bytes = rotation_->headroom_bytes() + MergeBytesBehindFlush(*store_);
  const bool is_for_seal =
      prepares_seal_ || (sealer_->awaits_rotation() &&
                         (sealer_->trouble().code() != StatusCode::kNoSpace ||
                          sealer_->passed_over_bytes() != 0));
  return is_for_seal ? store_->MakeRoom(bytes) : store_->CheckHeadroom(bytes);
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
  const uint64_t bytes = store_->MetaMemtableBytes();
  if (bytes < kMetaFlushBytes) return false;
  // Where there is no room for a merge behind it the flush waits, but not for long: RocksDB would
  // flush by itself in the end.
  const uint64_t merge_bytes = bytes < kMetaFlushBytesMax ? MergeBytesBehindFlush(*store_) : 0;
  if (!store_->CheckHeadroom(kFamilyHeadroomBytes + merge_bytes).ok()) return false;
  CISTERN_RETURN_IF_ERROR(Watch(store_->FlushMeta()));
  return true;
}

// Merges of meta are allowed where there is room for one beside the next round and the ballast, and
// no more where that room is gone and a seal waits for it: even that takes a little room of the
// ballast. A round that is under way has a claim to the room, so this is decided between rounds.
Result<bool> Maintenance::StepMetaMerges() {
  const int64_t now_us = clock_->monotonic_us();
  const bool is_asked_for = by_hand_ || prepares_seal_;
  if (meta_merges_us_ == kNever || (now_us < meta_merges_us_ && !is_asked_for)) return false;
  if (!sealer_->idle() || !respill_->idle() || !merger_->idle()) return false;
  const bool are_allowed = MetaMergesAllowed(*store_);
  if (are_allowed ? IsMerging(*store_) : !MetaMergesWait(*store_)) return false;
  meta_merges_us_ = now_us + limits_.retry_interval_us;
  const bool is_for_seal = is_asked_for || sealer_->awaits_rotation() ||
                           sealer_->trouble().code() == StatusCode::kNoSpace;
  uint64_t next_bytes = sealer_->RoomOfLeastRound();
  if (is_for_seal && heads_->frozen_head() != nullptr) {
    next_bytes = std::max(next_bytes, RoomBesideMerge(*store_, rotation_->headroom_bytes()));
  }
  const Status room =
      are_allowed ? store_->CheckHeadroom(next_bytes)
                  : store_->CheckRoomForRows(next_bytes + MetaMergeBytes(*store_));
  if (room.ok() == are_allowed) return false;
  if (are_allowed && (!is_for_seal || !store_->MakeDeviceRoom(kFamilyHeadroomBytes).ok())) {
    return false;
  }
  // What has met damage would meet it again, and end the next opening as well.
  if (!are_allowed && store_->db().opened().config.segments_rest) {
    const Status whole = CheckMetaFiles(*store_);
    if (whole.code() == StatusCode::kCorruption) {
      meta_merges_us_ = kNever;
      store_->db().opened().info_log->Write(
          LogLevel::kError, "the catalog is damaged, and not merged: " + whole.message());
    }
    if (!whole.ok()) return false;
  }
  CISTERN_RETURN_IF_ERROR(Watch(AllowMetaMerges(*store_, !are_allowed)));
  return true;
}

// Takes the ballast again once the disk has room for it.
Result<bool> Maintenance::StepBallast() {
  const int64_t now_us = clock_->monotonic_us();
  if (store_->ballast_held() || now_us - ballast_us_ < limits_.ballast_interval_us) return false;
  ballast_us_ = now_us;
  return store_->HoldBallast().ok();  // no room is no failure: it tries again
}

// Merges of meta are allowed here too: an opening leaves files, and whoever opens and ends never
// ticks.
Status Maintenance::PrepareJournals() {
  const Turn turn(this);
  for (bool more = true; more;) {
    const Result<bool> did = StepJournal();
    if (!did.ok()) {
      return did.status().code() == StatusCode::kNoSpace ? Status::Ok() : did.status();
    }
    more = *did;
  }
  return StepMetaMerges().status();
}

Status Maintenance::MakeRoom() {
  const Turn turn(this);
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
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  heads_->work_came->Soon();
  return RotateAllLocked();
}

Status Maintenance::WithoutHead(const std::function<Status()>& step) {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  (void)committer_->CommitQueued();  // what was submitted before belongs before
  const Committer::Hold hold(committer_);
  CISTERN_RETURN_IF_ERROR(RotateAllLocked());
  return step();
}

Result<int64_t> Maintenance::WhileStill(const std::function<Status(uint64_t sequence)>& look) {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  int64_t held_us = 0;
  CISTERN_RETURN_IF_ERROR(committer_->WhileStill([&](uint64_t sequence) {
    const int64_t began_us = clock_->monotonic_us();
    const Status looked = look(sequence);
    held_us = clock_->monotonic_us() - began_us;
    return looked;
  }));
  return held_us;
}

// REQUIRES: mutex_.
Status Maintenance::RotateAllLocked() {
  // What is frozen first, then what is in the head now.
  for (int generation = 0; generation < 2; ++generation) {
    bool more = true;
    while (more) {
      CISTERN_ASSIGN_OR_RETURN(const bool journal, StepJournal());
      CISTERN_ASSIGN_OR_RETURN(const bool rotation, StepRotation());
      more = journal || rotation;
      if (!more && prepares_seal_ && heads_->frozen_head() != nullptr) {
        CISTERN_ASSIGN_OR_RETURN(more, StepMetaMerges());
      }
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
  if (!sealer_->idle() || !merger_->idle()) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(StepMetaMerges().status());
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
  CISTERN_RETURN_IF_ERROR(
      store_->CheckHeadroom(rotation_->headroom_bytes() + MergeBytesBehindFlush(*store_)));
  return Status::Busy("the head is full and cannot rotate yet: try again after a pause");
}

Status Maintenance::ConfirmClock() {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  const Status confirmed = committer_->ConfirmClock();
  const bool is_refused = confirmed.code() == StatusCode::kOutOfRange ||
                          confirmed.code() == StatusCode::kNoSpace;
  if (confirmed.ok()) heads_->work_came->Soon();  // what waited for a time that is believed
  return is_refused ? confirmed : Watch(confirmed);
}

Status Maintenance::WriteBeacon() {
  const Turn turn(this);
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(committer_->SyncNow());
  CISTERN_RETURN_IF_ERROR(committer_->KeepClock());
  return store_->WriteBeacon(committer_->synced_sequence());
}

}  // namespace cistern
