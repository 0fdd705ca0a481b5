// The schema over the network: read, applied, waited for. Its server runs the statements.
#include "engine/replicate/schema_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "engine/replicate/schema_plan.h"
#include "tests/engine/cql/session_fixture.h"
#include "tests/engine/replicate/schema_model.h"

namespace cistern::replicate {
namespace {

using cql::SessionClient;
using testing::QueryRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedTurn;

constexpr int64_t kLongUs = 50'000'000;

SystemRows Versions(const std::vector<std::optional<char>>& versions) {
  SystemRows rows;
  rows.columns = {{"host_id", "uuid"}, {"schema_version", "uuid"}};
  char host = 'a';
  for (const auto& version : versions) {
    rows.rows.push_back({std::string(16, host++), version ? std::optional(std::string(16, *version))
                                                          : std::nullopt});
  }
  return rows;
}

// A server with a model behind it. All calls of one test and of the server's thread, in turn.
class SchemaServer {
 public:
  SchemaServer() : server_({}, [this](ScriptedTurn& turn) { return Answer(turn); }) {}

  [[nodiscard]] uint16_t port() const { return server_.port(); }
  [[nodiscard]] std::vector<std::string> statements() const {
    const std::lock_guard lock(mutex_);
    return statements_;
  }

  std::atomic<int> looks_without_agreement = 0;
  std::atomic<bool> pages_by_one = false;
  // Each answer leads to another page without rows: the paging state grows, or stays as it is.
  std::atomic<bool> pages_for_ever = false;
  std::atomic<bool> state_grows = false;
  // Each answer is of so many bytes, and of many pages.
  std::atomic<size_t> page_bytes = 0;
  std::atomic<uint64_t> bytes_sent = 0;

 private:
  bool Answer(ScriptedTurn& turn) {
    const auto* query = std::get_if<QueryRequest>(&turn.request);
    if (query == nullptr) return false;
    const std::lock_guard lock(mutex_);
    const std::string& asked = query->cql;
    if (asked.starts_with("SELECT * FROM system_schema.")) {
      AnswerRows(AnswerOf(asked), query->parameters.paging_state, turn);
      return true;
    }
    if (asked == "SELECT host_id, schema_version FROM system.local") {
      AnswerRows(Versions({'x'}), {}, turn);
      return true;
    }
    if (asked == "SELECT host_id, schema_version FROM system.peers_v2") {
      const bool agree = looks_without_agreement <= 0;
      if (!agree) --looks_without_agreement;
      AnswerRows(Versions({std::nullopt, 'x', agree ? 'x' : 'y'}),
                 query->parameters.paging_state, turn);
      return true;
    }
    if (asked.starts_with("SELECT")) return false;
    statements_.push_back(asked);
    if (!model_.Execute(asked)) return AnswerError(turn, cql::ErrorCode::kInvalid, "no such thing");
    AppendVoid(turn.head, &turn.out);
    return true;
  }

  [[nodiscard]] SystemRows AnswerOf(const std::string& cql) const {
    const SchemaAnswers answers = model_.Answers("plant", "r");
    const SchemaQueries queries = MakeSchemaQueries("plant", "r");
    if (cql == queries.keyspaces) return answers.keyspaces;
    if (cql == queries.types) return answers.types;
    if (cql == queries.tables) return answers.tables;
    if (cql == queries.columns) return answers.columns;
    if (cql == queries.dropped_columns) return answers.dropped_columns;
    return answers.views;
  }

  // All rows, or one a page: the paging state counts those that were sent.
  void AnswerRows(const SystemRows& rows, const std::optional<std::string>& paging_state,
                  ScriptedTurn& turn) {
    testing::RowsAnswer answer;
    answer.metadata.keyspace = "system_schema";
    answer.metadata.table = "t";
    for (const auto& column : rows.columns) {
      answer.metadata.columns.push_back({column.name, column.type});
    }
    answer.metadata.column_count = rows.columns.size();
    const size_t sent = paging_state.value_or("").size();
    if (page_bytes != 0) {
      answer.metadata.has_more_pages = sent < 40;
      if (sent < 40) answer.metadata.paging_state = std::string(sent + 1, 'p');
      std::vector<std::optional<std::string>> row(answer.metadata.column_count);
      row[0] = std::string(page_bytes, 'x');
      bytes_sent += page_bytes;
      answer.rows = {row};
      AppendRows(turn.head, answer, &turn.out);
      return;
    }
    if (pages_for_ever) {
      answer.metadata.has_more_pages = true;
      answer.metadata.paging_state = std::string(state_grows ? sent + 1 : 1, 'p');
    } else if (pages_by_one && sent + 1 < rows.rows.size()) {
      answer.metadata.has_more_pages = true;
      answer.metadata.paging_state = std::string(sent + 1, 'p');
      answer.rows = {rows.rows[sent]};
    } else {
      answer.rows.assign(rows.rows.begin() + static_cast<ptrdiff_t>(sent), rows.rows.end());
    }
    AppendRows(turn.head, answer, &turn.out);
  }

  mutable std::mutex mutex_;
  ModelCluster model_;
  std::vector<std::string> statements_;
  ScriptedCqlServer server_;  // last: its threads use all the others
};

Result<ClusterSchema> Read(SessionClient& client) {
  std::optional<Result<ClusterSchema>> read;
  ReadSchema(*client.loop, *client.session, "plant", "r",
             [&](const Result<ClusterSchema>& schema) { read = schema; });
  EXPECT_FALSE(read.has_value()) << "called from inside";
  EXPECT_TRUE(cql::RunUntil(*client.loop, [&] { return read.has_value(); }));
  return read.value_or(Status::Internal("no answer"));
}

std::optional<cql::ErrorCode> last_error_code;  // of the last Apply

Status Apply(SessionClient& client, const std::vector<std::string>& statements,
             int64_t timeout_us = kLongUs) {
  std::optional<Status> applied;
  ApplyStatements(*client.loop, *client.session, statements, timeout_us,
                  [&](const Applied& done) {
                    applied = done.status;
                    last_error_code = done.error_code;
                  });
  EXPECT_FALSE(applied.has_value()) << "called from inside";
  EXPECT_TRUE(cql::RunUntil(*client.loop, [&] { return applied.has_value(); }));
  return applied.value_or(Status::Internal("no answer"));
}

const char kTable[] =
    "CREATE TABLE r (e text, day date, ts timestamp, v double, PRIMARY KEY ((e, day), ts)) WITH "
    "comment = 'cistern: bucket day = 1 day'";

TEST(SchemaReader, ReadsAppliesAndFindsNoDrift) {
  for (const bool pages : {false, true}) {
    SchemaServer server;
    server.pages_by_one = pages;
    server.looks_without_agreement = 3;
    SessionClient client(cql::Options({server.port()}));
    ASSERT_TRUE(client.WaitUntilReady().ok());
    const std::vector declared{Declared(kTable)};
    const auto before = Read(client);
    ASSERT_TRUE(before.ok()) << before.status().ToString();
    EXPECT_FALSE(before->has_keyspace);
    const SchemaPlan plan = PlanSchema(declared, *before, {{"class", "SimpleStrategy"}});
    const Status applied = Apply(client, plan.statements);
    ASSERT_TRUE(applied.ok()) << applied.ToString();
    EXPECT_EQ(server.statements(), plan.statements);
    EXPECT_EQ(server.looks_without_agreement, 0);
    const auto after = Read(client);
    ASSERT_TRUE(after.ok()) << after.status().ToString();
    EXPECT_EQ(after->table->others.size(), 1u);
    EXPECT_TRUE(CompareSchema(declared, *after).differences.empty());
  }
}

TEST(SchemaReader, NamesTheStatementThatIsRefusedAndEnds) {
  SchemaServer server;
  SessionClient client(cql::Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const Status refused = Apply(client, {"ALTER TABLE plant.r ADD x int;", "DROP TABLE plant.r;"});
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("'ALTER TABLE plant.r ADD x int;'"), std::string::npos);
  EXPECT_NE(refused.message().find("no such thing"), std::string::npos) << refused.ToString();
  EXPECT_EQ(last_error_code, cql::ErrorCode::kInvalid);
  EXPECT_EQ(server.statements().size(), 1u);
  EXPECT_TRUE(Apply(client, {}).ok());
  EXPECT_FALSE(last_error_code.has_value());
}

TEST(SchemaReader, TellsWhichNodesDoNotAgree) {
  SchemaServer server;
  server.looks_without_agreement = 1'000'000;
  SessionClient client(cql::Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  std::optional<Status> agreed;
  AwaitSchemaAgreement(*client.loop, *client.session, 0,
                       [&](const Status& status, bool) { agreed = status; });
  ASSERT_TRUE(cql::RunUntil(*client.loop, [&] { return agreed.has_value(); }));
  EXPECT_EQ(agreed->code(), StatusCode::kBusy);
  EXPECT_NE(agreed->message().find("79797979-7979-7979-7979-797979797979 at 63636363-"),
            std::string::npos) << agreed->message();
}

TEST(SchemaReader, EndlessPagesEnd) {
  for (const bool grows : {false, true}) {
    SchemaServer server;
    server.pages_for_ever = true;
    server.state_grows = grows;
    SessionClient client(cql::Options({server.port()}));
    ASSERT_TRUE(client.WaitUntilReady().ok());
    const auto read = Read(client);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), StatusCode::kCorruption);
    EXPECT_NE(read.status().message().find(grows ? "without a row" : "leads to none"),
              std::string::npos) << read.status().message();
  }
}

TEST(SchemaReader, AnswersOfManyBytesAreRefused) {
  SchemaServer server;
  server.page_bytes = 1 << 20;
  SessionClient client(cql::Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const auto read = Read(client);
  ASSERT_EQ(read.status().code(), StatusCode::kTooLarge) << read.status().ToString();
  EXPECT_LE(server.bytes_sent, 3u << 20);
}

TEST(SchemaReader, EndsWithItsSession) {
  SchemaServer server;
  SessionClient client(cql::Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  client.session->Close();
  const auto read = Read(client);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kClosed);
  EXPECT_NE(read.status().message().find("SELECT * FROM system_schema.keyspaces"),
            std::string::npos);
  EXPECT_EQ(Apply(client, {"CREATE x"}).code(), StatusCode::kClosed);
}

// The host that tells of changes knows a new version; the other lags, and believes that all do.
TEST(SchemaAgreement, AsksTheTellerForItsOwnVersion) {
  std::atomic<int> teller = 0;
  const auto script = [&](int self) {
    return [&teller, self](ScriptedTurn& turn) {
      if (std::holds_alternative<testing::RegisterRequest>(turn.request)) teller = self;
      const auto* query = std::get_if<QueryRequest>(&turn.request);
      if (query == nullptr || !query->cql.starts_with("SELECT host_id, schema_version")) {
        return false;
      }
      const bool is_local = query->cql.ends_with("system.local");
      const bool is_new = is_local && teller == self;
      const bool is_first = is_local == (self == 1);
      testing::RowsAnswer answer;
      answer.metadata.columns = {{"host_id", "uuid"}, {"schema_version", "uuid"}};
      answer.metadata.column_count = 2;
      answer.rows = {{std::string(16, is_first ? 'a' : 'b'), std::string(16, is_new ? 'y' : 'x')}};
      AppendRows(turn.head, answer, &turn.out);
      return true;
    };
  };
  ScriptedCqlServer one({}, script(1));
  ScriptedCqlServer two({}, script(2));
  const testing::NodeRow one_row{.host_id = 'a', .port = one.port()};
  const testing::NodeRow two_row{.host_id = 'b', .port = two.port()};
  one.SetTables(testing::DescribeCluster(one_row, {two_row}));
  two.SetTables(testing::DescribeCluster(two_row, {one_row}));
  SessionClient client(cql::Options({one.port(), two.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const auto& cluster = client.session->cluster();
  ASSERT_TRUE(cql::RunUntil(*client.loop, [&] {
    size_t up = 0;
    for (const auto& [id, host] : cluster.pool().hosts()) up += host.state == cql::HostState::kUp;
    return cluster.is_described() && up == 2 && teller != 0;
  }));
  for (int i = 0; i < 4; ++i) {
    std::optional<Status> agreed;
    AwaitSchemaAgreement(*client.loop, *client.session, 0,
                         [&](const Status& status, bool) { agreed = status; });
    ASSERT_TRUE(cql::RunUntil(*client.loop, [&] { return agreed.has_value(); }));
    EXPECT_EQ(agreed->code(), StatusCode::kBusy) << i << ": " << agreed->ToString();
  }
}

// Every host may refuse the password: nobody has answered the question then.
TEST(SchemaAgreement, IsUnknownWhereNoHostLetsUsIn) {
  testing::ScriptedServerOptions options;
  options.password = testing::PlainCredentials{"u", "p"};
  ScriptedCqlServer server(options);
  SessionClient client(cql::Options({server.port()}));
  EXPECT_EQ(client.WaitUntilReady().code(), StatusCode::kInvalidArgument);
  std::optional<Status> agreed;
  AwaitSchemaAgreement(*client.loop, *client.session, 0,
                       [&](const Status& status, bool) { agreed = status; });
  ASSERT_TRUE(cql::RunUntil(*client.loop, [&] { return agreed.has_value(); }));
  EXPECT_EQ(agreed->code(), StatusCode::kIoError) << agreed->ToString();
}

TEST(SchemaAgreement, TellsWhoLagsBehindTheFirst) {
  EXPECT_TRUE(LaggingNodes({}).empty());
  EXPECT_TRUE(LaggingNodes({Versions({'x'}), Versions({'x', std::nullopt})}).empty());
  EXPECT_EQ(LaggingNodes({Versions({'x'}), Versions({'x', 'y', std::nullopt})}).size(), 1u);
  EXPECT_EQ(LaggingNodes({Versions({'y'}), Versions({'x', 'x'})}).size(), 2u);
}

TEST(SchemaAgreement, IsOfAllNodesThatHaveAVersion) {
  EXPECT_TRUE(CheckAgreement({}).ok());
  EXPECT_TRUE(CheckAgreement({Versions({'x', 'x'}), Versions({'x'})}).ok());
  EXPECT_TRUE(CheckAgreement({Versions({'x', std::nullopt})}).ok());
  EXPECT_EQ(CheckAgreement({Versions({'x'}), Versions({'y'})}).code(), StatusCode::kBusy);
  EXPECT_EQ(CheckAgreement({Versions({'x', 'y'})}).code(), StatusCode::kBusy);
  SystemRows wrong = Versions({'x'});
  wrong.columns[1].type = "text";
  EXPECT_EQ(CheckAgreement({wrong}).code(), StatusCode::kCorruption);
  wrong = Versions({'x'});
  wrong.rows[0][1] = "short";
  EXPECT_EQ(CheckAgreement({wrong}).code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace cistern::replicate
