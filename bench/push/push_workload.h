// What is pushed: a store of sealed buckets, and the same rows for those who write without one.
//
// Each sensor reports once a second for an hour and has one bucket of 3,600 rows. Two tables have
// the same rows, the second one with a TTL.
#ifndef CISTERN_BENCH_PUSH_PUSH_WORKLOAD_H_
#define CISTERN_BENCH_PUSH_PUSH_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "cistern/cistern.h"

namespace cistern::bench {

inline constexpr uint32_t kBucketRows = 3'600;
inline constexpr int64_t kPart = kFirstTimeMs / 1000 / kBucketRows;  // the bucket column's value
inline constexpr const char* kPlainTable = "gateway.readings";
inline constexpr const char* kTtlTable = "gateway.readings_ttl";

// Fills an empty store with both tables, and seals all of it.
[[nodiscard]] Status FillStore(const std::string& directory, uint32_t sensor_count);

// Opens it to send from it. What was confirmed stays, so that it can be sent again.
[[nodiscard]] Result<std::unique_ptr<Engine>> OpenStore(const std::string& directory);

// The rows of one table, bucket after bucket: the order that suits those best who group them.
[[nodiscard]] std::vector<GatewayRow> RowsByBucket(uint32_t sensor_count);

// Those as CSV with a header; times in milliseconds since 1970.
[[nodiscard]] Status WriteCsv(const std::vector<GatewayRow>& rows, const std::string& path);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_PUSH_WORKLOAD_H_
