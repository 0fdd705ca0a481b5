// Columns of literals, for tests of the export.
#ifndef CISTERN_TESTS_LIB_ARROW_ARROW_COLUMNS_H_
#define CISTERN_TESTS_LIB_ARROW_ARROW_COLUMNS_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/schema.h"
#include "lib/cql/value_text.h"

namespace cistern::arrow_test {

using Literals = std::vector<std::optional<std::string_view>>;  // nullopt: null

// Entity id, bucket day, event time ts and a regular column x of `type`.
inline std::shared_ptr<const TableSchema> TableOf(const std::string& type) {
  auto schema = ParseCreateTable("CREATE TABLE plant.t (id text, day date, ts timestamp, x " +
                                 type + ", PRIMARY KEY ((id, day), ts))");
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return schema.ok() ? schema.value() : nullptr;
}

inline ColumnData ColumnOf(const ColumnType& type, const Literals& literals) {
  ColumnData out;
  out.lane = type.lane();
  for (const auto& literal : literals) {
    CellValue value;
    if (!literal) {
      out.AppendMissing(CellState::kNull);
      continue;
    }
    const Status parsed = ParseValueText(type, *literal, &value);
    EXPECT_TRUE(parsed.ok()) << parsed.ToString();
    out.lane == Lane::kFixed ? out.AppendFixed(value.fixed) : out.AppendBytes(value.bytes);
  }
  return out;
}

}  // namespace cistern::arrow_test

#endif  // CISTERN_TESTS_LIB_ARROW_ARROW_COLUMNS_H_
