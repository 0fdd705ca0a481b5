// RawRocksDb: what an engineer without Cistern would write: one key per row.
#ifndef CISTERN_BENCH_RAW_ROCKSDB_H_
#define CISTERN_BENCH_RAW_ROCKSDB_H_

#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bench/workload.h"
#include "cistern/status.h"

namespace cistern::bench {

// Key: sensor and event time, big-endian (12 bytes). Value: the other 40 bytes as they
// are. RocksDB's own defaults (leveled compaction, snappy) but for the write buffer,
// which gets the memory that Cistern has. One thread at a time.
class RawRocksDb {
 public:
  [[nodiscard]] static Result<std::unique_ptr<RawRocksDb>> Open(const std::string& directory,
                                                                size_t memory_bytes);
  ~RawRocksDb();

  // One WriteBatch: in the log of the operating system, not synced.
  [[nodiscard]] Status Append(std::span<const GatewayRow> rows);
  // The workload's rows until it has made `rows`, in batches.
  [[nodiscard]] Status AppendAll(GatewayWorkload* workload, uint64_t rows, size_t batch_rows);
  // Until every row is in SST files and no compaction is due.
  [[nodiscard]] Status Settle();
  // Reads the rows of one sensor in a span of time; returns how many, and adds up a
  // column so that the values are looked at.
  [[nodiscard]] uint64_t Scan(uint32_t sensor, int64_t from_ms, int64_t to_ms, double* sum);

  // Deletes every row of the sensors 0 .. sensor_count - 1 in a span of time, a range for each,
  // and has the space given back.
  [[nodiscard]] Status Drop(uint32_t sensor_count, int64_t from_ms, int64_t to_ms);
  // Of the SST files.
  [[nodiscard]] uint64_t disk_bytes() const;

  // Handed to the kernel, by every file.
  [[nodiscard]] uint64_t bytes_written() const { return *bytes_written_; }

 private:
  RawRocksDb() = default;
  std::shared_ptr<std::atomic<uint64_t>> bytes_written_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_RAW_ROCKSDB_H_
