// SealOutlook: until when no open bucket can be due for its seal. Pure.
#ifndef CISTERN_ENGINE_SEAL_SEAL_OUTLOOK_H_
#define CISTERN_ENGINE_SEAL_SEAL_OUTLOOK_H_

#include <algorithm>
#include <cstdint>
#include <set>

#include "engine/seal/seal_policy.h"
#include "engine/spilled_buckets.h"
#include "storage/spill_set.h"

namespace cistern {

// A walk over all open segments that finds nothing due says when that may change: with the end
// of a bucket, or with rows that are spilled later. Both are noted here, so that the next walk is
// made when it may find something and not once a minute: of a thousand sensors' rows those walks
// were a sixth of what appending costs.
//
// It may say that something is due where nothing is; the walk tells. Never the other way round.
class SealOutlook {
 public:
  explicit SealOutlook(const SealLimits& limits) : limits_(limits) {}

  // --- a walk over everything that the view has, by the tables as of `table_changes`
  void BeginWalk(const SpillView& view, uint64_t table_changes);
  // It met a bucket that is neither due nor full.
  void NoteOpen(int64_t end_s, int64_t last_row_us, uint64_t rows, uint64_t bytes);
  // One of them will be due then, whatever comes.
  void NoteDueAt(int64_t due_us) { due_first_us_ = std::min(due_first_us_, due_us); }
  // It has found nothing that is due.
  void EndWalk();
  // Of what was found before nothing holds any more.
  void Forget() { is_known_ = false; }

  // A rotation has committed, at `now_us` of a trusted time or of the best guess.
  void NoteRotation(const SpilledBuckets& spilled, int64_t now_us);

  // Whether a bucket of the view may be due or full.
  [[nodiscard]] bool MayBeDue(const SpillView& view, uint64_t table_changes, int64_t now_us) const;

 private:
  [[nodiscard]] bool KnowsRotationsOf(const SpillView& view) const;

  const SealLimits limits_;
  bool is_known_ = false;
  uint64_t table_changes_ = 0;
  uint64_t rotations_end_ = 0;           // the walk has looked at those below it
  std::set<uint64_t> noted_rotations_;   // behind it
  int64_t due_first_us_ = INT64_MAX;     // the first bucket is not due before
  // Of the fullest bucket that the walk met, and what rotations since it began, which it does not
  // see, may have added to it.
  uint64_t rows_walked_ = 0;
  uint64_t bytes_walked_ = 0;
  uint64_t rows_noted_ = 0;
  uint64_t bytes_noted_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_SEAL_OUTLOOK_H_
