#include "engine/bucketing/bucket_value.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/bucketing/bucketer.h"
#include "lib/cql/value_text.h"
#include "tests/engine/bucketing/tables.h"

namespace cistern {
namespace {

std::string TextOf(const TableSchema& table, int64_t start_s) {
  const CellValue value = BucketValue(table, start_s);
  std::string text;
  FormatValueText(table.columns[table.bucket_column].type, value.fixed, value.bytes, &text);
  return text;
}

constexpr int64_t kMoment = 1'705'327'530;        // 2024-01-15T14:05:30Z, a Monday
constexpr int64_t kBefore1970 = -31'622'400 - 1;  // 1968-12-30T23:59:59Z, a Monday of 1969-W01
constexpr int64_t kIsoYearEnd = 1'735'603'199;    // 2024-12-30T23:59:59Z, a Monday of 2025-W01

struct Case {
  const char* type;
  const char* width;
  const char* at_moment;
  const char* before_1970;
  const char* at_iso_year_end;
};
constexpr Case kCases[] = {
    {"date", "day", "2024-01-15", "1968-12-30", "2024-12-30"},
    {"date", "week", "2024-01-15", "1968-12-30", "2024-12-30"},
    {"date", "month", "2024-01-01", "1968-12-01", "2024-12-01"},
    {"date", "year", "2024-01-01", "1968-01-01", "2024-01-01"},
    {"timestamp", "10 seconds", "2024-01-15T14:05:30.000Z", "1968-12-30T23:59:50.000Z",
     "2024-12-30T23:59:50.000Z"},
    {"timestamp", "1 hour", "2024-01-15T14:00:00.000Z", "1968-12-30T23:00:00.000Z",
     "2024-12-30T23:00:00.000Z"},
    {"timestamp", "month", "2024-01-01T00:00:00.000Z", "1968-12-01T00:00:00.000Z",
     "2024-12-01T00:00:00.000Z"},
    {"text", "30 seconds", "2024-01-15-14-05-30", "1968-12-30-23-59-30", "2024-12-30-23-59-30"},
    {"text", "5 minutes", "2024-01-15-14-05", "1968-12-30-23-55", "2024-12-30-23-55"},
    {"text", "hour", "2024-01-15-14", "1968-12-30-23", "2024-12-30-23"},
    {"ascii", "6 hours", "2024-01-15-12", "1968-12-30-18", "2024-12-30-18"},
    {"text", "day", "2024-01-15", "1968-12-30", "2024-12-30"},
    {"text", "week", "2024-W03", "1969-W01", "2025-W01"},
    {"text", "month", "2024-01", "1968-12", "2024-12"},
    {"text", "year", "2024", "1968", "2024"},
    {"bigint", "30 seconds as calendar", "20240115140530", "19681230235930", "20241230235930"},
    {"bigint", "1 minute as calendar", "202401151405", "196812302359", "202412302359"},
    {"bigint", "1 hour as calendar", "2024011514", "1968123023", "2024123023"},
    {"int", "day as calendar", "20240115", "19681230", "20241230"},
    {"int", "week as calendar", "202403", "196901", "202501"},
    {"int", "month as calendar", "202401", "196812", "202412"},
    {"int", "year as calendar", "2024", "1968", "2024"},
    {"int", "year", "2024", "1968", "2024"},
    {"bigint", "1 second as epoch", "1705327530", "-31622401", "1735603199"},
    {"int", "1 hour as epoch", "473702", "-8785", "482111"},
    {"bigint", "5 hours as epoch", "94740", "-1757", "96422"},
    {"int", "day as epoch", "19737", "-367", "20087"},
    {"int", "week as epoch", "2820", "-52", "2870"},
    {"int", "month as epoch", "648", "-13", "659"},
    {"bigint", "year as epoch", "54", "-2", "54"},
};

TEST(BucketValue, HasTheFormOfTheRule) {
  for (const Case& c : kCases) {
    const auto table = Table(c.type, c.width);
    ASSERT_NE(table, nullptr);
    const struct {
      int64_t event;
      const char* text;
    } kMoments[] = {
        {kMoment, c.at_moment}, {kBefore1970, c.before_1970}, {kIsoYearEnd, c.at_iso_year_end}};
    for (const auto& m : kMoments) {
      const int64_t start_s = BucketOf(*table, m.event)->start_s;
      EXPECT_EQ(TextOf(*table, start_s), m.text) << c.type << ", " << c.width;
      const auto back = BucketStartFromText(*table, m.text);
      ASSERT_TRUE(back.ok()) << back.status().ToString();
      EXPECT_EQ(*back, start_s) << c.type << ", " << c.width << ", " << m.text;
    }
  }
}

TEST(BucketValue, RoundTripsOverTheWholeRange) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const Case& c : kCases) {
    const auto table = Table(c.type, c.width);
    ASSERT_NE(table, nullptr);
    const Bucketer bucketer(*table);
    std::uniform_int_distribution<int64_t> any(bucketer.min_s(), bucketer.max_s());
    for (int i = 0; i < 1'000; ++i) {
      const int64_t event = i == 0 ? bucketer.min_s() : i == 1 ? bucketer.max_s() : any(random);
      const int64_t start_s = bucketer.StartOf(event);
      const CellValue value = BucketValue(*table, start_s);
      const auto back = BucketStartFromValue(*table, value);
      ASSERT_TRUE(back.ok()) << back.status().ToString() << " " << c.type << ", " << c.width;
      ASSERT_EQ(*back, start_s) << c.type << ", " << c.width << ", " << event;
      std::string wire;  // the value is one of the column's type
      const ColumnType& type = table->columns[table->bucket_column].type;
      AppendWireValue(type, value.fixed, value.bytes, &wire);
      CellValue parsed;
      ASSERT_TRUE(ParseWireValue(type, wire, &parsed).ok());
      ASSERT_EQ(parsed, value);
    }
  }
}

// Which widths may follow one another: those whose values cannot be the same.
//
// Values of one unit name the start, whatever the count: buckets of other starts have other ones.
// Those of two units could only be the same if they had the same length. Every value of a unit
// has one length: texts pad the year to four digits, numbers begin with the year 1000, and both
// only rise with time, so that the first and the last value tell. Dates and timestamps are the
// start itself.
TEST(BucketValue, WidthsThatFollowOneAnotherHaveValuesOfTheirOwn) {
  const struct {
    std::string type;
    std::string form;
    std::vector<size_t> lengths;  // of year, month, week, day, hour, minute, second
  } kForms[] = {
      {"text", "", {4, 7, 8, 10, 13, 16, 19}},
      {"ascii", "", {4, 7, 8, 10, 13, 16, 19}},
      {"bigint", " as calendar", {4, 6, 6, 8, 10, 12, 14}},
      {"int", " as calendar", {4, 6, 6, 8}},
  };
  const std::vector<std::vector<std::string>> kWidths = {
      {"year"}, {"month"}, {"week"}, {"day"}, {"1 hour", "6 hours"}, {"1 minute", "15 minutes"},
      {"1 second", "30 seconds"}};
  for (const auto& form : kForms) {
    std::vector<std::pair<std::string, size_t>> widths;  // and which unit
    for (size_t unit = 0; unit < form.lengths.size(); ++unit) {
      for (const std::string& width : kWidths[unit]) {
        widths.emplace_back(width + form.form, unit);
        const auto table = Table(form.type, widths.back().first);
        ASSERT_NE(table, nullptr);
        const Bucketer bucketer(*table);
        for (const int64_t s : {bucketer.min_s(), bucketer.max_s()}) {
          EXPECT_EQ(TextOf(*table, bucketer.StartOfSecond(s)).size(), form.lengths[unit])
              << form.type << ", " << width;
        }
      }
    }
    for (const auto& [before, unit_before] : widths) {
      for (const auto& [after, unit_after] : widths) {
        if (before == after) continue;
        // A Monday that begins a year: a bucket of every width begins there.
        const auto parsed = ParseCreateTable(
            "CREATE TABLE t (e text, b " + form.type +
            ", ts timestamp, PRIMARY KEY ((e, b), ts)) WITH comment = 'cistern: bucket b = " +
            before + " until 2029-01-01, " + after + "'");
        const bool may_collide = unit_before != unit_after &&
                                 form.lengths[unit_before] == form.lengths[unit_after];
        EXPECT_EQ(parsed.ok(), !may_collide) << form.type << ", " << before << ", " << after;
      }
    }
  }
}

// Numbers are not padded: of the year 10, the day 100101 would be the month of 1001.
TEST(BucketValue, CalendarNumbersBeginWithTheYear1000) {
  constexpr int64_t kYear1000S = -30'610'224'000;
  for (const char* width :
       {"day as calendar", "week as calendar", "year", "month as calendar until 2012-01-01, year",
        "day as calendar until 2027-02-01, month as calendar"}) {
    const auto table = Table("int", width);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(Bucketer(*table).min_s(), kYear1000S) << width;
    EXPECT_TRUE(BucketOf(*table, kYear1000S).ok()) << width;
    EXPECT_EQ(BucketOf(*table, kYear1000S - 1).status().code(), StatusCode::kOutOfRange) << width;
    EXPECT_FALSE(BucketStartFromText(*table, "100101").ok() &&
                 *BucketStartFromText(*table, "100101") < kYear1000S) << width;
  }
  const auto day = Table("int", "day as calendar");
  EXPECT_EQ(BucketStartFromText(*day, "100101").status().code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(BucketOf(*Table("text", "day"), kYear1000S - 1).ok());
  EXPECT_TRUE(BucketOf(*Table("int", "day as epoch"), kYear1000S - 1).ok());
}

TEST(BucketValue, RefusesWhatIsNoBucket) {
  const struct {
    const char* type;
    const char* width;
    std::vector<const char*> texts;
  } kRefused[] = {
      {"date", "week", {"2024-01-16", "x"}},
      {"date", "month", {"2024-01-02"}},
      {"timestamp",
       "1 hour",
       {"2024-01-15T14:00:01Z", "2024-01-15T14:00:00.001Z", "9223372036854775807"}},
      {"text",
       "day",
       {"", "2024-1-15", "2024-02-30", "2024-01-15 ", "2024-01-15-14", "20240115", "0000-01-01"}},
      {"text", "6 hours", {"2024-01-15-14", "2024-01-15-24"}},
      {"text", "week", {"2024-W53", "2024-W00", "2024-03", "2024-w03"}},
      {"int", "day as calendar", {"20240230", "-20240115", "0", "2024"}},
      {"bigint",
       "1 hour as calendar",
       {"2024011524", "9223372036854775807", "-9223372036854775808"}},
      {"int", "week as calendar", {"202453", "202400"}},
  };
  for (const auto& r : kRefused) {
    const auto table = Table(r.type, r.width);
    for (const char* text : r.texts) {
      EXPECT_FALSE(BucketStartFromText(*table, text).ok())
          << r.type << ", " << r.width << ", " << text;
    }
  }
  const auto epoch = Table("bigint", "1 hour as epoch");
  EXPECT_EQ(BucketStartFromText(*epoch, "9223372036854775807").status().code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(BucketStartFromText(*epoch, "-9223372036854775808").status().code(),
            StatusCode::kOutOfRange);
}

TEST(BucketValue, SaysWhatABucketLooksLike) {
  const auto text = Table("text", "week");
  EXPECT_EQ(BucketStartFromText(*text, "2024-60").status().message(),
            "'2024-60' in column 'b' is not a bucket of the table; one is '2024-W01'");
  const auto date = Table("date", "month");
  EXPECT_EQ(BucketStartFromText(*date, "2024-03-09").status().message(),
            "'2024-03-09' in column 'b' is not the start of a bucket; that is '2024-03-01'");
}

}  // namespace
}  // namespace cistern
