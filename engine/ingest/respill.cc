#include "engine/ingest/respill.h"

#include <algorithm>
#include <mutex>

#include "lib/base/check.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {
constexpr size_t kStepRows = 4096;
constexpr size_t kWriteRows = 1024;
constexpr uint64_t kHeadroomBytes = 4 << 20;

void AppendVersion(const VersionRef& from, VersionColumns* to) {
  const VersionColumns& rows = *from.rows;
  to->write_us.push_back(rows.write_us[from.index]);
  to->expiry_s.push_back(rows.expiry_of(from.index));
  to->flags.push_back(rows.flags[from.index]);
  for (size_t c = 0; c < to->columns.size(); ++c) {
    if (rows.columns[c].size() > from.index) to->columns[c].AppendFrom(rows.columns[c], from.index);
  }
  ++to->row_count;
}
}  // namespace

Result<bool> Respill::Step(bool may_begin) {
  switch (phase_) {
    case Phase::kIdle: return may_begin ? Begin() : Result<bool>(false);
    case Phase::kMerge: CISTERN_RETURN_IF_ERROR(MergeSome()); return true;
    case Phase::kFlush:
      CISTERN_RETURN_IF_ERROR(writer_->Flush());
      phase_ = Phase::kCommit;
      return true;
    case Phase::kCommit:
      CISTERN_RETURN_IF_ERROR(Commit());
      phase_ = Phase::kDrop;
      return true;
    case Phase::kDrop: {
      const auto old = source_->families.front();
      source_.reset();
      CISTERN_RETURN_IF_ERROR(store_->DropSpill(old->id, old->family));
      CISTERN_RETURN_IF_ERROR(store_->FlushMeta());
      phase_ = Phase::kIdle;
      return true;
    }
  }
  return Status::Internal("respill: unknown phase");
}

Result<bool> Respill::Begin() {
  const auto view = store_->spills().view();
  std::vector<uint64_t> bytes;
  for (const auto& f : view->families) bytes.push_back(f->record.byte_count);
  if (NextSpillAction(bytes, limits_) != SpillAction::kRewriteOldest) return false;
  if (!store_->CheckHeadroom(kHeadroomBytes + bytes.front()).ok()) return false;
  auto source = std::make_shared<SpillView>();
  source->families.push_back(view->families.front());
  source_ = std::move(source);
  target_id_ = view->families.back()->id;
  target_ = view->families.back()->family;
  CISTERN_ASSIGN_OR_RETURN(rotation_, store_->NextSequence());
  writer_.emplace(target_, rotation_);
  next_key_.clear();
  versions_read_ = 0;
  phase_ = Phase::kMerge;
  return true;
}

Status Respill::MergeSome() {
  if (merge_) return MergeRows();
  CISTERN_ASSIGN_OR_RETURN(const bool more, NextBucket());
  if (!more) phase_ = Phase::kFlush;
  return Status::Ok();
}

// Gathers the next bucket's segments of the source family; false at its end.
Result<bool> Respill::NextBucket() {
  std::optional<BucketKey> bucket;
  std::vector<SegmentRef> segments;
  CISTERN_RETURN_IF_ERROR(VisitSegments(
      *source_, next_key_, [&](const BucketKey& key, SegmentRef segment) -> Result<bool> {
        if (bucket && key != *bucket) return false;
        bucket = key;
        segments.push_back(std::move(segment));
        return true;
      }));
  if (!bucket) return false;
  next_key_ = EncodeBucketKey(*bucket) + '\xff';
  next_key_.append(8, '\xff');  // behind every segment of the bucket
  CISTERN_RETURN_IF_ERROR(OpenBucket(*bucket, std::move(segments)));
  return true;
}

Status Respill::OpenBucket(const BucketKey& bucket, std::vector<SegmentRef> segments) {
  table_ = tables_->FindById(bucket.table_id);
  if (!table_) return Status::Corruption("a segment names an unknown table");
  bases_ = boots_->bases();
  merge_.emplace(*table_->schema, false);
  deletes_.clear();
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  uint32_t schema_version = 0;
  for (SegmentRef& s : segments) {
    first = std::min(first, s.header.journal_first);
    last = std::max(last, s.header.journal_last);
    schema_version = std::max(schema_version, s.header.schema_version);
    versions_read_ += s.header.row_count + s.header.deletes.size();
    deletes_.insert(deletes_.end(), s.header.deletes.begin(), s.header.deletes.end());
    merge_->Add(std::make_unique<SegmentSource>(*table_->schema, std::move(s), TimeSpan{}, nullptr,
                                                *bases_));
  }
  ResolveBoots(*bases_, nullptr, deletes_);
  writer_->Begin(bucket, table_->schema.get(), schema_version, first, last);
  return Status::Ok();
}

Status Respill::MergeRows() {
  VersionColumns rows = VersionColumns::For(*table_->schema);
  std::vector<bool> keep;
  for (size_t n = 0; n < kStepRows; ++n) {
    CISTERN_ASSIGN_OR_RETURN(const bool more, merge_->NextKey());
    if (!more) {
      CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
      merge_.reset();
      return writer_->End(deletes_);
    }
    const std::span<const VersionRef> versions = merge_->versions();
    const int64_t time = EventTime(*table_->schema, *versions[0].rows, versions[0].index);
    KeepUnshadowed(*table_->schema, versions, DeletedUpTo(deletes_, time), &keep);
    for (size_t i = 0; i < versions.size(); ++i) {
      if (keep[i]) AppendVersion(versions[i], &rows);
    }
    if (rows.row_count >= kWriteRows) {
      CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
      rows = VersionColumns::For(*table_->schema);
    }
  }
  return writer_->AddRows(rows);
}

Status Respill::Commit() {
  SpillCommit commit;
  commit.family_id = target_id_;
  commit.family = target_;
  commit.rotation = rotation_;
  commit.version_count = writer_->version_count();
  commit.byte_count = writer_->byte_count();
  commit.superseded_family = source_->families.front()->id;
  commit.state = store_->state();
  CISTERN_CHECK(versions_read_ >= writer_->version_count());
  commit.state.versions_superseded += versions_read_ - writer_->version_count();
  CISTERN_ASSIGN_OR_RETURN(auto view, store_->CommitSpill(commit));
  bytes_written_ += writer_->byte_count();
  writer_.reset();
  target_.reset();
  const std::unique_lock lock(heads_->mutex);
  store_->spills().Publish(std::move(view));
  return Status::Ok();
}

}  // namespace cistern
