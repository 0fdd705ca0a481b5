#include "tools/row_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/tools/row_mapper_fixture.h"

namespace cistern::tool {
namespace {

using ::testing::HasSubstr;

TEST_F(RowMapperTest, BaseIsForTheEventTimeAlone) {
  options_.time.base = Instant{1'000'000, 0};
  RowMapper mapper = Make();
  Record record;
  record.cells = {Named("station", "a"), Named("ts", "5"), Named("seen", "7")};
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1'000'000'005);
  EXPECT_EQ(batch_.fixed(0, kSeen), 7);
}

TEST_F(RowMapperTest, TimesThatLostTheirDigitsAreRefused) {
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "ts"}).ok());
  const auto add = [&](std::string_view ts) {
    return mapper.AddRow(CsvRecord({Bare("a"), Bare(ts)}), &batch_);
  };
  EXPECT_THAT(add("1.77252E+12").message(), HasSubstr("has 6 digits, and the exponent says"));
  EXPECT_THAT(add("1e3").message(), HasSubstr("write all digits"));
  ASSERT_TRUE(add("1.772524800000E+12").ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1772524800000);
  ASSERT_TRUE(add("17725248001e-1").code() == StatusCode::kOutOfRange);  // finer than a millisecond
  ASSERT_TRUE(add("1.772524800123E12").ok());
  ASSERT_TRUE(add("0e5").ok());
  EXPECT_EQ(batch_.fixed(2, kTs), 0);
}

TEST_F(RowMapperTest, TimeOfSeveralCells) {
  options_.time_sum = "hour*3600 + s/1e3";
  options_.time.base = Instant{1'700'000'000, 0};
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "hour", "s"}).ok());
  ASSERT_TRUE(mapper.AddRow(CsvRecord({Bare("a"), Bare(" 2 "), Bare("1.5004e+05")}), &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1'700'007'350'040);
  EXPECT_THAT(mapper.AddRow(CsvRecord({Bare("a"), Bare(""), Bare("1")}), &batch_).message(),
              HasSubstr("--time-sum: the cell 'hour' is missing"));
  EXPECT_THAT(mapper.AddRow(CsvRecord({Bare("a"), Bare("1"), Bare("0.5")}), &batch_).message(),
              HasSubstr("finer than a millisecond"));
  EXPECT_THAT(Make().BindHeader({"station", "hour"}).message(),
              HasSubstr("--time-sum: the header has no cell 's'"));
  options_.maps = {"x=ts"};
  EXPECT_THAT(MakeError(), HasSubstr("given by two options"));
}

TEST_F(RowMapperTest, ASumOfHoursNeedsItsDay) {
  options_.time_sum = "hour*3600";
  RowBatch batch(schema_);
  const auto add = [&](std::string_view hour) {
    RowMapper mapper = Make();
    EXPECT_TRUE(mapper.BindHeader({"station", "hour"}).ok());
    return mapper.AddRow(CsvRecord({Bare("a"), Bare(hour)}), &batch);
  };
  EXPECT_THAT(add("7").message(), HasSubstr("comes to 25200 s, which is of 1970 or so"));
  EXPECT_THAT(add("-1").message(), HasSubstr("--time-base"));
  EXPECT_TRUE(add("480000").ok());
  options_.time.base = Instant{};
  EXPECT_TRUE(add("7").ok());
  EXPECT_EQ(batch.fixed(1, kTs), 25'200'000);
}

TEST_F(RowMapperTest, TimeByTheNumberOfTheRecord) {
  options_.time_steps = TimeSteps{{1'700'000'000, 0}, 20'000'000};
  RowMapper mapper = Make();
  ASSERT_TRUE(mapper.BindHeader({"station", "temp"}).ok());
  Record record = CsvRecord({Bare("a"), Bare("1")});
  record.number = 1;
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  record.number = 51;
  ASSERT_TRUE(mapper.AddRow(record, &batch_).ok());
  EXPECT_EQ(batch_.fixed(0, kTs), 1'700'000'000'000);
  EXPECT_EQ(batch_.fixed(1, kTs), 1'700'000'001'000);
  EXPECT_THAT(Make().BindHeader({"station", "ts"}).message(), HasSubstr("fed by --time-start"));
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
              HasSubstr("--arrival-time: the event time 'ts' is a timeuuid"));
}

}  // namespace
}  // namespace cistern::tool
