// Pages come back bit for bit, whatever is in them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "cistern/limits.h"
#include "lib/segment/page_builder.h"
#include "lib/segment/page_reader.h"
#include "tests/lib/segment/page_test_util.h"

namespace cistern {
namespace {

constexpr int64_t kStartMs = 1'721'900'000'000;

// A gateway row: time, four decimals, an int, a boolean, a short text.
TableSchema GatewaySchema() {
  return MakeSchema({CqlType::kTimestamp},
                    {CqlType::kDouble, CqlType::kDouble, CqlType::kDouble, CqlType::kDouble,
                     CqlType::kInt, CqlType::kBoolean, CqlType::kText});
}

int64_t DoubleBits(double v) { return std::bit_cast<int64_t>(v); }

VersionColumns GatewayRows(const TableSchema& schema, size_t count, uint32_t seed,
                           int64_t jitter_us) {
  std::mt19937_64 random(seed);
  VersionColumns rows = VersionColumns::For(schema);
  int64_t d[4] = {2150, 612, 101325, 405};
  const double powers[4] = {100, 10, 1000, 10};
  const int64_t steps[4] = {5, 2, 8, 1};
  const char* texts[] = {"OK", "OK", "OK", "OK", "OK", "OK", "OK", "WARN", "OK", "OK"};
  int64_t level = 80;
  for (size_t i = 0; i < count; ++i) {
    const int64_t ms = kStartMs + 1000 * static_cast<int64_t>(i);
    rows.write_us.push_back(ms * 1000 + 1500 + static_cast<int64_t>(random() % jitter_us));
    rows.flags.push_back(kVersionLiveness);
    rows.columns[2].AppendFixed(ms);
    for (int k = 0; k < 4; ++k) {
      d[k] += static_cast<int64_t>(random() % (2 * steps[k] + 1)) - steps[k];
      rows.columns[3 + k].AppendFixed(DoubleBits(static_cast<double>(d[k]) / powers[k]));
    }
    if (random() % 20 == 0) level += static_cast<int64_t>(random() % 3) - 1;
    rows.columns[7].AppendFixed(level);
    rows.columns[8].AppendFixed(random() % 50 == 0 ? 0 : 1);
    rows.columns[9].AppendBytes(texts[random() % 10]);
  }
  rows.row_count = count;
  return rows;
}

std::string RoundTrip(const TableSchema& schema, const VersionColumns& rows, size_t begin,
                      size_t end, CodecCache* cache = nullptr) {
  const std::string page = EncodePage(schema, rows, begin, end, cache);
  const Result<VersionColumns> got = DecodePage(schema, page, nullptr);
  EXPECT_TRUE(got.ok()) << got.status().ToString();
  if (got.ok()) ExpectSameRows(schema, *got, rows, begin, end);
  return page;
}

TEST(Page, GatewayRowsComeBackAndAreSmall) {
  const TableSchema schema = GatewaySchema();
  for (const int64_t jitter_us : {1, 1000, 30'000}) {
    const VersionColumns rows = GatewayRows(schema, 720, 7, jitter_us);
    CodecCache cache;
    for (const size_t count : {60u, 100u, 360u}) {
      const std::string page = RoundTrip(schema, rows, 0, count, &cache);
      const double bytes = static_cast<double>(page.size()) / static_cast<double>(count);
      std::printf("gateway rows, jitter %lld us, %zu rows: %zu bytes, %.2f B/row\n",
                  static_cast<long long>(jitter_us), count, page.size(), bytes);
      EXPECT_LT(bytes, count == 60 ? 8 : 6);
    }
  }
}

TEST(Page, OneRowAndTheMost) {
  const TableSchema schema = GatewaySchema();
  const VersionColumns rows = GatewayRows(schema, limits::kPageRowsMax, 11, 900);
  RoundTrip(schema, rows, 0, 1);
  RoundTrip(schema, rows, 4095, 4096);
  RoundTrip(schema, rows, 0, limits::kPageRowsMax);
  RoundTrip(schema, rows, 17, 23);
}

}  // namespace
}  // namespace cistern
