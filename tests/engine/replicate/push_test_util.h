// Tables, pages and a server for the tests of what is pushed.
#ifndef CISTERN_TESTS_ENGINE_REPLICATE_PUSH_TEST_UTIL_H_
#define CISTERN_TESTS_ENGINE_REPLICATE_PUSH_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/entity.h"
#include "cistern/schema.h"
#include "engine/replicate/batch_stream.h"
#include "engine/replicate/push_statements.h"
#include "engine/replicate/row_binder.h"
#include "lib/base/coding.h"
#include "lib/row/version_columns.h"
#include "tests/support/cell.h"
#include "tests/support/fake_cassandra/partition.h"

namespace cistern::replicate {

using testing::Cell;

// 2026-11-20: the bucket that the rows of these tests are in.
inline constexpr int64_t kDayStartS = 1'795'132'800;

inline std::shared_ptr<const TableSchema> ParseTable(const std::string& cql) {
  auto schema = ParseCreateTable(cql);
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return schema.ok() ? schema.value() : nullptr;
}

// Entity id, day bucket, event time ts; a int, b text.
inline std::shared_ptr<const TableSchema> SmallTable() {
  return ParseTable(
      "CREATE TABLE ks.t (id text, day date, ts timestamp, a int, b text, "
      "PRIMARY KEY ((id, day), ts))");
}

inline std::shared_ptr<const PushStatements> StatementsOf(
    const std::shared_ptr<const TableSchema>& schema) {
  auto made = PushStatements::Make(schema, "ks");
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? made.value() : nullptr;
}

inline std::shared_ptr<const RowBinder> BinderOf(
    const std::shared_ptr<const TableSchema>& schema,
    const std::vector<std::string_view>& entity, uint32_t split = 0) {
  const auto key = EntityFromText(*schema, entity);
  EXPECT_TRUE(key.ok()) << key.status().ToString();
  auto made = RowBinder::Make(StatementsOf(schema), {key->bytes, kDayStartS, split});
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? std::make_shared<const RowBinder>(std::move(*made)) : nullptr;
}

inline void AppendCell(const Cell& cell, ColumnData* column) {
  if (cell.state != CellState::kValue) return column->AppendMissing(cell.state);
  if (column->lane == Lane::kFixed) return column->AppendFixed(cell.fixed);
  column->AppendBytes(cell.bytes);
}

// One row version; cells of the clustering and regular columns, in the order of the key and then
// as they are declared.
struct TestVersion {
  int64_t write_us = 0;
  uint32_t expiry_s = 0;
  uint8_t flags = 0;
  std::vector<Cell> cells;
};

inline void AppendVersion(const TableSchema& schema, const TestVersion& version,
                          VersionColumns* rows) {
  rows->write_us.push_back(version.write_us);
  rows->expiry_s.push_back(version.expiry_s);
  rows->flags.push_back(version.flags);
  size_t next = 0;
  for (const auto* columns : {&schema.clustering_columns, &schema.regular_columns}) {
    for (const size_t c : *columns) AppendCell(version.cells[next++], &rows->columns[c]);
  }
  ++rows->row_count;
}

inline VersionColumns PageOf(const TableSchema& schema, const std::vector<TestVersion>& versions) {
  VersionColumns rows = VersionColumns::For(schema);
  for (const TestVersion& version : versions) AppendVersion(schema, version, &rows);
  return rows;
}

// A version of SmallTable.
inline TestVersion Small(int64_t ts, int64_t write_us, uint32_t expiry_s, uint8_t flags, Cell a,
                         Cell b) {
  return {write_us, expiry_s, flags, {Cell::Fixed(ts), std::move(a), std::move(b)}};
}

inline SealContent ContentOf(std::vector<VersionColumns> pages, std::vector<RangeDelete> deletes) {
  SealContent content;
  content.deletes = std::move(deletes);
  content.page_count = static_cast<uint32_t>(pages.size());
  content.read_page = [pages = std::move(pages)](uint32_t page,
                                                 std::optional<int64_t>) -> Result<SealPage> {
    return SealPage{pages[page], {}};
  };
  return content;
}

// One value of a statement: nothing for null, and `is_unset`.
struct BoundValue {
  std::optional<std::string> bytes;
  bool is_unset = false;
};

// Takes the values apart as a server does; fails the test where they are no values.
inline std::vector<BoundValue> SplitValues(std::string_view values) {
  std::vector<BoundValue> all;
  while (values.size() >= 4) {
    const auto length = GetBig<int32_t>(values.data());
    values.remove_prefix(4);
    BoundValue value;
    value.is_unset = length == -2;
    if (length >= 0) {
      EXPECT_LE(static_cast<size_t>(length), values.size());
      value.bytes = std::string(values.substr(0, static_cast<size_t>(length)));
      values.remove_prefix(value.bytes->size());
    } else {
      EXPECT_GE(length, -2);
    }
    all.push_back(std::move(value));
  }
  EXPECT_TRUE(values.empty());
  return all;
}

// What one replica makes of batches, statement by statement, by Cassandra's rules.
class ServerModel {
 public:
  ServerModel(std::shared_ptr<const PushStatements> statements, uint32_t default_ttl_s);

  void Apply(const PushBatch& batch, int64_t server_now_s);

  [[nodiscard]] const fake_cassandra::Partition& partition() const { return partition_; }
  [[nodiscard]] fake_cassandra::Partition& partition() { return partition_; }
  // The values of the partition key that every statement must name.
  [[nodiscard]] const std::vector<std::string>& key() const { return key_; }

 private:
  struct Parts;  // of a statement
  [[nodiscard]] Parts Take(const PushStatement& statement, std::string_view values) const;
  void ApplySetting(const Parts& parts, bool has_marker, int64_t now_s);
  void ApplyDelete(StatementKind kind, const Parts& parts, int64_t now_s);

  std::shared_ptr<const PushStatements> statements_;
  uint32_t default_ttl_s_;
  std::vector<std::string> key_;
  fake_cassandra::Partition partition_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_TESTS_ENGINE_REPLICATE_PUSH_TEST_UTIL_H_
