#include "engine/bucketing/bucketer.h"

#include <date/date.h>
#include <date/iso_week.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "cistern/limits.h"
#include "tests/engine/bucketing/tables.h"

namespace cistern {
namespace {

using std::chrono::floor;
using std::chrono::seconds;

int64_t Count(date::sys_days days) {
  return int64_t{days.time_since_epoch().count()} * 86'400;
}

int64_t At(int year, unsigned month, unsigned day, int64_t second_of_day = 0) {
  const date::year_month_day ymd{date::year{year}, date::month{month}, date::day{day}};
  return Count(date::sys_days{ymd}) + second_of_day;
}

// Where the bucket begins and ends by Hinnant's date.
BucketSpan Reference(const BucketRule& rule, int64_t s) {
  const date::sys_days day = floor<date::days>(date::sys_seconds{seconds{s}});
  const date::year_month_day ymd{day};
  switch (rule.unit) {
    case BucketUnit::kYear:
      return {Count(date::sys_days{ymd.year() / 1 / 1}),
              Count(date::sys_days{(ymd.year() + date::years{1}) / 1 / 1})};
    case BucketUnit::kMonth: {
      const date::year_month month = ymd.year() / ymd.month();
      return {Count(date::sys_days{month / 1}),
              Count(date::sys_days{(month + date::months{1}) / 1})};
    }
    case BucketUnit::kIsoWeek: {
      const iso_week::year_weeknum_weekday iso{day};
      const int64_t monday = Count(date::sys_days{iso.year() / iso.weeknum() / iso_week::mon});
      return {monday, monday + 7 * 86'400};
    }
    default: break;
  }
  int64_t width = 1;
  if (rule.unit == BucketUnit::kMinute) width = 60;
  if (rule.unit == BucketUnit::kHour) width = 3600;
  if (rule.unit == BucketUnit::kDay) width = 86'400;
  width *= rule.count;
  int64_t start = s / width * width;
  if (start > s) start -= width;
  return {start, start + width};
}

struct Case {
  const char* type;
  const char* width;
};
constexpr Case kCases[] = {
    {"bigint", "1 second as epoch"},
    {"timestamp", "10 seconds"},
    {"timestamp", "7 seconds"},
    {"timestamp", "1 minute"},
    {"text", "15 minutes"},
    {"timestamp", "7 minutes"},
    {"text", "1 hour"},
    {"timestamp", "6 hours"},
    {"timestamp", "5 hours"},
    {"timestamp", "48 hours"},
    {"date", "day"},
    {"date", "week"},
    {"date", "month"},
    {"date", "year"},
    {"int", "1 hour"},
    {"timestamp", "1 day until 2005-01-06, 7 minutes until 2020-05-28, 1 day"},
    {"date", "1 week until 2007-01-01, 1 month until 2008-12-01, 1 day"},
    {"text", "1 year until 1900-01-01, 15 minutes until 2100-03-01, 1 month"},
    {"int", "1 month as calendar until 2012-01-01, 1 year until 2024-01-01, 1 day as calendar"},
};

// Checks the bucket of `ticks`, its neighbours and both of its ends, to the tick.
void CheckBucketAround(const TableSchema& table, int64_t ticks) {
  const int64_t per_s = TicksPerSecond(table.time_unit);
  const Bucketer bucketer(table);
  int64_t s = ticks / per_s;
  if (s * per_s > ticks) --s;
  const BucketRule* rule = &table.bucket;
  for (size_t i = table.former_buckets.size(); i-- > 0;) {
    if (s < table.former_buckets[i].until_s) rule = &table.former_buckets[i].rule;
  }
  const BucketSpan expected = Reference(*rule, s);
  const auto span = BucketOf(table, ticks);
  ASSERT_TRUE(span.ok()) << span.status().ToString();
  ASSERT_EQ(*span, expected) << ticks << " ticks, " << table.comment;
  ASSERT_EQ(bucketer.StartOfSecond(s), expected.start_s);
  ASSERT_EQ(NextBucketStart(table, expected.start_s), expected.end_s);
  ASSERT_EQ(PreviousBucketStart(table, expected.end_s), expected.start_s);
  const Bucketer& alone = bucketer.At(s);
  ASSERT_EQ(alone.StartOfIndex(alone.IndexOf(expected.start_s)), expected.start_s);
  ASSERT_EQ(alone.IndexOf(expected.end_s), alone.IndexOf(expected.start_s) + 1);
  for (const int64_t edge_s : {expected.start_s, expected.end_s}) {
    if (edge_s <= bucketer.min_s() || edge_s > bucketer.max_s()) continue;
    const int64_t edge = edge_s * per_s;
    ASSERT_EQ(BucketOf(table, edge)->start_s, edge_s) << table.comment;
    ASSERT_EQ(BucketOf(table, edge - 1)->end_s, edge_s) << table.comment;
    ASSERT_EQ(BucketOf(table, edge + per_s - 1)->start_s, edge_s) << table.comment;
  }
}

TEST(Bucketer, EveryWidthAndUnitAtItsBoundaries) {
  std::vector<int64_t> moments = {0,
                                  -1,
                                  1,
                                  At(1969, 12, 29),
                                  At(1, 1, 1),
                                  At(9999, 12, 31, 86'399),
                                  At(1900, 2, 28),
                                  At(1900, 3, 1),
                                  At(2000, 2, 29),
                                  At(2024, 2, 29),
                                  At(2100, 2, 28),
                                  At(1677, 9, 22),
                                  At(2262, 4, 11)};
  for (const int64_t s : {At(2005, 1, 6), At(2020, 5, 28), At(2007, 1, 1), At(2008, 12, 1),
                          At(1900, 1, 1), At(2100, 3, 1), At(2012, 1, 1), At(2024, 1, 1)}) {
    moments.insert(moments.end(), {s - 1, s, s + 1});
  }
  for (int year = 2004; year <= 2032; ++year) {  // the ends of the ISO years
    for (unsigned day = 26; day <= 31; ++day) moments.push_back(At(year, 12, day, 43'210));
    for (unsigned day = 1; day <= 7; ++day) moments.push_back(At(year + 1, 1, day));
  }
  for (const Case& c : kCases) {
    for (const char* unit : {"s", "ms", "us", "ns"}) {
      const auto table = Table(c.type, c.width, unit);
      ASSERT_NE(table, nullptr);
      const Bucketer bucketer(*table);
      for (const int64_t s : moments) {
        if (s < bucketer.min_s() || s > bucketer.max_s()) continue;
        CheckBucketAround(*table, s * TicksPerSecond(table->time_unit));
        if (HasFatalFailure()) return;
      }
      CheckBucketAround(*table, bucketer.min_ticks());
      CheckBucketAround(*table, bucketer.max_ticks());
    }
  }
}

TEST(Bucketer, RandomTimesAgreeWithTheReference) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const Case& c : kCases) {
    for (const char* unit : {"s", "ms", "us", "ns"}) {
      const auto table = Table(c.type, c.width, unit);
      ASSERT_NE(table, nullptr);
      const Bucketer bucketer(*table);
      std::uniform_int_distribution<int64_t> any(bucketer.min_ticks(), bucketer.max_ticks());
      for (int i = 0; i < 1'000; ++i) {
        CheckBucketAround(*table, any(random));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Bucketer, TheRangeEndsExactlyWhereItSays) {
  const auto table = Table("date", "day", "ms");
  const int64_t first = limits::kEventSecondsMin * 1000;
  const int64_t last = limits::kEventSecondsMax * 1000 + 999;
  EXPECT_TRUE(BucketOf(*table, first).ok());
  EXPECT_TRUE(BucketOf(*table, last).ok());
  EXPECT_EQ(BucketOf(*table, first - 1).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(BucketOf(*table, last + 1).status().code(), StatusCode::kOutOfRange);
  for (const char* unit : {"s", "ms", "us", "ns"}) {
    const auto any = Table("date", "week", unit);
    for (const int64_t extreme :
         {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
      EXPECT_EQ(BucketOf(*any, extreme).status().code(), StatusCode::kOutOfRange) << unit;
    }
  }
}

// Nanoseconds begin at 1677-09-21T00:12:43.145224192, in a bucket of 8784 hours from 1677-05-24
// to 1678-05-25.
TEST(Bucketer, AUnitMayBeginBehindTheFirstWidths) {
  const struct {
    const char* widths;
    int64_t first_s;
  } kUnitCases[] = {
      {"8784 hours", At(1678, 5, 25)},
      {"1 hour until 1677-05-24, 8784 hours", At(1678, 5, 25)},
      {"1 hour until 1677-05-24, 8784 hours until 1678-05-25, 1 day", At(1678, 5, 25)},
      {"8784 hours until 1678-05-25, 1 hour", At(1678, 5, 25)},
      {"1 day until 1678-05-25, 8784 hours", At(1677, 9, 22)},
      {"8784 hours until 1677-05-24, 1 day", At(1677, 9, 22)},
      {"1 hour until 1600-01-01, 1 minute until 1677-05-24, 1 hour", At(1677, 9, 21, 3600)},
  };
  for (const auto& c : kUnitCases) {
    const auto table = Table("timestamp", c.widths, "ns");
    ASSERT_NE(table, nullptr);
    const Bucketer bucketer(*table);
    EXPECT_EQ(bucketer.min_s(), c.first_s) << c.widths;
    EXPECT_EQ(bucketer.min_ticks(), c.first_s * 1'000'000'000) << c.widths;
    EXPECT_FALSE(BucketOf(*table, bucketer.min_ticks() - 1).ok()) << c.widths;
    for (const int64_t ticks : {bucketer.min_ticks(), bucketer.min_ticks() + 1}) {
      CheckBucketAround(*table, ticks);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Bucketer, AWrongUnitIsNamed) {
  const auto table = Table("date", "day", "ms");
  const auto span = BucketOf(*table, 1'705'327'200'123'456);
  ASSERT_FALSE(span.ok());
  const std::string& message = span.status().message();
  EXPECT_NE(message.find("1705327200123456"), std::string::npos) << message;
  EXPECT_NE(message.find("'ts' takes: milliseconds"), std::string::npos) << message;
  EXPECT_NE(message.find("looks like microseconds"), std::string::npos) << message;
}

TEST(Bucketer, AnIntBucketColumnBoundsTheEventTimes) {
  const auto table = Table("int", "10 seconds");
  const Bucketer bucketer(*table);
  EXPECT_EQ(bucketer.max_s(), (int64_t{1} << 31) * 10 - 1);
  EXPECT_EQ(bucketer.IndexOf(bucketer.StartOf(bucketer.max_ticks())),
            std::numeric_limits<int32_t>::max());
  EXPECT_EQ(bucketer.IndexOf(bucketer.StartOf(bucketer.min_ticks())),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(BucketOf(*table, bucketer.max_ticks() + 1).status().code(), StatusCode::kOutOfRange);
}

TEST(Bucketer, TimeuuidTicksAreHundredsOfNanoseconds) {
  const auto parsed = ParseCreateTable(
      "CREATE TABLE t (e text, day date, id timeuuid, v int, PRIMARY KEY ((e, day), id))");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(BucketOf(**parsed, At(2024, 1, 16) * 10'000'000 - 1)->start_s, At(2024, 1, 15));
  EXPECT_EQ(BucketOf(**parsed, At(2024, 1, 16) * 10'000'000)->start_s, At(2024, 1, 16));
}

TEST(Bucketer, TicksFromSecondsStopAtTheEndsOfInt64) {
  EXPECT_EQ(TicksFromSeconds(TimeUnit::kMillis, -2), -2'000);
  EXPECT_EQ(TicksFromSeconds(TimeUnit::kNanos, limits::kEventSecondsMax),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(TicksFromSeconds(TimeUnit::kNanos, limits::kEventSecondsMin),
            std::numeric_limits<int64_t>::min());
}

}  // namespace
}  // namespace cistern
