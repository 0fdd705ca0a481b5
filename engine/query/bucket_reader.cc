#include "engine/query/bucket_reader.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/bucketing/bucket_name.h"
#include "engine/bucketing/bucketer.h"
#include "engine/query/head_source.h"
#include "engine/query/stretches.h"
#include "lib/base/check.h"
#include "lib/base/concat.h"
#include "lib/row/row_order.h"
#include "storage/uncounted_reads.h"

namespace cistern {

namespace {
// A batch of wide rows ends early: memory is bounded by bytes, not by rows alone. Where
// little is left of the budget it ends earlier.
constexpr size_t kBatchBytes = 1 << 20;
constexpr size_t kBatchBytesMin = 64 * 1024;
constexpr size_t kBatchShare = 4;  // of what is left; strings grow by doubling
constexpr size_t kMeasureRows = 8;  // rows between looks at it
constexpr size_t kRunRows = 256;    // rows that are copied between looks at how wide they are
constexpr size_t kKeysMerged = 64;  // one by one, where a run does not show as it is
// Rows that a filter held back before the place is noted, so that a rotation costs little.
constexpr size_t kPassedRows = 4096;

// Appends cells begin..end-1; those without a value as null.
void AppendCells(const ColumnData& from, size_t begin, size_t end, ColumnData* to) {
  const auto b = static_cast<ptrdiff_t>(begin);
  const auto e = static_cast<ptrdiff_t>(end);
  const bool has_states = !from.states.empty() || !to->states.empty();
  if (has_states && to->states.empty()) to->states.assign(to->size(), CellState::kValue);
  if (from.lane == Lane::kFixed) {
    to->fixed.insert(to->fixed.end(), from.fixed.begin() + b, from.fixed.begin() + e);
  } else {
    if (to->offsets.empty()) to->offsets.push_back(0);
    const auto shift = static_cast<uint32_t>(to->heap.size()) - from.offsets[begin];
    to->heap.append(from.heap, from.offsets[begin], from.offsets[end] - from.offsets[begin]);
    for (size_t i = begin; i < end; ++i) to->offsets.push_back(from.offsets[i + 1] + shift);
  }
  if (!has_states) return;
  for (size_t i = begin; i < end; ++i) {
    to->states.push_back(from.state(i) == CellState::kValue ? CellState::kValue : CellState::kNull);
  }
}

// A cell without a value is null to who reads it.
void MakeNulls(VersionColumns* rows) {
  for (ColumnData& column : rows->columns) {
    for (CellState& state : column.states) {
      state = state == CellState::kValue ? CellState::kValue : CellState::kNull;
    }
  }
}

}  // namespace

bool IsWideBatch(const VersionColumns& rows) {
  return rows.row_count > 0 && rows.row_count % kMeasureRows == 0 &&
         rows.MemoryBytes() >= kBatchBytes;
}

RowPosition PositionOf(const TableSchema& schema, const VersionColumns& rows, size_t i) {
  RowPosition position = VersionColumns::For(schema);
  for (const size_t c : schema.clustering_columns) {
    position.columns[c].AppendFrom(rows.columns[c], i);
  }
  position.row_count = 1;
  return position;
}

BucketReader::BucketReader(const QueryContext* context, const ScanShape* shape, BucketKey bucket,
                           RowPosition after, bool inclusive)
    : context_(context),
      shape_(shape),
      bucket_(std::move(bucket)),
      after_(std::move(after)),
      inclusive_(inclusive),
      charge_(context->budget) {}

void BucketReader::ReadSealed(std::shared_ptr<const SpillView> view, BucketOutline outline,
                              SealedPages* pages) {
  CISTERN_CHECK(after_.row_count == 0 && (!shape_->span.descending || shape_->WantsFew()));
  sealed_.emplace(context_, shape_, &bucket_, std::move(view), std::move(outline), pages);
}

Status BucketReader::Fill(size_t row_count_max, VersionColumns* rows) {
  if (sealed_ && sealed_->IsDone()) {
    rows->row_count = 0;
    return Status::Ok();
  }
  const RowPosition after = after_;
  const bool inclusive = inclusive_;
  const UncountedReads uncounted;
  row_count_max_ = row_count_max;
  text_bytes_ = 0;
  *rows = {};
  Status status = FillRows(rows);
  if (status.ok() && !charge_.TrySet(MemoryBytes() + rows->MemoryBytes())) {
    status = Status::OutOfMemory(
        "the scan needs more than the memory budget leaves: raise memory_budget_bytes (cistern "
        "--memory-budget), or read with fewer cursors at once");
  }
  if (status.ok()) return status;
  // As if nothing had been read: it may be tried again once there is room.
  *rows = {};
  sealed_.reset();
  merge_.reset();
  charge_.Set(0);
  after_ = after;
  inclusive_ = inclusive;
  return status;
}

// What is kept between batches.
size_t BucketReader::MemoryBytes() const {
  return (merge_ ? merge_->MemoryBytes() : 0) + (sealed_ ? sealed_->MemoryBytes() : 0);
}

Status BucketReader::FillRows(VersionColumns* rows) {
  bool is_filled = false;
  if (sealed_) {
    CISTERN_ASSIGN_OR_RETURN(is_filled, FillSealed(rows));
    if (!is_filled) sealed_.reset();
  }
  if (!is_filled) CISTERN_RETURN_IF_ERROR(FillMerged(rows));
  // Behind all that the scan wants nothing is asked for, and behind all that there is only that.
  const bool is_all = (shape_->limit > 0 && rows->row_count >= shape_->limit) ||
                      (is_filled && sealed_->IsDone());
  if (!is_all) NoteLast(*rows);
  return Status::Ok();
}

// Whether that is all: otherwise it goes on with a merge, behind the rows that are there.
Result<bool> BucketReader::FillSealed(VersionColumns* rows) {
  const size_t bytes_max = BatchBytes();
  while (rows->row_count < row_count_max_) {
    CISTERN_ASSIGN_OR_RETURN(const SealedRows::State state, sealed_->Load());
    if (state == SealedRows::State::kEnd) return true;
    if (state == SealedRows::State::kMerge) return false;
    if (rows->row_count == 0 && FitsWhole(*sealed_, bytes_max)) {
      *rows = sealed_->TakePage();
      MakeNulls(rows);
      return true;
    }
    const size_t left = std::min(row_count_max_ - rows->row_count, kRunRows);
    const size_t count = std::min(sealed_->end() - sealed_->begin(), left);
    AppendMatching(sealed_->page(), sealed_->begin(), sealed_->begin() + count, rows);
    sealed_->Take(count);
    if (IsFull(*rows, bytes_max)) return true;
  }
  return true;
}

// Whether its page may be a batch as it is.
bool BucketReader::FitsWhole(const SealedRows& sealed, size_t bytes_max) const {
  const VersionColumns& page = sealed.page();
  if (!shape_->filter.empty() || !sealed.IsWhole() || page.row_count > row_count_max_) return false;
  size_t bytes = page.row_count * page.columns.size() * sizeof(int64_t);
  for (const ColumnData& column : page.columns) bytes += column.heap.size();
  return bytes <= bytes_max;
}

Status BucketReader::FillMerged(VersionColumns* rows) {
  NoteLast(*rows);
  if (!merge_) CISTERN_RETURN_IF_ERROR(OpenSources());
  now_s_ = context_->now_s();
  const size_t bytes_max = BatchBytes();
  if (rows->columns.empty()) *rows = VersionColumns::For(*shape_->table->schema);
  while (rows->row_count < row_count_max_) {
    const Result<size_t> run = AppendRun(row_count_max_ - rows->row_count, rows);
    if (run.ok() && *run > 0) {
      if (IsFull(*rows, bytes_max)) break;
      continue;
    }
    const Result<bool> more = run.ok() ? AppendNext(rows) : Result<bool>(run.status());
    if (more.ok()) {
      if (!*more || IsFull(*rows, bytes_max)) break;
      continue;
    }
    if (more.status().code() != StatusCode::kBusy) return more.status();
    // A rotation moved the head's rows: go on behind the last one given out.
    NoteLast(*rows);
    CISTERN_RETURN_IF_ERROR(OpenSources());
  }
  return Status::Ok();
}

// So that reading may begin anew behind them.
void BucketReader::NoteLast(const VersionColumns& rows) {
  if (rows.row_count == 0) return;
  after_ = PositionOf(*shape_->table->schema, rows, rows.row_count - 1);
  inclusive_ = false;
  passed_ = 0;
}

// How wide a batch may become.
size_t BucketReader::BatchBytes() const {
  const size_t left = context_->budget->left_bytes() + charge_.bytes();
  return std::clamp(left / kBatchShare, kBatchBytesMin, kBatchBytes);
}

// Whether one more row of the width of those that are there would be too much.
bool BucketReader::IsFull(const VersionColumns& rows, size_t bytes_max) const {
  if (rows.row_count == 0) return false;
  const size_t bytes = text_bytes_ + rows.row_count * rows.columns.size() * sizeof(int64_t);
  return bytes + bytes / rows.row_count > bytes_max;
}

Status BucketReader::OpenSources() {
  const TableSchema& schema = *shape_->table->schema;
  merge_.emplace(schema, shape_->span.descending);
  if (!merger_) merger_.emplace(schema, shape_->regular);
  deletes_.clear();
  has_heads_ = false;
  skipping_ = after_.row_count > 0;
  std::shared_ptr<const SpillView> view;
  TablePtr newest;  // knows the versions of all rows there are; the scan shows its own
  {
    const std::shared_lock lock(context_->heads->mutex);
    newest = context_->tables->FindById(bucket_.table_id);
    epoch_ = context_->heads->epoch;
    bases_ = context_->boots->bases();
    view = context_->store->spills().view();
    OpenHeads(newest, &deletes_);
  }
  CISTERN_RETURN_IF_ERROR(OpenSegments(newest, *view));
  ResolveBoots(*bases_, nullptr, deletes_);
  return Status::Ok();
}

// REQUIRES: the heads' lock.
void BucketReader::OpenHeads(const TablePtr& newest, std::vector<RangeDelete>* deletes) {
  for (const bool frozen : {false, true}) {
    const Head* head = frozen ? context_->heads->frozen.get() : context_->heads->active.get();
    if (head == nullptr) continue;
    const HeadBucket* bucket =
        head->FindBucket(bucket_.table_id, bucket_.entity, bucket_.start_s, bucket_.split);
    if (bucket == nullptr) continue;
    has_heads_ = true;
    const auto& found = head->deletes(*bucket);
    deletes->insert(deletes->end(), found.begin(), found.end());
    auto source = std::make_unique<HeadSource>(context_->heads, frozen, epoch_, bucket_, newest,
                                               shape_->table->schema_version, shape_->span,
                                               &shape_->wanted, *bases_, after_);
    source->Prime(*head);
    merge_->Add(std::move(source));
  }
}

Status BucketReader::OpenSegments(const TablePtr& newest, const SpillView& view) {
  const TableSchema& schema = *shape_->table->schema;
  TimeSpan span = shape_->span;
  if (after_.row_count > 0) {
    const int64_t time = EventTime(schema, after_, 0);
    if (!span.descending) {
      span.from = std::max(span.from, time);
    } else if (span.unbounded_to || time < span.to) {
      span.unbounded_to = time == INT64_MAX;
      span.to = span.unbounded_to ? INT64_MAX : time + 1;
    }
  }
  std::vector<DamagedSegment> damaged;
  Result<std::vector<SegmentRef>> segments = ListSegments(view, bucket_, &damaged);
  if (!segments.ok()) return segments.status();
  for (const DamagedSegment& d : damaged) NoteSegment(d);
  std::vector<std::vector<bool>> skipped(segments->size());
  for (size_t i = 0; i < segments->size(); ++i) skipped[i] = PagesToSkip(*segments, i);
  for (size_t i = 0; i < segments->size(); ++i) {
    SegmentRef& s = (*segments)[i];
    deletes_.insert(deletes_.end(), s.header.deletes.begin(), s.header.deletes.end());
    if (s.header.pages.empty() || !span.Meets(s.header.first_time, s.header.last_time)) continue;
    merge_->Add(std::make_unique<SegmentSource>(
        newest, shape_->table->schema_version, std::move(s), span, &shape_->wanted, *bases_,
        [this](const SegmentRef& segment, uint32_t page, const Status& status) {
          NotePage(segment, page, status);
          return true;
        },
        std::move(skipped[i])));
  }
  return Status::Ok();
}

// Pages with no row that can pass, where nothing else has a say about their rows. A head that
// grows meanwhile may still get one, so beside a head nothing is skipped.
std::vector<bool> BucketReader::PagesToSkip(const std::vector<SegmentRef>& segments,
                                            size_t segment) const {
  const SegmentHeader& own = segments[segment].header;
  if (shape_->filter.empty() || has_heads_ || own.schema_version != shape_->table->schema_version) {
    return {};
  }
  std::vector<const SegmentHeader*> headers;
  for (const SegmentRef& s : segments) headers.push_back(&s.header);
  std::vector<bool> skipped(own.pages.size());
  for (const Stretch& stretch : StretchesOf(headers, {})) {
    if (!stretch.is_page || stretch.segment != segment) continue;
    skipped[stretch.page] =
        !shape_->filter.MayMatch(*shape_->table->schema, own, own.pages[stretch.page]);
  }
  return skipped;
}

void BucketReader::NotePage(const SegmentRef& segment, uint32_t page, const Status& status) {
  const PageInfo& info = segment.header.pages[page];
  context_->store->damage().NotePage(segment.family->id, segment.id, page, info.row_count);
  NoteGap({info.first_time, info.last_time, true, info.row_count, status.message()});
}

// Of a seal the manifest tells what it held; but a delete may be of any time. Of a rotation
// nothing is known.
void BucketReader::NoteSegment(const DamagedSegment& damaged) {
  const TableSchema& schema = *shape_->table->schema;
  ScanGap gap;
  gap.what = damaged.status.message();
  gap.first_time = TicksFromSeconds(schema.time_unit, bucket_.start_s);
  gap.last_time = TicksFromSeconds(schema.time_unit, NextBucketStart(schema, bucket_.start_s)) - 1;
  if (damaged.manifest) {
    const Manifest& m = *damaged.manifest;
    gap.versions = m.version_count();
    context_->store->damage().NoteSegment(damaged.family->id, damaged.id, gap.versions);
    if (m.delete_count == 0) {
      gap.first_time = m.first_time;
      gap.last_time = m.last_time;
    }
  }
  NoteGap(std::move(gap));
}

// Those that do not meet the span are no gaps of the scan.
void BucketReader::NoteGap(ScanGap gap) {
  if (!shape_->span.Meets(gap.first_time, gap.last_time)) return;
  const TableSchema& schema = *shape_->table->schema;
  gap.what = Concat({BucketName(schema, bucket_.entity, bucket_.start_s, bucket_.split), ": ",
      gap.what});
  const bool is_known = std::any_of(gaps_.begin(), gaps_.end(),
                                    [&gap](const ScanGap& g) { return g.what == gap.what; });
  if (!is_known) gaps_.push_back(std::move(gap));
}

bool BucketReader::IsInGap(int64_t time) const {
  return std::any_of(gaps_.begin(), gaps_.end(), [time](const ScanGap& g) {
    return time >= g.first_time && time <= g.last_time;
  });
}

// Whether the key lies at or before after_, so was given out already.
bool BucketReader::IsBehind(const VersionRef& key) const {
  auto order = CompareRows(*shape_->table->schema, *key.rows, key.index, after_, 0);
  if (shape_->span.descending) order = 0 <=> order;
  return inclusive_ ? order < 0 : order <= 0;
}

Result<bool> BucketReader::AppendNext(VersionColumns* rows) {
  CISTERN_ASSIGN_OR_RETURN(const bool more, merge_->NextKey());
  if (!more) return false;
  const std::span<const VersionRef> versions = merge_->versions();
  if (skipping_) {
    if (IsBehind(versions[0])) return true;
    skipping_ = false;
  }
  const int64_t time = EventTime(*shape_->table->schema, *versions[0].rows, versions[0].index);
  if (!shape_->span.Holds(time)) {
    const TimeSpan& span = shape_->span;
    const bool past_end = span.descending ? time < span.from : time >= span.from;
    return !past_end;
  }
  if (!gaps_.empty() && IsInGap(time)) return true;
  if (!merger_->Merge(versions, DeletedUpTo(deletes_, time), now_s_)) return true;
  if (!shape_->filter.empty() &&
      !shape_->filter.Matches(versions[0], *merger_, shape_->regular)) {
    NotePassed(versions[0]);
    return true;
  }
  AppendRow(versions[0], rows);
  return true;
}

// So that the reader, should it have to begin anew, does not begin at the last row it gave out.
void BucketReader::NotePassed(const VersionRef& key) {
  if (++passed_ < kPassedRows) return;
  passed_ = 0;
  after_ = PositionOf(*shape_->table->schema, *key.rows, key.index);
  inclusive_ = false;
}

// Appends rows that one source has for itself and that show as they are, column by column, as far
// as the filter lets them pass; gives how many it looked at. 0: the next key is to be merged.
Result<size_t> BucketReader::AppendRun(size_t row_count_max, VersionColumns* rows) {
  if (shape_->span.descending || skipping_ || !gaps_.empty()) return size_t{0};
  if (keys_to_merge_ > 0) {
    --keys_to_merge_;
    return size_t{0};
  }
  CISTERN_ASSIGN_OR_RETURN(ChunkRun run, merge_->PeekRun(std::min(row_count_max, kRunRows)));
  if (!gaps_.empty()) return size_t{0};  // met just now
  const TimeSpan& span = shape_->span;
  while (run.begin < run.end && !span.Holds(EventTime(*shape_->table->schema, *run.chunk,
                                                      run.end - 1))) {
    --run.end;
  }
  if (run.begin == run.end) return size_t{0};
  if (!ShowsAsItIs(run)) {
    keys_to_merge_ = kKeysMerged;
    return size_t{0};
  }
  const size_t count = run.end - run.begin;
  merge_->SkipRun(count);
  AppendMatching(*run.chunk, run.begin, run.end, rows);
  return count;
}

// Appends those of the rows begin..end-1, which show as they are, that the filter lets pass.
void BucketReader::AppendMatching(const VersionColumns& from, size_t begin, size_t end,
                                  VersionColumns* rows) {
  if (shape_->filter.empty()) return AppendRows(from, begin, end, rows);
  while (begin < end) {
    size_t passing = begin;
    while (passing < end && shape_->filter.Matches(from, passing)) ++passing;
    AppendRows(from, begin, passing, rows);
    if (passing < end) NotePassed({&from, passing});
    begin = passing + 1;
  }
}

// Whether none of its rows has anything to be merged with, or is hidden.
bool BucketReader::ShowsAsItIs(const ChunkRun& run) const {
  const TableSchema& schema = *shape_->table->schema;
  const VersionColumns& rows = *run.chunk;
  const TimeExtent times{EventTime(schema, rows, run.begin), EventTime(schema, rows, run.end - 1)};
  if (!shape_->span.Holds(times.first) || AnyMeets(deletes_, times)) return false;
  for (size_t i = run.begin; i < run.end && !rows.expiry_s.empty(); ++i) {
    if (rows.expiry_s[i] != 0 && now_s_ >= int64_t{rows.expiry_s[i]}) return false;
  }
  return StandAlone(schema, rows, run.begin, run.end);
}

void BucketReader::AppendRows(const VersionColumns& from, size_t begin, size_t end,
                              VersionColumns* rows) {
  if (begin == end) return;
  if (rows->columns.empty()) *rows = VersionColumns::For(*shape_->table->schema);
  const auto append = [&](size_t c) {
    if (rows->row_count == 0) {
      rows->columns[c].fixed.reserve(std::min(row_count_max_, from.columns[c].fixed.size()));
    }
    AppendCells(from.columns[c], begin, end, &rows->columns[c]);
    if (from.columns[c].lane != Lane::kBytes) return;
    text_bytes_ += from.columns[c].offsets[end] - from.columns[c].offsets[begin];
  };
  for (const size_t c : shape_->table->schema->clustering_columns) append(c);
  for (const size_t c : shape_->regular) append(c);
  rows->row_count += end - begin;
}

void BucketReader::AppendRow(const VersionRef& key, VersionColumns* rows) {
  for (const size_t c : shape_->table->schema->clustering_columns) {
    rows->columns[c].AppendFrom(key.rows->columns[c], key.index);
  }
  for (size_t k = 0; k < shape_->regular.size(); ++k) {
    ColumnData& column = rows->columns[shape_->regular[k]];
    if (const auto winner = merger_->winner(k)) {
      column.AppendFrom(winner->rows->columns[shape_->regular[k]], winner->index);
      if (column.lane == Lane::kBytes) text_bytes_ += column.bytes(column.size() - 1).size();
    } else {
      column.AppendMissing(CellState::kNull);
    }
  }
  ++rows->row_count;
}

}  // namespace cistern
