#include "storage/version_merge.h"

#include <algorithm>
#include <limits>

#include "lib/row/row_order.h"

namespace cistern {

namespace {
// A key overwritten more often than this is folded while it is gathered, so that one
// hot row does not hold every chunk of its bucket in memory.
constexpr size_t kVersionsGatheredMax = 256;
}  // namespace

void VersionMerge::Add(std::unique_ptr<VersionSource> source) {
  waiting_.push_back(std::move(source));
  sorted_ = false;
}

bool VersionMerge::Before(const Open& a, const Open& b) const {
  const auto order =
      CompareRows(schema_, *a.chunk, a.index(descending_), *b.chunk, b.index(descending_));
  return descending_ ? order > 0 : order < 0;
}

// Opens every waiting source whose bound the merge has reached.
Status VersionMerge::OpenDue() {
  if (!sorted_) {
    std::stable_sort(waiting_.begin(), waiting_.end(), [this](const auto& a, const auto& b) {
      return descending_ ? a->bound_time() < b->bound_time() : a->bound_time() > b->bound_time();
    });
    sorted_ = true;
  }
  while (!waiting_.empty()) {
    if (!open_.empty()) {
      const Open* least = &open_[0];
      for (const Open& o : open_) {
        if (Before(o, *least)) least = &o;
      }
      const int64_t now = EventTime(schema_, *least->chunk, least->index(descending_));
      const int64_t bound = waiting_.back()->bound_time();
      if (descending_ ? bound < now : bound > now) break;
    }
    std::unique_ptr<VersionSource> source = std::move(waiting_.back());
    waiting_.pop_back();
    CISTERN_ASSIGN_OR_RETURN(auto chunk, source->NextChunk());
    if (chunk) open_.push_back({std::move(source), std::move(chunk), 0});
  }
  return Status::Ok();
}

// Passes the current row of a source; loads its next chunk or drops it at its end.
Status VersionMerge::Advance(size_t open_index) {
  Open& o = open_[open_index];
  if (++o.taken < o.chunk->row_count) return Status::Ok();
  CISTERN_ASSIGN_OR_RETURN(auto chunk, o.source->NextChunk());
  if (chunk) {
    o.chunk = std::move(chunk);
    o.taken = 0;
  } else {
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(open_index));
  }
  return Status::Ok();
}

Result<bool> VersionMerge::NextKey() {
  versions_.clear();
  pinned_.clear();
  CISTERN_RETURN_IF_ERROR(OpenDue());
  if (open_.empty()) return false;
  size_t least = 0;
  for (size_t i = 1; i < open_.size(); ++i) {
    if (Before(open_[i], open_[least])) least = i;
  }
  // Takes every row of the least key, from every source that has it.
  const std::shared_ptr<const VersionColumns> key_chunk = open_[least].chunk;
  const size_t key_index = open_[least].index(descending_);
  const auto same_key = [&](const Open& o) {
    return CompareRows(schema_, *o.chunk, o.index(descending_), *key_chunk, key_index) == 0;
  };
  for (size_t i = least; i < open_.size();) {
    if (!same_key(open_[i])) {
      ++i;
      continue;
    }
    const size_t count_before = open_.size();
    if (pinned_.empty() || pinned_.back() != open_[i].chunk) pinned_.push_back(open_[i].chunk);
    versions_.push_back({open_[i].chunk.get(), open_[i].index(descending_)});
    if (versions_.size() >= kVersionsGatheredMax) FoldVersions();
    CISTERN_RETURN_IF_ERROR(Advance(i));
    if (open_.size() < count_before) continue;  // source i is at its end and gone
  }
  pinned_.push_back(key_chunk);
  return true;
}

// The last row of a chunk is left out: its key may go on in the next one.
Result<ChunkRun> VersionMerge::PeekRun(size_t row_count_max) {
  ChunkRun run;
  if (descending_) return run;
  CISTERN_RETURN_IF_ERROR(OpenDue());
  if (open_.size() != 1) return run;
  const Open& only = open_.front();
  run.chunk = only.chunk;
  run.begin = only.taken;
  run.end = std::min(only.taken + row_count_max, only.chunk->row_count - 1);
  if (run.end <= run.begin) {
    run.end = run.begin;
    return run;
  }
  if (!waiting_.empty()) {
    const int64_t bound = waiting_.back()->bound_time();
    while (run.end > run.begin && EventTime(schema_, *run.chunk, run.end - 1) >= bound) --run.end;
  }
  // No key is cut: its versions belong together.
  while (run.end > run.begin &&
         CompareRows(schema_, *run.chunk, run.end - 1, *run.chunk, run.end) == 0) {
    --run.end;
  }
  return run;
}

void VersionMerge::SkipRun(size_t row_count) {
  versions_.clear();
  pinned_.clear();
  open_.front().taken += row_count;
}

// Drops gathered versions that are wholly shadowed, and chunks that only they pinned.
void VersionMerge::FoldVersions() {
  std::vector<bool> keep;
  KeepUnshadowed(schema_, versions_, std::numeric_limits<int64_t>::min(), &keep);
  size_t kept = 0;
  for (size_t i = 0; i < versions_.size(); ++i) {
    if (keep[i]) versions_[kept++] = versions_[i];
  }
  versions_.resize(kept);
  std::erase_if(pinned_, [this](const auto& chunk) {
    return std::none_of(versions_.begin(), versions_.end(),
                        [&](const VersionRef& v) { return v.rows == chunk.get(); });
  });
}

size_t VersionMerge::MemoryBytes() const {
  size_t n = 0;
  for (const Open& o : open_) n += o.chunk->MemoryBytes();
  return n;
}

}  // namespace cistern
