// PeerWorkload: which rows are stored, in which order they come.
#ifndef CISTERN_BENCH_PEERS_PEER_WORKLOAD_H_
#define CISTERN_BENCH_PEERS_PEER_WORKLOAD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/peers/peer_table.h"

namespace cistern::bench {

// Makes the rows of a workload, the same ones each time. One thread at a time.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Appends the next row to *block; false: there is none any more.
  [[nodiscard]] virtual bool Next(RowBlock* block) = 0;
};

struct PeerWorkload {
  std::string name;
  std::string what;           // for people
  PeerTable table;
  uint64_t rows = 1'000'000;  // unless another number is asked for; sources may end before
  size_t aggregated_column = 0;  // of numbers
  bool ends_window = false;      // the first bucket's rows are given up at the end
  bool is_killed = false;        // another process appends them and is killed, then it is reopened
  std::function<std::unique_ptr<RowSource>(uint64_t rows)> make;  // so many are taken at most
};

// 1,000 sensors in turn, each once a second (bench/workload.h).
[[nodiscard]] PeerWorkload GatewayRows(const std::string& name, uint32_t bucket_seconds);
// Few of those sensors for many buckets: 20, in buckets of 360 rows.
[[nodiscard]] PeerWorkload LongGatewayRows();
// The 1,000 sensors, every tenth of them up to a minute late.
[[nodiscard]] PeerWorkload LateGatewayRows();
// Their rows for a window that ends: they live for 24 buckets.
[[nodiscard]] PeerWorkload EndingGatewayRows();
// 16 accelerometers at 1 kHz: three axes in steps of 2^-11 g, as they leave the converter.
[[nodiscard]] PeerWorkload AccelerometerRows();

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_PEER_WORKLOAD_H_
