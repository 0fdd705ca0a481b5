// Recordings of real sensors as workloads: published files, read as `cistern ingest` reads them.
#ifndef CISTERN_BENCH_PEERS_RECORDED_WORKLOAD_H_
#define CISTERN_BENCH_PEERS_RECORDED_WORKLOAD_H_

#include <string>
#include <vector>

#include "bench/peers/peer_workload.h"
#include "cistern/result.h"

namespace cistern::bench {

// "beijing-air", "capmetro-buses", "daphnet-imu".
[[nodiscard]] std::vector<std::string> RecordingNames();

// Reads the files of that name below `directory` into memory, each packed by zstd. Rows come in
// order of time, as from sensors at work; those of the buses as they stand in the files, which is
// by trip. Of rows with the entity and time of another the first one stays.
//   kNotFound  no such folder, or no file in it
[[nodiscard]] Result<PeerWorkload> RecordedRows(const std::string& name,
                                                const std::string& directory);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_RECORDED_WORKLOAD_H_
