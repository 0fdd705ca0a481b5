// The rows of TSBS's use case "iot": trucks that send readings and diagnostics every ten seconds.
//
// Values and disorder are as github.com/timescale/tsbs generates them (pkg/data/usecases/iot):
//   readings     latitude, longitude cut to 5 decimals, elevation, velocity, heading, grade to 0,
//                fuel consumption to 1; random walks with uniform steps, kept within bounds
//   diagnostics  fuel state cut to 1 decimal, which falls to 0 and is filled up; load to 0, which
//                changes in one row of 20; status, an integer from 0 to 5, a normal random walk
//   disorder     entries come in batches of 10. Of the batches 1% are missing and 5% kept back;
//                of the ten entries that a batch looks at first 10% are missing, 30% of the
//                others kept back, and 10% have an empty field. What is kept back comes with a
//                chance of one half at each later batch, or entry of a later batch
// The random numbers are others, so the rows are alike, not the same. Two measurements are two
// workloads, each with a disorder of its own. Tags stay with the truck, which is a number here.
#ifndef CISTERN_BENCH_PEERS_TSBS_WORKLOAD_H_
#define CISTERN_BENCH_PEERS_TSBS_WORKLOAD_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/peers/peer_table.h"
#include "bench/peers/peer_workload.h"
#include "tests/support/rng.h"

namespace cistern::bench {

enum class TruckMeasurement { kReadings, kDiagnostics };

// Keeps a value within bounds while it takes random steps.
struct TruckWalk {
  double value = 0;
  double min = 0;
  double max = 0;
  double step_min = 0;
  double step_max = 0;
};

// One row of one truck.
struct TruckEntry {
  uint32_t truck = 0;
  int64_t time_ms = 0;
  std::vector<double> values;
  int empty_field = -1;  // none
};

// All trucks, one after the other, every ten seconds, without disorder and without end.
class TruckFleet {
 public:
  static constexpr int64_t kIntervalMs = 10'000;

  TruckFleet(TruckMeasurement measurement, uint64_t seed, uint32_t trucks);
  [[nodiscard]] TruckEntry Next();

 private:
  [[nodiscard]] std::vector<double> Advance(std::vector<TruckWalk>* walks);
  double Uniform(double min, double max);
  double Normal();

  const TruckMeasurement measurement_;
  testing::Rng rng_;
  std::vector<std::vector<TruckWalk>> trucks_;
  uint64_t made_ = 0;
};

// The fleet as its rows arrive.
class DisorderedTrucks : public RowSource {
 public:
  DisorderedTrucks(TruckMeasurement measurement, uint64_t seed, uint32_t trucks, uint64_t rows);
  [[nodiscard]] bool Next(RowBlock* block) override;

 private:
  static constexpr size_t kBatchEntries = 10;
  using Batch = std::deque<TruckEntry>;
  // What happens to the entries that a batch looks at, by the place where it does.
  struct BatchPlan {
    std::array<bool, kBatchEntries> takes_late{};
    std::array<bool, kBatchEntries> is_missing{};
    std::array<bool, kBatchEntries> is_late{};
    std::array<bool, kBatchEntries> has_empty_field{};
  };

  void FillBatch();
  [[nodiscard]] BatchPlan PlanBatch();
  [[nodiscard]] Batch MakeBatch();
  [[nodiscard]] bool Happens(double chance);

  const TruckMeasurement measurement_;
  TruckFleet fleet_;
  testing::Rng rng_;
  const uint64_t rows_;
  uint64_t given_ = 0;
  Batch batch_;
  std::deque<Batch> late_batches_;
  std::deque<TruckEntry> late_entries_;
};

// The same rows as of another source, in order of time and then of entity, if none of that one is
// later than by kHeldRows rows.
class SortedRows : public RowSource {
 public:
  static constexpr size_t kHeldRows = 20'000;

  SortedRows(std::unique_ptr<RowSource> source, std::vector<PeerColumn> columns);
  ~SortedRows() override;
  [[nodiscard]] bool Next(RowBlock* block) override;

 private:
  class Held;
  const std::unique_ptr<RowSource> source_;
  const std::unique_ptr<Held> held_;
};

// 1,000 trucks. "tsbs-readings", "tsbs-readings-sorted", "tsbs-diagnostics".
[[nodiscard]] std::vector<PeerWorkload> TsbsWorkloads();

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_TSBS_WORKLOAD_H_
