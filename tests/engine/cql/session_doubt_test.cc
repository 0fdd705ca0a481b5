// Hosts that may have prepared a statement for other types than the session knows: nothing bound
// goes there until they have told.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "engine/cql/token.h"
#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::DescribeCluster;
using testing::ExecuteRequest;
using testing::NodeRow;
using testing::PrepareRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedTurn;

// The answer to the PREPARE that is sent again is lost: the server knows the statement for the
// types of another table, and nobody here does. Nor does an ERROR tell them then.
TEST(SessionDoubt, NothingIsSentWhereTheAnswerToItsPrepareIsLost) {
  std::atomic<bool> is_known = true;
  std::atomic<bool> is_made_anew = false;
  std::atomic<int> prepared_again = 0;
  std::atomic<int> executed_anew = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      if (!is_known) return AnswerError(turn, ErrorCode::kUnprepared);
      if (is_made_anew) ++executed_anew;
      return false;
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || !is_made_anew) return false;
    is_known = true;
    switch (++prepared_again) {
      case 1: turn.out.clear(); turn.closes = true; return true;
      case 2: return AnswerError(turn, ErrorCode::kOverloaded);
      default: return AnswerPreparedAnew(turn, *prepare);
    }
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  is_known = false;
  is_made_anew = true;
  ASSERT_TRUE(client.Execute(insert, "key").ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(prepared_again, 3);
  EXPECT_EQ(executed_anew, 0);
  EXPECT_EQ(client.endings[0]->status.code(), StatusCode::kNotSupported);
}

// Nothing of the request was sent: it began with a PREPARE, and no answer to that comes.
TEST(SessionDoubt, WhatIsNotSentForADoubtIsToldSo) {
  std::atomic<bool> is_lost = false;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!is_lost) return false;
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      return AnswerError(turn, ErrorCode::kUnprepared);
    }
    if (!std::holds_alternative<PrepareRequest>(turn.request)) return false;
    turn.out.clear();
    turn.closes = true;
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  is_lost = true;
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.WaitUntilReady().ok());
    ASSERT_TRUE(client.Execute(insert, "key").ok());
    ASSERT_TRUE(client.WaitForAll());
    EXPECT_NE(client.endings[i]->kind, OutcomeKind::kDone);
    EXPECT_FALSE(client.endings[i]->status.ok()) << i;
  }
}

// It leaves the cluster while it is asked to prepare again: what waits for it goes elsewhere.
TEST(SessionDoubt, AHostMayLeaveWhileItIsInDoubt) {
  static constexpr char kLeave[] = "the other one leaves";
  std::atomic<bool> forgets = false;
  std::atomic<bool> is_asked = false;
  std::atomic<bool> is_over = false;
  ScriptedCqlServer one({}, [](ScriptedTurn& turn) {
    const auto* query = std::get_if<testing::QueryRequest>(&turn.request);
    if (query == nullptr || query->cql != kLeave) return false;
    testing::ResponseHead pushed = turn.head;
    pushed.stream = kEventStream;
    NodeEvent event{.kind = NodeEvent::Kind::kRemoved, .address = std::string("\x7f\0\0\1", 4)};
    AppendNodeEvent(pushed, event, &turn.out);
    AppendVoid(turn.head, &turn.out);
    return true;
  });
  ScriptedCqlServer two({}, [&](ScriptedTurn& turn) {
    if (!forgets) return false;
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      return AnswerError(turn, ErrorCode::kUnprepared);
    }
    if (!std::holds_alternative<PrepareRequest>(turn.request)) return false;
    is_asked = true;
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
  });
  const NodeRow one_row{.host_id = 'a', .port = one.port(), .tokens = {0}};
  const NodeRow two_row{.host_id = 'b', .port = two.port(), .tokens = {INT64_MAX}};
  one.SetTables(DescribeCluster(one_row, {two_row}));
  two.SetTables(DescribeCluster(two_row, {one_row}));
  SessionClient client(Options({one.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  forgets = true;
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    // One key after another, until one of them is of that host.
    const std::string key = std::to_string(client.endings.size());
    if (client.session->requests_in_flight() == 0) (void)client.Execute(insert, key);
    return is_asked.load();
  }));
  one.SetTables(DescribeCluster(one_row, {}));
  const SessionQuery leave{.answer = AnswerKind::kVoid, .asks_control = true};
  ASSERT_TRUE(client.session->Query(kLeave, {}, leave, client.Keep()).ok());
  const auto& hosts = client.session->cluster().pool().hosts();
  EXPECT_TRUE(RunUntil(*client.loop, [&] { return hosts.size() == 1; }));
  EXPECT_TRUE(client.WaitForAll());
  for (const auto& ending : client.endings) EXPECT_EQ(ending->kind, OutcomeKind::kDone);
  is_over = true;
}

// One of its statements is refused, while the answer for the other one is under way.
TEST(SessionDoubt, AStatementStaysInDoubtThoughItsRequestIsOver) {
  const std::string other = "INSERT INTO ks.u (a) VALUES (?)";
  std::atomic<bool> is_known = true;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (is_known) return false;
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr) {
      return std::holds_alternative<testing::BatchRequest>(turn.request) &&
             AnswerError(turn, ErrorCode::kUnprepared);
    }
    if (prepare->cql == other) return AnswerError(turn, ErrorCode::kInvalid);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return AnswerPreparedAnew(turn, *prepare);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t refused = client.Prepare(other);
  const uint32_t insert = client.Prepare(kInsert);
  is_known = false;
  BoundBatch batch;
  for (const uint32_t statement : {refused, insert}) batch.Begin(statement).Value("key");
  ASSERT_TRUE(client.session->Batch(batch, {}, client.Keep()).ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->kind, OutcomeKind::kRefused);
  ASSERT_EQ(client.session->statement(insert).revision, 0u);  // its answer was not read yet
  EXPECT_EQ(client.Run(insert).status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(client.session->statement(insert).revision, 1u);
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);
}

// Two nodes of a cluster. Each has the table with the type that it is told here, and a statement
// for the one that it had when somebody prepared it there last.
class TwoNodes {
 public:
  TwoNodes() {
    const NodeRow row_a{.host_id = 'a', .port = nodes_[0].server.port(), .tokens = {0}};
    const NodeRow row_b{.host_id = 'b', .port = nodes_[1].server.port(), .tokens = {INT64_MAX}};
    nodes_[0].server.SetTables(DescribeCluster(row_a, {row_b}));
    nodes_[1].server.SetTables(DescribeCluster(row_b, {row_a}));
  }
  [[nodiscard]] uint16_t port(size_t node) const { return nodes_[node].server.port(); }
  // It has forgotten the statement then, as when the table was altered.
  void SetType(size_t node, const std::string& type) {
    const std::lock_guard lock(nodes_[node].mutex);
    nodes_[node].type = type;
    nodes_[node].prepared_type.clear();
  }
  // As another client does.
  void PrepareThere(size_t node) {
    const std::lock_guard lock(nodes_[node].mutex);
    nodes_[node].prepared_type = nodes_[node].type;
  }
  void EndConnections(size_t node) { nodes_[node].server.ShutAll(); }
  // The types for which values were taken, since the last call.
  [[nodiscard]] std::vector<std::string> TakeTaken(size_t node) {
    const std::lock_guard lock(nodes_[node].mutex);
    return std::exchange(nodes_[node].taken, {});
  }
  // A key of that node's.
  [[nodiscard]] static std::string KeyOf(size_t node) {
    for (int i = 0;; ++i) {
      const std::string key = "key " + std::to_string(i);
      if ((TokenOf(key) <= 0) == (node == 0)) return key;
    }
  }
  [[nodiscard]] static bool WaitForBoth(SessionClient& client) {
    const auto& cluster = client.session->cluster();
    return RunUntil(*client.loop, [&] {
      const auto& hosts = cluster.pool().hosts();
      const auto is_up = [](const auto& host) { return host.second.state == HostState::kUp; };
      return cluster.is_described() && std::count_if(hosts.begin(), hosts.end(), is_up) == 2;
    });
  }

 private:
  struct Node {
    std::mutex mutex;
    std::string type = "blob";
    std::string prepared_type;
    std::vector<std::string> taken;
    ScriptedCqlServer server{{}, [this](ScriptedTurn& turn) {
      const std::lock_guard lock(mutex);
      if (std::holds_alternative<ExecuteRequest>(turn.request)) {
        if (prepared_type.empty()) return AnswerError(turn, ErrorCode::kUnprepared);
        taken.push_back(prepared_type);
        return false;
      }
      const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
      if (prepare == nullptr) return false;
      prepared_type = type;
      PreparedResult prepared;
      prepared.ids = {testing::ScriptedStatementId(prepare->cql), "metadata of " + type};
      prepared.markers = MarkersOf({{"m", type}});
      prepared.key_markers = {0};
      AppendPrepared(turn.head, prepared, &turn.out);
      return true;
    }};
  };
  std::array<Node, 2> nodes_;
};

// Another client has it prepared for a table that was made anew, which only one node knows of.
TEST(SessionDoubt, AHostIsAskedBeforeItsFirstValues) {
  TwoNodes nodes;
  SessionClient client(Options({nodes.port(0)}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(TwoNodes::WaitForBoth(client));
  nodes.SetType(1, "bigint");
  nodes.PrepareThere(1);
  EXPECT_EQ(client.Run(insert, TwoNodes::KeyOf(1)).status.code(), StatusCode::kNotSupported);
  EXPECT_TRUE(nodes.TakeTaken(1).empty());
}

// The same, over a connection that has ended: who was told on that one was told of another table.
TEST(SessionDoubt, AHostIsAskedAgainOnItsNextConnection) {
  TwoNodes nodes;
  SessionClient client(Options({nodes.port(0)}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(TwoNodes::WaitForBoth(client));
  ASSERT_EQ(client.Run(insert, TwoNodes::KeyOf(1)).kind, OutcomeKind::kDone);
  ASSERT_EQ(nodes.TakeTaken(1).size(), 1u);
  nodes.SetType(1, "bigint");
  nodes.PrepareThere(1);
  const uint64_t lost = client.session->cluster().hosts_lost();
  nodes.EndConnections(1);
  ASSERT_TRUE(RunUntil(*client.loop,
                       [&] { return client.session->cluster().hosts_lost() > lost; }));
  ASSERT_TRUE(TwoNodes::WaitForBoth(client));
  EXPECT_EQ(client.Run(insert, TwoNodes::KeyOf(1)).status.code(), StatusCode::kNotSupported);
  EXPECT_TRUE(nodes.TakeTaken(1).empty());
}

// A link prepares its statement anew; values for the types of before are behind that on their way.
TEST(SessionDoubt, NothingIsSentBehindALinksOwnPrepare) {
  TwoNodes nodes;
  SessionOptions options = Options({nodes.port(0)});
  options.cluster.hosts.connected_max = 1;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  nodes.SetType(0, "bigint");
  const auto done = [](const Outcome&, uint32_t) {};
  ASSERT_TRUE(client.session->Prepare(kInsert, done, true).ok());
  EXPECT_EQ(client.Run(insert).status.code(), StatusCode::kNotSupported);
  EXPECT_TRUE(nodes.TakeTaken(0).empty());
}

// A first PREPARE that was given up may be executed after the one that was answered.
TEST(SessionDoubt, TheSecondOfTwoFirstPreparesIsNotEnough) {
  std::atomic<int> prepared = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<PrepareRequest>(turn.request) || ++prepared > 1) return false;
    turn.out.clear();
    turn.closes = true;
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  EXPECT_EQ(prepared, 2);
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);
  EXPECT_EQ(prepared, 3);
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);
  EXPECT_EQ(prepared, 3);
}

// One has told of other types; values for those must not go to the one that told of the first, nor
// back, until they tell the same.
TEST(SessionDoubt, NodesThatDifferTakeNoValuesOfEachOther) {
  TwoNodes nodes;
  SessionClient client(Options({nodes.port(0)}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(TwoNodes::WaitForBoth(client));
  for (const size_t node : {0, 1}) {
    ASSERT_EQ(client.Run(insert, TwoNodes::KeyOf(node)).kind, OutcomeKind::kDone);
    ASSERT_EQ(nodes.TakeTaken(node).size(), 1u);
  }
  nodes.SetType(1, "bigint");
  for (const size_t node : {1, 0, 1, 0}) {
    const Ending ending = client.Run(insert, TwoNodes::KeyOf(node));
    EXPECT_EQ(ending.status.code(), StatusCode::kNotSupported) << node;
    EXPECT_TRUE(nodes.TakeTaken(node).empty()) << node;
  }
  nodes.SetType(0, "bigint");
  EXPECT_EQ(client.Run(insert, TwoNodes::KeyOf(1)).status.code(), StatusCode::kNotSupported);
  for (const size_t node : {0, 1}) {
    EXPECT_EQ(client.Run(insert, TwoNodes::KeyOf(node)).kind, OutcomeKind::kDone);
    EXPECT_EQ(nodes.TakeTaken(node), std::vector<std::string>{"bigint"});
  }
}

// A host that tells nobody the types keeps what waits for it only until the first answer is lost.
TEST(SessionDoubt, WhatWaitsForALostAnswerGoesElsewhere) {
  std::atomic<int> swallowed = 0;
  ScriptedCqlServer one;
  ScriptedCqlServer two({}, [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<PrepareRequest>(turn.request)) return false;
    ++swallowed;
    turn.out.clear();
    return true;
  });
  const NodeRow one_row{.host_id = 'a', .port = one.port(), .tokens = {0}};
  const NodeRow two_row{.host_id = 'b', .port = two.port(), .tokens = {INT64_MAX}};
  one.SetTables(DescribeCluster(one_row, {two_row}));
  two.SetTables(DescribeCluster(two_row, {one_row}));
  const auto clock = std::make_shared<FakeClock>();
  SessionOptions options = Options({one.port()});
  SessionClient client(options, clock);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(TwoNodes::WaitForBoth(client));
  constexpr size_t kCount = 20;
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(client.Execute(insert, TwoNodes::KeyOf(1)).ok());
  }
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return swallowed == 1; }));
  clock->AdvanceMicros(options.cluster.connection.request_timeout_us + 1);
  ASSERT_TRUE(client.WaitForAll());
  for (const auto& ending : client.endings) EXPECT_EQ(ending->kind, OutcomeKind::kDone);
  EXPECT_EQ(swallowed, 1);
  EXPECT_EQ(one.Received<ExecuteRequest>().size(), kCount);
}

// A link prepares its statements once more after an alteration. Where the answer is lost the host
// may have them for the types of another table, as if it had forgotten them.
TEST(SessionDoubt, NothingIsSentWhereTheAnswerToALinksOwnPrepareIsLost) {
  std::atomic<bool> is_made_anew = false;
  std::atomic<int> prepared_anew = 0;
  std::atomic<int> executed_anew = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!is_made_anew) return false;
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      ++executed_anew;
      return false;
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr) return false;
    switch (++prepared_anew) {
      case 1: turn.out.clear(); turn.closes = true; return true;
      case 2: return AnswerError(turn, ErrorCode::kInvalid);
      default: return AnswerPreparedAnew(turn, *prepare);
    }
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  is_made_anew = true;
  std::optional<OutcomeKind> ending;
  const auto done = [&](const Outcome& outcome, uint32_t) { ending = outcome.kind; };
  ASSERT_TRUE(client.session->Prepare(kInsert, done, true).ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return ending.has_value(); }));
  EXPECT_EQ(ending, OutcomeKind::kRefused);
  const Ending executed = client.Run(insert);
  EXPECT_EQ(executed.kind, OutcomeKind::kRefused);
  EXPECT_EQ(executed.status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(executed_anew, 0);
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);  // bound for the types of now
  EXPECT_EQ(executed_anew, 1);
}

// The answer is lost with the connection, and the host comes back by its second name.
TEST(SessionDoubt, AHostTakesItsDoubtsAlongToAnotherName) {
  std::atomic<bool> is_known = true;
  std::atomic<bool> is_made_anew = false;
  std::atomic<bool> is_lost = false;
  std::atomic<int> executed_anew = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      if (!is_known) return AnswerError(turn, ErrorCode::kUnprepared);
      if (is_made_anew) ++executed_anew;
      return false;
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || !is_made_anew) return false;
    is_known = true;
    if (is_lost.exchange(true)) return AnswerPreparedAnew(turn, *prepare);
    turn.out.clear();
    turn.closes = true;
    return true;
  });
  SessionOptions options = Options({server.port()});
  options.cluster.hosts.contacts.push_back({"localhost", server.port()});
  // Longer than the test: the name that was lost is not tried again.
  options.cluster.hosts.retry_first_us = 600'000'000;
  options.cluster.hosts.retry_max_us = 600'000'000;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  const Ending before = client.Run(insert);
  ASSERT_EQ(before.kind, OutcomeKind::kDone);
  is_known = false;
  is_made_anew = true;
  const Ending after = client.Run(insert);
  EXPECT_NE(after.host.host, before.host.host);
  EXPECT_EQ(after.kind, OutcomeKind::kRefused);
  EXPECT_EQ(after.status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(executed_anew, 0);
}

}  // namespace
}  // namespace cistern::cql
