#include "engine/query/aggregate_cursor.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "engine/query/scan_cursor.h"
#include "lib/base/concat.h"
#include "lib/row/row_order.h"
#include "storage/uncounted_reads.h"

namespace cistern {

namespace {

constexpr size_t kMergedRows = 1024;      // taken from a merge at a time
constexpr size_t kBatchBytes = 1 << 20;   // of the results, which may be texts
constexpr int kRoomTriesMax = 4;          // while others write, what was freed may be taken again

int64_t ClampedStart(const Bucketer& bucketer, int64_t ticks) {
  return bucketer.StartOf(std::clamp(ticks, bucketer.min_ticks(), bucketer.max_ticks()));
}

}  // namespace

Result<std::unique_ptr<AggregateCursor>> OpenAggregate(const QueryContext* context, TablePtr table,
                                                       const AggregateRequest& request) {
  CISTERN_ASSIGN_OR_RETURN(AggregatePlan plan, AggregatePlan::Make(*table->schema, request));
  CISTERN_ASSIGN_OR_RETURN(RowFilter filter, RowFilter::Make(*table->schema, request.where));
  for (const EntityKey& entity : request.entities) {
    CISTERN_RETURN_IF_ERROR(ParseEntityKey(*table->schema, entity.bytes).status());
  }
  return std::unique_ptr<AggregateCursor>(
      std::make_unique<Aggregator>(context, std::move(table), std::move(plan), std::move(filter),
                                   request));
}

Aggregator::Aggregator(const QueryContext* context, TablePtr table, AggregatePlan plan,
                       RowFilter filter, const AggregateRequest& request)
    : context_(context),
      table_(std::move(table)),
      plan_(std::move(plan)),
      bucketer_(*table_->schema),
      batch_steps_max_(std::clamp<size_t>(request.batch_steps_max, 1, limits::kPageRowsMax)),
      first_at_s_(ClampedStart(bucketer_, plan_.from())),
      last_at_s_(ClampedStart(bucketer_, plan_.to() == INT64_MAX ? INT64_MAX : plan_.to() - 1)),
      by_statistics_(filter.empty() && plan_.group_columns().empty()),
      feed_(context, table_->id, request.entities),
      sealed_(context, table_, &shape_.wanted),
      lookup_(table_, &plan_),
      groups_(&plan_, *table_->schema),
      charge_(context->budget) {
  shape_.table = table_;
  shape_.filter = std::move(filter);
  shape_.wanted.assign(table_->schema->columns.size(), false);
  for (const size_t c : table_->schema->clustering_columns) shape_.wanted[c] = true;
  for (const size_t c : table_->schema->regular_columns) {
    if (!plan_.Uses(c) && !shape_.filter.Uses(c)) continue;
    shape_.regular.push_back(c);
    shape_.wanted[c] = true;
  }
}

bool Aggregator::Next(AggregateBatch* batch) {
  const UncountedReads uncounted;
  ClearBatch();
  while (!ended_ && status_.ok() && !IsFull()) {
    const Result<bool> goes_on = Advance();
    if (!goes_on.ok()) status_ = goes_on.status();
    if (!goes_on.ok() || *goes_on) continue;
    // The entity is at its end: its steps are a batch of their own.
    in_entity_ = false;
    status_ = EmitStep();
    if (!out_.starts.empty()) break;
  }
  out_.entity.bytes = entity_;
  std::swap(*batch, out_);
  return !batch->starts.empty() && status_.ok();
}

void Aggregator::ClearBatch() {
  out_.starts.clear();
  out_.groups.resize(plan_.group_columns().size());
  for (size_t i = 0; i < out_.groups.size(); ++i) {
    out_.groups[i].Clear();
    out_.groups[i].lane = table_->schema->columns[plan_.group_columns()[i]].type.lane();
  }
  out_.columns.resize(plan_.outputs().size());
  for (size_t i = 0; i < out_.columns.size(); ++i) {
    out_.columns[i].Clear();
    out_.columns[i].lane = plan_.types()[i].lane();
  }
}

// Does the next piece of work; false: the entity has no more.
Result<bool> Aggregator::Advance() {
  if (!in_entity_) {
    CISTERN_ASSIGN_OR_RETURN(const bool has_one, BeginEntity());
    if (has_one) return true;
    ended_ = true;
    Conclude();
    return true;
  }
  if (group_ != nullptr) {
    CISTERN_RETURN_IF_ERROR(Merge());
    return true;
  }
  if (next_stretch_ < pages_.stretches.size()) {
    CISTERN_RETURN_IF_ERROR(AddStretch(pages_.stretches[next_stretch_++]));
    return true;
  }
  return NextBucket();
}

Result<bool> Aggregator::BeginEntity() {
  CISTERN_ASSIGN_OR_RETURN(const std::optional<EntityKey> entity, feed_.Next());
  if (!entity) return false;
  in_entity_ = true;
  entity_ = entity->bytes;
  bucket_ = {table_->id, entity_, 0, 0};
  buckets_.reset();
  CISTERN_RETURN_IF_ERROR(LookAhead(first_at_s_));
  return true;
}

// Where heads have the entity's next bucket at or behind from_s. A rotation since the last look has
// moved rows into segments that the view did not have: then the walk begins anew there.
Status Aggregator::LookAhead(int64_t from_s) {
  HeadsNow heads = LookAtHeads(*context_, table_->id, entity_, from_s, /*descending=*/false);
  head_start_s_ = heads.start_s;
  if (buckets_ && &buckets_->view() == heads.view.get()) return Status::Ok();
  sealed_.LetGo();
  buckets_.emplace(std::move(heads.view), table_->id, entity_, from_s);
  CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
  return Status::Ok();
}

// Begins the next bucket; false: there is none.
Result<bool> Aggregator::NextBucket() {
  pages_.stretches.clear();
  next_stretch_ = 0;
  sealed_.ForgetTime();
  if (head_start_s_ && (!has_parts_ || *head_start_s_ <= parts_.start_s)) {
    if (*head_start_s_ > last_at_s_) return false;
    CISTERN_RETURN_IF_ERROR(BeginHeadBucket(*head_start_s_));
    return true;
  }
  if (!has_parts_ || parts_.start_s > last_at_s_) return false;
  CISTERN_RETURN_IF_ERROR(BeginSealedBucket());
  return true;
}

Status Aggregator::BeginHeadBucket(int64_t start_s) {
  bucket_.start_s = start_s;
  bucket_.split = 0;
  while (has_parts_ && parts_.start_s == start_s) {
    CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
  }
  // Which rows of several splits come first is told by merging alone.
  CISTERN_RETURN_IF_ERROR(table_->schema->split_column
                              ? BeginMerge({plan_.from(), plan_.to()}, std::nullopt)
                              : BeginPages(OpenHeadBucket(*context_, bucket_)));
  return LookAhead(start_s + 1);
}

// A split is a bucket of its own here, if all of the bucket is of one step and nothing is asked
// that depends on the order of rows; else all splits are merged.
Status Aggregator::BeginSealedBucket() {
  bucket_.start_s = parts_.start_s;
  bucket_.split = parts_.split;
  if (table_->schema->split_column) {
    const TimeUnit unit = table_->schema->time_unit;
    const int64_t end_s = bucketer_.Next(parts_.start_s);
    const TimeExtent all{TicksFromSeconds(unit, parts_.start_s), TicksFromSeconds(unit, end_s) - 1};
    if (plan_.has_ends() || !plan_.IsWhole(all)) {
      while (has_parts_ && parts_.start_s == bucket_.start_s) {
        CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
      }
      return BeginMerge({plan_.from(), plan_.to()}, std::nullopt);
    }
  }
  CISTERN_ASSIGN_OR_RETURN(bool is_done, AddManifest(parts_));
  if (!is_done) {
    CISTERN_ASSIGN_OR_RETURN(is_done, AddOnlyPage(parts_));
  }
  if (!is_done) {
    CISTERN_RETURN_IF_ERROR(
        BeginPages(sealed_.Open(buckets_->view(), bucket_, parts_.window, parts_.seal)));
  }
  CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
  return Status::Ok();
}

// Whether the manifest of the bucket's only seal tells all.
Result<bool> Aggregator::AddManifest(const BucketParts& parts) {
  const Manifest& m = parts.manifest;
  const bool has_statistics = m.delete_count == 0 && !m.statistics.empty();
  if (!by_statistics_ || parts.window == nullptr || !has_statistics) return false;
  const TimeExtent times{m.first_time, m.last_time};
  const std::optional<AggregateStep> step = plan_.StepOfAll(times, step_);
  if (!step) return false;
  CISTERN_ASSIGN_OR_RETURN(
      const bool is_answered,
      AddStatistics({m.statistics, m.schema_version, m.row_count, times}, *step));
  if (is_answered) work_.rows_by_manifest += m.row_count;
  return is_answered;
}

// Decodes the bucket's only page, if it has no other and its rows show as they are. Where it cannot
// be, who reads the header tells why. Statistics of pages, which a filter goes by, are there too.
Result<bool> Aggregator::AddOnlyPage(const BucketParts& parts) {
  const Manifest& m = parts.manifest;
  if (!shape_.filter.empty() || !plan_.Meets({m.first_time, m.last_time})) return false;
  CISTERN_ASSIGN_OR_RETURN(const bool is_read,
                           sealed_.ReadOnlyPage(OutlineOf(parts), nullptr, &page_rows_));
  sealed_.LetGoOfLarge();
  if (!is_read) return false;
  return AddPage();
}

// The rows of page_rows_, which show as they are.
Result<bool> Aggregator::AddPage() {
  CISTERN_RETURN_IF_ERROR(Charge(page_rows_.MemoryBytes()));
  work_.rows_decoded += page_rows_.row_count;
  CISTERN_RETURN_IF_ERROR(AddRows(page_rows_, /*is_filtered=*/false));
  return true;
}

// Whether a row of the page may pass the filter.
bool Aggregator::MayPass(const Stretch& stretch) const {
  const SegmentHeader& header = pages_.segments[stretch.segment]->header;
  return shape_.filter.empty() || header.schema_version != table_->schema_version ||
         shape_.filter.MayMatch(*table_->schema, header, header.pages[stretch.page]);
}

Status Aggregator::BeginPages(Result<BucketPages> pages) {
  CISTERN_RETURN_IF_ERROR(pages.status());
  pages_ = *std::move(pages);
  if (!pages_.is_damaged) return Status::Ok();
  pages_.stretches.clear();
  return BeginMerge({plan_.from(), plan_.to()}, bucket_.split);
}

Status Aggregator::AddStretch(const Stretch& stretch) {
  if (!plan_.Meets(stretch.times)) return Status::Ok();
  if (stretch.is_page && !AnyMeets(pages_.deletes, stretch.times)) {
    if (!MayPass(stretch)) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(const bool is_told, AddPageStatistics(stretch));
    if (is_told) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(const bool is_added, AddPageRows(stretch));
    if (is_added) return Status::Ok();
  }
  return BeginMerge(stretch.times, bucket_.split);
}

Result<bool> Aggregator::AddPageStatistics(const Stretch& stretch) {
  const SegmentHeader& header = pages_.segments[stretch.segment]->header;
  const PageInfo& page = header.pages[stretch.page];
  if (!by_statistics_ || page.statistics_size == 0) return false;
  const std::optional<AggregateStep> step = plan_.StepOfAll(stretch.times, step_);
  if (!step) return false;
  CISTERN_ASSIGN_OR_RETURN(const bool is_told,
                           AddStatistics({header.StatisticsOf(page), header.schema_version,
                                          page.row_count, stretch.times}, *step));
  if (is_told) work_.rows_by_page += page.row_count;
  return is_told;
}

// Adds what statistics of rows of the step say, if that is all that is asked and holds now.
Result<bool> Aggregator::AddStatistics(const StatisticsSource& source,
                                       const AggregateStep& step) {
  RowStatistics rows;
  CISTERN_ASSIGN_OR_RETURN(const bool suffices, lookup_.Read(source, &rows));
  if (!suffices || !sealed_.ShowAsTheyAre(rows, source.schema_version)) return false;
  CISTERN_RETURN_IF_ERROR(MoveTo(step));
  for (size_t k = 0; k < plan_.columns().size(); ++k) groups_.AddStatistics(k, lookup_.column(k));
  return true;
}

// Decodes a page that stands alone. False: its rows do not all show as they are, or cannot be read.
Result<bool> Aggregator::AddPageRows(const Stretch& stretch) {
  bool is_chosen = false;
  CISTERN_ASSIGN_OR_RETURN(const bool is_read, sealed_.ReadAlone(table_, pages_, stretch, nullptr,
                                                                 &page_rows_, &is_chosen));
  if (!is_read) return false;
  return AddPage();
}

// `split`: of the one alone; nothing: of all.
Status Aggregator::BeginMerge(const TimeExtent& times, std::optional<uint32_t> split) {
  shape_.span.from = std::max(times.first, plan_.from());
  const int64_t last = plan_.to() == INT64_MAX ? times.last : std::min(times.last, plan_.to() - 1);
  shape_.span.unbounded_to = last == INT64_MAX;
  shape_.span.to = shape_.span.unbounded_to ? INT64_MAX : last + 1;
  group_ = std::make_unique<BucketGroup>(context_, &shape_, entity_,
                                         FoundBucket{bucket_.start_s, nullptr, {}}, nullptr,
                                         nullptr, split);
  return Status::Ok();
}

Status Aggregator::Merge() {
  GroupRows rows;
  page_rows_ = {};
  charge_.Set(0);
  if (!plan_.group_columns().empty()) {
    CISTERN_RETURN_IF_ERROR(Charge(0));  // what the rows before added
  }
  Status s = group_->Take(kMergedRows, &rows);
  for (int tries = 0; s.code() == StatusCode::kOutOfMemory && tries < kRoomTriesMax; ++tries) {
    if (!context_->make_room()) tries = kRoomTriesMax;
    s = group_->Take(tries == 0 ? kMergedRows : 1, &rows);
  }
  CISTERN_RETURN_IF_ERROR(s);
  NoteGaps(group_->Gaps());
  if (rows.rows.row_count == 0) {
    group_.reset();
    return Status::Ok();
  }
  work_.rows_merged += rows.rows.row_count;
  return AddRows(rows.rows, /*is_filtered=*/true);
}

// Visible rows in order of time, those out of the range among them. `is_filtered`: all of them pass
// the filter.
Status Aggregator::AddRows(const VersionColumns& rows, bool is_filtered) {
  size_t begin = 0;
  size_t end = rows.row_count;
  const TableSchema& schema = *table_->schema;
  const ColumnData& column = rows.columns[schema.time_column()];
  std::span<const int64_t> times(column.fixed);
  if (column.lane == Lane::kBytes) {
    times_.clear();
    for (size_t i = 0; i < rows.row_count; ++i) times_.push_back(EventTime(schema, rows, i));
    times = times_;
  }
  const auto first_at = [&](int64_t time) {
    return static_cast<size_t>(std::lower_bound(times.begin() + static_cast<ptrdiff_t>(begin),
                                                times.begin() + static_cast<ptrdiff_t>(end), time) -
                               times.begin());
  };
  begin = first_at(plan_.from());
  if (plan_.to() != INT64_MAX) end = first_at(plan_.to());
  while (begin < end) {
    const AggregateStep step = plan_.StepOf(times[begin], step_);
    const size_t step_end = step.last >= times[end - 1] ? end : first_at(step.last + 1);
    CISTERN_RETURN_IF_ERROR(AddStepRows(step, rows, begin, step_end, is_filtered));
    begin = step_end;
  }
  return Status::Ok();
}

// A step of which no row passes has no line.
Status Aggregator::AddStepRows(const AggregateStep& step, const VersionColumns& rows, size_t begin,
                               size_t end, bool is_filtered) {
  if (is_filtered || shape_.filter.empty()) {
    CISTERN_RETURN_IF_ERROR(MoveTo(step));
    if (plan_.group_columns().empty()) {
      groups_.AddRows(rows, begin, end);
      return Status::Ok();
    }
    passing_.resize(end - begin);
    std::iota(passing_.begin(), passing_.end(), static_cast<uint32_t>(begin));
    return AddPassing(rows);
  }
  passing_.clear();
  for (size_t i = begin; i < end; ++i) {
    if (shape_.filter.Matches(rows, i)) passing_.push_back(static_cast<uint32_t>(i));
  }
  if (passing_.empty()) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(MoveTo(step));
  return AddPassing(rows);
}

// The rows of passing_. A page may have a group in each row, and a group some 800 bytes for each
// column: what they take is charged before they take much more.
Status Aggregator::AddPassing(const VersionColumns& rows) {
  std::span<const uint32_t> left = passing_;
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const size_t added, groups_.AddPicked(rows, left));
    left = left.subspan(added);
    if (left.empty()) return Status::Ok();
    CISTERN_RETURN_IF_ERROR(Charge(page_rows_.MemoryBytes()));
  }
}

Status Aggregator::MoveTo(const AggregateStep& step) {
  if (step_ && step_->first == step.first) return Status::Ok();
  CISTERN_RETURN_IF_ERROR(EmitStep());
  step_ = step;
  return Status::Ok();
}

Status Aggregator::EmitStep() {
  if (!step_) return Status::Ok();
  out_.starts.resize(out_.starts.size() + groups_.size(), step_->first);
  CISTERN_RETURN_IF_ERROR(groups_.Emit(&out_));
  step_.reset();
  return Status::Ok();
}

Status Aggregator::Charge(size_t bytes) {
  for (const ColumnData& column : out_.columns) bytes += column.MemoryBytes();
  for (const ColumnData& column : out_.groups) bytes += column.MemoryBytes();
  if (!plan_.group_columns().empty()) bytes += groups_.MemoryBytes();
  for (int tries = 0; !charge_.TrySet(bytes); ++tries) {
    if (tries < kRoomTriesMax && context_->make_room()) continue;
    return Status::OutOfMemory(
        "the aggregate needs more than the memory budget leaves: raise memory_budget_bytes "
        "(cistern --memory-budget), or read with fewer cursors at once");
  }
  return Status::Ok();
}

bool Aggregator::IsFull() const {
  if (out_.starts.size() >= batch_steps_max_) return true;
  size_t bytes = 0;
  for (const ColumnData& column : out_.columns) bytes += column.heap.size();
  for (const ColumnData& column : out_.groups) bytes += column.heap.size();
  return bytes >= kBatchBytes;
}

void Aggregator::NoteGaps(const std::vector<ScanGap>& gaps) {
  for (const ScanGap& gap : gaps) {
    const bool is_known = std::any_of(gaps_.begin(), gaps_.end(),
                                      [&gap](const ScanGap& g) { return g.what == gap.what; });
    if (!is_known && gaps_.size() < limits::kScanGapsMax) gaps_.push_back(gap);
  }
}

// An aggregate that lacks nothing alone ends OK.
void Aggregator::Conclude() {
  for (const LostRotations& lost : context_->store->damage().lost_rotations()) {
    if (!lost.MayHold(table_->id, first_at_s_, last_at_s_)) continue;
    const int64_t last = plan_.to() == INT64_MAX ? INT64_MAX : plan_.to() - 1;
    NoteGaps({{plan_.from(), last, false, lost.version_count, lost.what}});
  }
  if (gaps_.empty()) return;
  status_ = Status::Corruption(Concat({"rows are missing from this aggregate: ", gaps_[0].what,
      (gaps_.size() > 1 ? "; and in more places: AggregateCursor::gaps()" : std::string())}));
}

}  // namespace cistern
