// The connection that tells a session of changes: when it does not, or has no room to be asked.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::ExecuteRequest;
using testing::RegisterRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedTurn;

constexpr char kInsert[] = "INSERT INTO ks.t (a) VALUES (?)";

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
