// CompareSchema: every kind of difference, what it means for buckets, and what is said.
#include "engine/replicate/schema_drift.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "lib/base/civil_time.h"
#include "tests/engine/replicate/schema_model.h"

namespace cistern::replicate {
namespace {

const char kReadings[] = R"(
  CREATE TABLE readings (
    sensor text, day date, shard tinyint, ts timestamp, seq int,
    temperature double, state text, tags frozen<map<text, frozen<list<int>>>>,
    PRIMARY KEY ((sensor, day, shard), ts, seq)
  ) WITH CLUSTERING ORDER BY (ts DESC, seq ASC)
    AND comment = 'Pumps. cistern: bucket day = 1 day; split shard = hash 8'
    AND default_time_to_live = 86400 AND gc_grace_seconds = 3600
    AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': '3'}
    AND caching = {'keys': 'all'} AND bloom_filter_fp_chance = 0.010)";

int64_t Second(int64_t year, int month, int day) {
  return DaysFromCivil(year, month, day) * kSecondsPerDay;
}

SchemaDrift Compare(const std::shared_ptr<const TableSchema>& declared,
                    const ModelCluster& cluster) {
  return CompareSchema(std::vector{declared}, cluster.Read("plant", declared->name));
}

TEST(SchemaDrift, OfTheTableAsDeclaredIsNone) {
  const SchemaDrift drift = Compare(Declared(kReadings), ClusterWith(kReadings));
  EXPECT_TRUE(drift.differences.empty()) << drift.differences.front().Text();
  EXPECT_TRUE(drift.MaySend(0).ok());
  EXPECT_EQ(drift.BlockedFrom(), std::nullopt);
}

// One difference at a time: what the cluster has otherwise, and what is found.
struct DriftCase {
  const char* name;
  std::function<void(ModelCluster*, ModelTable*)> change;
  DriftKind kind;
  DriftWeight weight;
  const char* subject;
  const char* what;  // a part of it
  const char* cql;   // all of it
};

const DriftCase kCases[] = {
    {"no keyspace", [](ModelCluster* c, ModelTable*) { *c = {}; }, DriftKind::kKeyspaceMissing,
     DriftWeight::kBlocks, "", "no keyspace plant", ""},
    {"a view",
     [](ModelCluster* c, ModelTable*) {
       c->tables.clear();
       c->views.push_back({"plant", "readings"});
     },
     DriftKind::kTableKind, DriftWeight::kBlocks, "", "materialized view", ""},
    {"counters",
     [](ModelCluster*, ModelTable* t) { t->flags = {"compound", "counter"}; },
     DriftKind::kTableKind, DriftWeight::kBlocks, "", "counters", ""},
    {"compact storage", [](ModelCluster*, ModelTable* t) { t->flags = {"dense"}; },
     DriftKind::kTableKind, DriftWeight::kBlocks, "", "COMPACT STORAGE", ""},
    {"another entity column", [](ModelCluster*, ModelTable* t) { t->Find("sensor")->name = "s"; },
     DriftKind::kKey, DriftWeight::kBlocks, "",
     "partition key is (sensor, day, shard) here and (s, day, shard) in the cluster",
     "ALTER TABLE plant.readings RENAME s TO sensor;"},
    {"two columns of the key with other names",
     [](ModelCluster*, ModelTable* t) {
       t->Find("ts")->name = "At";
       t->Find("seq")->name = "number";
     },
     DriftKind::kKey, DriftWeight::kBlocks, "",
     "clustering key is (ts, seq) here and (\"At\", number) in the cluster",
     "ALTER TABLE plant.readings RENAME \"At\" TO ts AND number TO seq;"},
    {"another name and another type",
     [](ModelCluster*, ModelTable* t) {
       t->Find("seq")->name = "number";
       t->Find("number")->type = "text";
     },
     DriftKind::kKey, DriftWeight::kBlocks, "", "(ts, seq) here and (ts, number)", ""},
    {"another order in the key",
     [](ModelCluster*, ModelTable* t) {
       std::swap(t->Find("ts")->position, t->Find("seq")->position);
     },
     DriftKind::kKey, DriftWeight::kBlocks, "",
     "clustering key is (ts, seq) here and (seq, ts) in the cluster", ""},
    {"one clustering column less",
     [](ModelCluster*, ModelTable* t) { *t->Find("seq") = {"seq", "regular", -1, "none", "int"}; },
     DriftKind::kKey, DriftWeight::kBlocks, "", "(ts, seq) here and (ts) in the cluster", ""},
    {"ascending", [](ModelCluster*, ModelTable* t) { t->Find("ts")->order = "asc"; },
     DriftKind::kClusteringOrder, DriftWeight::kBlocks, "ts", "'ts' is DESC here and ASC", ""},
    {"descending", [](ModelCluster*, ModelTable* t) { t->Find("seq")->order = "desc"; },
     DriftKind::kClusteringOrder, DriftWeight::kBlocks, "seq", "'seq' is ASC here and DESC", ""},
    {"type of the bucket", [](ModelCluster*, ModelTable* t) { t->Find("day")->type = "timestamp"; },
     DriftKind::kColumnType, DriftWeight::kBlocks, "day",
     "'day' is date here and timestamp in the cluster", ""},
    {"type of the event time", [](ModelCluster*, ModelTable* t) { t->Find("ts")->type = "date"; },
     DriftKind::kColumnType, DriftWeight::kBlocks, "ts", "timestamp here and date", ""},
    {"type of a column", [](ModelCluster*, ModelTable* t) { t->Find("state")->type = "blob"; },
     DriftKind::kColumnType, DriftWeight::kBlocks, "state", "'state' is text here and blob", ""},
    {"a collection that is not frozen",
     [](ModelCluster*, ModelTable* t) { t->Find("tags")->type = "map<text, frozen<list<int>>>"; },
     DriftKind::kColumnType, DriftWeight::kBlocks, "tags",
     "frozen<map<text, frozen<list<int>>>> here and map<text, frozen<list<int>>> in", ""},
    {"a type of the user",
     [](ModelCluster*, ModelTable* t) { t->Find("state")->type = "frozen<plant.\x1b[2Jstate>"; },
     DriftKind::kColumnType, DriftWeight::kBlocks, "state",
     "text here and frozen<plant.?[2Jstate> in the cluster", ""},
    {"static", [](ModelCluster*, ModelTable* t) { t->Find("state")->kind = "static"; },
     DriftKind::kColumnKind, DriftWeight::kBlocks, "state", "'state' is static", ""},
    {"a column less",
     [](ModelCluster*, ModelTable* t) { std::erase_if(t->columns, [](auto& c) {
         return c.name == "tags"; }); },
     DriftKind::kColumnMissing, DriftWeight::kBlocks, "tags", "no column 'tags'",
     "ALTER TABLE plant.readings ADD tags frozen<map<text, frozen<list<int>>>>;"},
    {"dropped with its type",
     [](ModelCluster*, ModelTable* t) {
       std::erase_if(t->columns, [](auto& c) { return c.name == "state"; });
       t->dropped = {{"state", "regular", "text"}};
     },
     DriftKind::kColumnMissing, DriftWeight::kBlocks, "state",
     "dropped there at 2026-11-22T21:37:41.280Z, and values written up to then stay hidden",
     "ALTER TABLE plant.readings ADD state text;"},
    {"dropped with another type",
     [](ModelCluster*, ModelTable* t) {
       std::erase_if(t->columns, [](auto& c) { return c.name == "state"; });
       t->dropped = {{"state", "regular", "list<int>"}};
     },
     DriftKind::kColumnGone, DriftWeight::kBlocks, "state",
     "was dropped in the cluster, where it was list<int>, and is text here", ""},
    {"dropped as a static one",
     [](ModelCluster*, ModelTable* t) {
       std::erase_if(t->columns, [](auto& c) { return c.name == "state"; });
       t->dropped = {{"state", "static", "text"}};
     },
     DriftKind::kColumnGone, DriftWeight::kBlocks, "state", "where it was static text", ""},
    {"dropped and added again",
     [](ModelCluster*, ModelTable* t) { t->dropped = {{"state", "regular", "text"}}; },
     DriftKind::kColumnRevived, DriftWeight::kBlocks, "state", "2026-11-22T21:37:41.280Z and added",
     ""},
    {"a column more",
     [](ModelCluster*, ModelTable* t) { t->columns.push_back({"x", "regular", -1, "none", "d"}); },
     DriftKind::kColumnAdded, DriftWeight::kHarmless, "x", "'x', which is not declared here", ""},
    {"a static column more",
     [](ModelCluster*, ModelTable* t) { t->columns.push_back({"x", "static", -1, "none", "int"}); },
     DriftKind::kStaticAdded, DriftWeight::kWarns, "x", "the static column 'x'", ""},
    {"expiry", [](ModelCluster*, ModelTable* t) { t->default_ttl_s = 0; },
     DriftKind::kDefaultTtl, DriftWeight::kWarns, "default_time_to_live",
     "is 86400 here and 0 in the cluster",
     "ALTER TABLE plant.readings WITH default_time_to_live = 86400;"},
    {"grace", [](ModelCluster*, ModelTable* t) { t->gc_grace_s = 60; }, DriftKind::kGcGrace,
     DriftWeight::kWarns, "gc_grace_seconds", "is 3600 here and 60 in the cluster",
     "ALTER TABLE plant.readings WITH gc_grace_seconds = 3600;"},
    {"window size",
     [](ModelCluster*, ModelTable* t) { t->compaction["compaction_window_size"] = "1"; },
     DriftKind::kCompaction, DriftWeight::kWarns, "compaction",
     "compaction_window_size is 3 here and 1 in the cluster",
     "ALTER TABLE plant.readings WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
     "'compaction_window_size': '3'};"},
    {"window unit",
     [](ModelCluster*, ModelTable* t) { t->compaction["compaction_window_unit"] = "HOURS"; },
     DriftKind::kCompaction, DriftWeight::kWarns, "compaction",
     "compaction_window_unit is DAYS here and HOURS in the cluster",
     "ALTER TABLE plant.readings WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
     "'compaction_window_size': '3'};"},
    {"strategy",
     [](ModelCluster*, ModelTable* t) {
       t->compaction["class"] = "org.apache.cassandra.db.compaction.LeveledCompactionStrategy";
     },
     DriftKind::kCompaction, DriftWeight::kWarns, "compaction",
     "class is TimeWindowCompactionStrategy here and org.apache",
     "ALTER TABLE plant.readings WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
     "'compaction_window_size': '3'};"},
    {"a map option", [](ModelCluster*, ModelTable* t) { t->caching["keys"] = "NONE"; },
     DriftKind::kOption, DriftWeight::kHarmless, "caching", "keys is all here and NONE",
     "ALTER TABLE plant.readings WITH caching = {'keys': 'all'};"},
    {"a number option",
     [](ModelCluster*, ModelTable* t) { t->bloom_filter_fp_chance = 0.1; }, DriftKind::kOption,
     DriftWeight::kHarmless, "bloom_filter_fp_chance", "it is 0.010 here and 0.1",
     "ALTER TABLE plant.readings WITH bloom_filter_fp_chance = 0.010;"},
    {"no rule", [](ModelCluster*, ModelTable* t) { t->comment = "Pumps."; },
     DriftKind::kRuleMissing, DriftWeight::kWarns, "comment", "does not say how buckets derive",
     "ALTER TABLE plant.readings WITH comment = 'Pumps. cistern: bucket day = 1 day; split shard "
     "= hash 8';"},
    {"no rule, and words of the cluster's own",
     [](ModelCluster*, ModelTable* t) { t->comment = "Ask Ann, it's hers"; },
     DriftKind::kRuleMissing, DriftWeight::kWarns, "comment", "does not say how buckets derive",
     "ALTER TABLE plant.readings WITH comment = 'Ask Ann, it''s hers cistern: bucket day = 1 day; "
     "split shard = hash 8';"},
    {"a rule that is none",
     [](ModelCluster*, ModelTable* t) { t->comment = "cistern: bucket day = 1 dya"; },
     DriftKind::kRuleUnreadable, DriftWeight::kBlocks, "comment",
     "cannot be read: line 1, column 26: expected second, minute, hour, day", ""},
    {"a rule that does not suit the column",
     [](ModelCluster*, ModelTable* t) { t->comment = "cistern: bucket day = 1 hour"; },
     DriftKind::kRuleUnreadable, DriftWeight::kBlocks, "comment",
     "a date cannot hold the start of a bucket of 1 hour", ""},
    {"another width",
     [](ModelCluster*, ModelTable* t) {
       t->comment = "cistern: bucket day = 1 month; split shard = hash 8";
     },
     DriftKind::kBucketRule, DriftWeight::kBlocks, "comment",
     "'day = 1 day' here and 'day = 1 month' in the cluster's comment", ""},
    {"another split",
     [](ModelCluster*, ModelTable* t) {
       t->comment = "cistern: bucket day = day; split shard = hash 16";
     },
     DriftKind::kSplitRule, DriftWeight::kBlocks, "comment",
     "'shard = hash 8' here and 'shard = hash 16' in", ""},
    {"another kind of split",
     [](ModelCluster*, ModelTable* t) {
       t->comment = "cistern: bucket day = day; split shard = round_robin 8";
     },
     DriftKind::kSplitRule, DriftWeight::kBlocks, "comment", "'shard = round_robin 8' in", ""},
    {"no split",
     [](ModelCluster*, ModelTable* t) { t->comment = "cistern: bucket day = day"; },
     DriftKind::kSplitRule, DriftWeight::kBlocks, "comment", "and 'none' in", ""},
    {"other words",
     [](ModelCluster*, ModelTable* t) {
       t->comment = "Of the plant. CISTERN: split shard = hash 8; bucket day = day;";
     },
     DriftKind::kComment, DriftWeight::kHarmless, "comment", "other words", ""},
    {"writes that are not durable",
     [](ModelCluster* c, ModelTable*) { c->keyspaces["plant"].durable_writes = false; },
     DriftKind::kDurableWrites, DriftWeight::kWarns, "durable_writes", "durable_writes = false",
     "ALTER KEYSPACE plant WITH durable_writes = true;"},
};

TEST(SchemaDrift, FindsEachDifferenceAloneAndWeighsIt) {
  const auto declared = Declared(kReadings);
  for (const DriftCase& one : kCases) {
    SCOPED_TRACE(one.name);
    ModelCluster cluster = ClusterWith(kReadings);
    one.change(&cluster, &cluster.tables[{"plant", "readings"}]);
    const SchemaDrift drift = Compare(declared, cluster);
    ASSERT_EQ(drift.differences.size(), 1u);
    const SchemaDifference& found = drift.differences.front();
    EXPECT_EQ(found.kind, one.kind);
    EXPECT_EQ(found.weight, one.weight);
    EXPECT_EQ(found.subject, one.subject);
    EXPECT_NE(found.what.find(one.what), std::string::npos) << found.what;
    EXPECT_EQ(found.cql, one.cql);
    EXPECT_FALSE(found.advice.empty() && found.kind != DriftKind::kComment);
    const bool blocks = one.weight == DriftWeight::kBlocks;
    EXPECT_EQ(drift.Has(DriftWeight::kBlocks), blocks);
    const bool hides = one.kind == DriftKind::kColumnRevived;  // the old values alone
    EXPECT_EQ(drift.HiddenUpTo().has_value(), hides);
    EXPECT_EQ(drift.BlockedFrom(), blocks && !hides ? std::optional(INT64_MIN) : std::nullopt);
    const Status may_send = drift.MaySend(0);
    EXPECT_EQ(may_send.ok(), !blocks || hides);
    if (may_send.ok()) continue;
    EXPECT_EQ(may_send.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(may_send.message().find("no rows are sent to plant.readings: "), std::string::npos);
    EXPECT_NE(may_send.message().find(one.what), std::string::npos);
  }
}

TEST(SchemaDrift, OfAMissingTableHasItsText) {
  ModelCluster cluster = ClusterWith(kReadings);
  cluster.tables.clear();
  const SchemaDrift drift = Compare(Declared(kReadings), cluster);
  ASSERT_EQ(drift.differences.size(), 1u);
  EXPECT_EQ(drift.differences[0].kind, DriftKind::kTableMissing);
  EXPECT_TRUE(cluster.Execute(drift.differences[0].cql)) << drift.differences[0].cql;
  EXPECT_TRUE(Compare(Declared(kReadings), cluster).differences.empty());
}

TEST(SchemaDrift, PutsWhatBlocksFirst) {
  ModelCluster cluster = ClusterWith(kReadings);
  ModelTable& table = cluster.tables[{"plant", "readings"}];
  table.columns.push_back({"x", "regular", -1, "none", "int"});
  table.default_ttl_s = 1;
  table.Find("temperature")->type = "float";
  table.Find("state")->kind = "static";
  const SchemaDrift drift = Compare(Declared(kReadings), cluster);
  std::vector<DriftKind> kinds;
  for (const auto& one : drift.differences) kinds.push_back(one.kind);
  EXPECT_EQ(kinds, (std::vector{DriftKind::kColumnType, DriftKind::kColumnKind,
                                DriftKind::kDefaultTtl, DriftKind::kColumnAdded}));
  const std::string message = drift.MaySend(0).message();
  EXPECT_NE(message.find("temperature"), std::string::npos);
  EXPECT_NE(message.find("state"), std::string::npos);
  EXPECT_EQ(message.find("time_to_live"), std::string::npos);
  EXPECT_NE(message.find(";\n"), std::string::npos) << message;  // one apart from the other
}

TEST(SchemaDrift, KnowsColumnsOfEarlierDeclarations) {
  const auto before = Declared(
      "CREATE TABLE r (e text, day date, ts timestamp, v double, old int, PRIMARY KEY ((e, day), "
      "ts))");
  const auto now = Declared(
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts))");
  const ModelCluster cluster = ClusterWith(before->ToCql());
  const SchemaDrift drift =
      CompareSchema(std::vector{before, now}, cluster.Read("plant", "r"));
  ASSERT_EQ(drift.differences.size(), 1u);
  EXPECT_EQ(drift.differences[0].weight, DriftWeight::kHarmless);
  EXPECT_NE(drift.differences[0].what.find("'old', which was dropped here"), std::string::npos);
  // A column that was dropped here and is not upstream is not missed.
  const SchemaDrift none = CompareSchema(std::vector{before, now},
                                         ClusterWith(now->ToCql()).Read("plant", "r"));
  EXPECT_TRUE(none.differences.empty());
}

// --- widths that follow one another

std::string Widths(const std::string& rule) {
  return "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts)) "
         "WITH comment = 'cistern: bucket day = " + rule + "'";
}

struct WidthCase {
  const char* ours;
  const char* theirs;
  int64_t from_s;
  bool apply_tells;        // the cluster is behind: a statement tells it
  const char* advice;
};

TEST(SchemaDrift, LetsBucketsGoThatBothRulesAgreeOn) {
  const int64_t in_2027 = Second(2027, 2, 1);
  const WidthCase kWidths[] = {
      {"1 day until 2027-02-01, 1 month", "1 day", in_2027, true, "Buckets before that date"},
      {"1 day", "1 day until 2027-02-01, 1 month", in_2027, false, "The cluster has been altered"},
      {"1 day until 2027-02-01, 1 month", "1 day until 2028-01-01, 1 month", in_2027, false,
       "Correct the comment that is wrong"},
      {"1 day until 2027-02-01, 1 month until 2030-01-01, 1 year",
       "1 day until 2027-02-01, 1 month", Second(2030, 1, 1), true, "apply` tells the cluster"},
      {"1 day until 2027-02-01, 1 month until 2030-01-01, 1 year",
       "1 day until 2027-02-01, 1 month until 2031-01-01, 1 year", Second(2030, 1, 1), false,
       "Correct the comment"},
      {"1 month until 2027-02-01, 1 day", "1 day", INT64_MIN, false, "Correct the comment"},
      {"1 day", "1 week", INT64_MIN, false, "Correct the comment"},
  };
  for (const WidthCase& one : kWidths) {
    SCOPED_TRACE(std::string(one.ours) + " | " + one.theirs);
    const SchemaDrift drift =
        Compare(Declared(Widths(one.ours)), ClusterWith(Widths(one.theirs)));
    ASSERT_EQ(drift.differences.size(), 1u);
    const SchemaDifference& found = drift.differences.front();
    EXPECT_EQ(found.kind, DriftKind::kBucketRule);
    EXPECT_EQ(found.weight, DriftWeight::kBlocks);
    EXPECT_EQ(drift.BlockedFrom(), one.from_s);
    EXPECT_NE(found.advice.find(one.advice), std::string::npos) << found.Text();
    EXPECT_EQ(!found.cql.empty(), one.apply_tells);
    EXPECT_FALSE(drift.MaySend(one.from_s).ok());
    if (one.from_s == INT64_MIN) continue;
    EXPECT_TRUE(drift.MaySend(one.from_s - 1).ok());
    EXPECT_TRUE(drift.MaySend(INT64_MIN).ok());
    const std::string why = drift.MaySend(INT64_MAX).message();
    const char* const from = one.from_s == in_2027 ? "2027-02-01" : "2030-01-01";
    EXPECT_EQ(why.find("no rows of buckets from " + std::string(from) + "T00:00:00Z on are sent to "
                       "plant.r: "), 0u) << why;
  }
}

// Somebody else's table perhaps: whoever pastes the statement adds to it what is of no use.
TEST(SchemaDrift, AddsNothingToATableThatNeedsAPerson) {
  ModelCluster cluster = ClusterWith(kReadings);
  ModelTable& table = cluster.tables[{"plant", "readings"}];
  std::erase_if(table.columns, [](const ModelColumn& one) { return one.name == "state"; });
  const SchemaDrift alone = Compare(Declared(kReadings), cluster);
  ASSERT_EQ(alone.differences.size(), 1u);
  EXPECT_FALSE(alone.differences[0].NeedsPerson());
  EXPECT_NE(alone.differences[0].Text().find("ADD state text"), std::string::npos);
  table.Find("sensor")->name = "device";
  const SchemaDrift both = Compare(Declared(kReadings), cluster);
  ASSERT_EQ(both.differences.size(), 2u);
  for (const SchemaDifference& one : both.differences) {
    EXPECT_EQ(one.NeedsPerson(), one.kind == DriftKind::kKey);
    EXPECT_EQ(one.Text().find("ADD state"), std::string::npos) << one.Text();
    EXPECT_EQ(one.Text().find("apply"), std::string::npos) << one.Text();
  }
}

// What blocks all is told alone: the other one's words are of buckets that may go.
TEST(SchemaDrift, OfTwoKindsBlocksFromTheEarlier) {
  const auto declared = Declared(Widths("1 day until 2027-02-01, 1 month"));
  ModelCluster cluster = ClusterWith(Widths("1 day"));
  cluster.tables[{"plant", "r"}].Find("v")->type = "int";
  const SchemaDrift drift = Compare(declared, cluster);
  EXPECT_EQ(drift.differences.size(), 2u);
  EXPECT_EQ(drift.BlockedFrom(), INT64_MIN);
  for (const int64_t from_s : {INT64_MIN, int64_t{0}, Second(2027, 2, 1), INT64_MAX}) {
    const std::string why = drift.MaySend(from_s).message();
    EXPECT_NE(why.find("'v'"), std::string::npos);
    EXPECT_EQ(why.find("its buckets"), std::string::npos) << why;
  }
}

// Readers of the cluster cannot infer it.
TEST(SchemaDrift, OfAnInferredRuleIsWrittenIntoTheCluster) {
  const std::string plain =
      "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts))";
  ModelCluster cluster = ClusterWith(plain);
  std::string& comment = cluster.tables[{"plant", "r"}].comment;
  EXPECT_EQ(comment, "cistern: bucket day = 1 day");
  EXPECT_TRUE(Compare(Declared(plain), cluster).differences.empty());
  for (const auto& [theirs, written] :
       {std::pair("", "cistern: bucket day = 1 day"),
        std::pair("Pumps", "Pumps cistern: bucket day = 1 day")}) {
    comment = theirs;
    const SchemaDrift drift = Compare(Declared(plain), cluster);
    ASSERT_EQ(drift.differences.size(), 1u);
    EXPECT_EQ(drift.differences[0].kind, DriftKind::kRuleMissing);
    EXPECT_EQ(drift.differences[0].weight, DriftWeight::kWarns);
    EXPECT_TRUE(cluster.Execute(drift.differences[0].cql)) << drift.differences[0].cql;
    EXPECT_EQ(comment, written);
    EXPECT_TRUE(Compare(Declared(plain), cluster).differences.empty());
  }
  // The other clauses are compared all the same.
  comment = "cistern: timestamps = event";
  const SchemaDrift drift = Compare(Declared(plain), cluster);
  ASSERT_EQ(drift.differences.size(), 2u);
  EXPECT_EQ(drift.differences[0].kind, DriftKind::kTimestamps);
  EXPECT_EQ(drift.differences[1].kind, DriftKind::kRuleMissing);
  // Said upstream, inferred here: the same rule.
  EXPECT_TRUE(Compare(Declared(plain), ClusterWith(Widths("1 day"))).differences.empty());
  EXPECT_EQ(Compare(Declared(plain), ClusterWith(Widths("1 month"))).BlockedFrom(), INT64_MIN);
}

TEST(SchemaDrift, FindsAnotherBucketColumnAndUnitOfTime) {
  const std::string table =
      "CREATE TABLE r (hour bigint, slot bigint, ts bigint, v double, PRIMARY KEY ((hour, slot), "
      "ts)) WITH comment = 'cistern: ";
  const auto declared = Declared(table + "bucket slot = 1 hour as epoch; time ts = ms'");
  const SchemaDrift column =
      Compare(declared, ClusterWith(table + "bucket hour = 1 hour as epoch; time ts = ms'"));
  ASSERT_EQ(column.differences.size(), 1u);
  EXPECT_EQ(column.differences[0].kind, DriftKind::kBucketRule);
  EXPECT_EQ(column.BlockedFrom(), INT64_MIN);
  const SchemaDrift unit =
      Compare(declared, ClusterWith(table + "bucket slot = 1 hour as epoch; time ts = us'"));
  ASSERT_EQ(unit.differences.size(), 1u);
  EXPECT_EQ(unit.differences[0].kind, DriftKind::kTimeUnit);
  EXPECT_NE(unit.differences[0].what.find("counts ms here and us in"), std::string::npos);
  EXPECT_EQ(unit.BlockedFrom(), INT64_MIN);
  const SchemaDrift stamps = Compare(
      declared,
      ClusterWith(table + "bucket slot = 1 hour as epoch; time ts = ms; timestamps = event'"));
  ASSERT_EQ(stamps.differences.size(), 1u);
  EXPECT_EQ(stamps.differences[0].kind, DriftKind::kTimestamps);
  EXPECT_NE(stamps.differences[0].what.find("those of the write here and of the event in"),
            std::string::npos);
  EXPECT_EQ(stamps.BlockedFrom(), INT64_MIN);
}

}  // namespace
}  // namespace cistern::replicate
