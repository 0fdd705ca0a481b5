// Pages come back bit for bit, whatever is in them.
#include <gtest/gtest.h>

#include <algorithm>
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
  const Result<VersionColumns> got = DecodePage(schema, page, nullptr, nullptr);
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

// What is remembered of earlier pages saves the search; where the data changed its character
// the search happens again, so that a page never grows by much.
TEST(Page, MemoryOfOtherDataCostsLittle) {
  const TableSchema schema = GatewaySchema();
  constexpr size_t kRows = 300;
  const VersionColumns calm = GatewayRows(schema, kRows, 1, 1);
  VersionColumns wild = GatewayRows(schema, kRows, 2, 900'000'000);
  std::mt19937_64 random(7);
  for (size_t i = 0; i < kRows; ++i) {
    wild.columns[3].fixed[i] = DoubleBits(std::sin(static_cast<double>(i)));
    wild.columns[4].fixed[i] = DoubleBits(static_cast<double>(random() % 1'000'000) / 1000);
    wild.columns[7].fixed[i] = static_cast<int32_t>(random());
    wild.columns[8].fixed[i] = static_cast<int64_t>(random() % 2);
  }
  const size_t calm_bytes = RoundTrip(schema, calm, 0, kRows).size();
  const size_t wild_bytes = RoundTrip(schema, wild, 0, kRows).size();
  CodecCache cache;
  for (int round = 0; round < 3; ++round) {
    EXPECT_LE(RoundTrip(schema, calm, 0, kRows, &cache).size(), calm_bytes * 105 / 100);
    EXPECT_LE(RoundTrip(schema, wild, 0, kRows, &cache).size(), wild_bytes * 105 / 100);
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

const std::vector<CqlType> kEveryType = {
    CqlType::kBoolean, CqlType::kTinyint, CqlType::kSmallint, CqlType::kInt,  CqlType::kBigint,
    CqlType::kFloat,   CqlType::kDouble,  CqlType::kText,     CqlType::kBlob, CqlType::kTimestamp,
    CqlType::kDate,    CqlType::kTime,    CqlType::kUuid,     CqlType::kInet, CqlType::kVarint};

// A value of the type, from a few bits to all of them.
void AppendRandom(CqlType type, unsigned width, std::mt19937_64* random, ColumnData* column) {
  const uint64_t bits = (*random)() >> (64 - width);
  if (column->lane == Lane::kBytes) {
    const size_t size = type == CqlType::kUuid ? 16 : bits % 20;
    std::string bytes;
    for (size_t i = 0; i < size; ++i) {
      bytes.push_back(static_cast<char>('a' + (*random)() % (1 + width / 4)));
    }
    return column->AppendBytes(bytes);
  }
  const NumberShape shape = ShapeOf(type);
  int64_t value = static_cast<int64_t>(bits);
  if (shape.kind == NumberKind::kDouble && width < 50) {
    value = DoubleBits(static_cast<double>(value) / 100);
  } else if (shape.kind == NumberKind::kFloat) {
    const float f = static_cast<float>(bits % 100'000) / 100.0f;
    value = static_cast<int64_t>(width < 50 ? std::bit_cast<uint32_t>(f) : bits & 0xffffffff);
  } else if (shape.kind == NumberKind::kInteger && shape.byte_width < 8) {
    value = type == CqlType::kBoolean
                ? static_cast<int64_t>(bits & 1)
                : static_cast<int64_t>(bits << (64 - 8 * shape.byte_width)) >>
                      (64 - 8 * shape.byte_width);
  }
  column->AppendFixed(value);
}

VersionColumns RandomRows(const TableSchema& schema, size_t count, std::mt19937_64* random) {
  VersionColumns rows = VersionColumns::For(schema);
  rows.row_count = count;
  const bool has_boot = (*random)() % 4 == 0;
  const uint64_t expiry = (*random)() % 4;  // none, by TTL, mixed, any
  const bool wild_times = (*random)() % 8 == 0;
  for (size_t i = 0; i < count; ++i) {
    const auto s = static_cast<int64_t>(i);
    rows.write_us.push_back(wild_times ? static_cast<int64_t>((*random)())
                                       : kStartMs * 1000 + s * 1'000'000 +
                                             static_cast<int64_t>((*random)() % 5000));
    rows.flags.push_back(static_cast<uint8_t>((*random)() % 8 == 0 ? (*random)() % 4 : 1));
    if (has_boot) rows.boot.push_back(static_cast<uint32_t>((*random)() % 3 == 0 ? 7 : 0));
    if (expiry == 1) {
      rows.expiry_s.push_back(static_cast<uint32_t>(rows.write_us.back() / 1'000'000 + 86'400));
    } else if (expiry > 1) {
      rows.expiry_s.push_back(
          static_cast<uint32_t>((*random)() % 2 == 0 ? 0 : (*random)() >> (expiry * 16)));
    }
  }
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnSpec& spec = schema.columns[c];
    if (spec.role != ColumnRole::kClustering && spec.role != ColumnRole::kRegular) continue;
    const auto width = static_cast<unsigned>(1 + (*random)() % 64);
    // All values; mixed in three ways; all absent; all null.
    const uint64_t mix = spec.role == ColumnRole::kClustering ? 0 : (*random)() % 7;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t draw = (*random)() % 4;
      if (mix == 5 || (mix == 3 && draw == 0) || (mix == 4 && draw < 2)) {
        rows.columns[c].AppendMissing(CellState::kAbsent);
      } else if (mix == 6 || (mix == 2 && draw == 0) || (mix == 4 && draw == 3)) {
        rows.columns[c].AppendMissing(CellState::kNull);
      } else {
        AppendRandom(spec.type.kind, width, random, &rows.columns[c]);
      }
    }
  }
  return rows;
}

TEST(Page, RandomRowsOfEveryTypeComeBack) {
  const uint32_t seed = 4711;
  std::mt19937_64 random(seed);
  const std::vector<std::vector<CqlType>> clusterings = {
      {CqlType::kTimestamp},
      {CqlType::kTimeuuid, CqlType::kInt},
      {CqlType::kBigint, CqlType::kText, CqlType::kDouble}};
  const TimeUnit units[] = {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros,
                            TimeUnit::kTicks100ns, TimeUnit::kNanos};
  for (int round = 0; round < 250; ++round) {
    TableSchema schema = MakeSchema(clusterings[random() % 3], kEveryType);
    schema.time_unit = units[random() % 5];
    const size_t count = 2 + random() % 150;
    const VersionColumns rows = RandomRows(schema, count, &random);
    CodecCache cache;
    RoundTrip(schema, rows, 0, count, &cache);
    const size_t middle = 1 + random() % (count - 1);
    RoundTrip(schema, rows, 0, middle, &cache);
    RoundTrip(schema, rows, middle, count, &cache);
    if (HasFailure()) FAIL() << "seed " << seed << " round " << round;
  }
}

TEST(Page, UnwantedColumnsHaveOnlyTheirStates) {
  std::mt19937_64 random(21);
  const TableSchema schema = MakeSchema({CqlType::kTimestamp, CqlType::kText}, kEveryType);
  for (int round = 0; round < 20; ++round) {
    const VersionColumns rows = RandomRows(schema, 80, &random);
    const std::string page = EncodePage(schema, rows, 0, 80, nullptr);
    std::vector<bool> wanted(schema.columns.size());
    for (size_t c = 0; c < wanted.size(); ++c) wanted[c] = random() % 2 == 0;
    const Result<VersionColumns> got = DecodePage(schema, page, &wanted, nullptr);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    for (size_t c = 2; c < schema.columns.size(); ++c) {
      const ColumnData& column = got->columns[c];
      if (wanted[c] || schema.columns[c].role == ColumnRole::kClustering) {
        ExpectSameColumn(column, rows.columns[c], 0, 80, schema.columns[c].name);
        continue;
      }
      EXPECT_EQ(column.size(), 0u);
      EXPECT_TRUE(column.heap.empty() && column.offsets.empty());
      for (size_t i = 0; i < 80; ++i) ASSERT_EQ(column.state(i), rows.columns[c].state(i));
    }
  }
}

// Of every type, in every encoding that such rows are given, where cells are missing too.
TEST(Page, ChosenRowsAreThoseOfThePage) {
  std::mt19937_64 random(23);
  const TableSchema schema = MakeSchema({CqlType::kTimestamp, CqlType::kText}, kEveryType);
  const std::vector<bool> wanted(schema.columns.size(), true);
  for (int round = 0; round < 60; ++round) {
    const size_t count = 1 + random() % 200;
    const VersionColumns rows = RandomRows(schema, count, &random);
    const std::string page = EncodePage(schema, rows, 0, count, nullptr);
    const size_t begin = random() % (count + 1);
    const size_t end = begin + random() % (count - begin + 1);
    VersionColumns got;
    const bool takes_times = random() % 2 == 0;
    const auto choose = [&](size_t row_count,
                            const VersionColumns* times) -> std::optional<RowRange> {
      EXPECT_EQ(row_count, count);
      if (!takes_times) return RowRange(begin, end);
      if (times == nullptr) return std::nullopt;
      EXPECT_EQ(times->row_count, count);
      EXPECT_EQ(times->columns[schema.time_column()].fixed,
                rows.columns[schema.time_column()].fixed);
      return RowRange(begin, end);
    };
    const Status decoded = DecodePageValues(schema, page, count, wanted, nullptr, choose, &got);
    ASSERT_TRUE(decoded.ok()) << decoded.ToString();
    ASSERT_EQ(got.row_count, end - begin);
    for (size_t c = 2; c < schema.columns.size() && begin < end; ++c) {
      ExpectSameColumn(got.columns[c], rows.columns[c], begin, end, schema.columns[c].name);
    }
  }
}

TEST(Page, ValuesComeAloneWhereTheyAreAskedFor) {
  std::mt19937_64 random(22);
  const TableSchema schema = MakeSchema({CqlType::kTimestamp, CqlType::kText}, kEveryType);
  VersionColumns used;
  for (int round = 0; round < 40; ++round) {
    const VersionColumns rows = RandomRows(schema, 80, &random);
    const std::string page = EncodePage(schema, rows, 0, 80, nullptr);
    std::vector<bool> wanted(schema.columns.size());
    for (size_t c = 0; c < wanted.size(); ++c) wanted[c] = random() % 3 == 0;
    const Result<VersionColumns> got = DecodePageValues(schema, page, wanted, nullptr);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->row_count, 80u);
    // Whatever its memory held before, in whichever column.
    std::shuffle(used.columns.begin(), used.columns.end(), random);
    ASSERT_EQ(DecodePageValues(schema, page, 81, wanted, nullptr, &used).code(),
              StatusCode::kCorruption);
    const Status again = DecodePageValues(schema, page, 80, wanted, nullptr, &used);
    ASSERT_TRUE(again.ok()) << again.ToString();
    for (size_t c = 2; c < schema.columns.size(); ++c) {
      ExpectSameColumn(used.columns[c], got->columns[c], 0, wanted[c] ? 80 : 0,
                       schema.columns[c].name);
      EXPECT_EQ(used.columns[c].states, got->columns[c].states);
    }
    EXPECT_TRUE(got->write_us.empty() && got->flags.empty() && got->expiry_s.empty());
    for (size_t c = 2; c < schema.columns.size(); ++c) {
      const ColumnData& column = got->columns[c];
      if (wanted[c]) {
        ExpectSameColumn(column, rows.columns[c], 0, 80, schema.columns[c].name);
      } else {
        EXPECT_TRUE(column.size() == 0 && column.states.empty() && column.heap.empty());
      }
    }
  }
}

TEST(Page, EndsBeforeTheLimits) {
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, {CqlType::kBlob});
  std::mt19937_64 random(33);
  std::string noise(limits::kCellBytesMax - 64, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  VersionColumns rows = VersionColumns::For(schema);
  rows.row_count = 40;
  for (int64_t i = 0; i < 40; ++i) {
    rows.write_us.push_back(i);
    rows.flags.push_back(kVersionLiveness);
    rows.columns[2].AppendFixed(kStartMs + i);
    noise[static_cast<size_t>(i)] ^= 1;
    rows.columns[3].AppendBytes(noise);
  }
  size_t begin = 0;
  int pages = 0;
  while (begin < rows.row_count) {
    const size_t end = PageEnd(schema, rows, begin, limits::kPageRowsMax);
    ASSERT_GT(end, begin);
    const std::string page = RoundTrip(schema, rows, begin, end);
    EXPECT_LE(page.size(), limits::kPageBytesMax);
    begin = end;
    ++pages;
  }
  EXPECT_EQ(pages, 40) << "1 MiB each";
  const VersionColumns small = GatewayRows(GatewaySchema(), 5000, 1, 1000);
  EXPECT_EQ(PageEnd(GatewaySchema(), small, 3, 5), 8u);
  EXPECT_EQ(PageEnd(GatewaySchema(), small, 3, 5000), 3u + limits::kPageRowsMax);
  EXPECT_EQ(PageEnd(GatewaySchema(), small, 4999, 5000), 5000u);
}

TEST(Page, RawBoundHolds) {
  // The worst that can come: every bit random. Raw plus 2 %, or 16 bytes a column.
  std::mt19937_64 random(55);
  const TableSchema schema =
      MakeSchema({CqlType::kBigint}, {CqlType::kDouble, CqlType::kFloat, CqlType::kInt,
                                      CqlType::kBoolean, CqlType::kUuid, CqlType::kText});
  for (const size_t count : {1u, 2u, 3u, 10u, 100u, 1000u}) {
    VersionColumns rows = VersionColumns::For(schema);
    rows.row_count = count;
    double raw = 13;
    for (size_t i = 0; i < count; ++i) {
      rows.write_us.push_back(static_cast<int64_t>(random()));
      rows.flags.push_back(static_cast<uint8_t>(random() % 4));
      raw += 9;
    }
    raw += 2 * 16;
    for (size_t c = 2; c < schema.columns.size(); ++c) {
      double column = 0;
      for (size_t i = 0; i < count; ++i) {
        AppendRandom(schema.columns[c].type.kind, 64, &random, &rows.columns[c]);
        column += rows.columns[c].lane == Lane::kFixed
                      ? ShapeOf(schema.columns[c].type.kind).byte_width
                      : 1.0 + static_cast<double>(rows.columns[c].bytes(i).size());
      }
      raw += std::max(column * 1.02, column + 16);
    }
    EXPECT_LE(static_cast<double>(RoundTrip(schema, rows, 0, count).size()), raw) << count;
  }
}

}  // namespace
}  // namespace cistern
