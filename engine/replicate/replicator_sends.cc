// Replicator: batches, and what their answers mean.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/replicate/bound_batch.h"
#include "engine/replicate/replicator.h"
#include "engine/replicate/replicator_push.h"

namespace cistern::replicate {
namespace {

// Of one seal, unanswered. A seal of some megabytes alone fills the window; small ones take turns.
constexpr size_t kFlightsMax = 16;
constexpr int64_t kBusyPauseUs = 20'000;
// Over v4 a batch is bound for the second in which it is sent. What refuses it at once is passed
// over; whoever sends it later binds it anew.
constexpr int64_t kBoundFreshUs = 1'000'000;
// What the store cannot do now: its clock is not known, or its memory is used up.
constexpr int64_t kStorePauseUs = 1'000'000;
// A batch that was refused so often leaves the place of its seal to another one that waits, as long
// as not too many rest: what is known of them is in memory.
constexpr uint32_t kAttemptsInPlaceMax = 2;
constexpr size_t kRestingMax = 1024;

}  // namespace

bool Replicator::SendBatches() {
  if (IsPaused() || !parts_.session->is_up()) return false;
  bool did = false;
  // A push that ends leaves the list: it is walked over by place.
  for (size_t i = 0; i < pushes_.size(); ++i) {
    const PushPtr push = pushes_[i];
    while (SendBatch(push)) did = true;
  }
  return did;
}

bool Replicator::SendBatch(const PushPtr& push) {
  const int64_t now_us = parts_.loop->NowUs();
  if (push->is_over() || now_us < push->resume_at_us || IsPaused()) return false;
  // It may be another table by now, which values of the former one must not reach.
  if (IsCompared(push->item)) return false;
  if (push->seal.is_interrupted()) push->seal.Rewind();
  if (!push->seal.MaySend(kFlightsMax) || !flow_.Admits(options_.byte_count_max) ||
      cap_.WaitUs(now_us) > 0 ||
      !flight_charge_.TrySet(kFlightCopies * flow_.in_flight_bytes())) {
    return false;
  }
  // What is left out by a wrong time would be confirmed, and be nowhere.
  const auto now_s = parts_.clock_settled() ? std::optional(parts_.certain_s()) : std::nullopt;
  const Result<std::optional<uint64_t>> made = push->seal.Next(now_s, now_us, &batch_);
  if (!made.ok()) {
    OnNotMade(push.get(), made.status());
    return false;
  }
  if (!*made) {
    CountTally(batch_.tally);
    return true;
  }
  cql::BatchOptions options;
  options.consistency = options_.consistency;
  if (batch_.now_in_seconds) {
    options.now_in_seconds = static_cast<uint32_t>(*batch_.now_in_seconds);
  }
  cql::BoundBatch bound;
  AppendStatements(batch_, push->link->numbers(), &bound);
  const uint64_t byte_count = batch_.byte_count();
  const uint64_t number = flow_.NoteSent(byte_count);
  const Status sent = parts_.session->Batch(
      std::move(bound), options,
      [this, alive = std::weak_ptr<int>(alive_), push, ticket = **made, tally = batch_.tally,
       number, byte_count, now_us](const cql::Outcome& outcome) {
        if (alive.expired()) return;
        OnAnswer({push, ticket, tally, number, byte_count, now_us}, outcome);
      },
      /*timeout_us=*/0, push->names_now ? 0 : kBoundFreshUs);
  if (sent.ok()) {
    cap_.Take(byte_count, now_us);
    // One row may be longer than a batch should be.
    const size_t in_flight_bytes = flow_.in_flight_bytes();
    const size_t kept_bytes = std::min(in_flight_bytes, options_.byte_count_max);
    const size_t bytes = kFlightCopies * (in_flight_bytes - kept_bytes);
    flight_charge_.Set(std::max(flight_charge_.bytes(), bytes));
    ++counters_.batches_sent;
    return true;
  }
  flow_.NoteLost(byte_count);
  push->seal.Lose(**made);
  push->resume_at_us = now_us + kBusyPauseUs;
  switch (sent.code()) {
    case StatusCode::kBusy:
    case StatusCode::kClosed: break;
    // Bound for v5, and only hosts with v4 are up.
    case StatusCode::kNotSupported: push->is_given_up = true; break;
    default: Park(push.get(), sent, std::nullopt);
  }
  return false;
}

void Replicator::OnNotMade(Push* push, const Status& why) {
  const int64_t now_us = parts_.loop->NowUs();
  switch (why.code()) {
    case StatusCode::kBusy:  // v4 needs a clock that is known
      push->resume_at_us = now_us + kStorePauseUs;
      return;
    case StatusCode::kOutOfMemory:
      push->resume_at_us = now_us + kStorePauseUs;
      push->awaits_memory = true;
      open_at_us_ = push->resume_at_us;
      return;
    case StatusCode::kTooManyOpenFiles:  // no fault of the seal; who opens the next one tells it
    case StatusCode::kClosed: push->is_given_up = true; return;
    case StatusCode::kIoError:
    case StatusCode::kCorruption:  // a disk that errs for a moment looks like it
      if (why.code() == StatusCode::kCorruption && push->has_position) {
        // The position of another day; the seal itself may be sound.
        TroubleOf(push->item).ignores_position = true;
        push->is_given_up = true;
        return;
      }
      push->resume_at_us = now_us + push->backoff.NextPauseUs();
      if (++TroubleOf(push->item).attempts < kReadAttemptsMax) return;
      break;
    default: break;
  }
  Park(push, why, std::nullopt);
}

void Replicator::OnAnswer(const Flight& flight, const cql::Outcome& outcome) {
  const int64_t now_us = parts_.loop->NowUs();
  const PushPtr& push = flight.push;
  // What the session sent again by itself waited for nobody: the next batches do.
  if (outcome.attempts > 1) cap_.Take((outcome.attempts - 1) * flight.byte_count, now_us);
  if (outcome.kind != cql::OutcomeKind::kDone) {
    // What was on its way together is one attempt.
    const std::optional<PushPosition> end = push->seal.EndOf(flight.ticket);
    const bool is_first = push->seal.Lose(flight.ticket);
    OnRefused(push.get(), {flight.number, flight.byte_count, is_first}, outcome);
    const auto trouble = troubles_.find(push->number());
    if (is_first && end && trouble != troubles_.end()) {
      // Of several the foremost: which of a round is answered first is chance.
      auto& known = trouble->second.refused_end;
      if (!known || HasPassed(*known, *end)) known = end;
    }
    return LeavePlace(push.get());
  }
  flow_.NoteDone(flight.number, flight.byte_count, now_us - flight.sent_us);
  NoteLanded();
  ++acks_;
  counters_.bytes_sent += flight.byte_count;
  CountTally(flight.tally);
  const PushPosition before = push->seal.acknowledged();
  push->seal.Acknowledge(flight.ticket, now_us);
  cluster_backoff_.NoteSuccess();
  push->link->NoteWritten();
  // A batch that is refused each time is not redeemed by those behind it, nor by those before it
  // when all is sent anew.
  if (push->seal.acknowledged() == before) return;
  push->backoff.NoteSuccess();
  const auto trouble = troubles_.find(push->number());
  if (trouble == troubles_.end() || trouble->second.is_of_proof) return;
  const auto& end = trouble->second.refused_end;
  if (!end || HasPassed(push->seal.acknowledged(), *end)) troubles_.erase(trouble);
}

Replicator::Trouble& Replicator::TroubleOf(const DrainItem& item) {
  Trouble& trouble = troubles_[item.seal];
  trouble.bucket = item.bucket;
  if (trouble.attempts == 0) {
    trouble.acks_before = acks_;
    trouble.agreements_before = links_.at(item.bucket.table_id)->agreements();
  }
  return trouble;
}

// Of a seal that cannot be opened. A disk that errs for a moment looks like one that is damaged.
bool Replicator::ReadsAgainLater(const DrainItem& item) {
  if (++TroubleOf(item).attempts >= kReadAttemptsMax) return false;
  Rest(item, parts_.loop->NowUs() + SetbackOf(item).backoff.NextPauseUs());
  return true;
}

Verdict Replicator::JudgeRefusal(const Way& way, const RefusedRequest& request,
                                 const cql::Outcome& outcome) {
  Refusal refusal;
  refusal.error_code = outcome.error_code;
  refusal.status = outcome.status.code();
  // No trouble of the seal.
  const Verdict of_all = Judge(refusal);
  if (of_all == Verdict::kBindAnew || of_all == Verdict::kHoldTable) return of_all;
  Trouble& trouble = TroubleOf(way.item);
  if (request.is_first || trouble.attempts == 0) ++trouble.attempts;
  trouble.is_of_proof |= request.is_of_proof;
  refusal.attempts = trouble.attempts;
  refusal.saw_equal_schema = way.link->agreements() > trouble.agreements_before;
  refusal.others_went = acks_ > trouble.acks_before;
  return Judge(refusal);
}

// A batch, or a query of a proof.
void Replicator::OnRefused(Way* way, const RefusedRequest& request, const cql::Outcome& outcome) {
  const int64_t now_us = parts_.loop->NowUs();
  ++counters_.batches_refused;
  refusal_ = outcome.status;
  const Verdict verdict = JudgeRefusal(*way, request, outcome);
  const bool is_unanswered =
      outcome.kind == cql::OutcomeKind::kUnknown && !outcome.error_code.has_value();
  if (verdict == Verdict::kSlowDown || is_unanswered) {
    flow_.NoteOverload(request.number, request.byte_count);
  } else {
    flow_.NoteLost(request.byte_count);
  }
  NoteLanded();
  switch (verdict) {
    case Verdict::kSendAgain:
    case Verdict::kSlowDown:  // what was refused together makes one pause
      if (request.is_first) way->resume_at_us = now_us + way->backoff.NextPauseUs();
      break;
    case Verdict::kAwaitCluster:
      // What was sent together is refused together: one pause for all.
      if (IsPaused()) break;
      paused_until_us_ = now_us + cluster_backoff_.NextPauseUs();
      pause_why_ = outcome.status;
      pause_error_code_ = outcome.error_code ? static_cast<int32_t>(*outcome.error_code) : 0;
      break;
    case Verdict::kHoldTable:
      way->link->Deny(outcome.status, request.is_of_proof);
      way->is_given_up = true;
      break;
    case Verdict::kAskSchema:
      way->link->DoubtAndAsk();
      way->is_given_up = true;
      break;
    case Verdict::kBindAnew: way->is_given_up = true; break;
    case Verdict::kPark: Park(way, outcome.status, outcome.error_code); break;
  }
}

// While it pauses another seal takes its place. Some seals that are refused each time would hold up
// all others, and no other would show that it is them and not the cluster.
void Replicator::LeavePlace(Push* push) {
  const int64_t now_us = parts_.loop->NowUs();
  const auto trouble = troubles_.find(push->number());
  const bool is_stubborn =
      trouble != troubles_.end() && trouble->second.attempts >= kAttemptsInPlaceMax;
  if (push->proof || push->is_over() || !is_stubborn) return;
  const bool is_full = pushes_.size() >= options_.pushing_count_max || !HasMemoryForPush();
  const bool is_in_the_way = has_waiting_ && is_full;
  if (!is_in_the_way || resting_.size() >= kRestingMax) return;
  push->is_given_up = true;
  push->leaves_place = true;
  int64_t until_us = push->resume_at_us;
  // Not at once when the cluster is tried again: others would never come before it.
  if (paused_until_us_ > now_us) until_us = paused_until_us_ + push->backoff.NextPauseUs();
  Rest(push->item, until_us);
  SetbackOf(push->item).backoff = push->backoff;
}

void Replicator::Park(Way* way, const Status& why, std::optional<cql::ErrorCode> error_code) {
  PushRecord record;
  record.state = PushState::kParked;
  record.bucket = way->item.bucket;
  record.version_count = way->version_count;
  record.parked_us = parts_.now_s() * 1'000'000;
  record.attempts = TroubleOf(way->item).rounds();
  record.error_code = error_code ? static_cast<int32_t>(*error_code) : 0;
  record.words = KeptWords(why.message());
  way->park = std::move(record);
}

void Replicator::NoteLanded() {
  const size_t bytes = kFlightCopies * flow_.in_flight_bytes();
  flight_charge_.Set(std::min(flight_charge_.bytes(), bytes));
}

void Replicator::CountTally(const PushTally& tally) {
  counters_.versions_sent += tally.sent;
  counters_.versions_expired += tally.expired;
  counters_.versions_shadowed += tally.shadowed;
  counters_.versions_empty += tally.empty;
}

}  // namespace cistern::replicate
