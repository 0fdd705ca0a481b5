// Committer: drains the queues, writes one journal record per group, feeds the head.
#ifndef CISTERN_ENGINE_INGEST_COMMITTER_H_
#define CISTERN_ENGINE_INGEST_COMMITTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/bucketing/bucketer.h"
#include "engine/bucketing/split_policy.h"
#include "engine/ingest/ingest_queue.h"
#include "engine/ingest/write_clock.h"
#include "lib/base/memory_budget.h"
#include "storage/head_set.h"
#include "storage/journal_encoder.h"
#include "storage/store.h"

namespace cistern {

// When the head rotates, from the memory budget. What a generation holds in memory is its rows, the
// coder's state, and the journal's records, which RocksDB keeps in a memtable.
struct HeadLimits {
  size_t bytes = 0;  // of both generations
  // At which the active one is frozen: pages are the longer and files the fewer the more it has.
  // What is left takes rows until the frozen one is in segments, which is soon.
  [[nodiscard]] size_t generation_bytes() const { return bytes / 4 * 3; }
  // A generation is frozen at this part of the disk at the latest: what it has of one bucket is
  // sealed at once, and there must be room for it.
  static constexpr uint64_t kPiecesOfDisk = 16;
  uint64_t disk_bytes = UINT64_MAX;  // the disk budget; the device may have less
  // Rows alone while they are replayed, where they can be spilled: the records that they come from
  // stay until the next rotation. What cannot be spilled may have all that it had before.
  [[nodiscard]] size_t replayed_bytes(bool can_spill) const {
    return can_spill ? bytes / 8 * 3 : bytes;
  }
};

// What a frozen generation takes with it into segments.
struct FrozenState {
  uint64_t journal_floor = 0;     // last sequence of the generation
  uint64_t versions_written = 0;  // of the store, up to it
  uint64_t version_count = 0;     // in the frozen head
  uint64_t journal_bytes = 0;     // of the generation: about what its segments need at most
  size_t memory_bytes = 0;        // of the generation
  int64_t write_us_last = 0;
  ClockRecord clock;              // what is known of time when this is asked for
};

struct CommitCounters {
  std::atomic<uint64_t> groups{0};
  std::atomic<uint64_t> journal_bytes{0};
  std::atomic<uint64_t> syncs{0};
  std::atomic<uint64_t> busy_rejections{0};
  std::atomic<uint64_t> rows_provisional{0};
};

// Any waiting producer may lead: it takes the lock, drains every queue and commits for
// all. While the device syncs, the next group gathers in the queues. The others wait for the end
// of the round, and not for the lock: those whose rows were in it are gone at once, and no round
// begins with the rows of one of them alone.
//
// Whatever was queued is answered, also where an exception ends a round. One that leaves a group or
// the freezing of a head half done fails the committer. Thread-safe.
class Committer {
 public:
  Committer(Store* store, HeadSet* heads, TableSet* tables, WriteClock* clock, MemoryBudget* budget,
            HeadLimits limits, int64_t commit_interval_us);
  ~Committer();

  // --- opening
  // Rebuilds the head from the journal. `overflow` is called whenever the head is full
  // and must write it into segments with that state.
  using OverflowFunction = std::function<Status(const FrozenState&)>;
  [[nodiscard]] Status Replay(const OverflowFunction& overflow, bool read_only,
                              RecoveryReport* report);

  // Records up to this one were acknowledged and are lost: their sequences are never
  // given again, and the journal may begin behind them. At open.
  [[nodiscard]] Status GiveUpTo(uint64_t sequence, const OverflowFunction& overflow,
                                RecoveryReport* report);

  // --- producers
  void AddQueue(std::shared_ptr<IngestQueue> queue);
  void RemoveQueue(const std::shared_ptr<IngestQueue>& queue);
  // Commits queued units until `outcome` is known, or Retire was called. `help` is called,
  // without the lock, when the head is full and a frozen one is in the way: it brings the rotation
  // forward.
  void CommitUntilDone(const WriteOutcome& outcome, const std::function<Status()>& help);
  // Commits what is queued, and takes nothing from the queues any more: what is left in them is
  // their producers' again.
  void Retire();
  [[nodiscard]] bool is_retired() const { return retired_; }
  [[nodiscard]] size_t queued_units() const;
  // Commits whatever is queued; for maintenance. Returns whether there was anything.
  bool CommitQueued();
  // Counts a write that was turned away, and says so.
  [[nodiscard]] Status RejectBusy();
  // Whether a write would be taken without waiting for a rotation.
  [[nodiscard]] bool HasRoom();
  // OK if rows would be taken now; otherwise why not: the failure, or kNoSpace, for which
  // maintenance makes room where it can.
  [[nodiscard]] Status AcceptsRows();

  // --- maintenance
  // Syncs the journal if anything is not yet durable.
  [[nodiscard]] Status SyncNow();
  // Syncs if the oldest unsynced record is older than `interval_us`.
  [[nodiscard]] Status SyncIfDue(int64_t interval_us, bool* did);
  // Freezes the active head if it holds anything, nothing is frozen and the next journal
  // family is ready. Returns whether a frozen head exists.
  bool Freeze();
  [[nodiscard]] bool HeadIsOlderThan(int64_t age_us) const;
  // When the oldest row in the heads was written, microseconds since 1970 as the clock is believed
  // now; nothing: they are empty. At once, whatever is committed meanwhile.
  [[nodiscard]] std::optional<int64_t> OldestInHeads() const;
  // Whether segments would give disk space back: the journal of the head is long for its disk, or
  // rows were refused beside a head that takes its room. Forgets the refusal.
  [[nodiscard]] bool HeadIsLargeForDisk();
  // Free room with which rows are taken, once what is in the heads is in segments: windows are shed
  // for as much (Store::CheckRoomForRows).
  [[nodiscard]] uint64_t RoomSought();
  // Rows leave the room that a seal of so many encoded bytes takes. Nothing, as at an opening: the
  // spilled runs are not known, and may be as large as what is spilled.
  void KeepRoomToSeal(std::optional<uint64_t> bytes);
  // For the batch that commits the rotation, which keeps what is known of time as well.
  [[nodiscard]] FrozenState frozen_state() const;
  // Since when something waits for a sync or for the head's rotation, monotonic; 0: nothing does.
  struct Waiting {
    int64_t unsynced_since_us = 0;
    int64_t rows_since_us = 0;
  };
  [[nodiscard]] Waiting waiting() const;
  // While it lives nothing is committed: writers wait as for a rotation. One at a time, of the
  // maintenance actor.
  class Hold {
   public:
    explicit Hold(Committer* committer) : committer_(committer) { committer_->SetHeld(true); }
    ~Hold() { committer_->SetHeld(false); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Committer* const committer_;
  };
  // Calls `look` with the last journal sequence while nothing is committed: writers wait for it as
  // for one sync. Whatever is in the journal up to it has reached the operating system.
  [[nodiscard]] Status WhileStill(const std::function<Status(uint64_t sequence)>& look);
  // As WriteClock has them, under the committer's lock.
  [[nodiscard]] Status PollClock();
  [[nodiscard]] Status ConfirmClock();
  [[nodiscard]] Status KeepClock();
  [[nodiscard]] ClockReport ReportClock();

  // Refuses every write with `status` from now on: after an error of unknown outcome
  // only a reopen helps.
  void Fail(const Status& status);
  [[nodiscard]] Status failure() const;
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }

  [[nodiscard]] uint64_t synced_sequence() const { return synced_.load(); }
  [[nodiscard]] uint64_t last_sequence() const { return sequence_.load(); }
  [[nodiscard]] const CommitCounters& counters() const { return counters_; }

 private:
  struct PlacedRow;
  enum class Room : uint8_t { kYes, kWait };
  [[nodiscard]] size_t ActiveBytes() const;
  [[nodiscard]] Room MakeRoom();
  void SetHeld(bool held);
  bool CommitQueuedLocked();
  void LeadRound(const WriteOutcome& outcome, const std::function<Status()>& help);
  [[nodiscard]] Status TryRound(const WriteOutcome& outcome, const std::function<Status()>& help);
  [[nodiscard]] bool TakeCurrentTable(WriteUnit* unit) const;
  void DrainQueues();
  void CommitDrained();
  bool AnswerQueued(const Status& status);
  [[nodiscard]] Status WriteGroup(const std::vector<WriteUnit*>& units, size_t bytes, bool sync);
  [[nodiscard]] Status TakeDiskRoom(const std::vector<WriteUnit*>& units, size_t bytes);
  [[nodiscard]] Status RoomForRows(uint64_t bytes);
  [[nodiscard]] Status RoomForDeletes(uint64_t bytes);
  void NoteRefusal(uint64_t bytes);
  void LookAtDisk();
  [[nodiscard]] uint64_t PieceBytes() const;
  [[nodiscard]] uint64_t SpilledRunBytes() const;
  [[nodiscard]] uint64_t SealReserveBytes(uint64_t run_bytes) const;
  [[nodiscard]] uint64_t FrozenJournalBytes() const;
  [[nodiscard]] uint64_t RotationBytes() const;
  [[nodiscard]] int64_t EncodeGroup(const std::vector<WriteUnit*>& units,
                                    const IssuedStamps& stamps);
  void WaitForCompany(bool sync) const;
  void NoteWritten(bool synced);
  void ApplyGroup();
  void EncodeRows(const WriteUnit& unit, const IssuedStamps& stamps, int64_t* largest_us);
  // What a generation begins with; made before the one before it is left.
  struct NewGeneration {
    std::unique_ptr<Head> head;
    std::unique_ptr<JournalEncoder> encoder;
  };
  [[nodiscard]] NewGeneration MakeGeneration() const;
  void StartGeneration(NewGeneration next);
  [[nodiscard]] Status SpillReplayed(uint64_t journal_floor, const OverflowFunction& overflow);
  [[nodiscard]] Status PassLoss(const OverflowFunction& overflow, RecoveryReport* report);
  bool FreezeLocked();

  Store* const store_;
  HeadSet* const heads_;
  TableSet* const tables_;
  WriteClock* const clock_;
  MemoryBudget* const budget_;
  const HeadLimits limits_;
  const int64_t commit_interval_us_;

  mutable std::mutex queues_mutex_;
  std::vector<std::shared_ptr<IngestQueue>> queues_;

  std::atomic<bool> is_led_{false};   // a waiting producer leads
  std::atomic<uint32_t> rounds_{0};   // that were led; waiting producers wait for the next
  std::atomic<bool> retired_{false};  // set under the leader's lock

  mutable std::mutex mutex_;  // the leader's; everything below
  std::unique_ptr<JournalEncoder> encoder_;
  // Of this round: taken from the queues and not answered yet, or null; and those of one group.
  std::vector<WriteUnit*> drained_;
  std::vector<WriteUnit*> group_;
  std::vector<PlacedRow> placed_;                // scratch: rows of the group, where they go
  std::map<uint32_t, RoundRobin> round_robins_;  // by table
  FrozenState frozen_;
  // Monotonic, of the first row; written under the lock. That of the frozen generation tells
  // nothing where there is none.
  std::atomic<int64_t> generation_start_us_{0};
  std::atomic<int64_t> frozen_start_us_{0};
  uint64_t replayed_bytes_ = 0;      // of the journal, whose rows the active head has: at open
  bool held_ = false;
  bool was_refused_room_ = false;    // rows were, since HeadIsLargeForDisk
  uint64_t refused_bytes_ = 0;       // that they needed, until rows are taken again
  std::optional<int64_t> refused_at_us_;  // monotonic, when maintenance was told of it
  uint64_t disk_bytes_ = 0;          // of the device or the budget, when it was looked at
  std::optional<uint64_t> seal_bytes_;  // KeepRoomToSeal
  uint64_t generation_deletes_ = 0;  // range deletes in the active head
  int64_t unsynced_since_us_ = 0;    // monotonic; 0: all is synced
  int64_t last_sync_us_ = 0;
  uint64_t disk_room_bytes_ = 0;  // may be written before the disk is asked again

  std::mutex sync_mutex_;  // one sync at a time; taken before mutex_

  mutable std::mutex failure_mutex_;
  Status failure_;
  std::atomic<bool> has_failed_{false};  // set behind failure_

  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> synced_{0};
  CommitCounters counters_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_COMMITTER_H_
