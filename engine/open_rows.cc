#include "engine/open_rows.h"

#include <algorithm>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "engine/bucketing/bucketer.h"
#include "engine/seal/seal_policy.h"
#include "lib/base/checksum.h"
#include "lib/base/memory_budget.h"
#include "storage/keyspace.h"
#include "storage/segment_walker.h"

namespace cistern {

namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

// Looks for what is due are a minute apart, and a round takes its time.
constexpr int64_t kOverdueAfterUs = 600'000'000;

// One walk over what is open.
class OpenRowsWalk {
 public:
  OpenRowsWalk(EngineCore* core, const EngineOptions& options, RotationTimes* times)
      : core_(core),
        times_(times),
        bases_(core->boots().bases()),
        limits_({.grace_s = options.seal_grace_s, .idle_s = options.seal_idle_s}),
        // Who only reads judges no clock.
        now_us_(options.read_only ? options.clock->WallMicros()
                                  : core->clock().now_s() * kMicrosPerSecond) {}

  [[nodiscard]] Result<OpenRows> Run() {
    const auto view = NoteHeads();
    times_->ForgetBut(*view);
    MemoryCharge charge(core_->query().budget);
    SegmentWalker walker(view, "");
    charge.Set(walker.MemoryBytes());
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const auto item, walker.Next());
      if (!item || item->bucket != bucket_) EndBucket();
      if (!item) break;
      NoteSegment(*item);
    }
    return open_;
  }

 private:
  // A timestamp ahead of the clock, as behind a false time that was taken back, tells no time.
  [[nodiscard]] int64_t KnownTime(int64_t write_us) const {
    return write_us < now_us_ + kMicrosPerSecond ? write_us : INT64_MIN;
  }

  void NoteOldest(int64_t write_us) {
    open_.oldest_us = std::min(open_.oldest_us.value_or(write_us), write_us);
  }

  // When the bucket that took its last row then is overdue; the last time of all: never.
  [[nodiscard]] int64_t OverdueAt(const BucketKey& key, int64_t last_row_us) const {
    const TablePtr table = core_->tables().FindById(key.table_id);
    if (table == nullptr) return INT64_MAX;
    const int64_t due_us = DueAt(Bucketer(*table->schema).Next(key.start_s), last_row_us, limits_);
    return due_us > INT64_MAX - kOverdueAfterUs ? INT64_MAX : due_us + kOverdueAfterUs;
  }

  void NoteOverdue(int64_t overdue_at_us, uint64_t versions) {
    const int64_t due_us = overdue_at_us - kOverdueAfterUs;
    open_.versions_overdue += versions;
    open_.overdue_since_us = std::min(open_.overdue_since_us.value_or(due_us), due_us);
  }

  // What the heads have, with the view that goes with them.
  [[nodiscard]] std::shared_ptr<const SpillView> NoteHeads() {
    if (const auto oldest_us = core_->committer().OldestInHeads()) NoteOldest(*oldest_us);
    const HeadSet& heads = core_->heads();
    const std::shared_lock lock(heads.mutex);
    for (const Head* head : {heads.active.get(), heads.frozen.get()}) {
      if (head == nullptr) continue;
      for (const HeadBucket* bucket : head->SortedBuckets()) {
        const BucketKey key{bucket->table_id(), std::string(bucket->entity()), bucket->start_s(),
                            bucket->split()};
        const int64_t at_us = OverdueAt(key, KnownTime(bucket->newest_write_us()));
        if (at_us > now_us_) continue;
        overdue_in_heads_.push_back(Checksum(EncodeBucketKey(key)));
        NoteOverdue(at_us, bucket->row_count());
      }
    }
    std::sort(overdue_in_heads_.begin(), overdue_in_heads_.end());
    const auto same = std::unique(overdue_in_heads_.begin(), overdue_in_heads_.end());
    overdue_in_heads_.erase(same, overdue_in_heads_.end());  // of both heads
    open_.buckets_overdue = overdue_in_heads_.size();
    return core_->store().spills().view();
  }

  void NoteSegment(const SegmentWalker::Item& item) {
    bucket_ = item.bucket;
    versions_ += item.segment.header.row_count + item.segment.header.deletes.size();
    const TablePtr table = core_->tables().FindById(bucket_.table_id);
    if (table == nullptr) return;
    const auto times = times_->Of(item.segment, table, *bases_);
    if (!times) return;
    NoteOldest(std::min(times->first_us, now_us_));
    last_row_us_ = std::max(last_row_us_, KnownTime(times->last_us));
  }

  void EndBucket() {
    const int64_t at_us = versions_ == 0 ? INT64_MAX : OverdueAt(bucket_, last_row_us_);
    if (at_us <= now_us_) {
      const bool is_known = std::binary_search(overdue_in_heads_.begin(), overdue_in_heads_.end(),
                                               Checksum(EncodeBucketKey(bucket_)));
      open_.buckets_overdue += is_known ? 0 : 1;
      NoteOverdue(at_us, versions_);
    }
    versions_ = 0;
    last_row_us_ = INT64_MIN;
  }

  EngineCore* const core_;
  RotationTimes* const times_;
  const std::shared_ptr<const BootBases> bases_;
  const SealLimits limits_;
  const int64_t now_us_;
  OpenRows open_;
  std::vector<uint64_t> overdue_in_heads_;  // checksums of bucket keys; in the end ascending
  // The bucket at hand, as far as it is spilled.
  BucketKey bucket_;
  uint64_t versions_ = 0;
  int64_t last_row_us_ = INT64_MIN;
};

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

}  // namespace

Result<OpenRows> FindOpenRows(EngineCore* core, const EngineOptions& options,
                              RotationTimes* times) {
  CISTERN_ASSIGN_OR_RETURN(OpenRows open, OpenRowsWalk(core, options, times).Run());
  RefreshOpenRows(core, options, &open);
  return open;
}

void RefreshOpenRows(EngineCore* core, const EngineOptions& options, OpenRows* open) {
  const uint64_t versions = core->GetMetrics().versions_open;
  if (versions == 0) *open = OpenRows();
  open->versions = versions;
  open->why = versions == 0 ? Status::Ok() : WhyNotSealed(core, options, *open);
}

}  // namespace cistern
