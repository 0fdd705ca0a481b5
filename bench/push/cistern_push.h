// A table of the store sent by the product itself: ReplicationService, from the outbox until all is
// confirmed.
#ifndef CISTERN_BENCH_PUSH_CISTERN_PUSH_H_
#define CISTERN_BENCH_PUSH_CISTERN_PUSH_H_

#include <cstdint>
#include <string>

#include "bench/push/measure.h"
#include "cistern/engine.h"
#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "engine/replicate/replicator_options.h"

namespace cistern::bench {

// The defaults, but for the hold: an acknowledgement is what all methods are timed by.
[[nodiscard]] replicate::ReplicatorOptions PushOptionsOf(ProofLevel proof);

// The seals of the table wait again; none of another table may wait.
[[nodiscard]] Status SendAgain(Engine* engine, const std::string& table);

struct CisternPush {
  PushCost cost;               // from the first look at the outbox until all is confirmed
  double acknowledged_s = 0;   // until the cluster had acknowledged all
  uint64_t versions_sent = 0;
  uint64_t batches_sent = 0;
  uint64_t bytes_read_back = 0;
  uint64_t window_bytes = 0;  // that might be in flight at the end
};

// Sends what waits. The connection is made before the time begins; the comparison of schemas and
// the preparing of statements count. Fails when a seal was parked or sent twice.
[[nodiscard]] Result<CisternPush> PushByCistern(Engine* engine, const PushServer& server,
                                                ProofLevel proof, uint64_t versions);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_CISTERN_PUSH_H_
