// RoundPlanner: looks through the open buckets for those that the next seal round takes.
#ifndef CISTERN_ENGINE_SEAL_ROUND_PLANNER_H_
#define CISTERN_ENGINE_SEAL_ROUND_PLANNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/seal/largest_run.h"
#include "engine/seal/seal_outlook.h"
#include "engine/seal/seal_policy.h"
#include "lib/base/memory_budget.h"
#include "storage/boot_table.h"
#include "storage/head_set.h"
#include "storage/journal_times.h"
#include "storage/keyspace.h"
#include "storage/segment_walker.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

// Which buckets to seal.
struct SealScope {
  bool due_only = true;              // otherwise all that match
  std::optional<uint32_t> table_id;  // of this table alone
  std::optional<std::string> entity;
  // Of the bucket that holds this event time, as the table is declared when it is looked at: it
  // may be altered while others are sealed.
  std::optional<int64_t> time;
  // Only buckets with rows of journal sequences up to this one.
  uint64_t journal_last = UINT64_MAX;
  friend bool operator==(const SealScope&, const SealScope&) = default;
};

// A bucket with open segments.
struct SealCandidate {
  BucketKey key;
  std::vector<SegmentRef> segments;
  bool is_sealed = false;  // before: what comes now amends it
  bool is_piece = false;   // newer segments of it are left for later rounds
};

// How much one round takes.
struct RoundSize {
  uint64_t bytes = 0;  // at most, but for one bucket, or one run of it
  uint64_t record_bytes_max = UINT64_MAX;  // RoundPlan::record_bytes
  // A bucket that is larger has no room as a whole, and is sealed in pieces.
  uint64_t bucket_bytes_max = UINT64_MAX;
  // A run (storage/segment_runs.h) that is larger has no room, though the ballast be given up.
  uint64_t run_bytes_max = UINT64_MAX;
};

// What one round seals, all of it into one window.
struct RoundPlan {
  std::vector<SealCandidate> candidates;  // in the order of their keys
  WindowSpan span;
  std::shared_ptr<const WindowFamily> window;  // null: one is to be made
  size_t segment_count = 0;
  uint64_t byte_count = 0;    // that is read for it, encoded
  uint64_t record_bytes = 0;  // that it writes beside pages, about
  size_t memory_bytes = 0;    // of the candidates, about
};

// A walk looks at the header of every spilled segment, 14 us for one that a seal has replaced.
// So it is made in steps, and goes on where a round that was full has ended: the rounds of one
// window need one walk together.
//
// Belongs to the maintenance actor.
class RoundPlanner {
 public:
  RoundPlanner(Store* store, const HeadSet* heads, const TableSet* tables, const BootTable* boots,
               MemoryBudget* budget, SealLimits limits)
      : store_(store),
        heads_(heads),
        tables_(tables),
        boots_(boots),
        limits_(limits),
        outlook_(limits),
        opened_(store->state()),
        charge_(budget) {
    if (store->spills().view()->families.empty()) runs_.EndLook();
  }

  // Remembers which buckets of the heads are due: they are to be rotated, and are due
  // then. Whether there are any new ones.
  [[nodiscard]] bool NoteDueInHead(const SealScope& scope, int64_t now_us);

  // A rotation has committed; `now_us` is nothing while the clock is not trusted.
  void NoteRotation(const SpilledBuckets& spilled, std::optional<int64_t> now_us);
  // Whether a walk may find a bucket that is due; false: it need not be made.
  [[nodiscard]] bool MayBeDue(int64_t now_us) const;
  [[nodiscard]] bool awaits_rotation() const { return !due_in_head_.empty(); }

  // Begins to look at what the store has now, for a round of such a size. No window may come or go
  // until the round ends.
  void Begin(const SealScope& scope, int64_t now_us, RoundSize size);
  // Looks at some more segments; false: the plan is ready. kCorruption: segments cannot be told.
  [[nodiscard]] Result<bool> Step();
  // Hands the plan over. Without candidates: a walk over everything found none.
  [[nodiscard]] RoundPlan TakePlan();
  // Of the smallest run that the last walk found no room for; 0: it met none.
  [[nodiscard]] uint64_t passed_over_bytes() const { return passed_over_bytes_; }
  // LargestRun::bytes.
  [[nodiscard]] std::optional<uint64_t> largest_run_bytes() const { return runs_.bytes(); }
  // The candidates of the plan are no longer held.
  void ReleasePlan() { charge_.Set(0); }
  // Ends what was begun, with nothing sealed: the next walk is over everything.
  void Abandon();
  // The buckets were sealed.
  void NoteSealed(const std::vector<BucketKey>& keys);
  // It cannot be sealed: it is not looked at again in this opening.
  void NoteDamaged(const BucketKey& key, const std::string& why) {
    damaged_[EncodeBucketKey(key)] = why;
  }
  // Why the damaged buckets of the scope are not sealed, each with its name.
  [[nodiscard]] std::vector<std::string> ProblemsOf(const SealScope& scope) const;

 private:
  [[nodiscard]] bool Matches(const SealScope& scope, const BucketKey& key) const;
  void NoteTime(int64_t now_us);
  [[nodiscard]] int64_t RestsSince(int64_t newest_write_us, int64_t now_us);
  [[nodiscard]] bool MayBeDueInHead(const Head& head, int64_t now_us) const;
  void NoteDueIn(const Head& head, const SealScope& scope, int64_t now_us);
  [[nodiscard]] bool IsCandidate();
  [[nodiscard]] int64_t NewestInHead(const BucketKey& key) const;
  [[nodiscard]] int64_t NewestIn(uint64_t rotation);
  [[nodiscard]] bool IsDueByAge(const TablePtr& table, int64_t due_at_us);
  void ForgetOldRotations();
  struct Place {
    WindowSpan span;
    std::shared_ptr<const WindowFamily> window;
  };
  [[nodiscard]] Result<Place> FindPlace() const;
  [[nodiscard]] bool PassesOver(uint64_t bytes);
  void NoteRuns();
  [[nodiscard]] bool IsPlanFull() const;
  [[nodiscard]] Result<bool> TakeCandidate();
  [[nodiscard]] bool EndWalk();

  Store* const store_;
  const HeadSet* const heads_;
  const TableSet* const tables_;
  const BootTable* const boots_;
  const SealLimits limits_;
  SealOutlook outlook_;
  const StateRecord opened_;  // as the store was opened
  MemoryCharge charge_;       // of the walk, then of the plan

  std::map<uint64_t, int64_t> first_seen_us_;  // rotations of this opening
  // The generation of the head that has rows whose timestamps lie ahead of the clock, and when that
  // was seen.
  struct Ahead {
    uint64_t epoch = 0;
    int64_t seen_us = 0;
  };
  std::optional<Ahead> ahead_;
  int64_t last_now_us_ = INT64_MIN;
  JournalTimes times_;
  LargestRun runs_;
  std::vector<uint64_t> due_in_head_;          // checksums of encoded bucket keys, ascending
  std::map<std::string, std::string> damaged_;  // encoded bucket keys, and why
  std::string resume_;   // key bytes where the next walk begins

  // While looking.
  SealScope scope_;
  int64_t now_us_ = 0;
  RoundSize size_;
  uint64_t passed_over_bytes_ = 0;
  std::shared_ptr<const SpillView> view_;
  std::optional<SegmentWalker> walker_;
  bool is_whole_walk_ = false;  // from the first bucket on
  SealCandidate candidate_;     // the bucket at hand
  RoundPlan plan_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_ROUND_PLANNER_H_
