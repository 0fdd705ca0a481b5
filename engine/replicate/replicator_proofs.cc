// Replicator: seals that were held, and how their arrival is proved before they are confirmed.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/replicate/replicator.h"
#include "engine/replicate/replicator_push.h"
#include "lib/base/concat.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kBusyPauseUs = 20'000;
// What the store cannot do now: its memory is used up.
constexpr int64_t kStorePauseUs = 1'000'000;
// The table's schema is being compared: its seals are held for so long more.
constexpr int64_t kSchemaPauseUs = 1'000'000;
// An answer stands in the buffer of its connection, and in the proof.
constexpr uint64_t kAnswerCopies = 2;

std::string_view LevelName(ProofLevel level) {
  return level == ProofLevel::kCount ? "count" : "rows";
}

}  // namespace

// --- which seals are proved

bool Replicator::MayStartProof() const {
  const int64_t now_us = parts_.loop->NowUs();
  return proofs_.size() < options_.pushing_count_max && now_us >= open_at_us_ && !IsPaused() &&
         parts_.session->is_up();
}

// What was held for long enough.
Result<bool> Replicator::StepHolding() {
  const int64_t now_us = parts_.loop->NowUs();
  if (options_.proof != ProofLevel::kAck) return StartProof();
  bool did = false;
  for (; !holding_.empty() && holding_.front().due_us <= now_us; holding_.pop_front()) {
    const Holding& held = holding_.front();
    proven_.push_back({held.item, held.version_count, ProofLevel::kAck, held.due_us});
    did = true;
  }
  return did;
}

Result<bool> Replicator::StartProof() {
  const int64_t now_us = parts_.loop->NowUs();
  if (holding_.empty() || holding_.front().due_us > now_us || !MayStartProof()) return false;
  Holding held = std::move(holding_.front());
  holding_.pop_front();
  TableLink* const link = LinkOf(held.item.bucket.table_id);
  Status may_ask = link == nullptr ? Status::NotFound("the table is gone")
                                   : link->MaySend(held.item.bucket.start_s);
  if (may_ask.ok() && options_.proof == ProofLevel::kCount) {
    // The count leaves hidden values out, so it would not miss them.
    const Status shown = CheckShown(held.item);
    if (shown.code() == StatusCode::kInvalidArgument) may_ask = shown;
  }
  if (may_ask.code() == StatusCode::kBusy) {
    held.due_us = now_us + kSchemaPauseUs;
    Hold(std::move(held));
    return true;
  }
  if (!may_ask.ok()) {
    // It is sent again once the table agrees with the cluster's.
    EndWay(held.item.bucket, held.item.seal);
    LookAt(held.item.bucket);
    return true;
  }
  Result<ProofPtr> proof = OpenProof(held, links_.at(held.item.bucket.table_id));
  if (proof.ok()) {
    proofs_.push_back(*std::move(proof));
    return true;
  }
  switch (proof.status().code()) {
    case StatusCode::kNotFound:  // its window has ended meanwhile
      EndWay(held.item.bucket, held.item.seal);
      return true;
    case StatusCode::kBusy:
    case StatusCode::kOutOfMemory:
      open_at_us_ = now_us + kStorePauseUs;
      holding_.push_front(std::move(held));
      return false;
    case StatusCode::kCorruption:
    case StatusCode::kTooLarge:
      EndWay(held.item.bucket, held.item.seal);
      if (proof.status().code() == StatusCode::kCorruption && ReadsAgainLater(held.item)) {
        return true;
      }
      ParkUnread(held.item, proof.status());
      return true;
    default: holding_.push_front(std::move(held)); return proof.status();
  }
}

Result<Replicator::ProofPtr> Replicator::OpenProof(const Holding& held,
                                                   const std::shared_ptr<TableLink>& link) {
  MemoryCharge charge(parts_.budget);
  if (!charge.TrySet(kAnswerCopies * options_.byte_count_max)) {
    return Status::OutOfMemory("the memory budget has no room to prove a seal");
  }
  CISTERN_ASSIGN_OR_RETURN(OpenedSource opened, OpenSource(held.item, *link));
  ProofOptions options;
  options.level = options_.proof;
  options.page_bytes = options_.byte_count_max;
  options.hidden = link->hidden();
  const RetryBackoff pauses(options_.backoff, options_.seed + held.item.seal);
  auto proof =
      std::make_shared<Proof>(held, SealProof(options, std::move(opened.source)), link, pauses);
  proof->charge = std::move(charge);
  proof->hidden = link->hidden();
  proof->is_newest = opened.is_newest;
  return proof;
}

// --- how it goes on

// One step of each: a page of ours is read at most.
bool Replicator::StepProofs() {
  bool did = false;
  for (size_t i = 0; i < proofs_.size(); ++i) did |= StepProof(ProofPtr(proofs_[i]));
  const size_t before = proofs_.size();
  std::erase_if(proofs_, [this](const ProofPtr& proof) {
    if (!proof->has_ended() || proof->is_asking || proof->is_sending) return false;
    EndProof(proof.get());
    return true;
  });
  return did || proofs_.size() != before;
}

bool Replicator::StepProof(const ProofPtr& proof) {
  const int64_t now_us = parts_.loop->NowUs();
  if (proof->has_ended() || proof->is_asking || proof->is_sending ||
      now_us < proof->resume_at_us) {
    return false;
  }
  // It may be another table by now, of which nothing of this proof is true.
  if (IsCompared(proof->item)) return false;
  if (proof->hidden != proof->link->hidden()) {
    // Somebody dropped a column since it began: what was not found may be hidden.
    proof->begins_anew = true;
    return true;
  }
  const auto now_s = parts_.clock_settled() ? std::optional(parts_.now_s()) : std::nullopt;
  const Result<ProofStep> step = proof->seal.Next(now_s);
  if (!step.ok()) {
    OnNotProved(proof.get(), step.status());
    return false;
  }
  switch (*step) {
    case ProofStep::kAsk: return AskForProof(proof);
    case ProofStep::kGoOn: break;
    case ProofStep::kEnd: OnProofEnd(proof); break;
  }
  return true;
}

// An answer takes its share of the window, so that proofs and batches take turns.
bool Replicator::AskForProof(const ProofPtr& proof) {
  const int64_t now_us = parts_.loop->NowUs();
  const uint64_t byte_count = options_.byte_count_max;
  if (IsPaused() || !parts_.session->is_up() || !flow_.Admits(byte_count) ||
      cap_.WaitUs(now_us) > 0) {
    return false;
  }
  const ProofQuery& asked = proof->seal.query();
  cql::SessionQuery query;
  query.options.consistency = options_.consistency;
  query.options.skip_metadata = true;
  query.options.page_rows = asked.page_rows;
  query.paging_state = asked.paging_state;
  const uint64_t number = flow_.NoteSent(byte_count);
  const Status sent = parts_.session->Execute(
      {proof->link->number_of(asked.statement), asked.values}, std::move(query),
      [this, alive = std::weak_ptr<int>(alive_), proof, number](const cql::Outcome& outcome) {
        if (!alive.expired()) OnProofAnswer(proof.get(), number, outcome);
      });
  if (sent.ok()) {
    proof->is_asking = true;
    return true;
  }
  flow_.NoteLost(byte_count);
  proof->resume_at_us = now_us + kBusyPauseUs;
  const bool is_passing = sent.code() == StatusCode::kBusy || sent.code() == StatusCode::kClosed;
  if (!is_passing) Park(proof.get(), sent, std::nullopt);
  return false;
}

void Replicator::OnProofAnswer(Proof* proof, uint64_t number, const cql::Outcome& outcome) {
  proof->is_asking = false;
  if (outcome.kind != cql::OutcomeKind::kDone) {
    return OnRefused(proof, {number, options_.byte_count_max, true, true}, outcome);
  }
  // How long a partition takes to read says nothing about how much may be written at once.
  flow_.NoteLost(options_.byte_count_max);
  ++acks_;
  cluster_backoff_.NoteSuccess();
  if (proof->has_ended()) return;
  if (outcome.rows == nullptr) {
    return OnNotProved(proof, Status::Corruption("the cluster answered a SELECT without rows"));
  }
  const uint64_t byte_count = outcome.rows->rows.cells().size();
  counters_.bytes_read_back += byte_count;
  cap_.Take(byte_count, parts_.loop->NowUs());
  const Status taken = proof->seal.Take(*outcome.rows);
  if (!taken.ok()) return OnNotProved(proof, taken);
  proof->backoff.NoteSuccess();
  // Attempts count for one answer; what else is known of the trouble stays until the proof ends.
  const auto trouble = troubles_.find(proof->number());
  if (trouble != troubles_.end() && trouble->second.attempts > 1) trouble->second.attempts = 1;
}

// Of the store, or an answer that is none.
void Replicator::OnNotProved(Proof* proof, const Status& why) {
  const int64_t now_us = parts_.loop->NowUs();
  switch (why.code()) {
    case StatusCode::kBusy:
    case StatusCode::kOutOfMemory: proof->resume_at_us = now_us + kStorePauseUs; return;
    case StatusCode::kTooManyOpenFiles:  // no fault of the seal; who opens the next one tells it
    case StatusCode::kClosed: proof->is_given_up = true; return;
    case StatusCode::kIoError: {
      Trouble& trouble = TroubleOf(proof->item);
      trouble.is_of_proof = true;
      if (++trouble.attempts >= kReadAttemptsMax) break;
      proof->resume_at_us = now_us + proof->backoff.NextPauseUs();
      return;
    }
    case StatusCode::kCorruption: {
      // Counted by itself, and with the pauses of the seal: the next proof comes to the damage over
      // the good answers before it, which redeem nothing.
      Trouble& trouble = TroubleOf(proof->item);
      trouble.is_of_proof = true;
      refusal_ = why;
      if (++trouble.proofs_broken >= kReadAttemptsMax) break;
      proof->resume_at_us = now_us + SetbackOf(proof->item).backoff.NextPauseUs();
      proof->begins_anew = true;
      return;
    }
    default: break;
  }
  Park(proof, why, std::nullopt);
}

void Replicator::OnProofEnd(const ProofPtr& proof) {
  switch (proof->seal.end()) {
    case ProofEnd::kProven: proof->is_proven = true; return;
    case ProofEnd::kSendAgain: SendOnceMore(proof); return;
    case ProofEnd::kNotProven: break;
  }
  ++counters_.seals_not_proven;
  Park(proof.get(),
       Status::Corruption(Concat({"arrival is not proved (", LevelName(options_.proof), "): ",
           proof->seal.why()})),
       std::nullopt);
}

// Beside what else is sent: there are not more of them than proofs.
void Replicator::SendOnceMore(const ProofPtr& proof) {
  SealPush seal(proof->item, proof->seal.source_to_send(), {}, options_.checkpoint_bytes);
  auto push = std::make_shared<Push>(std::move(seal), proof->link, proof->backoff);
  push->names_now = parts_.session->version() == cql::ProtocolVersion::kV5;
  push->proof = proof;
  proof->is_sending = true;
  ++counters_.seals_mended;
  pushes_.push_back(std::move(push));
}

void Replicator::EndProof(Proof* proof) {
  const DrainItem& item = proof->item;
  if (proof->park) return EndParked(proof);
  if (proof->is_given_up) {
    EndWay(item.bucket, item.seal);
    return LookAt(item.bucket);
  }
  const int64_t now_us = parts_.loop->NowUs();
  if (proof->begins_anew) {
    return Hold({item, proof->version_count, std::max(now_us, proof->resume_at_us)});
  }
  const ProofLevel level = proof->seal.reached();
  const ProofTally& tally = proof->seal.tally();
  counters_.rows_read_back += tally.rows();
  counters_.rows_shadowed += tally.shadowed;
  counters_.rows_hidden += tally.hidden;
  if (proof->is_newest && tally.newer > 0) {
    counters_.rows_overwritten += tally.newer;
    overwritten_.try_emplace(item.bucket.table_id, proof->seal.first_newer());
  }
  troubles_.erase(item.seal);
  proven_.push_back({item, proof->version_count, level, now_us});
}

}  // namespace cistern::replicate
