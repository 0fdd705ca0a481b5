// Engine: opens a store, takes rows, answers scans, does its own maintenance.
#ifndef CISTERN_ENGINE_H_
#define CISTERN_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/aggregate.h"
#include "cistern/backup.h"
#include "cistern/cursor.h"
#include "cistern/metrics.h"
#include "cistern/options.h"
#include "cistern/result.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"

namespace cistern {

// The answer to a write.
struct WriteResult {
  Durability durability = Durability::kSynced;  // reached; never less than asked
  uint64_t sequence = 0;                        // of the commit group; grows over the store's life
};

// Names a submitted write until its outcome was asked for.
struct Ticket {
  uint64_t id = 0;
};

// A place to append from. Each has its own bounded queue; use one per sensor
// thread. One thread at a time. Must not outlive its engine.
class CISTERN_EXPORT Producer {
 public:
  virtual ~Producer() = default;

  // Appends every row of `batch`, or none, and answers when the asked durability is
  // reached. What was answered is visible to every scan begun later.
  //
  //   kInvalidArgument  a row does not fit the table; a delete, and the table has the timestamps
  //                     of its events
  //   kOutOfRange       an event time is beyond what the clock allows, or absurd
  //   kTooLarge         a limit of limits.h, BatchBytesMax among them
  //   kBusy             a queue or the memory budget is full, and the policy is kBusy
  //   kNoSpace          the disk budget or the disk is full
  //   kIoError, kOutOfMemory
  //                     outcome unknown: the rows may or may not be stored. Append the
  //                     same rows again once the engine works again; it is harmless
  //
  // The engine copies what it keeps: `batch` may be reused on return.
  [[nodiscard]] virtual Result<WriteResult> Append(const RowBatch& batch,
                                                   const WriteOptions& options = {}) = 0;

  // Queues the batch and returns at once; Wait() tells the outcome, to those who ask. A full queue
  // is kBusy whatever the policy: a sensor thread is never stalled here. Full is a queue of
  // limits::kProducerQueueSlots batches, or of limits::QueuedBytesMax bytes in all queues, or the
  // memory budget. The batch gives its memory back when its outcome is known.
  //
  // Moves from `batch` if the answer is OK; otherwise `batch` is as it was, and can be submitted
  // again.
  [[nodiscard]] virtual Result<Ticket> Submit(RowBatch&& batch,
                                              const WriteOptions& options = {}) = 0;
  // The same with a copy, which is made only if the answer is OK.
  [[nodiscard]] virtual Result<Ticket> Submit(const RowBatch& batch,
                                              const WriteOptions& options = {}) = 0;
  // The outcome of a submitted batch; waits for it. Each ticket can be asked once. The outcomes of
  // the last limits::kOutcomesMax batches are kept; kNotFound: it is not among them.
  [[nodiscard]] virtual Result<WriteResult> Wait(Ticket ticket) = 0;
};

// What Engine::Tick may spend and what it did.
struct TickBudget {
  size_t steps_max = 16;
};
struct TickReport {
  size_t steps_done = 0;
  bool more_due = false;  // call again soon
};

// A line of the bucket inventory.
struct BucketInfo {
  std::string table;         // name, or keyspace.name
  std::string entity;        // EntityToText
  std::string bucket;        // the bucket column's value, as CQL literal
  uint32_t split = 0;
  // "open"; "sealed" if nothing came since the last seal; "quarantined" if a page or segment
  // of it is known to be unreadable (Verify looks at all of them): scans have a gap there
  std::string state;
  uint64_t versions = 0;     // row versions
  uint64_t segments = 0;     // spilled and sealed ones, without the head
  uint64_t seals = 0;        // how often it was sealed
  uint64_t seal_sequence = 0;  // of the last seal; grows over the store's life
  uint64_t bytes = 0;        // encoded bytes in segments
  // Event times in the table's ticks; nothing: no row, but deletes of ranges or of the bucket
  std::optional<int64_t> first_time;
  std::optional<int64_t> last_time;
  int64_t bucket_start = 0;  // in the table's ticks
  int64_t bucket_end = 0;    // not included
};

// Which buckets Engine::Seal takes.
struct SealRequest {
  bool due_only = true;             // false: whatever else is said, also those that still go on
  std::string table{};              // empty: every table
  std::optional<EntityKey> entity{};  // with a table
  std::optional<int64_t> time{};    // the bucket that holds this event time; with a table
};
struct SealReport {
  uint64_t buckets = 0;     // sealed, amendments included
  uint64_t amendments = 0;  // of buckets that were sealed before
  uint64_t bytes = 0;       // written for them
  std::vector<std::string> problems;  // damaged buckets, which stay as they were
  // kNoSpace: the disk was full before all was sealed; what is counted above is, and can be sent.
  // OK: it came to its end. Any other error, and a full disk before the first bucket, is what Seal
  // gives instead of a report.
  Status stopped;
};

// When a window of sealed buckets goes, and why it is still there.
struct WindowOutlook {
  std::string window;  // "window 12", as the store's LOG calls it
  // The event times that it is for, seconds since 1970, to_s not included. Nothing: all times, as
  // of the window that takes what finds no other (limits::kWindowFamilyCountMax).
  std::optional<int64_t> from_s;
  std::optional<int64_t> to_s;
  uint64_t versions = 0;  // row versions, expired ones too
  // Seconds since 1970, by what it holds now and by the retention options of this engine. May be
  // past: it goes at the next Expire or Tick. Nothing: time alone does not end it. For want of
  // room one may go before (EngineOptions::disk_shed), and later rows may keep it longer.
  std::optional<int64_t> ends_at_s;
  // For people: "rows live until 2027-02-01T00:00:00Z; upstream has not confirmed 3 of 3 segments"
  std::string why;
};

// A line of the inventory of windows: a family of files that goes as a whole.
struct WindowInfo : WindowOutlook {
  // "window"; "old", that of all times; "spill", of segments of buckets that are open: one goes
  // when all of it is sealed, its times are those of its buckets, and its counts are without what
  // is sealed, but for the bytes.
  std::string kind{};
  // Its retention class: tables whose windows are so wide, as long as they are new, share them.
  // 0: of no class.
  uint64_t class_width_s = 0;
  std::vector<std::string> tables{};  // that have buckets in it, as they were created
  uint64_t buckets = 0;
  uint64_t segments = 0;  // as many as seals
  uint64_t bytes = 0;     // of pages
};

// A window that went.
struct WindowEnd {
  std::string window;             // as in WindowOutlook, the times too
  std::optional<int64_t> from_s;
  std::optional<int64_t> to_s;
  uint64_t versions = 0;          // row versions that went with it
  bool shed = false;              // before their time, by the retention options
  std::string why;                // "its rows have expired"
};

// What Engine::Expire did.
struct ExpireReport {
  uint64_t windows = 0;   // whose column families were dropped
  uint64_t versions = 0;  // row versions that went because their time was over
  uint64_t versions_shed = 0;  // that went before, by the retention options
  std::vector<WindowEnd> ended;   // the windows that went, in this order
  std::vector<WindowOutlook> left;  // the windows that stay, as ListWindows has them
};

struct VerifyReport {
  uint64_t buckets = 0;   // with segments; others are in the journal alone
  uint64_t segments = 0;
  uint64_t pages = 0;
  uint64_t versions = 0;  // row versions, those in the journal too
  std::vector<std::string> problems;  // each says what, where; at most 1000
};

// How the last open went.
struct RecoveryReport {
  bool created = false;
  bool clean = true;                 // nothing unusual was met
  bool recovered_with_loss = false;  // acknowledged journal records are missing
  uint64_t lost_sequence_first = 0;  // valid with recovered_with_loss
  uint64_t lost_sequence_last = 0;   // 0: not known, as the file ACK is damaged too
  uint64_t lost_record_count = 0;    // of these sequences; 0: not known
  uint64_t records_replayed = 0;
  uint64_t records_damaged = 0;      // of the catalog; each is named in `notes`
  uint64_t files_damaged = 0;        // of segments, that cannot be used; each is named in `notes`
  uint64_t versions_quarantined = 0; // row versions that are kept and not read for either
  std::vector<std::string> notes;    // what was done, for people
  std::optional<RestoredFrom> restored;  // nothing: the store was not made of a backup
};

// Half-open range of event times to delete, in the table's ticks.
struct TimeRange {
  int64_t from = 0;
  int64_t to = 0;
};

// An open store. Thread-safe except where said. Closed by the destructor; Close()
// tells how that went.
//
// Beside the errors that are named, every call may give
//   kClosed      after Close(), and in a child of fork: what its parent opened is the parent's.
//                Producers, cursors and a Replication answer so too, and all of them may be
//                destroyed there, which touches nothing
//   kIoError, kNoSpace, kCorruption
//                of the device; and, until the store could be opened anew after a failed
//                write, the reason of that failure: reads too. Writes that chose
//                BackPressure::kWait wait for it, at most limits::kReopenWaitUs, where the engine
//                has its own thread. kIoError too while the store's directory is not there:
//                renamed, removed, replaced (docs/operating.md)
//   kOutOfMemory the machine gave no memory, of whichever thread. After a write it is as kIoError:
//                outcome unknown, and the engine may open its store anew. Else nothing has
//                changed, or what is half done is finished or undone by the next call
// and calls that write or change something give kReadOnly where the engine was opened so. No call
// throws: what an exception of a callback ends gives kInternal. Those that return no Status answer
// as of an empty store where there is no memory, and Cursor::Token() a token that no scan takes.
class CISTERN_EXPORT Engine {
 public:
  // Opens the store in `directory`, creating it if allowed.
  //   kInvalidArgument  an option out of its range; a file, or a directory of other things
  //   kNotFound         no store there and create_if_missing is false
  //   kLocked           another process has it open, or this one: a closed engine whose
  //                     cursors live keeps it (Close)
  //   kTooNew           written by a newer version; nothing was touched
  //   kReadOnly         the directory cannot be written
  //   kCorruption       not openable; the message says what to do
  //   kOutOfMemory      read_only, and the journal that a crash left needs a larger budget; or the
  //                     machine has not the memory that opening takes (docs/operating.md)
  //   kIoError          the machine gives no thread, or a file of the store cannot be read
  //   kNoSpace          not even with the ballast given back
  //   kNotSupported     the RocksDB that is linked was not tested with Cistern; a child of fork
  //                     whose parent had opened an engine: its threads are not there. Exec first
  [[nodiscard]] static Result<std::unique_ptr<Engine>> Open(const std::string& directory,
                                                            const EngineOptions& options = {});
  virtual ~Engine() = default;

  // Declares a table by CQL text, durably. OK if an equal one exists.
  //   kInvalidArgument  no such CQL; the message has line and column
  //   kNotSupported     CQL that Cistern does not have, named
  //   kTooLarge         a limit of limits.h
  //   kAlreadyExists    one of that name differs; the message has the first difference
  //   kNoSpace          the disk budget or the disk is full
  [[nodiscard]] virtual Status CreateTable(std::string_view cql) = 0;
  // Changes the table of that name to what the CREATE TABLE text says, durably: regular columns
  // come and go, options change (docs/schema.md has what can change and how). Rows that are there
  // stay as they are and show under the new declaration; no value of a dropped column is seen
  // again. OK if nothing differs. Writes wait until it is done: the head is rotated for it.
  //
  // Batches made with the declaration before are refused (kInvalidArgument), submitted ones that
  // are still queued too. Cursors go on with the columns that they began with.
  //   kNotFound         no table of that name
  //   kInvalidArgument  no such CQL, or a change that cannot be: the message has the reason
  //   kNotSupported     CQL that Cistern does not have, named
  //   kTooLarge         a limit of limits.h
  //   kBusy, kNoSpace   the head cannot rotate, or no room for the record; nothing has changed
  [[nodiscard]] virtual Status AlterTable(std::string_view cql) = 0;
  // By name, or keyspace.name. kNotFound lists the tables there are.
  [[nodiscard]] virtual Result<std::shared_ptr<const TableSchema>> FindTable(
      std::string_view name) const = 0;
  [[nodiscard]] virtual std::vector<std::shared_ptr<const TableSchema>> ListTables() const = 0;

  // kTooLarge: limits::kProducerCountMax producers exist.
  [[nodiscard]] virtual Result<std::unique_ptr<Producer>> NewProducer() = 0;
  // As Producer::Append, from any number of threads: they share commit groups, and their syncs.
  [[nodiscard]] virtual Result<WriteResult> Append(const RowBatch& batch,
                                                   const WriteOptions& options = {}) = 0;

  // Deletes every row of the entity in the range, now and in older data upstream:
  // one range tombstone for each bucket that the range touches, at most
  // limits::kDeleteBucketsMax, whether or not the store has rows there, since upstream may. Of
  // buckets that begin further ahead of a trusted clock than EngineOptions::event_future_s_max
  // only those that hold something have one: a wide range ends there by itself. Rows written
  // later are not affected.
  //   kNotFound         no such table
  //   kInvalidArgument  an empty range, an entity key that is not of this table, or a table with
  //                     the timestamps of its events
  //   kTooLarge         more buckets than that: delete in parts
  //   others            as Append
  [[nodiscard]] virtual Result<WriteResult> DeleteRange(const std::string& table,
                                                        const EntityKey& entity, TimeRange range,
                                                        const WriteOptions& options = {}) = 0;
  // Deletes a whole bucket (a Cassandra partition): the one that holds event time
  // `time`, every split of it. kOutOfRange: no bucket holds that time, or the bucket begins
  // further ahead of a trusted clock than event_future_s_max and holds nothing; others as
  // DeleteRange.
  [[nodiscard]] virtual Result<WriteResult> DeleteBucket(const std::string& table,
                                                         const EntityKey& entity, int64_t time,
                                                         const WriteOptions& options = {}) = 0;

  // Reads one entity in time order. Damage, and a memory budget that does not suffice
  // (kOutOfMemory), may show here or later in Cursor::status().
  //   kNotFound         no such table
  //   kInvalidArgument  an entity key or column that is not of this table, equal bounds, an
  //                     unbounded range without a limit, a token of another scan, a condition on
  //                     a column that has no order or is part of the entity, or with no value of it
  //   kTooLarge         limits::kCursorCountMax cursors are open, or more than
  //                     limits::kConditionsMax conditions
  [[nodiscard]] virtual Result<std::unique_ptr<Cursor>> Scan(const ScanRequest& request) = 0;

  // What the values of columns are together, entity by entity and step by step (aggregate.h).
  // Memory is bounded whatever the range, the step and the number of entities.
  //   kNotFound         no such table
  //   kInvalidArgument  an empty range, a step below 1, no column, one that is not of this table
  //                     or is part of its partition key, a function that its type does not have,
  //                     an entity key that is not of this table
  //   kTooLarge         limits::kAggregatesMax, or limits::kCursorCountMax cursors are open
  [[nodiscard]] virtual Result<std::unique_ptr<AggregateCursor>> Aggregate(
      const AggregateRequest& request) = 0;

  // Reads one entity in time order and, at the end, waits for the rows behind it: Next() gives
  // them as they come, and returns false with status() OK when none came for `wait_us` of real
  // time (0: it does not wait). Call it again to wait on. An error is of that call alone; the
  // next one goes on behind the last row. Rows that sort before it are not given any more, and
  // values that are written over rows that were given neither. Holds nothing open while it
  // waits; Close() ends the waiting, with kClosed at the next call. Destroy it before the engine.
  //   kInvalidArgument  a descending range, a limit, a wait beyond limits::kFollowWaitUsMax
  //   others            as Scan
  [[nodiscard]] virtual Result<std::unique_ptr<Cursor>> Follow(const ScanRequest& request,
                                                               int64_t wait_us) = 0;
  // Event time, in the table's ticks, of the entity's first or last visible row; nullopt: it
  // has none. Looks at buckets that hold something, from that end on. Errors as Scan.
  [[nodiscard]] virtual Result<std::optional<int64_t>> FirstEvent(const std::string& table,
                                                                  const EntityKey& entity) = 0;
  [[nodiscard]] virtual Result<std::optional<int64_t>> LastEvent(const std::string& table,
                                                                 const EntityKey& entity) = 0;

  // Calls `visit` for every bucket that holds rows, in (table, entity, bucket, split)
  // order, until it returns false: tables as they were created, entities by their keys,
  // buckets by time. Bounded memory. kCorruption: a damaged header; the
  // buckets before it were visited.
  [[nodiscard]] virtual Status ListBuckets(const std::function<bool(const BucketInfo&)>& visit) = 0;
  // Calls `visit` with each entity of the table once, in key order. kNotFound: no such
  // table.
  [[nodiscard]] virtual Status ListEntities(
      const std::string& table, const std::function<bool(const EntityKey&)>& visit) = 0;

  // The windows of sealed buckets, by class and time, the one of all times last, then the spill
  // families of open ones: together at most limits::kWindowFamilyCountMax and
  // limits::kSpillFamilyCountMax. Reads what ListBuckets reads. kCorruption: a damaged header or
  // manifest.
  [[nodiscard]] virtual Result<std::vector<WindowInfo>> ListWindows() = 0;

  // Does due background work in bounded steps, in the caller's thread. With
  // background_threads it is called for you, and harmless to call.
  [[nodiscard]] virtual Result<TickReport> Tick(TickBudget budget = {}) = 0;
  // Makes everything committed so far durable, as kSynced would. After kIoError what was
  // not synced before may be lost: append it again.
  [[nodiscard]] virtual Status Sync() = 0;
  // Rotates now, whatever the head's size: every row committed so far is in segments
  // when it returns OK. kNoSpace, kIoError: the rows stay where they were, in the journal.
  [[nodiscard]] virtual Status Rotate() = 0;

  // Makes buckets immutable: each one's rows become one sorted, compressed segment, read
  // back and checked, and wait in the outbox. Rows that come later make an amendment at the
  // next seal. Returns when all are sealed; what is not due stays open unless asked for.
  //   kBusy      the clock is not trusted yet, and rows wait for their time
  //   kNotFound  no such table
  [[nodiscard]] virtual Result<SealReport> Seal(const SealRequest& request) = 0;

  // Ends every window of sealed buckets whose rows have all expired by the trusted clock, or
  // whose local retention (EngineOptions) is over: its files go at once, or with the last
  // cursor that holds them. Tick does it too. Expired rows are invisible before that.
  //   kBusy  the clock is not trusted yet, and rows wait for their time
  [[nodiscard]] virtual Result<ExpireReport> Expire() = 0;

  // What the store believes of the time, and why. Reads the clock.
  [[nodiscard]] virtual Result<ClockReport> GetClock() = 0;
  // Says that the machine's wall clock is right as it is now, whatever the store believed: for a
  // person, or for firmware that was told the time. Durable when it answers. It takes a false time
  // back, and confirms a true one: what has expired by it may go. Write timestamps go on above all
  // that were given. A wrong confirmation ahead of the true time costs rows.
  //   kOutOfRange   the wall clock shows a time before EngineOptions::clock_floor_s or after 9999
  //   kNoSpace      no room for the record; nothing has changed
  [[nodiscard]] virtual Result<ClockReport> ConfirmClock() = 0;

  // Reads and checks every page, header, journal record and cross-invariant, and changes
  // nothing. Damage is no error but one of the report's problems. What Open met and had to
  // do, damage of the file ACK among it, is in Recovery().
  [[nodiscard]] virtual Result<VerifyReport> Verify() = 0;

  // Adds a backup of the store, as it is now, to those in `directory`, which is made if it is not
  // there; only files that are in none of them are copied. Everything that was acknowledged before
  // the call is in it. Rows come and seals go meanwhile: they are held up at one moment alone,
  // while files are listed and opened (BackupReport::held_us). Each copy is read back. The
  // backups that are there stay valid until this one is; after an error, a crash or a power cut the
  // next call goes on with what was copied. `directory` may be of another file system. Takes a
  // megabyte of the memory budget.
  //   kInvalidArgument  an option out of its range; `directory` is a file, in or above the store,
  //                     is a store, has other things in it, or backups of another store
  //   kLocked           another Backup writes there
  //   kNoSpace, kReadOnly, kIoError  of `directory`: the store goes on as before
  //   kCorruption       a file of the catalog or a log of the store cannot be read, or a copy is
  //                     not what was written. A damaged file of segments is no error but a
  //                     problem of the report
  //   kTooLarge         the store has more than limits::kBackupFilesMax files
  //   kOutOfMemory      the memory budget is used up
  [[nodiscard]] virtual Result<BackupReport> Backup(const std::string& directory,
                                                    const BackupOptions& options = {}) = 0;
  [[nodiscard]] virtual Metrics GetMetrics() const = 0;
  [[nodiscard]] virtual RecoveryReport Recovery() const = 0;
  // OK while the engine accepts writes; otherwise why not. Looks whether the store's directory is
  // still where it was.
  [[nodiscard]] virtual Status Health() const = 0;

  // Syncs, stops the threads and closes the store. Later calls on this engine give kClosed.
  // A cursor that lives reads on and keeps the store open and locked until it is destroyed, and so
  // does a call that is under way in another thread: opening the directory gives kLocked until
  // then, in this process as in others. From several threads at once each returns when all is
  // closed.
  virtual Status Close() = 0;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_H_
