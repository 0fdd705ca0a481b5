// The connection that tells a session of changes: when it does not, or has no room to be asked.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::ExecuteRequest;
using testing::RegisterRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedTurn;

// Where no READY comes it is asked again, until one does. The session may end meanwhile.
TEST(SessionControl, RegistersUntilItIsTaken) {
  std::atomic<int> asked = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<RegisterRequest>(turn.request)) return false;
    return ++asked < 4 && AnswerError(turn, ErrorCode::kOverloaded);
  });
  SessionClient client(Options({server.port()}));
  int told = 0;
  client.session->WatchSchema([&](const SchemaChange* change) { told += change == nullptr; });
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return told == 4; }));
  EXPECT_EQ(asked, 4);
}

// Nor is it forgotten where the connection has no room for the question.
TEST(SessionControl, RegistersThoughTheConnectionWasFull) {
  std::atomic<bool> is_executing = false;
  std::atomic<bool> is_well = false;
  std::atomic<int> taken = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      is_executing = true;
      while (!is_well) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!std::holds_alternative<RegisterRequest>(turn.request)) return false;
    if (!is_well) return AnswerError(turn, ErrorCode::kOverloaded);
    ++taken;
    return false;
  });
  SessionOptions options = Options({server.port()});
  options.cluster.connection.requests_max = 1;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    (void)client.Execute(insert, "key");
    return is_executing.load();
  }));
  // Longer than the longest pause.
  bool is_over = false;
  client.loop->After(65 * options.cluster.refresh_delay_us, [&] { is_over = true; });
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return is_over; }));
  is_well = true;
  EXPECT_TRUE(RunUntil(*client.loop, [&] { return taken > 0; }));
}

// The host that told of changes goes while the connection to the other one is full.
TEST(SessionControl, IsTakenByAHostThatHadNoRoomAtFirst) {
  struct Node {
    std::atomic<bool> is_executing = false;
    std::atomic<bool> is_well = false;
    std::atomic<int> registered = 0;
  };
  std::array<Node, 2> nodes;
  std::array<std::unique_ptr<ScriptedCqlServer>, 2> servers;
  for (size_t i = 0; i < 2; ++i) {
    const auto script = [&node = nodes[i]](ScriptedTurn& turn) {
      node.registered += std::holds_alternative<RegisterRequest>(turn.request);
      if (!std::holds_alternative<ExecuteRequest>(turn.request)) return false;
      node.is_executing = true;
      while (!node.is_well) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return false;
    };
    servers[i] = std::make_unique<ScriptedCqlServer>(testing::ScriptedServerOptions(), script);
  }
  const testing::NodeRow a{.host_id = 'a', .port = servers[0]->port()};
  const testing::NodeRow b{.host_id = 'b', .port = servers[1]->port()};
  servers[0]->SetTables(testing::DescribeCluster(a, {b}));
  servers[1]->SetTables(testing::DescribeCluster(b, {a}));
  SessionOptions options = Options({servers[0]->port(), servers[1]->port()});
  options.cluster.connection.requests_max = 1;
  options.cluster.hosts.retry_first_us = 3'600'000'000;  // the host that goes is not tried again
  options.cluster.hosts.retry_max_us = 3'600'000'000;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    (void)client.Execute(insert, "key");
    return nodes[0].is_executing && nodes[1].is_executing;
  }));
  const size_t teller = nodes[0].registered > 0 ? 0 : 1;
  ASSERT_EQ(nodes[1 - teller].registered, 0);
  nodes[teller].is_well = true;  // its thread ends with it
  servers[teller].reset();
  bool is_over = false;
  client.loop->After(20 * options.cluster.refresh_delay_us, [&] { is_over = true; });
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return is_over; }));
  EXPECT_EQ(nodes[1 - teller].registered, 0);
  nodes[1 - teller].is_well = true;
  EXPECT_TRUE(RunUntil(*client.loop, [&] { return nodes[1 - teller].registered > 0; }));
}

TEST(SessionControl, EndsWhileItRegisters) {
  std::atomic<bool> is_asked = false;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<RegisterRequest>(turn.request)) return false;
    is_asked = true;
    turn.out.clear();
    return true;  // without an answer
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return is_asked.load(); }));
  client.session.reset();
  for (int i = 0; i < 20; ++i) (void)client.loop->Wait(1'000, 64);
}

}  // namespace
}  // namespace cistern::cql
