#include "storage/bucket_merge.h"

#include <algorithm>
#include <utility>

#include "lib/row/reconcile.h"
#include "lib/row/row_order.h"
#include "lib/row/shadowed_rows.h"

namespace cistern {

namespace {

constexpr size_t kStepRows = 1024;
constexpr size_t kStepBytes = 1 << 20;  // or when the rows hold this much memory
constexpr size_t kMeasureRows = 8;      // rows between looks at it
constexpr size_t kRunRows = 64;         // the same, where a run of rows comes from one chunk

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

// The cells begin .. end - 1 of a column of the same lane.
void AppendCells(const ColumnData& from, size_t begin, size_t end, ColumnData* to) {
  const size_t count_before = to->size();
  if (from.lane == Lane::kFixed) {
    to->fixed.insert(to->fixed.end(), from.fixed.begin() + static_cast<ptrdiff_t>(begin),
                     from.fixed.begin() + static_cast<ptrdiff_t>(end));
  } else {
    if (to->offsets.empty()) to->offsets.push_back(0);
    const uint32_t shift = static_cast<uint32_t>(to->heap.size()) - from.offsets[begin];
    to->heap.append(from.heap, from.offsets[begin], from.offsets[end] - from.offsets[begin]);
    for (size_t i = begin; i < end; ++i) to->offsets.push_back(from.offsets[i + 1] + shift);
  }
  if (to->states.empty() && from.states.empty()) return;
  to->states.resize(count_before, CellState::kValue);
  for (size_t i = begin; i < end; ++i) to->states.push_back(from.state(i));
}

void AppendVersions(const VersionColumns& rows, size_t begin, size_t end, VersionColumns* to) {
  const auto first = static_cast<ptrdiff_t>(begin);
  const auto last = static_cast<ptrdiff_t>(end);
  to->write_us.insert(to->write_us.end(), rows.write_us.begin() + first,
                      rows.write_us.begin() + last);
  for (size_t i = begin; i < end; ++i) to->expiry_s.push_back(rows.expiry_of(i));
  to->flags.insert(to->flags.end(), rows.flags.begin() + first, rows.flags.begin() + last);
  for (size_t c = 0; c < to->columns.size(); ++c) {
    const ColumnData& column = rows.columns[c];
    if (column.size() >= end) AppendCells(column, begin, end, &to->columns[c]);
  }
  to->row_count += end - begin;
}

// Of versions in memory alone: it is sealed already, and is only compared with.
constexpr uint8_t kIsSealed = 128;

bool IsSealed(const VersionRef& v) { return (v.rows->flags[v.index] & kIsSealed) != 0; }

// The versions of another source, marked.
class SealedSource final : public VersionSource {
 public:
  explicit SealedSource(std::unique_ptr<VersionSource> rows) : rows_(std::move(rows)) {}
  [[nodiscard]] int64_t bound_time() const override { return rows_->bound_time(); }
  [[nodiscard]] Result<std::shared_ptr<const VersionColumns>> NextChunk() override {
    CISTERN_ASSIGN_OR_RETURN(const auto chunk, rows_->NextChunk());
    if (!chunk) return chunk;
    auto marked = std::make_shared<VersionColumns>(*chunk);
    for (uint8_t& flags : marked->flags) flags |= kIsSealed;
    return std::shared_ptr<const VersionColumns>(std::move(marked));
  }

 private:
  const std::unique_ptr<VersionSource> rows_;
};

// How many rows, from the run's first on, are the only versions of their keys and insert them: no
// other can shadow those, and they none.
size_t LoneInserts(const TableSchema& schema, const ChunkRun& run) {
  size_t row = run.begin;
  for (; row < run.end; ++row) {
    if (run.chunk->flags[row] != kVersionLiveness) break;
    if (CompareRows(schema, *run.chunk, row, *run.chunk, row + 1) == 0) break;
  }
  return row - run.begin;
}

}  // namespace

BucketMerge::BucketMerge(TablePtr table, BucketKey bucket, std::vector<SegmentRef> segments,
                         std::shared_ptr<const BootBases> bases, OnDamagedPage on_damage)
    : table_(std::move(table)),
      bucket_(std::move(bucket)),
      bases_(std::move(bases)),
      merge_(*table_->schema, false),
      times_{.from = INT64_MAX, .to = INT64_MIN, .unbounded_to = false} {
  for (SegmentRef& s : segments) {
    journal_first_ = std::min(journal_first_, s.header.journal_first);
    journal_last_ = std::max(journal_last_, s.header.journal_last);
    versions_read_[s.family->id] += s.header.row_count + s.header.deletes.size();
    if (s.header.row_count > 0) {
      times_.from = std::min(times_.from, s.header.first_time);
      times_.to = std::max(times_.to, std::min(s.header.last_time, INT64_MAX - 1) + 1);
    }
    deletes_.insert(deletes_.end(), s.header.deletes.begin(), s.header.deletes.end());
    merge_.Add(std::make_unique<SegmentSource>(table_, table_->schema_version, std::move(s),
                                               TimeSpan{}, nullptr, *bases_, on_damage));
  }
  ResolveBoots(*bases_, nullptr, deletes_);
  FoldDeletes(&deletes_);
}

void BucketMerge::Add(std::unique_ptr<VersionSource> rows,
                      const std::vector<RangeDelete>& deletes) {
  deletes_.insert(deletes_.end(), deletes.begin(), deletes.end());
  ResolveBoots(*bases_, nullptr, deletes_);
  merge_.Add(std::move(rows));
}

void BucketMerge::CompareWith(std::vector<SegmentRef> sealed) {
  const auto pass_over = [](const SegmentRef&, uint32_t, const Status&) { return true; };
  for (SegmentRef& s : sealed) {
    merge_.Add(std::make_unique<SealedSource>(std::make_unique<SegmentSource>(
        table_, table_->schema_version, std::move(s), times_, nullptr, *bases_, pass_over)));
  }
}

// Appends the rows that come next and need no merging; false if there are none.
Result<bool> BucketMerge::NextRun(VersionColumns* rows) {
  if (!deletes_.empty()) return false;
  CISTERN_ASSIGN_OR_RETURN(const ChunkRun run, merge_.PeekRun(kRunRows));
  const size_t count = LoneInserts(*table_->schema, run);
  if (count == 0) return false;
  AppendVersions(*run.chunk, run.begin, run.begin + count, rows);
  merge_.SkipRun(count);
  has_given_ = true;
  return true;
}

// Gives out what is kept of a key and is not sealed.
void BucketMerge::AppendKept(VersionColumns* rows) {
  for (size_t i = 0; i < versions_.size(); ++i) {
    if (IsSealed(versions_[i])) continue;
    if (keep_[i]) {
      AppendVersion(versions_[i], rows);
      has_given_ = true;
    } else {
      NoteDropped(i);
    }
  }
}

void BucketMerge::NoteDropped(size_t dropped) {
  bool repeats = false;
  for (size_t i = 0; i < versions_.size() && !repeats; ++i) {
    repeats = keep_[i] && IsRepeat(*table_->schema, versions_[dropped], versions_[i]);
  }
  repeats_ += repeats ? 1 : 0;
  if (has_given_ || dropped_) return;
  dropped_ = VersionColumns::For(*table_->schema);
  dropped_repeats_ = repeats;
  AppendVersion(versions_[dropped], &*dropped_);
}

// At the end, where everything was dropped.
void BucketMerge::GiveAnyVersion(VersionColumns* rows) {
  if (has_given_ || !dropped_ || !deletes_.empty()) return;
  AppendVersion({&*dropped_, 0}, rows);
  repeats_ -= dropped_repeats_ ? 1 : 0;
  has_given_ = true;
}

Result<bool> BucketMerge::Next(VersionColumns* rows) {
  const size_t rows_max = rows->row_count + kStepRows;
  for (size_t n = 0; n < kStepRows && rows->row_count < rows_max; ++n) {
    CISTERN_ASSIGN_OR_RETURN(const bool is_run, NextRun(rows));
    if (is_run) {
      if (rows->MemoryBytes() >= kStepBytes) break;
      continue;
    }
    CISTERN_ASSIGN_OR_RETURN(const bool more, merge_.NextKey());
    if (!more) {
      GiveAnyVersion(rows);
      return false;
    }
    versions_.assign(merge_.versions().begin(), merge_.versions().end());
    std::stable_partition(versions_.begin(), versions_.end(), IsSealed);
    const int64_t time = EventTime(*table_->schema, *versions_[0].rows, versions_[0].index);
    KeepUnshadowed(*table_->schema, versions_, DeletedUpTo(deletes_, time), &keep_);
    AppendKept(rows);
    if (rows->row_count % kMeasureRows == 0 && rows->MemoryBytes() >= kStepBytes) break;
  }
  return true;
}

}  // namespace cistern
