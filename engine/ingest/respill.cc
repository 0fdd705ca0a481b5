#include "engine/ingest/respill.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/concat.h"
#include "storage/segment_runs.h"
#include "storage/spill_stats.h"

namespace cistern {

namespace {
constexpr size_t kPartBytes = 256 * 1024;  // encoded
// Of one bucket, but for one run, what is merged: it can only be sealed together.
constexpr uint64_t kMergedRunsBytesMax = 1 << 20;
constexpr uint64_t kHeadroomBytes = 4 << 20;
constexpr uint64_t kDropHeadroomBytes = 512 * 1024;  // records, and that of a dropped family

// What is damaged, of a newer format or too much for one header is not rewritten.
bool StaysWhereItIs(const Status& s) {
  return s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew ||
         s.code() == StatusCode::kTooLarge;
}

// The segments in groups of neighbouring runs, the oldest last.
std::vector<std::vector<SegmentRef>> GroupRuns(std::vector<SegmentRef> segments) {
  std::vector<std::vector<SegmentRef>> groups;
  uint64_t bytes = 0;  // of the last one
  size_t begin = 0;
  for (const size_t end : SortIntoRuns(&segments)) {
    uint64_t run_bytes = 0;
    for (size_t i = begin; i < end; ++i) run_bytes += BytesOf(segments[i]);
    if (groups.empty() || bytes + run_bytes > kMergedRunsBytesMax) {
      groups.emplace_back();
      bytes = 0;
    }
    bytes += run_bytes;
    for (; begin < end; ++begin) groups.back().push_back(std::move(segments[begin]));
  }
  for (auto& group : groups) SortByNumber(&group);
  std::reverse(groups.begin(), groups.end());
  return groups;
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
      walker_.reset();
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
  runs_left_.clear();
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
  if (scope != Scope::kGather) {
    CISTERN_ASSIGN_OR_RETURN(const bool superseded, SupersedeSealed(*view));
    if (superseded || scope == Scope::kDropSealed) return superseded;
  }
  std::vector<SpillStats> stats = StatsOf(store_, *view);
  for (size_t i = 0; i < stats.size(); ++i) {
    if (damaged_.contains(view->families[i]->id)) stats[i].damaged = true;
  }
  const std::optional<SpillRewrite> due = NextRewrite(stats, limits_);
  if (!due || (scope == Scope::kGather && !due->gathers)) return false;
  if (!store_->CheckHeadroom(kHeadroomBytes + stats[due->source].byte_count).ok()) return false;
  auto source = std::make_shared<SpillView>();
  source->families.push_back(view->families[due->source]);
  source->windows = view->windows;  // what is sealed stays behind
  source->ended = view->ended;
  source->meta = view->meta;
  source->round_last = view->round_last;
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
  version_count_ = byte_count_ = versions_read_ = repeats_ = 0;
  phase_ = Phase::kWrite;
  return true;
}

// A family that has nothing but sealed buckets left is dropped as it stands.
Result<bool> Respill::SupersedeSealed(const SpillView& view) {
  for (const auto& family : view.families) {
    const SpillRecord& record = family->record;
    if (record.version_count == 0 || record.sealed_count != record.version_count) continue;
    if (!store_->MakeDeviceRoom(kDropHeadroomBytes).ok()) return false;
    CISTERN_ASSIGN_OR_RETURN(auto next, store_->SupersedeSpill(family->id));
    auto source = std::make_shared<SpillView>();
    source->families.push_back(family);
    source_ = std::move(source);
    const std::unique_lock lock(heads_->mutex);
    store_->spills().Publish(std::move(next));
    phase_ = Phase::kDrop;
    return true;
  }
  return false;
}

// Merges buckets until enough is written, and flushes it under a sequence of its own.
Status Respill::WritePart() {
  CISTERN_ASSIGN_OR_RETURN(const uint64_t rotation, store_->NextSequence());
  writer_.emplace(FamilyKind::kSpill, target_, rotation);
  if (merge_) BeginSegment();
  else if (!runs_left_.empty()) NextRuns();
  while (writer_->byte_count() < kPartBytes) {
    if (!merge_) {
      if (!runs_left_.empty()) break;
      CISTERN_ASSIGN_OR_RETURN(const bool more, NextBucket());
      if (!more) {
        CISTERN_RETURN_IF_ERROR(CheckAllRead());
        walker_.reset();
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
  const SpillRecord& record = family.record;
  if (versions_read_ + walker_->versions_sealed() == record.version_count &&
      walker_->versions_sealed() == record.sealed_count) {
    return Status::Ok();
  }
  return Status::Corruption(Concat({"spill family ", family.id, " holds ", versions_read_,
      " open and ", walker_->versions_sealed(), " sealed row versions, its record says ",
      record.version_count, ", ", record.sealed_count, " of them sealed"}));
}

void Respill::BeginSegment() {
  writer_->Begin(merge_->bucket(), merge_->table()->schema.get(), merge_->table()->schema_version,
                 merge_->journal_first(), merge_->journal_last());
}

Status Respill::EndSegment() {
  return writer_->End(std::exchange(deletes_, {}));
}

// Gathers the next bucket's segments of the source family; false at its end.
Result<bool> Respill::NextBucket() {
  if (!ahead_) return false;
  bucket_ = ahead_->bucket;
  std::vector<SegmentRef> segments;
  while (ahead_ && ahead_->bucket == bucket_) {
    segments.push_back(std::move(ahead_->segment));
    CISTERN_ASSIGN_OR_RETURN(ahead_, walker_->Next());
  }
  if (!tables_->FindById(bucket_.table_id)) {
    return Status::Corruption("a segment names an unknown table");
  }
  runs_left_ = GroupRuns(std::move(segments));
  NextRuns();
  return true;
}

// Begins to merge the bucket's next runs. REQUIRES: some are left.
void Respill::NextRuns() {
  merge_.emplace(tables_->FindById(bucket_.table_id), bucket_, std::move(runs_left_.back()),
                 boots_->bases());
  runs_left_.pop_back();
  for (const auto& [family, versions] : merge_->versions_read()) versions_read_ += versions;
  deletes_ = merge_->deletes();
  BeginSegment();
}

// Merges some rows of the bucket; at its end its segment ends too.
Status Respill::MergeRows() {
  VersionColumns rows = VersionColumns::For(*merge_->table()->schema);
  CISTERN_ASSIGN_OR_RETURN(const bool more, merge_->Next(&rows));
  CISTERN_RETURN_IF_ERROR(writer_->AddRows(rows));
  if (more) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(EndSegment());
  repeats_ += merge_->repeats();
  merge_.reset();
  return Status::Ok();
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
  versions_repeated_ += repeats_;
  target_.reset();
  const std::unique_lock lock(heads_->mutex);
  store_->spills().Publish(std::move(view));
  return Status::Ok();
}

}  // namespace cistern
