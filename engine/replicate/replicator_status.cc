// Replicator: what is told of it, and when it has something to do again.
#include <algorithm>
#include <limits>
#include <string>

#include "engine/replicate/replicator.h"
#include "engine/replicate/replicator_push.h"
#include "lib/base/concat.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// New seals are looked for so often.
constexpr int64_t kLookUs = 1'000'000;
// A refusal is told when it is not the first of its batch: most pass.
constexpr uint32_t kAttemptsToldMin = 3;
// So is a store that takes nothing: most merges of windows are over by then.
constexpr int64_t kStoreToldUs = 5'000'000;

}  // namespace

// When the first of those that are held is looked at; in the past: as soon as something ends.
int64_t Replicator::HoldUntilUs() const {
  if (holding_.empty()) return kNever;
  const int64_t now_us = parts_.loop->NowUs();
  const int64_t due_us = std::max(holding_.front().due_us, open_at_us_);
  const bool may_go = options_.proof == ProofLevel::kAck || MayStartProof();
  return due_us > now_us || may_go ? due_us : kNever;
}

int64_t Replicator::NextUs() const {
  const int64_t now_us = parts_.loop->NowUs();
  int64_t at_us = now_us + kLookUs;
  for (const auto& [table, link] : links_) {
    const int64_t link_us = link->NextUs(now_us);
    if (link_us < kLookUs) at_us = std::min(at_us, now_us + link_us);
  }
  at_us = std::min({at_us, ConfirmAtUs(), HoldUntilUs()});
  const auto add = [&](const auto& way) {
    if (way->resume_at_us > now_us) at_us = std::min(at_us, way->resume_at_us);
  };
  std::for_each(pushes_.begin(), pushes_.end(), add);
  std::for_each(proofs_.begin(), proofs_.end(), add);
  if (!resting_.empty()) at_us = std::min(at_us, resting_.begin()->first);
  if (paused_until_us_ > now_us) at_us = std::min(at_us, paused_until_us_);
  const int64_t cap_us = cap_.WaitUs(now_us);
  if (!(pushes_.empty() && proofs_.empty()) && cap_us > 0) at_us = std::min(at_us, now_us + cap_us);
  return std::max<int64_t>(at_us - now_us, 0);
}

ReplicationPhase Replicator::Phase() const {
  if (!has_outbox_) return ReplicationPhase::kIdle;
  if (!parts_.session->is_up() || IsPaused()) return ReplicationPhase::kAway;
  const bool asks = std::any_of(links_.begin(), links_.end(), [](const auto& one) {
    return one.second->is_asking() && !one.second->is_asking_in_vain();
  });
  const bool notes = !to_note_.empty() && note_at_us_ <= parts_.loop->NowUs();
  const bool is_at_work = !pushes_.empty() || !proofs_.empty() || notes || !resting_.empty();
  if (is_at_work || has_waiting_ || feed_has_more_ || asks) return ReplicationPhase::kWorking;
  const bool is_stuck = holding_.empty() && proven_.empty();
  return is_stuck ? ReplicationPhase::kStuck : ReplicationPhase::kHolding;
}

ReplicationStatus Replicator::GetStatus() const {
  ReplicationStatus status;
  if (!parts_.session->is_up()) {
    status.away = parts_.session->away();
  } else if (IsPaused()) {
    status.away = pause_why_;
    status.away_error_code = pause_error_code_;
  }
  const bool is_refused = std::any_of(troubles_.begin(), troubles_.end(), [](const auto& one) {
    return one.second.rounds() >= kAttemptsToldMin;
  });
  if (is_refused) status.refused = refusal_;
  // Positions inside of seals may wait: they save bytes alone.
  const bool awaits_store = !proven_.empty() || !to_note_.empty();
  if (awaits_store && parts_.loop->NowUs() - ledger_since_us_ >= kStoreToldUs) {
    status.store = ledger_why_;
  }
  for (const auto& [table_id, link] : links_) {
    const std::string table = link->table()->schema->QualifiedName();
    if (TableLink::Held held = link->held(); !held.why.ok()) {
      status.held.push_back({table, std::move(held.why), held.reason});
    } else if (hiding_told_.contains(table_id) && link->hides_values()) {
      status.held.push_back({table, link->CheckShown(std::numeric_limits<int64_t>::min()),
                             HeldReason::kDiffers});
    }
    for (std::string& warning : link->warnings()) status.warnings.push_back(std::move(warning));
    if (const auto row = overwritten_.find(table_id); row != overwritten_.end()) {
      status.warnings.push_back(Concat({"table ", table, ": another writer has the same entity as "
          "this store, and what both write overwrites one another: ", row->second, ". Each entity "
          "is to have one gateway"}));
    }
    if (HasParkedTooMany()) {
      status.held.push_back({table, Status::TooLarge(Concat({parked_.size(),
          " seals of all tables are parked, more than can be remembered: look at why, then let "
          "them be tried again"})), HeldReason::kParked});
      continue;
    }
    const auto parked = parked_count_.find(table_id);
    if (parked == parked_count_.end() || parked->second < limits::kParkedSealsPerTableMax) continue;
    status.held.push_back({table, Status::TooLarge(Concat({parked->second,
        " of its seals are parked: look at why, then let them be tried again"})),
        HeldReason::kParked});
  }
  status.damaged.assign(feed_.damaged().begin(), feed_.damaged().end());
  status.phase = Phase();
  status.seals_pushing = pushes_.size();
  status.seals_holding = holding_.size() + proofs_.size() + proven_.size();
  status.seals_proving = proofs_.size();
  for (const Holding& held : holding_) status.versions_holding += held.version_count;
  for (const ProofPtr& proof : proofs_) status.versions_holding += proof->version_count;
  for (const Proven& proven : proven_) status.versions_holding += proven.version_count;
  status.in_flight_bytes = flow_.in_flight_bytes();
  status.window_bytes = flow_.window_bytes();
  status.memory_bytes = memory_->used_bytes();
  status.memory_share_bytes = memory_->share_bytes();
  status.next_us = NextUs();
  status.counters = counters_;
  return status;
}

}  // namespace cistern::replicate
