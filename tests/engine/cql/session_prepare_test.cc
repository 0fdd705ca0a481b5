// Statements that a server has forgotten, or prepares otherwise than before.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::DescribeCluster;
using testing::ExecuteRequest;
using testing::NodeRow;
using testing::PrepareRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedStatementId;
using testing::ScriptedTurn;

TEST(SessionPrepare, ForgottenStatementIsPreparedAgainThere) {
  std::atomic<bool> is_known = true;
  std::atomic<bool> has_new_ids = false;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare != nullptr) {
      is_known = true;
      if (!has_new_ids) return false;
      PreparedResult prepared;
      prepared.ids = {"another id", "another metadata"};
      prepared.markers = MarkersOf({{"m", "blob"}});
      prepared.key_markers = {0};
      AppendPrepared(turn.head, prepared, &turn.out);
      return true;
    }
    const auto* execute = std::get_if<ExecuteRequest>(&turn.request);
    if (execute == nullptr) return false;
    const bool is_right = is_known && (!has_new_ids || execute->id == "another id");
    return !is_right && AnswerError(turn, ErrorCode::kUnprepared);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  // Its table may have been altered: whoever goes by its schema is told.
  std::vector<std::string> changed;
  client.session->WatchSchema([&](const SchemaChange* change) {
    if (change != nullptr) changed.push_back(change->keyspace + "." + change->name);
  });
  for (const bool changes : {false, true}) {
    is_known = false;
    has_new_ids = changes;
    const Ending ending = client.Run(insert);
    EXPECT_EQ(ending.kind, OutcomeKind::kDone) << ending.status.ToString();
    EXPECT_EQ(ending.attempts, 2u);
    EXPECT_EQ(client.Run(insert).attempts, 1u);
  }
  EXPECT_EQ(server.Received<PrepareRequest>().size(), 3u);
  EXPECT_EQ(changed, (std::vector<std::string>{"ks.t", "ks.t"}));
}

// Values that were made for another table of that name: those on their way too.
TEST(SessionPrepare, WhatWasBoundForOtherTypesIsRefused) {
  std::atomic<bool> is_known = true;
  std::atomic<bool> is_made_anew = false;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      return !is_known && AnswerError(turn, ErrorCode::kUnprepared);
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || !is_made_anew) return false;
    is_known = true;
    return AnswerPreparedAnew(turn, *prepare);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  is_known = false;
  is_made_anew = true;
  constexpr size_t kOnTheirWay = 3;
  for (size_t i = 0; i < kOnTheirWay; ++i) ASSERT_TRUE(client.Execute(insert, "key").ok());
  ASSERT_TRUE(client.WaitForAll());
  for (size_t i = 0; i < kOnTheirWay; ++i) {
    EXPECT_EQ(client.endings[i]->kind, OutcomeKind::kRefused);
    EXPECT_EQ(client.endings[i]->error_code, std::nullopt);  // no server says so
    EXPECT_EQ(client.endings[i]->status.code(), StatusCode::kNotSupported);
    EXPECT_NE(client.endings[i]->status.message().find("have other types"), std::string::npos);
  }
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);
}

// The same names in another place of the key, or other columns in the answer. What was bound since
// is for the table that is there now.
TEST(SessionPrepare, WhatWasBoundForAnotherKeyOrAnswerIsRefused) {
  PreparedResult other_key;
  other_key.key_markers = {1};
  PreparedResult other_answer;
  other_answer.key_markers = {0};
  other_answer.result = MarkersOf({{"a", "int"}});
  for (PreparedResult anew : {other_key, other_answer}) {
    SCOPED_TRACE(anew.key_markers[0]);
    std::atomic<bool> is_known = true;
    std::atomic<bool> is_made_anew = false;
    anew.markers = MarkersOf({{"m", "blob"}, {"n", "blob"}});
    ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
      if (std::holds_alternative<ExecuteRequest>(turn.request)) {
        return !is_known && AnswerError(turn, ErrorCode::kUnprepared);
      }
      const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
      if (prepare == nullptr) return false;
      is_known = true;
      PreparedResult prepared = anew;
      if (!is_made_anew) {
        prepared.key_markers = {0};
        prepared.result = {};
      }
      prepared.ids = {ScriptedStatementId(prepare->cql), "metadata"};
      AppendPrepared(turn.head, prepared, &turn.out);
      return true;
    });
    SessionClient client(Options({server.port()}));
    ASSERT_TRUE(client.WaitUntilReady().ok());
    const uint32_t insert = client.Prepare("INSERT INTO ks.t (m, n) VALUES (?, ?)");
    is_known = false;
    is_made_anew = true;
    const Ending ending = client.Run(insert);
    EXPECT_EQ(ending.kind, OutcomeKind::kRefused);
    EXPECT_EQ(ending.status.code(), StatusCode::kNotSupported);
    is_known = false;
    EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);
    EXPECT_EQ(client.session->statement(insert).revision, 1u);
  }
}

// A pause after a refusal, during which another request finds the table made anew.
TEST(SessionPrepare, WhatWaitsToBeSentAgainIsRefusedToo) {
  std::atomic<bool> is_known = true;
  std::atomic<int> received = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (const auto* execute = std::get_if<ExecuteRequest>(&turn.request)) {
      if (execute->parameters.values[0].bytes == "waits") {
        return ++received == 1 && AnswerError(turn, ErrorCode::kOverloaded);
      }
      return !is_known && AnswerError(turn, ErrorCode::kUnprepared);
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || is_known.exchange(true)) return false;
    return AnswerPreparedAnew(turn, *prepare);
  });
  const auto clock = std::make_shared<FakeClock>();
  const SessionOptions options = Options({server.port()});
  SessionClient client(options, clock);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(client.Execute(insert, "waits").ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return received == 1; }));
  is_known = false;
  ASSERT_TRUE(client.Execute(insert, "key").ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.endings[1].has_value(); }));
  EXPECT_FALSE(client.endings[0]);
  clock->AdvanceMicros(options.retry_max_us);
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->kind, OutcomeKind::kRefused);
  EXPECT_EQ(client.endings[0]->status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(received, 1);
}

// One host has not answered yet when another one finds the table made anew.
TEST(SessionPrepare, WhatOneHostRefusesLateGoesToNoOther) {
  std::atomic<bool> is_known = true;
  std::atomic<bool> is_answered = false;
  std::atomic<int> received = 0;
  const auto script = [&](ScriptedTurn& turn) {
    if (const auto* execute = std::get_if<ExecuteRequest>(&turn.request)) {
      if (execute->parameters.values[0].bytes == "late") {
        if (++received > 1) return false;
        while (!is_answered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return AnswerError(turn, ErrorCode::kOverloaded);
      }
      return !is_known && AnswerError(turn, ErrorCode::kUnprepared);
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || is_known.exchange(true)) return false;
    return AnswerPreparedAnew(turn, *prepare);
  };
  ScriptedCqlServer one({}, script);
  ScriptedCqlServer two({}, script);
  const NodeRow one_row{.host_id = 'a', .port = one.port()};
  const NodeRow two_row{.host_id = 'b', .port = two.port()};
  one.SetTables(DescribeCluster(one_row, {two_row}));
  two.SetTables(DescribeCluster(two_row, {one_row}));
  SessionClient client(Options({one.port(), two.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const auto& hosts = client.session->cluster().pool().hosts();
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    return client.session->cluster().is_described() &&
           std::count_if(hosts.begin(), hosts.end(), [](const auto& host) {
             return host.second.state == HostState::kUp;
           }) == 2;
  }));
  const uint32_t insert = client.Prepare(kInsert);
  ASSERT_TRUE(client.Execute(insert, "late").ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return received == 1; }));
  is_known = false;
  ASSERT_TRUE(client.Execute(insert, "key").ok());  // to the host that has nothing to do
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.endings[1].has_value(); }));
  is_answered = true;
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->kind, OutcomeKind::kRefused);
  EXPECT_EQ(client.endings[0]->status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(received, 1);
}

// Behind a PREPARE that is sent again, and before its answer is read, the server knows the
// statement for the types of another table, and would take the values for those.
TEST(SessionPrepare, NothingIsSentWhileItIsPreparedAgain) {
  std::atomic<bool> is_known = true;
  std::atomic<bool> is_made_anew = false;
  std::atomic<int> executed_anew = 0;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      if (!is_known) return AnswerError(turn, ErrorCode::kUnprepared);
      if (is_made_anew) ++executed_anew;
      return false;
    }
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || !is_made_anew) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a round trip
    is_known = true;
    return AnswerPreparedAnew(turn, *prepare);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  is_known = false;
  is_made_anew = true;
  ASSERT_TRUE(client.Execute(insert, "key").ok());
  ASSERT_TRUE(RunUntil(*client.loop,
                       [&] { return server.Received<PrepareRequest>().size() == 2; }));
  ASSERT_EQ(client.session->statement(insert).revision, 0u);  // its answer was not read yet
  ASSERT_TRUE(client.Execute(insert, "key").ok());  // waits for what it tells
  ASSERT_TRUE(client.WaitForAll());
  for (const auto& ending : client.endings) EXPECT_EQ(ending->kind, OutcomeKind::kRefused);
  EXPECT_EQ(executed_anew, 0);
  EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone);
}

// A server that was restarted: what it refused goes on in its order, whichever statement is known
// again first.
TEST(SessionPrepare, WhatWasForgottenGoesOnInItsOrder) {
  std::atomic<bool> is_known = true;
  std::mutex mutex;
  std::vector<std::string> executed;
  std::set<std::string> prepared;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    const std::lock_guard lock(mutex);
    if (const auto* prepare = std::get_if<PrepareRequest>(&turn.request)) {
      prepared.insert(ScriptedStatementId(prepare->cql));
      return false;
    }
    const auto* execute = std::get_if<ExecuteRequest>(&turn.request);
    if (execute == nullptr) return false;
    if (!is_known && !prepared.contains(execute->id)) {
      return AnswerError(turn, ErrorCode::kUnprepared);
    }
    executed.push_back(execute->id);
    return false;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const std::string other = "INSERT INTO ks.u (a) VALUES (?)";
  const uint32_t first = client.Prepare(kInsert);
  const uint32_t second = client.Prepare(other);
  {
    const std::lock_guard lock(mutex);
    prepared.clear();
    is_known = false;
  }
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client.Execute(first, "key").ok());
  ASSERT_TRUE(client.Execute(second, "key").ok());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client.Execute(first, "key").ok());
  ASSERT_TRUE(client.WaitForAll());
  std::vector<std::string> expected(9, ScriptedStatementId(kInsert));
  expected[4] = ScriptedStatementId(other);
  EXPECT_EQ(executed, expected);
}

TEST(SessionPrepare, StatementThatCannotBePreparedAgainIsRefused) {
  ScriptedCqlServer server({}, [first = true](ScriptedTurn& turn) mutable {
    if (std::holds_alternative<ExecuteRequest>(turn.request)) {
      return AnswerError(turn, ErrorCode::kUnprepared);
    }
    if (!std::holds_alternative<PrepareRequest>(turn.request) || std::exchange(first, false)) {
      return false;
    }
    return AnswerError(turn, ErrorCode::kInvalid, "unconfigured table t");
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const Ending ending = client.Run(client.Prepare(kInsert));
  EXPECT_EQ(ending.kind, OutcomeKind::kRefused);
  EXPECT_EQ(ending.error_code, ErrorCode::kInvalid);
  EXPECT_NE(ending.status.message().find("unconfigured table t"), std::string::npos);
  EXPECT_NE(ending.status.message().find(kInsert), std::string::npos);
}

TEST(SessionPrepare, ServerThatForgetsForEverIsGivenUp) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    return std::holds_alternative<ExecuteRequest>(turn.request) &&
           AnswerError(turn, ErrorCode::kUnprepared);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const Ending ending = client.Run(client.Prepare(kInsert));
  EXPECT_EQ(ending.kind, OutcomeKind::kAway);
  EXPECT_EQ(ending.error_code, ErrorCode::kUnprepared);
  EXPECT_LE(server.Received<PrepareRequest>().size(), 10u);
}

}  // namespace
}  // namespace cistern::cql
