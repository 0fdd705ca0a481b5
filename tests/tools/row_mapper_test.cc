#include "tools/row_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/row_mapper_fixture.h"
#include "tools/cell_text.h"

namespace cistern::tool {
namespace {

using ::testing::HasSubstr;

TEST_F(RowMapperTest, HeaderNamesAreColumnNamesWhateverTheirCase) {
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"Station", "TS", "Temp"}).ok());
  const Record record = CsvRecord({Bare("a"), Bare("2024-01-01"), Bare("-0.5")});
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.bytes(0, kStation), "a");
  EXPECT_EQ(batch_.fixed(0, kTs), 1704067200000);
  EXPECT_EQ(std::bit_cast<double>(batch_.fixed(0, kTemp)), -0.5);
  EXPECT_EQ(batch_.state(0, kN), CellState::kAbsent);
}

TEST_F(RowMapperTest, RenamedAndJoinedColumnsConstantsAndStem) {
  options_.maps = {"T (degC)=temp", "{year}-{month}T{h}=ts", "{h}{{x}}=wd"};
  options_.sets = {"station=st-{stem}", "n=7"};
  options_.ignores = {"No"};
  RowMapper mapper = Make("S01");
  ASSERT_TRUE(mapper.BindHeader({"No", "year", "month", "h", "T (degC)"}).ok());
  const Record record = CsvRecord({Bare("1"), Bare("2013"), Bare("3-1"), Bare("5"), Bare("1e2")});
  const Status s = mapper.AddRow(record, &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(batch_.bytes(0, kStation), "st-S01");
  EXPECT_EQ(batch_.fixed(0, kTs), 1362114000000);
  EXPECT_EQ(batch_.fixed(0, kN), 7);
  EXPECT_EQ(batch_.bytes(0, kWd), "5{x}");
  EXPECT_EQ(std::bit_cast<double>(batch_.fixed(0, kTemp)), 100.0);
}

TEST_F(RowMapperTest, MissingCells) {
  options_.null_tokens = {"NA"};
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "ts", "temp", "wd", "n"}).ok());
  ASSERT_TRUE(mapper
                  .AddRow(CsvRecord({Bare("a"), Bare("1"), Bare("NA"), Quoted("NA"), Bare("")}),
                          &batch_)
                  .ok());
  EXPECT_EQ(batch_.state(0, kTemp), CellState::kAbsent);
  EXPECT_EQ(batch_.bytes(0, kWd), "NA");
  EXPECT_EQ(batch_.state(0, kN), CellState::kAbsent);

  const Status key = mapper.AddRow(
      CsvRecord({Bare("a"), Bare("NA"), Bare("1"), Bare("x"), Bare("1")}), &batch_);
  EXPECT_THAT(key.message(), HasSubstr("ts"));
  ASSERT_TRUE(
      mapper.AddRow(CsvRecord({Bare("a"), Bare("2"), Bare(""), Quoted(""), Bare("1")}), &batch_)
          .ok());
  EXPECT_EQ(batch_.row_count(), 2u);
  EXPECT_EQ(batch_.state(1, kWd), CellState::kValue);
  EXPECT_EQ(batch_.bytes(1, kWd), "");
}

TEST_F(RowMapperTest, NullDeletesWhenAsked) {
  options_.null_deletes = true;
  RowMapper mapper = Make();
  const Record record = [] {
    Record r;
    r.cells = {Named("station", "a", CellForm::kString), Named("ts", "5"),
               Named("temp", "null", CellForm::kNull)};
    return r;
  }();
  const Status s = mapper.AddRow(record, &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(batch_.state(0, kTemp), CellState::kNull);
  EXPECT_EQ(batch_.state(0, kN), CellState::kAbsent);
}

TEST_F(RowMapperTest, NullTokensAreLookedForInJsonStrings) {
  options_.null_tokens = {"n/a"};
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a", CellForm::kString), Named("ts", "5"),
                  Named("temp", "n/a", CellForm::kString)};
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.state(0, kTemp), CellState::kAbsent);
}

TEST_F(RowMapperTest, LineProtocolCells) {
  options_.time.number_unit = TimeUnit::kNanos;
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named(kMeasurementCell, "cpu"), Named("station", "a"), Named("ok", "true"),
                  Named(kTimestampCell, "1465839830100000000")};
  const Status s = mapper.AddRow(record, &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(batch_.fixed(0, kTs), 1465839830100);
  EXPECT_EQ(batch_.fixed(0, kOk), 1);
}

TEST_F(RowMapperTest, WhetherACellIsPartOfTheKey) {
  options_.maps = {"{a}-{b}=station", "c=temp", "d=ts"};
  const RowMapper mapper = Make();
  for (const char* cell : {"a", "b", "d"}) EXPECT_TRUE(mapper.IsInKey(cell)) << cell;
  for (const char* cell : {"c", "n", "e"}) EXPECT_FALSE(mapper.IsInKey(cell)) << cell;
}

TEST_F(RowMapperTest, BadCellsSayWhichAndWhyAndLeaveTheBatchAlone) {
  RowMapper mapper = Make();
  const auto error = [&](std::string_view column, std::string_view text) {
    Record record;
    record.cells = {Named("station", "a"), Named("ts", "5"), Named(column, text)};
    const Status s = mapper.AddRow(record, &batch_);
    EXPECT_FALSE(s.ok()) << column << " " << text;
    return s.message();
  };
  EXPECT_EQ(error("temp", "1,5"), "column 'temp': '1,5' is not a number; where a comma stands "
                                  "before decimals, say --decimal ,");
  EXPECT_EQ(error("temp", "1,5,"), "column 'temp': '1,5,' is not a number");
  EXPECT_EQ(error("temp", "1e999"), "column 'temp': '1e999' is beyond the range of double");
  EXPECT_THAT(error("temp", " "), HasSubstr("is blank"));
  EXPECT_EQ(error("n", "1.5"), "column 'n': '1.5' is not an integer, as int needs");
  EXPECT_THAT(error("n", "3000000000"), HasSubstr("'n'"));
  EXPECT_THAT(error("seen", "soon"), HasSubstr("column 'seen': 'soon' is neither"));
  EXPECT_THAT(error("nothing", "1"), HasSubstr("table air has no column 'nothing'; it has "
                                               "station, ts, temp"));
  EXPECT_THAT(error("day", "2024-01-01"), HasSubstr("derived"));
  EXPECT_THAT(error("ts", "6"), HasSubstr("given twice"));
  EXPECT_TRUE(batch_.empty());
}

TEST_F(RowMapperTest, JsonArrayFillsASet) {
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5"), Named("tags", "['x', 'y']"),
                  Named("f", "0.1")};
  const Status s = mapper.AddRow(record, &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_FALSE(batch_.bytes(0, 6).empty());
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(batch_.fixed(0, kF))), 0.1f);
}

TEST_F(RowMapperTest, NestedValuesGoIntoTypesWithPartsAlone) {
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5"),
                  Named("wd", "['N']", CellForm::kNested)};
  EXPECT_EQ(mapper.AddRow(record, &batch_).message(),
            "column 'wd': an array or object does not go into text");
  record.cells.back() = Named("tags", "['N']", CellForm::kNested);
  const Status s = mapper.AddRow(record, &batch_);
  EXPECT_TRUE(s.ok()) << s.ToString();
  const auto typed = ParseCreateTable(
      "CREATE TYPE spot (x double); CREATE TABLE t (e text, day date, ts timestamp, p tuple<int, "
      "text>, v vector<float, 2>, u frozen<spot>, PRIMARY KEY ((e, day), ts))");
  ASSERT_TRUE(typed.ok()) << typed.status().ToString();
  Result<RowMapper> into = RowMapper::Make(*typed, options_, std::nullopt);
  ASSERT_TRUE(into.ok());
  RowBatch values(*typed);
  Record parts;
  parts.cells = {Named("e", "a"), Named("ts", "5"), Named("p", "[7, null]", CellForm::kNested),
                 Named("v", "[0.5, 2]", CellForm::kNested),
                 Named("u", "{'x': 1.5}", CellForm::kNested)};
  const Status taken = into->AddRow(parts, &values);
  EXPECT_TRUE(taken.ok()) << taken.ToString();
  options_.maps = {"{station}-{ts}=wd"};
  record.cells.front().form = CellForm::kNested;
  EXPECT_THAT(Make().AddRow(record, &batch_).message(), HasSubstr("does not go into"));
}

TEST_F(RowMapperTest, HeaderErrors) {
  RowMapper mapper = Make();
  EXPECT_THAT(mapper.BindHeader({"station", "ts", "x"}).message(),
              HasSubstr("--ignore 'x'"));
  EXPECT_THAT(mapper.BindHeader({"station", "ts", "day"}).message(), HasSubstr("derived"));
  EXPECT_THAT(mapper.BindHeader({"station", "temp"}).message(),
              HasSubstr("nothing gives the key column 'ts'"));
  EXPECT_THAT(mapper.BindHeader({"station", "ts", "temp", "temp"}).message(), HasSubstr("twice"));
  options_.maps = {"T=temp"};
  EXPECT_THAT(Make().BindHeader({"station", "ts"}).message(),
              HasSubstr("--map: the header has no cell 'T'"));
  RowMapper bound = Make();
  ASSERT_TRUE(bound.BindHeader({"station", "ts", "T"}).ok());
  EXPECT_EQ(bound.AddRow(CsvRecord({Bare("a"), Bare("1")}), &batch_).message(),
            "2 cells where the header has 3");
}

TEST_F(RowMapperTest, OptionErrors) {
  options_.maps = {"x"};
  EXPECT_THAT(MakeError(), HasSubstr("SOURCE=COLUMN"));
  options_.maps = {"x=y"};
  EXPECT_THAT(MakeError(), HasSubstr("no column 'y'"));
  options_.maps = {"{a=ts"};
  EXPECT_THAT(MakeError(), HasSubstr("without '}'"));
  options_.maps = {"a=temp", "b=temp"};
  EXPECT_THAT(MakeError(), HasSubstr("two options"));
  options_.maps = {"a=day"};
  EXPECT_THAT(MakeError(), HasSubstr("derived"));
  options_.maps = {};
  options_.sets = {"station={stem}"};
  EXPECT_THAT(MakeError(), HasSubstr("--stem"));
  options_.sets = {"station={a}"};
  EXPECT_THAT(MakeError(), HasSubstr("--set knows"));
}

TEST_F(RowMapperTest, TtlGoesToEveryRow) {
  options_.ttl_s = 60;
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5")};
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.ttl(0), std::optional<uint32_t>(60));
}

TEST_F(RowMapperTest, CopyRowCopiesEveryCell) {
  options_.null_deletes = true;
  options_.ttl_s = 9;
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"),  Named("ts", "5"),
                  Named("temp", "nan"),   Named("n", "null", CellForm::kNull),
                  Named("tags", "{'q'}"), Named("f", "0.1"), Named("ok", "false")};
  const Status s = mapper.AddRow(record, &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  RowBatch copy(schema_);
  ASSERT_TRUE(CopyRow(batch_, 0, &copy).ok());
  ASSERT_EQ(copy.row_count(), 1u);
  EXPECT_EQ(copy.ttl(0), batch_.ttl(0));
  for (size_t i = 0; i < schema_->columns.size(); ++i) {
    ASSERT_EQ(copy.state(0, i), batch_.state(0, i)) << i;
    if (schema_->columns[i].type.lane() == Lane::kFixed) {
      EXPECT_EQ(copy.fixed(0, i), batch_.fixed(0, i)) << i;
    } else {
      EXPECT_EQ(copy.bytes(0, i), batch_.bytes(0, i)) << i;
    }
  }
}

// As of line protocol: a point's time counts nanoseconds, and its fields what their writer liked.
TEST_F(RowMapperTest, AUnitMayBeOfTheEventTimeAlone) {
  options_.time.number_unit = TimeUnit::kNanos;
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "1716534230000000000"),
                  Named("seen", "1716534230000")};
  options_.time.unit_is_of_event = true;
  ASSERT_TRUE(Make().AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1716534230000);
  EXPECT_EQ(batch_.fixed(0, kSeen), 1716534230000);
  options_.time.unit_is_of_event = false;
  record.cells.back().text = "1716534230000000000";
  ASSERT_TRUE(Make().AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.fixed(1, kSeen), 1716534230000);
}

TEST_F(RowMapperTest, DecimalCommas) {
  options_.decimal = ',';
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "ts", "temp", "n", "wd", "f"}).ok());
  const auto add = [&](std::string_view ts, std::string_view temp, std::string_view n) {
    return mapper.AddRow(
        CsvRecord({Bare("a"), Bare(ts), Bare(temp), Bare(n), Bare("1,5"), Bare("-2,5e1")}),
        &batch_);
  };
  ASSERT_TRUE(add("1,000", "21,5", "8,0").ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1);
  EXPECT_EQ(std::bit_cast<double>(batch_.fixed(0, kTemp)), 21.5);
  EXPECT_EQ(batch_.fixed(0, kN), 8);
  EXPECT_EQ(batch_.bytes(0, kWd), "1,5");
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(batch_.fixed(0, kF))), -25.0f);
  ASSERT_TRUE(add("2024-05-24T07:03:50,5Z", "21", "8").ok());
  EXPECT_EQ(batch_.fixed(1, kTs), 1716534230500);
  EXPECT_THAT(add("1", "1.234", "8").message(), HasSubstr("'1.234' has a point"));
  EXPECT_THAT(add("1", "1.234,5", "8").message(), HasSubstr("'1.234,5' has a point"));
  EXPECT_THAT(add("1", "1,234,5", "8").message(), HasSubstr("'1,234,5' is not a number"));
  EXPECT_THAT(add("1", "1", "8,5").message(), HasSubstr("not an integer"));
}

// A pattern may have commas and points, and its column may be a timestamp or a bigint.
TEST_F(RowMapperTest, APatternReadsItsOwnCommasAndPoints) {
  schema_ = *ParseCreateTable(
      "CREATE TABLE t (e text, day date, ts bigint, seen timestamp, PRIMARY KEY ((e, day), ts)) "
      "WITH comment = 'cistern: time ts = s; bucket day = 1 day'");
  options_.decimal = ',';
  const auto ticks = [this](const char* pattern, std::string_view text, size_t column) {
    options_.time.pattern = *TimePattern::Compile(pattern);
    RowBatch batch(schema_);
    Record record;
    record.cells = {Named("e", "a"), Named("ts", text), Named("seen", text)};
    const Status s = Make().AddRow(record, &batch);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return s.ok() ? batch.fixed(0, column) : 0;
  };
  EXPECT_EQ(ticks("%d.%m.%Y", "24.05.2024", 2), 1'716'508'800);
  EXPECT_EQ(ticks("%d.%m.%Y", "24.05.2024", 3), 1'716'508'800'000);
  EXPECT_EQ(ticks("%Y%m%d,%H", "20240524,07", 2), 1'716'534'000);
}

TEST_F(RowMapperTest, WholeNumbersWrittenAsOthersAreIntegers) {
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5"), Named("n", "")};
  const auto n_of = [&](std::string_view text) {
    record.cells.back().text = text;
    const Status s = mapper.AddRow(record, &batch_);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return batch_.fixed(batch_.row_count() - 1, kN);
  };
  EXPECT_EQ(n_of("8.0"), 8);
  EXPECT_EQ(n_of("-8.000"), -8);
  EXPECT_EQ(n_of("+8."), 8);
  EXPECT_EQ(n_of("1.5e1"), 15);
  EXPECT_EQ(n_of("20.0"), 20);
  EXPECT_EQ(n_of("1200e-2"), 12);
  EXPECT_EQ(n_of("0.0"), 0);
  const auto refusal = [&](std::string_view text) {
    record.cells.back().text = text;
    return mapper.AddRow(record, &batch_).message();
  };
  EXPECT_THAT(refusal("8.01"), HasSubstr("not an integer"));
  EXPECT_THAT(refusal("1.5e5"), HasSubstr("has 2 of its 6 digits"));
  EXPECT_THAT(refusal("3000000000.0"), HasSubstr("'n'"));
  EXPECT_THAT(refusal("99999999999999999999.0"), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(refusal("NaN"), HasSubstr("not an integer"));
}

TEST_F(RowMapperTest, NotFiniteNumbersAsAPolicy) {
  const auto add = [&](std::string_view temp, CellForm form = CellForm::kBare) {
    RowMapper mapper = Make();
    Record record;
    record.cells = {Named("station", "a"), Named("ts", "5"), Named("wd", "NaN"),
                    Named("temp", temp, form)};
    return mapper.AddRow(record, &batch_);
  };
  ASSERT_TRUE(add("-Infinity").ok());
  EXPECT_EQ(std::bit_cast<double>(batch_.fixed(0, kTemp)),
            -std::numeric_limits<double>::infinity());
  options_.non_finite = NonFinite::kMissing;
  for (const std::string_view text :
       {"NaN", "nan", "NAN", "-inf", "+Infinity", "-nan(ind)", " NaN "}) {
    ASSERT_TRUE(add(text, CellForm::kQuoted).ok());
    EXPECT_EQ(batch_.state(batch_.row_count() - 1, kTemp), CellState::kAbsent) << text;
    EXPECT_EQ(batch_.bytes(batch_.row_count() - 1, kWd), "NaN");
  }
  ASSERT_TRUE(add("1.5").ok());
  options_.non_finite = NonFinite::kRefuse;
  EXPECT_THAT(add("NaN").message(), HasSubstr("column 'temp': 'NaN' is not finite"));
  EXPECT_THAT(add("nan(snan)").message(), HasSubstr("'nan(snan)' is not finite"));
  EXPECT_TRUE(add("1.5").ok());
}

TEST_F(RowMapperTest, ADelimiterBehindTheLastCell) {
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "ts", ""}).ok());
  EXPECT_TRUE(mapper.AddRow(CsvRecord({Bare("a"), Bare("1"), Bare("")}), &batch_).ok());
  EXPECT_THAT(mapper.AddRow(CsvRecord({Bare("a"), Bare("1"), Bare("x")}), &batch_).message(),
              HasSubstr("cell 3 holds 'x', and the header gives it no name; --ignore '#3'"));
  EXPECT_THAT(mapper.AddRow(CsvRecord({Bare("a"), Bare("1")}), &batch_).message(),
              HasSubstr("2 cells where the header has 3"));

  RowMapper plain = Make();
  ASSERT_TRUE(plain.BindHeader({"station", "ts"}).ok());
  const Record trailing = CsvRecord({Bare("a"), Bare("2"), Bare("")});
  EXPECT_EQ(plain.AddRow(trailing, &batch_).message(),
            "3 cells where the header has 2; if every line ends with a delimiter, say "
            "--trailing-delimiter");
  options_.trailing_delimiter = true;
  RowMapper told = Make();
  ASSERT_TRUE(told.BindHeader({"station", "ts"}).ok());
  EXPECT_TRUE(told.AddRow(trailing, &batch_).ok());
  EXPECT_THAT(told.AddRow(CsvRecord({Bare("a"), Bare("2")}), &batch_).message(),
              HasSubstr("2 cells where the header has 2 and a delimiter behind the last"));
  EXPECT_THAT(told.AddRow(CsvRecord({Bare("a"), Bare("2"), Bare("x")}), &batch_).message(),
              HasSubstr("'x' stands behind the delimiter"));
  EXPECT_EQ(batch_.row_count(), 2u);
}

TEST_F(RowMapperTest, CellsWithoutANameAreCalledByTheirPlace) {
  EXPECT_THAT(Make().BindHeader({"", "station", "ts"}).message(),
              HasSubstr("the cell '#1' of the header has no name; give it one with --map "
                        "'#1=COLUMN', or leave it out with --ignore '#1'"));
  options_.ignores = {"#1"};
  EXPECT_TRUE(Make().BindHeader({"", "station", "ts"}).ok());
  options_.ignores = {"#4"};
  options_.maps = {"#1=n"};
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"", "station", "ts", "", ""}).ok());
  const Status s = mapper.AddRow(
      CsvRecord({Bare("7"), Bare("a"), Bare("1"), Bare("left out"), Bare("")}), &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(batch_.fixed(0, kN), 7);
}

TEST_F(RowMapperTest, MembersOfNestedCells) {
  options_.maps = {"s.t=ts"};
  options_.ignores = {"s"};
  RowMapper mapper = Make();
  EXPECT_THAT(mapper.CellNames(), ::testing::IsSupersetOf({"s.t", "s", "station"}));
  Record record;
  record.cells = {Named("station", "a"), Named("s.t", "5"), Named("s.x", "1"), Named("s.y.z", "2")};
  const Status s = mapper.AddRow(record, &batch_);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(batch_.fixed(0, kTs), 5);
  EXPECT_TRUE(mapper.UnmetIgnores().empty());
  record.cells.push_back(Named("o", "{'x': 1}", CellForm::kNested));
  EXPECT_THAT(mapper.AddRow(record, &batch_).message(), HasSubstr("--map 'o.MEMBER=COLUMN'"));
  record.cells.back() = Named("o.x", "1");
  EXPECT_THAT(mapper.AddRow(record, &batch_).message(), HasSubstr("--ignore 'o.x'"));
}

TEST_F(RowMapperTest, ACellHasTheTimeToLive) {
  options_.ttl_from = "life";
  options_.ttl_s = 7;
  options_.null_tokens = {"-"};
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "ts", "life"}).ok());
  const std::pair<std::string_view, std::optional<uint32_t>> cells[] = {
      {"60", 60}, {" 60.0 ", 60}, {"6e1", {}}, {"0", 0}, {"", 7}, {"-", 7},
      {"630720000", 630720000}, {"-1", {}}, {"1.5", {}}, {"630720001", {}}, {"soon", {}},
      {"99999999999999999999", {}}};
  for (const auto& [text, expected] : cells) {
    RowBatch batch(schema_);
    const Status s = mapper.AddRow(CsvRecord({Bare("a"), Bare("1"), Bare(text)}), &batch);
    EXPECT_EQ(s.ok(), expected.has_value()) << text << ": " << s.ToString();
    if (s.ok()) {
      EXPECT_EQ(batch.ttl(0), expected) << text;
    } else {
      EXPECT_THAT(s.message(), HasSubstr("--ttl-from: the cell 'life' has '"));
    }
  }
}

TEST_F(RowMapperTest, TheTimeToLiveIsAColumnTooWhereItHasItsName) {
  options_.ttl_from = "n";
  RowMapper mapper = Make();
  EXPECT_THAT(mapper.BindHeader({"station", "ts"}).message(),
              HasSubstr("--ttl-from: the header has no cell 'n'; it has station, ts"));
  ASSERT_TRUE(mapper.BindHeader({"station", "ts", "n"}).ok());
  ASSERT_TRUE(mapper.AddRow(CsvRecord({Bare("a"), Bare("1"), Bare("60")}), &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kN), 60);
  EXPECT_EQ(batch_.ttl(0), std::optional<uint32_t>(60));
  // Records that name their cells may be without.
  RowMapper named = Make();
  RowBatch batch(schema_);
  ASSERT_TRUE(named.AddRow(CsvRecord({Named("station", "a"), Named("ts", "1")}), &batch).ok());
  EXPECT_EQ(batch.ttl(0), std::nullopt);
  EXPECT_FALSE(named
                   .AddRow(CsvRecord({Named("station", "a"), Named("ts", "2"),
                                      Named("n", "[1]", CellForm::kNested)}),
                           &batch)
                   .ok());
  options_.ignores = {"n"};
  EXPECT_THAT(MakeError(), HasSubstr("--ttl-from takes the cell 'n', and --ignore leaves it out"));
}

}  // namespace
}  // namespace cistern::tool
