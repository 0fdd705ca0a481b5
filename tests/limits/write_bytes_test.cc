// Bytes handed to the kernel for a 52-byte row until it is in a spill segment: at most 18.
// Nothing is timed: the clock is the rows' own.
#include <gtest/gtest.h>

#include <cstdio>

#include "bench/write_bytes.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

TEST(WriteBytes, OfAGatewayRow) {
  const TempDir root("cistern-bytes");
  const auto measured = bench::MeasureWriteBytes(
      root.path() + "/store", EnvNumber("CISTERN_BYTES_ROWS", 2'000'000), 32 * 1024 * 1024);
  ASSERT_TRUE(measured.ok()) << measured.status().ToString();
  std::printf("%s\n", measured->ToString().c_str());
  EXPECT_LE(measured->PerRow(), 18.0);
  EXPECT_GT(measured->metrics.rotations, 2u) << "too few rows to measure rotations";
  EXPECT_GT(measured->metrics.spill_bytes, 0u);
}

}  // namespace
}  // namespace cistern::testing
