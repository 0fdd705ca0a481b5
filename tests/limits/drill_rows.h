// What the outage drill writes, and what a cluster must show of it: cell by cell, with write times.
#ifndef CISTERN_TESTS_LIMITS_DRILL_ROWS_H_
#define CISTERN_TESTS_LIMITS_DRILL_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cistern/row_batch.h"
#include "tests/support/fake_cassandra/cluster_state.h"

namespace cistern::testing {

// A gateway's tables: sensors that report all the time, devices that report seldom and partly, and
// whose rows expire, meters in wider buckets.
enum class DrillTable : uint8_t { kReadings, kEvents, kMeters };
inline constexpr size_t kDrillTableCount = 3;
inline constexpr int64_t kDrillGcGraceS = 86'400;

[[nodiscard]] const char* DrillCql(DrillTable table);
[[nodiscard]] const char* DrillTableName(DrillTable table);  // with its keyspace
[[nodiscard]] int64_t DrillBucketMs(DrillTable table);       // width

// A row version, or a deletion of a range. Lives in shared memory: owns nothing.
struct DrillWrite {
  DrillTable table = DrillTable::kReadings;
  RowKind kind = RowKind::kInsert;
  bool has_values = true;   // value and load are set; otherwise the state alone
  uint32_t entity = 0;
  uint32_t ttl_s = 0;       // 0: the table's
  int64_t ts_ms = 0;
  int64_t range_end_ms = 0;  // not 0: rows of [ts_ms, range_end_ms) are deleted, of one bucket
  double value = 0;
  double load = 0;
  int32_t state = 0;
  // Of its commit, by the trusted clock.
  int64_t write_us = 0;
  int64_t write_s = 0;

  [[nodiscard]] int64_t bucket_ms() const { return ts_ms - ts_ms % DrillBucketMs(table); }
};

[[nodiscard]] std::string DrillEntityText(DrillTable table, uint32_t entity);
[[nodiscard]] Status AddDrillRow(const DrillWrite& write, RowBatch* batch);

// Everything that was written, for all processes that were forked from the one that made it. One
// of them adds.
class DrillLog {
 public:
  explicit DrillLog(size_t count_max);
  DrillLog(const DrillLog&) = delete;
  DrillLog& operator=(const DrillLog&) = delete;
  ~DrillLog();

  void Add(const DrillWrite& write);  // aborts when it is full
  [[nodiscard]] size_t size() const;
  [[nodiscard]] const DrillWrite& operator[](size_t i) const { return writes_[i]; }

 private:
  const size_t count_max_;
  void* memory_ = nullptr;
  DrillWrite* writes_ = nullptr;
};

struct DrillBucket {
  DrillTable table = DrillTable::kReadings;
  uint32_t entity = 0;
  int64_t bucket_ms = 0;
  friend auto operator<=>(const DrillBucket&, const DrillBucket&) = default;
};

// A bucket whose first seal is parked. Some of its batches may have arrived, and nothing that was
// written later.
struct DrillParked {
  DrillBucket bucket;
  int64_t sealed_us = 0;
};

// What is compared.
struct DrillScope {
  std::optional<DrillParked> parked = {};
  int64_t bucket_below_ms = INT64_MAX;  // buckets that begin before
};

// Whether the first node shows at `now_s` exactly what was written: empty, or the first
// difference.
[[nodiscard]] std::string CompareWithLog(const DrillLog& log, const DrillScope& scope,
                                         const fake_cassandra::ClusterState& state, int64_t now_s);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_LIMITS_DRILL_ROWS_H_
