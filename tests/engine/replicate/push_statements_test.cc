// The CQL texts, and what each marker of them stands for.
#include "engine/replicate/push_statements.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/replicate/push_test_util.h"

namespace cistern::replicate {
namespace {

std::string Texts(const PushStatements& statements) {
  std::string all;
  for (size_t k = 0; k < kStatementKindCount; ++k) {
    all += statements.of(static_cast<StatementKind>(k)).cql + "\n";
  }
  return all;
}

TEST(PushStatements, OfAPlainTable) {
  EXPECT_EQ(
      Texts(*StatementsOf(SmallTable())),
      "INSERT INTO ks.t (id, day, a, b, ts) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL 0\n"
      "INSERT INTO ks.t (id, day, a, b, ts) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?\n"
      "UPDATE ks.t USING TIMESTAMP ? AND TTL 0 SET a = ?, b = ? "
      "WHERE id = ? AND day = ? AND ts = ?\n"
      "UPDATE ks.t USING TIMESTAMP ? AND TTL ? SET a = ?, b = ? "
      "WHERE id = ? AND day = ? AND ts = ?\n"
      "DELETE FROM ks.t USING TIMESTAMP ? WHERE id = ? AND day = ? AND ts = ?\n"
      "DELETE FROM ks.t USING TIMESTAMP ? WHERE id = ? AND day = ? AND ts >= ? AND ts < ?\n"
      "DELETE FROM ks.t USING TIMESTAMP ? WHERE id = ? AND day = ? AND ts >= ?\n"
      "DELETE FROM ks.t USING TIMESTAMP ? WHERE id = ? AND day = ? AND ts < ?\n"
      "DELETE FROM ks.t USING TIMESTAMP ? WHERE id = ? AND day = ?\n");
}

TEST(PushStatements, NamesAreQuotedWhereTheyMustBe) {
  const auto schema = ParseTable(
      "CREATE TABLE \"Plant\".\"order\" (\"say \"\"it\"\"\" text, day date, \"TS\" timestamp, "
      "\"select\" int, PRIMARY KEY ((\"say \"\"it\"\"\", day), \"TS\"))");
  const auto made = PushStatements::Make(schema, "ignored");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->of(StatementKind::kUpdate).cql,
            "UPDATE \"Plant\".\"order\" USING TIMESTAMP ? AND TTL 0 SET \"select\" = ? "
            "WHERE \"say \"\"it\"\"\" = ? AND day = ? AND \"TS\" = ?");
  EXPECT_EQ((*made)->keyspace(), "Plant");
}

TEST(PushStatements, TheKeyComesFirstInTheOrderOfTheKey) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (v int, n text, ts bigint, shard int, id text, day text, site int, "
      "PRIMARY KEY ((site, day, id, shard), ts, n)) WITH comment = "
      "'cistern: bucket day = 1 day; split shard = hash 4; time ts = us'");
  const auto statements = StatementsOf(schema);
  EXPECT_EQ(statements->of(StatementKind::kInsert).cql,
            "INSERT INTO k.t (site, day, id, shard, v, ts, n) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "USING TIMESTAMP ? AND TTL 0");
  const std::vector<Bind>& binds = statements->of(StatementKind::kInsertTtl).binds;
  ASSERT_EQ(binds.size(), 9u);
  const std::vector<std::string> names = {"site", "day", "id", "shard", "v", "ts", "n"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(binds[i].what, Bind::What::kColumn);
    EXPECT_EQ(schema->columns[binds[i].column].name, names[i]);
  }
  EXPECT_EQ(binds[7].what, Bind::What::kTimestamp);
  EXPECT_EQ(binds[8].what, Bind::What::kTtl);
}

TEST(PushStatements, MeasuredValuesComeLastInAnInsert) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timestamp, c double, n int, f float, s text, "
      "PRIMARY KEY ((id, day), ts))");
  EXPECT_EQ(StatementsOf(schema)->of(StatementKind::kInsert).cql,
            "INSERT INTO k.t (id, day, n, s, ts, c, f) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "USING TIMESTAMP ? AND TTL 0");
}

TEST(PushStatements, EveryMarkerHasItsBind) {
  const auto statements = StatementsOf(SmallTable());
  for (size_t k = 0; k < kStatementKindCount; ++k) {
    const PushStatement& statement = statements->of(static_cast<StatementKind>(k));
    const auto markers = std::count(statement.cql.begin(), statement.cql.end(), '?');
    EXPECT_EQ(static_cast<size_t>(markers), statement.binds.size()) << statement.cql;
  }
}

TEST(PushStatements, ATableOfKeysOnlyHasNothingToUpdate) {
  const auto schema =
      ParseTable("CREATE TABLE k.t (id text, day date, ts timestamp, PRIMARY KEY ((id, day), ts))");
  const auto statements = StatementsOf(schema);
  EXPECT_EQ(statements->of(StatementKind::kUpdate).cql, "");
  EXPECT_EQ(statements->of(StatementKind::kInsert).cql,
            "INSERT INTO k.t (id, day, ts) VALUES (?, ?, ?) USING TIMESTAMP ? AND TTL 0");
}

TEST(PushStatements, ATableNeedsAKeyspace) {
  const auto schema = ParseTable(
      "CREATE TABLE t (id text, day date, ts timestamp, a int, PRIMARY KEY ((id, day), ts))");
  const auto none = PushStatements::Make(schema, "");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(none.status().message().find("table t "), std::string::npos) << none.status().message();
  const auto given = PushStatements::Make(schema, "plant");
  ASSERT_TRUE(given.ok());
  EXPECT_NE((*given)->of(StatementKind::kInsert).cql.find("plant.t"), std::string::npos);
}

}  // namespace
}  // namespace cistern::replicate
