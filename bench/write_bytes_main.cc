// Prints the bytes handed to the kernel for a row; see write_bytes.h.
#include <cstdio>

#include "bench/bench_util.h"
#include "bench/write_bytes.h"

int main() {
  const auto measured = cistern::bench::MeasureWriteBytes(
      cistern::bench::FreshDirectory("write-bytes"), cistern::bench::RowsFromEnv(5'000'000),
      32 * 1024 * 1024);
  if (!measured.ok()) {
    std::fprintf(stderr, "%s\n", measured.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", measured->ToString().c_str());
  return 0;
}
