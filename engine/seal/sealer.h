// Sealer: makes buckets immutable, in rounds.
#ifndef CISTERN_ENGINE_SEAL_SEALER_H_
#define CISTERN_ENGINE_SEAL_SEALER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cistern/engine.h"
#include "engine/seal/seal_policy.h"
#include "lib/base/memory_budget.h"
#include "storage/boot_table.h"
#include "storage/bucket_merge.h"
#include "storage/head_set.h"
#include "storage/spill_writer.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

// Which buckets to seal.
struct SealScope {
  bool due_only = true;              // otherwise all that match
  std::optional<uint32_t> table_id;  // of this table alone
  std::optional<std::string> entity;
  std::optional<int64_t> start_s;
  // Only buckets with rows of journal sequences up to this one.
  uint64_t journal_last = UINT64_MAX;
};

// A round takes the spilled segments of many buckets of one window, merges each bucket's
// into one segment of the window's family, reads the bytes back, and lets one synced batch
// make them count: manifests, outbox entries, and what the spill families have lost by it.
//
// What is in the head is not taken: the journal floor, which a rotation moves, is every
// bucket's cut. Segments never span it, replay begins behind it, and rotations that commit
// during a round have a higher sequence than it, so their segments are later rows.
//
// Belongs to the maintenance actor. Not while segments are being rewritten.
class Sealer {
 public:
  Sealer(Store* store, HeadSet* heads, TableSet* tables, BootTable* boots, MemoryBudget* budget,
         SealLimits limits)
      : store_(store),
        heads_(heads),
        tables_(tables),
        boots_(boots),
        limits_(limits),
        opened_(store->state()),
        charge_(budget) {
    ChargeWindows();
  }

  [[nodiscard]] bool idle() const { return phase_ == Phase::kIdle; }
  // Remembers which of the head's buckets are due: they are to be rotated, and are due
  // then. Whether there are any.
  [[nodiscard]] bool NoteDueInHead(const SealScope& scope, int64_t now_us);
  // Chooses a round's buckets; false if there are none, or no room. REQUIRES: idle(), no
  // rotation under way, every boot resolved.
  [[nodiscard]] Result<bool> Begin(const SealScope& scope, int64_t now_us);
  // One bounded step of the round. Damage ends the round, with everything as it was, and so
  // does kNoSpace if the sealer is idle then; after other errors nothing is known.
  [[nodiscard]] Status Step();
  // Whether an error means that stored bytes cannot be sealed as they are, not that the
  // store is in an unknown state.
  [[nodiscard]] static bool IsDamage(const Status& s) {
    return s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew ||
           s.code() == StatusCode::kTooLarge;
  }

  // Charges the budget for the windows that there are.
  void ChargeWindows() {
    charge_.Set(store_->spills().view()->windows.size() * limits::kWindowFamilyBytes);
  }

  [[nodiscard]] uint64_t buckets_sealed() const { return buckets_sealed_.load(); }
  [[nodiscard]] uint64_t amendments() const { return amendments_.load(); }
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_.load(); }

 private:
  enum class Phase : uint8_t { kIdle, kWrite, kFlush, kReadBack, kCommit, kFlushMeta };
  struct Candidate {
    BucketKey key;
    std::vector<SegmentRef> segments;
    bool is_sealed = false;  // before: what comes now amends it
  };
  [[nodiscard]] bool Matches(const SealScope& scope, const BucketKey& key) const;
  [[nodiscard]] bool IsCandidate(const SealScope& scope, const Candidate& candidate,
                                 int64_t now_us);
  [[nodiscard]] int64_t NewestInHead(const BucketKey& key) const;
  [[nodiscard]] int64_t NewestIn(uint64_t rotation, int64_t now_us);
  void ForgetOldRotations(const SpillView& view);
  [[nodiscard]] Status Collect(const SealScope& scope, int64_t now_us);
  struct Place {
    WindowSpan span;
    std::shared_ptr<const WindowFamily> window;  // null: one is to be made
  };
  [[nodiscard]] Result<bool> Takes(const Candidate& candidate, int64_t now_us);
  [[nodiscard]] Result<Place> PlaceFor(const Candidate& candidate, const SpillView& view,
                                       int64_t now_us) const;
  [[nodiscard]] Status WriteBuckets();
  [[nodiscard]] Status WriteBucket(Candidate candidate);
  [[nodiscard]] Status ReadBack();
  [[nodiscard]] Status CheckBucket(const SealCommit::Bucket& bucket) const;
  [[nodiscard]] Status Commit();
  [[nodiscard]] Status UnlessDamaged(Status s);
  [[nodiscard]] Status Flush();
  void GiveUp(const Status& why);
  Store* const store_;
  HeadSet* const heads_;
  TableSet* const tables_;
  BootTable* const boots_;
  const SealLimits limits_;
  const StateRecord opened_;  // as the store was opened
  MemoryCharge charge_;       // of the windows' families

  Phase phase_ = Phase::kIdle;
  std::map<uint64_t, int64_t> first_seen_us_;  // rotations of this opening
  std::set<std::string> due_in_head_;          // encoded bucket keys
  std::set<std::string> damaged_;              // not again in this opening

  // The round.
  std::vector<Candidate> candidates_;  // last one first
  size_t segment_count_ = 0;
  uint64_t candidate_bytes_ = 0;
  std::string current_;  // encoded key of the bucket at hand, to name it when it is damaged
  std::shared_ptr<const SegmentFamily> window_;
  bool window_is_new_ = false;  // it has no record yet
  // The family of a round that was given up before its window had a record: taken by the
  // next one. What was written there has no manifest and counts for nothing.
  std::shared_ptr<const SegmentFamily> spare_;
  std::optional<SpillWriter> writer_;
  SealCommit commit_;
  size_t next_check_ = 0;
  uint64_t amendments_in_round_ = 0;

  std::atomic<uint64_t> buckets_sealed_{0};
  std::atomic<uint64_t> amendments_{0};
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_SEALER_H_
