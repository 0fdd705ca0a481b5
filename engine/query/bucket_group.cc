#include "engine/query/bucket_group.h"

#include <algorithm>
#include <utility>

#include "lib/base/guard.h"
#include "lib/base/unwind_guard.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {
constexpr size_t kLaneRowsMin = 16;
}

BucketGroup::BucketGroup(const QueryContext* context, const ScanShape* shape,
                         const std::string& entity, FoundBucket found,
                         const GroupPosition* resume, SealedPages* pages,
                         std::optional<uint32_t> only_split)
    : context_(context), shape_(shape), start_s_(found.start_s) {
  const uint32_t count = std::max<uint32_t>(shape->table->schema->split.count, 1);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t split = shape->span.descending ? count - 1 - i : i;
    if (only_split && *only_split != split) continue;
    RowPosition after;
    bool inclusive = false;
    if (resume != nullptr) {
      after = resume->after;
      inclusive = shape->span.descending ? split < resume->split : split > resume->split;
    }
    lanes_.push_back(std::unique_ptr<Lane>(
        new Lane{split,
                 BucketReader(context, shape, BucketKey{shape->table->id, entity, start_s_, split},
                              std::move(after), inclusive),
                 {},
                 0,
                 false}));
  }
  if (found.view != nullptr && resume == nullptr) ReadSealed(std::move(found), pages);
}

// What is in one seal alone needs no merge, and splits of which there is nothing no look.
void BucketGroup::ReadSealed(FoundBucket found, SealedPages* pages) {
  if (pages == nullptr) pages = &own_pages_.emplace(context_, shape_->table, &shape_->wanted);
  for (const auto& lane : lanes_) {
    const auto parts = std::find_if(found.parts.begin(), found.parts.end(),
                                    [&](const BucketOutline& p) { return p.split == lane->split; });
    if (parts == found.parts.end()) {
      lane->exhausted = true;
    } else if (parts->window != nullptr) {
      lane->reader.ReadSealed(found.view, std::move(*parts), pages);
    }
  }
}

void BucketGroup::Prefetch(ReadAhead* read_ahead, size_t row_count_max) {
  running_ = true;
  const UnwindGuard not_queued([this] { running_ = false; });
  read_ahead->Run([this, row_count_max] {
    Status status = Guarded([&] { return Fill(row_count_max, &prefetch_rows_); });
    const std::lock_guard lock(mutex_);
    prefetch_status_ = std::move(status);
    prefetched_ = true;
    running_ = false;
    idle_.notify_all();
  });
}

void BucketGroup::WaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !running_; });
}

Status BucketGroup::Take(size_t row_count_max, GroupRows* out) {
  WaitIdle();
  if (prefetched_) {
    prefetched_ = false;
    // Without memory for it nothing was read ahead.
    if (is_broken_ || prefetch_status_.code() != StatusCode::kOutOfMemory) {
      *out = std::move(prefetch_rows_);
      return prefetch_status_;
    }
  }
  return Fill(row_count_max, out);
}

std::vector<ScanGap> BucketGroup::Gaps() const {
  std::vector<ScanGap> gaps;
  for (const auto& lane : lanes_) {
    gaps.insert(gaps.end(), lane->reader.gaps().begin(), lane->reader.gaps().end());
  }
  return gaps;
}

Status BucketGroup::Fill(size_t row_count_max, GroupRows* out) {
  if (is_broken_) return Status::OutOfMemory();
  const UnwindGuard half_filled([this] { is_broken_ = true; });
  // How long few rows take decides nothing, and the clock is dear beside them.
  if (open_us_ > 0 || shape_->WantsFew()) return FillRows(row_count_max, out);
  const int64_t begin_us = context_->monotonic_us();
  Status status = FillRows(row_count_max, out);
  open_us_ = std::max<int64_t>(context_->monotonic_us() - begin_us, 1);
  return status;
}

Status BucketGroup::FillRows(size_t row_count_max, GroupRows* out) {
  out->splits.clear();
  if (lanes_.size() == 1) return lanes_[0]->reader.Fill(row_count_max, &out->rows);
  const TableSchema& schema = *shape_->table->schema;
  out->rows = VersionColumns::For(schema);
  // All lanes together hold about two batches, however many splits there are.
  const size_t lane_rows = std::max<size_t>(2 * row_count_max / lanes_.size(), kLaneRowsMin);
  while (out->rows.row_count < row_count_max && !IsWideBatch(out->rows)) {
    Lane* least = nullptr;
    for (const auto& lane : lanes_) {
      const Result<bool> more = Refill(lane.get(), lane_rows);
      // What is there already is given out first.
      const bool stop = more.status().code() == StatusCode::kOutOfMemory && out->rows.row_count > 0;
      if (stop) return Status::Ok();
      if (!more.ok()) return more.status();
      if (*more && (least == nullptr || Before(*lane, *least))) least = lane.get();
    }
    if (least == nullptr) break;
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      const ColumnData& from = least->rows.columns[c];
      if (from.size() > least->next) out->rows.columns[c].AppendFrom(from, least->next);
    }
    ++out->rows.row_count;
    out->splits.push_back(least->split);
    ++least->next;
  }
  return Status::Ok();
}

// Makes sure that the lane has a row, unless it is exhausted.
Result<bool> BucketGroup::Refill(Lane* lane, size_t row_count_max) {
  if (lane->next < lane->rows.row_count) return true;
  if (lane->exhausted) return false;
  lane->next = 0;
  CISTERN_RETURN_IF_ERROR(lane->reader.Fill(row_count_max, &lane->rows));
  lane->exhausted = lane->rows.row_count == 0;
  return !lane->exhausted;
}

// Lanes stand in the order in which equal keys are given out, so a tie is no "before".
bool BucketGroup::Before(const Lane& a, const Lane& b) const {
  const auto order = CompareRows(*shape_->table->schema, a.rows, a.next, b.rows, b.next);
  return shape_->span.descending ? order > 0 : order < 0;
}

}  // namespace cistern
