#include "engine/seal/sealer.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/check.h"
#include "lib/base/crash_point.h"
#include "lib/row/version_hash.h"
#include "lib/segment/page_reader.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

constexpr size_t kStepBytes = 128 * 1024;          // encoded, after which a step ends
constexpr size_t kPageMemoryBytes = 1 << 20;       // of wide rows, for one page
constexpr size_t kStepChecks = 64;                 // buckets read back in a step
constexpr uint64_t kHeadroomBytes = 4ull << 20;

// Widens the manifest by rows that were written.
void Note(const VersionColumns& rows, Manifest* m) {
  for (size_t i = 0; i < rows.row_count; ++i) {
    const bool first = m->row_count == 0 && i == 0;
    m->write_us_first = first ? rows.write_us[i] : std::min(m->write_us_first, rows.write_us[i]);
    m->write_us_last = first ? rows.write_us[i] : std::max(m->write_us_last, rows.write_us[i]);
    m->expiry_s_last = std::max(m->expiry_s_last, rows.expiry_of(i));
    m->has_endless = m->has_endless || rows.expiry_of(i) == 0;
  }
  m->row_count += rows.row_count;
}

void Note(const std::vector<RangeDelete>& deletes, Manifest* m) {
  for (const RangeDelete& d : deletes) {
    const bool first = m->version_count() == 0;
    m->write_us_first = first ? d.write_us : std::min(m->write_us_first, d.write_us);
    m->write_us_last = first ? d.write_us : std::max(m->write_us_last, d.write_us);
    m->has_endless = true;
    ++m->delete_count;
  }
}

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
  writer_.reset();
  window_.reset();
  commit_ = SealCommit{};
  phase_ = Phase::kIdle;
}

Status Sealer::WriteBuckets() {
  const uint64_t enough = writer_->byte_count() + kStepBytes;
  while (!plan_.candidates.empty() && writer_->byte_count() < enough) {
    SealCandidate candidate = std::move(plan_.candidates.back());
    plan_.candidates.pop_back();
    CISTERN_RETURN_IF_ERROR(WriteBucket(std::move(candidate)));
  }
  if (!plan_.candidates.empty()) return Status::Ok();
  plan_ = RoundPlan{};
  planner_.ReleasePlan();
  phase_ = Phase::kFlush;
  return Status::Ok();
}

Status Sealer::WriteBucket(SealCandidate candidate) {
  current_ = candidate.key;
  if (candidate.is_sealed) ++amendments_in_round_;
  const TablePtr table = tables_->FindById(candidate.key.table_id);
  const TableSchema& schema = *table->schema;
  SealCommit::Bucket bucket;
  bucket.key = candidate.key;
  BucketMerge merge(table, std::move(candidate.key), std::move(candidate.segments),
                    boots_->bases());
  writer_->Begin(bucket.key, &schema, table->schema_version, merge.journal_first(),
                 merge.journal_last());
  bucket.seal = writer_->segment_id();
  // Pages are filled: what is read later is fewer and larger pieces.
  VersionColumns rows = VersionColumns::For(schema);
  for (bool more = true; more;) {
    CISTERN_ASSIGN_OR_RETURN(more, merge.Next(&rows));
    const bool is_page = rows.row_count >= limits::kPageRowsMax / 2 ||
                         rows.MemoryBytes() >= kPageMemoryBytes;
    if (more && !is_page) continue;
    Note(rows, &bucket.manifest);
    bucket.manifest.content_hash += HashVersions(schema, rows);
    CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
    rows = VersionColumns::For(schema);
  }
  Note(merge.deletes(), &bucket.manifest);
  bucket.manifest.first_time = writer_->header().first_time;
  bucket.manifest.last_time = writer_->header().last_time;
  bucket.manifest.byte_count = writer_->header().byte_count();
  for (const auto& [family, versions] : merge.versions_read()) {
    commit_.sealed_counts[family] += versions;
  }
  CISTERN_RETURN_IF_ERROR(writer_->End(merge.deletes()));
  commit_.buckets.push_back(std::move(bucket));
  return Status::Ok();
}

Status Sealer::ReadBack() {
  CrashPoint("seal:before_read_back");
  for (size_t n = 0; n < kStepChecks && next_check_ < commit_.buckets.size(); ++n, ++next_check_) {
    const SealCommit::Bucket& bucket = commit_.buckets[next_check_];
    current_ = bucket.key;
    CISTERN_RETURN_IF_ERROR(CheckBucket(bucket));
  }
  if (next_check_ == commit_.buckets.size()) phase_ = Phase::kCommit;
  return Status::Ok();
}

// What the device gives back is what was meant.
Status Sealer::CheckBucket(const SealCommit::Bucket& bucket) const {
  const TablePtr table = tables_->FindById(bucket.key.table_id);
  CISTERN_ASSIGN_OR_RETURN(const SegmentRef segment,
                           ReadSealedSegment(window_, bucket.key, bucket.seal));
  uint64_t rows_found = 0;
  uint64_t hash = 0;
  // The table may have been altered since the segment was written.
  const uint32_t version = std::min(segment.header.schema_version, table->schema_version);
  const TableSchema& schema = *table->versions[version].schema;
  for (uint32_t page = 0; page < segment.header.pages.size(); ++page) {
    CISTERN_ASSIGN_OR_RETURN(const std::string bytes, ReadPage(segment, page));
    CISTERN_ASSIGN_OR_RETURN(const VersionColumns rows, DecodePage(schema, bytes, nullptr));
    rows_found += rows.row_count;
    hash += HashVersions(schema, rows);
  }
  if (rows_found == bucket.manifest.row_count && hash == bucket.manifest.content_hash &&
      segment.header.deletes.size() == bucket.manifest.delete_count) {
    return Status::Ok();
  }
  return Status::Corruption("seal " + std::to_string(bucket.seal) + " in " + window_->Name() +
                            ": what was read back is not what was written");
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
