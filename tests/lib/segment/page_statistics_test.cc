#include "lib/segment/page_statistics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lib/segment/segment_format.h"
#include "tests/lib/codec/codec_test_util.h"
#include "tests/lib/segment/page_test_util.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

constexpr int64_t kStartMs = 1'721'900'000'000;

// Rows a second apart: doubles in column 3, texts in column 4.
VersionColumns SomeRows(const TableSchema& schema, size_t count) {
  const double temperatures[] = {21.5, 21.6, 21.4, 21.5};
  VersionColumns rows = VersionColumns::For(schema);
  for (size_t i = 0; i < count; ++i) {
    rows.write_us.push_back((kStartMs + 1000 * static_cast<int64_t>(i)) * 1000 + 250);
    rows.flags.push_back(kVersionLiveness);
    rows.columns[2].AppendFixed(kStartMs + 1000 * static_cast<int64_t>(i));
    rows.columns[3].AppendFixed(std::bit_cast<int64_t>(temperatures[i % 4]));
    if (i == 0) {
      rows.columns[4].AppendMissing(CellState::kAbsent);
    } else {
      rows.columns[4].AppendBytes("OK");
    }
  }
  rows.row_count = count;
  return rows;
}

const TableSchema& Schema() {
  static const TableSchema schema =
      MakeSchema({CqlType::kTimestamp}, {CqlType::kDouble, CqlType::kText});
  return schema;
}

TEST(PageStatistics, WorkedExampleOfFormatMd) {
  const VersionColumns rows = SomeRows(Schema(), 128);
  EXPECT_EQ(PageStatisticsOf(Schema(), rows, 0, 128),
            Bytes({0x00, 0x0a, 0x12, 0x01, 0xac, 0x03, 0x02, 0x01, 0x01, 0x0c, 0x01, 0x2b, 0x02,
                   0x04, 0x7f}));
}

TEST(PageStatistics, FewRowsHaveNone) {
  const VersionColumns rows = SomeRows(Schema(), 300);
  EXPECT_EQ(PageStatisticsOf(Schema(), rows, 0, 127), "");
  EXPECT_NE(PageStatisticsOf(Schema(), rows, 10, 138), "");
}

// What one row may be that the page alone does not tell what shows of it.
TEST(PageStatistics, RowsThatDoNotStandAloneHaveNone) {
  const VersionColumns rows = SomeRows(Schema(), 200);
  VersionColumns twice = rows;
  twice.columns[2].fixed[70] = twice.columns[2].fixed[69];
  EXPECT_EQ(PageStatisticsOf(Schema(), twice, 0, 200), "");
  VersionColumns deletes = rows;
  deletes.flags[7] = kVersionDeleteRow;
  EXPECT_EQ(PageStatisticsOf(Schema(), deletes, 0, 200), "");
  VersionColumns boots = rows;
  boots.boot.assign(200, 0);
  EXPECT_NE(PageStatisticsOf(Schema(), boots, 0, 200), "");
  boots.boot[199] = 1;
  EXPECT_EQ(PageStatisticsOf(Schema(), boots, 0, 200), "");
  VersionColumns bare = rows;
  bare.flags[3] = 0;  // it lives by its value
  const auto unmarked = ReadRowStatistics(PageStatisticsOf(Schema(), bare, 0, 200));
  ASSERT_TRUE(unmarked.ok()) << unmarked.status().ToString();
  EXPECT_FALSE(unmarked->all_marked);
  EXPECT_TRUE(ReadRowStatistics(PageStatisticsOf(Schema(), rows, 0, 200))->all_marked);
  for (const size_t c : {3, 4}) {
    bare.columns[c].states.assign(200, CellState::kValue);
    bare.columns[c].states[3] = CellState::kNull;
  }
  EXPECT_EQ(PageStatisticsOf(Schema(), bare, 0, 200), "");
}

TEST(PageStatistics, TheEarliestExpiryIsKept) {
  VersionColumns rows = SomeRows(Schema(), 130);
  EXPECT_EQ(ReadRowStatistics(PageStatisticsOf(Schema(), rows, 0, 130))->expiry_s_first, 0u);
  rows.expiry_s.assign(130, 0);
  rows.expiry_s[9] = 5000;
  rows.expiry_s[90] = 4000;
  EXPECT_EQ(ReadRowStatistics(PageStatisticsOf(Schema(), rows, 0, 130))->expiry_s_first, 4000u);
}

// --- every column against what its values are

const std::vector<CqlType> kTypes = {CqlType::kDouble, CqlType::kDouble,   CqlType::kFloat,
                                     CqlType::kBigint, CqlType::kBoolean,  CqlType::kTimestamp,
                                     CqlType::kInt,    CqlType::kTimeuuid, CqlType::kSmallint};

int64_t RandomFixed(CqlType type, Rng* rng) {
  switch (type) {
    case CqlType::kDouble:
      if (rng->OneIn(60)) return static_cast<int64_t>(rng->Next());
      if (rng->OneIn(60)) return std::bit_cast<int64_t>(-0.0);
      return std::bit_cast<int64_t>(static_cast<double>(rng->Between(-5000, 5000)) / 100);
    case CqlType::kFloat:
      return std::bit_cast<uint32_t>(static_cast<float>(rng->Between(-50, 5000)) / 10);
    case CqlType::kBigint: return rng->OneIn(3) ? static_cast<int64_t>(rng->Next()) : 7;
    case CqlType::kBoolean: return rng->Between(0, 1);
    case CqlType::kTimestamp: return kStartMs + rng->Between(0, 100'000);
    default: return rng->Between(-100, 100);
  }
}

void ExpectDescribes(const ColumnStatistics& got, CqlType type, const std::vector<int64_t>& values,
                     bool has_values) {
  EXPECT_EQ(got.count, values.size());
  EXPECT_EQ(got.has_bounds, has_values && !values.empty());
  if (!got.has_bounds) return;
  ColumnSummary sum;
  sum.Add(type, {}, values);
  EXPECT_EQ(got.min, sum.min);
  EXPECT_EQ(got.max, sum.max);
  EXPECT_EQ(got.first, values.front());
  EXPECT_EQ(got.last, values.back());
  EXPECT_TRUE(!got.sum || HasSum(type));
  if (HasSum(type)) {
    EXPECT_EQ(got.sum, sum.sum.Compact());
  }
}

VersionColumns RandomRows(const TableSchema& schema, size_t count, Rng* rng) {
  VersionColumns rows = VersionColumns::For(schema);
  for (size_t i = 0; i < count; ++i) {
    rows.write_us.push_back(static_cast<int64_t>(i));
    rows.flags.push_back(kVersionLiveness);
    rows.columns[2].AppendFixed(static_cast<int64_t>(i));
    for (size_t k = 0; k < kTypes.size(); ++k) {
      ColumnData& column = rows.columns[3 + k];
      const bool is_constant = k == 1;
      if (k % 2 == 0 && rng->OneIn(k == 8 ? 1 : 9)) {
        column.AppendMissing(rng->OneIn(2) ? CellState::kNull : CellState::kAbsent);
      } else if (LaneOf(kTypes[k]) == Lane::kBytes) {
        column.AppendBytes(std::string(16, 'u'));
      } else {
        column.AppendFixed(is_constant ? std::bit_cast<int64_t>(2.5) : RandomFixed(kTypes[k], rng));
      }
    }
  }
  rows.row_count = count;
  return rows;
}

std::vector<int64_t> ValuesOf(const ColumnData& column, size_t begin, size_t end) {
  std::vector<int64_t> values;
  for (size_t i = begin; i < end; ++i) {
    if (column.state(i) != CellState::kValue) continue;
    values.push_back(column.lane == Lane::kFixed ? column.fixed[i] : 0);
  }
  return values;
}

TEST(PageStatistics, TellWhatTheValuesAre) {
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, kTypes);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const size_t count = 128 + rng.Below(300);
    const VersionColumns rows = RandomRows(schema, count, &rng);
    const std::string bytes = PageStatisticsOf(schema, rows, 0, count);
    for (size_t k = 0; k < kTypes.size(); ++k) {
      const auto got = ReadColumnStatistics(schema, {bytes, count}, 3 + k);
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      ExpectDescribes(*got, kTypes[k], ValuesOf(rows.columns[3 + k], 0, count),
                      LaneOf(kTypes[k]) == Lane::kFixed);
    }
    if (HasFailure()) return;
  }
}

// A header of pages that end at the given rows.
SegmentHeader HeaderOf(const TableSchema& schema, const VersionColumns& rows,
                       const std::vector<size_t>& ends) {
  SegmentHeader header;
  size_t begin = 0;
  for (const size_t end : ends) {
    PageInfo page{static_cast<uint32_t>(end - begin), 1, static_cast<int64_t>(begin),
                  static_cast<int64_t>(end - 1)};
    const std::string statistics = PageStatisticsOf(schema, rows, begin, end);
    page.statistics_begin = static_cast<uint32_t>(header.statistics.size());
    page.statistics_size = static_cast<uint32_t>(statistics.size());
    header.statistics += statistics;
    header.pages.push_back(page);
    begin = end;
  }
  header.row_count = begin;
  header.last_time = static_cast<int64_t>(begin) - 1;
  return header;
}

TEST(PageStatistics, OfASegmentAreThoseOfAllItsRows) {
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, kTypes);
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const VersionColumns rows = RandomRows(schema, 900, &rng);
    SegmentHeader header = HeaderOf(schema, rows, {128, 500, 900});
    const std::string all = SegmentStatisticsOf(schema, header);
    for (size_t k = 0; k < kTypes.size(); ++k) {
      const auto got = ReadColumnStatistics(schema, {all, 900}, 3 + k);
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      ExpectDescribes(*got, kTypes[k], ValuesOf(rows.columns[3 + k], 0, 900),
                      LaneOf(kTypes[k]) == Lane::kFixed);
    }
    const auto decoded = DecodeSegmentHeader(EncodeSegmentHeader(header));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(decoded->pages, header.pages);
    EXPECT_EQ(decoded->statistics, header.statistics);
    header.pages[1].first_time = header.pages[0].last_time;  // a key may go on there
    EXPECT_EQ(SegmentStatisticsOf(schema, header), "");
    if (HasFailure()) return;
  }
}

TEST(PageStatistics, ASegmentWithAPageOfFewRowsHasNone) {
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, kTypes);
  Rng rng(1);
  const VersionColumns rows = RandomRows(schema, 300, &rng);
  SegmentHeader header = HeaderOf(schema, rows, {200, 300});
  EXPECT_EQ(SegmentStatisticsOf(schema, header), "");
  EXPECT_EQ(header.pages[1].statistics_size, 0u);
  header.pages[1].statistics_begin = 0;  // as it is read
  const auto decoded = DecodeSegmentHeader(EncodeSegmentHeader(header));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(decoded->pages, header.pages);
}

// Of an integer column, the only one beside the time.
TEST(PageStatistics, SumsAreReadAtEveryWidth) {
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, {CqlType::kBigint});
  const auto is_extended = [](uint64_t word, bool is_negative, size_t from) {
    return from >= 8 || word >> (8 * from) == (is_negative ? ~uint64_t{0} : 0) >> (8 * from);
  };
  for (size_t size = 0; size <= 16; ++size) {
    for (const bool is_negative : {false, true}) {
      if (is_negative && size == 0) continue;
      SCOPED_TRACE(std::to_string(size) + (is_negative ? " bytes, negative" : " bytes"));
      std::string bytes;
      for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(0x91 + 7 * i));
      if (size > 0) bytes.back() = is_negative ? '\xa5' : '\x25';
      const std::string body = Bytes({25, 0, 0, static_cast<int>(size)}) + bytes;
      const std::string all = std::string({'\0', static_cast<char>(body.size())}) + body;
      const auto read = ReadColumnStatistics(schema, {all, 200}, 3);
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      ASSERT_TRUE(read->sum.has_value());
      for (size_t i = 0; i < size; ++i) {
        const uint64_t word = i < 8 ? read->sum->low : static_cast<uint64_t>(read->sum->high);
        EXPECT_EQ(static_cast<char>(word >> (8 * (i % 8))), bytes[i]) << i;
      }
      EXPECT_TRUE(is_extended(read->sum->low, is_negative, size));
      EXPECT_TRUE(is_extended(static_cast<uint64_t>(read->sum->high), is_negative,
                              size < 8 ? 0 : size - 8));
    }
  }
}

// --- damage

TEST(PageStatistics, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    std::string bytes;
    size_t column;
    const char* field;
    const char* why;
  };
  const TableSchema schema = MakeSchema(
      {CqlType::kTimestamp},
      {CqlType::kDouble, CqlType::kText, CqlType::kFloat, CqlType::kInt, CqlType::kTimestamp});
  const std::string zeros = Bytes({0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(ReadColumnStatistics(schema, {zeros, 200}, 3).ok());
  const Fixture fixtures[] = {
      {"nothing", Bytes({}), 3, "flags", "runs past the end"},
      {"flags", Bytes({4, 0, 0}), 3, "flags", "has unknown bits"},
      {"no expiry", Bytes({1}), 3, "first expiry", "runs past the end"},
      {"expiry 0", Bytes({1, 0, 0}), 3, "first expiry", "is zero"},
      {"expiry", Bytes({1, 0xff, 0xff, 0xff, 0xff, 0x7f}), 3,
       "first expiry", "is beyond its limit"},
      {"column size", Bytes({0, 9, 1}), 3, "column", "runs past the end"},
      {"no such column", Bytes({0, 0}), 4, "column size", "runs past the end"},
      {"descriptor", Bytes({0, 1, 64}), 3, "descriptor", "has unknown bits"},
      {"count", Bytes({0, 3, 4, 0xc9, 1}), 3, "count", "is beyond its limit"},
      {"equal without values", Bytes({0, 1, 8}), 3, "descriptor", "does not fit the column"},
      {"integers of doubles", Bytes({0, 1, 1}), 3, "descriptor", "does not fit the column"},
      {"decimals of integers", Bytes({0, 0, 0, 0, 1, 2}), 6,
       "descriptor", "does not fit the column"},
      {"values of a text", Bytes({0, 0, 1, 1}), 4, "descriptor", "does not fit the column"},
      {"values of none", Bytes({0, 3, 14, 0, 0}), 3, "descriptor", "does not fit the column"},
      {"sum of times", Bytes({0, 0, 0, 0, 0, 2, 25, 0}), 7,
       "descriptor", "has a sum that its column has not"},
      {"special sum of integers", Bytes({0, 0, 0, 0, 3, 57, 0, 1}), 6,
       "descriptor", "has a sum that its column has not"},
      {"special without a sum", Bytes({0, 2, 42, 0}), 3,
       "descriptor", "has a sum that its column has not"},
      {"exponent", Bytes({0, 3, 10, 23, 0}), 3, "exponent", "is above 22"},
      {"float bits", Bytes({0, 0, 0, 7, 11, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x7f}), 5, "min",
       "is more than a float's bits"},
      {"no max", Bytes({0, 0, 0, 0, 2, 1, 0}), 6, "max", "runs past the end"},
      {"max below", Bytes({0, 0, 0, 0, 14, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                           0xff, 1, 0, 0}), 6, "max", "is below min"},
      {"sum exponent", Bytes({0, 0, 0, 0, 4, 25, 0, 0x82, 16}), 6,
       "sum exponent", "is out of range"},
      {"sum size", Bytes({0, 0, 0, 0, 4, 25, 0, 0, 17}), 6, "sum size", "is beyond its limit"},
      {"sum", Bytes({0, 0, 0, 0, 4, 25, 0, 0, 1}), 6, "sum", "runs past the end"},
      {"special sum", Bytes({0, 4, 58, 0, 0, 8}), 3, "sum", "is not known"},
      {"special sum 0", Bytes({0, 4, 58, 0, 0, 0}), 3, "sum", "is not known"},
      {"bytes behind", Bytes({0, 4, 10, 0, 0, 0}), 3,
       "end of column", "is not where the fields end"},
      {"bytes behind the last", zeros + Bytes({0}), 3, "end", "is not where the fields end"},
      {"columns that are missing", Bytes({0, 0}), 3, "column size", "runs past the end"},
  };
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ExpectDamage(ReadColumnStatistics(schema, {f.bytes, 200}, f.column).status(), f.field, f.why);
  }
}

}  // namespace
}  // namespace cistern
