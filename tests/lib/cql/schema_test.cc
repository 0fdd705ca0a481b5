// ParseCreateTable: what a CREATE TABLE text becomes.
#include "cistern/schema.h"

#include <gtest/gtest.h>

#include "cistern/limits.h"
#include "lib/cql/alteration.h"
#include "lib/cql/bucket_rule.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/cql_type.h"

namespace cistern {
namespace {

constexpr char kPumps[] = R"(
-- readings of all pumps
CREATE TABLE IF NOT EXISTS plant.readings (
    sensor text, day date, shard tinyint,  /* partition key */
    ts timestamp, seq int,
    temperature double, "Label" varchar, tags frozen<map<text, frozen<list<int>>>>,
    PRIMARY KEY ((sensor, day, shard), ts, seq)
) WITH CLUSTERING ORDER BY (ts DESC, seq ASC)
  AND comment = 'The pump''s readings. cistern: bucket day = 1 day; split shard = hash 8'
  AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': 1,
                    'compaction_window_unit': 'DAYS'}
  AND default_time_to_live = 7776000 AND gc_grace_seconds = 3600
  AND speculative_retry = '99p' AND bloom_filter_fp_chance = 0.01;
)";

TEST(Schema, ReadsAWholeTable) {
  const auto parsed = ParseCreateTable(kPumps);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableSchema& t = **parsed;
  EXPECT_EQ(t.keyspace, "plant");
  EXPECT_EQ(t.name, "readings");
  ASSERT_EQ(t.columns.size(), 8u);
  EXPECT_EQ(t.columns[6].name, "Label");
  EXPECT_EQ(t.columns[6].type.kind, CqlType::kText);
  EXPECT_EQ(t.columns[7].type.ToCql(), "frozen<map<text, frozen<list<int>>>>");
  EXPECT_EQ(t.partition_key, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(t.entity_columns, (std::vector<size_t>{0}));
  EXPECT_EQ(t.bucket_column, 1u);
  EXPECT_EQ(t.split_column, std::optional<size_t>(2));
  EXPECT_EQ(t.clustering_columns, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(t.regular_columns, (std::vector<size_t>{5, 6, 7}));
  EXPECT_EQ(t.columns[1].role, ColumnRole::kBucket);
  EXPECT_EQ(t.columns[2].role, ColumnRole::kSplit);
  EXPECT_TRUE(t.columns[3].descending);
  EXPECT_FALSE(t.columns[4].descending);
  EXPECT_EQ(t.bucket, (BucketRule{BucketUnit::kDay, 1, BucketEncoding::kDate}));
  EXPECT_EQ(t.split, (SplitRule{SplitKind::kHash, 8}));
  EXPECT_EQ(t.time_unit, TimeUnit::kMillis);
  EXPECT_EQ(t.default_ttl_s, 7'776'000u);
  EXPECT_EQ(t.gc_grace_s, 3'600u);
  EXPECT_EQ(t.compaction.at("compaction_window_size"), "1");
  EXPECT_EQ(t.comment, "The pump's readings. cistern: bucket day = 1 day; split shard = hash 8");
  EXPECT_EQ(t.other_options.at("speculative_retry"), "'99p'");
  EXPECT_EQ(t.other_options.at("bloom_filter_fp_chance"), "0.01");
}

// Readers of a cluster's comment cannot infer anything from its key.
TEST(Schema, TheCommentForAClusterHasTheWholeRule) {
  struct Case {
    const char* keys;
    const char* comment;
    const char* with_rule;
  };
  const Case cases[] = {
      {"day date, ts timestamp", "", "cistern: bucket day = 1 day"},
      {"day date, ts timestamp", "Pumps.", "Pumps. cistern: bucket day = 1 day"},
      {"log_hour timestamp, ts bigint", "Pumps. CISTERN: timestamps = event; time ts = ns",
       "Pumps. cistern: bucket log_hour = 1 hour; time ts = ns; timestamps = event"},
      {"year int, ts timestamp", "", "cistern: bucket year = 1 year as calendar"},
      {"day date, ts timestamp", "a cistern: bucket day = day; timestamps = write",
       "a cistern: bucket day = day; timestamps = write"},
  };
  for (const Case& one : cases) {
    const auto text = [&](const std::string& comment) {
      const std::string keys = one.keys;
      const std::string bucket = keys.substr(0, keys.find(' '));
      return "CREATE TABLE t (e text, " + keys + ", v int, PRIMARY KEY ((e, " + bucket +
             "), ts)) WITH comment = '" + comment + "'";
    };
    const auto parsed = ParseCreateTable(text(one.comment));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(CommentWithRule(**parsed), one.with_rule);
    const auto again = ParseCreateTable(text(CommentWithRule(**parsed)));
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ((*again)->bucket, (*parsed)->bucket);
    EXPECT_EQ((*again)->time_unit, (*parsed)->time_unit);
    EXPECT_EQ((*again)->timestamps, (*parsed)->timestamps);
    EXPECT_EQ(CommentWithRule(**again), one.with_rule);
  }
  EXPECT_EQ(RuleText(**ParseCreateTable(kPumps)), "bucket day = 1 day; split shard = hash 8");
}

TEST(Schema, TimestampsAreThoseOfTheWriteUnlessTheCommentSaysOtherwise) {
  const auto mode_of = [](const std::string& clause) {
    const auto parsed = ParseCreateTable(
        "CREATE TABLE r (e text, day date, ts timestamp, PRIMARY KEY ((e, day), ts)) "
        "WITH comment = 'cistern: bucket day = 1 day" +
        clause + "'");
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ((*ParseCreateTable((*parsed)->ToCql()))->timestamps, (*parsed)->timestamps);
    return (*parsed)->timestamps;
  };
  EXPECT_EQ(mode_of(""), TimestampMode::kWriteTime);
  EXPECT_EQ(mode_of("; timestamps = write"), TimestampMode::kWriteTime);
  EXPECT_EQ(mode_of("; TimeStamps = EVENT"), TimestampMode::kEventTime);
}

TEST(Schema, TheBucketRuleAsTextReadsBackEqual) {
  struct Case {
    std::string type, widths, text;
  };
  const Case kCases[] = {
      {"date", "day", "1 day"},
      {"int", "year", "1 year as calendar"},
      {"bigint", "15 minutes as epoch", "15 minutes as epoch"},
      {"date", "days until 2027-02-01, month until 2028-01-01, year",
       "1 day until 2027-02-01, 1 month until 2028-01-01, 1 year"},
      {"int", "month as calendar until 2012-01-01, day as calendar",
       "1 month as calendar until 2012-01-01, 1 day as calendar"},
      {"timestamp", "2 hours until 0999-03-02, minute", "2 hours until 0999-03-02, 1 minute"},
  };
  for (const Case& c : kCases) {
    const auto table = [&c](const std::string& rule) {
      return "CREATE TABLE t (e text, \"In\" " + c.type + ", ts timestamp,"
             " PRIMARY KEY ((e, \"In\"), ts)) WITH comment = 'cistern: bucket " + rule + "'";
    };
    const auto parsed = ParseCreateTable(table("\"In\" = " + c.widths));
    ASSERT_TRUE(parsed.ok()) << c.widths << ": " << parsed.status().ToString();
    EXPECT_EQ(BucketRuleText(**parsed), "\"In\" = " + c.text);
    const auto again = ParseCreateTable(table(BucketRuleText(**parsed)));
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ((*again)->bucket, (*parsed)->bucket);
    EXPECT_EQ((*again)->former_buckets, (*parsed)->former_buckets);
  }
}

TEST(Schema, CanonicalTextReadsBackEqual) {
  const auto first = ParseCreateTable(kPumps);
  ASSERT_TRUE(first.ok());
  const auto second = ParseCreateTable((*first)->ToCql());
  ASSERT_TRUE(second.ok()) << second.status().ToString() << "\n" << (*first)->ToCql();
  EXPECT_EQ((*second)->ToCql(), (*first)->ToCql());
  EXPECT_EQ((*second)->columns, (*first)->columns);
  EXPECT_EQ((*second)->comment, (*first)->comment);
}

// The rule of a table whose bucket column `name` has `type`; nullopt: refused.
std::optional<BucketRule> RuleOf(const std::string& type, const std::string& name,
                                 const std::string& rule) {
  const auto parsed = ParseCreateTable("CREATE TABLE t (e text, " + name + " " + type +
                                       ", ts timestamp, PRIMARY KEY ((e, " + name +
                                       "), ts)) WITH comment = '" + rule + "'");
  if (!parsed.ok()) return std::nullopt;
  return (*parsed)->bucket;
}

TEST(Schema, InfersTheBucketWhereTypeAndNameLeaveNoDoubt) {
  const auto date = BucketEncoding::kDate;
  const auto start = BucketEncoding::kTimestamp;
  EXPECT_EQ(RuleOf("date", "day", ""), (BucketRule{BucketUnit::kDay, 1, date}));
  EXPECT_EQ(RuleOf("date", "event_date", ""), (BucketRule{BucketUnit::kDay, 1, date}));
  EXPECT_EQ(RuleOf("date", "month", "no rule"), (BucketRule{BucketUnit::kMonth, 1, date}));
  EXPECT_EQ(RuleOf("date", "year", ""), (BucketRule{BucketUnit::kYear, 1, date}));
  EXPECT_EQ(RuleOf("timestamp", "minute", ""), (BucketRule{BucketUnit::kMinute, 1, start}));
  EXPECT_EQ(RuleOf("timestamp", "ts_hour", ""), (BucketRule{BucketUnit::kHour, 1, start}));
  EXPECT_EQ(RuleOf("int", "year", ""),
            (BucketRule{BucketUnit::kYear, 1, BucketEncoding::kCalendarNumber}));
  for (const auto& [type, name] : {std::pair("date", "week"),
                                   {"date", "bucket"},
                                   {"date", "birthday"},
                                   {"text", "day"},
                                   {"int", "day"},
                                   {"bigint", "hour"},
                                   {"timestamp", "bucket"},
                                   {"timestamp", "week"}}) {
    EXPECT_EQ(RuleOf(type, name, ""), std::nullopt) << type << " " << name;
  }
}

// The table of docs/schema.md, row by row: type, form, and the widths that it takes.
TEST(Schema, TakesExactlyTheDocumentedPairs) {
  const std::vector<std::string> widths = {
      "1 second", "7 seconds", "30 seconds", "1 minute", "7 minutes", "15 minutes", "1 hour",
      "5 hours",  "6 hours",   "1 day",      "1 week",   "1 month",   "1 year"};
  const std::string below_day_any =
      "1 second|7 seconds|30 seconds|1 minute|7 minutes|15 minutes|1 hour|5 hours|6 hours|";
  const std::string below_day_dividing = "1 second|30 seconds|1 minute|15 minutes|1 hour|6 hours|";
  const std::string from_day = "1 day|1 week|1 month|1 year|";
  const std::string int_epoch =
      "7 seconds|30 seconds|1 minute|7 minutes|15 minutes|1 hour|5 hours|6 hours|";
  const struct {
    std::string type;
    std::string form;
    std::string taken;
  } kRows[] = {
      {"date", "", from_day},
      {"date", " as date", from_day},
      {"date", " as text", ""},
      {"timestamp", "", below_day_any + from_day},
      {"timestamp", " as timestamp", below_day_any + from_day},
      {"timestamp", " as epoch", ""},
      {"text", "", below_day_dividing + from_day},
      {"ascii", " as text", below_day_dividing + from_day},
      {"bigint", " as calendar", below_day_dividing + from_day},
      {"bigint", " as epoch", below_day_any + from_day},
      {"bigint", " as date", ""},
      {"int", " as calendar", from_day},
      {"int", " as epoch", int_epoch + from_day},
      {"bigint", "", "7 seconds|7 minutes|5 hours|1 year|"},
      {"int", "", int_epoch + "1 year|"},
      {"smallint", "", ""},
      {"uuid", "", ""},
  };
  for (const auto& row : kRows) {
    std::string taken;
    for (const std::string& width : widths) {
      if (RuleOf(row.type, "b", "cistern: bucket b = " + width + row.form).has_value())
        taken += width + "|";
    }
    EXPECT_EQ(taken, row.taken) << row.type << row.form;
  }
}

TEST(Schema, KeyOrderIsKeptWhereTheBucketIsNotLast) {
  const auto parsed = ParseCreateTable(
      "CREATE TABLE t (s int, b text, e text, site int, ts bigint, PRIMARY KEY ((s, b, site, e), "
      "ts)) WITH comment = "
      "'CISTERN: bucket b = week; split s = round_robin 4; time ts = ns;'");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ((*parsed)->partition_key, (std::vector<size_t>{0, 1, 3, 2}));
  EXPECT_EQ((*parsed)->entity_columns, (std::vector<size_t>{3, 2}));
  EXPECT_EQ((*parsed)->split, (SplitRule{SplitKind::kRoundRobin, 4}));
  EXPECT_EQ((*parsed)->time_unit, TimeUnit::kNanos);
  EXPECT_NE((*parsed)->ToCql().find("PRIMARY KEY ((s, b, site, e), ts)"), std::string::npos);
}

TEST(Schema, SetsAndMapsNeedNotBeFrozen) {
  const auto parsed = ParseCreateTable(
      "CREATE TABLE t (e text, day date, ts timestamp, m map<text, text>, s set<int>, "
      "deep map<int, list<text>>, f frozen<set<int>>, PRIMARY KEY ((e, day), ts))");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableSchema& t = **parsed;
  EXPECT_TRUE(t.columns[3].type.is_multicell);
  EXPECT_TRUE(t.columns[4].type.is_multicell);
  EXPECT_FALSE(t.columns[6].type.is_multicell);
  // Inside of another type all is one value.
  EXPECT_EQ(t.columns[5].type.ToCql(), "map<int, frozen<list<text>>>");
  EXPECT_FALSE(t.columns[5].type.arguments[1].is_multicell);
  const auto again = ParseCreateTable(t.ToCql());
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << t.ToCql();
  EXPECT_EQ((*again)->columns, t.columns);
}

TEST(Schema, StaticColumnsGoWithTheTimestampsOfEvents) {
  const auto parsed = ParseCreateTable(
      "CREATE TABLE t (e text, day date, ts timestamp, firmware text STATIC, v double, "
      "PRIMARY KEY ((e, day), ts)) WITH comment = 'cistern: timestamps = event'");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableSchema& t = **parsed;
  EXPECT_TRUE(t.columns[3].is_static);
  EXPECT_EQ(t.columns[3].role, ColumnRole::kRegular);
  EXPECT_EQ(t.regular_columns, (std::vector<size_t>{3, 4}));
  const auto again = ParseCreateTable(t.ToCql());
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << t.ToCql();
  EXPECT_EQ((*again)->columns, t.columns);
}

TEST(Schema, TuplesAndVectorsAreFrozenWithoutTheWord) {
  const auto parsed = ParseCreateTable(
      "CREATE TABLE t (e text, day date, ts timestamp, a tuple<int, set<text>>, "
      "b frozen<tuple<int, frozen<set<text>>>>, c vector<float, 3>, "
      "d map<int, vector<vector<text, 2>, 4>>, x duration, y map<int, tuple<duration>>, "
      "z vector<vector<uuid, 8192>, 8>, PRIMARY KEY ((e, day), ts))");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableSchema& t = **parsed;
  EXPECT_EQ(t.columns[3].type.ToCql(), "frozen<tuple<int, frozen<set<text>>>>");
  EXPECT_EQ(t.columns[3].type, t.columns[4].type);
  EXPECT_EQ(t.columns[5].type.ToCql(), "vector<float, 3>");
  EXPECT_EQ(t.columns[5].type.dimension, 3u);
  EXPECT_EQ(t.columns[6].type.ToCql(), "map<int, vector<vector<text, 2>, 4>>");
  EXPECT_EQ(t.columns[7].type.ToCql(), "duration");
  EXPECT_EQ(t.columns[8].type.ToCql(), "map<int, frozen<tuple<duration>>>");
  const auto again = ParseCreateTable(t.ToCql());
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << t.ToCql();
  EXPECT_EQ((*again)->columns, t.columns);
}

constexpr char kTyped[] = R"(
CREATE TYPE plant.place (site text, "Level" int);
CREATE TYPE IF NOT EXISTS unused (x int);
CREATE TYPE plant.visit (at frozen<place>, tags set<text>, took duration);
CREATE TYPE other.place (x double, y double);
CREATE TABLE plant.t (e text, day date, ts timestamp, v frozen<visit>,
  m map<text, frozen<plant.place>>, l frozen<list<place>>, PRIMARY KEY ((e, day), ts));
)";

TEST(Schema, UserDefinedTypesAreDeclaredBeforeTheTable) {
  const auto parsed = ParseCreateTable(kTyped);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const TableSchema& t = **parsed;
  const ColumnType& visit = t.columns[3].type;
  EXPECT_EQ(visit.kind, CqlType::kUserType);
  EXPECT_EQ(visit.ToCql(), "frozen<visit>");
  EXPECT_EQ(visit.lane(), Lane::kBytes);
  EXPECT_EQ(visit.field_names, (std::vector<std::string>{"at", "tags", "took"}));
  ASSERT_EQ(visit.arguments.size(), 3u);
  EXPECT_EQ(visit.arguments[0].field_names, (std::vector<std::string>{"site", "Level"}));
  EXPECT_FALSE(visit.arguments[1].is_multicell);
  EXPECT_EQ(t.columns[4].type.ToCql(), "map<text, frozen<place>>");
  EXPECT_EQ(t.columns[4].type.arguments[1], visit.arguments[0]);
  // Those that its columns have, each behind those that it is made of.
  const std::string text = t.ToCql();
  EXPECT_TRUE(text.starts_with(
      "CREATE TYPE plant.place (site text, \"Level\" int);\n"
      "CREATE TYPE plant.visit (at frozen<place>, tags frozen<set<text>>, took duration);\n"
      "CREATE TABLE plant.t ("))
      << text;
  const auto again = ParseCreateTable(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << text;
  EXPECT_EQ((*again)->columns, t.columns);
  EXPECT_EQ((*again)->ToCql(), text);
}

TEST(Schema, ATypeMayGetFieldsBehindThoseThatItHas) {
  const auto type = [](const std::string& fields) {
    const auto parsed = ParseCreateTable(
        "CREATE TYPE p (" + fields + "); CREATE TABLE t (e text, day date, ts timestamp, "
        "v frozen<list<frozen<p>>>, PRIMARY KEY ((e, day), ts))");
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    return (*parsed)->columns[3].type;
  };
  const ColumnType p = type("a int, b text");
  EXPECT_TRUE(FitsInto(p, p));
  EXPECT_TRUE(FitsInto(p, type("a int, b text, c int")));
  EXPECT_FALSE(FitsInto(type("a int, b text, c int"), p));
  EXPECT_FALSE(FitsInto(p, type("a int, c text")));
  EXPECT_FALSE(FitsInto(p, type("a int, b blob, c int")));
  EXPECT_FALSE(FitsInto(p, type("b text, a int")));
}

// What of a column's kind may change, by `cistern alter`.
TEST(Schema, AlterationsOfTypesAndStaticColumns) {
  const auto declared = [](const std::string& types, const std::string& column) {
    const auto parsed = ParseCreateTable(
        types + "CREATE TABLE t (e text, day date, ts timestamp, n int, " + column +
        ", PRIMARY KEY ((e, day), ts)) WITH comment = 'cistern: timestamps = event'");
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    return *parsed;
  };
  const auto why_not = [](const auto& was, const auto& next) {
    return std::string(CheckAlteration({was}, *next).message());
  };
  const auto place = declared("CREATE TYPE p (a int);", "v frozen<p>");
  EXPECT_EQ(why_not(place, declared("CREATE TYPE p (a int, b text);", "v frozen<p>")), "");
  EXPECT_EQ(why_not(place, declared("CREATE TYPE p (b int, a int);", "v frozen<p>")),
            "table t cannot be altered so: the column 'v' is frozen<p>, whose type may get fields "
            "behind those that it has, and no other: drop it, and add one of another name");
  EXPECT_EQ(why_not(place, declared("CREATE TYPE q (a int);", "v frozen<q>")),
            "table t cannot be altered so: the column 'v' is frozen<p>, not frozen<q>: drop it, "
            "and add one of another name");
  const auto plain = declared("", "v int");
  const auto is_static = declared("", "v int static");
  EXPECT_EQ(why_not(is_static, is_static), "");
  EXPECT_EQ(why_not(plain, is_static),
            "table t cannot be altered so: the column 'v' was not static, and cannot become it: "
            "use another name");
  EXPECT_EQ(why_not(is_static, plain),
            "table t cannot be altered so: the column 'v' was static, and stays it under this "
            "name: use another name");
}

TEST(Schema, FindColumnKnowsTheExactName) {
  const auto parsed = ParseCreateTable(kPumps);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)->FindColumn("Label"), std::optional<size_t>(6));
  EXPECT_EQ((*parsed)->FindColumn("label"), std::nullopt);
}

TEST(Schema, TypesKnowTheirLaneAndText) {
  EXPECT_EQ((ColumnType{CqlType::kBoolean, {}}).lane(), Lane::kFixed);
  EXPECT_EQ((ColumnType{CqlType::kTime, {}}).lane(), Lane::kFixed);
  EXPECT_EQ((ColumnType{CqlType::kUuid, {}}).lane(), Lane::kBytes);
  EXPECT_EQ((ColumnType{CqlType::kDecimal, {}}).lane(), Lane::kBytes);
  const ColumnType map{CqlType::kMap, {{CqlType::kText, {}}, {CqlType::kInt, {}}}};
  EXPECT_EQ(map.ToCql(), "frozen<map<text, int>>");
  ColumnType cells = map;
  cells.is_multicell = true;
  EXPECT_EQ(cells.ToCql(), "map<text, int>");
  EXPECT_NE(cells, map);
  EXPECT_EQ(TicksPerSecond(TimeUnit::kTicks100ns), 10'000'000);
}

// What is advised where the bucket does not follow is accepted, and is the width of the name.
TEST(Schema, TheExampleOfABucketIsAcceptedAndIsThatOfTheName) {
  struct Case {
    const char* type;
    const char* column;
    const char* clause;
  };
  const Case kCases[] = {
      {"text", "month", "bucket month = 1 month"},
      {"text", "event_day", "bucket event_day = 1 day"},
      {"text", "bucket", "bucket bucket = 1 day"},
      {"ascii", "year", "bucket year = 1 year"},
      {"date", "week", "bucket week = 1 week"},
      {"date", "hour", "bucket hour = 1 day"},
      {"timestamp", "bucket_10min", "bucket bucket_10min = 10 minutes"},
      {"timestamp", "t_15_minutes", "bucket t_15_minutes = 15 minutes"},
      {"timestamp", "slot", "bucket slot = 1 hour"},
      {"timestamp", "s", "bucket s = 1 hour"},
      {"timestamp", "w30s", "bucket w30s = 30 seconds"},
      {"int", "day", "bucket day = 1 day as calendar"},
      {"int", "yyyymm", "bucket yyyymm = 1 month as calendar"},
      {"int", "hours", "bucket hours = 1 hour"},
      {"int", "b5min", "bucket b5min = 5 minutes"},
      {"int", "b1s", "bucket b1s = 1 day as calendar"},
      {"bigint", "hour", "bucket hour = 1 hour as calendar"},
      {"bigint", "b7min", "bucket b7min = 7 minutes"},
      {"text", "b7min", "bucket b7min = 1 day"},
      {"text", "\"It's a Month\"", "bucket \"It''s a Month\" = 1 day"},
      {"timestamp", "b99999999999min", "bucket b99999999999min = 1 hour"},
  };
  for (const Case& one : kCases) {
    SCOPED_TRACE(std::string(one.type) + " " + one.column);
    const std::string table = std::string("CREATE TABLE t (a text, ") + one.column + " " +
                              one.type + ", ts timestamp, v int, PRIMARY KEY ((a, " + one.column +
                              "), ts))";
    const Status told = ParseCreateTable(table).status();
    const size_t at = told.message().find("comment = ");
    ASSERT_NE(at, std::string::npos) << told.ToString();
    const std::string option = told.message().substr(at);
    EXPECT_EQ(option, std::string("comment = 'cistern: ") + one.clause + "'");
    const auto schema = ParseCreateTable(table + " WITH " + option);
    EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  }
}

TEST(Schema, TheExampleOfAnEventTimeIsAccepted) {
  for (const std::string column : {"ts", "\"Time\"", "\"it's\""}) {
    const std::string table = "CREATE TABLE t (a text, day date, " + column +
                              " bigint, PRIMARY KEY ((a, day), " + column + "))";
    const Status told = ParseCreateTable(table).status();
    const std::string before = "for example: ";
    const size_t at = told.message().find(before);
    const size_t end = told.message().find(" (s, ms");
    ASSERT_NE(at, std::string::npos) << told.ToString();
    ASSERT_NE(end, std::string::npos) << told.ToString();
    const std::string comment = told.message().substr(at + before.size(),
                                                      end - at - before.size());
    const auto schema = ParseCreateTable(table + " WITH comment = " + comment);
    EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  }
}

}  // namespace
}  // namespace cistern
