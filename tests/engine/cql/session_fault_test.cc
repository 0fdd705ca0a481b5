// A session whose servers are in trouble: every outcome by name, and nothing is told twice.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/engine/cql/session_fixture.h"

namespace cistern::cql {
namespace {

using testing::DescribeCluster;
using testing::ExecuteRequest;
using testing::NodeRow;
using testing::PrepareRequest;
using testing::QueryRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedServerOptions;
using testing::ScriptedTurn;

// A script that gives each EXECUTE the next of these answers, then Void.
ScriptedCqlServer::Script Answers(std::vector<ErrorCode> codes) {
  const auto next = std::make_shared<std::atomic<size_t>>(0);
  return [codes, next](ScriptedTurn& turn) {
    if (!std::holds_alternative<ExecuteRequest>(turn.request)) return false;
    const size_t at = (*next)++;
    return at < codes.size() && AnswerError(turn, codes[at]);
  };
}

Ending RunOnce(std::vector<ErrorCode> codes) {
  ScriptedCqlServer server({}, Answers(std::move(codes)));
  SessionClient client(Options({server.port()}));
  EXPECT_TRUE(client.WaitUntilReady().ok());
  return client.Run(client.Prepare(kInsert));
}

// Both hosts are up, and known to be all.
bool WaitForBoth(SessionClient& client) {
  return RunUntil(*client.loop, [&] {
    size_t up = 0;
    for (const auto& [id, host] : client.session->cluster().pool().hosts()) {
      up += host.state == HostState::kUp ? 1 : 0;
    }
    return up == 2 && client.session->cluster().is_described();
  });
}

TEST(SessionFault, TransientTroubleIsTriedAgain) {
  const Ending ending = RunOnce({ErrorCode::kOverloaded, ErrorCode::kWriteTimeout,
                                 ErrorCode::kUnavailable, ErrorCode::kServerError});
  EXPECT_EQ(ending.kind, OutcomeKind::kDone);
  EXPECT_EQ(ending.attempts, 5u);
  EXPECT_FALSE(ending.error_code);
}

TEST(SessionFault, AttemptsAreBounded) {
  const Ending away = RunOnce(std::vector<ErrorCode>(9, ErrorCode::kOverloaded));
  EXPECT_EQ(away.kind, OutcomeKind::kAway);
  EXPECT_EQ(away.attempts, 5u);
  EXPECT_EQ(away.error_code, ErrorCode::kOverloaded);
  EXPECT_NE(away.status.message().find("in the server's words"), std::string::npos);
  // Once perhaps executed, for ever perhaps executed.
  std::vector<ErrorCode> mixed(9, ErrorCode::kUnavailable);
  mixed[1] = ErrorCode::kWriteTimeout;
  const Ending unknown = RunOnce(mixed);
  EXPECT_EQ(unknown.kind, OutcomeKind::kUnknown);
  EXPECT_EQ(unknown.error_code, ErrorCode::kUnavailable);
}

TEST(SessionFault, RefusalsAreToldAtOnce) {
  for (const auto code : {ErrorCode::kSyntaxError, ErrorCode::kInvalid, ErrorCode::kUnauthorized,
                          ErrorCode::kConfigError, ErrorCode::kProtocolError}) {
    const Ending ending = RunOnce({code});
    EXPECT_EQ(ending.kind, OutcomeKind::kRefused);
    EXPECT_EQ(ending.attempts, 1u);
    EXPECT_EQ(ending.error_code, code);
    EXPECT_EQ(ending.status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(ending.status.message().find("in the server's words"), std::string::npos);
  }
}

// What a write is answered with, by name.
bool AnswerAs(const std::string& name, ScriptedTurn& turn) {
  if (name == "READY") AppendReady(turn.head, &turn.out);
  if (name == "SUPPORTED") AppendSupported(turn.head, {}, &turn.out);
  if (name == "AUTH_SUCCESS") AppendAuthSuccess(turn.head, std::nullopt, &turn.out);
  if (name == "RESULT Rows") AppendRows(turn.head, {}, &turn.out);
  if (name == "RESULT SetKeyspace") AppendSetKeyspace(turn.head, "ks", &turn.out);
  if (name == "RESULT Prepared") AppendPrepared(turn.head, PreparedResult(), &turn.out);
  if (name == "RESULT SchemaChange") {
    AppendSchemaChange(turn.head, {"CREATED", "TABLE", "ks", "t"}, &turn.out);
  }
  return true;
}

// A server, or what stands before it, that is confused has written nothing: its word is worth
// nothing, and the connection neither.
TEST(SessionFault, AnswerOfAnotherKindIsNoAcknowledgement) {
  for (const std::string name : {"READY", "SUPPORTED", "AUTH_SUCCESS", "RESULT Rows",
                                 "RESULT SetKeyspace", "RESULT Prepared", "RESULT SchemaChange"}) {
    std::atomic<int> confused_max = 1'000;
    ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
      const bool is_write = std::holds_alternative<ExecuteRequest>(turn.request) ||
                            std::holds_alternative<testing::BatchRequest>(turn.request);
      return is_write && confused_max-- > 0 && AnswerAs(name, turn);
    });
    SessionClient client(Options({server.port()}));
    ASSERT_TRUE(client.WaitUntilReady().ok());
    const uint32_t insert = client.Prepare(kInsert);
    for (const bool is_batch : {false, true}) {
      SCOPED_TRACE(name + (is_batch ? " to BATCH" : " to EXECUTE"));
      BoundBatch batch;
      batch.Begin(insert).Value("key");
      ASSERT_TRUE(is_batch ? client.session->Batch(batch, {}, client.Keep()).ok()
                           : client.Execute(insert, "key").ok());
      ASSERT_TRUE(client.WaitForAll());
      EXPECT_EQ(client.endings.back()->kind, OutcomeKind::kUnknown);
      EXPECT_EQ(client.endings.back()->status.code(), StatusCode::kCorruption);
      EXPECT_NE(client.endings.back()->status.message().find(name), std::string::npos);
      ASSERT_TRUE(client.WaitUntilReady().ok());
    }
    EXPECT_GT(server.accepted_count(), 2);
    // Once it is well again, so is the session.
    confused_max = 0;
    EXPECT_EQ(client.Run(insert).kind, OutcomeKind::kDone) << name;
  }
}

TEST(SessionFault, WhatWasAnsweredInAnotherKindIsSentAgain) {
  std::atomic<int> confused_max = 1;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    const bool is_write = std::holds_alternative<ExecuteRequest>(turn.request);
    return is_write && confused_max-- > 0 && AnswerAs("READY", turn);
  });
  SessionOptions options = Options({server.port()});
  options.retry_first_us = 500'000;  // it connects anew meanwhile, on a busy machine too
  options.retry_max_us = 5'000'000;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  const Ending ending = client.Run(insert);
  EXPECT_EQ(ending.kind, OutcomeKind::kDone) << ending.status.ToString();
  EXPECT_EQ(ending.attempts, 2u);
}

// Otherwise it would go by the number of another statement, and rows into another table.
TEST(SessionFault, PrepareThatIsAnsweredWithoutAStatementPreparesNothing) {
  constexpr char kOther[] = "INSERT INTO ks.other (a) VALUES (?)";
  std::atomic<int> confused_max = 1'000;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    const auto* prepare = std::get_if<PrepareRequest>(&turn.request);
    if (prepare == nullptr || prepare->cql != kOther || confused_max-- <= 0) return false;
    AppendVoid(turn.head, &turn.out);
    return true;
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  std::optional<Ending> ending;
  ASSERT_TRUE(client.session->Prepare(kOther, [&](const Outcome& outcome, uint32_t) {
    ending = Ending{outcome.kind, outcome.status, outcome.error_code, outcome.attempts,
                    outcome.host, 0, {}};
  }).ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return ending.has_value(); }));
  EXPECT_NE(ending->kind, OutcomeKind::kDone);
  EXPECT_EQ(ending->status.code(), StatusCode::kCorruption);
  confused_max = 0;
  ASSERT_TRUE(client.WaitUntilReady().ok());
  EXPECT_NE(client.Prepare(kOther), insert);
}

// Reads and DDL are as strict: rows are not Void, and Void is no rows.
TEST(SessionFault, QueryHasTheAnswerThatItNames) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    const auto* query = std::get_if<QueryRequest>(&turn.request);
    if (query == nullptr || query->cql.starts_with("SELECT ")) return false;
    return AnswerAs(query->cql, turn);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const auto kind_of = [&client](const std::string& cql, AnswerKind asked) {
    SessionQuery query;
    query.answer = asked;
    EXPECT_TRUE(client.session->Query(cql, {}, query, client.Keep()).ok());
    EXPECT_TRUE(client.WaitForAll());
    EXPECT_TRUE(client.WaitUntilReady().ok());
    return client.endings.back()->kind;
  };
  EXPECT_EQ(kind_of("RESULT Rows", AnswerKind::kRows), OutcomeKind::kDone);
  EXPECT_EQ(kind_of("RESULT Rows", AnswerKind::kVoid), OutcomeKind::kUnknown);
  EXPECT_EQ(kind_of("RESULT SchemaChange", AnswerKind::kSchemaChange), OutcomeKind::kDone);
  EXPECT_EQ(kind_of("RESULT SchemaChange", AnswerKind::kRows), OutcomeKind::kUnknown);
  EXPECT_EQ(kind_of("RESULT Rows", AnswerKind::kSchemaChange), OutcomeKind::kUnknown);
}

TEST(SessionFault, AnotherHostTakesWhatOneCannot) {
  ScriptedCqlServer good;
  ScriptedCqlServer bad({}, Answers(std::vector<ErrorCode>(1'000, ErrorCode::kOverloaded)));
  const NodeRow good_row{.host_id = 'a', .port = good.port(), .tokens = {0}};
  const NodeRow bad_row{.host_id = 'b', .port = bad.port(), .tokens = {INT64_MAX}};
  good.SetTables(DescribeCluster(good_row, {bad_row}));
  bad.SetTables(DescribeCluster(bad_row, {good_row}));
  SessionClient client(Options({good.port(), bad.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(WaitForBoth(client));
  const uint32_t insert = client.Prepare(kInsert);
  for (int i = 0; i < 50; ++i) {
    const Ending ending = client.Run(insert, "key " + std::to_string(i));
    EXPECT_EQ(ending.kind, OutcomeKind::kDone);
    EXPECT_LE(ending.attempts, 2u);
    EXPECT_EQ(ending.host.port, good.port());
  }
  EXPECT_EQ(good.Received<ExecuteRequest>().size(), 50u);
  EXPECT_GT(bad.Received<ExecuteRequest>().size(), 0u);
}

// Who asked binds it anew: it waits no pause, and goes to no other host.
TEST(SessionFault, WhatIsNotFreshAnyMoreIsNotSentAgain) {
  std::atomic<bool> is_answered = true;
  std::atomic<int> received = 0;
  const auto script = [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<testing::BatchRequest>(turn.request)) return false;
    ++received;
    while (!is_answered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return AnswerError(turn, ErrorCode::kOverloaded);
  };
  ScriptedCqlServer one({}, script);
  ScriptedCqlServer two({}, script);
  const NodeRow one_row{.host_id = 'a', .port = one.port()};
  const NodeRow two_row{.host_id = 'b', .port = two.port()};
  one.SetTables(DescribeCluster(one_row, {two_row}));
  two.SetTables(DescribeCluster(two_row, {one_row}));
  const auto clock = std::make_shared<FakeClock>();
  SessionClient client(Options({one.port(), two.port()}), clock);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  ASSERT_TRUE(WaitForBoth(client));
  constexpr int64_t kFreshUs = 1'000'000;
  const uint32_t insert = client.Prepare(kInsert);
  for (const int sent : {2, 1}) {  // refused by both and to be sent later; answered late by one
    is_answered = sent == 2;
    received = 0;
    BoundBatch batch;
    batch.Begin(insert).Value("key");
    ASSERT_TRUE(client.session->Batch(batch, {}, client.Keep(), 0, kFreshUs).ok());
    ASSERT_TRUE(RunUntil(*client.loop, [&] { return received == sent; }));
    for (int i = 0; i < 20; ++i) (void)client.loop->Wait(1'000, 64);
    EXPECT_FALSE(client.endings.back());
    clock->AdvanceMicros(kFreshUs + 1);
    is_answered = true;
    ASSERT_TRUE(client.WaitForAll());
    EXPECT_EQ(client.endings.back()->error_code, ErrorCode::kOverloaded);
    EXPECT_EQ(client.endings.back()->attempts, static_cast<uint32_t>(sent));
    EXPECT_EQ(received, sent);
  }
}

TEST(SessionFault, LostConnectionIsMadeAnewAndTheRequestRepeated) {
  ScriptedCqlServer server({}, [left = 2](ScriptedTurn& turn) mutable {
    if (!std::holds_alternative<ExecuteRequest>(turn.request) || left == 0) return false;
    --left;
    turn.stream.Reset();
    turn.closes = true;
    return true;
  });
  SessionOptions options = Options({server.port()});
  options.retry_first_us = 200'000;  // longer than it takes to connect again
  options.retry_max_us = 1'000'000;
  options.attempts_max = 50;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const Ending ending = client.Run(client.Prepare(kInsert));
  EXPECT_EQ(ending.kind, OutcomeKind::kDone) << ending.status.ToString();
  EXPECT_EQ(ending.attempts, 3u);
}

TEST(SessionFault, SilentServerIsAnUnknownOutcome) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    return std::holds_alternative<ExecuteRequest>(turn.request);
  });
  SessionOptions options = Options({server.port()});
  options.attempts_max = 3;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  BoundStatement bound{.statement = client.Prepare(kInsert), .values = {}};
  ValueWriter(&bound.values).Value("key");
  ASSERT_TRUE(client.session->Execute(bound, {.timeout_us = 20'000}, client.Keep()).ok());
  ASSERT_TRUE(client.WaitForAll());
  const Ending ending = *client.endings[0];
  EXPECT_EQ(ending.kind, OutcomeKind::kUnknown);
  EXPECT_EQ(ending.status.code(), StatusCode::kIoError);
  EXPECT_FALSE(ending.error_code);
  EXPECT_EQ(ending.attempts, 3u);
}

TEST(SessionFault, WithoutAHostRequestsEndAtOnce) {
  uint16_t port = 0;
  { port = ScriptedCqlServer().port(); }
  SessionClient client(Options({port}));
  EXPECT_FALSE(client.session->is_up());
  ASSERT_TRUE(client.session->Query("SELECT", {}, {}, client.Keep()).ok());
  EXPECT_FALSE(client.endings[0]);  // never from inside a call
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->kind, OutcomeKind::kAway);
  EXPECT_EQ(client.endings[0]->status.code(), StatusCode::kNotFound);
  EXPECT_EQ(client.endings[0]->attempts, 0u);
  const Status away = client.WaitUntilReady(100'000);
  EXPECT_EQ(away.code(), StatusCode::kNotFound);
  EXPECT_NE(away.message().find("127.0.0.1:" + std::to_string(port)), std::string::npos);
  EXPECT_FALSE(client.session->version());
  // The server comes: the session finds it by itself.
  ScriptedServerOptions options;
  options.port = port;
  ScriptedCqlServer server(options);
  EXPECT_TRUE(client.WaitUntilReady().ok());
}

// The control connection ends before the cluster has described itself. It is made anew after its
// pause, and requests that come back at once meanwhile neither hasten nor put off that.
TEST(SessionFault, ConnectionLostWhileTheClusterIsDescribedIsMadeAnew) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    const auto* query = std::get_if<QueryRequest>(&turn.request);
    if (query == nullptr || turn.connection != 0) return false;
    if (query->cql == kLocalQuery) return AnswerError(turn, ErrorCode::kUnavailable);
    turn.closes = query->cql == kKeyspacesQuery;
    return turn.closes;
  });
  const auto clock = std::make_shared<FakeClock>();
  const SessionOptions options = Options({server.port()});
  SessionClient client(options, clock);
  const auto& hosts = client.session->cluster().pool().hosts();
  const auto& host = hosts.begin()->second;
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    return host.state == HostState::kDown && !host.failure.ok();
  }));
  const int64_t retry_at_us = host.retry_at_us;
  EXPECT_GT(retry_at_us, clock->MonotonicMicros());
  EXPECT_LE(retry_at_us, clock->MonotonicMicros() + options.cluster.hosts.retry_first_us);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(client.session->Query("SELECT", {}, {}, client.Keep()).ok());
    ASSERT_TRUE(client.WaitForAll());
    ASSERT_EQ(client.endings.back()->kind, OutcomeKind::kAway);
  }
  EXPECT_EQ(host.state, HostState::kDown);
  EXPECT_EQ(host.retry_at_us, retry_at_us);
  EXPECT_EQ(server.accepted_count(), 1);
  clock->AdvanceMicros(options.cluster.hosts.retry_first_us);
  EXPECT_TRUE(client.WaitUntilReady().ok());
  EXPECT_TRUE(client.session->cluster().is_described());
  EXPECT_EQ(server.accepted_count(), 2);
}

TEST(SessionFault, WrongPasswordIsToldAtOnce) {
  ScriptedCqlServer server({.password = testing::PlainCredentials{"gw", "right"}});
  SessionOptions options = Options({server.port()});
  options.cluster.connection.allow_cleartext_password = true;
  options.cluster.connection.credentials = []() -> Result<Credentials> {
    return Credentials{"gw", Secret("hunter2-and-more")};
  };
  SessionClient client(options);
  const Status refused = client.WaitUntilReady();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("refuses the password"), std::string::npos);
  EXPECT_EQ(refused.message().find("hunter2"), std::string::npos);
  ASSERT_TRUE(client.session->Query("SELECT", {}, {}, client.Keep()).ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client.endings[0]->status.message().find("hunter2"), std::string::npos);
}

TEST(SessionFault, IsBusyWhenFull) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    return std::holds_alternative<ExecuteRequest>(turn.request);
  });
  SessionOptions options = Options({server.port()});
  options.requests_max = 10;
  options.bytes_max = 1'000;
  SessionClient client(options);
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.Execute(insert, "key").ok());
  EXPECT_EQ(client.Execute(insert, "key").code(), StatusCode::kBusy);
  client.session->Close();
  ASSERT_TRUE(client.WaitForAll());

  SessionClient bytes(options);
  ASSERT_TRUE(bytes.WaitUntilReady().ok());
  const uint32_t same = bytes.Prepare(kInsert);
  ASSERT_TRUE(bytes.Execute(same, std::string(5'000, 'x')).ok());  // alone it may be longer
  EXPECT_EQ(bytes.Execute(same, "x").code(), StatusCode::kBusy);
  EXPECT_EQ(bytes.session->requests_in_flight(), 1u);

  // Each host that is up is full.
  options = Options({server.port()});
  options.cluster.connection.requests_max = 5;
  SessionClient host(options);
  ASSERT_TRUE(host.WaitUntilReady().ok());
  const uint32_t again = host.Prepare(kInsert);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(host.Execute(again, "key").ok());
  EXPECT_EQ(host.Execute(again, "key").code(), StatusCode::kBusy);
}

TEST(SessionFault, CloseEndsWhatIsInFlight) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    return std::holds_alternative<ExecuteRequest>(turn.request);
  });
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.Execute(insert, "key").ok());
  std::optional<Status> waited;
  client.session->Close();
  client.session->Close();
  client.session->WhenReady(1'000, [&](const Status& status) { waited = status; });
  EXPECT_EQ(client.Execute(insert, "key").code(), StatusCode::kClosed);
  EXPECT_FALSE(client.endings[0]);
  ASSERT_TRUE(client.WaitForAll());
  for (const auto& one : client.endings) {
    EXPECT_EQ(one->kind, OutcomeKind::kUnknown);
    EXPECT_EQ(one->status.code(), StatusCode::kClosed);
  }
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return waited.has_value(); }));
  EXPECT_EQ(waited->code(), StatusCode::kClosed);
}

TEST(SessionFault, MayBeDestroyedByACompletion) {
  ScriptedCqlServer server;
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  const uint32_t insert = client.Prepare(kInsert);
  int ended = 0;
  for (int i = 0; i < 10; ++i) {
    BoundStatement bound{.statement = insert, .values = {}};
    ValueWriter(&bound.values).Value("key");
    ASSERT_TRUE(client.session->Execute(bound, kWrite, [&](const Outcome&) {
      ++ended;
      client.session.reset();
    }).ok());
  }
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return ended == 10; }));
}

TEST(SessionFault, OldServerDoesNotTakeAnotherNow) {
  ScriptedCqlServer server({.version_max = ProtocolVersion::kV4});
  SessionClient client(Options({server.port()}));
  ASSERT_TRUE(client.WaitUntilReady().ok());
  EXPECT_EQ(client.session->version(), ProtocolVersion::kV4);
  BoundBatch batch;
  batch.Begin(client.Prepare(kInsert)).Value("key");
  BatchOptions options;
  options.now_in_seconds = 1;
  EXPECT_EQ(client.session->Batch(batch, options, {}).code(), StatusCode::kNotSupported);
  EXPECT_EQ(client.session->requests_in_flight(), 0u);
  ASSERT_TRUE(client.session->Batch(batch, {}, client.Keep()).ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.endings[0]->kind, OutcomeKind::kDone);
}

}  // namespace
}  // namespace cistern::cql
