// What is told of a replicator at work: its counters, what stands in its way, how far it is.
#ifndef CISTERN_ENGINE_REPLICATE_REPLICATION_STATUS_H_
#define CISTERN_ENGINE_REPLICATE_REPLICATION_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cistern/status.h"

namespace cistern::replicate {

// What becomes of the outbox as things are.
enum class ReplicationPhase : uint8_t {
  kWorking,  // seals are being sent, or will be without anybody's help
  kAway,     // no host takes requests: it is tried again
  kHolding,  // all that may go is acknowledged; the hold time is not over
  kStuck,    // what is left needs a person: parked seals, tables that differ, damage
  kIdle,     // nothing is left
};

// Since the replicator was made.
struct ReplicationCounters {
  uint64_t seals_confirmed = 0;
  uint64_t seals_parked = 0;
  uint64_t seals_sent_again = 0;   // after a host went while they were held
  uint64_t seals_counted = 0;      // proved by the server's count
  uint64_t seals_read_back = 0;    // proved by their rows
  uint64_t seals_mended = 0;       // something was not found of them, and sent once more
  uint64_t seals_not_proven = 0;   // parked for it
  uint64_t rows_read_back = 0;     // of seals that were proved by their rows
  uint64_t rows_shadowed = 0;      // of those: absent though sent twice, deleted upstream
  uint64_t versions_sent = 0;      // acknowledged; deletes count as versions
  uint64_t versions_expired = 0;   // left out: over before they were sent
  uint64_t versions_shadowed = 0;  // left out: other seals of the bucket delete them
  uint64_t versions_empty = 0;     // left out: they say nothing any more
  uint64_t batches_sent = 0;
  uint64_t batches_refused = 0;  // not acknowledged after the session's own attempts
  uint64_t bytes_sent = 0;       // of acknowledged batches, before compression
  uint64_t bytes_read_back = 0;  // of the answers of proofs, the same
};

// A table whose seals wait for a person, or for the cluster's schema.
struct HeldTable {
  std::string table;  // "plant.readings"
  Status why;
};

struct ReplicationStatus {
  ReplicationPhase phase = ReplicationPhase::kWorking;
  Status away;  // why no host takes requests; OK while one does
  std::vector<HeldTable> held;
  std::vector<std::string> warnings;  // of the cluster's schema, once for each table
  std::vector<std::string> damaged;   // seals that cannot be read, each with the reason
  uint64_t seals_pushing = 0;
  uint64_t seals_holding = 0;     // acknowledged, not confirmed yet
  uint64_t seals_proving = 0;     // of those: looked at upstream
  uint64_t versions_holding = 0;  // in those
  uint64_t in_flight_bytes = 0;
  uint64_t window_bytes = 0;  // that may be in flight
  uint64_t memory_bytes = 0;        // of the engine's budget, for seals on their way
  uint64_t memory_share_bytes = 0;  // of it at most, but for one huge page
  int64_t next_us = 0;        // from now until something may be done without an answer
  ReplicationCounters counters;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_REPLICATION_STATUS_H_
