// Every knob of a replicator with its meaning, default and consequence.
#ifndef CISTERN_ENGINE_REPLICATE_REPLICATOR_OPTIONS_H_
#define CISTERN_ENGINE_REPLICATE_REPLICATOR_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "cistern/replication_options.h"
#include "engine/cql/protocol.h"
#include "engine/replicate/drain_order.h"
#include "engine/replicate/flow_control.h"
#include "engine/replicate/retry_backoff.h"

namespace cistern::replicate {

struct ReplicatorOptions {
  std::string keyspace = {};  // of tables that name none
  cql::Consistency consistency = cql::Consistency::kLocalQuorum;
  DrainPolicy drain = {};
  FlowLimits flow = {};
  uint64_t bytes_per_s_max = 0;  // sent and read back, before compression; 0: no cap
  // An acknowledgement is no fsync: Cassandra begins to sync its log every 10 s by default
  // (commitlog_sync_period). A seal is confirmed so long after its last acknowledgement, and sent
  // again if a host went in between.
  int64_t hold_us = 15'000'000;
  // What is asked of the cluster after that, before a seal counts as confirmed. As many seals are
  // proved side by side as are sent, each with answers of about byte_count_max.
  ProofLevel proof = ProofLevel::kAck;
  std::vector<AcceptedDrop> accepted_drops = {};  // replication_options.h
  size_t statement_count_max = limits::kPushStatementsDefault;  // of a batch, 1 to 65,535
  size_t byte_count_max = limits::kPushBatchBytesDefault;       // of a batch, about
  // Seals that are sent side by side. Each holds a decoded page.
  size_t pushing_count_max = limits::kPushingSealsDefault;  // 1 to limits::kPushingSealsMax
  // After so many acknowledged bytes of one seal its position is made durable.
  uint64_t checkpoint_bytes = 4 << 20;
  BackoffLimits backoff = {};
  // A table that differs from the cluster's is compared anew after so long.
  int64_t schema_retry_us = 60'000'000;
  uint64_t seed = 1;  // of the waits; differs from gateway to gateway
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_REPLICATOR_OPTIONS_H_
