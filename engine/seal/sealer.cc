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

constexpr size_t kRoundBucketsMax = 1024;
constexpr size_t kRoundSegmentsMax = 4096;         // whose headers are held at once
constexpr uint64_t kRoundBytesMax = 16ull << 20;   // of what is sealed
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

bool Sealer::Matches(const SealScope& scope, const BucketKey& key) const {
  return (!scope.table_id || *scope.table_id == key.table_id) &&
         (!scope.entity || *scope.entity == key.entity) &&
         (!scope.start_s || *scope.start_s == key.start_s);
}

bool Sealer::NoteDueInHead(const SealScope& scope, int64_t now_us) {
  const std::shared_lock lock(heads_->mutex);
  bool any = false;
  for (const HeadBucket* bucket : heads_->active->SortedBuckets()) {
    if (due_in_head_.size() >= kRoundBucketsMax) break;
    const BucketKey key{bucket->table_id(), std::string(bucket->entity()), bucket->start_s(),
                        bucket->split()};
    const TablePtr table = tables_->FindById(key.table_id);
    if (table == nullptr || !Matches(scope, key)) continue;
    const int64_t end_s = Bucketer(*table->schema).Next(key.start_s);
    if (IsDue(end_s, bucket->newest_write_us(), now_us, limits_)) {
      due_in_head_.insert(EncodeBucketKey(key));
      any = true;
    }
  }
  return any;
}

// A time that no row of the rotation is newer than: when it was first looked at; of those
// that were there when the store was opened, the newest write timestamp that it had issued.
int64_t Sealer::NewestIn(uint64_t rotation, int64_t now_us) {
  if (rotation < opened_.sequence_reserved) return std::min(opened_.write_us_last, now_us);
  return first_seen_us_.try_emplace(rotation, now_us).first->second;
}

void Sealer::ForgetOldRotations(const SpillView& view) {
  std::erase_if(first_seen_us_, [&](const auto& entry) {
    return std::none_of(view.families.begin(), view.families.end(), [&](const auto& f) {
      return f->record.Contains(entry.first);
    });
  });
}

// When the newest of the bucket's rows in the heads was written; lowest int64: none is there.
int64_t Sealer::NewestInHead(const BucketKey& key) const {
  const std::shared_lock lock(heads_->mutex);
  int64_t newest_us = INT64_MIN;
  for (const Head* head : {heads_->active.get(), heads_->frozen.get()}) {
    const HeadBucket* bucket =
        head == nullptr ? nullptr
                        : head->FindBucket(key.table_id, key.entity, key.start_s, key.split);
    if (bucket != nullptr) newest_us = std::max(newest_us, bucket->newest_write_us());
  }
  return newest_us;
}

bool Sealer::IsCandidate(const SealScope& scope, const Candidate& candidate, int64_t now_us) {
  const TablePtr table = tables_->FindById(candidate.key.table_id);
  if (table == nullptr || !Matches(scope, candidate.key)) return false;
  const std::string encoded = EncodeBucketKey(candidate.key);
  if (damaged_.contains(encoded)) return false;
  const bool is_old = std::any_of(
      candidate.segments.begin(), candidate.segments.end(),
      [&](const SegmentRef& s) { return s.header.journal_first <= scope.journal_last; });
  if (!is_old) return false;
  int64_t last_row_us = INT64_MIN;
  for (const SegmentRef& s : candidate.segments) {
    last_row_us = std::max(last_row_us, NewestIn(RotationOf(s.id), now_us));
  }
  if (!scope.due_only || due_in_head_.contains(encoded)) return true;
  last_row_us = std::max(last_row_us, NewestInHead(candidate.key));
  const int64_t end_s = Bucketer(*table->schema).Next(candidate.key.start_s);
  return IsDue(end_s, last_row_us, now_us, limits_);
}

// A bucket stays in the window that it was sealed into, that of all times too: all its seals
// are in one window, so that none is left over when that one ends.
Result<Sealer::Place> Sealer::PlaceFor(const Candidate& candidate, const SpillView& view,
                                       int64_t now_us) const {
  const BucketKey& key = candidate.key;
  for (const auto& window : view.windows) {
    if (!candidate.is_sealed || !window->record.span.Holds(key.start_s)) continue;
    CISTERN_ASSIGN_OR_RETURN(const bool is_there, IsSealedIn(view, window->id, key));
    if (is_there) return Place{window->record.span, window};
  }
  const TablePtr table = tables_->FindById(key.table_id);
  Place place;
  place.span =
      WindowOf(*table->schema, Bucketer(*table->schema), key.start_s, now_us / 1'000'000);
  place.window = ChooseWindow(view.windows, limits_.window_count_max, key.start_s, &place.span);
  return place;
}

// Whether the round takes the bucket: the first one decides about the window.
Result<bool> Sealer::Takes(const Candidate& candidate, int64_t now_us) {
  if (candidates_.size() >= kRoundBucketsMax || segment_count_ >= kRoundSegmentsMax ||
      candidate_bytes_ >= kRoundBytesMax) {
    return false;
  }
  const auto view = store_->spills().view();
  CISTERN_ASSIGN_OR_RETURN(const Place place, PlaceFor(candidate, *view, now_us));
  if (candidates_.empty()) {
    commit_.span = place.span;
    window_ = place.window;
  }
  return commit_.span == place.span && window_ == place.window;
}

Status Sealer::Collect(const SealScope& scope, int64_t now_us) {
  const auto view = store_->spills().view();
  ForgetOldRotations(*view);
  SegmentWalker walker(view, "");
  Candidate candidate;
  const auto take = [&]() -> Status {
    if (candidate.segments.empty() || !IsCandidate(scope, candidate, now_us)) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(const bool takes, Takes(candidate, now_us));
    if (!takes) return Status::Ok();
    segment_count_ += candidate.segments.size();
    for (const SegmentRef& s : candidate.segments) {
      candidate_bytes_ += s.header.byte_count() + s.header.deletes.size() * sizeof(RangeDelete);
    }
    candidates_.push_back(std::move(candidate));
    return Status::Ok();
  };
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(auto item, walker.Next());
    if (!item || item->bucket != candidate.key) {
      CISTERN_RETURN_IF_ERROR(take());
      candidate = Candidate{};
    }
    if (!item) break;
    candidate.key = item->bucket;
    candidate.is_sealed = item->sealed_round != 0;
    candidate.segments.push_back(std::move(item->segment));
  }
  return Status::Ok();
}

Result<bool> Sealer::Begin(const SealScope& scope, int64_t now_us) {
  CISTERN_CHECK(idle());
  if (!boots_->complete()) return false;
  commit_ = SealCommit{};
  candidates_.clear();
  segment_count_ = candidate_bytes_ = amendments_in_round_ = next_check_ = 0;
  CISTERN_RETURN_IF_ERROR(Collect(scope, now_us));
  if (candidates_.empty()) {
    due_in_head_.clear();
    return false;
  }
  CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(kHeadroomBytes + candidate_bytes_));
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
  CISTERN_ASSIGN_OR_RETURN(const uint64_t round, store_->NextSequence());
  writer_.emplace(window_->family, round);
  std::reverse(candidates_.begin(), candidates_.end());
  phase_ = Phase::kWrite;
  return true;
}

Status Sealer::Step() {
  switch (phase_) {
    case Phase::kIdle: return Status::Ok();
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

// Damage of the bucket at hand ends the round.
Status Sealer::UnlessDamaged(Status s) {
  if (!IsDamage(s)) return s;
  damaged_.insert(current_);
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
  if (window_is_new_) spare_ = window_;
  candidates_.clear();
  writer_.reset();
  window_.reset();
  commit_ = SealCommit{};
  phase_ = Phase::kIdle;
}

Status Sealer::WriteBuckets() {
  const uint64_t enough = writer_->byte_count() + kStepBytes;
  while (!candidates_.empty() && writer_->byte_count() < enough) {
    Candidate candidate = std::move(candidates_.back());
    candidates_.pop_back();
    CISTERN_RETURN_IF_ERROR(WriteBucket(std::move(candidate)));
  }
  if (candidates_.empty()) phase_ = Phase::kFlush;
  return Status::Ok();
}

Status Sealer::WriteBucket(Candidate candidate) {
  current_ = EncodeBucketKey(candidate.key);
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
    current_ = EncodeBucketKey(bucket.key);
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
    for (const SealCommit::Bucket& b : commit_.buckets) damaged_.insert(EncodeBucketKey(b.key));
    GiveUp(view.status());
  }
  CISTERN_RETURN_IF_ERROR(view.status());
  {
    const std::unique_lock lock(heads_->mutex);
    store_->spills().Publish(*std::move(view));
  }
  ChargeWindows();
  for (const SealCommit::Bucket& bucket : commit_.buckets) {
    due_in_head_.erase(EncodeBucketKey(bucket.key));
  }
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
