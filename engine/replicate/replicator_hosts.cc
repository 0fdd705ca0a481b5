// Replicator: hosts that go, and what they may have forgotten; whether the others live; and tables
// that are altered.
#include <algorithm>
#include <utility>

#include "engine/replicate/replicator.h"
#include "engine/replicate/replicator_push.h"
#include "engine/replicate/seal_content.h"

namespace cistern::replicate {
namespace {

// Not every host answered, or none is connected: they are asked again after so long.
constexpr int64_t kAskPauseUs = 1'000'000;
constexpr int64_t kForgetEveryUs = 10'000'000;
constexpr size_t kConfirmCountMax = 256;  // in one batch of the store

}  // namespace

// A host that went may have forgotten what it acknowledged last.
void Replicator::NoteLostHosts() {
  const uint64_t hosts_lost = parts_.session->cluster().hosts_lost();
  if (hosts_lost == hosts_lost_) return;
  hosts_lost_ = hosts_lost;
  const auto sends_again = [this](const auto& held) {
    SendAgainLater(held.item);
    EndWay(held.item.bucket, held.item.seal);
    return true;
  };
  std::erase_if(holding_, sends_again);
  std::erase_if(proven_, sends_again);
  for (const ProofPtr& proof : proofs_) {
    if (proof->is_sending) continue;  // its push gives up
    SendAgainLater(proof->item);
    proof->is_given_up = true;
  }
  for (auto& [seal, setback] : setbacks_) setback.reached.reset();
  const int64_t now_us = parts_.loop->NowUs();
  for (const PushPtr& push : pushes_) {
    if (push->proof) {
      SendAgainLater(push->item);
      push->is_given_up = true;
      continue;
    }
    push->seal.RewindToDurable();
    // It pauses: nothing of it was lost this time.
    if (push->resume_at_us > now_us) continue;
    push->resume_at_us = now_us + SetbackOf(push->item).backoff.NextPauseUs();
  }
}

// --- tables that are altered, or made anew

bool Replicator::StepLinks() {
  bool did = false;
  const int64_t now_us = parts_.loop->NowUs();
  uint64_t agreements = 0;
  for (const auto& [table, link] : links_) {
    did |= link->Step(now_us);
    agreements += link->agreements();
  }
  // What was passed over because its table was not known may go now.
  if (agreements == agreements_) return did;
  agreements_ = agreements;
  LookEverywhere();
  return true;
}

// The link of the table as it is declared now; null: there is no such table.
TableLink* Replicator::LinkOf(uint32_t table_id) {
  const TablePtr table = parts_.tables->FindById(table_id);
  if (!table) return nullptr;
  std::shared_ptr<TableLink>& link = links_[table_id];
  if (!link || link->table()->schema_version != table->schema_version) {
    TableLinkOptions options{.keyspace = options_.keyspace,
                             .backoff = options_.backoff,
                             .schema_retry_us = options_.schema_retry_us,
                             .seed = options_.seed + table_id,
                             .proof = options_.proof,
                             .accepted_drops = options_.accepted_drops};
    if (link) {
      options.upstream_id = link->upstream_id();
      // Who has altered it here has done so upstream too, and not all nodes may know.
      options.agreement = std::max(link->agreement(), Agreement::kUnknown);
      options.agreements = link->agreements();
    }
    link = std::make_shared<TableLink>(*parts_.loop, *parts_.session, table, options);
  }
  return link.get();
}

// Before anything is confirmed: a comparison that began before its seals were to be confirmed, and
// has just ended, may have found that what they were sent to is gone.
void Replicator::NoteOtherTables() {
  std::vector<uint32_t> anew;
  for (const auto& [table, link] : links_) {
    if (link->TakeIsAnother()) anew.push_back(table);
  }
  for (const uint32_t table : anew) BeginAnew({table, INT64_MIN, INT64_MAX});
}

// As after a lost host, but at once, and for a range of one table. What was in the way of its seals
// before says nothing about them now.
void Replicator::BeginAnew(const SealResend& resend) {
  const auto is_meant = [&resend](const BucketKey& bucket) {
    return bucket.table_id == resend.table_id && bucket.start_s >= resend.from_s &&
           bucket.start_s < resend.to_s;
  };
  const auto ends = [&](const auto& held) {
    if (!is_meant(held.item.bucket)) return false;
    EndWay(held.item.bucket, held.item.seal);
    return true;
  };
  std::erase_if(holding_, ends);
  std::erase_if(proven_, ends);
  for (const ProofPtr& proof : proofs_) proof->is_given_up |= is_meant(proof->item.bucket);
  for (const PushPtr& push : pushes_) {
    if (!is_meant(push->item.bucket)) continue;
    push->is_given_up = true;
    push->leaves_place = false;
  }
  for (auto& [seal, setback] : setbacks_) {
    if (is_meant(setback.bucket)) setback.reached.reset();
  }
  std::erase_if(troubles_, [&](const auto& one) { return is_meant(one.second.bucket); });
  LookAgain();
}

// Somebody has altered tables upstream, or may have: `change` of one, null of any. What was only
// altered refuses what does not fit.
void Replicator::OnSchemaChange(const cql::SchemaChange* change) {
  for (const auto& [table, link] : links_) {
    if (change != nullptr && !link->IsMeant(*change)) continue;
    const bool is_anew = change != nullptr && change->change != "UPDATED";
    if (is_anew) link->DoubtAndAsk();
    else link->AskAgain();
  }
}

void Replicator::OnHostCame() {
  for (const auto& [table, link] : links_) link->NoteHostCame();
}

// Whether its table is being compared with the cluster's.
bool Replicator::IsCompared(const DrainItem& item) const {
  const auto link = links_.find(item.bucket.table_id);
  return link != links_.end() && link->second->is_asking();
}

// OK: the cluster would show all values of a seal. kInvalidArgument: it may hide some. Others: an
// error of the store, which the opening of the seal meets too.
Status Replicator::CheckShown(const DrainItem& item) const {
  const auto link = links_.find(item.bucket.table_id);
  if (link == links_.end() || !link->second->hides_values()) return Status::Ok();
  const Result<int64_t> first_us =
      ReadFirstWrite({parts_.store, parts_.tables, memory_}, *link->second->table()->schema,
                     {item.bucket, item.seal});
  return first_us.ok() ? link->second->CheckShown(*first_us) : first_us.status();
}

// Fills in the seals that may be confirmed now. Gives those that may not any more: a column was
// dropped since they were sent, and hides their values even where it is there again.
std::set<uint64_t> Replicator::ConfirmedNext(std::vector<ProvenSeal>* seals) const {
  std::set<uint64_t> taken_back;
  for (const Proven& proven : proven_) {
    const bool is_enough = seals->size() + taken_back.size() == kConfirmCountMax;
    if (is_enough || proven.since_us > lives_at_us_) break;
    if (IsCompared(proven.item)) continue;  // the table may be another one than it was sent to
    const auto link = links_.find(proven.item.bucket.table_id);
    Status stays = link == links_.end() ? Status::Ok()
                                        : link->second->CheckTaken(proven.item.bucket.start_s);
    if (stays.ok()) stays = CheckShown(proven.item);
    if (stays.ok() || stays.code() == StatusCode::kNotFound) {
      seals->push_back({{proven.item.bucket, proven.item.seal}, proven.level});
    } else {
      taken_back.insert(proven.item.seal);
    }
  }
  return taken_back;
}

// They were acknowledged, and wait in the outbox again.
void Replicator::TakeBack(const std::set<uint64_t>& seals) {
  if (seals.empty()) return;
  std::erase_if(proven_, [&](const Proven& proven) {
    if (!seals.contains(proven.item.seal)) return false;
    EndWay(proven.item.bucket, proven.item.seal);
    LookAt(proven.item.bucket);
    return true;
  });
}

// All of the seal, whatever was lost before: what is not sent again is not there. The pause grows,
// so that a link which breaks every few seconds does not carry the same seals all the time.
void Replicator::SendAgainLater(const DrainItem& item) {
  ++counters_.seals_sent_again;
  Rest(item, parts_.loop->NowUs() + SetbackOf(item).backoff.NextPauseUs());
}

Replicator::Setback& Replicator::SetbackOf(const DrainItem& item) {
  const RetryBackoff backoff(options_.backoff, options_.seed + item.seal);
  return setbacks_.try_emplace(item.seal, Setback{item.bucket, backoff}).first->second;
}

void Replicator::Rest(const DrainItem& item, int64_t until_us) {
  SetbackOf(item).until_us = until_us;
  resting_.emplace(until_us, item.seal);
}

bool Replicator::Rests(uint64_t seal) const {
  const auto setback = setbacks_.find(seal);
  return setback != setbacks_.end() && setback->second.until_us > parts_.loop->NowUs();
}

// What is in no window any more is never confirmed.
void Replicator::ForgetEnded() {
  const int64_t now_us = parts_.loop->NowUs();
  if (now_us < forget_at_us_) return;
  forget_at_us_ = now_us + kForgetEveryUs;
  const auto view = parts_.store->spills().view();
  const auto is_gone = [&](const auto& one) {
    if (under_way_.contains(one.first)) return false;
    const auto& windows = view->windows;
    return std::none_of(windows.begin(), windows.end(), [&](const auto& window) {
      return window->record.span.Holds(one.second.bucket.start_s);
    });
  };
  std::erase_if(setbacks_, is_gone);
  std::erase_if(troubles_, is_gone);
  if (parked_.empty()) return;
  // The store forgets what is parked with its window: a table may go again.
  const size_t parked_before = parked_.size();
  LoadParked();
  if (parked_.size() < parked_before) LookEverywhere();
}

Result<bool> Replicator::WakeRested() {
  const int64_t now_us = parts_.loop->NowUs();
  bool did = false;
  while (!resting_.empty() && resting_.begin()->first <= now_us) {
    const auto setback = setbacks_.find(resting_.begin()->second);
    if (setback != setbacks_.end()) LookAt(setback->second.bucket);
    resting_.erase(resting_.begin());
    did = true;
  }
  return did;
}

// As of now: the last of them wait for nobody.
int64_t Replicator::GatherUs() const {
  return pushes_.empty() && holding_.empty() && proofs_.empty() ? 0 : kGatherUs;
}

int64_t Replicator::AskAtUs() const { return std::max(ask_at_us_, asked_us_ + GatherUs()); }

// Something would be made durable now, if nobody had forgotten it.
bool Replicator::NeedsLife() const {
  const int64_t now_us = parts_.loop->NowUs();
  const bool has_proven = !proven_.empty() && proven_.front().since_us > lives_at_us_;
  if (has_proven && now_us >= ConfirmAtUs()) return true;
  return std::any_of(pushes_.begin(), pushes_.end(), [&](const PushPtr& push) {
    return !push->proof && !push->is_over() && push->seal.Durable(now_us, options_.hold_us) &&
           !push->seal.Durable(lives_at_us_, options_.hold_us);
  });
}

// A power cut says nothing: no host is known to have kept what it acknowledged before it has
// answered once more, after the hold time. One round serves all that is held until it begins.
Result<bool> Replicator::AskHosts() {
  const int64_t now_us = parts_.loop->NowUs();
  if (is_asking_hosts_ || now_us < AskAtUs() || !NeedsLife()) return false;
  const Status asked = parts_.session->AskHosts(
      [this, alive = std::weak_ptr<int>(alive_), now_us, hosts_lost = hosts_lost_](bool all_live) {
        if (alive.expired()) return;
        is_asking_hosts_ = false;
        if (all_live && parts_.session->cluster().hosts_lost() == hosts_lost) {
          lives_at_us_ = now_us;
        } else {
          ask_at_us_ = parts_.loop->NowUs() + kAskPauseUs;
        }
      });
  is_asking_hosts_ = asked.ok();
  asked_us_ = now_us;
  if (!asked.ok()) ask_at_us_ = now_us + kAskPauseUs;
  return false;
}

}  // namespace cistern::replicate
