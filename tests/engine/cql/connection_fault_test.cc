// A connection in trouble: silence, resets, nonsense, and what becomes of what was in flight.
#include <chrono>
#include <mutex>
#include <thread>

#include "tests/engine/cql/connection_fixture.h"

namespace cistern::cql {
namespace {

using testing::LoopbackServer;
using testing::QueryRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedTurn;
using testing::ServerStream;

bool IsQuery(const ScriptedTurn& turn, std::string_view cql) {
  const auto* query = std::get_if<QueryRequest>(&turn.request);
  return query != nullptr && query->cql == cql;
}

TEST(ConnectionFault, AnswerThatNeverComesIsAnUnknownOutcome) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) { return IsQuery(turn, "swallow"); });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  ASSERT_TRUE(client.Query("swallow", 2'000'000).ok());
  ASSERT_TRUE(client.Query("later", 3'000'000).ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.ended[1].has_value(); }));
  clock->AdvanceMicros(1'999'999);
  client.loop->Poll(64);
  EXPECT_FALSE(client.ended[0]);
  clock->AdvanceMicros(1);
  client.loop->Poll(64);
  ASSERT_TRUE(client.ended[0]);
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
  EXPECT_EQ(client.ended[0]->status.code(), StatusCode::kIoError);
  // The connection lives on.
  ASSERT_TRUE(client.Query("again").ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_TRUE(client.ended[2]->is_void);
}

// A late answer must not be taken for that of a younger request on the same stream.
TEST(ConnectionFault, StreamOfALateRequestIsNotUsedBeforeItsAnswerCame) {
  std::vector<testing::ResponseHead> held;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (IsQuery(turn, "hold")) {
      held.push_back(turn.head);
      return true;
    }
    if (!IsQuery(turn, "release")) return false;
    for (const auto& head : held) {
      ErrorResponse error;
      error.message = "the answer of the late one";
      AppendError(head, error, &turn.out);
    }
    AppendVoid(turn.head, &turn.out);
    return true;
  });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  ASSERT_TRUE(client.ConnectAndWait(server.port(), {.transport = {}, .requests_max = 1}));
  ASSERT_TRUE(client.Query("hold", 1'000'000).ok());
  EXPECT_EQ(client.Query("no room").code(), StatusCode::kBusy);
  client.loop->Wait(1'000, 64);
  clock->AdvanceSeconds(1);
  ASSERT_TRUE(client.WaitForAll());
  ASSERT_TRUE(client.Query("release").ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_TRUE(client.ended[1]->is_void);
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
  EXPECT_FALSE(client.closed);
}

TEST(ConnectionFault, TooManyLateRequestsCloseIt) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) { return IsQuery(turn, "swallow"); });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  ASSERT_TRUE(client.ConnectAndWait(server.port(), {.transport = {}, .late_requests_max = 3}));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client.Query("swallow", 1'000'000).ok());
  client.loop->Wait(1'000, 64);
  clock->AdvanceSeconds(1);
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.closed.has_value(); }));
  EXPECT_NE(client.closed->message().find("left 4 requests without an answer"),
            std::string::npos);
  for (const auto& one : client.ended) EXPECT_EQ(one->fate, RequestFate::kUnknown);
}

TEST(ConnectionFault, ResetMakesTheOutcomeUnknown) {
  for (const bool is_reset : {true, false}) {
    ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
      if (!IsQuery(turn, "die")) return false;
      if (is_reset) turn.stream.Reset();
      turn.closes = true;
      return true;
    });
    Client client;
    ASSERT_TRUE(client.ConnectAndWait(server.port()));
    ASSERT_TRUE(client.Query("die").ok());
    ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.closed.has_value(); }));
    EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
    EXPECT_NE(client.ended[0]->status.message().find("outcome of the request is unknown"),
              std::string::npos);
    EXPECT_EQ(client.Query("more").code(), StatusCode::kClosed);
  }
}

TEST(ConnectionFault, WhatHasNotLeftWasNotSent) {
  ScriptedCqlServer server;
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  ASSERT_TRUE(client.Query("never flushed").ok());
  client.connection->Close();
  EXPECT_FALSE(client.ended[0]);  // never from inside a call
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kNotSent);
  EXPECT_EQ(client.ended[0]->status.code(), StatusCode::kClosed);
  EXPECT_FALSE(client.closed);
  EXPECT_TRUE(server.Received<QueryRequest>().empty());
}

TEST(ConnectionFault, WhatWaitsBehindAFullLinkWasNotSent) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    if (!IsQuery(turn, "hang")) return false;
    turn.stream.Hang();
    return true;
  });
  Client client(std::make_shared<FakeClock>());  // no write times out, however slow this is
  ASSERT_TRUE(client.ConnectAndWait(
      server.port(), {.transport = {}, .use_lz4 = false, .bytes_in_flight_max = 64'000'000}));
  ASSERT_TRUE(client.Query("hang").ok());
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(client.Query(std::string(6'000'000, static_cast<char>('a' + i))).ok());
    while (client.loop->Wait(20'000, 64) != 0) {
    }
  }
  server.ShutAll();
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
  EXPECT_EQ(client.ended[1]->fate, RequestFate::kUnknown);
  EXPECT_EQ(client.ended[6]->fate, RequestFate::kNotSent);
}

TEST(ConnectionFault, BlackHoleIsNoticedWhenIdle) {
  bool swallows = false;
  std::mutex mutex;
  ScriptedCqlServer server({}, [&](ScriptedTurn&) {
    const std::lock_guard lock(mutex);
    return swallows;
  });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  const size_t options_before = server.Received<testing::OptionsRequest>().size();
  clock->AdvanceSeconds(30);
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    return server.Received<testing::OptionsRequest>().size() == options_before + 1 &&
           client.connection->requests_in_flight() == 0;
  }));
  {
    const std::lock_guard lock(mutex);
    swallows = true;
  }
  clock->AdvanceSeconds(30);
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    return server.Received<testing::OptionsRequest>().size() == options_before + 2;
  }));
  EXPECT_FALSE(client.closed);
  clock->AdvanceSeconds(10);
  client.loop->Poll(64);
  ASSERT_TRUE(client.closed);
  EXPECT_NE(client.closed->message().find("does not answer any more"), std::string::npos);
}

// A request that times out in full silence is a sign: the link is asked at once, not after the time
// in which nothing is asked of it.
TEST(ConnectionFault, BlackHoleIsNoticedByARequestThatTimesOut) {
  ScriptedCqlServer server({}, [ready = false](ScriptedTurn& turn) mutable {
    if (IsQuery(turn, "swallow")) ready = true;
    return ready;  // from then on nothing is answered
  });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  const size_t options_before = server.Received<testing::OptionsRequest>().size();
  clock->AdvanceMicros(1);
  ASSERT_TRUE(client.Query("swallow", 2'000'000).ok());
  clock->AdvanceSeconds(2);
  client.loop->Poll(64);
  ASSERT_TRUE(client.ended[0]);
  ASSERT_TRUE(RunUntil(*client.loop, [&] {
    return server.Received<testing::OptionsRequest>().size() == options_before + 1;
  }));
  EXPECT_FALSE(client.closed);
  clock->AdvanceSeconds(10);
  client.loop->Poll(64);
  ASSERT_TRUE(client.closed);
  EXPECT_NE(client.closed->message().find("does not answer any more"), std::string::npos);
}

// Where something else came since, the server is only slow.
TEST(ConnectionFault, RequestThatTimesOutBesideOthersAsksNothing) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) { return IsQuery(turn, "swallow"); });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  const size_t options_before = server.Received<testing::OptionsRequest>().size();
  clock->AdvanceMicros(1);
  ASSERT_TRUE(client.Query("swallow", 2'000'000).ok());
  ASSERT_TRUE(client.Query("answered").ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.ended[1].has_value(); }));
  clock->AdvanceSeconds(2);
  client.loop->Poll(64);
  ASSERT_TRUE(client.ended[0]);
  ASSERT_TRUE(client.Query("last").ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_EQ(server.Received<testing::OptionsRequest>().size(), options_before);
}

TEST(ConnectionFault, SilentServerIsGivenUpInTheHandshake) {
  LoopbackServer server([](ServerStream& stream) { stream.Hang(); });
  const auto clock = std::make_shared<FakeClock>();
  Client client(clock);
  client.Connect(server.port());
  while (client.loop->Wait(50'000, 64) != 0) {
  }
  clock->AdvanceSeconds(10);
  client.loop->Poll(64);
  ASSERT_TRUE(client.closed);
  EXPECT_EQ(client.closed->code(), StatusCode::kIoError);
}

TEST(ConnectionFault, NonsenseClosesIt) {
  const std::string answers[] = {
      "HTTP/1.1 400 Bad Request\r\n\r\n", std::string(64, '\0'), std::string(64, '\xff'),
      std::string("\x85\0\0\0\x06\x7f\xff\xff\xff", 9)};  // 2 GiB are announced
  for (const std::string& answer : answers) {
    LoopbackServer server([&](ServerStream& stream) {
      if (!stream.Read()) return;
      stream.Write(answer);
      stream.Hang();
    });
    Client client;
    EXPECT_FALSE(client.ConnectAndWait(server.port()));
    EXPECT_TRUE(client.closed->code() == StatusCode::kCorruption ||
                client.closed->code() == StatusCode::kTooLarge)
        << client.closed->ToString();
    EXPECT_NE(client.closed->message().find("127.0.0.1:"), std::string::npos);
  }
}

TEST(ConnectionFault, TlsOnThePortIsTold) {
  LoopbackServer server([](ServerStream& stream) {
    if (stream.Read()) stream.Write(std::string("\x15\x03\x01\0\x02\x02\x46", 7));
  });
  Client client;
  EXPECT_FALSE(client.ConnectAndWait(server.port()));
  EXPECT_EQ(client.closed->code(), StatusCode::kInvalidArgument);
  EXPECT_NE(client.closed->message().find("turn TLS on"), std::string::npos);
}

TEST(ConnectionFault, AnswerToNobodyClosesIt) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    if (!IsQuery(turn, "confuse")) return false;
    testing::ResponseHead other = turn.head;
    other.stream = 77;
    AppendVoid(other, &turn.out);
    return true;
  });
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  ASSERT_TRUE(client.Query("confuse").ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.closed.has_value(); }));
  EXPECT_EQ(client.closed->code(), StatusCode::kCorruption);
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
}

// It has the form of a RESULT, and the stream of a request.
TEST(ConnectionFault, EventIsNoAnswer) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    if (!IsQuery(turn, "confuse")) return false;
    testing::ResponseHead pushed = turn.head;
    pushed.stream = kEventStream;
    AppendSchemaChange(pushed, {"CREATED", "TABLE", "ks", "t"}, &turn.out);
    turn.out[2] = static_cast<char>(turn.head.stream >> 8);
    turn.out[3] = static_cast<char>(turn.head.stream);
    return true;
  });
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  ASSERT_TRUE(client.Query("confuse", 0, AnswerKind::kSchemaChange).ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.closed.has_value(); }));
  EXPECT_EQ(client.closed->code(), StatusCode::kCorruption);
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
}

// Also when nobody waits for it any more: what such a server says next is worth no more.
TEST(ConnectionFault, LateAnswerOfAnotherKindClosesIt) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    if (!IsQuery(turn, "late")) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    AppendReady(turn.head, &turn.out);
    return true;
  });
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  ASSERT_TRUE(client.Query("late", 1'000).ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.closed.has_value(); }));
  EXPECT_EQ(client.closed->code(), StatusCode::kCorruption);
  EXPECT_NE(client.closed->message().find("READY"), std::string::npos);
  EXPECT_EQ(client.ended[0]->fate, RequestFate::kUnknown);
}

TEST(ConnectionFault, MayBeDestroyedInEveryCallback) {
  ScriptedCqlServer server({}, [](ScriptedTurn& turn) {
    if (!IsQuery(turn, "die")) return false;
    turn.closes = true;
    return true;
  });
  for (int variant = 0; variant < 4; ++variant) {
    const auto loop = MakeLoop();
    std::unique_ptr<Connection> connection;
    bool is_over = false;
    const auto end = [&] {
      connection.reset();
      is_over = true;
    };
    const auto send = [&](const std::string& cql) {
      return connection->Send(
          [cql](const RequestHead& head, std::string* out) {
            return AppendQuery(head, cql, {}, {}, out);
          },
          AnswerKind::kVoid, 0, [&](const Answer&) {
            if (variant != 3) end();
          });
    };
    ConnectionOptions options;
    options.transport.endpoint = {"127.0.0.1", server.port()};
    connection = std::make_unique<Connection>(
        *loop, options,
        ConnectionEvents{.ready = [&] {
                           if (variant == 0) return end();
                           const std::string cql = variant == 1 ? "live" : "die";
                           for (int i = 0; i < 3; ++i) EXPECT_TRUE(send(cql).ok());
                         },
                         .pushed = [](const ResponseMessage&) {},
                         .closed = [&](const Status&) { end(); }});
    ASSERT_TRUE(RunUntil(*loop, [&] { return is_over; })) << variant;
    loop->Poll(64);
  }
}

TEST(ConnectionFault, ManyAreClosedInUse) {
  ScriptedCqlServer server;
  for (int turns = 0; turns < 12; ++turns) {
    Client client;
    client.Connect(server.port());
    for (int i = 0; i < turns; ++i) {
      if (client.connection->is_ready()) {
        ASSERT_TRUE(client.Query(std::string(100'000, 'x')).ok());
      }
      client.loop->Wait(1'000, 1);
    }
    client.connection.reset();
    ASSERT_TRUE(client.WaitForAll());
  }
}

}  // namespace
}  // namespace cistern::cql
