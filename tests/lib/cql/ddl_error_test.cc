// Every refusal of ParseCreateTable: its code, its place and its words.
#include <gtest/gtest.h>

#include "cistern/limits.h"
#include "cistern/schema.h"

namespace cistern {
namespace {

struct Refusal {
  std::string cql;
  StatusCode code;
  std::string message;  // how it begins
};

void ExpectRefused(const Refusal& c) {
  const auto parsed = ParseCreateTable(c.cql);
  ASSERT_FALSE(parsed.ok()) << c.cql;
  EXPECT_EQ(parsed.status().code(), c.code) << c.cql << "\n" << parsed.status().ToString();
  EXPECT_EQ(parsed.status().message().substr(0, c.message.size()), c.message) << c.cql;
}

std::string Repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// A table with `columns` and `key` and the usual rest.
std::string With(const std::string& columns, const std::string& key,
                 const std::string& options = "") {
  return "CREATE TABLE t (" + columns + ", PRIMARY KEY (" + key + "))" +
         (options.empty() ? "" : " WITH " + options);
}

TEST(DdlError, Syntax) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const Refusal kCases[] = {
      {"", kBad, "line 1, column 1: expected CREATE, got the end of the text"},
      {"DROP TABLE t", kBad, "line 1, column 1: expected CREATE, got 'drop'"},
      {"CREATE INDEX", kBad, "line 1, column 8: expected TABLE, got 'index'"},
      {"CREATE TABLE (", kBad, "line 1, column 14: expected the table's name, got '('"},
      {"CREATE TABLE select (", kBad,
       "line 1, column 14: expected the table's name, got the reserved word 'select'"},
      {"CREATE TABLE t\n  (e text d date)", kBad,
       "line 2, column 11: expected ',' or ')', got 'd'"},
      {"CREATE TABLE t (e)", kBad, "line 1, column 18: expected a type, got ')'"},
      {"CREATE TABLE t (e text)", kBad,
       "line 1, column 23: expected PRIMARY KEY ((entity, bucket), event_time)"},
      {"CREATE TABLE t (e text, PRIMARY KEY ((e), ))", kBad,
       "line 1, column 43: expected a column's name, got ')'"},
      {"CREATE TABLE t (\n\"ä\" text, ä int)", kBad,
       "line 2, column 11: expected CQL, got the byte 195"},
      {"CREATE TABLE t (e text /* a", kBad, "line 1, column 24: expected */ to end this comment"},
      {"CREATE TABLE t (\"e text", kBad,
       "line 1, column 17: expected a closing \" for the one here"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "comment = 'x"), kBad,
       "line 1, column 92: expected a closing ' for the one here"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "comment = $$x"), kBad,
       "line 1, column 92: expected a closing $$"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "comment 'x'"), kBad,
       "line 1, column 90: expected '=', got the string 'x'"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "comment = x"), kBad,
       "line 1, column 92: expected a value, got 'x'"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "a = 1 AND a = 2"), kBad,
       "line 1, column 92: the option a is given twice"},
      {With("e text, day date, ts timestamp", "(e, day), ts") + "; SELECT", kBad,
       "line 1, column 78: expected the end of the statement, got 'select'"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "CLUSTERING ORDER BY (ts)"), kBad,
       "line 1, column 105: expected ASC or DESC, got ')'"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "compaction = {'a' 1}"), kBad,
       "line 1, column 100: expected ':', got '1'"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, Types) {
  const auto type = [](const std::string& t) {
    return With("e text, day date, ts timestamp, v " + t, "(e, day), ts");
  };
  constexpr auto kNot = StatusCode::kNotSupported;
  const Refusal kCases[] = {
      {type("counter"), kNot, "line 1, column 51: the type counter is not supported"},
      {type("vector<float>"), StatusCode::kInvalidArgument,
       "line 1, column 63: expected ',', got '>'"},
      {type("vector<float, 0>"), StatusCode::kInvalidArgument,
       "line 1, column 65: expected how many elements a vector has, 1 to 8192, got '0'"},
      {type("vector<float, 8193>"), StatusCode::kInvalidArgument,
       "line 1, column 65: expected how many elements a vector has, 1 to 8192, got '8193'"},
      {type("vector<float, 1.5>"), StatusCode::kInvalidArgument,
       "line 1, column 65: expected how many elements a vector has, 1 to 8192, got '1.5'"},
      {type("vector<vector<uuid, 8192>, 9>"), StatusCode::kTooLarge,
       "line 1, column 78: a vector of 9 elements of 131072 bytes each is larger than a value may "
       "be: 1048576 bytes"},
      {type("set<duration>"), StatusCode::kInvalidArgument,
       "line 1, column 55: a set has no durations, and a map has none in its keys"},
      {type("frozen<map<tuple<int, duration>, int>>"), StatusCode::kInvalidArgument,
       "line 1, column 62: a set has no durations, and a map has none in its keys"},
      {type("tuple<>"), StatusCode::kInvalidArgument,
       "line 1, column 57: expected a type, got '>'"},
      {type("tuple<" + Repeated("int, ", 1024) + "int>"), StatusCode::kTooLarge,
       "line 1, column 5172: a type has at most 1024 others inside"},
      {With("e duration, day date, ts timestamp", "(e, day), ts"), kNot,
       "line 1, column 67: column 'e' is a duration: values of this type are not ordered"},
      {type("address"), kNot,
       "line 1, column 51: 'address' is not a type: one that is user-defined needs a statement "
       "before this one, CREATE TYPE address (field type, ...);"},
      {type("frozen<address>"), kNot, "line 1, column 58: 'address' is not a type"},
      {type("\"Int\""), kNot, "line 1, column 51: 'Int' is not a type"},
      {type("frozen<frozen<list<int>>>"), StatusCode::kInvalidArgument,
       "line 1, column 58: expected list, set, map, tuple, vector or a type that is declared"},
      {type("'org.example.Type'"), kNot, "line 1, column 51: custom types are not supported"},
      {type("list<int>"), kNot,
       "line 1, column 51: a list must be frozen: write frozen<list<...>>. Where a batch has to be "
       "sent twice"},
      {With("e set<text>, day date, ts timestamp", "(e, day), ts"), kNot,
       "line 1, column 68: column 'e' is a set<text>: values of this type are not ordered"},
      {With("e text, day date, ts timestamp, v int, m map<text, int>", "(e, day), ts",
            "comment = 'cistern: timestamps = event'"),
       StatusCode::kInvalidArgument,
       "line 1, column 58: column 'm' must be frozen<map<text, int>> where timestamps = event"},
      {type("int STATIC"), kNot,
       "line 1, column 55: the static column 'v' needs timestamps = event in the comment"},
      {With("e text, day date, ts timestamp, v int static", "(e, day), ts",
            "comment = 'cistern: timestamps = event'"),
       StatusCode::kInvalidArgument,
       "line 1, column 55: a table needs a column that is neither static nor of its key"},
      {With("e text static, day date, ts timestamp", "(e, day), ts"), StatusCode::kInvalidArgument,
       "line 1, column 70: column 'e' is static and cannot be in a key"},
      {type("frozen<int>"), StatusCode::kInvalidArgument,
       "line 1, column 58: expected list, set, map, tuple, vector or a type that is declared "
       "inside frozen<>"},
      {type("frozen<map<int>>"), StatusCode::kInvalidArgument,
       "line 1, column 65: expected ',', got '>'"},
      {type("frozen<list<frozen<list<frozen<list<frozen<list<frozen<list<list<list<list<int>>>>>>>>"
            ">>>>>"),
       StatusCode::kTooLarge, "line 1, column 126: a type is nested at most 8 deep"},
      {With("e frozen<list<int>>, day date, ts timestamp", "(e, day), ts"), kNot,
       "line 1, column 76: column 'e' is a frozen<list<int>>: values of this type are not ordered"},
      {With("e text, day date, ts timestamp, n varint", "(e, day), ts, n"), kNot,
       "line 1, column 86: column 'n' is a varint"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "COMPACT STORAGE"), kNot,
       "line 1, column 82: COMPACT STORAGE is not supported"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, UserDefinedTypes) {
  const auto with = [](const std::string& types, const std::string& v = "frozen<a>") {
    return types + "\n" + With("e text, day date, ts timestamp, v " + v, "(e, day), ts");
  };
  constexpr auto kBad = StatusCode::kInvalidArgument;
  constexpr auto kNot = StatusCode::kNotSupported;
  std::string deep = "CREATE TYPE t0 (f int);";
  for (int i = 1; i < 9; ++i) {
    deep += "CREATE TYPE t" + std::to_string(i) + " (f frozen<t" + std::to_string(i - 1) + ">);";
  }
  std::string wide = "CREATE TYPE w0 (a int, b int, c int, d int);";
  for (int i = 1; i < 6; ++i) {
    const std::string before = "frozen<w" + std::to_string(i - 1) + ">";
    wide += "CREATE TYPE w" + std::to_string(i) + " (a " + before + ", b " + before + ", c " +
            before + ", d " + before + ");";
  }
  const Refusal kCases[] = {
      {"CREATE TYPE", kBad, "line 1, column 12: expected the type's name, got the end"},
      {"CREATE TYPE a", kBad, "line 1, column 14: expected '(', got the end of the text"},
      {"CREATE TYPE a ()", kBad, "line 1, column 16: expected a field's name, got ')'"},
      {"CREATE TYPE \"tuple\" (f int);", kBad,
       "line 1, column 13: 'tuple' is a word of CQL's own types: a type needs another name"},
      {"CREATE TYPE interval (f int);", kBad,
       "line 1, column 13: 'interval' is a word of CQL's own types: a type needs another name"},
      {"CREATE TYPE a (f)", kBad, "line 1, column 17: expected a type, got ')'"},
      {"CREATE TYPE a (f int,)", kBad, "line 1, column 22: expected a field's name, got ')'"},
      {"CREATE TYPE a (f int, f int);", kBad, "line 1, column 23: the field 'f' is declared twice"},
      {"CREATE TYPE a (f int)", kBad, "line 1, column 22: expected ';', got the end"},
      {"CREATE TYPE a (f int);", kBad, "line 1, column 23: expected CREATE, got the end"},
      {"CREATE TYPE a (f frozen<a>);", kNot, "line 1, column 25: 'a' is not a type"},
      {with("CREATE TYPE a (f int);", "a"), kNot,
       "line 2, column 51: a user-defined type must be frozen: write frozen<a>"},
      {with("CREATE TYPE a (f int); CREATE TYPE a (g int);"), kBad,
       "line 1, column 36: the type 'a' is declared twice, with other fields"},
      {with("CREATE TYPE k.a (f int);"), kBad,
       "line 1, column 13: the type 'a' is in keyspace k, and the table in none"},
      {with("CREATE TYPE a (\"\" int);"), kBad,
       "line 1, column 16: the name of a field is empty"},
      {with(deep, "frozen<t8>"), StatusCode::kTooLarge,
       "line 1, column 229: with 't6' the type is nested more than 8 deep"},
      {with(wide, "frozen<w5>"), StatusCode::kTooLarge,
       "line 1, column 328: with 'w3' the type is nested more than 8 deep, or has more than 1024 "
       "others inside"},
      {With("e frozen<a>, day date, ts timestamp", "(e, day), ts"), kNot,
       "line 1, column 26: 'a' is not a type"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, Keys) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const std::string columns = "e text, day date, ts timestamp";
  const Refusal kCases[] = {
      {"CREATE TABLE t (e text PRIMARY KEY, ts timestamp)", kBad,
       "line 1, column 17: the partition key needs an entity and a bucket column"},
      {With(columns, "e, ts"), kBad,
       "line 1, column 62: the partition key needs an entity and a bucket column"},
      {With(columns, "(e, day)"), kBad,
       "line 1, column 66: the first clustering column is the event time"},
      {With(columns, "(e, week), ts"), kBad,
       "line 1, column 66: the primary key names 'week', which is not a column"},
      {With(columns, "(e, e), ts"), kBad, "line 1, column 66: the primary key names 'e' twice"},
      {With(columns + ", e int", "(e, day), ts"), kBad,
       "line 1, column 49: the column 'e' is declared twice"},
      {With("e text PRIMARY KEY, day date", "(e, day), ts"), kBad,
       "line 1, column 47: the table has two PRIMARY KEYs"},
      {With("e text, day date, n int", "(e, day), n"), kBad,
       "line 1, column 65: the first clustering column is the event time and must be a timestamp, "
       "timeuuid or bigint"},
      {With(columns, "(e, day), ts", "CLUSTERING ORDER BY (day DESC)"), kBad,
       "line 1, column 103: CLUSTERING ORDER BY names the clustering columns in key order: "
       "expected 'ts', got 'day'"},
      {With(columns + ", n int", "(e, day), ts, n", "CLUSTERING ORDER BY (ts DESC)"), kBad,
       "line 1, column 92: CLUSTERING ORDER BY leaves out column 'n'"},
      {With(columns, "(e, day), ts", "CLUSTERING ORDER BY (ts DESC, e ASC)"), kBad,
       "line 1, column 112: CLUSTERING ORDER BY names the clustering columns in key order: "
       "expected ')', got 'e'"},
      {With("day date, n int, ts timestamp", "(n, day), ts",
            "comment = 'cistern: bucket day = day; split n = hash 2'"),
       kBad, "line 1, column 62: the partition key has no entity column"},
      {With(std::string(49, 'x') + " text", "(e, day), ts"), StatusCode::kTooLarge,
       "line 1, column 17: the name of a column has 49 bytes, at most 48 are allowed"},
      {"CREATE TABLE \"a-b\" (e text, day date, ts timestamp, PRIMARY KEY ((e, day), ts))", kBad,
       "line 1, column 14: the name of the table may have letters, digits and '_' only"},
      {"CREATE TABLE \"\".t (e text, day date, ts timestamp, PRIMARY KEY ((e, day), ts))", kBad,
       "line 1, column 14: the name of the keyspace is empty"},
      {With("\"a\nb\" text", "(e, day), ts"), kBad,
       "line 1, column 17: the name of a column must be UTF-8"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

std::string Ruled(const std::string& bucket_type, const std::string& rule) {
  return With("e text, b " + bucket_type + ", ts bigint, s tinyint", "(e, b), ts",
              "comment = 'cistern: " + rule + "'");
}

TEST(DdlError, TheRuleInTheComment) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const Refusal kCases[] = {
      {Ruled("date", ""), kBad,
       "line 1, column 106: expected 'bucket', 'split', 'time' or 'timestamps' after 'cistern:'"},
      {Ruled("date", "timestamps ts = event"), kBad,
       "line 1, column 117: expected '=', got 'ts'"},
      {Ruled("date", "timestamps = never"), kBad,
       "line 1, column 119: expected write or event, got 'never'"},
      {Ruled("date", "timestamps = event; timestamps = event"), kBad,
       "line 1, column 126: the comment has two 'timestamps' clauses"},
      {Ruled("date", "bucket c = day"), kBad,
       "line 1, column 113: expected a column of the partition key, got 'c'"},
      {Ruled("date", "bucket b day"), kBad, "line 1, column 115: expected '=', got 'day'"},
      {Ruled("date", "bucket b = fortnight"), kBad,
       "line 1, column 117: expected second, minute, hour, day, week"},
      {Ruled("date", "bucket b = 0 days"), kBad,
       "line 1, column 117: expected a whole number above 0, got '0'"},
      {Ruled("date", "bucket b = 2 days"), kBad,
       "line 1, column 117: column 'b': a bucket is one day, not 2"},
      {Ruled("date", "bucket b = hour"), kBad,
       "line 1, column 117: column 'b': a date cannot hold the start of a bucket"},
      {Ruled("date", "bucket b = day as text"), kBad,
       "line 1, column 117: column 'b': 'as text' does not suit a date"},
      {Ruled("date", "bucket b = day as"), kBad,
       "line 1, column 123: expected date, timestamp, text, calendar or epoch"},
      {Ruled("int", "bucket b = day"), kBad,
       "line 1, column 116: column 'b': a number can hold the day in two ways; add"},
      {Ruled("bigint", "bucket b = hour"), kBad,
       "line 1, column 119: column 'b': a number can hold the hour in two ways"},
      {Ruled("int", "bucket b = hour as calendar"), kBad,
       "line 1, column 116: column 'b': hours written as calendar (such as 2024011514) do not fit "
       "an int"},
      {Ruled("int", "bucket b = 3 seconds"), kBad,
       "line 1, column 116: column 'b': an int cannot count 3 seconds since"},
      {Ruled("text", "bucket b = 7 hours"), kBad,
       "line 1, column 117: column 'b': 7 hours do not divide a day"},
      {Ruled("timestamp", "bucket b = 9000 hours"), kBad,
       "line 1, column 122: column 'b': a bucket of 9000 hours is wider than 366 days"},
      {Ruled("timestamp", "bucket b = 4294967296 hours"), kBad,
       "line 1, column 122: expected a whole number above 0"},
      {Ruled("double", "bucket b = day"), kBad,
       "line 1, column 119: column 'b': a bucket column is a date, timestamp, text, int or bigint, "
       "not a double"},
      {Ruled("date", "bucket b = day; bucket b = day"), kBad,
       "line 1, column 122: the comment has two 'bucket' clauses"},
      {Ruled("date", "bucket b = day, time ts = us"), kBad,
       "line 1, column 120: expected ';' or the end of the comment"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, WidthsThatFollowOneAnother) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const Refusal kCases[] = {
      {Ruled("date", "bucket b = day until"), kBad,
       "line 1, column 126: expected a date such as 2027-02-01, got the end of the comment"},
      {Ruled("date", "bucket b = day until 2027-02, week"), kBad,
       "line 1, column 127: expected a date such as 2027-02-01, got '2027-02'"},
      {Ruled("date", "bucket b = day until 2027-1-1, week"), kBad,
       "line 1, column 127: expected a date such as 2027-02-01, got '2027-1-1'"},
      {Ruled("date", "bucket b = day until 2027-02-01T00, week"), kBad,
       "line 1, column 127: expected a date such as 2027-02-01, got '2027-02-01T00'"},
      {Ruled("date", "bucket b = day until 2027 -02 -01, week"), kBad,
       "line 1, column 127: expected a date such as 2027-02-01, got '2027'"},
      {Ruled("date", "bucket b = day until tomorrow, week"), kBad,
       "line 1, column 127: expected a date such as 2027-02-01, got 'tomorrow'"},
      {Ruled("date", "bucket b = day until 2027-02-30, week"), kBad,
       "line 1, column 127: '2027-02-30' is not a date of the calendar"},
      {Ruled("date", "bucket b = day until 2027-13-01, week"), kBad,
       "line 1, column 127: '2027-13-01' is not a date of the calendar"},
      {Ruled("date", "bucket b = day until 0000-01-01, week"), kBad,
       "line 1, column 127: '0000-01-01' is not a date of the calendar"},
      {Ruled("date", "bucket b = day until 2027-02-01"), kBad,
       "line 1, column 137: expected ',' and the width that follows, got the end"},
      {Ruled("date", "bucket b = day until 2027-02-01,"), kBad,
       "line 1, column 138: expected second, minute, hour, day"},
      {Ruled("date", "bucket b = day until 2027-01-01, week"), kBad,
       "line 1, column 127: on the date after 'until' a bucket of both widths must begin, and none "
       "of 1 week does"},
      {Ruled("date", "bucket b = month until 2027-01-04, week"), kBad,
       "line 1, column 129: on the date after 'until' a bucket of both widths must begin, and none "
       "of 1 month does"},
      {Ruled("date", "bucket b = day until 2027-02-01, day"), kBad,
       "line 1, column 139: the width is the same as before: 1 day"},
      {Ruled("date", "bucket b = day until 2027-02-01, month until 2027-02-01, day"), kBad,
       "line 1, column 151: the dates after 'until' must rise"},
      {Ruled("date", "bucket b = day until 2027-02-01, hour"), kBad,
       "line 1, column 139: column 'b': a date cannot hold the start"},
      {Ruled("bigint", "bucket b = day as epoch until 2027-02-01, hour as epoch"), kBad,
       "line 1, column 138: a count since 1970 ('as epoch') cannot have widths"},
      {Ruled("bigint", "bucket b = day as calendar until 2027-02-01, hour as epoch"), kBad,
       "line 1, column 141: a count since 1970 ('as epoch') cannot have widths"},
      {Ruled("int", "bucket b = week as calendar until 2027-02-01, month as calendar"), kBad,
       "line 1, column 151: weeks and months 'as calendar' cannot be widths of one table: 202702 "
       "would be a week and a month"},
      {Ruled("bigint",
             "bucket b = month as calendar until 2027-01-01, hour as calendar until 2029-01-01, "
             "week as calendar until 2034-05-01, month as calendar"),
       kBad, "line 1, column 190: weeks and months 'as calendar'"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
  std::string many = "bucket b = day";
  for (int year = 2001; year < 2001 + 64; ++year) {
    many += " until " + std::to_string(year) + "-01-01, " + (year % 2 == 1 ? "month" : "day");
  }
  const auto parsed = ParseCreateTable(Ruled("date", many));
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.status().message().find("at most 64 widths"), std::string::npos);
}

TEST(DdlError, TimeAndSplitInTheComment) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const Refusal kCases[] = {
      {Ruled("date", "bucket b = day; time ts = h"), kBad,
       "line 1, column 132: expected s, ms, us or ns, got 'h'"},
      {Ruled("date", "bucket b = day; time e = us"), kBad,
       "line 1, column 127: expected the event time 'ts', got 'e'"},
      {Ruled("date", "bucket b = day; split s = hash 8; time ts = us"), kBad,
       "line 1, column 128: expected a column of the partition key, got 's'"},
      {Ruled("date", "bucket b = day; split e = hash 8; time ts = us"), kBad,
       "line 1, column 128: a split column is a tinyint, smallint, int or bigint, but column 'e' "
       "is a text"},
      {Ruled("date", "bucket b = day; split e = hash 1"), kBad,
       "line 1, column 137: expected a number of splits from 2 to"},
      {Ruled("date", "bucket b = day; split e = modulo 8"), kBad,
       "line 1, column 132: expected hash or round_robin"},
      {Ruled("date", "bucket b = day"), kBad,
       "line 1, column 76: the unit of the bigint event time 'ts' must be in the table's comment, "
       "for example"},
      {Ruled("date", "bucket b = \"day"), kBad,
       "line 1, column 116: the rule after 'cistern:' cannot be read"},
      // Doubled quotes before the rule do not shift its column.
      {With("e text, b date, ts timestamp", "(e, b), ts",
            "comment = 'it''s ''so''. cistern: bucket b = hor'"),
       kBad, "line 1, column 123: expected second, minute"},
      {With("e text, b date, ts timestamp", "(e, b), ts",
            "comment = 'a\n b\n cistern: bucket b = hor'"),
       kBad, "line 3, column 22: expected second, minute"},
      {With("e text, b date, ts timestamp", "(e, b), ts", "comment = $$cistern: bucket b = hor$$"),
       kBad, "line 1, column 110: expected second, minute"},
      {With("e text, day date, ts timestamp", "(e, day), ts", "comment = 'cistern: time ts = us'"),
       kBad, "line 1, column 112: a timestamp counts milliseconds"},
      {With("e text, day date, ts timeuuid", "(e, day), ts", "comment = 'cistern: time ts = ms'"),
       kBad, "line 1, column 111: a timeuuid has its own unit"},
      {With("e text, day date, s tinyint, ts timestamp", "(e, day, s), ts",
            "comment = 'cistern: split s = hash 129'"),
       kBad, "line 1, column 122: 129 splits do not fit column 's', a tinyint"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, WithoutARuleTheCommentToWriteIsShown) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const Refusal kCases[] = {
      {With("e text, bucket text, ts timestamp", "(e, bucket), ts"), kBad,
       "line 1, column 69: which column is the bucket, and how wide? It does not follow from "
       "column 'bucket' of type "
       "text; say it in the table's comment, for example: comment = 'cistern: bucket bucket = 1 "
       "day'"},
      {With("e text, day int, ts timestamp", "(e, day), ts"), kBad,
       "line 1, column 65: which column is the bucket, and how wide? It does not follow from "
       "column 'day' of type "
       "int; say it in the table's comment, for example: comment = 'cistern: bucket day = 1 day as "
       "calendar'"},
      {With("e text, week date, ts timestamp", "(e, week), ts"), kBad,
       "line 1, column 67: which column is the bucket"},
      {With("day date, e text, ts timestamp", "(day, e), ts"), kBad,
       "line 1, column 68: which column is the bucket"},
      {With("e text, v double, ts timestamp", "(e, v), ts"), kBad,
       "line 1, column 66: no bucket column: the last column of the partition key, 'v', is a "
       "double"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, Options) {
  constexpr auto kBad = StatusCode::kInvalidArgument;
  const auto option = [](const std::string& o) {
    return With("e text, day date, ts timestamp", "(e, day), ts", o);
  };
  const Refusal kCases[] = {
      {option("default_time_to_live = -1"), kBad,
       "line 1, column 105: expected default_time_to_live in seconds from 0 to 630720000, got -1"},
      {option("default_time_to_live = 630720001"), kBad,
       "line 1, column 105: expected default_time_to_live"},
      {option("gc_grace_seconds = 'x'"), kBad,
       "line 1, column 101: expected gc_grace_seconds in seconds"},
      {option("gc_grace_seconds = 1.5"), kBad,
       "line 1, column 101: expected gc_grace_seconds in seconds"},
      {option("comment = 7"), kBad,
       "line 1, column 92: expected the comment in single quotes, got 7"},
      {option("compaction = 'x'"), kBad,
       "line 1, column 95: expected compaction = {'class': '...'}, got 'x'"},
      {option("compaction = {'a': 'b'}"), kBad, "line 1, column 95: compaction lacks its 'class'"},
      {option("compaction = {'class': 'x', 'class': 'y'}"), kBad,
       "line 1, column 110: the key 'class' is given twice"},
      {option("compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': "
              "'WEEKS'}"),
       kBad,
       "line 1, column 95: expected compaction_window_unit MINUTES, HOURS or DAYS, got 'WEEKS'"},
      {option(
           "compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': 0}"),
       kBad,
       "line 1, column 95: expected compaction_window_size as a whole number above 0, got '0'"},
  };
  for (const Refusal& c : kCases) ExpectRefused(c);
}

TEST(DdlError, Limits) {
  const auto parsed = ParseCreateTable(std::string(limits::kDdlBytesMax + 1, ' '));
  EXPECT_EQ(parsed.status().code(), StatusCode::kTooLarge);
  std::string columns;
  for (size_t i = 0; i <= limits::kColumnCountMax; ++i)
    columns.append("c").append(std::to_string(i)).append(" int, ");
  const auto wide = ParseCreateTable("CREATE TABLE t (" + columns + "PRIMARY KEY ((c0, c1), c2))");
  EXPECT_EQ(wide.status().code(), StatusCode::kTooLarge);
  EXPECT_NE(wide.status().message().find("at most 256 columns"), std::string::npos);
  // 18 KB that would be kept as 66.
  std::string tuples;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) {
    tuples += name + (" tuple<" + Repeated("u, ", 499) + "u>, ");
  }
  const auto long_text = ParseCreateTable(
      "CREATE TYPE u (x int); CREATE TABLE t (s text, day date, ts timestamp, " + tuples +
      "PRIMARY KEY ((s, day), ts))");
  EXPECT_EQ(long_text.status().code(), StatusCode::kTooLarge);
  EXPECT_NE(long_text.status().message().find(" bytes with its types and options written out"),
            std::string::npos) << long_text.status().ToString();
}

}  // namespace
}  // namespace cistern
