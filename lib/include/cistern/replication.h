// Replication: sends the sealed buckets of an open engine to a Cassandra cluster.
#ifndef CISTERN_REPLICATION_H_
#define CISTERN_REPLICATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/cluster.h"
#include "cistern/engine.h"
#include "cistern/replication_options.h"
#include "cistern/result.h"

namespace cistern {

// What becomes of the outbox as things are.
enum class ReplicationPhase : uint8_t {
  kWorking,  // seals are being sent, or will be without anybody's help
  kAway,     // no host takes requests: it is tried again
  kHolding,  // all that may go is acknowledged; the hold time is not over
  kStuck,    // what is left needs a person: parked seals, tables that differ, damage
  kIdle,     // nothing is left, open rows neither
  kCollecting,  // all that is sealed is confirmed; rows of open buckets wait for their seal
};

// Rows that upstream cannot have yet, as their buckets are not sealed.
struct OpenRows {
  uint64_t versions = 0;  // row versions, deletes included
  // Of the pages that have them, about as much as their seals write. Rows that are in the journal
  // alone have none yet.
  uint64_t bytes = 0;
  // About when the oldest of them was written, microseconds since 1970; of rows that were written
  // while the clock was ahead, when they were first seen. Nothing: there are none, or that is not
  // known of any, as their pages cannot be read.
  std::optional<int64_t> oldest_us;
  // Buckets that should have been sealed some minutes ago, by any of the options seal_*, and their
  // row versions, deletes included.
  uint64_t buckets_overdue = 0;
  uint64_t versions_overdue = 0;
  std::optional<int64_t> overdue_since_us;  // when the first of them was due
  // What keeps sealing from going on, also where nothing is overdue yet: kBusy, a clock that is not
  // trusted; kNoSpace, not even the smallest seal has room; kReadOnly, as this process only reads
  // the store; kNotFound, nobody seals unasked (EngineOptions::seal_when_due); or a failed write.
  // kCorruption: damage, be it that not all open rows can be told, and the rest stands here.
  Status why;
};

// Since it was started. Row versions that are confirmed over the store's life: Metrics.
struct ReplicationCounters {
  uint64_t seals_confirmed = 0;
  uint64_t seals_parked = 0;
  uint64_t seals_sent_again = 0;   // after a host went while they were held
  uint64_t seals_counted = 0;      // confirmed, of these: proved by the server's count
  uint64_t seals_read_back = 0;    // ... and by their rows
  uint64_t seals_mended = 0;       // something was not found of them, and sent once more
  uint64_t seals_not_proven = 0;   // parked for it
  uint64_t rows_read_back = 0;     // of seals that were proved by their rows
  uint64_t rows_shadowed = 0;      // of those: absent though sent twice, deleted upstream
  // ... where something newer shows that no seal of this store has: another writer of the entity.
  uint64_t rows_overwritten = 0;
  uint64_t rows_hidden = 0;        // ... with values that ReplicationOptions::accepted_drops hide
  uint64_t versions_sent = 0;      // acknowledged; deletes count as versions
  uint64_t versions_expired = 0;   // left out: over before they were sent
  uint64_t versions_shadowed = 0;  // left out: other seals of the bucket delete them
  uint64_t versions_empty = 0;     // left out: they say nothing any more
  uint64_t batches_sent = 0;
  uint64_t batches_refused = 0;  // not acknowledged after the session's own attempts
  uint64_t bytes_sent = 0;       // of acknowledged batches, before compression
  uint64_t bytes_read_back = 0;  // of the answers of proofs, the same
};

enum class HeldReason : uint8_t {
  kDiffers,       // the cluster's table differs, or there is none: what to do is told with it
  kNoKeyspace,    // it was declared without one, and ReplicationOptions::keyspace names none
  kNotPermitted,  // the user may not write to it, or not read it where arrival is proved so
  kParked,        // too many seals are parked, of it or of all tables
  kNotCompared,   // the cluster refuses what is asked of it, or has not answered for long
};

// A table whose seals wait for a person, or for the cluster's schema. The others go on.
struct HeldTable {
  std::string table;  // "plant.readings"
  // For people; whatever the code, it is looked at again. Names the table with kDiffers and
  // kNoKeyspace alone.
  Status why;
  HeldReason reason = HeldReason::kNotCompared;
};

struct ReplicationStatus {
  ReplicationPhase phase = ReplicationPhase::kWorking;
  // Why no host takes requests; OK while one does. For people: whatever its code is, connecting is
  // tried again for as long as it takes.
  Status away;
  // Where hosts take requests and refuse them: the code of the native protocol; 0: none.
  int32_t away_error_code = 0;
  // Seals are refused again and again, and sent again after a pause: the last refusal, in the
  // server's words. OK while none is. Where others go such a seal is parked in the end.
  Status refused;
  // What the cluster acknowledged, or refused, cannot be noted in the store for some seconds: its
  // device is full (kNoSpace), its clock is not trusted, or windows are being merged (kBusy). It is
  // tried again; seals stay held until then. OK while nothing waits for it.
  Status store;
  std::vector<HeldTable> held;
  // Once for each: files of secrets that others can read, what is odd in the cluster's schema, and
  // of each table the first row that another writer has overwritten, as far as proofs saw it.
  std::vector<std::string> warnings;
  std::vector<std::string> damaged;  // seals that cannot be read, each with the reason
  uint64_t seals_pushing = 0;
  uint64_t seals_holding = 0;     // acknowledged, not confirmed yet
  uint64_t seals_proving = 0;     // of those: looked at upstream
  uint64_t versions_holding = 0;  // in those
  uint64_t in_flight_bytes = 0;
  uint64_t window_bytes = 0;        // that may be in flight
  uint64_t memory_bytes = 0;        // of the engine's budget, for seals on their way
  uint64_t memory_share_bytes = 0;  // of it at most, but for one huge page
  // Its count and its reason are as of a second ago at most. The rest is looked for in small steps,
  // in a hundredth of the time, about once a minute where that suffices.
  OpenRows open;
  // How long from the end of the turn until there may be something to do though nothing came from
  // the cluster, in microseconds.
  int64_t next_us = 0;
  ReplicationCounters counters;
};

// A seal that the cluster refused, or that was not proven. It stays, also over a restart, until
// RetryParked, and holds back the later seals of its bucket.
struct ParkedSeal {
  std::string table;   // name, or keyspace.name
  std::string entity;  // EntityToText
  std::string bucket;  // the bucket column's value, as CQL literal
  uint32_t split = 0;
  uint64_t seal = 0;      // its number; grows over the store's life
  uint64_t versions = 0;  // row versions in it
  int64_t parked_us = 0;  // when, microseconds since 1970
  uint32_t attempts = 0;  // of what was refused or could not be read; 0: it was refused for good
                          // without another, or its rows were taken and not found again
  int32_t error_code = 0;  // of the native protocol, as the server gave it; 0: none
  std::string words;       // the server's, or those of the proof
};

// What the store has for the cluster, and has had confirmed.
struct OutboxStatus {
  uint64_t seals_waiting = 0;  // parked ones are not among them
  // Of them those that the outbox does not name though its window counts them: entries are gone, so
  // they are not sent. 0 in a sound store.
  uint64_t seals_unlisted = 0;
  uint64_t versions_waiting = 0;
  uint64_t seals_parked = 0;
  uint64_t versions_parked = 0;
  uint64_t versions_confirmed = 0;
  // Parts of versions_confirmed, by the ProofLevel that their seals reached, over the store's life
  // as that; the rest was acknowledged.
  uint64_t versions_confirmed_by_count = 0;
  uint64_t versions_confirmed_by_rows = 0;
  // Of the pages of these seals, as they are stored here: the rows are more bytes on their way. A
  // seal whose manifest cannot be read has none.
  uint64_t bytes_waiting = 0;
  uint64_t bytes_parked = 0;
  uint64_t bytes_confirmed = 0;
  // The end of the oldest bucket that waits or is parked, seconds since 1970: how far behind
  // upstream is. Nothing: all that is sealed is confirmed.
  std::optional<int64_t> oldest_end_s;
  // What is not sealed yet: upstream is behind by the older of both.
  OpenRows open;
};

// A replication of one open engine. What is sealed is sent with its own write timestamps and
// expiry, confirmed, and kept from then on only for as long as EngineOptions::keep_confirmed_s
// says; what is sent again after an interruption changes nothing upstream. It goes on through
// outages by itself. The cluster must have the tables: one that is missing or differs is held
// (`cistern schema apply` makes it).
//
// Thread-safe. One at a time for an engine, which must outlive it: stop it before Engine::Close.
class CISTERN_EXPORT Replication {
 public:
  // Checks all that can be told to be wrong before anything is sent, and begins to connect: a
  // cluster that is away is no error but ReplicationStatus::away.
  //   kInvalidArgument  a knob out of its range, a file that cannot be read, a password that would
  //                     go over the network in clear: the message names the knob
  //   kAlreadyExists    this engine has one
  //   kReadOnly, kClosed, and the reason of a failed write
  //                     the engine is not open for writing
  //   kTooManyOpenFiles the process has no file descriptor left for the network
  //   kIoError          the machine gives no thread
  //   kNotSupported     this libcistern was built without replication (-Dreplication=disabled)
  [[nodiscard]] static Result<std::unique_ptr<Replication>> Start(
      Engine* engine, const ClusterAccess& access, const ReplicationOptions& options = {});
  // Stops.
  virtual ~Replication() = default;

  // Without a background thread: does what there is to do, in the caller's thread, and waits for
  // the cluster at most `wait_us` of real time, from 0 to kReplicationWaitUsMax, an hour. Call it
  // from a loop, at most ReplicationStatus::next_us after the last turn. One caller at a time,
  // others wait for their turn.
  //   kInvalidArgument  a wait out of range; it has a background thread
  //   kClosed           after Stop
  //   others            of the store. The engine opens it anew by itself: pause and call again
  [[nodiscard]] virtual Result<ReplicationStatus> Run(int64_t wait_us) = 0;

  // As it was at the end of the last turn, which is at most some tenths of a second ago where a
  // background thread runs; after Stop the last one.
  [[nodiscard]] virtual ReplicationStatus GetStatus() const = 0;
  // OK while the store can be worked with; otherwise what the last turn met. It is tried again.
  [[nodiscard]] virtual Status Health() const = 0;

  // --- of the store: the cluster is not asked. kClosed after Stop, and the store's errors.
  // All seals that are parked, by bucket; at most limits::kPushRecordsMax.
  [[nodiscard]] virtual Result<std::vector<ParkedSeal>> ListParked() = 0;
  // Lets the parked seals of a table be sent again, once the reason is gone; those of all tables
  // where its name is empty. Tables that are held are compared with the cluster's at once. How
  // many seals. kNotFound: no such table.
  [[nodiscard]] virtual Result<uint64_t> RetryParked(const std::string& table = {}) = 0;
  // Sends once more what was confirmed of the buckets that hold an event time of the range, as
  // long as their window is here, and what was sent of others: for a cluster that lost it. How many
  // seals were confirmed, or known to be sent in part. Waits for a turn that is under way.
  //   kNotFound         no such table
  //   kInvalidArgument  an empty range
  [[nodiscard]] virtual Result<uint64_t> Resend(const std::string& table, TimeRange range) = 0;
  // Walks over the outbox and over what is open. kCorruption: a damaged entry or manifest; where
  // open rows cannot be told, OutboxStatus::open says so.
  [[nodiscard]] virtual Result<OutboxStatus> GetOutbox() = 0;

  // Ends the connections and the thread. What was acknowledged and is not confirmed yet is sent
  // again by the next one. Waits for a turn that is under way, and for a resolution of a name: a
  // resolver of the system cannot be interrupted. Any number of times; not from a PasswordSource.
  virtual void Stop() = 0;
};

}  // namespace cistern

#endif  // CISTERN_REPLICATION_H_
