#include "engine/ingest/rotation.h"

#include <mutex>

#include "engine/bucketing/bucketer.h"
#include "lib/base/check.h"
#include "lib/base/crash_point.h"

namespace cistern {

namespace {
constexpr size_t kStepBytes = 128 * 1024;           // encoded, after which a step ends
constexpr size_t kCopyRows = limits::kPageRowsMax;  // widened at once
}  // namespace

Rotation::Rotation(Store* store, HeadSet* heads, TableSet* tables, Committer* committer,
                   SpillLimits spill_limits)
    : store_(store),
      heads_(heads),
      tables_(tables),
      committer_(committer),
      spill_limits_(spill_limits) {}

Result<bool> Rotation::Step() {
  switch (phase_) {
    case Phase::kIdle:
      // A journal may be frozen a moment before its head is: it must not be dropped here.
      if (heads_->frozen_head() == nullptr) return false;
      CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(headroom_bytes()));
      CISTERN_RETURN_IF_ERROR(Begin(*heads_->frozen_head()));
      spilling_.oldest_us = committer_->OldestInHeads().value_or(INT64_MIN);
      phase_ = Phase::kPages;
      return true;
    case Phase::kPages:
      CISTERN_RETURN_IF_ERROR(WritePages(*heads_->frozen_head()));
      if (next_bucket_ == buckets_.size()) phase_ = Phase::kFlush;
      return true;
    case Phase::kFlush:
      CISTERN_RETURN_IF_ERROR(writer_->Flush());
      phase_ = Phase::kCommit;
      return true;
    case Phase::kCommit: {
      CISTERN_ASSIGN_OR_RETURN(auto view, Commit(committer_->frozen_state()));
      std::unique_ptr<Head> done;
      {
        const std::unique_lock lock(heads_->mutex);
        store_->spills().Publish(std::move(view));
        done = std::move(heads_->frozen);
        ++heads_->epoch;
      }
      buckets_.clear();
      phase_ = Phase::kDropJournal;
      return true;
    }
    case Phase::kDropJournal:
      CISTERN_RETURN_IF_ERROR(store_->journal().DropFrozen());
      phase_ = Phase::kFlushMeta;
      return true;
    case Phase::kFlushMeta:
      CISTERN_RETURN_IF_ERROR(store_->FlushMeta());
      phase_ = Phase::kIdle;
      ++rotations_;
      return true;
  }
  return Status::Internal("rotation: unknown phase");
}

// Chooses the family, making a new one when the newest has rolled, and reserves the
// sequence under which the pages will count.
Status Rotation::Begin(const Head& head) {
  CISTERN_ASSIGN_OR_RETURN(target_, TakeSpillTarget(store_, spill_limits_));
  CISTERN_ASSIGN_OR_RETURN(rotation_, store_->NextSequence());
  writer_.emplace(FamilyKind::kSpill, target_.family, rotation_);
  buckets_ = head.SortedBuckets();
  spilling_ = {};
  dropped_ = {};
  spilling_.rotation = rotation_;
  next_bucket_ = 0;
  return Status::Ok();
}

Status Rotation::WritePages(const Head& head) {
  const uint64_t enough = writer_->byte_count() + kStepBytes;
  while (next_bucket_ < buckets_.size() && writer_->byte_count() < enough) {
    CISTERN_RETURN_IF_ERROR(WriteBucket(head, *buckets_[next_bucket_]));
    ++next_bucket_;
  }
  return Status::Ok();
}

Status Rotation::WriteBucket(const Head& head, const HeadBucket& bucket) {
  const TablePtr table = tables_->FindById(bucket.table_id());
  CISTERN_CHECK(table != nullptr);
  const uint64_t bytes_before = writer_->byte_count();
  writer_->Begin(
      {bucket.table_id(), std::string(bucket.entity()), bucket.start_s(), bucket.split()},
      table->schema.get(), table->schema_version, bucket.journal_first(), bucket.journal_last());
  CopyRequest request;
  request.max_rows = kCopyRows;
  head.CopyRows(bucket, request, &rows_);
  DroppedRows dropped;
  while (rows_.row_count > 0) {
    const bool is_rest = rows_.row_count < request.max_rows;
    const DroppedRows some = DropShadowed(*table->schema, &rows_);  // no key is cut
    dropped.count += some.count;
    dropped.repeats += some.repeats;
    CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows_));
    if (is_rest) break;
    request.after = &rows_;
    request.after_row = rows_.row_count - 1;
    VersionColumns next = head.CopyRows(bucket, request);
    rows_ = std::move(next);
  }
  const std::vector<RangeDelete>& deletes = head.deletes(bucket);
  CISTERN_RETURN_IF_ERROR(writer_->End(deletes));
  dropped_.count += dropped.count;
  dropped_.repeats += dropped.repeats;
  spilling_.Note(Bucketer(*table->schema).Next(bucket.start_s()),
                 bucket.row_count() - dropped.count,
                 writer_->byte_count() - bytes_before + deletes.size() * sizeof(RangeDelete));
  return Status::Ok();
}

Result<std::shared_ptr<const SpillView>> Rotation::Commit(const FrozenState& frozen) {
  CISTERN_CHECK(writer_->version_count() + dropped_.count == frozen.version_count);
  SpillCommit commit = CommitOf(target_, rotation_, *writer_);
  commit.state = store_->state();
  commit.state.versions_superseded += dropped_.count;
  commit.state.journal_floor = frozen.journal_floor;
  commit.state.versions_written = frozen.versions_written;
  commit.state.write_us_last = frozen.write_us_last;
  commit.state.clock = frozen.clock;
  CISTERN_ASSIGN_OR_RETURN(auto view, store_->CommitSpill(commit));
  spill_bytes_ += writer_->byte_count();
  versions_repeated_ += dropped_.repeats;
  if (spilled_) spilling_.NoteEarlier(*spilled_);
  spilled_ = spilling_;
  writer_.reset();
  rows_ = {};
  target_ = {};
  return view;
}

Status Rotation::SpillWhole(const Head& head, const FrozenState& frozen) {
  CISTERN_RETURN_IF_ERROR(store_->MakeRoomToOpen(kHeadroomBytes + frozen.journal_bytes));
  CISTERN_RETURN_IF_ERROR(Begin(head));
  while (next_bucket_ < buckets_.size()) CISTERN_RETURN_IF_ERROR(WritePages(head));
  CISTERN_RETURN_IF_ERROR(writer_->Flush());
  CISTERN_ASSIGN_OR_RETURN(auto view, Commit(frozen));
  store_->spills().Publish(std::move(view));
  ++rotations_;
  return store_->FlushMeta();
}

}  // namespace cistern
