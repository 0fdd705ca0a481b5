#include "engine/ingest/respill.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "lib/base/check.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {
constexpr size_t kStepRows = 1024;
constexpr size_t kStepBytes = 1 << 20;     // or when the rows hold this much memory
constexpr size_t kMeasureRows = 8;         // rows between looks at it
constexpr size_t kPartBytes = 256 * 1024;  // encoded
constexpr uint64_t kHeadroomBytes = 4 << 20;

// What is damaged, of a newer format or too much for one header is not rewritten.
bool StaysWhereItIs(const Status& s) {
  return s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew ||
         s.code() == StatusCode::kTooLarge;
}

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

Result<bool> Respill::Step(bool may_begin, Scope scope) {
  if (phase_ != Phase::kIdle && scope == Scope::kGather && !gathers_) return false;
  switch (phase_) {
    case Phase::kIdle: return may_begin ? Begin(scope) : Result<bool>(false);
    case Phase::kWrite: {
      const Status s = WritePart();
      if (StaysWhereItIs(s)) {
        GiveUp(s);
        return false;
      }
      CISTERN_RETURN_IF_ERROR(s);
      return true;
    }
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

// Nothing was committed, so nothing has changed: what was written counts for nothing. A
// target that was made for it has no record and goes at the next opening.
void Respill::GiveUp(const Status& why) {
  store_->db().opened().info_log->Write(
      LogLevel::kError, "rewriting a spill family was given up: " + why.message());
  damaged_.insert(source_->families.front()->id);
  ahead_.reset();
  walker_.reset();
  merge_.reset();
  writer_.reset();
  target_.reset();
  source_.reset();
  phase_ = Phase::kIdle;
}

Result<bool> Respill::Begin(Scope scope) {
  // Versions are resolved as they move: with a base that is lost their time would be, too.
  if (!boots_->complete()) return false;
  const auto view = store_->spills().view();
  std::vector<SpillStats> stats = StatsOf(*view);
  for (size_t i = 0; i < stats.size(); ++i) {
    stats[i].damaged = damaged_.contains(view->families[i]->id);
  }
  const std::optional<SpillRewrite> due = NextRewrite(stats, limits_);
  if (!due || (scope == Scope::kGather && !due->gathers)) return false;
  if (!store_->CheckHeadroom(kHeadroomBytes + stats[due->source].byte_count).ok()) return false;
  auto source = std::make_shared<SpillView>();
  source->families.push_back(view->families[due->source]);
  source_ = std::move(source);
  gathers_ = due->gathers;
  walker_.emplace(source_, "");
  Result<std::optional<SegmentWalker::Item>> first = walker_->Next();
  if (StaysWhereItIs(first.status())) {
    GiveUp(first.status());
    return false;
  }
  CISTERN_ASSIGN_OR_RETURN(ahead_, std::move(first));
  target_tier_ = due->tier;
  if (due->target) {
    target_id_ = view->families[*due->target]->id;
    target_ = view->families[*due->target]->family;
  } else {
    CISTERN_ASSIGN_OR_RETURN(target_id_, store_->NextSequence());
    CISTERN_ASSIGN_OR_RETURN(target_, store_->CreateSpill(target_id_));
  }
  rotations_.clear();
  version_count_ = byte_count_ = versions_read_ = 0;
  phase_ = Phase::kWrite;
  return true;
}

// Merges buckets until enough is written, and flushes it under a sequence of its own.
Status Respill::WritePart() {
  CISTERN_ASSIGN_OR_RETURN(const uint64_t rotation, store_->NextSequence());
  writer_.emplace(target_, rotation);
  if (merge_) BeginSegment();
  while (writer_->byte_count() < kPartBytes) {
    if (!merge_) {
      CISTERN_ASSIGN_OR_RETURN(const bool more, NextBucket());
      if (!more) {
        CISTERN_RETURN_IF_ERROR(CheckAllRead());
        phase_ = Phase::kCommit;
        break;
      }
    }
    CISTERN_RETURN_IF_ERROR(MergeRows());
  }
  if (merge_) CISTERN_RETURN_IF_ERROR(EndSegment());
  CISTERN_RETURN_IF_ERROR(writer_->Flush());
  rotations_.push_back(rotation);
  version_count_ += writer_->version_count();
  byte_count_ += writer_->byte_count();
  writer_.reset();
  return Status::Ok();
}

// A header that is gone would take its rows along without a word.
Status Respill::CheckAllRead() const {
  const SpillFamily& family = *source_->families.front();
  if (versions_read_ == family.record.version_count) return Status::Ok();
  return Status::Corruption("spill family " + std::to_string(family.id) + " holds " +
                            std::to_string(versions_read_) + " row versions, its record says " +
                            std::to_string(family.record.version_count));
}

void Respill::BeginSegment() {
  writer_->Begin(bucket_, table_->schema.get(), schema_version_, journal_first_, journal_last_);
}

Status Respill::EndSegment() {
  return writer_->End(std::exchange(deletes_, {}));
}

// Gathers the next bucket's segments of the source family; false at its end.
Result<bool> Respill::NextBucket() {
  if (!ahead_) {
    walker_.reset();
    return false;
  }
  const BucketKey bucket = ahead_->bucket;
  std::vector<SegmentRef> segments;
  while (ahead_ && ahead_->bucket == bucket) {
    segments.push_back(std::move(ahead_->segment));
    CISTERN_ASSIGN_OR_RETURN(ahead_, walker_->Next());
  }
  CISTERN_RETURN_IF_ERROR(OpenBucket(bucket, std::move(segments)));
  return true;
}

Status Respill::OpenBucket(const BucketKey& bucket, std::vector<SegmentRef> segments) {
  bucket_ = bucket;
  table_ = tables_->FindById(bucket.table_id);
  if (!table_) return Status::Corruption("a segment names an unknown table");
  bases_ = boots_->bases();
  merge_.emplace(*table_->schema, false);
  deletes_.clear();
  journal_first_ = UINT64_MAX;
  journal_last_ = 0;
  schema_version_ = 0;
  for (SegmentRef& s : segments) {
    journal_first_ = std::min(journal_first_, s.header.journal_first);
    journal_last_ = std::max(journal_last_, s.header.journal_last);
    schema_version_ = std::max(schema_version_, s.header.schema_version);
    versions_read_ += s.header.row_count + s.header.deletes.size();
    deletes_.insert(deletes_.end(), s.header.deletes.begin(), s.header.deletes.end());
    merge_->Add(std::make_unique<SegmentSource>(*table_->schema, std::move(s), TimeSpan{}, nullptr,
                                                *bases_));
  }
  ResolveBoots(*bases_, nullptr, deletes_);
  covering_ = deletes_;
  BeginSegment();
  return Status::Ok();
}

// Merges up to kStepRows keys of the bucket; at its end its segment ends too.
Status Respill::MergeRows() {
  VersionColumns rows = VersionColumns::For(*table_->schema);
  std::vector<bool> keep;
  for (size_t n = 0; n < kStepRows; ++n) {
    CISTERN_ASSIGN_OR_RETURN(const bool more, merge_->NextKey());
    if (!more) {
      CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
      merge_.reset();
      return EndSegment();
    }
    const std::span<const VersionRef> versions = merge_->versions();
    const int64_t time = EventTime(*table_->schema, *versions[0].rows, versions[0].index);
    KeepUnshadowed(*table_->schema, versions, DeletedUpTo(covering_, time), &keep);
    for (size_t i = 0; i < versions.size(); ++i) {
      if (keep[i]) AppendVersion(versions[i], &rows);
    }
    if (rows.row_count % kMeasureRows == 0 && rows.MemoryBytes() >= kStepBytes) break;
  }
  return writer_->AddRows(rows);
}

Status Respill::Commit() {
  SpillCommit commit;
  commit.family_id = target_id_;
  commit.family = target_;
  commit.tier = target_tier_;
  commit.rotations = rotations_;
  commit.version_count = version_count_;
  commit.byte_count = byte_count_;
  commit.superseded_family = source_->families.front()->id;
  commit.state = store_->state();
  CISTERN_CHECK(versions_read_ >= version_count_);
  commit.state.versions_superseded += versions_read_ - version_count_;
  CISTERN_ASSIGN_OR_RETURN(auto view, store_->CommitSpill(commit));
  bytes_written_ += byte_count_;
  target_.reset();
  const std::unique_lock lock(heads_->mutex);
  store_->spills().Publish(std::move(view));
  return Status::Ok();
}

}  // namespace cistern
