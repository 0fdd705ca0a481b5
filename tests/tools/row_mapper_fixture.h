// What tests of RowMapper share: a table of air, records of it, and mappers of rows into it.
#ifndef CISTERN_TESTS_TOOLS_ROW_MAPPER_FIXTURE_H_
#define CISTERN_TESTS_TOOLS_ROW_MAPPER_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/row_mapper.h"

namespace cistern::tool {

inline std::shared_ptr<const TableSchema> Air() {
  auto schema = ParseCreateTable(R"(CREATE TABLE air (
      station text, day date, ts timestamp, temp double, n int, wd text, tags frozen<set<text>>,
      seen timestamp, ok boolean, f float,
      PRIMARY KEY ((station, day), ts)))");
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return *schema;
}
// Places of its columns.
inline constexpr size_t kStation = 0, kTs = 2, kTemp = 3, kN = 4, kWd = 5, kSeen = 7, kOk = 8,
                        kF = 9;

inline Record CsvRecord(std::vector<Cell> cells) {
  Record record;
  record.cells = std::move(cells);
  return record;
}
inline Cell Bare(std::string_view text) { return {{}, text, CellForm::kBare}; }
inline Cell Quoted(std::string_view text) { return {{}, text, CellForm::kQuoted}; }
inline Cell Named(std::string_view name, std::string_view text, CellForm form = CellForm::kBare) {
  return {name, text, form};
}

class RowMapperTest : public ::testing::Test {
 protected:
  std::shared_ptr<const TableSchema> schema_ = Air();
  MappingOptions options_;
  RowBatch batch_{schema_};

  RowMapper Make(const std::optional<std::string>& stem = std::nullopt) {
    Result<RowMapper> mapper = RowMapper::Make(schema_, options_, stem);
    EXPECT_TRUE(mapper.ok()) << mapper.status().ToString();
    return std::move(*mapper);
  }
  std::string MakeError() {
    const Result<RowMapper> mapper = RowMapper::Make(schema_, options_, std::nullopt);
    return mapper.ok() ? "" : mapper.status().message();
  }
};

}  // namespace cistern::tool

#endif  // CISTERN_TESTS_TOOLS_ROW_MAPPER_FIXTURE_H_
