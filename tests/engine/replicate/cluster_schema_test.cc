// ReadClusterSchema: what it takes from a cluster's answers, and that it believes none of them.
#include "engine/replicate/cluster_schema.h"

#include <gtest/gtest.h>

#include <functional>

#include "cistern/limits.h"
#include "tests/engine/replicate/schema_model.h"

namespace cistern::replicate {
namespace {

const char kTable[] =
    "CREATE TABLE r (e text, day date, ts timestamp, seq int, v double, PRIMARY KEY ((day, e), ts, "
    "seq)) WITH CLUSTERING ORDER BY (ts DESC, seq ASC) AND comment = 'cistern: bucket day = day'";

TEST(ClusterSchema, AsksForOneTable) {
  const SchemaQueries queries = MakeSchemaQueries("plant", "it's");
  EXPECT_EQ(queries.keyspaces,
            "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'plant'");
  EXPECT_EQ(queries.columns,
            "SELECT * FROM system_schema.columns WHERE keyspace_name = 'plant' AND table_name = "
            "'it''s'");
  EXPECT_EQ(queries.views,
            "SELECT * FROM system_schema.views WHERE keyspace_name = 'plant' AND view_name = "
            "'it''s'");
}

TEST(ClusterSchema, HasKeysInTheirOrder) {
  ModelCluster cluster = ClusterWith(kTable);
  cluster.tables[{"plant", "r"}].dropped = {{"old", "static", "int"}};
  const ClusterSchema schema = cluster.Read("plant", "r");
  ASSERT_TRUE(schema.table.has_value());
  const ClusterTable& table = *schema.table;
  ASSERT_EQ(table.partition_key.size(), 2u);
  EXPECT_EQ(table.partition_key[0].name, "day");
  EXPECT_EQ(table.partition_key[1].name, "e");
  ASSERT_EQ(table.clustering.size(), 2u);
  EXPECT_EQ(table.clustering[0].name, "ts");
  EXPECT_TRUE(table.clustering[0].descending);
  EXPECT_FALSE(table.clustering[1].descending);
  EXPECT_EQ(table.clustering[1].type, (ColumnType{CqlType::kInt, {}}));
  ASSERT_EQ(table.others.size(), 1u);
  EXPECT_EQ(table.FindColumn("v"), &table.others[0]);
  EXPECT_EQ(table.FindColumn("old"), nullptr);
  ASSERT_NE(table.FindDropped("old"), nullptr);
  EXPECT_TRUE(table.FindDropped("old")->is_static);
  EXPECT_EQ(table.gc_grace_s, 864'000u);
  EXPECT_EQ(table.other_options.at("bloom_filter_fp_chance").constant, "0.01");
  EXPECT_EQ(table.other_options.at("caching").entries.at("keys"), "ALL");
  EXPECT_FALSE(table.other_options.contains("cdc")) << "it is null";
  EXPECT_EQ(schema.CqlName(), "plant.r");
  EXPECT_EQ(schema.replication.at("replication_factor"), "1");
}

TEST(ClusterSchema, OfWhatIsNotThereIsEmpty) {
  ModelCluster cluster = ClusterWith(kTable);
  EXPECT_FALSE(cluster.Read("plant", "other").table.has_value());
  EXPECT_TRUE(cluster.Read("plant", "other").has_keyspace);
  EXPECT_FALSE(cluster.Read("other", "r").has_keyspace);
}

TEST(ClusterSchema, ReadsTypesAsTheClusterWritesThem) {
  for (const char* text :
       {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "text", "ascii",
        "blob", "timestamp", "date", "time", "uuid", "timeuuid", "inet", "decimal", "varint",
        "frozen<list<int>>", "frozen<set<text>>", "frozen<map<text, frozen<list<int>>>>",
        "set<int>", "map<text, frozen<list<int>>>", "duration", "vector<float, 3>",
        "frozen<tuple<int, frozen<set<text>>>>"}) {
    const auto type = ParseClusterType(text);
    ASSERT_TRUE(type.has_value()) << text;
    EXPECT_EQ(type->ToCql(), text);
  }
  // Inside of a frozen collection the word may be left out: it is frozen all the same.
  EXPECT_EQ(ParseClusterType("frozen<map<text, list<int>>>"),
            ParseClusterType("frozen<map<text, frozen<list<int>>>>"));
  const std::string deep(20, 'f');
  for (const std::string& text :
       {std::string(""), std::string("counter"), std::string("list<int>"),
        std::string("vector<float, 0>"), std::string("frozen<address>"), std::string("'org.x.Y'"),
        std::string("int, x int"), std::string("int PRIMARY KEY"), std::string("int static"),
        std::string("frozen<"), std::string("int\0", 4), std::string("\xff\xfe"),
        std::string(limits::kClusterTypeBytesMax + 1, ' ') + "int"}) {
    EXPECT_FALSE(ParseClusterType(text).has_value()) << text;
  }
}

// Types are told in the order of their names, whatever they consist of.
TEST(ClusterSchema, ResolvesUserDefinedTypes) {
  ModelCluster cluster = ClusterWith(
      "CREATE TYPE z (f int, g frozen<set<text>>); CREATE TYPE a (z frozen<map<text, frozen<z>>>); "
      "CREATE TABLE r (e text, day date, ts timestamp, v frozen<a>, PRIMARY KEY ((e, day), ts))");
  std::swap(cluster.types[0], cluster.types[1]);
  // Inside of a frozen value all is frozen; other words are those of types that we do not have.
  cluster.types.push_back({"plant", "b", {"l"}, {"list<int>"}});
  cluster.types.push_back({"plant", "c", {"n", "x"}, {"int", "counter"}});
  cluster.types.push_back({"plant", "d", {"c"}, {"frozen<c>"}});
  cluster.types.push_back({"plant", "e", {"one", "more"}, {"int"}});
  const ClusterSchema schema = cluster.Read("plant", "r");
  ASSERT_NE(schema.FindUserType("a"), nullptr);
  EXPECT_EQ(schema.FindUserType("a")->arguments[0].ToCql(), "frozen<map<text, frozen<z>>>");
  ASSERT_NE(schema.FindUserType("b"), nullptr);
  EXPECT_EQ(schema.FindUserType("b")->arguments[0].ToCql(), "frozen<list<int>>");
  for (const char* none : {"c", "d", "e", "x"}) {
    EXPECT_EQ(schema.FindUserType(none), nullptr) << none;
  }
  EXPECT_EQ(schema.table->FindColumn("v")->type, *schema.FindUserType("a"));
}

// --- answers that are none

struct FalseAnswer {
  const char* name;
  std::function<void(SchemaAnswers*)> falsify;
  const char* message;  // a part
};

size_t At(const SystemRows& rows, std::string_view column) {
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    if (rows.columns[i].name == column) return i;
  }
  ADD_FAILURE() << column;
  return 0;
}

void Set(SystemRows* rows, size_t row, std::string_view column, std::optional<std::string> value) {
  rows->rows[row][At(*rows, column)] = std::move(value);
}

const FalseAnswer kFalse[] = {
    {"a keyspace of another name",
     [](SchemaAnswers* a) { Set(&a->keyspaces, 0, "keyspace_name", "x"); },
     "system_schema.keyspaces, row 1: it is of another keyspace"},
    {"two keyspaces",
     [](SchemaAnswers* a) { a->keyspaces.rows.push_back(a->keyspaces.rows[0]); }, "there are two"},
    {"no keyspace", [](SchemaAnswers* a) { a->keyspaces.rows.clear(); },
     "its keyspace is not in system_schema.keyspaces"},
    {"a boolean of two bytes",
     [](SchemaAnswers* a) { Set(&a->keyspaces, 0, "durable_writes", "ab"); }, "durable_writes"},
    {"a map that ends early",
     [](SchemaAnswers* a) { Set(&a->keyspaces, 0, "replication", IntBytes(1) + IntBytes(9)); },
     "the value of replication"},
    {"a map of minus one entries",
     [](SchemaAnswers* a) { Set(&a->tables, 0, "compaction", IntBytes(-1)); }, "compaction"},
    {"a map with something behind it",
     [](SchemaAnswers* a) { Set(&a->tables, 0, "caching", TextMapBytes({}) + "x"); }, "caching"},
    {"a table of another name", [](SchemaAnswers* a) { Set(&a->tables, 0, "table_name", "x"); },
     "system_schema.tables, row 1: it is of another table"},
    {"two tables", [](SchemaAnswers* a) { a->tables.rows.push_back(a->tables.rows[0]); },
     "there are two of one table"},
    {"a row too short", [](SchemaAnswers* a) { a->tables.rows[0].pop_back(); },
     "it has 14 values for 15 columns"},
    {"a column of another type", [](SchemaAnswers* a) { a->tables.columns[5].type = "blob"; },
     "the column comment is a 'blob', expected text"},
    {"a column that is missing",
     [](SchemaAnswers* a) { a->tables.columns[At(a->tables, "gc_grace_seconds")].name = "x"; },
     "there is no column gc_grace_seconds"},
    {"a null", [](SchemaAnswers* a) { Set(&a->tables, 0, "comment", std::nullopt); },
     "the value of comment is missing"},
    {"text that is not UTF-8", [](SchemaAnswers* a) { Set(&a->tables, 0, "comment", "\xff"); },
     "the value of comment"},
    {"an expiry below zero",
     [](SchemaAnswers* a) { Set(&a->tables, 0, "default_time_to_live", IntBytes(-1)); },
     "its default_time_to_live is -1"},
    {"an int of three bytes",
     [](SchemaAnswers* a) { Set(&a->tables, 0, "gc_grace_seconds", "abc"); }, "gc_grace_seconds"},
    {"no columns", [](SchemaAnswers* a) { a->columns.rows.clear(); },
     "no column is of the partition key"},
    {"a column of another table",
     [](SchemaAnswers* a) { Set(&a->columns, 1, "table_name", "x"); },
     "system_schema.columns, row 2: it is of another table"},
    {"a kind that is none", [](SchemaAnswers* a) { Set(&a->columns, 0, "kind", "o\x1b[1m"); },
     "the kind of a column is 'o?[1m'"},
    {"an order that is none",
     [](SchemaAnswers* a) { Set(&a->columns, 3, "clustering_order", "none"); },
     "the clustering_order of a column is 'none'"},
    {"a regular column with an order",
     [](SchemaAnswers* a) { Set(&a->columns, 4, "clustering_order", "asc"); },
     "the clustering_order of a column is 'asc'"},
    {"a position twice", [](SchemaAnswers* a) { Set(&a->columns, 1, "position", IntBytes(0)); },
     "the positions of a key's columns"},
    {"a position left out", [](SchemaAnswers* a) { Set(&a->columns, 1, "position", IntBytes(2)); },
     "the positions of a key's columns"},
    {"a column twice", [](SchemaAnswers* a) { Set(&a->columns, 4, "column_name", "e"); },
     "the column 'e' is there twice"},
    {"a column without a name", [](SchemaAnswers* a) { Set(&a->columns, 4, "column_name", ""); },
     "the name of a column is empty"},
    {"a dropped column of another table",
     [](SchemaAnswers* a) {
       a->dropped_columns.rows.push_back(
           {"plant", "x", "c", BigintBytes(0), "regular", "int"});
     },
     "system_schema.dropped_columns, row 1: it is of another table"},
    {"a view of another name",
     [](SchemaAnswers* a) { a->views.rows.push_back({"plant", "x"}); }, "system_schema.views"},
};

TEST(ClusterSchema, BelievesNoAnswer) {
  const ModelCluster cluster = ClusterWith(kTable);
  for (const FalseAnswer& one : kFalse) {
    SCOPED_TRACE(one.name);
    SchemaAnswers answers = cluster.Answers("plant", "r");
    one.falsify(&answers);
    const auto read = ReadClusterSchema("plant", "r", answers);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), StatusCode::kCorruption);
    EXPECT_NE(read.status().message().find(one.message), std::string::npos)
        << read.status().message();
  }
}

TEST(ClusterSchema, RefusesMoreColumnsThanTheLimit) {
  SchemaAnswers answers = ClusterWith(kTable).Answers("plant", "r");
  answers.columns.rows.resize(limits::kClusterColumnsMax + 1);
  const auto read = ReadClusterSchema("plant", "r", answers);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kTooLarge);
}

// Each cell cut at each byte, and each byte of it changed: an error or a schema, never a crash.
TEST(ClusterSchema, SurvivesAnyCutAndAnyChangedByte) {
  ModelCluster cluster = ClusterWith(kTable);
  cluster.tables[{"plant", "r"}].dropped = {{"old", "regular", "frozen<list<int>>"}};
  const SchemaAnswers good = cluster.Answers("plant", "r");
  SchemaAnswers answers = good;
  size_t refused = 0;
  for (SystemRows* rows : {&answers.keyspaces, &answers.tables, &answers.columns,
                           &answers.dropped_columns}) {
    for (auto& row : rows->rows) {
      for (auto& cell : row) {
        if (!cell.has_value()) continue;
        const std::string whole = *cell;
        for (size_t i = 0; i < whole.size(); ++i) {
          for (const int change : {-1, 0x01, 0x80, 0xff}) {
            *cell = change < 0 ? whole.substr(0, i) : whole;
            if (change >= 0) (*cell)[i] = static_cast<char>((*cell)[i] ^ change);
            refused += !ReadClusterSchema("plant", "r", answers).ok();
          }
        }
        *cell = whole;
      }
    }
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_TRUE(ReadClusterSchema("plant", "r", answers).ok());
}

}  // namespace
}  // namespace cistern::replicate
