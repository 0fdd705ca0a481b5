// Which rules fit a sample, in which order they are told, and what a declaration takes over.
#include "tools/rule_guess.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/cql/value_text.h"
#include "tools/table_import.h"

namespace cistern::tool {
namespace {

using replicate::ClusterColumn;
using replicate::ClusterColumnKind;
using replicate::ClusterSchema;

ClusterColumn Column(const std::string& name, const std::string& type, ClusterColumnKind kind) {
  return {name, kind, false, type, replicate::ParseClusterType(type)};
}

// A table whose partition key is an entity and `bucket`, in keyspace plant.
ClusterSchema TableOf(const std::string& bucket, const std::string& bucket_type,
                      const std::string& time_type) {
  ClusterSchema cluster;
  cluster.keyspace = "plant";
  cluster.name = "t";
  cluster.has_keyspace = true;
  replicate::ClusterTable& table = cluster.table.emplace();
  table.partition_key = {Column("e", "text", ClusterColumnKind::kPartitionKey),
                         Column(bucket, bucket_type, ClusterColumnKind::kPartitionKey)};
  table.clustering = {Column("ts", time_type, ClusterColumnKind::kClustering)};
  return cluster;
}

CellValue Value(const ColumnType& type, const std::string& literal) {
  CellValue value;
  const Status s = ParseValueText(type, literal, &value);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return value;
}

// A partition with rows at those times.
PartitionSample Sample(const ClusterSchema& cluster, const std::string& bucket,
                       const std::vector<std::string>& times) {
  PartitionSample sample;
  sample.key = {Value(*cluster.table->partition_key[0].type, "x"),
                Value(*cluster.table->partition_key[1].type, bucket)};
  for (const std::string& time : times) {
    sample.times.push_back(Value(*cluster.table->clustering[0].type, time));
  }
  return sample;
}

using Rules = std::vector<std::string>;

TEST(RuleGuess, FindsTheOneRuleThatFits) {
  const auto hours = TableOf("slot", "timestamp", "timestamp");
  EXPECT_EQ(FittingRules(hours, {Sample(hours, "2024-01-15T13:00Z", {"2024-01-15T13:00Z",
                                                                     "2024-01-15T13:59:59Z"})}),
            Rules{"bucket slot = 1 hour"});
  const auto weeks = TableOf("w", "text", "timestamp");
  EXPECT_EQ(FittingRules(weeks, {Sample(weeks, "2024-W03", {"2024-01-15", "2024-01-21"})}),
            Rules{"bucket w = 1 week"});
  const auto counted = TableOf("b", "bigint", "bigint");
  EXPECT_EQ(FittingRules(counted, {Sample(counted, "473702", {"1705327530123456"})}),
            Rules{"bucket b = 1 hour as epoch; time ts = us"});
  EXPECT_EQ(FittingRules(counted, {Sample(counted, "2024011513", {"1705323930"})}),
            Rules{"bucket b = 1 hour as calendar; time ts = s"});
}

TEST(RuleGuess, TellsAllThatFitAndTheLikeliestFirst) {
  // A Monday that begins a month and a year.
  const auto named = TableOf("the_month", "date", "timestamp");
  EXPECT_EQ(FittingRules(named, {Sample(named, "2024-01-01", {"2024-01-01T09:00Z"})}),
            (Rules{"bucket the_month = 1 month", "bucket the_month = 1 day",
                   "bucket the_month = 1 week", "bucket the_month = 1 year"}));
  const auto slots = TableOf("slot", "timestamp", "timestamp");
  const Rules rules =
      FittingRules(slots, {Sample(slots, "2024-01-16T14:00Z", {"2024-01-16T14:12Z"})});
  EXPECT_EQ(rules, (Rules{"bucket slot = 1 hour", "bucket slot = 15 minutes",
                          "bucket slot = 20 minutes", "bucket slot = 30 minutes",
                          "bucket slot = 2 hours"}));
  // Another partition tells them apart.
  EXPECT_EQ(FittingRules(slots, {Sample(slots, "2024-01-16T14:00Z", {"2024-01-16T14:12Z"}),
                                 Sample(slots, "2024-01-16T15:00Z", {"2024-01-16T15:59Z"})}),
            Rules{"bucket slot = 1 hour"});
}

TEST(RuleGuess, FindsNoneWhereNoneFits) {
  const auto texts = TableOf("day", "text", "timestamp");
  EXPECT_EQ(FittingRules(texts, {Sample(texts, "20240115", {"2024-01-15"})}), Rules{});
  EXPECT_EQ(FittingRules(texts, {Sample(texts, "2024-01-15", {"2024-01-15", "2024-01-16"})}),
            Rules{});
  const auto blobs = TableOf("b", "blob", "timestamp");
  EXPECT_EQ(FittingRules(blobs, {Sample(blobs, "0x00", {"2024-01-15"})}), Rules{});
  EXPECT_EQ(Shown(*texts.table, Sample(texts, "20240115", {"2024-01-15"})),
            "e = x, day = 20240115, ts = 2024-01-15T00:00:00.000Z");
}

TEST(RuleGuess, AsksForTheOtherEndOfEachPartition) {
  ClusterSchema cluster = TableOf("Day", "date", "timestamp");
  EXPECT_EQ(MakeSampleQueries(cluster, 7).partitions,
            "SELECT e, \"Day\", ts FROM plant.t PER PARTITION LIMIT 1 LIMIT 7");
  EXPECT_EQ(MakeSampleQueries(cluster, 7).other_end,
            "SELECT ts FROM plant.t WHERE e = ? AND \"Day\" = ? ORDER BY ts DESC LIMIT 1");
  cluster.table->clustering[0].descending = true;
  EXPECT_TRUE(MakeSampleQueries(cluster, 7).other_end.ends_with("ORDER BY ts ASC LIMIT 1"));
  const std::string day("\x80\0\0\x01", 4);
  const std::string ts(8, '\0');
  auto sample = TakeSample(*cluster.table, {"x", day, ts});
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->key[1].fixed, 1);
  AddTime(*cluster.table, {ts}, &*sample);  // the one row is the first and the last
  EXPECT_EQ(sample->times.size(), 1u);
  AddTime(*cluster.table, {std::string(7, '\0') + "\x01"}, &*sample);
  EXPECT_EQ(sample->times.size(), 2u);
  EXPECT_FALSE(TakeSample(*cluster.table, {"x", day}).has_value());
  EXPECT_FALSE(TakeSample(*cluster.table, {"x", "odd", ts}).has_value());
  EXPECT_FALSE(TakeSample(*cluster.table, {"x", day, std::nullopt}).has_value());
}

TEST(TableImport, TakesWhatADeclarationCanHave) {
  ClusterSchema cluster = TableOf("day", "date", "timestamp");
  cluster.user_types = {*replicate::ParseClusterType("frozen<tuple<int, text>>")};
  cluster.user_types[0].kind = CqlType::kUserType;
  cluster.user_types[0].name = "spot";
  cluster.user_types[0].field_names = {"n", "note"};
  replicate::ClusterTable& table = *cluster.table;
  table.clustering[0].descending = true;
  table.default_ttl_s = 60;
  table.gc_grace_s = 3600;
  table.compaction = {
      {"class", "org.apache.cassandra.db.compaction.TimeWindowCompactionStrategy"},
      {"compaction_window_unit", "DAYS"}};
  for (const char* type :
       {"double", "map<text, int>", "list<int>", "frozen<spot>", "frozen<odd>"}) {
    ClusterColumn& column = table.others.emplace_back(
        Column("c" + std::to_string(table.others.size()), type, ClusterColumnKind::kRegular));
    column.type = replicate::ParseClusterType(type, cluster.user_types);
  }
  table.others.push_back(Column("s", "int", ClusterColumnKind::kStatic));
  table.others.push_back(Column(std::string(49, 'n'), "int", ClusterColumnKind::kRegular));
  ASSERT_TRUE(CheckImport(cluster).ok());
  const auto schema = DeclareWith(cluster, "It's mine. cistern: bucket day = 1 day");
  ASSERT_TRUE(schema.ok()) << schema.status().ToString();
  EXPECT_EQ((*schema)->ToCql(),
            "CREATE TYPE plant.spot (n int, note text);\n"
            "CREATE TABLE plant.t (\n    e text,\n    day date,\n    ts timestamp,\n"
            "    c0 double,\n    c1 map<text, int>,\n    c3 frozen<spot>,\n"
            "    PRIMARY KEY ((e, day), ts)\n) WITH CLUSTERING ORDER BY (ts DESC)\n"
            "    AND comment = 'It''s mine. cistern: bucket day = 1 day'\n"
            "    AND compaction = {'class': 'TimeWindowCompactionStrategy', "
            "'compaction_window_unit': 'DAYS'}\n"
            "    AND default_time_to_live = 60\n    AND gc_grace_seconds = 3600;\n");
  EXPECT_EQ(LeftOut(table, **schema),
            (std::vector<std::string>{
                "the column 'c2' is left out: its elements would be there twice where a batch is "
                "sent twice, as it is a list that is not frozen",
                "the column 'c4' is left out: Cistern has no frozen<odd>",
                "the column 's' is left out: it is static, which needs timestamps = event",
                "the column '" + std::string(49, 'n') + "' is left out: its name is longer than 48 "
                "bytes or has control characters"}));
  const auto event = DeclareWith(cluster, "cistern: bucket day = 1 day; timestamps = event");
  ASSERT_TRUE(event.ok()) << event.status().ToString();
  EXPECT_TRUE((*event)->columns[*(*event)->FindColumn("s")].is_static);
  EXPECT_EQ(LeftOut(table, **event)[0],
            "the column 'c1' is left out: it is not frozen, which does not go with timestamps = "
            "event");
}

TEST(TableImport, RefusesWhatTakesNoRows) {
  const auto words = [](const std::function<void(ClusterSchema*)>& change) {
    ClusterSchema cluster = TableOf("day", "date", "timestamp");
    change(&cluster);
    return CheckImport(cluster).message();
  };
  EXPECT_EQ(words([](ClusterSchema* c) { c->has_keyspace = false; }),
            "the cluster has no keyspace plant");
  EXPECT_EQ(words([](ClusterSchema* c) { c->table.reset(); }),
            "plant.t is no table of the cluster");
  EXPECT_EQ(words([](ClusterSchema* c) { c->is_view = true; }),
            "plant.t is a materialized view, which takes no rows");
  EXPECT_EQ(words([](ClusterSchema* c) { c->table->clustering.clear(); }),
            "plant.t has no clustering column, of which the first is the event time");
  EXPECT_EQ(words([](ClusterSchema* c) { c->table->partition_key[0].type.reset(); }),
            "plant.t has the key column 'e' of type text, which Cistern does not have");
  EXPECT_EQ(words([](ClusterSchema* c) {
              c->table->partition_key[0] =
                  Column("e", "frozen<list<int>>", ClusterColumnKind::kPartitionKey);
            }),
            "plant.t has the key column 'e' of type frozen<list<int>>, which cannot be in a key "
            "here");
  EXPECT_EQ(words([](ClusterSchema* c) { c->table->partition_key[1].name = "a\nb"; }),
            "plant.t has the key column 'a?b', whose name is longer than 48 bytes or has "
            "control characters");
  EXPECT_EQ(words([](ClusterSchema* c) { c->table->partition_key.pop_back(); }),
            "plant.t has one column in its partition key, which needs an entity and a bucket");
  EXPECT_EQ(words([](ClusterSchema* c) {
              c->table->clustering[0] = Column("ts", "int", ClusterColumnKind::kClustering);
            }),
            "plant.t has the first clustering column 'ts' of type int: it is the event time, and "
            "has to be a timestamp, timeuuid or bigint");
}

}  // namespace
}  // namespace cistern::tool
