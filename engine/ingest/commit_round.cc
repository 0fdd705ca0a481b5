// Committer: from the queues to groups, and to an answer for everyone.
#include <string>
#include <utility>

#include "engine/ingest/committer.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/base/unwind_guard.h"
#include "lib/cql/alteration.h"

namespace cistern {

// REQUIRES: the leader's lock.
bool Committer::CommitQueuedLocked() {
  if (has_failed()) return AnswerQueued(failure());
  const UnwindGuard unanswered([this] { AnswerQueued(Status::OutOfMemory()); });
  DrainQueues();
  if (drained_.empty()) return false;
  CommitDrained();
  return true;
}

// Takes all that is there now. Room for it comes first: what was taken is in no queue any more.
void Committer::DrainQueues() {
  const std::lock_guard lock(queues_mutex_);
  drained_.clear();
  size_t units = 0;
  for (const auto& queue : queues_) units += queue->size();
  drained_.reserve(units);
  group_.clear();
  group_.reserve(units);
  for (const auto& queue : queues_) {
    while (drained_.size() < units) {
      WriteUnit* const unit = queue->Pop();
      if (unit == nullptr) break;
      drained_.push_back(unit);
    }
  }
}

// Answers what was taken from the queues and what is still in them; whether there was anything.
// Takes no memory. REQUIRES: the leader's lock.
bool Committer::AnswerQueued(const Status& status) {
  bool any = false;
  for (WriteUnit*& taken : drained_) {
    WriteUnit* const unit = std::exchange(taken, nullptr);
    if (unit != nullptr) CompleteUnit(unit, status, {});
    any = any || unit != nullptr;
  }
  const std::lock_guard lock(queues_mutex_);
  for (const auto& queue : queues_) {
    while (WriteUnit* unit = queue->Pop()) {
      if (has_failed()) RefuseUnit(unit, failure());
      else CompleteUnit(unit, status, {});
      any = true;
    }
  }
  return any;
}

// Whether the unit can be of its table's last declaration: rows of one before are laid out
// otherwise. Deletes are of keys and buckets alone: those hold as long as the widths do.
bool Committer::TakeCurrentTable(WriteUnit* unit) const {
  TablePtr current = tables_->FindById(unit->table->id);
  if (current == unit->table) return true;
  if (unit->batch != nullptr) return false;
  if (BucketsChangeFrom(*unit->table->schema, *current->schema)) return false;
  unit->table = std::move(current);
  return true;
}

// Commits what was drained in groups of bounded size and completes it.
void Committer::CommitDrained() {
  const auto complete = [](WriteUnit** unit, const Status& status, const WriteResult& result) {
    CompleteUnit(std::exchange(*unit, nullptr), status, result);
  };
  size_t begin = 0;
  while (begin < drained_.size()) {
    group_.clear();
    const size_t first = begin;
    size_t bytes = 0;
    bool sync = false;
    while (begin < drained_.size() && (group_.empty() || bytes < limits::kCommitGroupBytesMax)) {
      WriteUnit*& unit = drained_[begin++];
      if (!TakeCurrentTable(unit)) {
        const std::string altered = Concat({"table ", unit->table->schema->QualifiedName(),
            " was altered before the ", (unit->batch == nullptr ? "delete" : "batch"),
            " was written: make it anew with the schema that FindTable gives"});
        complete(&unit, Status::InvalidArgument(altered), {});
        continue;
      }
      bytes += unit->batch == nullptr ? 64 * unit->deletes.size() : unit->batch->byte_count();
      sync = sync || unit->options.durability == Durability::kSynced;
      group_.push_back(unit);
    }
    if (group_.empty()) continue;
    if (has_failed()) {
      for (size_t i = first; i < begin; ++i) {
        if (drained_[i] != nullptr) RefuseUnit(std::exchange(drained_[i], nullptr), failure());
      }
      continue;
    }
    const Status status = WriteGroup(group_, bytes, sync);
    const WriteResult result{sync ? Durability::kSynced : Durability::kLog, sequence_};
    for (size_t i = first; i < begin; ++i) {
      if (drained_[i] != nullptr) complete(&drained_[i], status, result);
    }
  }
}

}  // namespace cistern
