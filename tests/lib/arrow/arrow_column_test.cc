#include "lib/arrow/arrow_column.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/arrow/arrow_columns.h"
#include "tests/lib/arrow/arrow_reader.h"

namespace cistern {
namespace {

using arrow_test::ColumnOf, arrow_test::Literals, arrow_test::MoveTo, arrow_test::Owned;
using arrow_test::TableOf, arrow_test::ValuesOf;
using Values = std::vector<std::string>;

constexpr size_t kX = 3;  // the column of TableOf that has the type

// A column of one type, exported with its schema.
struct Exported {
  explicit Exported(const std::string& type_text) : table(TableOf(type_text)) {
    const size_t columns[] = {kX};
    EXPECT_TRUE(ExportArrowSchema(*table, columns, &whole).ok());
    schema = whole.children[0];
  }
  Exported(const std::string& type_text, const Literals& literals) : Exported(type_text) {
    const Status s = ExportColumn(type(), ColumnOf(type(), literals), kArrowOffsetMax, &array);
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  [[nodiscard]] const ColumnType& type() const { return table->columns[kX].type; }
  [[nodiscard]] Values values() const { return ValuesOf(*schema, array); }

  std::shared_ptr<const TableSchema> table;
  Owned<ArrowSchema> whole;
  const ArrowSchema* schema = nullptr;
  Owned<ArrowArray> array;
};

Values Bits(const std::vector<double>& reals) {
  Values out;
  for (const double real : reals) out.push_back(std::to_string(std::bit_cast<int64_t>(real)));
  return out;
}

TEST(ArrowColumn, ValuesOfEveryType) {
  EXPECT_EQ(Exported("boolean", {"true", {}, "false"}).values(), (Values{"true", "null", "false"}));
  EXPECT_EQ(Exported("tinyint", {"-128", {}, "127"}).values(), (Values{"-128", "null", "127"}));
  EXPECT_EQ(Exported("smallint", {"-32768", "32767"}).values(), (Values{"-32768", "32767"}));
  EXPECT_EQ(Exported("int", {"-2147483648", {}, "2147483647"}).values(),
            (Values{"-2147483648", "null", "2147483647"}));
  EXPECT_EQ(Exported("bigint", {"-9223372036854775808", "9223372036854775807"}).values(),
            (Values{"-9223372036854775808", "9223372036854775807"}));
  EXPECT_EQ(Exported("float", {"-1.5", {}}).values(),
            (Values{std::to_string(std::bit_cast<int32_t>(-1.5f)), "null"}));
  EXPECT_EQ(Exported("double", {"-0.0", "5e-324", "-Infinity"}).values(),
            Bits({-0.0, 5e-324, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(Exported("text", {"", {}, "w\xc3\xa4rme"}).values(),
            (Values{"", "null", "w\xc3\xa4rme"}));
  EXPECT_EQ(Exported("ascii", {"~", {}}).values(), (Values{"~", "null"}));
  EXPECT_EQ(Exported("blob", {"0x00ff", "0x", {}}).values(), (Values{"00ff", "", "null"}));
  EXPECT_EQ(Exported("timestamp", {"1969-12-31T23:59:59.999Z", {}}).values(),
            (Values{"-1", "null"}));
  EXPECT_EQ(Exported("date", {"1970-01-02", "1969-12-31", {}}).values(),
            (Values{"1", "-1", "null"}));
  EXPECT_EQ(Exported("time", {"23:59:59.999999999"}).values(), (Values{"86399999999999"}));
  const std::string_view uuid = "50554d6e-29bb-11e5-b345-feff819cdc9f";
  const std::string bytes = "50554d6e29bb11e5b345feff819cdc9f";
  EXPECT_EQ(Exported("uuid", {uuid}).values(), (Values{bytes}));
  EXPECT_EQ(Exported("timeuuid", {{}, uuid, {}}).values(), (Values{"null", bytes, "null"}));
  EXPECT_EQ(Exported("inet", {"192.168.0.1", {}, "::1"}).values(),
            (Values{"c0a80001", "null", "00000000000000000000000000000001"}));
  EXPECT_EQ(Exported("varint", {"-129", {}, "1000000000000000000000"}).values(),
            (Values{"-129", "null", "1000000000000000000000"}));
  EXPECT_EQ(Exported("decimal", {"1.50", "1.2E+4", {}, "1E-1000"}).values(),
            (Values{"1.50", "1.2E+4", "null", "1E-1000"}));
  EXPECT_EQ(Exported("duration", {"1mo2h", {}, "-3d"}).values(), (Values{"1mo2h", "null", "-3d"}));
  EXPECT_EQ(Exported("tuple<int, text>", {"(1, 'a')", {}, "(null, 'b')"}).values(),
            (Values{"(1, 'a')", "null", "(null, 'b')"}));
  EXPECT_EQ(Exported("vector<float, 2>", {"[0.5, 1]", {}}).values(), (Values{"[0.5, 1]", "null"}));
}

TEST(ArrowColumn, CollectionsAreListsAndMaps) {
  EXPECT_EQ(Exported("frozen<list<int>>", {"[3, -1, 3]", {}, "[]", "[7]"}).values(),
            (Values{"[3, -1, 3]", "null", "[]", "[7]"}));
  EXPECT_EQ(Exported("frozen<set<text>>", {{}, "{'a', 'it''s'}"}).values(),
            (Values{"null", "[a, it's]"}));
  EXPECT_EQ(Exported("frozen<map<text, int>>", {"{'a': 1, 'b': 2}", {}, "{}", "{'c': 3}"}).values(),
            (Values{"[{key: a, value: 1}, {key: b, value: 2}]", "null", "[]",
                    "[{key: c, value: 3}]"}));
  EXPECT_EQ(
      Exported("frozen<list<frozen<map<int, frozen<set<boolean>>>>>>",
               {"[{1: {true, false}, 2: {}}, {}]", "[]", "[{3: {true}}]"})
          .values(),
      (Values{"[[{key: 1, value: [true, false]}, {key: 2, value: []}], []]", "[]",
              "[[{key: 3, value: [true]}]]"}));
  EXPECT_EQ(Exported("frozen<list<varint>>", {"[1, 20000000000000000000]"}).values(),
            (Values{"[1, 20000000000000000000]"}));
  EXPECT_EQ(Exported("set<frozen<tuple<int, text>>>", {"{(1, 'a')}"}).values(),
            (Values{"[(1, 'a')]"}));
}

// More than one byte of bits, and a last one that is not full.
TEST(ArrowColumn, NullsAreABitmap) {
  Literals literals;
  Values expected;
  for (int i = 0; i < 19; ++i) {
    literals.push_back(i % 3 == 1 ? std::nullopt : std::optional<std::string_view>("true"));
    expected.push_back(i % 3 == 1 ? "null" : "true");
  }
  const Exported some("boolean", literals);
  EXPECT_EQ(some.values(), expected);
  EXPECT_EQ(some.array.null_count, 6);
  EXPECT_EQ(arrow_test::At<uint8_t>(some.array, 0, 2), 0b110);  // cells 16 to 18, then nothing

  const Exported none("boolean", {"true", "false"});
  EXPECT_EQ(none.array.buffers[0], nullptr);
  EXPECT_EQ(none.array.null_count, 0);
  EXPECT_EQ(Exported("int", {{}, {}}).array.null_count, 2);

  // States that are all values, as a column has that lost its only null.
  ColumnData data = ColumnOf(some.type(), {"true", {}});
  data.Truncate(1);
  Owned<ArrowArray> array;
  ASSERT_TRUE(ExportColumn(some.type(), std::move(data), kArrowOffsetMax, &array).ok());
  EXPECT_EQ(array.buffers[0], nullptr);
}

TEST(ArrowColumn, CellsThatAreAbsentAreNull) {
  const Exported numbers("int");
  ColumnData data = ColumnOf(numbers.type(), {"1"});
  data.AppendMissing(CellState::kAbsent);
  Owned<ArrowArray> array;
  ASSERT_TRUE(ExportColumn(numbers.type(), std::move(data), kArrowOffsetMax, &array).ok());
  EXPECT_EQ(ValuesOf(*numbers.schema, array), (Values{"1", "null"}));
}

// A consumer's slice: some values from the middle, of every kind of buffer.
TEST(ArrowColumn, CanBeSliced) {
  struct Case {
    std::string type;
    Literals literals;
    Values middle;
  };
  const Case cases[] = {
      {"boolean", {"true", "false", {}, "true", "true"}, {"false", "null", "true"}},
      {"smallint", {"1", {}, "-3", "4", "5"}, {"null", "-3", "4"}},
      {"bigint", {"1", {}, "-3", "4", "5"}, {"null", "-3", "4"}},
      {"text", {"abc", "de", {}, "f", "g"}, {"de", "null", "f"}},
      {"frozen<list<int>>", {"[1, 2]", "[3]", {}, "[]", "[4]"}, {"[3]", "null", "[]"}},
  };
  for (const Case& c : cases) {
    Exported exported(c.type, c.literals);
    exported.array.offset = 1;
    exported.array.length = 3;
    EXPECT_EQ(exported.values(), c.middle) << c.type;
  }
}

TEST(ArrowColumn, ShowsWithoutCopyWhatArrowLaysOutTheSame) {
  for (const std::string kind : {"bigint", "double", "timestamp", "time"}) {
    const Exported of(kind);
    ColumnData data;
    data.AppendFixed(7);
    data.AppendMissing(CellState::kNull);
    const void* values = data.fixed.data();
    Owned<ArrowArray> array;
    ASSERT_TRUE(ExportColumn(of.type(), std::move(data), kArrowOffsetMax, &array).ok());
    EXPECT_EQ(array.buffers[1], values) << kind;
  }
  for (const std::string kind : {"text", "ascii", "blob"}) {
    const Exported of(kind);
    ColumnData data;
    data.lane = Lane::kBytes;
    data.AppendBytes("a value that is too long to stand inside of a string object");
    data.AppendMissing(CellState::kNull);
    const void* offsets = data.offsets.data();
    const void* values = data.heap.data();
    Owned<ArrowArray> array;
    ASSERT_TRUE(ExportColumn(of.type(), std::move(data), kArrowOffsetMax, &array).ok());
    EXPECT_EQ(array.buffers[1], offsets) << kind;
    EXPECT_EQ(array.buffers[2], values) << kind;
  }
  const Exported of("uuid");
  ColumnData data;
  data.lane = Lane::kBytes;
  for (int i = 0; i < 4; ++i) data.AppendBytes("0123456789abcdef");
  const void* values = data.heap.data();
  Owned<ArrowArray> array;
  ASSERT_TRUE(ExportColumn(of.type(), std::move(data), kArrowOffsetMax, &array).ok());
  EXPECT_EQ(array.buffers[1], values);
}

// Short strings stand inside of their object: it may not move any more.
TEST(ArrowColumn, KeepsShortValuesInPlace) {
  Exported exported("text", {"a", "b"});
  Owned<ArrowArray> moved;
  MoveTo<ArrowArray>(&exported.array, &moved);
  EXPECT_EQ(ValuesOf(*exported.schema, moved), (Values{"a", "b"}));
}

TEST(ArrowColumn, NoRowsHaveAllTheirBuffers) {
  for (const std::string kind :
       {"boolean", "int", "bigint", "text", "blob", "uuid", "decimal", "frozen<list<int>>",
        "frozen<map<int, text>>"}) {
    const Exported none(kind, {});
    EXPECT_EQ(none.array.length, 0) << kind;
    EXPECT_EQ(none.array.null_count, 0) << kind;
    EXPECT_EQ(none.array.buffers[0], nullptr) << kind;
    const std::string_view format = none.schema->format;
    if (format == "u" || format == "z" || format == "+l" || format == "+m") {
      ASSERT_NE(none.array.buffers[1], nullptr) << kind;  // even then one offset
      EXPECT_EQ(arrow_test::At<int32_t>(none.array, 1, 0), 0) << kind;
    }
  }
  const Exported map("frozen<map<int, text>>", {});
  ASSERT_EQ(map.array.n_children, 1);
  ASSERT_EQ(map.array.children[0]->n_children, 2);
  EXPECT_EQ(map.array.children[0]->length, 0);
}

TEST(ArrowColumn, RefusesBytesThatAreNoValue) {
  for (const std::string kind : {"uuid", "varint", "decimal", "frozen<list<int>>"}) {
    const Exported of(kind);
    ColumnData data;
    data.lane = Lane::kBytes;
    data.AppendMissing(CellState::kNull);  // which is empty too
    data.AppendBytes("");
    Owned<ArrowArray> array;
    const Status s = ExportColumn(of.type(), std::move(data), kArrowOffsetMax, &array);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << kind;
    EXPECT_EQ(array.release, nullptr) << kind;
  }
  // The second column of a map, when the first one is filled in already.
  const Exported map("frozen<map<int, int>>");
  ColumnData data;
  data.lane = Lane::kBytes;
  const std::string key("\0\0\0\1\0\0\0\4\0\0\0\5", 12);
  data.AppendBytes(key + std::string("\0\0\0\3abc", 7));
  Owned<ArrowArray> array;
  EXPECT_EQ(ExportColumn(map.type(), std::move(data), kArrowOffsetMax, &array).code(),
            StatusCode::kInvalidArgument);
}

// Arrow counts by int32; here by less.
TEST(ArrowColumn, RefusesWhatCannotBeCounted) {
  const auto export_up_to = [](const std::string& kind, const Literals& literals, size_t max) {
    const Exported of(kind);
    Owned<ArrowArray> array;
    const Status s = ExportColumn(of.type(), ColumnOf(of.type(), literals), max, &array);
    EXPECT_EQ(array.release != nullptr, s.ok());
    return s.code();
  };
  EXPECT_EQ(export_up_to("text", {"abc", {}, "def"}, 6), StatusCode::kOk);
  EXPECT_EQ(export_up_to("text", {"abc", {}, "def"}, 5), StatusCode::kTooLarge);
  // Two bytes, five digits.
  EXPECT_EQ(export_up_to("varint", {"10000", "10000"}, 10), StatusCode::kOk);
  EXPECT_EQ(export_up_to("varint", {"10000", "10000"}, 9), StatusCode::kTooLarge);
  EXPECT_EQ(export_up_to("frozen<list<int>>", {"[1, 2]", "[3]"}, 3), StatusCode::kOk);
  EXPECT_EQ(export_up_to("frozen<list<int>>", {"[1, 2]", "[3]"}, 2), StatusCode::kTooLarge);
  EXPECT_EQ(export_up_to("frozen<map<int, text>>", {"{1: 'abc'}"}, 3), StatusCode::kOk);
  EXPECT_EQ(export_up_to("frozen<map<int, text>>", {"{1: 'abc'}"}, 2), StatusCode::kTooLarge);
}

}  // namespace
}  // namespace cistern
