// RowPacking: what is packed comes back, and keys sort as they are meant to.
#include "bench/peers/row_packing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "bench/peers/row_sums.h"

namespace cistern::bench {
namespace {

PeerTable TableOfAllTypes(bool has_nulls) {
  PeerTable table;
  table.columns = {{"a", CellType::kDouble},
                   {"b", CellType::kInt},
                   {"c", CellType::kText},
                   {"d", CellType::kBool},
                   {"e", CellType::kDouble}};
  table.has_nulls = has_nulls;
  return table;
}

RowBlock OneRow(bool has_nulls) {
  RowBlock block(5);
  block.BeginRow(7, 1'735'689'600'123);
  block.SetDouble(0, -1.25);
  if (has_nulls) {
    block.SetNull(1);
  } else {
    block.SetInt(1, -42);
  }
  block.SetText(2, "seven");
  block.SetInt(3, 1);
  block.SetDouble(4, 1e300);
  return block;
}

RowDigest DigestOf(const PeerTable& table, const RowView& row) {
  RowDigest digest;
  digest.Add(table, row);
  return digest;
}

std::string_view ViewOf(const RowPacking::Key& key) { return {key.data(), key.size()}; }

TEST(RowPacking, GivesBackWhatItPacked) {
  for (const bool has_nulls : {false, true}) {
    for (const KeyOrder order : {KeyOrder::kEntityTime, KeyOrder::kTimeEntity}) {
      RowPacking packing(TableOfAllTypes(has_nulls), order);
      const RowBlock block = OneRow(has_nulls);
      const RowView row = block.Row(0);
      std::string value;
      packing.PackValue(row, &value);
      EXPECT_EQ(value.size(), has_nulls ? 2 + 8 + 6 + 1 + 8 : 8 + 4 + 6 + 1 + 8);
      const RowPacking::Key key = packing.KeyOf(row.entity, row.time_ms);
      const RowView back = packing.Unpack(ViewOf(key), value);
      EXPECT_EQ(back.entity, 7u);
      EXPECT_EQ(back.time_ms, 1'735'689'600'123);
      EXPECT_EQ(back.Text(2), "seven");
      EXPECT_EQ(DigestOf(packing.table(), back), DigestOf(packing.table(), row));
    }
  }
}

TEST(RowPacking, FindsNumbersBeforeAndBehindTexts) {
  for (const bool has_nulls : {false, true}) {
    const RowPacking packing(TableOfAllTypes(has_nulls), KeyOrder::kEntityTime);
    std::string value;
    packing.PackValue(OneRow(has_nulls).Row(0), &value);
    EXPECT_EQ(packing.Number(value, 0), -1.25);
    EXPECT_EQ(packing.Number(value, 1), has_nulls ? std::nullopt : std::optional(-42.0));
    EXPECT_EQ(packing.Number(value, 3), 1.0);
    EXPECT_EQ(packing.Number(value, 4), 1e300);
  }
}

TEST(RowPacking, KeysSortByWhatComesFirst) {
  const RowPacking by_entity(TableOfAllTypes(false), KeyOrder::kEntityTime);
  EXPECT_LT(ViewOf(by_entity.KeyOf(1, 900)), ViewOf(by_entity.KeyOf(2, 100)));
  EXPECT_LT(ViewOf(by_entity.KeyOf(1, 255)), ViewOf(by_entity.KeyOf(1, 256)));
  const RowPacking by_time(TableOfAllTypes(false), KeyOrder::kTimeEntity);
  EXPECT_LT(ViewOf(by_time.KeyOf(2, 100)), ViewOf(by_time.KeyOf(1, 900)));
  EXPECT_LT(ViewOf(by_time.KeyOf(255, 100)), ViewOf(by_time.KeyOf(256, 100)));
}

TEST(RowDigest, DependsOnEveryCellAndOnNoOrder) {
  const PeerTable table = TableOfAllTypes(false);
  RowBlock block(5);
  for (int64_t i = 0; i < 10; ++i) {
    block.AppendRow(OneRow(false).Row(0), table.columns);
    if (i < 5) block.SetInt(static_cast<size_t>(i), i == 2 ? 0 : 99);  // 2: the text is empty
  }
  RowDigest forth;
  RowDigest back;
  for (size_t i = 0; i < block.size(); ++i) {
    forth.Add(table, block.Row(i));
    back.Add(table, block.Row(block.size() - 1 - i));
  }
  EXPECT_EQ(forth, back);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NE(DigestOf(table, block.Row(i)), DigestOf(table, block.Row(9))) << i;
  }
}

}  // namespace
}  // namespace cistern::bench
