// Values against what lib/cql/wire_value.h serialises, and against bytes written by hand.
#include "engine/replicate/row_binder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/cql/token.h"
#include "lib/cql/wire_value.h"
#include "lib/row/row_order.h"
#include "tests/engine/replicate/push_test_util.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    hex.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return hex;
}

const Emission kWholeInsert = {StatementKind::kInsertTtl, {}, Emission::Life::kExpiry};

TEST(RowBinder, BytesOfAnInsert) {
  const auto schema = SmallTable();
  const VersionColumns rows =
      PageOf(*schema, {Small(1'000, 7, 9, kVersionLiveness, Cell::Fixed(-2), Cell::Absent())});
  std::string values = "before";
  BinderOf(schema, {"p1"})->BindRow(kWholeInsert, rows, 0, 7, 60, &values);
  EXPECT_EQ(Hex(values.substr(6)),
            "00000002"          "7031"              // id 'p1'
            "00000004"          "80005129"          // day 2026-11-20: 20777 days + 2^31
            "00000004"          "fffffffe"          // a
            "fffffffe"                              // b: unset
            "00000008"          "00000000000003e8"  // ts
            "00000008"          "0000000000000007"  // timestamp
            "00000004"          "0000003c");        // TTL
}

TEST(RowBinder, CellsAsTheyAreAsked) {
  const auto schema = SmallTable();
  const VersionColumns rows =
      PageOf(*schema, {Small(1'000, 7, 0, 0, Cell::Fixed(1), Cell::Null())});
  const auto binder = BinderOf(schema, {"p1"});
  const auto bound = [&](CellBinding cells) {
    std::string values;
    binder->BindRow({StatementKind::kUpdate, cells, Emission::Life::kEndless}, rows, 0, 7, 0,
                    &values);
    const std::vector<BoundValue> all = SplitValues(values);
    EXPECT_EQ(all.size(), 6u);  // timestamp, a, b, id, day, ts
    std::string shown;
    for (size_t i = 1; i <= 2; ++i) {
      shown += all[i].is_unset ? "unset " : all[i].bytes ? "value " : "null ";
    }
    return shown;
  };
  EXPECT_EQ(bound({CellBind::kItself, CellBind::kNull}), "value null ");
  EXPECT_EQ(bound({CellBind::kItself, CellBind::kUnset}), "value unset ");
  EXPECT_EQ(bound({CellBind::kUnset, CellBind::kNull}), "unset null ");
  EXPECT_EQ(bound({CellBind::kNull, CellBind::kNull}), "null null ");
}

TEST(RowBinder, AValueThatReplacesElementsIsANullAmongDeletions) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timestamp, m map<text, int>, f frozen<set<int>>, "
      "PRIMARY KEY ((id, day), ts))");
  const std::string none(4, '\0');
  const VersionColumns rows = PageOf(
      *schema, {{7, 0, 0, {Cell::Fixed(1'000), Cell::Bytes(none), Cell::Bytes(none)}}});
  const auto binder = BinderOf(schema, {"p1"});
  const auto bound = [&](CellBinding cells) {
    std::string values;
    binder->BindRow({StatementKind::kUpdate, cells, Emission::Life::kEndless}, rows, 0, 7, 0,
                    &values);
    const std::vector<BoundValue> all = SplitValues(values);
    std::string shown;
    for (size_t i = 1; i <= 2; ++i) {
      shown += all[i].is_unset ? "unset " : all[i].bytes ? "value " : "null ";
    }
    return shown;
  };
  EXPECT_EQ(bound({CellBind::kItself, CellBind::kNull}), "value value ");
  EXPECT_EQ(bound({CellBind::kItself, CellBind::kUnset}), "value value ");
  EXPECT_EQ(bound({CellBind::kUnset, CellBind::kNull}), "null unset ");
  EXPECT_EQ(bound({CellBind::kUnset, CellBind::kUnset}), "unset unset ");
}

TEST(RowBinder, EveryTypeAsItIsSerialised) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timestamp, b boolean, ti tinyint, si smallint, "
      "i int, l bigint, f float, d double, s text, a ascii, bl blob, da date, tm time, u uuid, "
      "tu timeuuid, ip inet, de decimal, vi varint, li frozen<list<int>>, "
      "ma frozen<map<text, int>>, PRIMARY KEY ((id, day), ts))");
  TestVersion version;
  version.cells.push_back(Cell::Fixed(kDayStartS * 1'000 + 5));
  std::vector<Cell> regular;
  for (const size_t c : schema->regular_columns) {
    const ColumnType& type = schema->columns[c].type;
    if (type.lane() == Lane::kFixed) {
      regular.push_back(Cell::Fixed(type.kind == CqlType::kBoolean ? 1 : 77));
    } else {
      regular.push_back(Cell::Bytes(std::string(c % 3 == 0 ? 0 : c, 'z')));
    }
    version.cells.push_back(regular.back());
  }
  const VersionColumns rows = PageOf(*schema, {version});
  std::string values;
  const auto binder = BinderOf(schema, {"p1"});
  binder->BindRow({StatementKind::kInsert, {}, Emission::Life::kEndless}, rows, 0, 1, 0, &values);
  const std::vector<BoundValue> all = SplitValues(values);
  ASSERT_EQ(all.size(), 3 + regular.size() + 1);
  const std::vector<Bind>& binds = binder->statements().of(StatementKind::kInsert).binds;
  ASSERT_EQ(binds.size(), all.size());
  for (size_t k = 0; k < regular.size(); ++k) {
    const size_t c = schema->regular_columns[k];
    const auto bind = std::find_if(binds.begin(), binds.end(), [c](const Bind& one) {
      return one.what == Bind::What::kColumn && one.column == c;
    });
    ASSERT_NE(bind, binds.end());
    std::string wire;
    AppendWireValue(schema->columns[c].type, regular[k].fixed, regular[k].bytes, &wire);
    EXPECT_EQ(all[static_cast<size_t>(bind - binds.begin())].bytes, wire)
        << schema->columns[c].name;
  }
}

TEST(RowBinder, ThePartitionInTheOrderOfTheKey) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (v int, ts bigint, shard int, id text, day text, site int, "
      "PRIMARY KEY ((site, day, id, shard), ts)) WITH comment = "
      "'cistern: bucket day = 1 day; split shard = hash 4; time ts = us'");
  const auto binder = BinderOf(schema, {"9", "x"}, 3);
  const std::string site("\0\0\0\x09", 4);
  const std::string shard("\0\0\0\x03", 4);
  const std::vector<std::string_view> key = {site, "2026-11-20", "x", shard};
  EXPECT_EQ(binder->partition_key(), cql::PartitionKeyBytes(key));
  std::string values;
  StatementKind kind = StatementKind::kInsert;
  ASSERT_TRUE(binder->BindRange({kMin, kMax, 5, 0}, &kind, &values));
  EXPECT_EQ(kind, StatementKind::kDeletePartition);
  const std::vector<BoundValue> all = SplitValues(values);
  ASSERT_EQ(all.size(), 5u);
  for (size_t i = 0; i < key.size(); ++i) EXPECT_EQ(all[i + 1].bytes, std::string(key[i]));
}

TEST(RowBinder, RangesWithOpenEnds) {
  const auto binder = BinderOf(SmallTable(), {"p1"});
  struct Known {
    int64_t from;
    int64_t to;
    std::optional<StatementKind> kind;
    size_t values;
  };
  const std::vector<Known> all = {
      {10, 20, StatementKind::kDeleteRange, 5},
      {10, kMax, StatementKind::kDeleteFrom, 4},
      {kMin, 20, StatementKind::kDeleteBefore, 4},
      {kMin, kMax, StatementKind::kDeletePartition, 3},
      {20, 20, std::nullopt, 0},
      {20, 10, std::nullopt, 0},
  };
  for (const Known& known : all) {
    std::string values;
    StatementKind kind = StatementKind::kInsert;
    const bool is_bound = binder->BindRange({known.from, known.to, 5, 0}, &kind, &values);
    ASSERT_EQ(is_bound, known.kind.has_value()) << known.from << ' ' << known.to;
    EXPECT_EQ(SplitValues(values).size(), known.values);
    EXPECT_EQ(kind, known.kind.value_or(StatementKind::kInsert));
  }
}

TEST(RowBinder, ATimeuuidsRangeBeginsAtTheLeastOfItsTime) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timeuuid, a int, PRIMARY KEY ((id, day), ts)) "
      "WITH comment = 'cistern: bucket day = 1 day'");
  const int64_t ticks = kDayStartS * 10'000'000 + 1;
  std::string uuid;
  bool is_below = false;
  ASSERT_TRUE(AppendEventTime(*schema, ticks, &is_below, &uuid));
  EXPECT_EQ(TimeuuidTicks(uuid), ticks);
  EXPECT_TRUE(CheckWireBytes(schema->columns[2].type, uuid).ok());
  std::string before;
  ASSERT_TRUE(AppendEventTime(*schema, ticks - 1, &is_below, &before));
  before.replace(8, 8, "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f");  // the greatest of its time
  const ColumnType& type = schema->columns[2].type;
  EXPECT_TRUE(CompareValues(type, 0, before, 0, uuid) < 0);
  std::string same = uuid;
  same[8] = '\x81';
  EXPECT_TRUE(CompareValues(type, 0, uuid, 0, same) < 0);

  const auto binder = BinderOf(schema, {"p1"});
  std::string values;
  StatementKind kind = StatementKind::kInsert;
  // Before 1582 there is no uuid, nor from the year 5236 on.
  ASSERT_TRUE(binder->BindRange({kMin + 1, ticks, 5, 0}, &kind, &values));
  EXPECT_EQ(kind, StatementKind::kDeleteBefore);
  ASSERT_TRUE(binder->BindRange({ticks, kMax - 1, 5, 0}, &kind, &values));
  EXPECT_EQ(kind, StatementKind::kDeleteFrom);
  EXPECT_FALSE(binder->BindRange({kMin + 1, kMin + 2, 5, 0}, &kind, &values));
  EXPECT_FALSE(binder->BindRange({kMax - 2, kMax - 1, 5, 0}, &kind, &values));
}

TEST(RowBinder, DamagedNamesOfPartitionsAreRefused) {
  const auto statements = StatementsOf(SmallTable());
  const auto code = [&](std::string_view entity, int64_t start_s) {
    return RowBinder::Make(statements, {entity, start_s, 0}).status().code();
  };
  const std::string good("\0\x02p1", 4);
  EXPECT_EQ(code(good, kDayStartS), StatusCode::kOk);
  EXPECT_EQ(code(good, kDayStartS + 1), StatusCode::kCorruption);
  EXPECT_EQ(code("", kDayStartS), StatusCode::kCorruption);
  EXPECT_EQ(code(good.substr(0, 1), kDayStartS), StatusCode::kCorruption);
  EXPECT_EQ(code(good.substr(0, 3), kDayStartS), StatusCode::kCorruption);
  EXPECT_EQ(code(good + "x", kDayStartS), StatusCode::kCorruption);
  EXPECT_EQ(code(std::string("\0\x02\xff\xff", 4), kDayStartS), StatusCode::kCorruption);
}

}  // namespace
}  // namespace cistern::replicate
