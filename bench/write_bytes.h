// What a gateway's day costs the flash: bytes handed to the kernel for a row.
#ifndef CISTERN_BENCH_WRITE_BYTES_H_
#define CISTERN_BENCH_WRITE_BYTES_H_

#include <cstdint>
#include <string>

#include "cistern/cistern.h"

namespace cistern::bench {

struct WriteBytes {
  uint64_t rows = 0;
  Metrics metrics;  // after everything was rotated into segments, or sealed
  uint64_t window_file_bytes = 0;  // of the SST files of all window families, keys and indexes too

  // Everything handed to the kernel but the rewriting of spill families.
  [[nodiscard]] double UntilSpilledPerRow() const;
  [[nodiscard]] double RewrittenPerRow() const;
  // Everything handed to the kernel.
  [[nodiscard]] double PerRow() const;
  // What sealed pages and their headers take.
  [[nodiscard]] double SealedPerRow() const;
  // What the files of the families of sealed pages take.
  [[nodiscard]] double WindowFilesPerRow() const;
  [[nodiscard]] std::string ToString() const;
};

struct WriteBytesRun {
  uint64_t rows = 0;
  size_t memory_budget_bytes = 0;
  // Buckets of so many rows, sealed when they are due and at the end all of them; 0: the
  // gateway's table of days, and nothing is sealed.
  uint32_t rows_of_sealed_bucket = 0;
  // 0: the clock stands still for all appends of a second. Otherwise they come a tenth of a second
  // apart, each late by less than this: at most 100,000.
  uint64_t jitter_us = 0;
};

// 1,000 sensors report once a second in appends of 100 rows, in `log` durability, and
// the journal is synced each second of their time. The host drives, the clock is the
// rows' own: nothing depends on the speed of the machine.
[[nodiscard]] Result<WriteBytes> MeasureWriteBytes(const std::string& directory,
                                                   const WriteBytesRun& run);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_WRITE_BYTES_H_
