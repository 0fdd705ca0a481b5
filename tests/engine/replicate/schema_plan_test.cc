// PlanSchema: what it would run, what it refuses, and that a table made by it shows no drift.
#include "engine/replicate/schema_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "engine/replicate/schema_statements.h"
#include "tests/engine/replicate/schema_model.h"

namespace cistern::replicate {
namespace {

const TextMap kReplication = {{"class", "SimpleStrategy"}, {"replication_factor", "1"}};

using Declarations = std::vector<std::shared_ptr<const TableSchema>>;

// Plans, runs the plan, and looks that nothing is left to be done or said.
void ExpectApplied(const Declarations& declared, ModelCluster* cluster) {
  const std::string& name = declared.back()->name;
  const SchemaPlan plan =
      PlanSchema(declared, cluster->Read("plant", name), kReplication);
  ASSERT_TRUE(plan.refusals.empty()) << plan.refusals.front().Text();
  for (const std::string& statement : plan.statements) {
    ASSERT_TRUE(cluster->Execute(statement)) << statement;
  }
  const ClusterSchema after = cluster->Read("plant", name);
  const SchemaDrift drift = CompareSchema(declared, after);
  EXPECT_FALSE(drift.Has(DriftWeight::kBlocks) || drift.Has(DriftWeight::kWarns))
      << drift.differences.front().Text();
  EXPECT_TRUE(PlanSchema(declared, after, kReplication).is_empty());
}

TEST(SchemaPlan, MakesKeyspaceAndTable) {
  const auto declared = Declared(
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts)) WITH "
      "comment = 'It''s a pump.'");
  const SchemaPlan plan = PlanSchema(Declarations{declared}, ModelCluster().Read("plant", "r"),
                                     kReplication);
  ASSERT_EQ(plan.statements.size(), 2u);
  EXPECT_EQ(plan.statements[0],
            "CREATE KEYSPACE IF NOT EXISTS plant WITH replication = {'class': 'SimpleStrategy', "
            "'replication_factor': '1'};");
  EXPECT_EQ(plan.statements[1],
            "CREATE TABLE IF NOT EXISTS plant.r (\n    e text,\n    day date,\n    ts timestamp,\n"
            "    v double,\n    PRIMARY KEY ((e, day), ts)\n) WITH CLUSTERING ORDER BY (ts ASC)\n"
            "    AND comment = 'It''s a pump. cistern: bucket day = 1 day'\n"
            "    AND default_time_to_live = 0\n"
            "    AND gc_grace_seconds = 864000;");
  EXPECT_EQ(PrintSchema(*declared, "plant", kReplication),
            plan.statements[0] + "\n" + plan.statements[1] + "\n");
  EXPECT_EQ(PrintSchema(*declared, "plant", {}), plan.statements[1] + "\n");
}

TEST(SchemaPlan, AsksHowANewKeyspaceIsReplicated) {
  const auto declared = Declared(
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts))");
  const SchemaPlan plan =
      PlanSchema(Declarations{declared}, ModelCluster().Read("plant", "r"), {});
  EXPECT_TRUE(plan.statements.empty());
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_NE(plan.refusals[0].Text().find("Say how it is to be replicated"), std::string::npos);
}

TEST(SchemaPlan, ReadsReplication) {
  const auto read = ParseReplication("{'class': 'NetworkTopologyStrategy', 'dc1': 3}");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, (TextMap{{"class", "NetworkTopologyStrategy"}, {"dc1", "3"}}));
  for (const char* wrong : {"", "3", "{'dc1': 3}", "{'class': 'x'} AND o = 1", "['class']",
                            "{'class': 'x'}; DROP TABLE t", "'class'"}) {
    const auto refused = ParseReplication(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(refused.status().message().find("'dc1': 3"), std::string::npos);
  }
}

TEST(SchemaPlan, ChecksDataCenters) {
  const auto check = [](const char* cql, const std::map<std::string, size_t>& names) {
    return CheckDataCenters(ParseReplication(cql).value(), names);
  };
  const std::map<std::string, size_t> names = {{"north", 3}, {"south", 1}};
  EXPECT_TRUE(check("{'class': 'NetworkTopologyStrategy', 'north': 3}", names).ok());
  EXPECT_TRUE(check("{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}", names).ok());
  EXPECT_TRUE(check("{'class': 'SimpleStrategy', 'replication_factor': 1}", names).ok());
  EXPECT_TRUE(check("{'class': 'OurStrategy', 'west': 3}", names).ok());
  EXPECT_TRUE(check("{'class': 'NetworkTopologyStrategy', 'west': 3}", {}).ok());
  for (const char* strategy :
       {"NetworkTopologyStrategy", "org.apache.cassandra.locator.NetworkTopologyStrategy"}) {
    const std::string cql = std::string("{'class': '") + strategy + "', 'south': 1, 'North': 3}";
    const Status refused = check(cql.c_str(), names);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.message(),
              "the cluster has no data center 'North'; those that it has: north, south");
  }
}

TEST(SchemaPlan, MoreReplicasThanNodesAreWarnedOf) {
  const std::map<std::string, size_t> nodes = {{"north", 3}, {"south", 1}};
  const auto warnings = [&](const char* cql) {
    return FactorWarnings(ParseReplication(cql).value(), nodes);
  };
  EXPECT_THAT(warnings("{'class': 'NetworkTopologyStrategy', 'north': 3, 'south': 1}"),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings("{'class': 'NetworkTopologyStrategy', 'north': 3, 'south': 2}"),
              ::testing::ElementsAre("2 replicas in data center south, which has 1 node: a write "
                                     "that needs a majority of them may never be taken"));
  EXPECT_EQ(warnings("{'class': 'NetworkTopologyStrategy', 'replication_factor': 4}").size(), 2u);
  EXPECT_THAT(warnings("{'class': 'SimpleStrategy', 'replication_factor': 5}"),
              ::testing::ElementsAre(::testing::HasSubstr("5 replicas in the cluster, which has "
                                                          "4 nodes")));
  EXPECT_THAT(warnings("{'class': 'SimpleStrategy', 'replication_factor': 4}"),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings("{'class': 'OurStrategy', 'north': 'many'}"), ::testing::IsEmpty());
}

// Every type, in every part of the table where it may be, in both orders.
TEST(SchemaPlan, OfEveryTypeAndOrderLeavesNoDrift) {
  const std::vector<std::string> ordered = {
      "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "text", "ascii", "blob",
      "timestamp", "date", "time", "uuid", "timeuuid", "inet"};
  std::vector<std::string> all = ordered;
  for (const char* type : {"decimal", "varint", "varchar", "frozen<list<int>>",
                           "frozen<set<text>>", "frozen<map<timeuuid, blob>>",
                           "frozen<map<text, frozen<list<frozen<set<decimal>>>>>>",
                           "set<int>", "map<text, frozen<list<int>>>", "duration",
                           "tuple<int, text>", "vector<float, 3>"}) {
    all.emplace_back(type);
  }
  std::string regular;
  for (const std::string& type : all) {
    regular += "c" + std::to_string(regular.size()) + " " + type + ", ";
  }
  for (const char* order : {"ASC", "DESC"}) {
    for (const std::string& type : ordered) {
      SCOPED_TRACE(type + " " + order);
      ModelCluster cluster;
      ExpectApplied({Declared("CREATE TABLE t (\"E\" " + type + ", day date, ts timestamp, k " +
                              type + ", " + regular +
                              "PRIMARY KEY ((day, \"E\"), ts, k)) WITH CLUSTERING ORDER BY (ts " +
                              order + ", k " + (order[0] == 'A' ? "DESC" : "ASC") +
                              ") AND comment = 'cistern: bucket day = day'")},
                    &cluster);
    }
  }
}

TEST(SchemaPlan, MakesTypesBeforeTheTableAndOnlyThoseThatAreMissing) {
  const std::string types =
      "CREATE TYPE place (site text); CREATE TYPE visit (at frozen<place>, n int); ";
  const std::string keys = "e text, day date, ts timestamp, PRIMARY KEY ((e, day), ts))";
  const auto first = Declared(types + "CREATE TABLE r (p frozen<place>, " + keys);
  const auto second = Declared(types + "CREATE TABLE r (p frozen<place>, v set<frozen<visit>>, " +
                               keys);
  ModelCluster cluster;
  const SchemaPlan made = PlanSchema(Declarations{first}, cluster.Read("plant", "r"), kReplication);
  ASSERT_EQ(made.statements.size(), 3u);
  EXPECT_EQ(made.statements[1], "CREATE TYPE IF NOT EXISTS plant.place (site text);");
  EXPECT_EQ(PrintSchema(*first, "", {}).substr(0, 46),
            "CREATE TYPE IF NOT EXISTS place (site text);\nC");
  ExpectApplied({first}, &cluster);
  const SchemaPlan more =
      PlanSchema(Declarations{first, second}, cluster.Read("plant", "r"), kReplication);
  EXPECT_EQ(more.statements,
            (std::vector<std::string>{
                "CREATE TYPE IF NOT EXISTS plant.visit (at frozen<place>, n int);",
                "ALTER TABLE plant.r ADD v set<frozen<visit>>;"}));
  ExpectApplied({first, second}, &cluster);
  // The cluster's may have got fields since, behind those that they had.
  cluster.types[0].field_names.emplace_back("more");
  cluster.types[0].field_types.emplace_back("int");
  EXPECT_TRUE(CompareSchema(Declarations{second}, cluster.Read("plant", "r")).differences.empty());
}

// A cluster keeps the type of a dropped column as tuples, and knows it again in sets alone.
TEST(SchemaPlan, AColumnOfAUserDefinedTypeSeldomComesBack) {
  const std::string types = "CREATE TYPE place (site text, n int); ";
  const std::string keys = "e text, day date, ts timestamp, PRIMARY KEY ((e, day), ts))";
  for (const auto& [type, dropped, comes_back] :
       {std::tuple("set<frozen<place>>", "set<frozen<tuple<text, int>>>", true),
        std::tuple("set<frozen<place>>", "set<frozen<tuple<text, bigint>>>", false),
        std::tuple("map<int, frozen<place>>", "map<int, frozen<tuple<text, int>>>", false),
        std::tuple("frozen<place>", "frozen<tuple<text, int>>", false)}) {
    const auto declared = Declared(types + "CREATE TABLE r (v " + type + ", " + keys);
    ModelCluster cluster = ClusterWith("CREATE TABLE r (" + keys);
    cluster.tables[{"plant", "r"}].dropped = {{"v", "regular", dropped}};
    const SchemaPlan plan =
        PlanSchema(Declarations{declared}, cluster.Read("plant", "r"), kReplication);
    EXPECT_EQ(plan.refusals.empty(), comes_back) << dropped;
    if (!comes_back) continue;
    ASSERT_EQ(plan.statements.size(), 2u);
    for (const std::string& statement : plan.statements) {
      EXPECT_TRUE(cluster.Execute(statement)) << statement;
    }
  }
}

TEST(SchemaPlan, MakesAndAddsStaticColumns) {
  const std::string rest =
      "e text, day date, ts timestamp, v int, PRIMARY KEY ((e, day), ts)) WITH comment = 'cistern: "
      "bucket day = 1 day; timestamps = event'";
  const auto first = Declared("CREATE TABLE r (s int static, " + rest);
  const auto second = Declared("CREATE TABLE r (s int static, more text static, " + rest);
  ModelCluster cluster;
  ExpectApplied({first}, &cluster);
  const SchemaPlan more =
      PlanSchema(Declarations{first, second}, cluster.Read("plant", "r"), kReplication);
  EXPECT_EQ(more.statements,
            (std::vector<std::string>{"ALTER TABLE plant.r ADD more text static;"}));
  ExpectApplied({first, second}, &cluster);
  for (const auto& [ours, theirs, words] :
       {std::tuple("s int static", "s int",
                   "the column 's' is static here, and not in the cluster"),
        std::tuple("s int", "s int static", "the column 's' is static in the cluster")}) {
    const auto declared = Declared("CREATE TABLE r (" + std::string(ours) + ", " + rest);
    ModelCluster other = ClusterWith("CREATE TABLE r (" + std::string(theirs) + ", " + rest);
    const SchemaPlan plan =
        PlanSchema(Declarations{declared}, other.Read("plant", "r"), kReplication);
    ASSERT_EQ(plan.refusals.size(), 1u);
    EXPECT_EQ(plan.refusals[0].what, words);
  }
}

// The comment has no bucket, and what follows from the key is followed by another width here.
TEST(SchemaPlan, AltersACommentOnceThatDiffersTwice) {
  const std::string table =
      "CREATE TABLE r (e text, day date, ts timestamp, v int, PRIMARY KEY ((e, day), ts)) WITH "
      "comment = 'cistern: ";
  const auto declared = Declared(table + "bucket day = 1 day until 2027-02-01, 1 month'");
  ModelCluster cluster = ClusterWith(table + "bucket day = 1 day'");
  cluster.tables[{"plant", "r"}].comment = "Pumps. cistern: timestamps = write";
  const SchemaPlan plan =
      PlanSchema(Declarations{declared}, cluster.Read("plant", "r"), kReplication);
  EXPECT_TRUE(plan.refusals.empty());
  EXPECT_EQ(plan.statements,
            (std::vector<std::string>{
                "ALTER TABLE plant.r WITH comment = 'Pumps. cistern: bucket day = 1 day until "
                "2027-02-01, 1 month';"}));
  ExpectApplied({declared}, &cluster);
}

TEST(SchemaPlan, RefusesATypeWithOtherFields) {
  const std::string keys = "e text, day date, ts timestamp, PRIMARY KEY ((e, day), ts))";
  const auto ours = Declared("CREATE TYPE place (site text, n int); CREATE TABLE r "
                             "(v map<int, frozen<place>>, " + keys);
  ModelCluster cluster = ClusterWith("CREATE TYPE place (site text); CREATE TABLE r "
                                     "(v map<int, frozen<place>>, " + keys);
  const auto words = [&](const std::string& table) {
    TableSchema asked = *ours;
    asked.name = table;
    const auto declared = std::make_shared<const TableSchema>(std::move(asked));
    const SchemaPlan plan =
        PlanSchema(Declarations{declared}, cluster.Read("plant", table), kReplication);
    return plan.refusals.empty() ? "" : plan.refusals.front().what;
  };
  const std::string expected =
      "the column 'v' has values of the type 'place', which is (site text, n int) here and (site "
      "text) in the cluster";
  EXPECT_EQ(words("r"), expected);
  EXPECT_EQ(words("not_there"), expected);
}

TEST(SchemaPlan, OfEveryOptionLeavesNoDrift) {
  const std::string table =
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts)) WITH ";
  const std::vector<std::string> options = {
      "comment = 'Quote '' and \"double\". cistern: bucket day = 1 day'",
      "default_time_to_live = 630720000",
      "gc_grace_seconds = 0",
      "compaction = {'class': 'TimeWindowCompactionStrategy'}",
      "compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', "
      "'compaction_window_size': 12}",
      "compaction = {'class': 'LeveledCompactionStrategy', 'enabled': 'true'}",
      "compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': 64}",
      "caching = {'keys': 'NONE', 'rows_per_partition': '10'}",
      "bloom_filter_fp_chance = 0.05",
      "min_index_interval = 256",
      "cdc = true",
      "read_repair = 'NONE'",
  };
  ModelCluster altered = ClusterWith(table + "cdc = false");
  for (const std::string& option : options) {
    SCOPED_TRACE(option);
    ModelCluster fresh;
    ExpectApplied({Declared(table + option)}, &fresh);
    ExpectApplied({Declared(table + option)}, &altered);  // from the option before
  }
}

TEST(SchemaPlan, OfEveryExampleLeavesNoDrift) {
  size_t count = 0;
  const std::filesystem::path root = std::getenv("CISTERN_SOURCE_DIR");
  for (const auto& entry : std::filesystem::directory_iterator(root / "examples/schemas")) {
    if (entry.path().extension() != ".cql") continue;
    SCOPED_TRACE(entry.path());
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    ModelCluster cluster;
    ExpectApplied({Declared(text.str())}, &cluster);
    ++count;
  }
  EXPECT_GE(count, 7u);
}

TEST(SchemaPlan, AddsColumnsAndAltersOptionsInOneStatementEach) {
  const auto before = Declared(
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts))");
  const auto now = Declared(
      "CREATE TABLE r (e text, day date, ts timestamp, v double, \"New\" int, note text, "
      "PRIMARY KEY ((e, day), ts)) WITH default_time_to_live = 60 AND gc_grace_seconds = 61 AND "
      "cdc = true AND comment = 'cistern: bucket day = 1 day until 2027-02-01, 1 month'");
  ModelCluster cluster = ClusterWith(before->ToCql());
  cluster.tables[{"plant", "r"}].cdc = false;
  const SchemaPlan plan =
      PlanSchema(Declarations{before, now}, cluster.Read("plant", "r"), {});
  ASSERT_TRUE(plan.refusals.empty());
  ASSERT_EQ(plan.statements.size(), 2u);
  EXPECT_EQ(plan.statements[0], "ALTER TABLE plant.r ADD (\"New\" int, note text);");
  EXPECT_EQ(plan.statements[1],
            "ALTER TABLE plant.r WITH comment = 'cistern: bucket day = 1 day until 2027-02-01, "
            "1 month' AND default_time_to_live = 60 AND gc_grace_seconds = 61 AND cdc = true;");
  ExpectApplied({before, now}, &cluster);
}

TEST(SchemaPlan, TellsAClusterThatIsBehindOfTheNewWidth) {
  const std::string table =
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts)) WITH "
      "comment = 'cistern: bucket day = ";
  const auto day = Declared(table + "1 day'");
  const auto month = Declared(table + "1 day until 2027-02-01, 1 month'");
  ModelCluster cluster = ClusterWith(day->ToCql());
  ExpectApplied({day, month}, &cluster);
  // A gateway that is behind takes nothing back.
  const SchemaPlan plan = PlanSchema(Declarations{day}, cluster.Read("plant", "r"), {});
  EXPECT_TRUE(plan.statements.empty());
  ASSERT_EQ(plan.refusals.size(), 1u);
  EXPECT_NE(plan.refusals[0].Text().find("alter the table here too"), std::string::npos);
}

TEST(SchemaPlan, RefusesWhatNeedsAPerson) {
  const std::string cql =
      "CREATE TABLE r (e text, day date, ts timestamp, v double, w int, PRIMARY KEY ((e, day), "
      "ts)) WITH comment = 'cistern: bucket day = 1 day'";
  const auto declared = Declared(cql);
  const auto refused = [&](const std::function<void(ModelTable*)>& change) {
    ModelCluster cluster = ClusterWith(cql);
    change(&cluster.tables[{"plant", "r"}]);
    const SchemaPlan plan =
        PlanSchema(Declarations{declared}, cluster.Read("plant", "r"), kReplication);
    EXPECT_TRUE(plan.statements.empty());
    EXPECT_TRUE(plan.remains.empty());
    EXPECT_EQ(plan.refusals.size(), 1u);
    return plan.refusals.empty() ? DriftKind::kOption : plan.refusals.front().kind;
  };
  EXPECT_EQ(refused([](ModelTable* t) { t->flags = {"counter", "compound"}; }),
            DriftKind::kTableKind);
  EXPECT_EQ(refused([](ModelTable* t) { t->Find("e")->name = "f"; }), DriftKind::kKey);
  EXPECT_EQ(refused([](ModelTable* t) { t->Find("ts")->order = "desc"; }),
            DriftKind::kClusteringOrder);
  EXPECT_EQ(refused([](ModelTable* t) { t->Find("v")->type = "float"; }), DriftKind::kColumnType);
  EXPECT_EQ(refused([](ModelTable* t) { t->Find("v")->kind = "static"; }), DriftKind::kColumnKind);
  EXPECT_EQ(refused([](ModelTable* t) {
              t->columns.pop_back();
              t->dropped = {{"w", "regular", "text"}};
            }),
            DriftKind::kColumnGone);
  EXPECT_EQ(refused([](ModelTable* t) { t->comment = "cistern: bucket day = month"; }),
            DriftKind::kBucketRule);
  EXPECT_EQ(refused([](ModelTable* t) { t->comment = "cistern: bucket day"; }),
            DriftKind::kRuleUnreadable);
}

TEST(SchemaPlan, LeavesWhatIsTheClustersOwn) {
  const std::string cql =
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts)) WITH "
      "comment = 'cistern: bucket day = 1 day'";
  ModelCluster cluster = ClusterWith(cql);
  ModelTable& table = cluster.tables[{"plant", "r"}];
  table.columns.push_back({"theirs", "regular", -1, "none", "vector<float, 3>"});
  table.comment = "Other words. cistern: bucket day = 1 day";
  table.caching["keys"] = "NONE";
  cluster.keyspaces["plant"].durable_writes = false;
  const SchemaPlan plan =
      PlanSchema(Declarations{Declared(cql)}, cluster.Read("plant", "r"), kReplication);
  EXPECT_TRUE(plan.is_empty());
  EXPECT_EQ(plan.remains.size(), 3u);
}

}  // namespace
}  // namespace cistern::replicate
