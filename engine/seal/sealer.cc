#include "engine/seal/sealer.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/crash_point.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

constexpr size_t kStepBytes = 128 * 1024;          // encoded, after which a step ends
constexpr size_t kStepPages = 32;                  // the same
constexpr size_t kStepChecks = 64;                 // pages read back in a step
constexpr uint64_t kHeadroomBytes = 4ull << 20;

}  // namespace

// The round takes its number before it looks: what is spilled from here on has a higher one
// and is not sealed by it.
Status Sealer::Begin(const SealScope& scope, int64_t now_us) {
  CISTERN_CHECK(idle());
  scope_ = scope;
  is_through_ = !boots_->complete();  // rows wait for their time
  if (is_through_) return Status::Ok();
  CISTERN_ASSIGN_OR_RETURN(round_, store_->NextSequence());
  planner_.Begin(scope, now_us);
  phase_ = Phase::kPlan;
  return Status::Ok();
}

Status Sealer::Plan() {
  const Result<bool> more = planner_.Step();
  if (!more.ok()) {
    is_through_ = true;  // it would meet the same again
    return more.status();
  }
  if (*more) return Status::Ok();
  plan_ = planner_.TakePlan();
  if (!plan_.candidates.empty()) return BeginWriting();
  is_through_ = true;
  phase_ = Phase::kIdle;
  return Status::Ok();
}

Status Sealer::BeginWriting() {
  if (Status room = store_->CheckHeadroom(kHeadroomBytes + plan_.byte_count); !room.ok()) {
    GiveUp(room);
    return room;
  }
  commit_ = SealCommit{};
  amendments_in_round_ = next_check_ = 0;
  commit_.span = plan_.span;
  window_ = plan_.window;
  window_is_new_ = window_ == nullptr;
  if (window_is_new_ && spare_ != nullptr) {
    window_ = std::exchange(spare_, nullptr);
  } else if (window_is_new_) {
    CISTERN_ASSIGN_OR_RETURN(const uint64_t id, store_->NextSequence());
    CISTERN_ASSIGN_OR_RETURN(FamilyPtr family, store_->CreateWindow(id));
    window_ = std::make_shared<const SegmentFamily>(
        SegmentFamily{FamilyKind::kWindow, id, std::move(family)});
  }
  commit_.window_id = window_->id;
  commit_.window = window_->family;
  writer_.emplace(window_->family, round_);
  std::reverse(plan_.candidates.begin(), plan_.candidates.end());
  phase_ = Phase::kWrite;
  return Status::Ok();
}

Status Sealer::Step() {
  switch (phase_) {
    case Phase::kIdle: return Status::Ok();
    case Phase::kPlan: return UnlessDamaged(Plan());
    case Phase::kWrite: return UnlessDamaged(WriteBuckets());
    case Phase::kFlush: return Flush();
    case Phase::kReadBack: return UnlessDamaged(ReadBack());
    case Phase::kCommit: return Commit();
    case Phase::kFlushMeta:
      CISTERN_RETURN_IF_ERROR(store_->FlushMeta());
      phase_ = Phase::kIdle;
      return Status::Ok();
  }
  return Status::Internal("sealer: unknown phase");
}

// Damage ends the round; that of a bucket also keeps the bucket out of the next one.
Status Sealer::UnlessDamaged(Status s) {
  if (!IsDamage(s)) return s;
  if (phase_ != Phase::kPlan) planner_.NoteDamaged(current_);
  GiveUp(s);
  return s;
}

// Others have written since the round began: without room it ends before RocksDB meets the
// full disk itself.
Status Sealer::Flush() {
  if (Status room = store_->CheckHeadroom(kHeadroomBytes + writer_->byte_count()); !room.ok()) {
    GiveUp(room);
    return room;
  }
  phase_ = Phase::kReadBack;
  return writer_->Flush();
}

// Nothing was committed, so nothing has changed; a window that was made for the round waits
// for the next one that needs one.
void Sealer::GiveUp(const Status& why) {
  store_->db().opened().info_log->Write(LogLevel::kError,
                                        "a seal round was given up: " + why.message());
  if (window_is_new_ && window_ != nullptr) spare_ = window_;
  planner_.Abandon();
  plan_ = RoundPlan{};
  at_hand_.reset();
  check_.reset();
  writer_.reset();
  window_.reset();
  commit_ = SealCommit{};
  phase_ = Phase::kIdle;
}

Status Sealer::WriteBuckets() {
  const uint64_t enough = writer_->byte_count() + kStepBytes;
  for (size_t n = 0; n < kStepPages && writer_->byte_count() < enough; ++n) {
    if (!at_hand_ && plan_.candidates.empty()) break;
    if (!at_hand_) BeginBucket();
    CISTERN_ASSIGN_OR_RETURN(const bool more, at_hand_->Step());
    if (!more) EndBucket();
  }
  if (at_hand_ || !plan_.candidates.empty()) return Status::Ok();
  plan_ = RoundPlan{};
  planner_.ReleasePlan();
  phase_ = Phase::kFlush;
  return Status::Ok();
}

void Sealer::BeginBucket() {
  SealCandidate candidate = std::move(plan_.candidates.back());
  plan_.candidates.pop_back();
  current_ = candidate.key;
  if (candidate.is_sealed) ++amendments_in_round_;
  const TablePtr table = tables_->FindById(candidate.key.table_id);
  at_hand_ = std::make_unique<BucketSeal>(table, std::move(candidate.key),
                                          std::move(candidate.segments), boots_->bases(),
                                          &*writer_);
}

void Sealer::EndBucket() {
  for (const auto& [family, versions] : at_hand_->versions_read()) {
    commit_.sealed_counts[family] += versions;
  }
  commit_.buckets.push_back(at_hand_->bucket());
  at_hand_.reset();
}

Status Sealer::ReadBack() {
  CrashPoint("seal:before_read_back");
  for (size_t n = 0; n < kStepChecks && next_check_ < commit_.buckets.size(); ++n) {
    const SealCommit::Bucket& bucket = commit_.buckets[next_check_];
    current_ = bucket.key;
    if (!check_) {
      CISTERN_ASSIGN_OR_RETURN(SegmentRef segment,
                               ReadSealedSegment(window_, bucket.key, bucket.seal));
      check_ = std::make_unique<SealCheck>(tables_->FindById(bucket.key.table_id),
                                           std::move(segment), bucket.manifest);
    }
    CISTERN_ASSIGN_OR_RETURN(const bool more, check_->Step());
    if (more) continue;
    check_.reset();
    ++next_check_;
  }
  if (next_check_ == commit_.buckets.size()) phase_ = Phase::kCommit;
  return Status::Ok();
}

Status Sealer::Commit() {
  Result<std::shared_ptr<const SpillView>> view = store_->CommitSeal(commit_);
  if (IsDamage(view.status())) {  // of any of its buckets
    for (const SealCommit::Bucket& b : commit_.buckets) planner_.NoteDamaged(b.key);
    GiveUp(view.status());
  }
  CISTERN_RETURN_IF_ERROR(view.status());
  {
    const std::unique_lock lock(heads_->mutex);
    store_->spills().Publish(*std::move(view));
  }
  ChargeWindows();
  for (const SealCommit::Bucket& bucket : commit_.buckets) planner_.NoteSealed(bucket.key);
  buckets_sealed_ += commit_.buckets.size();
  amendments_ += amendments_in_round_;
  bytes_written_ += writer_->byte_count();
  commit_ = SealCommit{};
  writer_.reset();
  window_.reset();
  phase_ = Phase::kFlushMeta;
  return Status::Ok();
}

}  // namespace cistern
