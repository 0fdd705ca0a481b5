// Replicator: which seals go, and what becomes of those that went.
#include "engine/replicate/replicator.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "engine/replicate/replicator_push.h"
#include "engine/replicate/seal_content.h"
#include "lib/base/check.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kLedgerPauseUs = 100'000;
constexpr int64_t kNoRoomPauseUs = 10'000'000;
// Seals that are parked and do not fit into the store's records; then all tables are held.
constexpr size_t kParkedUnnotedMax = 256;
// What the store cannot do now: its memory is used up.
constexpr int64_t kStorePauseUs = 1'000'000;
constexpr int64_t kMicrosPerSecond = 1'000'000;
// Memory of what is there beside pages and batches, estimated: the session with the tables of LZ4
// while it packs, a connection (its buffers keep some), a table's statements, and what nodes of
// maps take.
constexpr size_t kSessionBytes = 160 * 1024;
constexpr size_t kConnectionBytes = 256 * 1024;
constexpr size_t kLinkBytes = 8 * 1024;
constexpr size_t kLinkColumnBytes = 1024;
constexpr size_t kNodeBytes = 64;
constexpr int64_t kChargeEveryUs = 100'000;

bool IsPassing(const Status& s) {
  return s.code() == StatusCode::kBusy || s.code() == StatusCode::kNoSpace;
}

// The copies of one batch fit into the share of the budget: a larger one would never be sent.
ReplicatorOptions Clamped(ReplicatorOptions options, size_t budget_bytes) {
  options.byte_count_max =
      std::min(options.byte_count_max, PushMemory::ShareOf(budget_bytes) / kFlightCopies);
  options.pushing_count_max =
      std::clamp<size_t>(options.pushing_count_max, 1, limits::kPushingSealsMax);
  options.statement_count_max =
      std::clamp<size_t>(options.statement_count_max, 1, limits::kPushStatementsMax);
  options.hold_us = std::max<int64_t>(options.hold_us, 0);
  return options;
}

// What is known of a seal that is under way, in whichever list it stands.
size_t BytesOfWay(const BucketKey& bucket) {
  return sizeof(DrainItem) + bucket.entity.size() + 2 * kNodeBytes;
}

}  // namespace

Replicator::Replicator(ReplicatorParts parts, ReplicatorOptions options)
    : parts_(std::move(parts)),
      options_(Clamped(std::move(options), parts_.budget->limit_bytes())),
      feed_(parts_.store, parts_.tables, options_.drain,
            [this](const DrainItem& item) { return MayGo(item); }),
      order_(options_.drain),
      flow_(options_.flow),
      memory_(std::make_shared<PushMemory>(parts_.budget)),
      flight_charge_(memory_, PushCharge::Kind::kFlights),
      cap_(options_.bytes_per_s_max),
      cluster_backoff_(options_.backoff, options_.seed),
      hosts_lost_(parts_.session->cluster().hosts_lost()) {
  LoadParked();
  parts_.session->WatchSchema([this](const cql::SchemaChange* change) { OnSchemaChange(change); });
  parts_.session->WatchHosts([this] { OnHostCame(); });
}

Replicator::~Replicator() {
  parts_.session->WatchSchema({});
  parts_.session->WatchHosts({});
}

void Replicator::LoadParked() {
  parked_.clear();
  parked_count_.clear();
  for (const auto& [seal, record] : parts_.store->pushes()) {
    if (record.state == PushState::kParked) NoteParked(seal, record.bucket.table_id);
  }
  for (const auto& [name, record] : to_note_) NoteParked(name.seal, name.bucket.table_id);
}

void Replicator::NoteParked(uint64_t seal, uint32_t table_id) {
  if (parked_.emplace(seal, table_id).second) ++parked_count_[table_id];
}

void Replicator::LookAgain() {
  // What is parked in memory alone cannot be asked for: it is tried again with the rest.
  if (note_at_us_ > parts_.loop->NowUs()) to_note_.clear();
  note_at_us_ = 0;
  LoadParked();
  for (const auto& [table, link] : links_) {
    // One that agrees is left alone: who looks again all the time must not hold up what goes.
    if (!link->held().why.ok() || link->hides_values()) link->AskAgain();
  }
  LookEverywhere();
}

void Replicator::LookEverywhere() {
  hiding_.clear();
  feed_.Wake();
  feed_has_more_ = true;
}

void Replicator::LookAt(const BucketKey& bucket) {
  feed_.LookAt(bucket);
  feed_has_more_ = true;
}

bool Replicator::IsPaused() const {
  return parts_.loop->NowUs() < paused_until_us_;
}

Result<bool> Replicator::Step() {
  NoteLostHosts();
  NoteOtherTables();
  ForgetEnded();
  ChargeMemory();
  // As of now, and not later: what is sealed meanwhile is for the next step.
  has_outbox_ = SummarizeOutbox(*parts_.store->spills().view()).seal_count > 0;
  bool did = false;
  for (const auto step : {&Replicator::StepHolding, &Replicator::AskHosts,
                          &Replicator::ConfirmDue, &Replicator::NoteRecords,
                          &Replicator::WakeRested, &Replicator::StepFeed,
                          &Replicator::StartPush}) {
    CISTERN_ASSIGN_OR_RETURN(const bool step_did, (this->*step)());
    did |= step_did;
  }
  did |= StepLinks();
  did |= StepProofs();
  did |= SendBatches();
  did |= EndPushes();
  return did;
}

// What is there whatever is sent, and the room for one batch. The former is counted from time to
// time alone: it walks over all that is known of the outbox.
void Replicator::ChargeMemory() {
  memory_->SetHeld(under_way_bytes_);
  const int64_t now_us = parts_.loop->NowUs();
  if (now_us < charge_at_us_) return;
  charge_at_us_ = now_us + kChargeEveryUs;
  size_t bytes = kSessionBytes + parts_.session->metadata_bytes() +
                 kFlightCopies * options_.byte_count_max;
  for (const auto& [id, host] : parts_.session->cluster().pool().hosts()) {
    if (host.state != cql::HostState::kDown) bytes += kConnectionBytes;
  }
  for (const auto& [table, link] : links_) {
    bytes += kLinkBytes + kLinkColumnBytes * link->table()->schema->columns.size();
  }
  bytes += (parked_.size() + resting_.size()) * kNodeBytes;
  for (const auto& [seal, trouble] : troubles_) {
    bytes += kNodeBytes + sizeof(trouble) + trouble.bucket.entity.size();
  }
  for (const auto& [seal, setback] : setbacks_) {
    bytes += kNodeBytes + sizeof(setback) + setback.bucket.entity.size();
  }
  memory_->SetBase(bytes + feed_.MemoryBytes());
}

void Replicator::BeginWay(const DrainItem& item) {
  if (under_way_.insert(item.seal).second) under_way_bytes_ += BytesOfWay(item.bucket);
}

void Replicator::EndWay(const BucketKey& bucket, uint64_t seal) {
  if (under_way_.erase(seal) != 0) under_way_bytes_ -= BytesOfWay(bucket);
}

// --- what is made durable

int64_t Replicator::ConfirmAtUs() const {
  const auto first = std::find_if(proven_.begin(), proven_.end(), [this](const Proven& proven) {
    return !IsCompared(proven.item);
  });
  if (first == proven_.end()) return kNever;
  const int64_t at_us = std::max(first->since_us + GatherUs(), ledger_at_us_);
  if (first->since_us <= lives_at_us_) return at_us;
  return is_asking_hosts_ ? kNever : std::max(at_us, AskAtUs());
}

Result<bool> Replicator::ConfirmDue() {
  const int64_t now_us = parts_.loop->NowUs();
  if (now_us < ConfirmAtUs()) return false;
  std::vector<ProvenSeal> seals;
  const std::set<uint64_t> taken_back = ConfirmedNext(&seals);
  TakeBack(taken_back);
  if (seals.empty()) return !taken_back.empty();
  const Result<std::set<uint64_t>> confirmed = parts_.ledger->Confirm(seals);
  if (!confirmed.ok()) return AwaitLedger(confirmed.status());
  ledger_why_ = Status::Ok();
  for (const auto& [name, level] : seals) {
    EndWay(name.bucket, name.seal);
    // Not when it is proved: a host that is lost then has it sent and proved once more. And not one
    // whose window ended while it was held.
    if (confirmed->contains(name.seal)) {
      ++counters_.seals_confirmed;
      if (level == ProofLevel::kCount) ++counters_.seals_counted;
      if (level == ProofLevel::kRows) ++counters_.seals_read_back;
    }
    setbacks_.erase(name.seal);
    LookAt(name.bucket);  // for its amendments
  }
  // In the same order.
  auto done = seals.begin();
  std::erase_if(proven_, [&](const Proven& proven) {
    const bool is_done = done != seals.end() && proven.item.seal == done->name.seal;
    done += is_done ? 1 : 0;
    return is_done;
  });
  return true;
}

// Positions inside of long seals, and what is parked.
Result<bool> Replicator::NoteRecords() {
  const int64_t now_us = parts_.loop->NowUs();
  if (now_us < std::max(ledger_at_us_, note_at_us_)) return false;
  std::vector<std::pair<SealName, PushRecord>> records = to_note_;
  std::vector<PushPtr> noted;
  for (const PushPtr& push : pushes_) {
    const auto position = push->seal.Durable(lives_at_us_, options_.hold_us);
    if (!position || push->proof || push->is_over()) continue;
    PushRecord record;
    record.position = EncodePushPosition({*position, push->upstream_id});
    record.bucket = push->seal.item().bucket;
    const SealName name{record.bucket, push->number()};
    records.emplace_back(name, std::move(record));
    noted.push_back(push);
  }
  if (records.empty()) return false;
  const Status written = parts_.ledger->Note(records);
  if (written.code() == StatusCode::kTooLarge) return NoteWhatFits();
  if (!written.ok()) return AwaitLedger(written);
  ledger_why_ = Status::Ok();
  for (const PushPtr& push : noted) {
    push->seal.NoteDurable();
    const auto setback = setbacks_.find(push->number());
    if (setback != setbacks_.end()) setback->second.backoff.NoteSuccess();
  }
  const bool held_all = HasParkedTooMany();
  to_note_.clear();
  if (held_all) LookEverywhere();
  return true;
}

// It took nothing, and is asked again after a pause.
Result<bool> Replicator::AwaitLedger(const Status& why) {
  const int64_t now_us = parts_.loop->NowUs();
  ledger_at_us_ = now_us + kLedgerPauseUs;
  if (!IsPassing(why)) return why;
  if (ledger_why_.ok()) ledger_since_us_ = now_us;
  ledger_why_ = why;
  return false;
}

// The store has nearly all the records that it may have. What is parked goes before positions,
// which save nothing but bytes; what does not fit is parked for as long as this replicator lives.
Result<bool> Replicator::NoteWhatFits() {
  const int64_t now_us = parts_.loop->NowUs();
  note_at_us_ = now_us + kNoRoomPauseUs;
  const std::map<uint64_t, PushRecord> pushes = parts_.store->pushes();
  size_t room = limits::kPushRecordsMax - std::min(pushes.size(), limits::kPushRecordsMax);
  const auto middle = std::stable_partition(
      to_note_.begin(), to_note_.end(), [&](const std::pair<SealName, PushRecord>& one) {
        if (pushes.contains(one.first.seal)) return true;
        return room > 0 && room-- > 0;
      });
  const std::span some(to_note_.begin(), middle);
  if (some.empty()) return false;
  const Status written = parts_.ledger->Note(some);
  if (!written.ok()) return AwaitLedger(written);
  ledger_why_ = Status::Ok();
  const bool held_all = HasParkedTooMany();
  to_note_.erase(to_note_.begin(), middle);
  if (held_all && !HasParkedTooMany()) LookEverywhere();
  return true;
}

bool Replicator::HasParkedTooMany() const {
  return to_note_.size() >= kParkedUnnotedMax;
}

// --- which seals go

Result<bool> Replicator::StepFeed() {
  CISTERN_ASSIGN_OR_RETURN(feed_has_more_, feed_.Step(parts_.now_s()));
  if (!feed_has_more_) hiding_told_ = hiding_;
  return feed_has_more_;
}

bool Replicator::MayGo(const DrainItem& item) {
  if (under_way_.contains(item.seal) || parked_.contains(item.seal) || Rests(item.seal)) {
    return false;
  }
  if (HasParkedTooMany()) return false;
  const TableLink* link = LinkOf(item.bucket.table_id);
  if (link == nullptr || !link->MaySend(item.bucket.start_s).ok()) return false;
  if (CheckShown(item).code() == StatusCode::kInvalidArgument) {
    hiding_.insert(item.bucket.table_id);
    return false;
  }
  const auto parked = parked_count_.find(item.bucket.table_id);
  return parked == parked_count_.end() || parked->second < limits::kParkedSealsPerTableMax;
}

// Not so much that those which are on their way could not go on. What is held is confirmed soon.
bool Replicator::HasMemoryForPush() const {
  if (memory_->is_full()) return false;
  return pushes_.empty() || memory_->HasRoomFor(kFlightCopies * options_.byte_count_max);
}

// One at a time: with each the order is asked anew.
Result<bool> Replicator::StartPush() {
  const int64_t now_us = parts_.loop->NowUs();
  const int64_t now_s = parts_.now_s();
  const std::optional<size_t> chosen = order_.Choose(feed_.items(), now_s);
  has_waiting_ = chosen.has_value();
  const bool has_room = pushes_.size() < options_.pushing_count_max &&
                        holding_.size() + proven_.size() < limits::kHoldingSealsMax &&
                        HasMemoryForPush() &&
                        flow_.Admits(options_.byte_count_max);
  if (!chosen || !has_room || now_us < open_at_us_ || IsPaused() || !parts_.session->is_up()) {
    return false;
  }
  CISTERN_ASSIGN_OR_RETURN(const std::optional<DrainItem> item, feed_.Take(*chosen));
  if (!item) return true;
  Result<PushPtr> push = OpenPush(*item);
  if (push.ok()) {
    BeginWay(*item);
    order_.NotePushed(*item, feed_.items(), now_s, (*push)->byte_count);
    pushes_.push_back(*std::move(push));
    return true;
  }
  switch (push.status().code()) {
    case StatusCode::kNotFound:  // its window has ended meanwhile
      setbacks_.erase(item->seal);
      troubles_.erase(item->seal);
      return true;
    case StatusCode::kBusy:
    case StatusCode::kOutOfMemory:
      open_at_us_ = now_us + kStorePauseUs;
      LookAt(item->bucket);
      return false;
    case StatusCode::kCorruption:
      if (ReadsAgainLater(*item)) return true;
      [[fallthrough]];
    case StatusCode::kTooLarge: ParkUnread(*item, push.status()); return true;
    default: LookAt(item->bucket); return push.status();
  }
}

Result<Replicator::OpenedSource> Replicator::OpenSource(const DrainItem& item,
                                                        const TableLink& link) {
  const SealName name{item.bucket, item.seal};
  const SealReading reading{parts_.store, parts_.tables, memory_};
  const TimestampMode mode = link.table()->schema->timestamps;
  CISTERN_ASSIGN_OR_RETURN(OpenedSeal opened, OpenSeal(reading, link.table(), mode, name));
  CISTERN_ASSIGN_OR_RETURN(
      RowBinder binder,
      RowBinder::Make(link.statements(),
                      {item.bucket.entity, item.bucket.start_s, item.bucket.split}));
  OpenedSource out;
  SealSource& source = out.source;
  source.binder = std::make_shared<const RowBinder>(std::move(binder));
  source.options.mode = mode;
  source.options.names_now = parts_.session->version() == cql::ProtocolVersion::kV5;
  source.options.older_may_exist = opened.older_may_exist;
  source.options.statement_count_max = options_.statement_count_max;
  source.options.byte_count_max = options_.byte_count_max;
  source.content = std::move(opened.content);
  source.version_count = opened.manifest.version_count();
  out.byte_count = opened.manifest.byte_count;
  out.is_newest = opened.is_newest;
  return out;
}

Result<Replicator::PushPtr> Replicator::OpenPush(const DrainItem& item) {
  const std::shared_ptr<TableLink> link = links_.at(item.bucket.table_id);
  CISTERN_ASSIGN_OR_RETURN(OpenedSource opened, OpenSource(item, *link));
  PushPosition from;
  const auto record = parts_.store->push(item.seal);
  const auto trouble = troubles_.find(item.seal);
  const bool is_trusted = trouble == troubles_.end() || !trouble->second.ignores_position;
  if (record && record->state == PushState::kPushing && is_trusted) {
    // What does not parse is begun anew: that only sends more.
    const auto noted = DecodePushPosition(record->position);
    if (noted.ok() && noted->upstream_id == link->upstream_id()) from = noted->position;
  }
  const bool names_now = opened.source.options.names_now;
  SealPush seal(item, std::move(opened.source), from, options_.checkpoint_bytes);
  RetryBackoff pauses(options_.backoff, options_.seed + item.seal);
  if (const auto setback = setbacks_.find(item.seal); setback != setbacks_.end()) {
    if (setback->second.reached && is_trusted) seal.GoOnFrom(*setback->second.reached);
    if (setback->second.reached) pauses = setback->second.backoff;
    setback->second.reached.reset();
  }
  auto push = std::make_shared<Push>(std::move(seal), link, pauses);
  push->names_now = names_now;
  push->upstream_id = link->upstream_id();
  push->has_position = !(from == PushPosition{});
  push->byte_count = opened.byte_count;
  return push;
}

// A seal that cannot be read stays where it is, for a person.
void Replicator::ParkUnread(const DrainItem& item, const Status& why) {
  PushRecord record;
  record.state = PushState::kParked;
  record.bucket = item.bucket;
  record.parked_us = parts_.now_s() * kMicrosPerSecond;
  record.words = KeptWords(why.message());
  if (const auto trouble = troubles_.find(item.seal); trouble != troubles_.end()) {
    record.attempts = trouble->second.rounds();
  }
  troubles_.erase(item.seal);
  setbacks_.erase(item.seal);
  NoteParked(item.seal, item.bucket.table_id);
  ++counters_.seals_parked;
  to_note_.emplace_back(SealName{item.bucket, item.seal}, std::move(record));
}

// --- what becomes of those that went

bool Replicator::EndPushes() {
  const bool names_now = parts_.session->version() == cql::ProtocolVersion::kV5;
  for (const PushPtr& push : pushes_) {
    // Hosts of another version came: what can be said to them is another thing.
    const bool is_other = parts_.session->is_up() && push->names_now != names_now;
    if (is_other && !push->seal.is_done()) push->is_given_up = true;
  }
  const size_t before = pushes_.size();
  std::erase_if(pushes_, [this](const PushPtr& push) {
    const bool is_over = push->is_over() ? push->seal.is_quiet() || push->seal.is_interrupted()
                                         : push->seal.is_done() && push->seal.is_quiet();
    if (is_over) EndPush(push.get());
    return is_over;
  });
  if (pushes_.size() == before) return false;
  // It gave memory back.
  open_at_us_ = 0;
  for (const PushPtr& push : pushes_) {
    if (std::exchange(push->awaits_memory, false)) push->resume_at_us = 0;
  }
  return true;
}

void Replicator::EndPush(Push* push) {
  Proof* const proof = push->proof.get();
  if (proof != nullptr) {
    // Then the proof is that of the seal, and ends as this did.
    proof->is_sending = false;
    proof->park = std::move(push->park);
    proof->is_given_up |= push->is_given_up;
    if (proof->has_ended()) return;
    proof->resume_at_us = parts_.loop->NowUs() + options_.hold_us;
    return proof->seal.SentAgain();
  }
  if (push->park) return EndParked(push);
  if (push->is_given_up) {
    if (push->leaves_place) SetbackOf(push->item).reached = push->seal.acknowledged();
    EndWay(push->item.bucket, push->item.seal);
    return LookAt(push->item.bucket);
  }
  Hold({push->item, push->version_count, parts_.loop->NowUs() + options_.hold_us});
}

void Replicator::EndParked(Way* way) {
  const DrainItem& item = way->item;
  EndWay(item.bucket, item.seal);
  troubles_.erase(item.seal);
  setbacks_.erase(item.seal);
  NoteParked(item.seal, item.bucket.table_id);
  ++counters_.seals_parked;
  to_note_.emplace_back(SealName{item.bucket, item.seal}, *std::move(way->park));
}

void Replicator::Hold(Holding held) {
  const auto is_due_before = [](int64_t due_us, const Holding& h) { return due_us < h.due_us; };
  holding_.insert(std::upper_bound(holding_.begin(), holding_.end(), held.due_us, is_due_before),
                  std::move(held));
}

}  // namespace cistern::replicate
