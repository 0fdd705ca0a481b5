// WriteClock: what write timestamps begin with. It never falls over the life of the store: the
// clock's millisecond, or what an earlier group began with.
#ifndef CISTERN_ENGINE_INGEST_WRITE_CLOCK_H_
#define CISTERN_ENGINE_INGEST_WRITE_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "cistern/clock.h"
#include "cistern/result.h"
#include "engine/ingest/clock_guard.h"
#include "storage/boot_table.h"
#include "storage/store.h"

namespace cistern {

// For a commit group: its timestamps are at least least_us, and are stored less base_us. On an
// untrusted clock that is the base of boot `boot`, and expiry is a TTL until time is known.
struct IssuedStamps {
  int64_t least_us = 0;
  int64_t base_us = 0;
  uint32_t boot = 0;
  int64_t now_s = 0;  // second of the write, for expiry; meaningless when boot != 0
};

// The committer issues under its lock; Poll and now_s may be called from any thread.
class WriteClock {
 public:
  WriteClock(std::shared_ptr<Clock> clock, ClockLimits limits, Store* store, BootTable* boots);

  // Continues above `last_us` (effective) and, for `boot` of this very boot of the
  // machine, above its count: what replay found.
  void NoteIssued(int64_t write_us, uint32_t boot);
  // A write timestamp as it is believed now: one of a boot that is not 0 moves with its base.
  [[nodiscard]] int64_t Effective(int64_t write_us, uint32_t boot) const;
  // Whether the boot has a record; 0, a trusted clock, needs none.
  [[nodiscard]] bool KnowsBoot(uint32_t boot) const { return boot < boots_->next_number(); }

  // Fails only when a boot record cannot be made durable. `least_us` is that of the group before or
  // later, so that a group may give its rows what earlier ones gave theirs; the largest that it
  // gave is to be noted.
  [[nodiscard]] Result<IssuedStamps> Issue();
  void NoteGiven(int64_t largest_us);
  // What is issued from now on is above all that was given: nobody knows any more to which rows.
  void Part() { is_apart_ = true; }

  // Judges the clock. Resolves the current boot once time is known, and keeps what is known of
  // time, where the disk has room for their records. REQUIRES: the committer's lock and the
  // maintenance actor's.
  [[nodiscard]] Status Poll();
  // A person says that the wall clock is right; durable when it answers. kOutOfRange, kNoSpace:
  // nothing has changed. REQUIRES: as Poll.
  [[nodiscard]] Status Confirm();
  // Keeps what is known of time, if it was not for a while; at close. REQUIRES: as Poll.
  [[nodiscard]] Status Keep();
  // Judges the clock, changes nothing else and tells what is believed. REQUIRES: the committer's
  // lock.
  [[nodiscard]] ClockReport Report();
  // What is known of time, for a state record that is written anyway. REQUIRES: as Poll.
  [[nodiscard]] ClockRecord TakeRecord();
  [[nodiscard]] const ClockRecord& record() const { return guard_.record(); }

  // The second by which rows are shown, stamped and sealed: the wall clock while it is believed,
  // otherwise what was believed last and what the monotonic clock says has passed since.
  [[nodiscard]] int64_t now_s() const;
  // What has passed for certain, never ahead of now_s: rows that are nowhere else go by it.
  [[nodiscard]] int64_t certain_s() const;
  [[nodiscard]] bool trusted() const { return trusted_.load(std::memory_order_relaxed); }
  // Trusted, and no boot record waits for its time: provisional rows may be rewritten.
  [[nodiscard]] bool settled() const { return settled_.load(); }
  [[nodiscard]] int64_t last_issued_us() const { return last_us_.load(std::memory_order_relaxed); }
  [[nodiscard]] int64_t monotonic_us() const { return clock_->MonotonicMicros(); }

 private:
  [[nodiscard]] ClockReading Read() const;
  [[nodiscard]] bool Judge(ClockReading* reading, bool ask_sync);
  void Publish();
  void Tell();
  [[nodiscard]] bool HasLeapt() const;
  [[nodiscard]] Status KeepRecord();
  void BeginAt(int64_t clock_us);
  [[nodiscard]] Status OpenBoot(int64_t monotonic_us);
  [[nodiscard]] Status ResolveBoot(int64_t wall_us, int64_t monotonic_us);

  const std::shared_ptr<Clock> clock_;
  const ClockLimits limits_;
  Store* const store_;
  BootTable* const boots_;
  const std::string boot_id_;

  // Committer's lock:
  ClockGuard guard_;
  ClockRecord kept_;         // what the store has
  bool is_doubted_ = false;  // and LOG says so
  uint32_t boot_ = 0;           // open boot record, 0: none
  int64_t boot_count_us_ = -1;  // largest count given for it
  int64_t least_us_ = 0;        // what the last group began with
  bool is_apart_ = true;        // the next one begins above all that was given

  std::atomic<bool> trusted_{false};
  std::atomic<bool> settled_{false};
  std::atomic<int64_t> last_us_{0};  // the largest that was given, effective
  // Of the trusted and of the certain time, less the monotonic clock; lowest int64: none.
  std::atomic<int64_t> now_less_monotonic_us_{INT64_MIN};
  std::atomic<int64_t> certain_less_monotonic_us_{INT64_MIN};
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_INGEST_WRITE_CLOCK_H_
