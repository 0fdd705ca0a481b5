// GatewayWorkload: the rows that benchmarks and limits are measured with.
//
// A gateway with many sensors that report in turn, once a second each. A row is 52
// logical bytes: sensor (4), event time (8), four doubles with 2, 1, 3 and 1 decimals
// that walk at random (32), a status (4), a flag (1), a short text (3). Equal seeds
// give equal rows on every machine.
#ifndef CISTERN_BENCH_WORKLOAD_H_
#define CISTERN_BENCH_WORKLOAD_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/cistern.h"

namespace cistern::bench {

inline constexpr size_t kLogicalRowBytes = 52;
inline constexpr int64_t kFirstTimeMs = 1'735'689'600'000;  // 2025-01-01
inline constexpr const char* kGatewayTable =
    "CREATE TABLE gateway.readings (sensor int, day date, ts timestamp, temperature double,"
    " humidity double, pressure double, voltage double, status int, ok boolean, mode text,"
    " PRIMARY KEY ((sensor, day), ts))";

// The gateway's table with buckets of n seconds: n rows a bucket, as each sensor reports once a
// second. `options`: further ones, " AND gc_grace_seconds = 0".
[[nodiscard]] std::string GatewayTableOf(uint32_t bucket_seconds,
                                         const std::string& name = "readings",
                                         const std::string& options = {});

struct GatewayRow {
  uint32_t sensor = 0;
  int64_t time_ms = 0;
  std::array<double, 4> values{};
  int32_t status = 0;
  bool ok = true;
  std::string_view mode;  // of static storage
};

// One thread at a time.
class GatewayWorkload {
 public:
  explicit GatewayWorkload(uint64_t seed = 1, uint32_t sensor_count = 1000);

  GatewayRow Next();
  // Replaces *batch, of the table kGatewayTable, by the next `rows` rows.
  [[nodiscard]] Status Fill(size_t rows, RowBatch* batch);

  [[nodiscard]] uint64_t rows_made() const { return rows_made_; }
  [[nodiscard]] uint32_t sensor_count() const { return static_cast<uint32_t>(sensors_.size()); }

 private:
  struct Sensor {
    std::array<int32_t, 4> walk{};  // values in units of the last decimal
    int32_t status = 0;
    uint8_t mode = 0;
  };
  uint64_t NextRandom();

  std::vector<Sensor> sensors_;
  uint64_t state_;
  uint64_t rows_made_ = 0;
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_WORKLOAD_H_
