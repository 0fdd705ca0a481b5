#include "engine/retain/window_merger.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/retain/merge_policy.h"
#include "lib/base/concat.h"
#include "storage/meta_merge.h"

namespace cistern {

namespace {
constexpr uint64_t kHeadroomBytes = 4ull << 20;      // beside the copy, to begin
constexpr uint64_t kGoOnHeadroomBytes = 2ull << 20;  // beside what is not flushed, to go on
constexpr uint64_t kSealBytes = 256;  // of a seal, beside its pages
constexpr uint64_t kDictionaryBytes = 16 * 1024;  // of a trained one, twice

bool IsDamage(const Status& s) {
  return s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew;
}
// With headers, manifests and outbox entries, about.
uint64_t BytesToCopy(const WindowRecord& window) {
  return window.byte_count + window.seal_count * kSealBytes +
         window.dictionaries.size() * kDictionaryBytes;
}
}  // namespace

Result<bool> WindowMerger::Step(int64_t now_s) {
  if (idle()) return Begin(now_s);
  if (const Status room = HasRoomToGoOn(); !room.ok()) {
    room_.NoteGivenUp(now_s);
    CISTERN_RETURN_IF_ERROR(GiveUp(room));
    return true;
  }
  Status s = GoOn();
  if (IsDamage(s)) {
    for (const auto& source : copy_->merge().sources) unreadable_.insert(source->id);
    s = GiveUp(s);
  }
  CISTERN_RETURN_IF_ERROR(s);
  return true;
}

// One family is kept for what finds no other, so the bound is met one earlier.
Result<bool> WindowMerger::Begin(int64_t now_s) {
  const auto view = store_->spills().view();
  if (view->windows.size() + 1 < window_count_max_) return false;
  std::vector<MergeCandidate> candidates;
  std::vector<std::shared_ptr<const WindowFamily>> windows;
  for (const auto& window : view->windows) {
    if (unreadable_.contains(window->id) || store_->damage().versions_in(window->id) > 0) continue;
    windows.push_back(window);
    candidates.push_back({window->record.span, BytesToCopy(window->record),
                          window->record.dictionaries.size()});
  }
  const std::vector<size_t> next = NextToMerge(candidates, now_s);
  if (next.empty()) return false;
  WindowMerge merge;
  merge.span = candidates[next.front()].span;
  uint64_t bytes = kHeadroomBytes + store_->push_bytes() + MergeBytesBehindFlush(*store_);
  for (const size_t i : next) {
    merge.sources.push_back(windows[i]);
    merge.span.start_s = std::min(merge.span.start_s, candidates[i].span.start_s);
    merge.span.end_s = std::max(merge.span.end_s, candidates[i].span.end_s);
    bytes += candidates[i].byte_count;
  }
  if (!store_->CheckHeadroom(room_.Ask(bytes, now_s)).ok()) return false;
  CISTERN_ASSIGN_OR_RETURN(merge.target_id, store_->NextSequence());
  CISTERN_ASSIGN_OR_RETURN(merge.target, store_->CreateWindow(merge.target_id));
  copy_.emplace(view, std::move(merge));
  phase_ = Phase::kCopy;
  return true;
}

// Others write meanwhile: the disk must not be found full by RocksDB. Most of the copy is on
// disk already and has its room; what is flushed needs it once, and so does what is remembered of
// pushes, which the commit writes anew. Behind the commit meta is flushed, and may be merged.
Status WindowMerger::HasRoomToGoOn() const {
  if (phase_ > Phase::kFlush) return Status::Ok();
  return store_->CheckHeadroom(kGoOnHeadroomBytes + copy_->unflushed_bytes() +
                               store_->push_bytes() + MergeBytesBehindFlush(*store_));
}

Status WindowMerger::GoOn() {
  bool more = false;
  switch (phase_) {
    case Phase::kCopy: {
      CISTERN_ASSIGN_OR_RETURN(more, copy_->Copy());
      if (!more) phase_ = Phase::kFlush;
      return Status::Ok();
    }
    case Phase::kFlush:
      phase_ = Phase::kReadBack;
      return copy_->Flush();
    case Phase::kReadBack: {
      CISTERN_ASSIGN_OR_RETURN(more, copy_->ReadBack());
      if (!more) phase_ = Phase::kCommit;
      return Status::Ok();
    }
    case Phase::kCommit: return Commit();
  }
  return Status::Internal("window merger: unknown phase");
}

Status WindowMerger::Commit() {
  const WindowMerge& merge = copy_->merge();
  CISTERN_ASSIGN_OR_RETURN(auto view, store_->CommitMerge(merge));
  {
    const std::unique_lock lock(heads_->mutex);
    store_->spills().Publish(std::move(view));
  }
  room_.NoteDone();
  ++merges_;
  bytes_written_ += copy_->byte_count();
  store_->db().opened().info_log->Write(
      LogLevel::kInfo, Concat({merge.sources.size(), " windows from ",
          merge.sources.front()->Name(), " on became window ", merge.target_id, " with ",
          merge.sums.seal_count, " seals"}));
  copy_.reset();
  return store_->FlushMeta();
}

Status WindowMerger::GiveUp(const Status& why) {
  store_->db().opened().info_log->Write(
      LogLevel::kError, "a merge of windows was given up: " + why.message());
  const uint64_t target_id = copy_->merge().target_id;
  const FamilyPtr target = copy_->merge().target;
  copy_.reset();
  return store_->AbandonWindow(target_id, target);
}

}  // namespace cistern
