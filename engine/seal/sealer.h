// Sealer: makes buckets immutable, in rounds.
#ifndef CISTERN_ENGINE_SEAL_SEALER_H_
#define CISTERN_ENGINE_SEAL_SEALER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <optional>
#include <string>
#include <vector>

#include "cistern/engine.h"
#include "engine/seal/bucket_seal.h"
#include "engine/room_backoff.h"
#include "engine/seal/round_planner.h"
#include "engine/seal/seal_dictionaries.h"
#include "lib/base/memory_budget.h"
#include "storage/boot_table.h"
#include "storage/head_set.h"
#include "storage/spill_writer.h"
#include "storage/store.h"
#include "storage/table_set.h"

namespace cistern {

// A round takes the spilled segments of many buckets of one window, merges each bucket's
// into one segment of the window's family, reads the bytes back, and lets one synced batch
// make them count: manifests, outbox entries, and what the spill families have lost by it.
//
// What is in the head is not taken: the journal floor, which a rotation moves, is every
// bucket's cut. Segments never span it, replay begins behind it, and rotations that commit
// during a round have a higher sequence than it, so their segments are later rows. Where room is
// short a bucket is sealed in pieces, its oldest rotations first: their manifests name these.
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
        planner_(store, heads, tables, boots, budget, limits),
        dictionaries_(budget),
        charge_(budget),
        at_hand_charge_(budget) {
    ChargeWindows();
  }

  [[nodiscard]] bool idle() const { return phase_ == Phase::kIdle; }
  // RoundPlanner::NoteDueInHead.
  [[nodiscard]] bool NoteDueInHead(const SealScope& scope, int64_t now_us) {
    return planner_.NoteDueInHead(scope, now_us);
  }
  // RoundPlanner::NoteRotation, MayBeDue.
  void NoteRotation(const SpilledBuckets& spilled, std::optional<int64_t> now_us) {
    planner_.NoteRotation(spilled, now_us);
  }
  [[nodiscard]] bool MayBeDue(int64_t now_us) const { return planner_.MayBeDue(now_us); }
  // Whether what NoteDueInHead found is to be rotated or sealed still.
  [[nodiscard]] bool awaits_rotation() const { return planner_.awaits_rotation(); }
  // Begins a round: its first steps choose the buckets. REQUIRES: idle(), no rotation or
  // rewriting under way, room on the device.
  [[nodiscard]] Status Begin(const SealScope& scope, int64_t now_us);
  // Whether the last round was for the scope and found nothing that it could seal.
  [[nodiscard]] bool IsThrough(const SealScope& scope) const {
    return idle() && is_through_ && scope == scope_;
  }
  // One bounded step of the round. A damaged bucket is left out. Where not even the buckets can
  // be told, none is left, or there is no room, the round ends with that error, and everything
  // is as it was: idle() then. After other errors nothing is known.
  [[nodiscard]] Status Step();
  // How the last round ended, if it was given up.
  [[nodiscard]] const Status& why_given_up() const { return why_given_up_; }
  // RoundPlanner::passed_over_bytes: why the last round was given up, if it is not 0.
  [[nodiscard]] uint64_t passed_over_bytes() const { return planner_.passed_over_bytes(); }
  // What rows are to leave twice the room of, encoded: the largest run, or as much as a round asked
  // for that found no room. Nothing: it is not known yet.
  [[nodiscard]] std::optional<uint64_t> BytesToKeepRoomFor();
  // Why something that is due is not sealed: what the last round that was given up met, until
  // another one counts, or a bucket that is damaged.
  [[nodiscard]] Status trouble() const;
  // What must be free for the least round that is left: for a run that was passed over, if it fits.
  [[nodiscard]] uint64_t RoomOfLeastRound();
  // What of the scope could not be sealed in this opening, and why; after IsThrough(scope).
  [[nodiscard]] std::vector<std::string> ProblemsOf(const SealScope& scope) const;
  // Whether an error means that stored bytes cannot be sealed as they are, not that the
  // store is in an unknown state.
  [[nodiscard]] static bool IsDamage(const Status& s) {
    return s.code() == StatusCode::kCorruption || s.code() == StatusCode::kTooNew ||
           s.code() == StatusCode::kTooLarge;
  }

  // Charges the budget for the windows that there are, and the dictionaries that are read.
  void ChargeWindows();

  [[nodiscard]] uint64_t buckets_sealed() const { return buckets_sealed_.load(); }
  [[nodiscard]] uint64_t amendments() const { return amendments_.load(); }
  [[nodiscard]] uint64_t versions_repeated() const { return versions_repeated_.load(); }
  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_.load(); }

 private:
  enum class Phase : uint8_t { kIdle, kPlan, kWrite, kFlush, kReadBack, kCommit, kFlushMeta };
  struct Written {
    SealCommit::Bucket bucket;
    std::map<uint64_t, uint64_t> versions_read;  // by spill family
    bool amends = false;                         // it was sealed before
    bool is_piece = false;                       // what is left of it is as due as before
    std::set<uint64_t> awaited;                  // families that may have more rows of it
    uint64_t repeats = 0;                        // that were left out
  };
  [[nodiscard]] Status Plan();
  [[nodiscard]] Status BeginWriting();
  [[nodiscard]] Status WriteBuckets();
  [[nodiscard]] RoundSize SizeOfRound();
  [[nodiscard]] uint64_t RoomFor(uint64_t round_bytes, uint64_t record_bytes);
  [[nodiscard]] uint64_t BytesIn(uint64_t room_bytes);
  void BeginBucket();
  [[nodiscard]] Status LeaveOut(const BucketKey& key, const Status& why);
  [[nodiscard]] Status Flush();
  [[nodiscard]] Status ReadBack();
  [[nodiscard]] Status CheckDictionaries() const;
  [[nodiscard]] Result<bool> CheckPage(const SealCommit::Bucket& bucket);
  [[nodiscard]] SealCommit MakeCommit() const;
  [[nodiscard]] Status Commit();
  [[nodiscard]] Status GiveUp(Status why);
  void EndBucket();
  void EndRound(Phase next);
  [[nodiscard]] Status DropWrittenSpare();
  Store* const store_;
  HeadSet* const heads_;
  TableSet* const tables_;
  BootTable* const boots_;
  RoundPlanner planner_;
  SealDictionaries dictionaries_;
  MemoryCharge charge_;  // of the windows' families
  MemoryCharge at_hand_charge_;
  static constexpr uint64_t kSurplusBytesMax = 4 << 20;  // small rounds are what frees a full disk
  RoomBackoff room_{kSurplusBytesMax};

  Phase phase_ = Phase::kIdle;
  SealScope scope_;          // of the last round
  bool is_through_ = false;  // it found nothing
  Status why_given_up_;      // it
  Status trouble_;           // since the last round that did not end so
  bool said_full_ = false;   // that rounds find no room, in the log of events
  int64_t began_s_ = 0;

  // The round.
  uint64_t round_ = 0;  // its number: every segment that it takes has a lower one
  RoundPlan plan_;      // candidates: the last one first
  WindowSpan span_;
  std::shared_ptr<const SegmentFamily> window_;
  bool window_is_new_ = false;  // it has no record yet
  // The family of a round that was given up before its window had a record: taken by the
  // next one, or dropped if there are pages in it.
  std::shared_ptr<const SegmentFamily> spare_;
  bool spare_is_written_ = false;
  std::optional<SpillWriter> writer_;
  std::unique_ptr<BucketSeal> at_hand_;  // what is being written; null: none
  bool amends_ = false;                  // it was sealed before
  bool is_piece_ = false;                // of its bucket
  std::set<uint64_t> awaited_;           // families with files that may have more rows of it
  std::vector<Written> written_;
  size_t next_check_ = 0;             // of them
  std::unique_ptr<SealCheck> check_;  // of that one; null: not begun

  std::atomic<uint64_t> buckets_sealed_{0};
  std::atomic<uint64_t> amendments_{0};
  std::atomic<uint64_t> versions_repeated_{0};
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_SEALER_H_
