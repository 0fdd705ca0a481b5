// Bytes handed to the kernel for a 52-byte row: at most 18 until it is in a spill segment, at
// most 0.45 of its own until it is sealed. Nothing is timed: the clock is the rows' own.
#include <gtest/gtest.h>

#include <cstdio>

#include "bench/workload.h"
#include "bench/write_bytes.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr size_t kMemoryBytes = 32 * 1024 * 1024;

TEST(WriteBytes, OfAGatewayRow) {
  const TempDir root("cistern-bytes");
  const auto measured = bench::MeasureWriteBytes(
      root.path() + "/store", {EnvNumber("CISTERN_BYTES_ROWS", 2'000'000), kMemoryBytes, 0});
  ASSERT_TRUE(measured.ok()) << measured.status().ToString();
  std::printf("%s\n", measured->ToString().c_str());
  EXPECT_LE(measured->UntilSpilledPerRow(), 18.0);
  EXPECT_GT(measured->metrics.rotations, 2u) << "too few rows to measure rotations";
  EXPECT_GT(measured->metrics.spill_bytes, 0u);
}

TEST(WriteBytes, OfASealedGatewayRow) {
  const TempDir root("cistern-bytes");
  const uint64_t rows = 2 * EnvNumber("CISTERN_BYTES_ROWS", 2'000'000);
  const auto measured =
      bench::MeasureWriteBytes(root.path() + "/store", {rows, kMemoryBytes, 3600});
  ASSERT_TRUE(measured.ok()) << measured.status().ToString();
  std::printf("%s\n", measured->ToString().c_str());
  EXPECT_LE(measured->PerRow(), 0.45 * bench::kLogicalRowBytes);
  EXPECT_LE(measured->SealedPerRow(), 8.0);
  EXPECT_EQ(measured->metrics.versions_sealed, rows);
  EXPECT_EQ(measured->metrics.amendments, 0u) << "rows in time order came late";
}

}  // namespace
}  // namespace cistern::testing
