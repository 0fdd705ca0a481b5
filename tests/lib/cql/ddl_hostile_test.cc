// CREATE TABLE texts that are cut, mutated or made at random: never a crash, and what is
// accepted prints and reads back the same.
#include <gtest/gtest.h>

#include <random>

#include "cistern/limits.h"
#include "cistern/schema.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

constexpr char kValid[] = R"(CREATE TYPE "Plant".spot (x tuple<int, duration>, "Y" set<inet>);
CREATE TABLE IF NOT EXISTS "Plant".readings (
  "Sen""sor" text, b bigint, shard smallint, id timeuuid, /* key */ n int, // and
  d decimal, m frozen<map<text, frozen<set<inet>>>>, w vector<float, 3>, s map<int, spot>, -- more
  PRIMARY KEY (("Sen""sor", b, shard), id, n))
WITH CLUSTERING ORDER BY (id DESC, n ASC)
 AND comment = 'It''s. cistern: bucket b = 15 minutes as calendar; split shard = round_robin 300;'
 AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': 1}
 AND default_time_to_live = 100 AND id = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND extensions = {}
 AND caching = ['a', 1.5e3, true] AND memtable = $$x'y$$;)";

void ExpectEqualSchemas(const TableSchema& a, const TableSchema& b) {
  EXPECT_EQ(a.keyspace, b.keyspace);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.partition_key, b.partition_key);
  EXPECT_EQ(a.entity_columns, b.entity_columns);
  EXPECT_EQ(a.bucket_column, b.bucket_column);
  EXPECT_EQ(a.split_column, b.split_column);
  EXPECT_EQ(a.clustering_columns, b.clustering_columns);
  EXPECT_EQ(a.regular_columns, b.regular_columns);
  EXPECT_EQ(a.bucket, b.bucket);
  EXPECT_EQ(a.split, b.split);
  EXPECT_EQ(a.time_unit, b.time_unit);
  EXPECT_EQ(a.default_ttl_s, b.default_ttl_s);
  EXPECT_EQ(a.gc_grace_s, b.gc_grace_s);
  EXPECT_EQ(a.compaction, b.compaction);
  EXPECT_EQ(a.comment, b.comment);
  EXPECT_EQ(a.other_options, b.other_options);
}

// Parses; what is accepted must survive printing.
bool Survives(const std::string& cql) {
  const auto first = ParseCreateTable(cql);
  if (!first.ok()) {
    EXPECT_FALSE(first.status().message().empty());
    return false;
  }
  const std::string printed = (*first)->ToCql();
  EXPECT_LE(printed.size(), limits::kDdlBytesMax);
  const auto second = ParseCreateTable(printed);
  EXPECT_TRUE(second.ok()) << second.status().ToString() << "\nof\n"
                           << cql << "\nprinted\n"
                           << printed;
  if (!second.ok()) return false;
  ExpectEqualSchemas(**first, **second);
  EXPECT_EQ((*second)->ToCql(), printed);
  return true;
}

TEST(DdlHostile, TheTextItselfIsValid) {
  EXPECT_TRUE(Survives(kValid)) << ParseCreateTable(kValid).status().ToString();
}

TEST(DdlHostile, EveryTruncationIsRefusedOrValid) {
  const std::string valid = kValid;
  const size_t key_end = valid.find("))\nWITH") + 2;
  for (size_t cut = 0; cut < valid.size(); ++cut) {
    const bool accepted = Survives(valid.substr(0, cut));
    EXPECT_FALSE(accepted && cut < key_end) << valid.substr(0, cut);
    if (HasFailure()) return;
  }
}

TEST(DdlHostile, RandomMutationsNeverCrash) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string valid = kValid;
  const std::string pieces[] = {
      "(",           ")",        ",",    "'",  "\"",  "$$",  "<",
      ">",           "frozen<",  "{",    "}",  "[",   "]",   "--",
      "/*",          "*/",       ";",    "=",  "0",   "-1",  "99999999999999999999",
      "cistern:",    "as epoch", "\xff", "\n", "\0x", "and", "with",
      "primary key", "''",    "static", "tuple<", "vector<int, ", "create type", "spot"};
  size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = valid;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0: text.insert(at, pieces[random() % std::size(pieces)]); break;
        case 1: text.erase(at, 1 + random() % 12); break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
      }
    }
    accepted += Survives(text) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(accepted, 100u);  // some edits fall into comments and names: both paths are tried
}

TEST(DdlHostile, DeepNestingIsRefusedWithoutRecursion) {
  std::string type;
  for (int i = 0; i < 10'000; ++i) type += "list<";
  const auto parsed = ParseCreateTable("CREATE TABLE t (v frozen<" + type);
  EXPECT_EQ(parsed.status().code(), StatusCode::kTooLarge);
  std::string frozen;
  for (int i = 0; i < 9'000; ++i) frozen += "frozen<";
  EXPECT_FALSE(ParseCreateTable("CREATE TABLE t (v " + frozen).ok());
}

class RandomTable {
 public:
  explicit RandomTable(unsigned seed) : random_(seed) {}

  std::string Make() {
    name_count_ = 0;
    std::string columns;
    std::string entities;
    for (int i = Pick(3); i >= 0; --i) Add(&columns, Type(16), &entities);
    const auto [type, width] = kBuckets[Pick(std::size(kBuckets))];
    const std::string bucket = NewName();
    columns += bucket + " " + type + ", ";
    std::string rule = "bucket " + bucket + " = " + width;
    std::string key = Pick(2) == 0 ? entities + ", " + bucket : bucket + ", " + entities;
    if (Pick(2) == 0) {
      const std::string split = NewName();
      columns += split + " smallint, ";
      key += ", " + split;
      rule += "; split " + split + (Pick(2) == 0 ? " = hash " : " = round_robin ") +
              std::to_string(2 + Pick(1000));
    }
    const std::string time = NewName();
    const int time_type = Pick(3);
    columns += time + (time_type == 0   ? " timestamp, "
                       : time_type == 1 ? " timeuuid, "
                                        : " bigint, ");
    if (time_type == 2) rule += "; time " + time + " = " + kUnits[Pick(4)];
    std::string clustering = time;
    for (int i = Pick(3); i > 0; --i) Add(&columns, Type(16), &clustering);
    std::string ignored;
    for (int i = Pick(6); i > 0; --i) Add(&columns, Type(27), &ignored);
    const std::string types = "create type \"A b\" (x int, \"Y z\" list<text>); "
                              "create type u (a frozen<\"A b\">, b vector<int, 2>); ";
    std::string text = types + "create table " + std::string(Pick(2) == 0 ? "ks." : "") + "t (" +
                       columns + "primary key ((" + key + "), " + clustering +
                       ")) with comment = " + QuoteString("x' \n ä cistern: " + rule);
    if (Pick(2) == 0) text += " and default_time_to_live = " + std::to_string(Pick(1000));
    if (Pick(2) == 0) text += " and caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}";
    return text;
  }

 private:
  int Pick(size_t count) { return static_cast<int>(random_() % count); }
  std::string NewName() {
    constexpr const char* kOdd[] = {"plain", "With Space", "q\"uote", "ünï", "select",
                                    "1x",    "a-b",        "primary", "k;=", "it's"};
    std::string name = kOdd[Pick(std::size(kOdd))];
    if (name_count_ > 0) name.append("_").append(std::to_string(name_count_));
    ++name_count_;
    return QuoteName(name);
  }
  void Add(std::string* columns, const std::string& type, std::string* key) {
    const std::string name = NewName();
    *columns += name + " " + type + ", ";
    *key += (key->empty() ? "" : ", ") + name;
  }
  std::string Type(int kinds) {
    constexpr const char* kScalars[] = {"boolean",   "tinyint", "smallint", "int",   "bigint",
                                        "float",     "double",  "text",     "ascii", "blob",
                                        "timestamp", "date",    "time",     "uuid",  "timeuuid",
                                        "inet",      "decimal", "varint"};
    const int kind = Pick(static_cast<size_t>(kinds));
    if (kind < 18) return kScalars[kind];
    if (kind == 18) return "frozen<list<" + Inner(2) + ">>";
    if (kind == 19) return "frozen<set<" + Inner(2) + ">>";
    if (kind == 20) return "frozen<map<" + Inner(2) + ", " + Inner(2) + ">>";
    if (kind == 21) return "set<" + Inner(2) + ">";
    if (kind == 22) return "map<" + Inner(2) + ", " + Inner(2) + ">";
    if (kind == 23) return "tuple<" + Inner(2) + ", " + Inner(2) + ">";
    if (kind == 24) return "vector<" + Inner(2) + ", " + std::to_string(1 + Pick(8192)) + ">";
    return kind == 25 ? "frozen<u>" : "duration";
  }
  std::string Inner(int depth) {
    if (depth == 0 || Pick(2) == 0) return Type(18);
    if (Pick(4) == 0) return Pick(2) == 0 ? "frozen<\"A b\">" : "u";
    return "frozen<list<" + Inner(depth - 1) + ">>";
  }

  static constexpr std::pair<const char*, const char*> kBuckets[] = {
      {"date", "day"},           {"date", "1 week"},
      {"date", "month as date"}, {"timestamp", "5 hours"},
      {"text", "15 minutes"},    {"int", "day as calendar"},
      {"int", "week as epoch"},  {"bigint", "30 seconds as calendar"},
      {"int", "hour"},           {"int", "year"}};
  static constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
  std::mt19937 random_;
  int name_count_ = 0;
};

TEST(DdlHostile, RandomTablesPrintAndReadBackEqual) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomTable tables(seed);
  for (int i = 0; i < 2'000; ++i) {
    const std::string text = tables.Make();
    ASSERT_TRUE(Survives(text)) << ParseCreateTable(text).status().ToString() << "\n" << text;
  }
}

}  // namespace
}  // namespace cistern
