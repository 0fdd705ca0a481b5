#include "engine/seal/round_planner.h"

#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "engine/bucketing/bucket_name.h"
#include "engine/bucketing/bucketer.h"
#include "lib/base/checksum.h"
#include "lib/base/concat.h"
#include "storage/seal_reader.h"
#include "storage/segment_runs.h"

namespace cistern {

namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr size_t kRoundBucketsMax = 1024;
constexpr size_t kRoundSegmentsMax = 4096;        // whose headers are held at once
constexpr uint64_t kBucketRecordBytes = 2048;     // of a bucket, beside its entity
constexpr uint64_t kEntityCopies = 6;             // in its records
constexpr size_t kRoundMemoryBytes = 1 << 20;     // of headers
constexpr size_t kStepSegments = 512;             // looked at in a step

uint64_t RowsOf(const SealCandidate& candidate) {
  uint64_t rows = 0;
  for (const SegmentRef& s : candidate.segments) rows += s.header.row_count;
  return rows;
}

uint64_t BytesOf(const SealCandidate& candidate) {
  uint64_t bytes = 0;
  for (const SegmentRef& s : candidate.segments) bytes += BytesOf(s);
  return bytes;
}

size_t MemoryOf(const SealCandidate& candidate) {
  size_t bytes = sizeof(candidate) + candidate.key.entity.capacity();
  for (const SegmentRef& s : candidate.segments) {
    bytes += sizeof(s) + s.header.pages.capacity() * sizeof(PageInfo) +
             s.header.deletes.capacity() * sizeof(RangeDelete);
  }
  return bytes;
}

// Leaves the oldest runs, of at most so many bytes but one at least.
void CutToPiece(uint64_t bytes_max, SealCandidate* candidate) {
  std::vector<SegmentRef>& segments = candidate->segments;
  uint64_t bytes = 0;
  size_t taken = 0;
  for (const size_t end : SortIntoRuns(&segments)) {
    for (size_t i = taken; i < end; ++i) bytes += BytesOf(segments[i]);
    if (taken > 0 && bytes > bytes_max) break;
    taken = end;
  }
  candidate->is_piece = taken < segments.size();
  segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(taken), segments.end());
  SortByNumber(&segments);
}

// In the log and in meta, of its seal and of what confirms that: manifest and outbox entry, with
// the entity in each.
uint64_t RecordBytesOf(const SealCandidate& candidate) {
  return kBucketRecordBytes + kEntityCopies * candidate.key.entity.size();
}

}  // namespace

bool RoundPlanner::Matches(const SealScope& scope, const BucketKey& key) const {
  if (scope.table_id && *scope.table_id != key.table_id) return false;
  if (scope.entity && *scope.entity != key.entity) return false;
  if (!scope.time) return true;
  const TablePtr table = tables_->FindById(key.table_id);
  if (table == nullptr) return false;
  const Bucketer bucketer(*table->schema);
  return bucketer.InRange(*scope.time) && bucketer.StartOf(*scope.time) == key.start_s;
}

// Whether the first bucket of a table is over: while none is, nobody needs to look at all.
bool RoundPlanner::MayBeDueInHead(const Head& head, int64_t now_us) const {
  return std::ranges::any_of(head.bucket_starts().ranges(), [&](const auto& entry) {
    const TablePtr table = tables_->FindById(entry.first);
    if (table == nullptr) return false;
    const int64_t end_s = Bucketer(*table->schema).Next(entry.second.first_s);
    return IsDue(end_s, INT64_MIN, now_us, limits_);
  });
}

void RoundPlanner::NoteRotation(const SpilledBuckets& spilled, std::optional<int64_t> now_us) {
  runs_.NoteRotation(spilled.bytes_max);
  if (!now_us) return;
  NoteTime(*now_us);
  first_seen_us_.try_emplace(spilled.rotation, *now_us);
  outlook_.NoteRotation(spilled, *now_us);
}

bool RoundPlanner::MayBeDue(int64_t now_us) const {
  return !due_in_head_.empty() ||
         outlook_.MayBeDue(*store_->spills().view(), tables_->change_count(), now_us);
}

// By checksums: the head may have a hundred thousand buckets that are due at once. Two of the
// same would seal one of them a little early. A frozen head is looked at as well: it may have
// waited for room since before its buckets were due, and may take the ballast once they are.
bool RoundPlanner::NoteDueInHead(const SealScope& scope, int64_t now_us) {
  NoteTime(now_us);
  const std::shared_lock lock(heads_->mutex);
  const size_t known = due_in_head_.size();
  for (const Head* head : {heads_->active.get(), heads_->frozen.get()}) {
    if (head != nullptr && MayBeDueInHead(*head, now_us)) NoteDueIn(*head, scope, now_us);
  }
  const bool any = due_in_head_.size() > known;
  std::sort(due_in_head_.begin(), due_in_head_.end());
  due_in_head_.erase(std::unique(due_in_head_.begin(), due_in_head_.end()), due_in_head_.end());
  return any;
}

void RoundPlanner::NoteDueIn(const Head& head, const SealScope& scope, int64_t now_us) {
  for (const HeadBucket* bucket : head.SortedBuckets()) {
    const BucketKey key{bucket->table_id(), std::string(bucket->entity()), bucket->start_s(),
                        bucket->split()};
    const TablePtr table = tables_->FindById(key.table_id);
    if (table == nullptr || !Matches(scope, key)) continue;
    const int64_t end_s = Bucketer(*table->schema).Next(key.start_s);
    int64_t newest_us = bucket->newest_write_us();
    if (const HeadBucket* later = heads_->active->FindBucket(key.table_id, key.entity, key.start_s,
                                                             key.split)) {
      newest_us = std::max(newest_us, later->newest_write_us());
    }
    if (!IsDue(end_s, RestsSince(newest_us, now_us), now_us, limits_)) continue;
    due_in_head_.push_back(Checksum(EncodeBucketKey(key)));
  }
}

// A time that was believed and was false has been taken back: what was noted by it lies ahead, and
// would not come for years.
void RoundPlanner::NoteTime(int64_t now_us) {
  if (now_us < last_now_us_) {
    for (auto& [rotation, seen_us] : first_seen_us_) seen_us = std::min(seen_us, now_us);
    ahead_.reset();
    outlook_.Forget();
  }
  last_now_us_ = now_us;
}

// Since when a bucket of the active head has had no row. Timestamps never fall, so behind a false
// time that was taken back they lie ahead of the clock and tell nothing: such rows rest since they
// were first seen, all of a generation since the first of them.
// REQUIRES: the heads' lock.
int64_t RoundPlanner::RestsSince(int64_t newest_write_us, int64_t now_us) {
  // The time is a whole second: what was written in that second is not ahead.
  if (newest_write_us < now_us + kMicrosPerSecond) return newest_write_us;
  if (!ahead_ || ahead_->epoch != heads_->epoch) ahead_ = Ahead{heads_->epoch, now_us};
  return ahead_->seen_us;
}

void RoundPlanner::NoteSealed(const std::vector<BucketKey>& keys) {
  std::vector<uint64_t> sealed;
  sealed.reserve(keys.size());
  for (const BucketKey& key : keys) sealed.push_back(Checksum(EncodeBucketKey(key)));
  std::sort(sealed.begin(), sealed.end());
  std::erase_if(due_in_head_, [&sealed](uint64_t checksum) {
    return std::binary_search(sealed.begin(), sealed.end(), checksum);
  });
}

std::vector<std::string> RoundPlanner::ProblemsOf(const SealScope& scope) const {
  std::vector<std::string> problems;
  for (const auto& [encoded, why] : damaged_) {
    const std::optional<BucketKey> key = DecodeBucketKey(encoded);
    const TablePtr table = key ? tables_->FindById(key->table_id) : nullptr;
    if (table == nullptr || !Matches(scope, *key)) continue;
    problems.push_back(Concat({BucketName(*table->schema, key->entity, key->start_s, key->split),
        ": ", why}));
  }
  return problems;
}

void RoundPlanner::Begin(const SealScope& scope, int64_t now_us, RoundSize size) {
  NoteTime(now_us);
  if (!(scope == scope_)) resume_.clear();
  size_ = size;
  passed_over_bytes_ = 0;
  scope_ = scope;
  now_us_ = now_us;
  view_ = store_->spills().view();
  plan_ = RoundPlan{};
  candidate_ = SealCandidate{};
  ForgetOldRotations();
  outlook_.BeginWalk(*view_, tables_->change_count());
  is_whole_walk_ = resume_.empty();
  if (is_whole_walk_) runs_.BeginLook();
  walker_.emplace(view_, resume_);
  charge_.Set(walker_->MemoryBytes());
}

Result<bool> RoundPlanner::Step() {
  for (size_t n = 0; n < kStepSegments; ++n) {
    CISTERN_ASSIGN_OR_RETURN(auto item, walker_->NextOfAll());
    if (item && item->is_replaced) continue;
    if (!item || item->bucket != candidate_.key) {
      CISTERN_ASSIGN_OR_RETURN(const bool more, TakeCandidate());
      if (!more) return false;
      candidate_ = SealCandidate{};
    }
    if (!item) return EndWalk();
    candidate_.key = std::move(item->bucket);
    candidate_.is_sealed = item->is_of_sealed;
    candidate_.segments.push_back(std::move(item->segment));
  }
  charge_.Set(plan_.memory_bytes + MemoryOf(candidate_) + walker_->MemoryBytes());
  return true;
}

// A walk that did not begin at the first bucket and found nothing begins there. Whether there
// is more to look at.
bool RoundPlanner::EndWalk() {
  resume_.clear();
  runs_.EndLook();
  if (is_whole_walk_ || !plan_.candidates.empty()) return false;
  is_whole_walk_ = true;
  runs_.LookAgain();  // the view is the same one: rotations since are as unseen as before
  walker_.emplace(view_, "");
  return true;
}

RoundPlan RoundPlanner::TakePlan() {
  // What was passed over is as due as before, and so is what a frozen head has still.
  if (plan_.candidates.empty() && passed_over_bytes_ == 0) {
    if (heads_->frozen_head() == nullptr) due_in_head_.clear();
    if (scope_ == SealScope{}) outlook_.EndWalk();
  }
  walker_.reset();
  view_.reset();
  candidate_ = SealCandidate{};
  charge_.Set(plan_.memory_bytes);
  return std::exchange(plan_, RoundPlan{});
}

void RoundPlanner::Abandon() {
  walker_.reset();
  view_.reset();
  candidate_ = SealCandidate{};
  plan_ = RoundPlan{};
  resume_.clear();
  outlook_.Forget();
  charge_.Set(0);
}

// Puts the bucket at hand into the plan if it belongs there; false: it would, but the plan is
// full, and the next walk begins here.
Result<bool> RoundPlanner::TakeCandidate() {
  if (candidate_.segments.empty()) return true;
  NoteRuns();
  if (!IsCandidate()) return true;
  if (plan_.candidates.empty()) {
    if (BytesOf(candidate_) > size_.bucket_bytes_max) CutToPiece(size_.bytes, &candidate_);
    if (PassesOver(BytesOf(candidate_))) return true;
  }
  CISTERN_ASSIGN_OR_RETURN(Place place, FindPlace());
  if (plan_.candidates.empty()) {  // the first one decides about the window
    plan_.span = place.span;
    plan_.window = std::move(place.window);
  } else if (plan_.span != place.span || plan_.window != place.window) {
    return true;
  } else if (IsPlanFull()) {
    resume_ = EncodeBucketKey(candidate_.key);
    return false;
  }
  plan_.segment_count += candidate_.segments.size();
  plan_.byte_count += BytesOf(candidate_);
  plan_.record_bytes += RecordBytesOf(candidate_);
  plan_.memory_bytes += MemoryOf(candidate_);
  const bool goes_on = !candidate_.is_piece;
  if (!goes_on) resume_ = EncodeBucketKey(candidate_.key);
  plan_.candidates.push_back(std::move(candidate_));
  return goes_on;
}

// Of every bucket, as what is not due yet is to have its room one day.
void RoundPlanner::NoteRuns() {
  if (BytesOf(candidate_) <= runs_.seen_bytes()) return;
  runs_.NoteSeen(LargestRunBytes(&candidate_.segments));
  SortByNumber(&candidate_.segments);
}

// A run that there is no room for waits, and nothing else waits for it: what is behind it is sent
// and dropped, which makes room.
bool RoundPlanner::PassesOver(uint64_t bytes) {
  if (bytes <= size_.run_bytes_max) return false;
  if (passed_over_bytes_ == 0 || bytes < passed_over_bytes_) passed_over_bytes_ = bytes;
  return true;
}

bool RoundPlanner::IsPlanFull() const {
  return plan_.candidates.size() >= kRoundBucketsMax ||
         plan_.segment_count >= kRoundSegmentsMax ||
         plan_.byte_count + BytesOf(candidate_) > size_.bytes ||
         plan_.record_bytes + RecordBytesOf(candidate_) > size_.record_bytes_max ||
         plan_.memory_bytes >= kRoundMemoryBytes;
}

// A time that no row of the rotation is newer than: when it was first looked at; of those
// that were there when the store was opened, the newest write timestamp that it had issued, where
// that is not ahead of the clock.
int64_t RoundPlanner::NewestIn(uint64_t rotation) {
  if (rotation < opened_.sequence_reserved && opened_.write_us_last <= now_us_) {
    return opened_.write_us_last;
  }
  return first_seen_us_.try_emplace(rotation, now_us_).first->second;
}

void RoundPlanner::ForgetOldRotations() {
  std::erase_if(first_seen_us_, [&](const auto& entry) {
    return std::none_of(view_->families.begin(), view_->families.end(), [&](const auto& f) {
      return f->record.Contains(entry.first);
    });
  });
}

// When the newest of the bucket's rows in the heads was written; lowest int64: none is there.
int64_t RoundPlanner::NewestInHead(const BucketKey& key) const {
  const std::shared_lock lock(heads_->mutex);
  int64_t newest_us = INT64_MIN;
  for (const Head* head : {heads_->active.get(), heads_->frozen.get()}) {
    const HeadBucket* bucket =
        head == nullptr ? nullptr
                        : head->FindBucket(key.table_id, key.entity, key.start_s, key.split);
    if (bucket != nullptr) newest_us = std::max(newest_us, bucket->newest_write_us());
  }
  return std::min(newest_us, now_us_);
}

bool RoundPlanner::IsCandidate() {
  const BucketKey& key = candidate_.key;
  const TablePtr table = tables_->FindById(key.table_id);
  if (table == nullptr || !Matches(scope_, key)) return false;
  const std::string encoded = EncodeBucketKey(key);
  if (damaged_.contains(encoded)) return false;
  const bool is_old = std::any_of(
      candidate_.segments.begin(), candidate_.segments.end(),
      [&](const SegmentRef& s) { return s.header.journal_first <= scope_.journal_last; });
  if (!is_old) return false;
  int64_t last_row_us = INT64_MIN;
  for (const SegmentRef& s : candidate_.segments) {
    last_row_us = std::max(last_row_us, NewestIn(RotationOf(s.id)));
  }
  const bool was_due_in_head =
      std::binary_search(due_in_head_.begin(), due_in_head_.end(), Checksum(encoded));
  if (!scope_.due_only || was_due_in_head) return true;
  const uint64_t rows = RowsOf(candidate_);
  const uint64_t bytes = BytesOf(candidate_);
  if (IsFull(rows, bytes, limits_)) return true;
  const int64_t end_s = Bucketer(*table->schema).Next(key.start_s);
  // Writers wait while somebody looks into the head: only where it decides.
  if (IsDue(end_s, last_row_us, now_us_, limits_)) {
    last_row_us = std::max(last_row_us, NewestInHead(key));
    if (IsDue(end_s, last_row_us, now_us_, limits_)) return true;
  }
  if (IsDueByAge(table, DueAt(end_s, last_row_us, limits_))) return true;
  outlook_.NoteOpen(end_s, last_row_us, rows, bytes);
  return false;
}

// By its oldest rows, as they may have waited long in a bucket that goes on.
bool RoundPlanner::IsDueByAge(const TablePtr& table, int64_t due_at_us) {
  if (limits_.age_s_max == 0) return false;
  int64_t oldest_us = INT64_MAX;
  for (const SegmentRef& s : candidate_.segments) {
    const std::optional<WriteTimes> times = times_.Of(s, table, boots_->bases(), now_us_);
    // Timestamps ahead of the clock, as behind a false time, are older than they say.
    const int64_t newest_us = NewestIn(RotationOf(s.id));
    if (times) oldest_us = std::min({oldest_us, times->first_us, newest_us});
  }
  const int64_t at_us = DueByAgeAt(due_at_us, oldest_us, limits_);
  outlook_.NoteDueAt(at_us);
  return at_us <= now_us_;
}

// A bucket stays in the window that it was sealed into, that of all times too: all its seals
// are in one window, so that none is left over when that one ends.
Result<RoundPlanner::Place> RoundPlanner::FindPlace() const {
  const BucketKey& key = candidate_.key;
  for (const auto& window : view_->windows) {
    if (!candidate_.is_sealed || !window->record.span.Holds(key.start_s)) continue;
    CISTERN_ASSIGN_OR_RETURN(const bool is_there, IsSealedIn(*view_, window->id, key));
    if (is_there) return Place{window->record.span, window};
  }
  const TablePtr table = tables_->FindById(key.table_id);
  Place place;
  place.span =
      WindowOf(*table->schema, Bucketer(*table->schema), key.start_s, now_us_ / 1'000'000);
  place.window = ChooseWindow(view_->windows, limits_.window_count_max, key.start_s, &place.span);
  return place;
}

}  // namespace cistern
