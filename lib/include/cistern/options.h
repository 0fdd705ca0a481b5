// Options: every knob with its meaning, default and consequence.
#ifndef CISTERN_OPTIONS_H_
#define CISTERN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/clock.h"
#include "cistern/entity.h"
#include "cistern/limits.h"

namespace cistern {

// What a write has survived when it is answered. Ordered: later is stronger.
enum class Durability : uint8_t {
  kMemory = 0,  // asks for the head alone; treated as kLog, and the answer says kLog
  kLog = 1,     // in the operating system: survives the process; a power cut may lose
                // the newest rows back to the last sync, never older ones, never a gap
  kSynced = 2,  // on the device (fdatasync): survives power loss if the device honours flush
};

// What append does when a queue or the memory budget is full, or while the store is opened anew
// after a failure: wait, or be refused at once.
enum class BackPressure : uint8_t { kWait, kBusy };

// Severity, then one line without a newline. Called from any thread; must not
// call back into the engine and must not throw.
enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
using LogSink = std::function<void(LogLevel, std::string_view)>;

// Which windows of sealed buckets go before their time when the disk budget leaves no room. Where
// the file system itself is full, which others may have done, unconfirmed ones never do; and while
// others take what a window gave back, the next one waits: 10 s first, in the end an hour.
// Their rows are counted as versions_shed and the store's LOG names each window.
enum class DiskShed : uint8_t {
  kNothing,    // none: writes are refused with kNoSpace
  kConfirmed,  // the oldest that upstream has confirmed; then writes are refused
  kOldest,     // then the oldest of all, also those whose rows are nowhere else
};

// What is out of its range is refused by Engine::Open with the range; limits.h has the bounds.
struct EngineOptions {
  // --- behaviour
  bool create_if_missing = true;   // false: kNotFound when the directory holds no store
  // Open for reading alone: nothing is written, not even repairs, and no lock is taken, so
  // that it works beside a process that writes. What it shows is the store as it was when
  // it was opened; what is written later is seen by opening again. Beside a writer files
  // that such a reader still needs may be deleted: then its scans end with kIoError.
  bool read_only = false;
  std::shared_ptr<Clock> clock;    // null: SystemClock()
  // Wall times before this are lies: the clock is untrusted. Seconds since 1970;
  // 0 takes a date that is fixed in this version of Cistern, before its release.
  int64_t clock_floor_s = 0;
  // A wall clock that runs ahead of the last trusted reading plus the time passed since
  // then by more than this is not believed, whatever else speaks for it. From 0; default ten years.
  // A new store has clock_floor_s for that reading. A ceiling that is shorter than the time since
  // the floor therefore keeps the clock of a new store untrusted until it is confirmed.
  int64_t clock_ceiling_ahead_s = 10ll * 365 * 86400;
  // A wall clock that the monotonic clock contradicts, or that a boot finds further away than
  // clock_boot_ahead_s, is believed once it has gone on for as long as it jumped, but for no longer
  // than this; at once where Clock::Sync or Engine::ConfirmClock confirms it. Meanwhile rows are
  // taken, and nothing is sealed, confirmed or dropped. From 0: at once, to kClockDwellSecondsMax.
  // Longer: time to notice a wrong clock; shorter: sealing goes on sooner after a right one.
  int64_t clock_dwell_s = limits::kClockDwellSecondsDefault;
  // How far ahead of the last trusted time a boot may find the wall clock and believe it: about how
  // long the machine is switched off as a rule. From 0 to kClockBootAheadSecondsMax.
  int64_t clock_boot_ahead_s = limits::kClockBootAheadSecondsDefault;
  // Event times further ahead of a trusted clock are refused with kOutOfRange; those of single
  // rows that are deleted never.
  int64_t event_future_s_max = limits::kFutureSecondsDefault;

  // --- durability
  // With kLog and kMemory the journal is synced at least this often, by Tick or the
  // background thread. At most kSyncIntervalUsMax, an hour. Smaller: less to lose at a power cut,
  // more wear.
  int64_t sync_interval_us = 1'000'000;
  // With kSynced, how long a commit group may wait for company, at most kCommitIntervalUsMax, a
  // second. 0: sync at once.
  int64_t commit_interval_us = 0;

  // --- memory and disk: budgets, not hopes
  // What the engine holds, from kMemoryBudgetBytesMin. How large a batch may be and how many bytes
  // may be queued follow from it: limits::BatchBytesMax and limits::QueuedBytesMax. What the
  // allocator keeps of freed memory is the process's: with glibc's malloc fix the thresholds
  // (docs/operating.md, Memory), or large rows leave several budgets.
  size_t memory_budget_bytes = limits::kMemoryBudgetBytesDefault;
  uint64_t disk_budget_bytes = 0;  // 0: what the file system has
  // The head rotates at this age even when it is small, so that the journal stays short. From 1 to
  // kHeadAgeUsMax, a year.
  int64_t head_age_us_max = 3600ll * 1'000'000;

  // --- sealing
  // Whether buckets are sealed by Tick or the background thread when they are due; if not,
  // only Engine::Seal does it.
  bool seal_when_due = true;
  // A bucket is due this long after its end by the trusted clock, if no row came to it for
  // the idle time; either is at most kSealDelaySecondsMax, a year. Smaller: rows leave sooner, and
  // late ones make more amendments.
  int64_t seal_grace_s = 300;
  int64_t seal_idle_s = 300;
  // So many rows of a bucket, or so many encoded bytes, that are spilled are due at once: a
  // year's bucket leaves in pieces, each later one an amendment. 0: only time counts.
  uint64_t seal_rows_max = 1'000'000;
  // With a disk budget, at most a sixteenth of it, so that a small disk has room for a piece.
  uint64_t seal_bytes_max = 16ull << 20;
  // A row leaves at most about so long after it was written, plus head_age_us_max, although its
  // bucket goes on: a month's bucket leaves in pieces, each later one an amendment. A bucket that
  // is due within an eighth of that time is waited for. At most kSealDelaySecondsMax, a year. 0:
  // rows leave when their bucket is due. Smaller: rows arrive sooner, and each piece costs a
  // segment, a manifest and a send.
  int64_t seal_age_s_max = 0;

  // --- local retention, by whole windows of sealed buckets. What has expired goes anyway.
  // How long a window stays after its end and after upstream has confirmed all of it, at most
  // kKeepSecondsMax, a hundred years.
  int64_t keep_confirmed_s = 30ll * 86400;
  // How long one stays after its end that upstream has not confirmed. 0: for ever. Else its
  // rows are lost then, and counted as versions_shed.
  int64_t keep_unconfirmed_s = 0;
  DiskShed disk_shed = DiskShed::kConfirmed;

  // --- threads
  // true: one maintenance thread and `scan_threads` read-ahead threads. false: the
  // host drives everything by Tick, and scans read in the caller's thread.
  bool background_threads = true;
  uint32_t scan_threads = 2;  // more than kScanThreadsMax are taken for as many; 0: as with false

  LogSink log_sink;  // null: messages go only to the store's own bounded LOG file
};

struct WriteOptions {
  Durability durability = Durability::kSynced;
  BackPressure back_pressure = BackPressure::kWait;
};

// What a row must be for a filtered scan to give it: `column comparison value`. The value is a CQL
// literal without quotes ("21.5", "OK", "2027-01-15T00:00:00Z"). Compared by the order of the
// column's type, which rows are sorted by too: text, ascii, blob and inet by their bytes; of floats
// and doubles -0.0 is below 0.0, and NaN is above infinity and equal to itself. A cell without a
// value meets no condition, kNotEqual neither.
enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};
struct Condition {
  std::string column;
  Comparison comparison = Comparison::kEqual;
  std::string value;
};

// A scan of one entity. The bounds are event times in ticks of the table's
// time_unit; rows with min(from,to) <= time < max(from,to) are returned, ascending
// when from < to, descending when from > to. INT64_MIN and INT64_MAX mean unbounded;
// a range that is unbounded on either side needs a limit.
struct ScanRequest {
  std::string table{};  // name, or keyspace.name
  EntityKey entity{};
  int64_t from = INT64_MIN;
  int64_t to = INT64_MAX;
  // Rows over the whole scan, those before the token included; 0: none. To page by it,
  // raise it by a page for each token: see Cursor::Token. A token that stands at the
  // limit already is kInvalidArgument.
  uint64_t limit = 0;
  std::vector<std::string> columns{};   // projection; empty: all, in declared order
  // Rows must meet all of them, at most limits::kConditionsMax. Of clustering and regular columns,
  // whatever is projected; not of decimals and collections. Pages that cannot hold such a row are
  // not read where nothing else has rows of their times. With a limit, rows that were passed over
  // do not count.
  std::vector<Condition> where{};
  std::string token{};                  // continue where an earlier cursor's Token() stood
  size_t batch_rows_max = limits::kScanBatchRowsDefault;
  // Buckets that other threads open before their turn, at most kScanBucketsAheadMax; 1: none.
  // 0: a few, as long as a bucket takes longer to open than it takes to hand it over, as on a slow
  // device; what is in memory costs one thread half of the CPU.
  size_t buckets_ahead = 0;
};

}  // namespace cistern

#endif  // CISTERN_OPTIONS_H_
