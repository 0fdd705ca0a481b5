#include "engine/seal/seal_outlook.h"

#include <algorithm>

namespace cistern {

namespace {

// At most what a number holds.
uint64_t Sum(uint64_t a, uint64_t b) { return a + std::min(b, UINT64_MAX - a); }

}  // namespace

void SealOutlook::BeginWalk(const SpillView& view, uint64_t table_changes) {
  is_known_ = false;
  table_changes_ = table_changes;
  rotations_end_ = 0;
  for (const auto& family : view.families) {
    for (const SequenceInterval& interval : family->record.committed) {
      rotations_end_ = std::max(rotations_end_, interval.first + interval.length);
    }
  }
  noted_rotations_.clear();
  due_first_us_ = INT64_MAX;
  rows_walked_ = bytes_walked_ = 0;
  rows_noted_ = bytes_noted_ = 0;
}

void SealOutlook::NoteOpen(int64_t end_s, int64_t last_row_us, uint64_t rows, uint64_t bytes) {
  due_first_us_ = std::min(due_first_us_, DueAt(end_s, last_row_us, limits_));
  rows_walked_ = std::max(rows_walked_, rows);
  bytes_walked_ = std::max(bytes_walked_, bytes);
}

void SealOutlook::EndWalk() { is_known_ = true; }

void SealOutlook::NoteRotation(const SpilledBuckets& spilled, int64_t now_us) {
  noted_rotations_.insert(spilled.rotation);
  due_first_us_ = std::min(due_first_us_, DueAt(spilled.end_first_s, now_us, limits_));
  // Its rows are older by what they were in the head.
  NoteDueAt(DueByAgeAt(INT64_MAX, spilled.oldest_us, limits_));
  rows_noted_ = Sum(rows_noted_, spilled.rows_max);
  bytes_noted_ = Sum(bytes_noted_, spilled.bytes_max);
}

// Rotations that nobody noted are those of rewritings: rare enough to be looked at.
bool SealOutlook::KnowsRotationsOf(const SpillView& view) const {
  for (const auto& family : view.families) {
    for (const SequenceInterval& interval : family->record.committed) {
      const uint64_t end = interval.first + interval.length;
      for (uint64_t r = std::max(interval.first, rotations_end_); r < end; ++r) {
        if (!noted_rotations_.contains(r)) return false;
      }
    }
  }
  return true;
}

bool SealOutlook::MayBeDue(const SpillView& view, uint64_t table_changes, int64_t now_us) const {
  if (!is_known_ || table_changes != table_changes_ || now_us >= due_first_us_) return true;
  const uint64_t rows = Sum(rows_walked_, rows_noted_);
  const uint64_t bytes = Sum(bytes_walked_, bytes_noted_);
  if (IsFull(rows, bytes, limits_)) return true;
  return !KnowsRotationsOf(view);
}

}  // namespace cistern
