#include "engine/seal/seal_outlook.h"

#include <algorithm>

namespace cistern {

namespace {

// What is left of a limit.
uint64_t Less(uint64_t left, uint64_t taken) { return left - std::min(left, taken); }

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
  rows_left_ = limits_.open_rows_max;
  bytes_left_ = limits_.open_bytes_max;
}

void SealOutlook::NoteOpen(int64_t end_s, int64_t last_row_us, uint64_t rows, uint64_t bytes) {
  due_first_us_ = std::min(due_first_us_, DueAt(end_s, last_row_us, limits_));
  rows_left_ = std::min(rows_left_, Less(limits_.open_rows_max, rows));
  bytes_left_ = std::min(bytes_left_, Less(limits_.open_bytes_max, bytes));
}

void SealOutlook::EndWalk() { is_known_ = true; }

void SealOutlook::NoteRotation(const SpilledBuckets& spilled, int64_t now_us) {
  noted_rotations_.insert(spilled.rotation);
  due_first_us_ = std::min(due_first_us_, DueAt(spilled.end_first_s, now_us, limits_));
  rows_left_ = Less(rows_left_, spilled.rows_max);
  bytes_left_ = Less(bytes_left_, spilled.bytes_max);
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
  if (limits_.open_rows_max != 0 && rows_left_ == 0) return true;
  if (limits_.open_bytes_max != 0 && bytes_left_ == 0) return true;
  return !KnowsRotationsOf(view);
}

}  // namespace cistern
