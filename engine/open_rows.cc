#include "engine/open_rows.h"

#include <algorithm>
#include <limits>
#include <shared_mutex>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "lib/base/checksum.h"
#include "lib/base/memory_budget.h"
#include "storage/keyspace.h"

namespace cistern {

namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

// Looks for what is due are a minute apart, and a round takes its time.
constexpr int64_t kOverdueAfterUs = 600'000'000;

// --- of a watch
constexpr int64_t kCountUs = 1'000'000;
constexpr int64_t kWalkUs = 60'000'000;
constexpr int64_t kSliceUs = 5'000;
constexpr size_t kSliceSegments = 512;
constexpr uint64_t kSlicePages = 16;
constexpr int64_t kPauseMinUs = 100'000;
constexpr int64_t kPauseParts = 100;  // of the time that a slice took

uint64_t ChecksumOf(const BucketKey& key) { return Checksum(EncodeBucketKey(key)); }

int64_t Sum(int64_t a_us, int64_t b_us) {
  int64_t sum_us = 0;
  return __builtin_add_overflow(a_us, b_us, &sum_us) ? INT64_MAX : sum_us;
}

Status WhyNotSealed(EngineCore* core, const EngineOptions& options, const OpenRows& open) {
  if (!options.read_only) return core->maintenance().WhyNotSealing();
  const uint32_t boot = core->boots().next_number() - 1;
  if (boot > 0 && !core->boots().record(boot).resolved) {
    return Status::Busy("rows were written while the clock was not trusted, and nothing is sealed "
                        "until it is: see what cistern clock says");
  }
  if (open.buckets_overdue == 0) return Status::Ok();
  return Status::ReadOnly(
      "no process seals this store, or it cannot, for its clock, its disk or damage: run the one "
      "that writes it, and look at its log");
}

// What stands in the way of sealing is to be mended first; `damage` to the look may be the same.
void Explain(EngineCore* core, const EngineOptions& options, const Status& damage,
             OpenRows* open) {
  open->why = open->versions == 0 ? Status::Ok() : WhyNotSealed(core, options, *open);
  if (open->versions > 0 && open->why.ok()) open->why = damage;
}

}  // namespace

OpenRowsWalk::OpenRowsWalk(const EngineOptions& options, JournalTimes* times)
    : options_(options), times_(times), limits_(SealLimitsOf(options)) {}

Result<bool> OpenRowsWalk::Step(EngineCore* core, const Slice& slice) {
  if (!std::exchange(has_begun_, true)) NoteHeads(core);
  const uint64_t pages_end = times_->pages_read() + std::min(slice.pages_max, uint64_t{1} << 62);
  const auto is_over = [&](size_t segments) {
    return segments >= slice.segments_max || times_->pages_read() >= pages_end ||
           options_.clock->MonotonicMicros() >= slice.until_us;
  };
  MemoryCharge charge(core->query().budget);
  SegmentWalker walker(core->store().spills().view(), from_);
  charge.Set(walker.MemoryBytes());
  bucket_ = Bucket();
  for (size_t segments = 0;; ++segments) {
    // Sealed ones too: they may be many before an open one is met.
    CISTERN_ASSIGN_OR_RETURN(const auto item, walker.NextOfAll());
    if (segments > 0 && (!item || item->bucket != bucket_.key)) {
      EndBucket(core);
      if (item && is_over(segments)) {
        from_ = EncodeBucketKey(item->bucket);
        return true;
      }
    }
    if (!item) break;
    bucket_.key = item->bucket;
    if (!item->is_replaced) NoteSegment(core, item->segment);
  }
  times_->NoteSeen(core->committer().last_sequence(), now_us_);
  return false;
}

// A timestamp ahead of the clock, as behind a false time that was taken back, tells no time.
int64_t OpenRowsWalk::KnownTime(int64_t write_us) const {
  return write_us < now_us_ + kMicrosPerSecond ? write_us : INT64_MIN;
}

void OpenRowsWalk::NoteOldest(int64_t write_us) {
  found_.oldest_us = std::min(found_.oldest_us.value_or(write_us), write_us);
}

int64_t OpenRowsWalk::DueAtItsEnd(EngineCore* core, uint32_t table_id, int64_t start_s,
                                  int64_t last_row_us) const {
  const TablePtr table = core->tables().FindById(table_id);
  if (table == nullptr) return INT64_MAX;
  return DueAt(Bucketer(*table->schema).Next(start_s), last_row_us, limits_);
}

// The sealer takes rows for as old as their rotation: one just before they are due puts them off.
bool OpenRowsWalk::IsOverdue(int64_t due_us) const {
  return Sum(due_us, kOverdueAfterUs + limits_.idle_s * kMicrosPerSecond) <= now_us_;
}

void OpenRowsWalk::NoteOverdue(int64_t due_us, uint64_t versions) {
  found_.versions_overdue += versions;
  found_.overdue_since_us = std::min(found_.overdue_since_us.value_or(due_us), due_us);
}

void OpenRowsWalk::NoteHeads(EngineCore* core) {
  // Who only reads judges no clock.
  now_us_ = options_.read_only ? options_.clock->WallMicros()
                               : core->clock().now_s() * kMicrosPerSecond;
  const std::optional<int64_t> oldest_us = core->committer().OldestInHeads();
  if (!oldest_us) return;
  NoteOldest(*oldest_us);
  // Of a bucket that took its first row too late none is overdue.
  if (!IsOverdue(Sum(*oldest_us, limits_.idle_s * kMicrosPerSecond))) return;
  const HeadSet& heads = core->heads();
  const std::shared_lock lock(heads.mutex);
  for (const Head* head : {heads.active.get(), heads.frozen.get()}) {
    if (head != nullptr && MayBeOverdueInHead(core, *head)) NoteOverdueInHead(core, *head);
  }
  std::sort(overdue_in_heads_.begin(), overdue_in_heads_.end());
  const auto same = std::unique(overdue_in_heads_.begin(), overdue_in_heads_.end());
  overdue_in_heads_.erase(same, overdue_in_heads_.end());  // of both heads
  found_.buckets_overdue = overdue_in_heads_.size();
}

// Writers wait while somebody looks at its buckets: nobody does before the first one of a table is
// over.
bool OpenRowsWalk::MayBeOverdueInHead(EngineCore* core, const Head& head) const {
  return std::ranges::any_of(head.bucket_starts().ranges(), [&](const auto& entry) {
    return IsOverdue(DueAtItsEnd(core, entry.first, entry.second.first_s, INT64_MIN));
  });
}

void OpenRowsWalk::NoteOverdueInHead(EngineCore* core, const Head& head) {
  for (const HeadBucket* bucket : head.SortedBuckets()) {
    const int64_t due_us = DueAtItsEnd(core, bucket->table_id(), bucket->start_s(),
                                       KnownTime(bucket->newest_write_us()));
    if (!IsOverdue(due_us)) continue;
    overdue_in_heads_.push_back(ChecksumOf({bucket->table_id(), std::string(bucket->entity()),
                                            bucket->start_s(), bucket->split()}));
    NoteOverdue(due_us, bucket->row_count() + head.deletes(*bucket).size());
  }
}

void OpenRowsWalk::NoteSegment(EngineCore* core, const SegmentRef& segment) {
  const SegmentHeader& header = segment.header;
  bucket_.versions += header.row_count + header.deletes.size();
  bucket_.rows += header.row_count;
  bucket_.bytes += header.byte_count() + header.deletes.size() * sizeof(RangeDelete);
  const TablePtr table = core->tables().FindById(bucket_.key.table_id);
  if (table == nullptr) return;
  const auto times = times_->Of(segment, table, core->boots().bases(), now_us_);
  if (!times) return;
  const bool is_ahead = KnownTime(times->first_us) == INT64_MIN;
  const auto seen_us = is_ahead ? times_->SeenAt(header.journal_first) : times->first_us;
  if (seen_us) {
    const int64_t first_us = std::min(*seen_us, now_us_);
    NoteOldest(first_us);
    bucket_.oldest_us = std::min(bucket_.oldest_us.value_or(first_us), first_us);
  }
  bucket_.last_row_us = std::max(bucket_.last_row_us, KnownTime(times->last_us));
  if (!bucket_.full_us && IsFull(bucket_.rows, bucket_.bytes, limits_)) {
    bucket_.full_us = bucket_.last_row_us;
  }
}

// By its end; or since it was full; or by its age, to which what it waited in the head is added.
int64_t OpenRowsWalk::DueOf(EngineCore* core, const Bucket& bucket) const {
  int64_t due_us =
      DueAtItsEnd(core, bucket.key.table_id, bucket.key.start_s, bucket.last_row_us);
  if (bucket.full_us && *bucket.full_us != INT64_MIN) due_us = std::min(due_us, *bucket.full_us);
  if (!bucket.oldest_us) return due_us;
  const int64_t by_age_us = DueByAgeAt(due_us, *bucket.oldest_us, limits_);
  return std::min(due_us, Sum(by_age_us, options_.head_age_us_max));
}

void OpenRowsWalk::EndBucket(EngineCore* core) {
  const Bucket bucket = std::exchange(bucket_, Bucket());
  if (bucket.versions == 0) return;  // all of it is sealed
  found_.bytes += bucket.bytes;
  const int64_t due_us = DueOf(core, bucket);
  if (!IsOverdue(due_us)) return;
  const bool is_known = std::binary_search(overdue_in_heads_.begin(), overdue_in_heads_.end(),
                                           ChecksumOf(bucket.key));
  found_.buckets_overdue += is_known ? 0 : 1;
  NoteOverdue(due_us, bucket.versions);
}

OpenRows FindOpenRows(EngineCore* core, const EngineOptions& options, JournalTimes* times) {
  OpenRowsWalk walk(options, times);
  Result<bool> more = true;
  while (more.ok() && *more) {
    more = walk.Step(core, {.segments_max = std::numeric_limits<size_t>::max(),
                            .pages_max = UINT64_MAX,
                            .until_us = INT64_MAX});
  }
  const uint64_t versions = core->GetMetrics().versions_open;
  OpenRows open = versions == 0 ? OpenRows() : walk.found();
  open.versions = versions;
  Explain(core, options, more.status(), &open);
  return open;
}

void OpenRowsWatch::Turn(EngineCore* core) {
  const int64_t now_us = options_.clock->MonotonicMicros();
  if (now_us >= count_us_) {
    count_us_ = now_us + kCountUs;
    Count(core);
  }
  if (rows_.versions == 0 || now_us < slice_us_) return;
  if (walk_ || IsWalkDue(now_us)) StepWalk(core, now_us);
}

void OpenRowsWatch::Count(EngineCore* core) {
  const Metrics metrics = core->GetMetrics();
  sealed_ = metrics.buckets_sealed;
  if (metrics.versions_open == 0) {
    rows_ = OpenRows();
    damage_ = Status::Ok();
    walk_.reset();
    has_walked_ = false;
  }
  rows_.versions = metrics.versions_open;
  Explain(core, options_, damage_, &rows_);
}

// What was found overdue may be sealed by now. Where nothing is, as it should be, a look does not
// follow every seal.
bool OpenRowsWatch::IsWalkDue(int64_t now_us) const {
  return !has_walked_ || now_us >= walk_us_ ||
         (rows_.buckets_overdue > 0 && sealed_ != walked_sealed_);
}

void OpenRowsWatch::StepWalk(EngineCore* core, int64_t began_us) {
  if (!walk_) {
    walk_.emplace(options_, &times_);
    walked_sealed_ = sealed_;
  }
  const Result<bool> more =
      walk_->Step(core, {.segments_max = kSliceSegments,
                         .pages_max = kSlicePages,
                         .until_us = began_us + kSliceUs});
  const bool is_end = !more.ok() || !*more;
  if (is_end || !has_walked_) {
    const uint64_t versions = rows_.versions;
    rows_ = walk_->found();
    rows_.versions = versions;
  }
  const int64_t ended_us = options_.clock->MonotonicMicros();
  slice_us_ = ended_us + std::max(kPauseMinUs, (ended_us - began_us) * kPauseParts);
  if (is_end) {
    damage_ = more.status();
    has_walked_ = true;
    walk_us_ = ended_us + kWalkUs;
    walk_.reset();
  }
  Explain(core, options_, damage_, &rows_);
}

}  // namespace cistern
