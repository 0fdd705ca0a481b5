// The way of a client that knows no batches: each row an EXECUTE of its own, many in flight.
#ifndef CISTERN_BENCH_PUSH_SINGLE_ROW_PUSH_H_
#define CISTERN_BENCH_PUSH_SINGLE_ROW_PUSH_H_

#include <cstddef>
#include <vector>

#include "bench/push/cluster_client.h"
#include "bench/push/measure.h"
#include "bench/workload.h"

namespace cistern::bench {

// With the product's own session, which is connected to `server`, and its consistency, into
// kPlainTable. `in_flight_max` requests are on their way all the time.
[[nodiscard]] Result<PushCost> PushSingleRows(ClusterClient* client, const PushServer& server,
                                              const std::vector<GatewayRow>& rows,
                                              size_t in_flight_max);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_SINGLE_ROW_PUSH_H_
