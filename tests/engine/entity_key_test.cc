// The key of an entity: the rows that were appended with a value are found by its text, and a key
// that is too large is refused, as whoever reads it would refuse it.
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class EntityKeyTest : public EngineFixture {
 protected:
  void SetUp() override { Open(); }

  void CreateTable(const std::string& name, const std::string& cql) {
    const Status made = engine_->CreateTable(cql);
    ASSERT_TRUE(made.ok()) << cql << ": " << made.ToString();
    for (const auto& table : engine_->ListTables()) {
      if (table->name == name) schema_ = table;
    }
  }
  // So many bigint columns in the entity, and so many behind the event time.
  void CreateWide(int entities, int clusters) {
    std::string columns;
    std::string entity;
    std::string clustering;
    for (int i = 0; i < entities; ++i) {
      columns += "e" + std::to_string(i) + " bigint, ";
      entity += "e" + std::to_string(i) + ", ";
    }
    for (int i = 0; i < clusters; ++i) {
      columns += "c" + std::to_string(i) + " bigint, ";
      clustering += ", c" + std::to_string(i);
    }
    CreateTable("wide", "CREATE TABLE plant.wide (" + columns +
                            "day date, ts timestamp, v double, PRIMARY KEY ((" + entity +
                            "day), ts" + clustering +
                            ")) WITH comment = 'cistern: bucket day = 1 day'");
  }
  Status AppendWide() {
    RowBatch batch(schema_);
    batch.BeginRow();
    for (size_t c = 0; c < schema_->columns.size(); ++c) {
      const ColumnSpec& column = schema_->columns[c];
      if (column.role == ColumnRole::kBucket) continue;
      const Status set = column.name == "v"    ? batch.SetDouble(c, 1)
                         : column.name == "ts" ? batch.SetInt(c, kStartMs)
                                               : batch.SetInt(c, -1);
      EXPECT_TRUE(set.ok()) << set.ToString();
    }
    CISTERN_RETURN_IF_ERROR(batch.EndRow());
    return engine_->Append(batch).status();
  }
};

TEST_F(EntityKeyTest, OfEveryFixedTypeIsFoundByItsText) {
  struct Value {
    int64_t value;
    const char* text;
  };
  const std::pair<const char*, std::vector<Value>> types[] = {
      {"tinyint", {{-128, "-128"}, {5, "5"}}},
      {"smallint", {{-32768, "-32768"}, {258, "258"}}},
      {"int", {{INT32_MIN, "-2147483648"}, {7, "7"}}},
      {"bigint", {{INT64_MIN, "-9223372036854775808"}, {-2, "-2"}}},
      {"boolean", {{0, "false"}, {1, "true"}}},
      {"date", {{0, "1970-01-01"}, {-1, "1969-12-31"}}},
      {"timestamp", {{0, "1970-01-01T00:00:00Z"}, {-1000, "1969-12-31T23:59:59Z"}}},
      {"time", {{0, "00:00:00"}, {1'000'000'000, "00:00:01"}}}};
  for (const auto& [type, values] : types) {
    const std::string name = std::string("of_") + type;
    CreateTable(name, "CREATE TABLE plant." + name + " (e " + type +
                          ", day date, ts timestamp, flow double, PRIMARY KEY ((e, day), ts))"
                          " WITH comment = 'cistern: bucket day = 1 day'");
    RowBatch batch(schema_);
    for (int row = 0; row < 6; ++row) {
      batch.BeginRow();
      ASSERT_TRUE(batch.SetInt(0, values[row % 2].value).ok());
      ASSERT_TRUE(batch.SetInt(2, kStartMs + row).ok());
      ASSERT_TRUE(batch.SetDouble(3, 1).ok());
      ASSERT_TRUE(batch.EndRow().ok());
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
    for (const Value& value : values) {
      EXPECT_EQ(ScanAll(value.text).size(), 3u) << type << " " << value.text;
    }
  }
}

TEST_F(EntityKeyTest, OfManyNumbersIsTakenUpToItsLimit) {
  CreateWide(limits::kEntityKeyBytesMax / 10, 0);
  EXPECT_TRUE(AppendWide().ok());
  Crash();
  EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(engine_->GetMetrics().versions_written, 1u);
}

TEST_F(EntityKeyTest, OfMoreNumbersIsRefused) {
  CreateWide(limits::kEntityKeyBytesMax / 10 + 1, 0);
  EXPECT_EQ(AppendWide().code(), StatusCode::kTooLarge);
}

TEST_F(EntityKeyTest, ClusteringColumnsOfManyNumbersAreRefused) {
  CreateWide(1, limits::kClusteringKeyBytesMax / 10);
  EXPECT_EQ(AppendWide().code(), StatusCode::kTooLarge);
}

}  // namespace
}  // namespace cistern::testing
