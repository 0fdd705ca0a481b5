// ReplicationOptions: every knob of a replication with its meaning, default and consequence.
#ifndef CISTERN_REPLICATION_OPTIONS_H_
#define CISTERN_REPLICATION_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cistern/limits.h"

namespace cistern {

// Replicas that must have taken a write before it counts as acknowledged.
enum class Consistency : uint8_t {
  kAny,  // one, or a hint of it: what a node that is down does not have yet
  kOne,
  kTwo,
  kThree,
  kLocalOne,     // one in the data center that is asked
  kLocalQuorum,  // more than half of those there
  kQuorum,
  kEachQuorum,
  kAll,
};

// Which sealed buckets go first.
enum class DrainMode : uint8_t {
  kOldest,     // by the bucket's start
  kNewest,
  kLiveFirst,  // the newest, which somebody looks at now, beside the backlog from its oldest on
};

// How much upstream must show before a sealed bucket counts as confirmed. Each asks for more than
// the one before. The store remembers by these numbers which one a confirmed seal reached.
enum class ProofLevel : uint8_t {
  kAck = 0,    // every batch was acknowledged at the asked consistency
  kCount = 1,  // and the server counts at least the rows and cells of the seal
  kRows = 2,   // and its rows were read back and compared
};

// A column that was dropped upstream and added again. The cluster shows no value of it with a write
// timestamp up to the drop, whenever it arrives, and acknowledges it all the same.
struct AcceptedDrop {
  std::string table;       // of the cluster: "plant.pumps"
  std::string column;
  int64_t dropped_ms = 0;  // since 1970; later drops are not meant
  friend bool operator==(const AcceptedDrop&, const AcceptedDrop&) = default;
};

// What is out of its range is refused by Replication::Start with the range; limits.h has the
// bounds.
struct ReplicationOptions {
  // --- what
  // The cluster's keyspace of tables that were declared without one. Empty: such tables are held
  // back (ReplicationStatus::held), and the others go.
  std::string keyspace{};
  Consistency consistency = Consistency::kLocalQuorum;

  // --- in which order, how fast
  DrainMode drain = DrainMode::kLiveFirst;
  // kLiveFirst: buckets that ended at most so long ago are live, and take so many of a hundred
  // bytes while both kinds wait. What one kind leaves the other takes. From 1 to
  // kLiveSpanSecondsMax, a year; from 1 to 99.
  int64_t live_span_s = 3600;
  uint32_t live_percent = 70;
  // Sent and read back, before compression. From kBandwidthMin, 1 KiB/s; 0: no cap.
  uint64_t bytes_per_s_max = 0;
  // Sent and not answered, at most: the window grows up to it while answers are quick, and halves
  // when the cluster is overloaded. From kInFlightBytesMin, 64 KiB, to kInFlightBytesMax, 16 MiB.
  uint64_t in_flight_bytes_max = 4 << 20;
  // Of one batch, which is what the cluster takes or refuses at once; of its bytes about. From 1 to
  // kPushStatementsMax; from kPushBatchBytesMin, 1 KiB, to kPushBatchBytesMax, 4 MiB, since a
  // mutation of Cassandra is at most half a segment of its log, 16 MiB. Batches have at most a
  // 24th of the engine's memory budget, 349 KB of 8 MiB, whatever is asked for.
  size_t batch_rows_max = limits::kPushStatementsDefault;
  size_t batch_bytes_max = limits::kPushBatchBytesDefault;
  // Sealed buckets that are sent side by side, from 1 to kPushingSealsMax. Each holds a decoded
  // page of the engine's memory budget.
  size_t pushing_seals_max = limits::kPushingSealsDefault;

  // --- when it counts as confirmed
  // An acknowledgement is no fsync: Cassandra begins to sync its log every 10 s by default
  // (commitlog_sync_period). A seal is confirmed so long after its last acknowledgement, and sent
  // again if a node went in between. At most kHoldUsMax, an hour. Longer than the cluster's own
  // period, or what a power cut takes there is missing. When the time is over every node that is
  // connected must give a sign of life; one that this client has no connection to is not asked.
  int64_t hold_us = 15'000'000;
  ProofLevel proof = ProofLevel::kAck;
  // Drops of columns whose older values may be hidden upstream: a person has agreed. Sealed buckets
  // with rows of before any other such drop are held (ReplicationStatus::held); with
  // ProofLevel::kRows they are sent, and parked where a value turns out to be hidden. At most
  // kAcceptedDropsMax, each with all its names.
  std::vector<AcceptedDrop> accepted_drops{};

  // --- threads
  // true: one thread of its own, which ends with Stop. false: the host drives everything by
  // Replication::Run.
  bool background_thread = true;
};

}  // namespace cistern

#endif  // CISTERN_REPLICATION_OPTIONS_H_
