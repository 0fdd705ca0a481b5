// Prints the bytes handed to the kernel for a row, until spilled and until sealed; see
// write_bytes.h.
#include <cstdio>

#include "bench/bench_util.h"
#include "bench/write_bytes.h"

int main() {
  using cistern::bench::WriteBytesRun;
  const size_t memory_bytes = 32 * 1024 * 1024;
  const uint64_t rows = cistern::bench::RowsFromEnv(7'200'000);
  for (const uint32_t bucket_rows : {0u, 3600u, 360u}) {
    const auto measured =
        cistern::bench::MeasureWriteBytes(cistern::bench::FreshDirectory("write-bytes"),
                                          WriteBytesRun{rows, memory_bytes, bucket_rows});
    if (!measured.ok()) {
      std::fprintf(stderr, "%s\n", measured.status().ToString().c_str());
      return 1;
    }
    if (bucket_rows != 0) std::printf("buckets of %u rows: ", bucket_rows);
    std::printf("%s\n", measured->ToString().c_str());
  }
  return 0;
}
