// A session whose servers are well: statements, batches, pages, routing, what changes meanwhile.
#include "engine/cql/session.h"

#include <algorithm>
#include <limits>

#include "engine/cql/token.h"
#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::BatchRequest;
using testing::DescribeCluster;
using testing::ExecuteRequest;
using testing::NodeRow;
using testing::PrepareRequest;
using testing::QueryRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedTurn;

constexpr char kPushEvent[] = "push an event";

constexpr char kPushChange[] = "push a change";

// Answers kPushEvent with an event that tells of a node, kPushChange with one of a table.
bool PushEvent(ScriptedTurn& turn) {
  const auto* query = std::get_if<QueryRequest>(&turn.request);
  const bool is_change = query != nullptr && query->cql == kPushChange;
  if (query == nullptr || (query->cql != kPushEvent && !is_change)) return false;
  NodeEvent event;
  event.kind = NodeEvent::Kind::kAdded;
  event.address = std::string("\x7f\0\0\1", 4);
  event.port = 9042;
  testing::ResponseHead pushed = turn.head;
  pushed.stream = kEventStream;
  if (is_change) {
    AppendSchemaChange(pushed, {"UPDATED", "TABLE", "ks", "t"}, &turn.out);
  } else {
    AppendNodeEvent(pushed, event, &turn.out);
  }
  AppendVoid(turn.head, &turn.out);
  return true;
}

// Three nodes, each the owner of a third of the ring.
class ThreeNodes {
 public:
  ThreeNodes() {
    for (size_t i = 0; i < 3; ++i) {
      servers_.push_back(
          std::make_unique<ScriptedCqlServer>(testing::ScriptedServerOptions(), PushEvent));
    }
    for (size_t i = 0; i < 3; ++i) {
      rows_.push_back({.host_id = static_cast<char>('a' + i), .port = servers_[i]->port(),
                       .tokens = {kTokens[i]}});
    }
    Describe(3);
  }
  // Each says that the cluster is the first `count` of them.
  void Describe(size_t count) {
    for (size_t i = 0; i < 3; ++i) {
      std::vector<NodeRow> peers;
      for (size_t j = 0; j < count; ++j) {
        if (j != i) peers.push_back(rows_[j]);
      }
      servers_[i]->SetTables(DescribeCluster(rows_[i], peers));
    }
  }
  [[nodiscard]] ScriptedCqlServer& at(size_t i) { return *servers_[i]; }
  [[nodiscard]] static size_t OwnerOf(const std::string& key) {
    const int64_t token = TokenOf(key);
    return token <= kTokens[0] ? 0 : token <= kTokens[1] ? 1 : 2;
  }
  [[nodiscard]] bool WaitForHosts(SessionClient& client, size_t count) {
    return RunUntil(*client.loop, [&] {
      size_t up = 0;
      for (const auto& [id, host] : client.session->cluster().pool().hosts()) {
        up += host.state == HostState::kUp ? 1 : 0;
      }
      return up == count && client.session->cluster().is_described();
    });
  }

 private:
  static constexpr int64_t kTokens[] = {-3'000'000'000'000'000'000, 3'000'000'000'000'000'000,
                                        std::numeric_limits<int64_t>::max()};
  std::vector<std::unique_ptr<ScriptedCqlServer>> servers_;
  std::vector<NodeRow> rows_;
};

TEST(Session, PreparesOnceAndExecutes) {
  ScriptedCqlServer server;
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  EXPECT_EQ(client.session->version(), ProtocolVersion::kV5);
  const uint32_t insert = client.Prepare(kInsert);
  EXPECT_EQ(client.Prepare(kInsert), insert);
  const uint32_t remove = client.Prepare("DELETE FROM ks.t WHERE a = ?");
  EXPECT_NE(remove, insert);
  EXPECT_EQ(client.session->statement(insert).markers.table, "t");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Execute(insert, "k" + std::to_string(i)).ok());
  ASSERT_TRUE(client.WaitForAll());
  for (const auto& one : client.endings) {
    EXPECT_EQ(one->kind, OutcomeKind::kDone);
    EXPECT_TRUE(one->status.ok());
    EXPECT_EQ(one->attempts, 1u);
  }
  EXPECT_EQ(server.Received<PrepareRequest>().size(), 2u);
  const auto executed = server.Received<ExecuteRequest>();
  ASSERT_EQ(executed.size(), 100u);
  EXPECT_EQ(executed[7].id, testing::ScriptedStatementId(kInsert));
  EXPECT_EQ(executed[7].metadata_id, "metadata-1");
  EXPECT_EQ(executed[7].parameters.values[0].bytes, "k7");
  EXPECT_EQ(client.session->requests_in_flight(), 0u);
  EXPECT_EQ(client.session->bytes_in_flight(), 0u);
  EXPECT_TRUE(server.complaints().empty());
}

TEST(Session, SendsBatchesWithTheirOptions) {
  ScriptedCqlServer server;
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  const uint32_t remove = client.Prepare("DELETE FROM ks.t WHERE a = ?");
  BoundBatch batch;
  for (const uint32_t statement : {insert, remove, insert}) batch.Begin(statement).Value("key");
  BatchOptions options;
  options.consistency = Consistency::kLocalQuorum;
  options.now_in_seconds = 1'700'000'000;
  ASSERT_TRUE(client.session->Batch(batch, options, client.Keep()).ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->kind, OutcomeKind::kDone);
  const auto sent = server.Received<BatchRequest>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, BatchType::kUnlogged);
  EXPECT_EQ(sent[0].entries.size(), 3u);
  EXPECT_EQ(sent[0].entries[0].id, sent[0].entries[2].id);
  EXPECT_EQ(sent[0].parameters.now_in_seconds, 1'700'000'000u);
  EXPECT_EQ(sent[0].parameters.consistency, Consistency::kLocalQuorum);
  EXPECT_EQ(client.session->Batch(BoundBatch(), options, {}).code(),
            StatusCode::kInvalidArgument);
  BoundStatement unknown{.statement = 99, .values = {}};
  EXPECT_EQ(client.session->Execute(unknown, {}, {}).code(), StatusCode::kInvalidArgument);
}

TEST(Session, GoesThroughPages) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    const auto* query = std::get_if<QueryRequest>(&turn.request);
    if (query == nullptr || query->cql != "SELECT a FROM ks.t") return false;
    EXPECT_EQ(query->parameters.page_rows, 2);
    const std::string from = query->parameters.paging_state.value_or("");
    testing::RowsAnswer answer;
    answer.metadata.columns = {{"a", "int"}};
    answer.metadata.column_count = 1;
    if (from != "page-3") answer.metadata.paging_state = from.empty() ? "page-2" : "page-3";
    answer.metadata.has_more_pages = from != "page-3";
    answer.rows.assign(from == "page-3" ? 1 : 2, {std::string("\0\0\0\1", 4)});
    AppendRows(turn.head, answer, &turn.out);
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  size_t row_count = 0;
  std::string paging_state;
  int pages = 0;
  do {
    SessionQuery query;
    query.options.page_rows = 2;
    query.paging_state = paging_state;
    ASSERT_TRUE(client.session->Query("SELECT a FROM ks.t", {}, query, client.Keep()).ok());
    ASSERT_TRUE(client.WaitForAll());
    row_count += client.endings.back()->row_count;
    paging_state = client.endings.back()->paging_state;
  } while (!paging_state.empty() && ++pages < 10);
  EXPECT_EQ(row_count, 5u);
}

TEST(Session, RoutesByToken) {
  ThreeNodes nodes;
  SessionClient client(Options({nodes.at(1).port()}));  // one contact: the others are found
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(nodes.WaitForHosts(client, 3));
  const uint32_t insert = client.Prepare(kInsert);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(client.Execute(insert, "key " + std::to_string(i)).ok());
    BoundBatch batch;
    batch.Begin(insert).Value("batch " + std::to_string(i));
    ASSERT_TRUE(client.session->Batch(batch, {}, client.Keep()).ok());
  }
  ASSERT_TRUE(client.WaitForAll());
  for (const auto& one : client.endings) ASSERT_EQ(one->kind, OutcomeKind::kDone);
  size_t total = 0;
  for (size_t i = 0; i < 3; ++i) {
    const auto executed = nodes.at(i).Received<ExecuteRequest>();
    EXPECT_GT(executed.size(), 20u);
    for (const auto& one : executed) {
      EXPECT_EQ(ThreeNodes::OwnerOf(one.parameters.values[0].bytes), i);
    }
    for (const auto& one : nodes.at(i).Received<BatchRequest>()) {
      EXPECT_EQ(ThreeNodes::OwnerOf(one.entries[0].values[0].bytes), i);
    }
    total += executed.size();
  }
  EXPECT_EQ(total, 300u);
}

TEST(Session, UsesThePeersTableOfOlderServers) {
  ScriptedCqlServer other;
  const NodeRow other_row{.host_id = 'b', .port = other.port(), .tokens = {100}};
  // system.peers has no ports: the other node is looked for on the port of this one, in vain.
  ScriptedCqlServer server;
  auto tables = DescribeCluster({.host_id = 'a', .tokens = {0}}, {other_row});
  tables.erase("system.peers_v2");
  server.SetTables(tables);
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  EXPECT_EQ(client.session->cluster().pool().hosts().size(), 2u);
}

TEST(Session, FollowsNodesThatComeAndGo) {
  ThreeNodes nodes;
  nodes.Describe(1);
  SessionClient client(Options({nodes.at(0).port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(nodes.WaitForHosts(client, 1));
  for (const size_t count : {size_t{3}, size_t{2}, size_t{3}}) {
    const uint64_t lost = client.session->cluster().hosts_lost();
    nodes.Describe(count);
    // Any host may get one; that of the control connection is listened to.
    for (int i = 0; i < 9; ++i) {
      ASSERT_TRUE(client.session->Query(kPushEvent, {}, kWrite, client.Keep()).ok());
    }
    ASSERT_TRUE(client.WaitForAll());
    ASSERT_TRUE(nodes.WaitForHosts(client, count)) << count;
    // A node that left the cluster took with it what it alone had.
    EXPECT_EQ(client.session->cluster().hosts_lost() - lost, count == 2 ? 1u : 0u);
  }
}

// Another one was not asked for events: what comes there is told twice, or is none.
TEST(Session, ListensToTheControlConnectionAlone) {
  ThreeNodes nodes;
  SessionClient client(Options({nodes.at(0).port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(nodes.WaitForHosts(client, 3));
  size_t told = 0;
  client.session->WatchSchema(
      [&](const SchemaChange* change) { told += change != nullptr ? 1 : 0; });
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(client.session->Query(kPushChange, {}, kWrite, client.Keep()).ok());
  }
  ASSERT_TRUE(client.WaitForAll());
  const auto asked = nodes.at(0).Received<QueryRequest>();
  const auto pushed = std::count_if(asked.begin(), asked.end(), [](const QueryRequest& query) {
    return query.cql == kPushChange;
  });
  EXPECT_EQ(told, static_cast<size_t>(pushed));
  EXPECT_GT(told, 0u);
  EXPECT_LT(told, 9u);
}

TEST(Session, FindsAnotherControlConnection) {
  ThreeNodes nodes;
  SessionClient client(Options({nodes.at(0).port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(nodes.WaitForHosts(client, 3));
  const size_t before = nodes.at(1).Received<testing::RegisterRequest>().size() +
                        nodes.at(2).Received<testing::RegisterRequest>().size();
  EXPECT_EQ(before, 0u);
  // What was altered while nobody listened is not known.
  size_t unknown_changes = 0;
  client.session->WatchSchema(
      [&](const SchemaChange* change) { unknown_changes += change == nullptr ? 1 : 0; });
  nodes.at(0).ShutAll();
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    return nodes.at(1).Received<testing::RegisterRequest>().size() +
               nodes.at(2).Received<testing::RegisterRequest>().size() == 1;
  }));
  EXPECT_TRUE(RunUntil(*client.loop, [&] { return unknown_changes == 1; }));
  ASSERT_TRUE(nodes.WaitForHosts(client, 3));
}

TEST(Session, KeepsTheNewMetadataId) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    const auto* execute = std::get_if<ExecuteRequest>(&turn.request);
    if (execute == nullptr) return false;
    testing::RowsAnswer answer;
    answer.metadata.columns = {{"a", "int"}, {"b", "int"}};
    answer.metadata.column_count = 2;
    if (execute->metadata_id != "metadata-2") answer.metadata.new_metadata_id = "metadata-2";
    AppendRows(turn.head, answer, &turn.out);
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t select = client.Prepare("SELECT * FROM ks.t WHERE a = ?");
  for (int i = 0; i < 3; ++i) {
    BoundStatement bound{.statement = select, .values = {}};
    ValueWriter(&bound.values).Value("key");
    ASSERT_TRUE(client.session->Execute(bound, {}, client.Keep()).ok());
    ASSERT_TRUE(client.WaitForAll());
    EXPECT_EQ(client.endings.back()->kind, OutcomeKind::kDone);
  }
  const auto executed = server.Received<ExecuteRequest>();
  ASSERT_EQ(executed.size(), 3u);
  EXPECT_EQ(executed[0].metadata_id, "metadata-1");
  EXPECT_EQ(executed[1].metadata_id, "metadata-2");
  EXPECT_EQ(executed[2].metadata_id, "metadata-2");
  EXPECT_EQ(client.session->statement(select).result.columns.size(), 2u);
}

// A cluster in the middle of its upgrade: what old hosts cannot say goes to the new ones.
TEST(Session, HostsThatCannotSayItArePassedOver) {
  testing::ScriptedServerOptions before;
  before.version_max = ProtocolVersion::kV4;
  ScriptedCqlServer older(before);
  auto newer = std::make_unique<ScriptedCqlServer>();
  const NodeRow older_row{.host_id = 'a', .port = older.port(), .tokens = {0}};
  const NodeRow newer_row{.host_id = 'b', .port = newer->port(), .tokens = {100}};
  older.SetTables(DescribeCluster(older_row, {newer_row}));
  newer->SetTables(DescribeCluster(newer_row, {older_row}));
  SessionClient client(Options({older.port(), newer->port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    const auto plan = client.session->cluster().pool().hosts();
    return std::count_if(plan.begin(), plan.end(), [](const auto& one) {
             return one.second.state == HostState::kUp;
           }) == 2;
  }));
  const uint32_t insert = client.Prepare(kInsert);
  BatchOptions options;
  options.now_in_seconds = 1;
  for (int i = 0; i < 20; ++i) {
    BoundBatch batch;
    batch.Begin(insert).Value("key " + std::to_string(i));
    ASSERT_TRUE(client.session->Batch(batch, options, client.Keep()).ok());
    ASSERT_TRUE(client.WaitForAll());
    EXPECT_EQ(client.endings.back()->kind, OutcomeKind::kDone);
    EXPECT_EQ(client.endings.back()->host.port, newer->port());
  }
  // The last that can goes: one word for all that is sent from now on.
  newer.reset();
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    BoundBatch batch;
    batch.Begin(insert).Value("key");
    const Status begun = client.session->Batch(batch, options, client.Keep());
    if (!begun.ok()) client.endings.pop_back();
    return client.WaitForAll() && begun.code() == StatusCode::kNotSupported;
  }));
}

}  // namespace
}  // namespace cistern::cql
