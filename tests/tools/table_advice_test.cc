// AdviseTable: what is told of a declaration, that its clauses help, and that every example of this
// repository has nothing to be told of.
#include "tools/table_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kDayS = 86'400;

std::shared_ptr<const TableSchema> Parsed(const std::string& cql) {
  const auto parsed = ParseCreateTable(cql);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << cql;
  return parsed.ok() ? *parsed : std::make_shared<TableSchema>();
}

// A table with a row of about 30 bytes, its bucket column `slot` of that type.
struct Declaration {
  std::string type = "date";
  std::map<std::string, std::string> options;  // behind WITH

  [[nodiscard]] std::shared_ptr<const TableSchema> Parse() const {
    std::string text = "CREATE TABLE plant.t (e text, slot " + type +
                       ", ts timestamp, v double, PRIMARY KEY ((e, slot), ts))";
    const char* joint = " WITH ";
    for (const auto& [name, value] : options) {
      text += joint + name + " = " + value;
      joint = " AND ";
    }
    return Parsed(text);
  }
  void Take(const std::string& clause) {
    const size_t end = clause.find(" = ");
    ASSERT_NE(end, std::string::npos) << clause;
    options[clause.substr(0, end)] = clause.substr(end + 3);
  }
};

std::vector<TableAdvice> AdviceOf(const Declaration& declaration,
                                  const TableExpectation& expected = {}) {
  const auto table = declaration.Parse();
  return AdviseTable(*table, table->compaction, expected);
}

std::string Window(const std::string& size, const std::string& unit) {
  return "{'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': '" + size +
         "', 'compaction_window_unit': '" + unit + "'}";
}

struct AdviceCase {
  std::string name;
  Declaration declaration;
  TableExpectation expected;
  std::vector<std::string> what;     // a part of each
  std::vector<std::string> clauses;  // all of each
};

std::string Rule(const std::string& width) {
  return "'Pumps. cistern: bucket slot = " + width + "'";
}

std::vector<AdviceCase> Cases() {
  const std::string week = std::to_string(7 * kDayS);
  return {
      {"nothing said", {"date", {{"comment", Rule("1 day")}}}, {}, {"it says no compaction"},
       {"compaction = " + Window("30", "DAYS")}},
      {"another strategy",
       {"timestamp",
        {{"comment", Rule("1 hour")}, {"default_time_to_live", week},
         {"compaction", "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '160'}"}}},
       {}, {"its compaction is LeveledCompactionStrategy, not TimeWindow"},
       {"compaction = " + Window("6", "HOURS")}},
      {"a window within a bucket",
       {"date", {{"comment", Rule("1 day")}, {"compaction", Window("12", "HOURS")}}}, {},
       {"window of 12h holds no whole number of buckets of 1 day"},
       {"compaction = " + Window("30", "DAYS")}},
      {"a window that cuts weeks",
       {"date", {{"comment", Rule("1 week")}, {"compaction", Window("30", "DAYS")}}}, {},
       {"holds no whole number of buckets of 1 week"}, {"compaction = " + Window("35", "DAYS")}},
      {"a window within a month",
       {"date", {{"comment", Rule("1 month")}, {"compaction", Window("7", "DAYS")}}}, {},
       {"holds no whole number of buckets of 1 month"}, {"compaction = " + Window("31", "DAYS")}},
      {"many windows",
       {"date", {{"comment", Rule("1 day")}, {"compaction", Window("1", "DAYS")},
                 {"default_time_to_live", std::to_string(400 * kDayS)}}}, {},
       {"400 compaction windows"}, {"compaction = " + Window("14", "DAYS")}},
      {"few windows",
       {"date", {{"comment", Rule("1 day")}, {"compaction", Window("10", "DAYS")},
                 {"default_time_to_live", std::to_string(30 * kDayS)}}}, {},
       {"is a large part of its time to live"}, {"compaction = " + Window("1", "DAYS")}},
      {"windows for ever",
       {"date", {{"comment", Rule("1 day")}, {"compaction", Window("1", "DAYS")}}}, {},
       {"its rows live for ever"}, {"compaction = " + Window("30", "DAYS")}},
      {"what a window has besides stays",
       {"date",
        {{"comment", Rule("1 day")},
         {"compaction", "{'class': 'TimeWindowCompactionStrategy', 'max_threshold': '8'}"}}},
       {}, {"its rows live for ever"},
       {"compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': '30', "
        "'compaction_window_unit': 'DAYS', 'max_threshold': '8'}"}},
      {"a short grace",
       {"date", {{"comment", Rule("1 day")}, {"compaction", Window("30", "DAYS")}}},
       {.repair_interval_s = 20 * kDayS}, {"gc_grace_seconds are 864000, shorter than the 20d"},
       {"gc_grace_seconds = 2505600"}},
      {"a bucket wider than its rows live",
       {"timestamp", {{"comment", Rule("1 month")}, {"compaction", Window("31", "DAYS")},
                      {"default_time_to_live", std::to_string(30 * kDayS)}}}, {},
       {"wider than a quarter of its time to live", "no whole number of buckets of 1 week"},
       {"comment = " + Rule("1 week"), "compaction = " + Window("7", "DAYS")}},
      {"a column that has no narrower ones",
       {"date", {{"comment", Rule("1 day")}, {"compaction", Window("1", "DAYS")},
                 {"default_time_to_live", std::to_string(2 * kDayS)}}}, {},
       {"; a timestamp as bucket column has narrower ones"}, {""}},
      {"large partitions",
       {"date", {{"comment", Rule("1 month")}, {"compaction", Window("31", "DAYS")}}},
       {.rows_per_day = 864'000},
       {"a bucket of 1 month would have about 25488000 rows and 765 MB"},
       {"comment = " + Rule("1 day")}},
      {"large partitions since a date",
       {"date", {{"comment", Rule("1 day until 2027-02-01, 1 month")},
                 {"compaction", Window("31", "DAYS")}}},
       {.rows_per_day = 864'000}, {"a bucket of 1 month would have about 25488000 rows"}, {""}},
      {"small partitions",
       {"timestamp", {{"comment", Rule("1 hour")}, {"compaction", Window("30", "DAYS")}}},
       {.rows_per_day = 24}, {"a bucket of 1 hour would have about 1.0 rows",
                              "holds no whole number of buckets of 1 week"},
       {"comment = " + Rule("1 week"), "compaction = " + Window("35", "DAYS")}},
  };
}

TEST(TableAdvice, SaysWhatIsWrongAndItsClausesHelp) {
  for (AdviceCase& one : Cases()) {
    SCOPED_TRACE(one.name);
    const std::vector<TableAdvice> advice = AdviceOf(one.declaration, one.expected);
    ASSERT_EQ(advice.size(), one.what.size());
    bool has_clauses = true;
    for (size_t i = 0; i < advice.size(); ++i) {
      EXPECT_THAT(advice[i].what, HasSubstr(one.what[i]));
      EXPECT_EQ(advice[i].clause, one.clauses[i]);
      has_clauses &= !advice[i].clause.empty();
      if (!advice[i].clause.empty()) one.declaration.Take(advice[i].clause);
    }
    if (!has_clauses) continue;
    for (const TableAdvice& more : AdviceOf(one.declaration, one.expected)) {
      ADD_FAILURE() << more.what << ": " << more.clause;
    }
  }
}

TEST(TableAdvice, WhatSuitsIsNotToldOf) {
  const Declaration good{"date", {{"comment", Rule("1 day")}, {"compaction", Window("3", "DAYS")},
                                  {"default_time_to_live", std::to_string(90 * kDayS)}}};
  EXPECT_THAT(AdviceOf(good), IsEmpty());
  EXPECT_THAT(AdviceOf(good, {10 * kDayS, 86'400}), IsEmpty());
  // As a server tells it.
  const auto table = good.Parse();
  EXPECT_THAT(AdviseTable(*table,
                          {{"class", "org.apache.cassandra.db.compaction."
                                     "TimeWindowCompactionStrategy"},
                           {"compaction_window_size", "3"}, {"compaction_window_unit", "DAYS"},
                           {"max_threshold", "32"}},
                          {}),
              IsEmpty());
}

// A split divides a bucket, and a number keeps its form.
TEST(TableAdvice, GoesBySplitsAndForms) {
  const std::string head =
      "CREATE TABLE t (e text, slot bigint, part tinyint, ts timestamp, v double, PRIMARY KEY ((e, "
      "slot, part), ts)) WITH comment = 'cistern: bucket slot = 1 day as calendar; split part = ";
  const std::string tail = "' AND compaction = " + Window("30", "DAYS");
  const auto two = Parsed(head + "hash 2" + tail);
  const auto advice = AdviseTable(*two, two->compaction, {.rows_per_day = 10'000'000});
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].clause,
            "comment = 'cistern: bucket slot = 6 hours as calendar; split part = hash 2'");
  const auto eight = Parsed(head + "hash 8" + tail);
  EXPECT_THAT(AdviseTable(*eight, eight->compaction, {.rows_per_day = 10'000'000}), IsEmpty());
}

// 10 bytes of a row, 10 of its time, and 2 before the value.
TEST(TableAdvice, KnowsHowLargeValuesAre) {
  for (const auto& [type, bytes] : {std::pair("vector<float, 1024>", 4096),
                                    std::pair("tuple<bigint, vector<tinyint, 1000>>", 1016)}) {
    const auto table = Parsed(std::string("CREATE TABLE t (e text, slot date, ts timestamp, v ") +
                              type + ", PRIMARY KEY ((e, slot), ts)) WITH comment = "
                              "'cistern: bucket slot = 1 day' AND compaction = " +
                              Window("30", "DAYS"));
    const auto advice = AdviseTable(*table, table->compaction, {.rows_per_day = 1'000'000});
    ASSERT_EQ(advice.size(), 1u) << type;
    EXPECT_THAT(advice[0].what,
                HasSubstr("about 1000000 rows and " + std::to_string(22 + bytes) + " MB"));
  }
}

TEST(TableAdvice, IsOneLineForAPerson) {
  EXPECT_EQ(AdviceText("plant.t", {"it is odd", "gc_grace_seconds = 5"}),
            "table plant.t: it is odd; put this into its CREATE TABLE text: gc_grace_seconds = 5");
  EXPECT_EQ(AdviceText("plant.t", {"it is odd", ""}), "table plant.t: it is odd");
}

// --- the examples

std::string TextOf(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Behind `open` up to `close`, each of them.
std::vector<std::string> Blocks(const std::string& text, const std::string& open,
                                const std::string& close) {
  std::vector<std::string> blocks;
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    blocks.push_back(text.substr(at, text.find(close, at) - at));
  }
  return blocks;
}

// The literals of a C++ declaration, one behind another.
std::string Joined(const std::string& declaration) {
  std::string joined;
  bool is_inside = false;
  for (const char c : declaration) {
    if (c == '"') {
      is_inside = !is_inside;
    } else if (is_inside) {
      joined += c;
    }
  }
  return joined;
}

TEST(TableAdvice, NoExampleOfTheRepositoryNeedsAny) {
  const std::filesystem::path root = std::getenv("CISTERN_SOURCE_DIR");
  std::map<std::string, size_t> counts;
  const auto check = [&counts](const std::filesystem::path& path, const std::string& cql) {
    SCOPED_TRACE(path);
    const auto table = Parsed(cql);
    for (const TableAdvice& advice : AdviseTable(*table, table->compaction, {})) {
      ADD_FAILURE() << AdviceText(table->name, advice);
    }
    ++counts[path.extension()];
  };
  for (const char* directory : {"docs", "examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / directory)) {
      const std::string text = entry.is_regular_file() ? TextOf(entry.path()) : std::string();
      const std::string extension = entry.path().extension();
      if (extension == ".cql") check(entry.path(), text);
      for (const std::string& cql : Blocks(text, "```cql\n", "```")) check(entry.path(), cql);
      if (extension != ".cc") continue;
      for (const std::string& rest : Blocks(text, "\"CREATE TABLE", ";\n")) {
        check(entry.path(), Joined("\"CREATE TABLE" + rest));
      }
    }
  }
  EXPECT_EQ(counts[".md"], 6u);
  EXPECT_EQ(counts[".cql"], 9u);
  EXPECT_EQ(counts[".cc"], 2u);
  EXPECT_THAT(Blocks(TextOf(root / "README.md"), "```cql\n", "```"), IsEmpty());
}

}  // namespace
}  // namespace cistern::tool
