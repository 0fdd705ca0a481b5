// TSBS's trucks: the same rows each time, with the decimals and the disorder that TSBS gives them.
#include "bench/peers/tsbs_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "bench/peers/row_sums.h"

namespace cistern::bench {
namespace {

constexpr uint64_t kRows = 60'000;

PeerWorkload WorkloadNamed(const std::string& name) {
  for (const PeerWorkload& workload : TsbsWorkloads()) {
    if (workload.name == name) return workload;
  }
  ADD_FAILURE() << name;
  return {};
}

RowBlock RowsOf(const PeerWorkload& workload, uint64_t rows = kRows) {
  RowBlock block(workload.table.columns.size());
  const auto source = workload.make(rows);
  while (source->Next(&block)) continue;
  return block;
}

RowDigest DigestOf(const PeerWorkload& workload, const RowBlock& rows) {
  RowDigest digest;
  for (size_t i = 0; i < rows.size(); ++i) digest.Add(workload.table, rows.Row(i));
  return digest;
}

bool HasDecimals(double value, double scale) {
  return std::nearbyint(value * scale) / scale == value;
}

TEST(TsbsWorkload, GivesTheSameRowsEachTime) {
  for (const PeerWorkload& workload : TsbsWorkloads()) {
    const RowBlock rows = RowsOf(workload);
    EXPECT_EQ(rows.size(), kRows);
    EXPECT_EQ(DigestOf(workload, rows), DigestOf(workload, RowsOf(workload))) << workload.name;
  }
}

TEST(TsbsWorkload, SortedRowsAreTheSameInOrder) {
  const PeerWorkload sorted = WorkloadNamed("tsbs-readings-sorted");
  const PeerWorkload disordered = WorkloadNamed("tsbs-readings");
  const RowBlock rows = RowsOf(sorted);
  EXPECT_EQ(DigestOf(sorted, rows), DigestOf(disordered, RowsOf(disordered)));
  for (size_t i = 1; i < rows.size(); ++i) {
    ASSERT_LT(std::pair(rows.Row(i - 1).time_ms, rows.Row(i - 1).entity),
              std::pair(rows.Row(i).time_ms, rows.Row(i).entity));
  }
}

TEST(TsbsWorkload, ReadingsHaveTheirDecimalsAndBounds) {
  constexpr double kScales[] = {1e5, 1e5, 1, 1, 1, 1, 10};
  constexpr double kMax[] = {90, 180, 5000, 100, 360, 100, 50};
  const RowBlock rows = RowsOf(WorkloadNamed("tsbs-readings"));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t c = 0; c < std::size(kScales); ++c) {
      if (rows.Row(i).IsNull(c)) continue;
      const double value = rows.Row(i).Double(c);
      ASSERT_TRUE(HasDecimals(value, kScales[c])) << "column " << c << ": " << value;
      ASSERT_LE(std::abs(value), kMax[c]);
    }
  }
}

TEST(TsbsWorkload, DiagnosticsHaveTheirDecimalsAndBounds) {
  const RowBlock rows = RowsOf(WorkloadNamed("tsbs-diagnostics"));
  std::set<int64_t> statuses;
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowView row = rows.Row(i);
    ASSERT_TRUE(row.IsNull(0) || (HasDecimals(row.Double(0), 10) && row.Double(0) <= 1));
    ASSERT_TRUE(row.IsNull(1) || (HasDecimals(row.Double(1), 1) && row.Double(1) <= 5000));
    if (!row.IsNull(2)) statuses.insert(row.cells[2]);
  }
  EXPECT_EQ(statuses, (std::set<int64_t>{0, 1, 2, 3, 4, 5}));
}

// The shares follow from the chances that TSBS has.
TEST(TsbsWorkload, DisorderIsThatOfTsbs) {
  const RowBlock rows = RowsOf(WorkloadNamed("tsbs-readings"));
  std::set<std::pair<int64_t, uint32_t>> seen;
  std::pair<int64_t, uint32_t> newest = {0, 0};
  double late = 0;
  double with_empty_field = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowView row = rows.Row(i);
    const std::pair<int64_t, uint32_t> key = {row.time_ms, row.entity};
    ASSERT_TRUE(seen.insert(key).second) << "a row came twice";
    if (key < newest) ++late;
    newest = std::max(newest, key);
    if (row.nulls != 0) ++with_empty_field;
  }
  const auto expected = static_cast<double>((newest.first - seen.begin()->first) /
                                            TruckFleet::kIntervalMs * 1000 + newest.second + 1);
  // A batch of 10 looks at 11 entries, as one is missing; and of the batches 1% are.
  EXPECT_NEAR(1 - static_cast<double>(kRows) / expected, 1.0 / 11 + 0.01, 0.01);
  // 2.7 of its entries were kept back before, of which 63% are let through, and 5% of the batches.
  EXPECT_NEAR(late / kRows, 0.27 * 0.63 + 0.05 * 0.6, 0.03);
  EXPECT_NEAR(with_empty_field / kRows, 0.09, 0.01);
}

}  // namespace
}  // namespace cistern::bench
