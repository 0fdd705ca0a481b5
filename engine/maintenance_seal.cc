// Maintenance: seal rounds, those that are due and those that somebody asks for.
#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/maintenance.h"
#include "lib/base/check.h"

namespace cistern {

// Goes on with a seal round, or looks whether one is due.
Result<bool> Maintenance::StepSeal() {
  if (!sealer_->idle()) return SealRoundStep();
  if (sealer_->IsThrough({})) seal_more_ = false;
  if (by_hand_) return false;  // its rounds first
  const int64_t monotonic_us = clock_->monotonic_us();
  const bool is_time = seal_more_ || monotonic_us - seal_us_ >= limits_.seal_interval_us;
  if (limits_.seal_interval_us == 0 || !is_time || !clock_->settled() || !respill_->idle() ||
      !merger_->idle()) {
    return false;
  }
  // What is due and still in the head is rotated first; then this step comes here again. A frozen
  // head that waits for room keeps nobody from sealing what is spilled, which makes some.
  if (!seal_more_ && sealer_->NoteDueInHead({}, now_us()) && heads_->frozen_head() == nullptr &&
      committer_->Freeze()) {
    return true;
  }
  seal_us_ = monotonic_us;
  if (!seal_more_ && !sealer_->MayBeDue(now_us())) return false;
  seal_more_ = store_->MakeDeviceRoom(kFamilyHeadroomBytes).ok();
  if (!seal_more_) return false;
  CISTERN_RETURN_IF_ERROR(Watch(BeginRound({})));
  return true;
}

// A damaged bucket stays as it is, and is not looked at again: verify names it. A full disk is
// met again later.
Result<bool> Maintenance::SealRoundStep() {
  const Status s = StepRound();
  if (!s.ok() && !EndedTheRoundAlone(s)) return Watch(s);
  if (s.code() == StatusCode::kNoSpace) seal_more_ = false;
  // Where not even the open segments can be told nothing is sealed any more. An opening takes
  // what it cannot read out of the way: one that has not yet done so makes room for another.
  const bool is_blind = s.code() == StatusCode::kCorruption && sealer_->IsThrough({});
  if (is_blind && !store_->db().opened().config.segments_rest) return Watch(s);
  return true;
}

// A look that has come to its end knows what the next seals need.
Status Maintenance::StepRound() {
  Status s = sealer_->Step();
  if (sealer_->idle()) committer_->KeepRoomToSeal(sealer_->BytesToKeepRoomFor());
  return s;
}

bool Maintenance::EndedTheRoundAlone(const Status& s) const {
  return sealer_->idle() && (Sealer::IsDamage(s) || s.code() == StatusCode::kNoSpace);
}

Status Maintenance::WhyNotSealing() const {
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  if (!clock_->settled()) {
    return Status::Busy("the clock is not trusted, so that nothing is sealed: see what cistern "
                        "clock (Engine::GetClock) says");
  }
  if (limits_.seal_interval_us == 0) {
    return Status::NotFound("nothing is sealed by itself (EngineOptions::seal_when_due is off): "
                            "call Engine::Seal, or cistern seal");
  }
  const std::lock_guard lock(stopped_mutex_);
  return seals_stopped_;
}

// Who watches asks at any time, and a step may wait for the device: so it is noted for him.
// REQUIRES: mutex_.
void Maintenance::NoteWhyNotSealing() {
  Status stopped = sealer_->trouble();
  const bool has_rows =
      committer_->waiting().rows_since_us != 0 || !store_->spills().view()->families.empty();
  const int64_t now_us = clock_->monotonic_us();
  if (has_rows && now_us - room_asked_us_ >= limits_.retry_interval_us) {
    room_asked_us_ = now_us;
    room_to_seal_ = RoomToSeal();
  }
  if (stopped.ok() && has_rows) stopped = room_to_seal_;
  const std::lock_guard lock(stopped_mutex_);
  seals_stopped_ = std::move(stopped);
}

// For the smallest round, as it would be made: the ballast may go for it.
Status Maintenance::RoomToSeal() const {
  const uint64_t bytes = sealer_->RoomOfLeastRound();
  const uint64_t spare_bytes = store_->ballast_spare_bytes();
  return store_->CheckHeadroom(bytes - std::min(bytes, spare_bytes));
}

struct Maintenance::SealByHand {
  SealScope scope;
  bool has_begun = false;  // its first round
  uint64_t buckets_before = 0;
  uint64_t amendments_before = 0;
  uint64_t bytes_before = 0;
  Status unrotated;  // why rows are left in the head: what is spilled is sealed all the same
};

Result<SealReport> Maintenance::Seal(SealScope scope) {
  const std::lock_guard one_at_a_time(by_hand_mutex_);
  SealByHand work;
  work.scope = std::move(scope);
  CISTERN_RETURN_IF_ERROR(PrepareSeal(&work));
  Result<bool> more = true;
  SealReport report;
  while (more.ok() && *more) {
    // Between two steps the lock is free: a writer whose head is full waits for it.
    const Turn turn(this);
    const Status failure = committer_->failure();
    by_hand_ = true;
    more = failure.ok() ? SealByHandStep(&work) : Result<bool>(failure);
    by_hand_ = more.ok() && *more;
    if (by_hand_) continue;
    report.problems = sealer_->ProblemsOf(work.scope);
    report.buckets = sealer_->buckets_sealed() - work.buckets_before;
    report.amendments = sealer_->amendments() - work.amendments_before;
    report.bytes = sealer_->bytes_written() - work.bytes_before;
    NoteWhyNotSealing();
  }
  heads_->work_came->Soon();  // families that are sealed whole, windows that are to be merged
  // What was sealed before the disk was full is sealed, and can be sent.
  report.stopped = more.ok() ? work.unrotated : more.status();
  const bool is_full = report.stopped.code() == StatusCode::kNoSpace;
  if (!is_full || report.buckets == 0) CISTERN_RETURN_IF_ERROR(report.stopped);
  return report;
}

// Brings what the scope names out of the head, and says in it where the work ends.
Status Maintenance::PrepareSeal(SealByHand* work) {
  const Turn turn(this);
  SealScope* const scope = &work->scope;
  work->buckets_before = sealer_->buckets_sealed();
  work->amendments_before = sealer_->amendments();
  work->bytes_before = sealer_->bytes_written();
  CISTERN_RETURN_IF_ERROR(committer_->failure());
  CISTERN_RETURN_IF_ERROR(Watch(committer_->PollClock()));
  if (!clock_->settled()) {
    return Status::Busy("the clock is not trusted yet, and rows wait for their time: seal later, "
                        "or see what cistern clock (Engine::GetClock) says");
  }
  if (!scope->due_only || sealer_->NoteDueInHead(*scope, now_us())) {
    prepares_seal_ = true;
    const Status rotated = RotateAllLocked();
    prepares_seal_ = false;
    if (rotated.code() != StatusCode::kNoSpace) CISTERN_RETURN_IF_ERROR(rotated);
    work->unrotated = rotated;
  }
  // Who asks for everything means what is there now, not what others write meanwhile.
  if (!scope->due_only) scope->journal_last = store_->state().journal_floor;
  return Status::Ok();
}

// One step of what stands before a round or of the round itself; false: nothing is left.
// REQUIRES: mutex_.
Result<bool> Maintenance::SealByHandStep(SealByHand* work) {
  if (!sealer_->idle()) {
    const Status s = StepRound();
    if (s.ok() || EndedTheRoundAlone(s)) return true;
    return Watch(s);
  }
  if (work->has_begun && sealer_->why_given_up().code() == StatusCode::kNoSpace) {
    // The round may have met a run that has room without a merge of meta alone. It is tried again
    // where merges were switched: a round that lacks room for another reason ends again.
    CISTERN_ASSIGN_OR_RETURN(const bool did, StepMetaMerges());
    if (!did) return sealer_->why_given_up();
    work->has_begun = false;
    return true;
  }
  if (work->has_begun && sealer_->IsThrough(work->scope)) return false;
  if (!rotation_->idle()) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, StepRotation());
    if (!did) return WhyNotRotated();
    return true;
  }
  if (!respill_->idle()) {
    // One that was given up is over as well.
    CISTERN_RETURN_IF_ERROR(StepRewrite(Respill::Scope::kAll).status());
    return true;
  }
  for (const auto step : {&Maintenance::StepMetaMerges, &Maintenance::StepMerge,
                          &Maintenance::StepDropSealed}) {
    CISTERN_ASSIGN_OR_RETURN(const bool did, (this->*step)());
    if (did) return true;
  }
  if (!clock_->settled()) {
    return Status::Busy("the clock is not trusted any more, and rows wait for their time: seal "
                        "later");
  }
  CISTERN_RETURN_IF_ERROR(store_->MakeDeviceRoom(kFamilyHeadroomBytes));
  CISTERN_RETURN_IF_ERROR(Watch(BeginRound(work->scope)));
  work->has_begun = true;
  return true;
}

// A round takes the next sequence and counts all segments below it as sealed. A rotation
// or a rewriting that is under way has a lower one, and commits rows that the round does
// not have.
Status Maintenance::BeginRound(const SealScope& scope) {
  CISTERN_CHECK(rotation_->idle() && respill_->idle() && merger_->idle());
  return sealer_->Begin(scope, now_us());
}

}  // namespace cistern
