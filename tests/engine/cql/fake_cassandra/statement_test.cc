// Statements against one store: what they write, what they read back, what is refused.
#include "tests/support/fake_cassandra/statement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_cassandra/prepared_statement.h"
#include "tests/support/fake_cassandra/schema.h"

namespace cistern::fake_cassandra {
namespace {

using testing::SentValue;

constexpr int64_t kNow = 1'700'000'000;

std::string BigInt(int64_t value, int bytes) {
  std::string out;
  for (int shift = 8 * bytes - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
  return out;
}
SentValue Int(int32_t value) { return {SentValue::Kind::kValue, BigInt(value, 4)}; }
SentValue Bigint(int64_t value) { return {SentValue::Kind::kValue, BigInt(value, 8)}; }
SentValue Text(std::string value) { return {SentValue::Kind::kValue, std::move(value)}; }
SentValue Null() { return {SentValue::Kind::kNull, ""}; }
SentValue Unset() { return {SentValue::Kind::kUnset, ""}; }

class StatementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Run("CREATE KEYSPACE plant WITH replication = {'class': 'SimpleStrategy', "
                  "'replication_factor': 1} AND durable_writes = true;"), "");
    ASSERT_EQ(Run("CREATE TABLE plant.air (sensor text, bucket int, ts int, seq int, a int, b text,"
                  " PRIMARY KEY ((sensor, bucket), ts, seq)) WITH CLUSTERING ORDER BY (ts DESC, "
                  "seq ASC) AND default_time_to_live = 0"), "");
  }

  // Rows as "1 'x' null; 2 ..."; of writes nothing; the refusal's words.
  std::string Run(std::string_view cql, std::vector<SentValue> values = {}) {
    Result<std::string> shown = TryRun(cql, values);
    return shown.ok() ? *shown : shown.status().message();
  }

  Result<std::string> TryRun(std::string_view cql, const std::vector<SentValue>& values) {
    CISTERN_ASSIGN_OR_RETURN(Statement statement, ParseStatement(cql));
    if (statement.is_definition()) {
      CISTERN_RETURN_IF_ERROR(schema_.Apply(statement, context_.server_now_us).status());
      return std::string();
    }
    CISTERN_ASSIGN_OR_RETURN(const TablePtr table,
                             schema_.Find(statement.keyspace, statement.table));
    CISTERN_ASSIGN_OR_RETURN(prepared_, PrepareStatement(std::move(statement), table));
    if (!prepared_.statement.is_write()) return Select(values);
    CISTERN_ASSIGN_OR_RETURN(const Mutation mutation, BindWrite(prepared_, values, context_));
    store_.Apply(mutation);
    return std::string();
  }

  Result<std::string> Select(const std::vector<SentValue>& values) {
    std::string text;
    PageRequest page{context_.now_s(), page_rows_, ""};
    do {
      CISTERN_ASSIGN_OR_RETURN(
          const testing::RowsAnswer answer,
          RunSelect(prepared_, values, page, [&](const TablePtr&, const auto&) { return store_; }));
      for (const auto& row : answer.rows) {
        for (size_t i = 0; i < row.size(); ++i) text += CellText(prepared_.result[i].type, row[i]);
        text.back() = ';';
      }
      page.paging_state = answer.metadata.has_more_pages ? answer.metadata.paging_state : "";
      if (answer.metadata.has_more_pages) text += "|";
    } while (!page.paging_state.empty());
    return text;
  }

  static std::string CellText(const std::string& type, const std::optional<std::string>& cell) {
    if (!cell.has_value()) return "null ";
    if (type == "text") return *cell + " ";
    int64_t value = static_cast<int8_t>((*cell)[0]) < 0 ? -1 : 0;
    for (const char c : *cell) value = value * 256 + static_cast<uint8_t>(c);
    return std::to_string(value) + " ";
  }

  std::string Dump(int64_t now_s = kNow) const {
    const TablePtr table = *schema_.Find("plant", "air");
    return store_.Dump(*table, DumpKind::kEverything, now_s);
  }

  Schema schema_;
  PartitionStore store_;
  PreparedStatement prepared_;
  WriteContext context_{kNow * 1'000'000 + 5, std::nullopt, std::nullopt,
                        StorageCompatibility::kCassandra4};
  std::optional<int32_t> page_rows_;
};

TEST_F(StatementTest, AnInsertTakesItsTimesFromMarkersInTheirOrder) {
  EXPECT_EQ(Run("INSERT INTO plant.air (sensor, bucket, ts, seq, a, b) VALUES (?, ?, ?, ?, ?, ?) "
                "USING TIMESTAMP ? AND TTL ?",
                {Text("s"), Int(1), Int(10), Int(0), Int(7), Unset(), Bigint(99), Int(60)}), "");
  EXPECT_EQ(Dump(), "plant.air sensor='s', bucket=1 | ts=10 seq=0 | marker@99 until 1700000060 "
                    "a=7@99 until 1700000060\n");
  EXPECT_EQ(prepared_.key_markers, (std::vector<uint16_t>{0, 1}));
  EXPECT_EQ(prepared_.markers[6].name, "[timestamp]");
  EXPECT_EQ(WireTypeText(prepared_.markers[6].type), "bigint");
  EXPECT_EQ(prepared_.markers[7].name, "[ttl]");
  EXPECT_EQ(WireTypeText(prepared_.markers[7].type), "int");
}

TEST_F(StatementTest, TheExpiryCountsFromTheRequestsNow) {
  context_.now_in_seconds = static_cast<uint32_t>(kNow - 5000);
  EXPECT_EQ(Run("INSERT INTO plant.air (sensor, bucket, ts, seq, a) VALUES ('s', 1, 2, 3, 4) "
                "USING TTL 6000 AND TIMESTAMP 9"), "");
  EXPECT_EQ(Run("UPDATE plant.air USING TTL 1000 AND TIMESTAMP 9 SET a = 4 WHERE sensor = 's' AND "
                "bucket = 1 AND ts = 5 AND seq = 3"), "");
  context_.now_in_seconds.reset();
  EXPECT_EQ(Run("SELECT ts, ttl(a) FROM plant.air WHERE sensor = 's' AND bucket = 1"), "2 1000;");
  EXPECT_EQ(Dump(), "plant.air sensor='s', bucket=1 | ts=5 seq=3 | a=4@9 until 1699996000\n"
                    "plant.air sensor='s', bucket=1 | ts=2 seq=3 | marker@9 until 1700001000 "
                    "a=4@9 until 1700001000\n");
}

TEST_F(StatementTest, TheTimestampIsOfTheStatementThenOfTheRequestThenOfTheServer) {
  const std::string insert =
      "INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES ('s', 1, ?, 0)";
  Run(insert, {Int(1)});
  Run(insert + " USING TIMESTAMP ?", {Int(2), Unset()});
  context_.default_timestamp_us = 77;
  Run(insert, {Int(3)});
  Run(insert + " USING TIMESTAMP 5", {Int(4)});
  EXPECT_EQ(Run(insert + " USING TIMESTAMP ?", {Int(5), Null()}),
            "Invalid null value of timestamp");
  EXPECT_EQ(Dump(), "plant.air sensor='s', bucket=1 | ts=4 seq=0 | marker@5\n"
                    "plant.air sensor='s', bucket=1 | ts=3 seq=0 | marker@77\n"
                    "plant.air sensor='s', bucket=1 | ts=2 seq=0 | marker@1700000000000005\n"
                    "plant.air sensor='s', bucket=1 | ts=1 seq=0 | marker@1700000000000005\n");
}

TEST_F(StatementTest, NullIsATombstoneAndUnsetIsNothing) {
  Run("INSERT INTO plant.air (sensor, bucket, ts, seq, a, b) VALUES ('s', 1, 2, 3, ?, ?) USING "
      "TIMESTAMP 5", {Null(), Unset()});
  EXPECT_EQ(Dump(),
            "plant.air sensor='s', bucket=1 | ts=2 seq=3 | marker@5 a=tombstone@5\n");
}

TEST_F(StatementTest, DeletesReachCellsRowsRangesAndPartitions) {
  const std::string where = " WHERE sensor = 's' AND bucket = 1";
  Run("DELETE a, b FROM plant.air USING TIMESTAMP 5" + where + " AND ts = 1 AND seq = 2");
  Run("DELETE FROM plant.air USING TIMESTAMP 6" + where + " AND ts = 2 AND seq IN (1, 2)");
  Run("DELETE FROM plant.air USING TIMESTAMP 7" + where + " AND ts = 3");
  Run("DELETE FROM plant.air USING TIMESTAMP 8" + where + " AND ts >= 4 AND ts < 6");
  Run("DELETE FROM plant.air USING TIMESTAMP 9" + where + " AND ts = 6 AND seq > 4");
  Run("DELETE FROM plant.air USING TIMESTAMP 4" + where);
  EXPECT_EQ(Dump(),
            "plant.air sensor='s', bucket=1 | partition-deleted@4\n"
            "plant.air sensor='s', bucket=1 | range ts = 3 deleted@7\n"
            "plant.air sensor='s', bucket=1 | range ts = 6 seq > 4 deleted@9\n"
            "plant.air sensor='s', bucket=1 | range ts >= 4 < 6 deleted@8\n"
            "plant.air sensor='s', bucket=1 | ts=2 seq=1 | row-deleted@6\n"
            "plant.air sensor='s', bucket=1 | ts=2 seq=2 | row-deleted@6\n"
            "plant.air sensor='s', bucket=1 | ts=1 seq=2 | a=tombstone@5 b=tombstone@5\n");
}

class SelectTest : public StatementTest {
 protected:
  void SetUp() override {
    StatementTest::SetUp();
    for (int ts = 1; ts <= 4; ++ts) {
      for (int seq = 0; seq < 2; ++seq) {
        Run("INSERT INTO plant.air (sensor, bucket, ts, seq, a, b) VALUES ('s', 1, ?, ?, ?, 'x') "
            "USING TIMESTAMP ?", {Int(ts), Int(seq), Int(10 * ts + seq), Bigint(100 + ts)});
      }
    }
  }
  const std::string where_ = " FROM plant.air WHERE sensor = 's' AND bucket = 1";
};

TEST_F(SelectTest, GivesRowsInTheirOrderOrItsReverse) {
  EXPECT_EQ(Run("SELECT ts, seq" + where_), "4 0;4 1;3 0;3 1;2 0;2 1;1 0;1 1;");
  EXPECT_EQ(Run("SELECT ts, seq" + where_ + " ORDER BY ts ASC, seq DESC LIMIT 3"),
            "1 1;1 0;2 1;");
  EXPECT_EQ(Run("SELECT ts, seq" + where_ + " ORDER BY ts DESC LIMIT ?", {Int(1)}), "4 0;");
}

TEST_F(SelectTest, KeepsToConditions) {
  EXPECT_EQ(Run("SELECT a" + where_ + " AND ts >= 2 AND ts < 4"), "30;31;20;21;");
  EXPECT_EQ(Run("SELECT a" + where_ + " AND ts = 3 AND seq > ?", {Int(0)}), "31;");
  EXPECT_EQ(Run("SELECT a" + where_ + " AND ts IN (1, 4)"), "40;41;10;11;");
  EXPECT_EQ(Run("SELECT a" + where_ + " AND (ts, seq) > (2, 0) AND (ts, seq) <= (3, 0)"),
            "30;21;");
  EXPECT_EQ(Run("SELECT a" + where_ + " AND (ts, seq) IN ((2, 0), (3, 1))"), "31;20;");
  const SentValue list = Text(BigInt(2, 4) + BigInt(4, 4) + BigInt(1, 4) + BigInt(4, 4) +
                              BigInt(3, 4));
  EXPECT_EQ(Run("SELECT a" + where_ + " AND ts IN ?", {list}), "30;31;10;11;");
  EXPECT_TRUE(prepared_.markers[0].is_list);
  EXPECT_EQ(Run("SELECT a FROM plant.air WHERE sensor = 't' AND bucket = 1"), "");
  EXPECT_EQ(Run("SELECT bucket FROM plant.air LIMIT 1"), "1;");
}

TEST_F(SelectTest, AggregatesAndShowsWriteTimes) {
  EXPECT_EQ(Run("SELECT count(*), min(ts), max(a), min(writetime(a)), max(writetime(a))" + where_),
            "8 1 41 101 104;");
  EXPECT_EQ(prepared_.result[0].name, "count");
  EXPECT_EQ(prepared_.result[1].name, "system.min(ts)");
  EXPECT_EQ(prepared_.result[3].name, "system.min(writetime(a))");
  Run("DELETE a FROM plant.air USING TIMESTAMP 500 WHERE sensor='s' AND bucket=1 AND ts=4 AND "
      "seq=0");
  EXPECT_EQ(Run("SELECT count(*), count(a)" + where_), "8 7;");
  EXPECT_EQ(Run("SELECT a, writetime(a), ttl(a), writetime(b)" + where_ + " AND ts = 4"),
            "null null null 104;41 104 null 104;");
  EXPECT_EQ(Run("SELECT count(*), min(ts) FROM plant.air WHERE sensor='t' AND bucket=1"),
            "0 null;");
}

TEST_F(SelectTest, PagesWithoutLossOrRepeat) {
  for (int32_t page_rows = 1; page_rows <= 9; ++page_rows) {
    page_rows_ = page_rows;
    std::string paged = Run("SELECT ts, seq" + where_);
    std::erase(paged, '|');
    EXPECT_EQ(paged, "4 0;4 1;3 0;3 1;2 0;2 1;1 0;1 1;") << page_rows;
    paged = Run("SELECT ts, seq" + where_ + " ORDER BY ts ASC LIMIT 5");
    std::erase(paged, '|');
    EXPECT_EQ(paged, "1 1;1 0;2 1;2 0;3 1;") << page_rows;
  }
  page_rows_ = 3;
  EXPECT_EQ(Run("SELECT a" + where_), "40;41;30;|31;20;21;|10;11;");
}

TEST_F(SelectTest, PagesOverPartitions) {
  for (const std::string bucket : {"2", "3", "4"}) {
    Run("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES ('s', " + bucket + ", 1, 0)");
  }
  page_rows_.reset();
  const std::string all = Run("SELECT bucket, ts FROM plant.air");
  page_rows_ = 2;
  std::string paged = Run("SELECT bucket, ts FROM plant.air");
  std::erase(paged, '|');
  EXPECT_EQ(paged, all);
  EXPECT_EQ(Run("SELECT count(*) FROM plant.air"), "11;");
  EXPECT_EQ(Run("SELECT count(*) FROM plant.air WHERE token(sensor, bucket) > "
                "-9223372036854775808"), "11;");
}

TEST_F(StatementTest, ARowWithAnExpiredMarkerIsMissedBySomeColumnsAsInCassandra) {
  const std::string where = " WHERE sensor = 's' AND bucket = 1";
  Run("UPDATE plant.air USING TIMESTAMP 5 SET b = 'x'" + where + " AND ts = 1 AND seq = 1");
  Run("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES ('s', 1, 1, 1) USING TIMESTAMP 6 AND "
      "TTL 60");
  EXPECT_EQ(Run("SELECT a FROM plant.air" + where), "null;");
  context_.now_in_seconds = static_cast<uint32_t>(kNow + 60);
  EXPECT_EQ(Run("SELECT a FROM plant.air" + where), "");
  EXPECT_EQ(Run("SELECT count(*), max(a) FROM plant.air" + where), "0 null;");
  EXPECT_EQ(Run("SELECT count(*) FROM plant.air" + where), "1;");
  EXPECT_EQ(Run("SELECT ts FROM plant.air" + where), "1;");
  EXPECT_EQ(Run("SELECT a, b FROM plant.air" + where), "null x;");
  Run("UPDATE plant.air USING TIMESTAMP 6 SET b = 'y'" + where + " AND ts = 1 AND seq = 1");
  EXPECT_EQ(Run("SELECT a FROM plant.air" + where), "null;");
}

TEST_F(StatementTest, QuotedNamesKeepTheirCase) {
  EXPECT_EQ(Run("CREATE TABLE plant.\"Air\" (\"Key\" text PRIMARY KEY, \"select\" int)"), "");
  EXPECT_EQ(Run("INSERT INTO plant.\"Air\" (\"Key\", \"select\") VALUES ('k', 1)"), "");
  EXPECT_EQ(Run("SELECT \"select\", writetime(\"select\") FROM \"plant\".\"Air\" WHERE "
                "\"Key\" = 'k'"), "1 1700000000000005;");
  EXPECT_EQ(Run("SELECT a FROM plant.Air"), "");
}

TEST_F(StatementTest, ColumnsAreAddedAndDropped) {
  const std::string insert = "INSERT INTO plant.air (sensor, bucket, ts, seq, a, c) VALUES "
                             "('s', 1, 1, 1, 2, 3)";
  EXPECT_EQ(Run(insert), "Undefined column name c in table plant.air");
  EXPECT_EQ(Run("ALTER TABLE plant.air ADD c int, d frozen<list<text>>"), "");
  EXPECT_EQ(Run(insert), "");
  EXPECT_EQ(Run("SELECT * FROM plant.air"), "s 1 1 1 2 null 3 null;");
  EXPECT_EQ(Run("ALTER TABLE plant.air DROP a"), "");
  EXPECT_EQ(Run("SELECT * FROM plant.air"), "s 1 1 1 null 3 null;");
  EXPECT_EQ(Run("ALTER TABLE plant.air ADD a int"), "");
  EXPECT_EQ(Run("SELECT a FROM plant.air"), "null;");
  EXPECT_EQ(Run("ALTER TABLE plant.air DROP ts"), "Cannot drop PRIMARY KEY column ts");
  EXPECT_EQ(Run("DROP TABLE plant.air"), "");
  EXPECT_EQ(Run("SELECT * FROM plant.air"), "table air does not exist");
  EXPECT_EQ(Run("CREATE TABLE IF NOT EXISTS plant.air (k int PRIMARY KEY)"), "");
  EXPECT_EQ(Run("SELECT * FROM plant.air"), "");
}

// As system_schema.dropped_columns says: up to that time nothing of it is shown, whenever it comes.
TEST_F(StatementTest, AColumnThatIsAddedAgainHidesWhatWasWrittenBeforeItsDrop) {
  const auto write = [this](int ts, int64_t write_us) {
    return Run("INSERT INTO plant.air (sensor, bucket, ts, seq, a, b) VALUES ('s', 1, " +
               std::to_string(ts) + ", 1, 2, 'x') USING TIMESTAMP " + std::to_string(write_us));
  };
  EXPECT_EQ(write(1, 4'000), "");
  EXPECT_EQ(write(2, 6'000), "");
  EXPECT_EQ(Run("ALTER TABLE plant.air DROP a USING TIMESTAMP 5000"), "");
  EXPECT_EQ(Run("ALTER TABLE plant.air ADD a text"),
            "Cannot re-add previously dropped column 'a' of type text, incompatible with previous "
            "type int");
  EXPECT_EQ(Run("ALTER TABLE plant.air ADD a int"), "");
  EXPECT_EQ(write(3, 5'000), "");
  EXPECT_EQ(write(4, 5'001), "");
  EXPECT_EQ(Run("SELECT ts, a, b FROM plant.air"), "4 2 x;3 null x;2 2 x;1 null x;");
  EXPECT_EQ(Run("SELECT count(a) FROM plant.air"), "2;");
  // A row that is its cells alone is not there without them.
  EXPECT_EQ(Run("UPDATE plant.air USING TIMESTAMP 4000 SET a = 1 WHERE sensor = 's' AND "
                "bucket = 1 AND ts = 5 AND seq = 1"), "");
  EXPECT_EQ(Run("SELECT ts FROM plant.air"), "4;3;2;1;");
  // The last drop counts, by the server's clock where the statement says no time.
  EXPECT_EQ(Run("ALTER TABLE plant.air DROP a"), "");
  EXPECT_EQ(Run("ALTER TABLE plant.air ADD a int"), "");
  EXPECT_EQ(Run("SELECT ts, a FROM plant.air"), "4 null;3 null;2 null;1 null;");
}

// A whole value deletes what is older, a microsecond below its own elements; those of one timestamp
// stay together.
TEST_F(StatementTest, ACollectionThatIsNotFrozenIsItsElements) {
  ASSERT_EQ(Run("CREATE TABLE plant.m (k int PRIMARY KEY, v map<text, int>, s set<int>)"), "");
  const auto shown = [&](DumpKind kind) {
    return store_.Dump(**schema_.Find("plant", "m"), kind, kNow);
  };
  const auto write = [&](const std::string& set, int timestamp) {
    EXPECT_EQ(Run("UPDATE plant.m USING TIMESTAMP " + std::to_string(timestamp) + " SET " + set +
                  " WHERE k = 1"), "");
  };
  write("v = {'b': 2, 'a': 1}, s = {}", 10);
  write("v = {'b': 2, 'a': 1}, s = {}", 10);
  EXPECT_EQ(shown(DumpKind::kVisible), "plant.m k=1 | | v={'a': 1, 'b': 2}\n");
  EXPECT_EQ(shown(DumpKind::kEverything),
            "plant.m k=1 | | s-deleted@9 v-deleted@9 v['a']=1@10 v['b']=2@10\n");
  write("v = {'c': 3}", 10);
  EXPECT_EQ(shown(DumpKind::kVisible), "plant.m k=1 | | v={'a': 1, 'b': 2, 'c': 3}\n");
  write("v = {'d': 4}", 11);
  EXPECT_EQ(shown(DumpKind::kVisible), "plant.m k=1 | | v={'d': 4}\n");
  write("v = {'old': 0}", 10);
  EXPECT_EQ(shown(DumpKind::kVisible), "plant.m k=1 | | v={'d': 4}\n");
  write("v = null", 12);
  EXPECT_EQ(shown(DumpKind::kVisible), "");
  write("v = {'e': 5}", 12);
  EXPECT_EQ(shown(DumpKind::kVisible), "plant.m k=1 | | v={'e': 5}\n");
  EXPECT_EQ(Run("DELETE v FROM plant.m USING TIMESTAMP 12 WHERE k = 1"), "");
  EXPECT_EQ(shown(DumpKind::kVisible), "");
  EXPECT_EQ(Run("SELECT writetime(v) FROM plant.m"),
            "Cannot use selection function writetime on non-frozen collection v");
}

TEST_F(StatementTest, AStaticCellIsOfAllRowsOfItsPartition) {
  ASSERT_EQ(Run("CREATE TABLE plant.s (k int, c int, f int static, v int, PRIMARY KEY (k, c))"),
            "");
  const auto insert = [&](int k, int c, int f, int timestamp) {
    EXPECT_EQ(Run("INSERT INTO plant.s (k, c, f) VALUES (" + std::to_string(k) + ", " +
                  std::to_string(c) + ", " + std::to_string(f) + ") USING TIMESTAMP " +
                  std::to_string(timestamp)), "");
  };
  insert(1, 1, 7, 20);
  insert(1, 2, 8, 10);
  insert(2, 1, 9, 5);
  const std::string select = "SELECT c, f, writetime(f) FROM plant.s WHERE k = 1";
  EXPECT_EQ(Run(select), "1 7 20;2 7 20;");
  EXPECT_EQ(Run("DELETE FROM plant.s USING TIMESTAMP 30 WHERE k = 1 AND c = 1"), "");
  EXPECT_EQ(Run(select), "2 7 20;") << "the delete of a row leaves it";
  EXPECT_EQ(Run("UPDATE plant.s USING TIMESTAMP 21 SET f = null WHERE k = 1 AND c = 2"), "");
  EXPECT_EQ(Run(select), "2 null null;");
  EXPECT_EQ(Run("DELETE FROM plant.s USING TIMESTAMP 30 WHERE k = 2"), "");
  insert(2, 1, 9, 30);
  EXPECT_EQ(Run("SELECT c FROM plant.s WHERE k = 2"), "");
}

TEST_F(StatementTest, ADropHidesStaticCellsAndElementsToo) {
  ASSERT_EQ(Run("CREATE TABLE plant.h (k int, c int, f int static, s set<int>, "
                "PRIMARY KEY (k, c))"), "");
  const auto write = [this](int value, int timestamp) {
    const std::string text = std::to_string(value);
    EXPECT_EQ(Run("INSERT INTO plant.h (k, c, f, s) VALUES (1, 1, " + text + ", {" + text +
                  "}) USING TIMESTAMP " + std::to_string(timestamp)), "");
  };
  const auto shown = [this] {
    return store_.Dump(**schema_.Find("plant", "h"), DumpKind::kVisible, kNow);
  };
  write(7, 4'000);
  EXPECT_EQ(Run("ALTER TABLE plant.h DROP (f, s) USING TIMESTAMP 5000"), "");
  EXPECT_EQ(shown().find('7'), std::string::npos) << shown();
  EXPECT_EQ(Run("ALTER TABLE plant.h ADD f int"),
            "Cannot re-add previously dropped column 'f' of kind REGULAR, incompatible with "
            "previous kind STATIC");
  EXPECT_EQ(Run("ALTER TABLE plant.h ADD (f int static, s set<int>)"), "");
  write(8, 5'000);
  EXPECT_EQ(Run("SELECT c, f FROM plant.h"), "1 null;");
  EXPECT_EQ(shown().find("s={"), std::string::npos) << shown();
  write(9, 5'001);
  EXPECT_EQ(Run("SELECT c, f FROM plant.h"), "1 9;");
  EXPECT_NE(shown().find("s={9}"), std::string::npos) << shown();
}

TEST_F(StatementTest, TypesAreMadeBeforeTablesThatHaveThem) {
  const std::string table = "CREATE TABLE plant.u (k int PRIMARY KEY, v frozen<spot>)";
  EXPECT_NE(Run(table), "");
  EXPECT_EQ(Run("CREATE TYPE plant.spot (x int, y text)"), "");
  EXPECT_EQ(Run("CREATE TYPE IF NOT EXISTS plant.spot (other int);"), "");
  EXPECT_EQ(Run("CREATE TYPE plant.spot (x int)"),
            "A user type with name 'spot' already exists");
  EXPECT_EQ(Run(table), "");
  EXPECT_EQ(Run("INSERT INTO plant.u (k, v) VALUES (1, {x: 2, y: 'b'}) USING TIMESTAMP 5"), "");
  EXPECT_EQ(store_.Dump(**schema_.Find("plant", "u"), DumpKind::kVisible, kNow),
            "plant.u k=1 | | v={x: 2, y: 'b'}@5\n");
  EXPECT_EQ(Run("ALTER TABLE plant.u ADD w set<frozen<spot>>"), "");
  EXPECT_EQ(Run("ALTER TABLE plant.u DROP w"), "");
  EXPECT_EQ(Run("ALTER TABLE plant.u ADD w set<int>"),
            "Cannot re-add previously dropped column 'w' of type set<int>, incompatible with "
            "previous type set<frozen<tuple<int, text>>>");
  EXPECT_EQ(Run("ALTER TABLE plant.u ADD w set<frozen<spot>>"), "");
  EXPECT_EQ(Run("ALTER TABLE plant.u DROP v"), "");
  EXPECT_EQ(Run("ALTER TABLE plant.u ADD v frozen<spot>"),
            "Cannot re-add previously dropped column 'v' of type frozen<spot>, incompatible with "
            "previous type frozen<tuple<int, text>>");
}

TEST_F(StatementTest, APartitionHasItsOwnLimit) {
  for (const char* key : {"'a', 1, 1", "'a', 1, 2", "'b', 1, 3", "'b', 1, 4", "'c', 1, 5"}) {
    Run("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES (" + std::string(key) + ", 1)");
  }
  std::string rows = Run("SELECT ts FROM plant.air PER PARTITION LIMIT 1");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), ';'), 3);
  for (const char* newest : {"2;", "4;", "5;"}) {
    EXPECT_NE(rows.find(newest), std::string::npos) << rows;
  }
  rows = Run("SELECT ts FROM plant.air PER PARTITION LIMIT 1 LIMIT 2");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), ';'), 2);
  EXPECT_EQ(Run("SELECT ts FROM plant.air PER PARTITION LIMIT 0"),
            "LIMIT must be strictly positive");
}

TEST_F(StatementTest, WhatIsWrongIsRefusedWithTheServersKindOfWords) {
  EXPECT_EQ(Run("INSERT INTO plant.air (sensor, bucket, ts, a) VALUES ('s', 1, 2, 3)"),
            "Some clustering keys are missing: seq");
  EXPECT_EQ(Run("UPDATE plant.air SET a = 1 WHERE sensor = 's' AND ts = 1 AND seq = 1"),
            "Some partition key parts are missing: bucket");
  EXPECT_EQ(Run("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES (?, 1, 2, 3)", {Null()}),
            "Invalid null value in condition for column sensor");
  EXPECT_EQ(Run("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES (?, 1, 2, 3)", {Unset()}),
            "Invalid unset value for column sensor");
  EXPECT_EQ(Run("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES (?, 1, 2, 3)"),
            "Invalid amount of bind variables");
  EXPECT_FALSE(TryRun("INSERT INTO plant.air (sensor, bucket, ts, seq) VALUES (?, 1, 2, ?)",
                      {Text("s"), Text("three")}).ok());
  EXPECT_EQ(Run("SELECT writetime(ts) FROM plant.air"),
            "Cannot use selection function writetime on PRIMARY KEY part ts");
  EXPECT_EQ(Run("SELECT a FROM plant.water"), "table water does not exist");
  EXPECT_EQ(Run("SELECT a FROM sea.water"), "keyspace sea does not exist");
  EXPECT_EQ(Run("DELETE FROM plant.air WHERE sensor = 's' AND bucket = 1 AND seq = 2"),
            "PRIMARY KEY column \"seq\" cannot be restricted as preceding column is not "
            "restricted");
  EXPECT_EQ(TryRun("CREATE TABLE plant.air (k int PRIMARY KEY)", {}).status().code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(TryRun("INSERT INTO plant.air (sensor) VALUES ('s') IF NOT EXISTS", {}).status().code(),
            StatusCode::kNotSupported);
  for (const char* text : {"", "SELEC a FROM t", "SELECT FROM t", "INSERT INTO t (a, b) VALUES (1)",
                           "DELETE FROM", "UPDATE t SET", "SELECT a FROM t WHERE a ! 1",
                           "SELECT a FROM t; SELECT b FROM t", "SELECT sum(a) FROM t"}) {
    EXPECT_FALSE(ParseStatement(text).ok()) << text;
  }
}

}  // namespace
}  // namespace cistern::fake_cassandra
