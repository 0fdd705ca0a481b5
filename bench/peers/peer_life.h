// PeerLife: what an engine is measured by, each time in processes of its own.
#ifndef CISTERN_BENCH_PEERS_PEER_LIFE_H_
#define CISTERN_BENCH_PEERS_PEER_LIFE_H_

#include <cstdint>
#include <map>
#include <string>

#include "bench/peers/peer.h"
#include "bench/peers/peer_workload.h"
#include "cistern/result.h"

namespace cistern::bench {

// Names of figures. CPU is user and system time of all threads.
namespace figure {
inline constexpr const char* kAppendRate = "append, rows/s";
inline constexpr const char* kAppendCpu = "append, CPU ns/row";
inline constexpr const char* kRestCpu = "until at rest, CPU ns/row";
inline constexpr const char* kKernelBytes = "kernel B/row";   // until at rest
inline constexpr const char* kDeviceBytes = "device B/row";   // the same
inline constexpr const char* kDiskBytes = "disk B/row";       // at rest
inline constexpr const char* kLogicalBytes = "logical B/row";
inline constexpr const char* kPeakRss = "peak RSS MiB";       // until at rest, beyond the start's
inline constexpr const char* kPeakAnonymous = "peak anonymous MiB";
inline constexpr const char* kScanRows = "scan of rows, CPU ns/row";
inline constexpr const char* kScanColumns = "scan of columns, CPU ns/row";
inline constexpr const char* kAggregate = "aggregate, CPU ns/value";
inline constexpr const char* kDropMs = "drop, ms";
inline constexpr const char* kDropKib = "drop, KiB written";
inline constexpr const char* kDropReturned = "drop, disk B returned for a row";
inline constexpr const char* kReopenMs = "reopen, ms";
inline constexpr const char* kReopenCpu = "reopen, CPU ms";
}  // namespace figure

using Figures = std::map<std::string, double>;

// What is right: found without any engine.
struct Truth {
  RowDigest digest;
  RowSums sums;
  std::map<uint32_t, PeerAggregate> aggregates;  // of sampled entities
  double logical_bytes_per_row = 0;
  uint64_t rows_of_first_bucket = 0;
};
[[nodiscard]] Truth TruthOf(const PeerWorkload& workload, uint64_t rows);

struct LifeOptions {
  std::string directory;  // made anew, and removed
  uint64_t rows = 0;      // the workload may have fewer
  size_t batch_rows = 100;
  bool reads = true;      // whether scans and aggregates are timed
};

// Appends, rests, compares everything with the truth, scans, aggregates, drops a window where the
// workload ends one. kCorruption: the engine has other rows or results.
[[nodiscard]] Result<Figures> MeasureLife(const PeerKind& kind, const PeerWorkload& workload,
                                          const Truth& truth, const LifeOptions& options);

// One process appends and kills itself, the next one opens and compares everything.
[[nodiscard]] Result<Figures> MeasureReopen(const PeerKind& kind, const PeerWorkload& workload,
                                            const Truth& truth, const LifeOptions& options);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_PEER_LIFE_H_
