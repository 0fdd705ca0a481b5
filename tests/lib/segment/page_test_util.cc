#include "tests/lib/segment/page_test_util.h"

#include <utility>

namespace cistern {

TableSchema MakeSchema(const std::vector<CqlType>& clustering,
                              const std::vector<CqlType>& regular) {
  TableSchema s;
  s.name = std::string("samples");
  const auto add = [&s](std::string name, CqlType type, ColumnRole role) {
    ColumnSpec spec;
    spec.name = std::move(name);
    spec.type.kind = type;
    spec.role = role;
    s.columns.push_back(std::move(spec));
    return s.columns.size() - 1;
  };
  s.entity_columns.push_back(add("entity", CqlType::kText, ColumnRole::kEntity));
  s.bucket_column = add("day", CqlType::kDate, ColumnRole::kBucket);
  for (size_t i = 0; i < clustering.size(); ++i) {
    std::string name(1, 'c');
    name.append(std::to_string(i));
    s.clustering_columns.push_back(add(std::move(name), clustering[i], ColumnRole::kClustering));
  }
  for (size_t i = 0; i < regular.size(); ++i) {
    std::string name(1, 'r');
    name.append(std::to_string(i));
    s.regular_columns.push_back(add(std::move(name), regular[i], ColumnRole::kRegular));
  }
  return s;
}

void ExpectSameColumn(const ColumnData& got, const ColumnData& want, size_t begin,
                             size_t end, const std::string& name) {
  ASSERT_EQ(got.lane, want.lane) << name;
  ASSERT_EQ(got.size(), end - begin) << name;
  bool all_values = true;
  for (size_t i = begin; i < end; ++i) {
    ASSERT_EQ(got.state(i - begin), want.state(i)) << name << " row " << i;
    all_values = all_values && want.state(i) == CellState::kValue;
    if (want.lane == Lane::kFixed) {
      ASSERT_EQ(got.fixed[i - begin], want.fixed[i]) << name << " row " << i;
    } else {
      ASSERT_EQ(got.bytes(i - begin), want.bytes(i)) << name << " row " << i;
    }
  }
  EXPECT_EQ(got.states.empty(), all_values) << name;
}

void ExpectSameRows(const TableSchema& schema, const VersionColumns& got,
                           const VersionColumns& want, size_t begin, size_t end) {
  ASSERT_EQ(got.row_count, end - begin);
  for (size_t i = begin; i < end; ++i) {
    ASSERT_EQ(got.write_us[i - begin], want.write_us[i]) << "row " << i;
    ASSERT_EQ(got.boot_of(i - begin), want.boot_of(i)) << "row " << i;
    ASSERT_EQ(got.expiry_of(i - begin), want.expiry_of(i)) << "row " << i;
    ASSERT_EQ(got.flags[i - begin], want.flags[i]) << "row " << i;
  }
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnRole role = schema.columns[c].role;
    if (role == ColumnRole::kClustering || role == ColumnRole::kRegular) {
      ExpectSameColumn(got.columns[c], want.columns[c], begin, end, schema.columns[c].name);
    } else {
      EXPECT_EQ(got.columns[c].size(), 0u);
    }
  }
}

}  // namespace cistern
