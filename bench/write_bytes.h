// What a gateway's day costs the flash: bytes handed to the kernel for a row.
#ifndef CISTERN_BENCH_WRITE_BYTES_H_
#define CISTERN_BENCH_WRITE_BYTES_H_

#include <cstdint>
#include <string>

#include "cistern/cistern.h"

namespace cistern::bench {

struct WriteBytes {
  uint64_t rows = 0;
  Metrics metrics;  // after everything was rotated into segments

  // Everything handed to the kernel but the rewriting of spill families.
  [[nodiscard]] double PerRow() const;
  [[nodiscard]] double RewrittenPerRow() const;
  [[nodiscard]] std::string ToString() const;
};

// 1,000 sensors report once a second in appends of 100 rows, in `log` durability, and
// the journal is synced each second of their time. The host drives, the clock is the
// rows' own: nothing depends on the speed of the machine.
[[nodiscard]] Result<WriteBytes> MeasureWriteBytes(const std::string& directory, uint64_t rows,
                                                   size_t memory_budget_bytes);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_WRITE_BYTES_H_
