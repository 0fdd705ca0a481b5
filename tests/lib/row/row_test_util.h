// Schemas and row versions for tests.
#ifndef CISTERN_TESTS_LIB_ROW_ROW_TEST_UTIL_H_
#define CISTERN_TESTS_LIB_ROW_ROW_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern::row_test {

inline std::shared_ptr<const TableSchema> Parse(const std::string& cql) {
  auto schema = ParseCreateTable(cql);
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return schema.ok() ? schema.value() : nullptr;
}

// Entity id, day bucket, event time ts; a int, b text, d double.
inline std::shared_ptr<const TableSchema> PlainTable() {
  return Parse(
      "CREATE TABLE t (id text, day date, ts timestamp, a int, b text, d double, "
      "PRIMARY KEY ((id, day), ts))");
}

// A row version to be appended to VersionColumns of PlainTable.
struct Version {
  int64_t ts = 0;
  int64_t write_us = 0;
  uint32_t expiry_s = 0;
  uint8_t flags = 0;
  CellState a_state = CellState::kAbsent;
  int64_t a = 0;
  CellState b_state = CellState::kAbsent;
  std::string_view b = {};
};

inline void Append(const TableSchema& schema, const Version& v, VersionColumns* rows) {
  rows->write_us.push_back(v.write_us);
  rows->expiry_s.push_back(v.expiry_s);
  rows->flags.push_back(v.flags);
  const auto column = [&](const char* name) -> ColumnData& {
    return rows->columns[*schema.FindColumn(name)];
  };
  column("ts").AppendFixed(v.ts);
  if (v.a_state == CellState::kValue) column("a").AppendFixed(v.a);
  else column("a").AppendMissing(v.a_state);
  if (v.b_state == CellState::kValue) column("b").AppendBytes(v.b);
  else column("b").AppendMissing(v.b_state);
  column("d").AppendMissing(CellState::kAbsent);
  ++rows->row_count;
}

}  // namespace cistern::row_test

#endif  // CISTERN_TESTS_LIB_ROW_ROW_TEST_UTIL_H_
