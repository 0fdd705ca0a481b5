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

}  // namespace
}  // namespace cistern
