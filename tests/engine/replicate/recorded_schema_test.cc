// Plans that a real Apache Cassandra has run, and what it answered afterwards.
//
// recorded/cassandra-5.0.8.txt has the statements and the answers (recorded/record.py tells how it
// is made). The statements must still be those that a plan has; the answers must show no drift.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/replicate/schema_plan.h"
#include "tests/engine/replicate/schema_model.h"

namespace cistern::replicate {
namespace {

const TextMap kReplication = {{"class", "SimpleStrategy"}, {"replication_factor", "1"}};

std::filesystem::path SourceDirectory() {
  return std::getenv("CISTERN_SOURCE_DIR");
}

// What was run up to one `ask`, and its answers.
struct RecordedStep {
  std::vector<std::string> statements;
  SchemaAnswers answers;
};

SystemRows* AnswerOf(SchemaAnswers* answers, const std::string& name) {
  if (name == "keyspaces") return &answers->keyspaces;
  if (name == "types") return &answers->types;
  if (name == "tables") return &answers->tables;
  if (name == "columns") return &answers->columns;
  if (name == "dropped_columns") return &answers->dropped_columns;
  return &answers->views;
}

std::optional<std::string> CellOf(const std::string& word) {
  if (word == "-") return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i + 1 < word.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return out;
}

using Record = std::map<std::string, std::vector<RecordedStep>>;

Record ReadRecord() {
  Record record;
  SchemaAnswers empty;  // the columns alone
  std::vector<RecordedStep>* steps = nullptr;
  std::vector<std::string> statements;
  std::ifstream file(SourceDirectory() /
                     "tests/engine/replicate/recorded/cassandra-5.0.8.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::string answer;
    words >> word;
    if (word == "column") {
      SystemRows::Column column;
      words >> answer >> column.name >> std::ws;
      std::getline(words, column.type);
      AnswerOf(&empty, answer)->columns.push_back(column);
    } else if (word == "case") {
      words >> word;
      steps = &record[word];
    } else if (word == "run") {
      statements.push_back(line.substr(4));
    } else if (word == "ask") {
      steps->push_back({std::move(statements), empty});
      statements.clear();
    } else if (word == "row") {
      words >> answer;
      auto& row = AnswerOf(&steps->back().answers, answer)->rows.emplace_back();
      while (words >> word) row.push_back(CellOf(word));
    }
  }
  return record;
}

// One table and the declarations that it has one after another.
struct Case {
  std::string name;
  std::vector<std::string> declarations;
};

std::string Simple(const std::string& name, const std::string& columns,
                   const std::string& options) {
  return "CREATE TABLE " + name + " (e text, day date, ts timestamp, v double, " + columns +
         "PRIMARY KEY ((e, day), ts))" + options;
}

std::string EveryType() {
  std::string keys;
  std::string key;
  std::string order;
  int count = 0;
  for (const char* type : {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double",
                           "text", "ascii", "blob", "timestamp", "date", "time", "uuid",
                           "timeuuid", "inet"}) {
    const std::string name = "k" + std::to_string(count++);
    keys += name + " " + type + ", e" + name + " " + type + ", r" + name + " " + type + ", ";
    key += ", " + name;
    order += ", " + name + (count % 2 == 0 ? " ASC" : " DESC");
  }
  std::string entity;
  for (int i = 0; i < count; ++i) entity += "ek" + std::to_string(i) + ", ";
  return "CREATE TABLE every_type (" + keys +
         "day date, id timeuuid, d decimal, n varint, s varchar, "
         "l frozen<list<int>>, t frozen<set<text>>, m frozen<map<timeuuid, blob>>, "
         "deep frozen<map<text, frozen<list<frozen<set<decimal>>>>>>, "
         "PRIMARY KEY ((" + entity + "day), id" + key + ")) WITH CLUSTERING ORDER BY (id DESC" +
         order + ")";
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({"every_type", {EveryType()}});
  cases.push_back({"bare", {Simple("bare", "", "")}});
  cases.push_back({"quoted",
                   {"CREATE TABLE quoted (\"Sensor\" text, \"order\" date, \"T s\" timestamp, "
                    "\"a\"\"b\" int, PRIMARY KEY ((\"Sensor\", \"order\"), \"T s\")) WITH comment "
                    "= 'It''s a \"pump\"\n\xc3\xa4 \\ cistern: bucket \"order\" = 1 day'"}});
  cases.push_back(
      {"options",
       {Simple("options", "",
               " WITH default_time_to_live = 630720000 AND gc_grace_seconds = 0 AND compaction = "
               "{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', "
               "'compaction_window_size': 12, 'unsafe_aggressive_sstable_expiration': 'false'} "
               "AND compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': 64, "
               "'compression_level': 3} AND caching = {'keys': 'NONE', 'rows_per_partition': "
               "'10'} AND bloom_filter_fp_chance = 0.05 AND cdc = false AND crc_check_chance = "
               "0.5 AND max_index_interval = 4096 AND min_index_interval = 256 AND "
               "memtable_flush_period_in_ms = 3600000 AND read_repair = 'NONE' AND "
               "speculative_retry = '50ms' AND additional_write_policy = '95p' AND "
               "allow_auto_snapshot = true AND incremental_backups = true AND memtable = "
               "'default'")}});
  cases.push_back({"uncompressed",
                   {Simple("uncompressed", "",
                           " WITH compression = {'enabled': 'false'} AND compaction = {'class': "
                           "'org.apache.cassandra.db.compaction.LeveledCompactionStrategy', "
                           "'enabled': 'true', 'sstable_size_in_mb': 100}")}});
  cases.push_back({"older_words",
                   {Simple("older_words", "",
                           " WITH compression = {'class': 'LZ4Compressor', 'enabled': 'true'} AND "
                           "caching = {'keys': 'all'} AND compaction = {'class': "
                           "'TimeWindowCompactionStrategy'} AND read_repair_chance = 0.1 AND "
                           "bloom_filter_fp_chance = 0.010 AND read_repair = 'blocking'")}});
  cases.push_back(
      {"altered",
       {Simple("altered", "", " WITH comment = 'cistern: bucket day = day'"),
        Simple("altered", "\"New\" int, note text, m frozen<map<text, frozen<list<int>>>>, ",
               " WITH comment = 'cistern: bucket day = 1 day until 2027-02-01, 1 month' AND "
               "default_time_to_live = 60 AND gc_grace_seconds = 61 AND compaction = {'class': "
               "'TimeWindowCompactionStrategy', 'compaction_window_size': '7'} AND caching = "
               "{'keys': 'NONE'}"),
        Simple("altered", "note text, one int, ",
               " WITH comment = 'cistern: bucket day = 1 day until 2027-02-01, 1 month until "
               "2030-01-01, 1 year'")}});
  return cases;
}

void AddExamples(std::vector<Case>* cases) {
  std::map<std::string, std::string> texts;  // in the order of their names
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceDirectory() / "examples/schemas")) {
    if (entry.path().extension() != ".cql") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    texts[Declared(text.str())->name] = text.str();
  }
  EXPECT_GE(texts.size(), 7u);
  for (const auto& [name, text] : texts) cases->push_back({name, {text}});
}

// Statements of the plan for the newest declaration, as the file has them.
std::vector<std::string> PlanLines(const std::vector<std::shared_ptr<const TableSchema>>& declared,
                                   const ClusterSchema& cluster) {
  const SchemaPlan plan = PlanSchema(declared, cluster, kReplication);
  EXPECT_TRUE(plan.refusals.empty()) << plan.refusals.front().Text();
  std::vector<std::string> lines;
  for (const std::string& statement : plan.statements) lines.push_back(Escaped(statement));
  return lines;
}

ClusterSchema ReadStep(const std::string& name, const RecordedStep& step) {
  auto read = ReadClusterSchema("plant", name, step.answers);
  EXPECT_TRUE(read.ok()) << read.status().ToString();
  return read.ok() ? *std::move(read) : ClusterSchema{};
}

TEST(RecordedSchema, WasMadeByThePlanAndShowsNoDrift) {
  std::vector<Case> cases = Cases();
  AddExamples(&cases);
  const Record record = ReadRecord();
  // The first case makes the keyspace; each other one finds it.
  ClusterSchema none;
  none.keyspace = "plant";
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    ASSERT_TRUE(record.contains(one.name)) << "record it: recorded/record.py";
    const std::vector<RecordedStep>& steps = record.at(one.name);
    ASSERT_EQ(steps.size(), one.declarations.size());
    none.name = one.name;
    ClusterSchema before = none;
    std::vector<std::shared_ptr<const TableSchema>> declared;
    for (size_t i = 0; i < steps.size(); ++i) {
      declared.push_back(Declared(one.declarations[i]));
      EXPECT_EQ(PlanLines(declared, before), steps[i].statements);
      before = ReadStep(one.name, steps[i]);
      const SchemaDrift drift = CompareSchema(declared, before);
      EXPECT_FALSE(drift.Has(DriftWeight::kBlocks) || drift.Has(DriftWeight::kWarns))
          << drift.differences.front().Text();
      const SchemaPlan more = PlanSchema(declared, before, kReplication);
      EXPECT_TRUE(more.is_empty()) << more.statements.front();
    }
    none.has_keyspace = true;
  }
}

// Tables of others, made by hand: the words of a real server for what Cistern does not have.
struct ForeignCase {
  std::string name;
  std::vector<std::string> statements;  // behind the one that makes the table as declared
  std::vector<DriftKind> kinds;         // against the declaration
};

const ForeignCase kForeign[] = {
    {"dropped", {"ALTER TABLE plant.dropped DROP v;"}, {DriftKind::kColumnMissing}},
    {"revived",
     {"ALTER TABLE plant.revived DROP v;", "ALTER TABLE plant.revived ADD v double;"},
     {DriftKind::kColumnRevived}},
    {"more",
     {"ALTER TABLE plant.more ADD (a list<int>, b tuple<int, text>, c vector<float, 3>, d "
      "duration, f frozen<map<text, list<int>>>, s int static);"},
     {DriftKind::kStaticAdded, DriftKind::kColumnAdded, DriftKind::kColumnAdded,
      DriftKind::kColumnAdded, DriftKind::kColumnAdded, DriftKind::kColumnAdded}},
    {"counted",
     {"DROP TABLE plant.counted;",
      "CREATE TABLE plant.counted (e text, day date, ts timestamp, v counter, PRIMARY KEY ((e, "
      "day), ts));"},
     {DriftKind::kTableKind, DriftKind::kColumnType, DriftKind::kRuleMissing}},
    {"gone",
     {"ALTER TABLE plant.gone DROP v;", "ALTER TABLE plant.gone ADD u int;"},
     {DriftKind::kColumnMissing, DriftKind::kColumnAdded}},
    {"unfrozen",
     {"DROP TABLE plant.unfrozen;",
      "CREATE TABLE plant.unfrozen (e text, day date, ts timestamp, v map<text, int>, PRIMARY KEY "
      "((day, e), ts)) WITH CLUSTERING ORDER BY (ts DESC);"},
     {DriftKind::kKey, DriftKind::kClusteringOrder, DriftKind::kColumnType}},
};

TEST(RecordedSchema, OfOthersIsWeighed) {
  const Record record = ReadRecord();
  for (const ForeignCase& one : kForeign) {
    SCOPED_TRACE(one.name);
    ASSERT_TRUE(record.contains(one.name)) << "record it: recorded/record.py";
    const RecordedStep& step = record.at(one.name).front();
    const ClusterSchema cluster = ReadStep(one.name, step);
    const std::vector declared{Declared(Simple(one.name, "", ""))};
    std::vector<DriftKind> kinds;
    for (const SchemaDifference& found : CompareSchema(declared, cluster).differences) {
      kinds.push_back(found.kind);
    }
    EXPECT_EQ(kinds, one.kinds);
  }
}

// Not a check: writes what record.py is to run, where the environment names a file.
TEST(RecordedSchema, CanBeRecordedAnew) {
  std::vector<Case> cases = Cases();
  AddExamples(&cases);
  ModelCluster model;
  std::ostringstream script;
  const auto run = [&](const std::vector<std::shared_ptr<const TableSchema>>& declared) {
    const std::string& name = declared.back()->name;
    const ClusterSchema before = model.Read("plant", name);
    for (const std::string& line : PlanLines(declared, before)) script << "run " << line << "\n";
    for (const std::string& statement : PlanSchema(declared, before, kReplication).statements) {
      EXPECT_TRUE(model.Execute(statement)) << statement;
    }
  };
  for (const Case& one : cases) {
    script << "case " << one.name << "\n";
    std::vector<std::shared_ptr<const TableSchema>> declared;
    for (const std::string& declaration : one.declarations) {
      declared.push_back(Declared(declaration));
      run(declared);
      script << "ask\n";
    }
  }
  for (const ForeignCase& one : kForeign) {
    script << "case " << one.name << "\n";
    run({Declared(Simple(one.name, "", ""))});
    for (const std::string& statement : one.statements) script << "run " << statement << "\n";
    script << "ask\n";
  }
  EXPECT_NE(script.str().find("run CREATE TABLE IF NOT EXISTS plant.every_type"),
            std::string::npos);
  if (const char* path = std::getenv("CISTERN_SCHEMA_STATEMENTS")) {
    std::ofstream(path) << script.str();
  }
}

}  // namespace
}  // namespace cistern::replicate
