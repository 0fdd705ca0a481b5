#include "tools/row_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tools/cell_text.h"

namespace cistern::tool {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const TableSchema> Air() {
  auto schema = ParseCreateTable(R"(CREATE TABLE air (
      station text, day date, ts timestamp, temp double, n int, wd text, tags frozen<set<text>>,
      seen timestamp, ok boolean, f float,
      PRIMARY KEY ((station, day), ts)))");
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return *schema;
}
constexpr size_t kStation = 0, kTs = 2, kTemp = 3, kN = 4, kWd = 5, kSeen = 7, kOk = 8, kF = 9;

Record CsvRecord(std::vector<Cell> cells) {
  Record record;
  record.cells = std::move(cells);
  return record;
}
Cell Bare(std::string_view text) { return {{}, text, CellForm::kBare}; }
Cell Quoted(std::string_view text) { return {{}, text, CellForm::kQuoted}; }
Cell Named(std::string_view name, std::string_view text, CellForm form = CellForm::kBare) {
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

TEST_F(RowMapperTest, ARowWithoutATimeGetsThatOfItsArrivalIfAsked) {
  const Record record = CsvRecord({Named("station", "a"), Named("temp", "1")});
  RowMapper strict = Make();
  EXPECT_THAT(strict.AddRow(record, &batch_).message(),
              HasSubstr("there is no event time for column 'ts'; --arrival-time gives"));
  auto clock = std::make_shared<FakeClock>();
  clock->SetWallMicros(1'772'524'800'123'456);
  options_.arrival_clock = clock;
  options_.time.number_unit = TimeUnit::kNanos;  // of numbers, not of the clock
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1'772'524'800'123);
  EXPECT_FALSE(mapper.HadTime());
  const Record timed = CsvRecord({Named("station", "a"), Named("ts", "5000000")});
  ASSERT_TRUE(mapper.AddRow(timed, &batch_).ok());
  EXPECT_EQ(batch_.fixed(1, kTs), 5);
  EXPECT_TRUE(mapper.HadTime());
}

TEST_F(RowMapperTest, AnArrivalTimeInEveryUnit) {
  auto clock = std::make_shared<FakeClock>();
  clock->SetWallMicros(1'772'524'800'123'456);
  options_.arrival_clock = clock;
  for (const auto& [unit, ticks] : {std::pair<std::string, int64_t>{"s", 1'772'524'800},
                                    {"ms", 1'772'524'800'123},
                                    {"us", 1'772'524'800'123'456},
                                    {"ns", 1'772'524'800'123'456'000}}) {
    const auto schema = ParseCreateTable("CREATE TABLE t (e text, day date, ts bigint, v int, "
                                         "PRIMARY KEY ((e, day), ts)) WITH comment = "
                                         "'cistern: time ts = " + unit + "'");
    ASSERT_TRUE(schema.ok()) << schema.status().ToString();
    Result<RowMapper> mapper = RowMapper::Make(*schema, options_, std::nullopt);
    ASSERT_TRUE(mapper.ok());
    RowBatch batch(*schema);
    ASSERT_TRUE(mapper->AddRow(CsvRecord({Named("e", "a")}), &batch).ok());
    EXPECT_EQ(batch.fixed(0, 2), ticks) << unit;
  }
  const auto uuids = ParseCreateTable("CREATE TABLE t (e text, day date, ts timeuuid, v int, "
                                      "PRIMARY KEY ((e, day), ts))");
  ASSERT_TRUE(uuids.ok());
  EXPECT_THAT(RowMapper::Make(*uuids, options_, std::nullopt).status().message(),
              HasSubstr("--arrival-time: column 'ts' is timeuuid"));
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
  EXPECT_EQ(error("temp", "1,5"), "column 'temp': '1,5' is not a number");
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

TEST_F(RowMapperTest, BaseIsForTheEventTimeAlone) {
  options_.time.base = Instant{1'000'000, 0};
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5"), Named("seen", "7")};
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1'000'000'005);
  EXPECT_EQ(batch_.fixed(0, kSeen), 7);
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

TEST_F(RowMapperTest, NestedValuesGoIntoCollectionsAlone) {
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5"),
                  Named("wd", "['N']", CellForm::kNested)};
  EXPECT_EQ(mapper.AddRow(record, &batch_).message(),
            "column 'wd': an array or object does not go into text");
  record.cells.back() = Named("tags", "['N']", CellForm::kNested);
  const Status s = mapper.AddRow(record, &batch_);
  EXPECT_TRUE(s.ok()) << s.ToString();
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

}  // namespace
}  // namespace cistern::tool
