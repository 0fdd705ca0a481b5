#include "engine/bucketing/split_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"

namespace cistern {
namespace {

struct Part {
  CqlType kind;
  const char* text;
};

std::string KeyOf(const std::vector<Part>& parts) {
  std::string key;
  for (const Part& part : parts) {
    const ColumnType type{part.kind, {}};
    CellValue value;
    EXPECT_TRUE(ParseValueText(type, part.text, &value).ok()) << part.text;
    AppendSplitKey(type, value.fixed, value.bytes, &key);
  }
  return key;
}

// The vectors of docs/schema.md, computed there by Python's xxhash.
TEST(SplitPolicy, HashesAsDocumented) {
  EXPECT_EQ(HashSplit(KeyOf({{CqlType::kTimestamp, "1705327200123"}}), 8), 5u);
  EXPECT_EQ(HashSplit(KeyOf({{CqlType::kTimestamp, "1705327200123"}, {CqlType::kInt, "7"}}), 16),
            11u);
  EXPECT_EQ(HashSplit(KeyOf({{CqlType::kTimeuuid, "50554d6e-29bb-11e5-b345-feff819cdc9f"},
                             {CqlType::kText, "pump-ä"}}),
                      1000),
            480u);
  EXPECT_EQ(HashSplit(KeyOf({{CqlType::kBigint, "-1"}}), 8), 4u);
  EXPECT_EQ(HashSplit(KeyOf({{CqlType::kBigint, "0"}, {CqlType::kText, ""}}), 3), 2u);
}

TEST(SplitPolicy, KeyBytesAreLengthAndWireValue) {
  using namespace std::string_literals;
  EXPECT_EQ(
      KeyOf({{CqlType::kTinyint, "-1"}, {CqlType::kDate, "1970-01-01"}, {CqlType::kText, "ab"}}),
      "\0\x01\xff\0\x04\x80\0\0\0\0\x02"
      "ab"s);
}

TEST(SplitPolicy, RoundRobinVisitsEverySplitInTurn) {
  RoundRobin counter;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t split = 0; split < 5; ++split) EXPECT_EQ(counter.Next(5), split);
  }
  EXPECT_EQ(counter.Next(5), 0u);
  EXPECT_EQ(counter.Next(1), 0u);  // a table with fewer splits
  EXPECT_EQ(counter.Next(1), 0u);
}

std::shared_ptr<const TableSchema> Table(const std::string& rule) {
  auto parsed = ParseCreateTable(
      "CREATE TABLE t (e text, day date, s int, n int, ts timestamp, v text, "
      "PRIMARY KEY ((e, day, s), ts, n)) WITH comment = 'cistern: bucket day = day; split s = " +
      rule + "'");
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return parsed.ok() ? *parsed : nullptr;
}

void AddRow(RowBatch* batch, int64_t ts, int64_t n, std::string_view v) {
  batch->BeginRow();
  EXPECT_TRUE(batch->SetBytes(0, "pump-7").ok());
  EXPECT_TRUE(batch->SetInt(3, n).ok());
  EXPECT_TRUE(batch->SetInt(4, ts).ok());
  EXPECT_TRUE(batch->SetBytes(5, v).ok());
  EXPECT_TRUE(batch->EndRow().ok());
}

TEST(SplitPolicy, ARowIsHashedByItsClusteringKeyAlone) {
  const auto table = Table("hash 16");
  RowBatch batch(table);
  AddRow(&batch, 1'705'327'200'123, 7, "first");
  AddRow(&batch, 1'705'327'200'124, 7, "another key");
  AddRow(&batch, 1'705'327'200'123, 7, "the first key again");
  ASSERT_EQ(batch.row_count(), 3u);
  EXPECT_EQ(SplitOfRow(*table, batch, 0, nullptr), 11u);  // the second vector: ts before n
  EXPECT_NE(SplitOfRow(*table, batch, 1, nullptr), 11u);
  EXPECT_EQ(SplitOfRow(*table, batch, 2, nullptr), 11u);
}

TEST(SplitPolicy, RoundRobinIgnoresTheKey) {
  const auto table = Table("round_robin 2");
  RowBatch batch(table);
  AddRow(&batch, 1, 1, "x");
  RoundRobin counter;
  EXPECT_EQ(SplitOfRow(*table, batch, 0, &counter), 0u);
  EXPECT_EQ(SplitOfRow(*table, batch, 0, &counter), 1u);
  EXPECT_EQ(SplitOfRow(*table, batch, 0, &counter), 0u);
}

TEST(SplitPolicy, EverySplitIsUsed) {
  std::vector<int> counts(8, 0);
  for (int64_t ts = 0; ts < 8'000; ++ts) {
    std::string key;
    AppendSplitKey({CqlType::kTimestamp, {}}, 1'705'327'200'000 + ts * 1000, {}, &key);
    ++counts[HashSplit(key, 8)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace cistern
