// Transport over plain TCP: bytes both ways, every end, every limit.
#include "engine/cql/transport.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/engine/cql/net_fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/loopback_server.h"

namespace cistern::cql {
namespace {

using testing::LoopbackServer;
using testing::ServerStream;

// What a transport told.
struct Told {
  bool is_connected = false;
  std::string received;
  int drained_count = 0;
  std::optional<Status> closed;

  [[nodiscard]] TransportEvents Events() {
    return {.connected = [this] { is_connected = true; },
            .received = [this](std::string_view bytes) { received.append(bytes); },
            .drained = [this] { ++drained_count; },
            .closed = [this](const Status& status) {
              EXPECT_FALSE(closed) << "closed was told twice";
              closed = status;
            }};
  }
};

void Echo(ServerStream& stream) {
  while (const auto bytes = stream.Read()) stream.Write(*bytes);
}

TransportOptions To(const LoopbackServer& server) {
  TransportOptions options;
  options.endpoint = {"127.0.0.1", server.port()};
  return options;
}

TEST(EventLoop, RunsWhatOtherThreadsPost) {
  const auto loop = MakeLoop();
  int ran = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop->Post([&] { ++ran; });
    loop->Post([&] { loop->Stop(); });
  });
  loop->Run();
  other.join();
  EXPECT_EQ(ran, 1000);
}

TEST(EventLoop, TimersFollowTheClockAndTheBudget) {
  const auto clock = std::make_shared<FakeClock>();
  const auto loop = MakeLoop(clock);
  std::string order;
  loop->After(3'000'000, [&] { order += 'c'; });
  loop->After(1'000'000, [&] {
    order += 'a';
    loop->After(0, [&] { order += 'x'; });
  });
  const TimerId forgotten = loop->After(1'500'000, [&] { order += '!'; });
  loop->After(2'000'000, [&] { order += 'b'; });
  loop->Cancel(forgotten);
  loop->Cancel(forgotten);
  EXPECT_EQ(loop->Poll(100), 0u);
  clock->AdvanceSeconds(2);
  EXPECT_EQ(loop->Poll(1), 1u);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(loop->Poll(100), 2u);  // x is due since, but behind b
  EXPECT_EQ(order, "abx");
  clock->AdvanceSeconds(1);
  loop->Poll(100);
  EXPECT_EQ(order, "abxc");
}

TEST(EventLoop, LacksDescriptorsAndSaysSo) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = dup(STDERR_FILENO);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  const struct rlimit none = {static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status refused = EventLoop::Create(std::make_shared<FakeClock>()).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused.code(), StatusCode::kTooManyOpenFiles) << refused.ToString();
  EXPECT_NE(refused.message().find("ulimit -n"), std::string::npos) << refused.ToString();
  EXPECT_TRUE(EventLoop::Create(std::make_shared<FakeClock>()).ok());
}

TEST(Transport, SendsAndReceivesMegabytes) {
  LoopbackServer server(Echo);
  const auto loop = MakeLoop();
  Told told;
  Transport transport(*loop, To(server), told.Events());
  std::string sent;
  for (int i = 0; i < 3'000; ++i) {
    const std::string piece(static_cast<size_t>(i % 997), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(transport.Send(piece).ok());  // before it is connected, too
    sent += piece;
  }
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.received.size() >= sent.size(); }));
  EXPECT_EQ(told.received, sent);
  EXPECT_TRUE(told.is_connected);
  EXPECT_GE(told.drained_count, 1);
  EXPECT_EQ(transport.queued_bytes(), 0u);
  EXPECT_EQ(transport.begun_bytes(), sent.size());
  EXPECT_EQ(transport.peer_address(), "127.0.0.1:" + std::to_string(server.port()));
}

TEST(Transport, ResolvesNamesAndTriesAllAddresses) {
  LoopbackServer server(Echo);
  const auto loop = MakeLoop();
  Told told;
  TransportOptions options = To(server);
  options.endpoint.host = "localhost";  // ::1 may come first, and nobody listens there
  Transport transport(*loop, options, told.Events());
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.is_connected || told.closed; }));
  EXPECT_TRUE(told.is_connected) << told.closed->ToString();
}

TEST(Transport, NamesTheAddressThatRefused) {
  uint16_t port = 0;
  { port = LoopbackServer(Echo).port(); }
  const auto loop = MakeLoop();
  Told told;
  TransportOptions options;
  options.endpoint = {"127.0.0.1", port};
  Transport transport(*loop, options, told.Events());
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.closed.has_value(); }));
  EXPECT_EQ(told.closed->code(), StatusCode::kIoError);
  EXPECT_NE(told.closed->message().find("127.0.0.1:" + std::to_string(port)), std::string::npos);
  EXPECT_NE(told.closed->message().find("Connection refused"), std::string::npos);
  EXPECT_EQ(transport.Send("x").code(), StatusCode::kClosed);
}

TEST(Transport, TellsANameThatIsNone) {
  const auto loop = MakeLoop();
  Told told;
  TransportOptions options;
  options.endpoint = {"no-such-host.invalid", 9042};
  Transport transport(*loop, options, told.Events());
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.closed.has_value(); }));
  EXPECT_NE(told.closed->message().find("no-such-host.invalid:9042"), std::string::npos);
}

TEST(Transport, TellsWhenTheServerEndsOrResets) {
  for (const bool is_reset : {false, true}) {
    LoopbackServer server([&](ServerStream& stream) {
      if (stream.Read() && is_reset) stream.Reset();
    });
    const auto loop = MakeLoop();
    Told told;
    Transport transport(*loop, To(server), told.Events());
    ASSERT_TRUE(transport.Send("hello").ok());
    ASSERT_TRUE(RunUntil(*loop, [&] { return told.closed.has_value(); }));
    EXPECT_EQ(told.closed->code(), StatusCode::kIoError) << told.closed->ToString();
    EXPECT_NE(told.closed->message().find("127.0.0.1"), std::string::npos);
  }
}

TEST(Transport, RefusesWhatPassesItsQueueAndGivesUpWhenNothingIsTaken) {
  LoopbackServer server([](ServerStream& stream) { stream.Hang(); });
  const auto clock = std::make_shared<FakeClock>();
  const auto loop = MakeLoop(clock);
  Told told;
  TransportOptions options = To(server);
  options.queued_bytes_max = 32 * 1024 * 1024;  // more than the system takes
  Transport transport(*loop, options, told.Events());
  const std::string megabyte(1024 * 1024, 'x');
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(transport.Send(megabyte).ok());
  EXPECT_EQ(transport.Send("x").code(), StatusCode::kBusy);
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.is_connected; }));
  // The system takes what its buffers hold, then nothing: no handler runs any more.
  while (loop->Wait(200'000, 64) != 0) {
  }
  EXPECT_GT(transport.queued_bytes(), 0u);
  clock->AdvanceMicros(options.write_timeout_us - 1);
  loop->Poll(64);
  EXPECT_FALSE(told.closed);
  clock->AdvanceMicros(1);
  loop->Poll(64);
  ASSERT_TRUE(told.closed);
  EXPECT_NE(told.closed->message().find("took no byte in 10.0 s"), std::string::npos);
}

TEST(Transport, GivesUpWhenNothingComes) {
  LoopbackServer server(Echo);
  const auto clock = std::make_shared<FakeClock>();
  const auto loop = MakeLoop(clock);
  Told told;
  TransportOptions options = To(server);
  options.read_timeout_us = 5'000'000;
  Transport transport(*loop, options, told.Events());
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.is_connected; }));
  clock->AdvanceSeconds(4);
  ASSERT_TRUE(transport.Send("ping").ok());
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.received == "ping"; }));
  clock->AdvanceSeconds(4);
  loop->Poll(64);
  EXPECT_FALSE(told.closed);
  clock->AdvanceSeconds(1);
  loop->Poll(64);
  ASSERT_TRUE(told.closed);
  EXPECT_NE(told.closed->message().find("nothing came from"), std::string::npos);
}

// A listener whose queue is full passes over what knocks: an address that does not answer.
class FullListener {
 public:
  FullListener() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockets_.push_back(socket(AF_INET, SOCK_STREAM, 0));
    socklen_t length = sizeof(address_);
    EXPECT_EQ(bind(sockets_[0], Address(), length), 0);
    EXPECT_EQ(listen(sockets_[0], 0), 0);
    EXPECT_EQ(getsockname(sockets_[0], Address(), &length), 0);
    for (int i = 0; i < 4; ++i) {
      sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      EXPECT_LE(connect(sockets_.back(), Address(), length), 0);
    }
  }
  ~FullListener() {
    for (const int one : sockets_) close(one);
  }
  [[nodiscard]] uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  sockaddr* Address() { return reinterpret_cast<sockaddr*>(&address_); }
  sockaddr_in address_{};
  std::vector<int> sockets_;
};

TEST(Transport, GivesUpOnAnAddressThatDoesNotAnswer) {
  const FullListener listener;
  const auto clock = std::make_shared<FakeClock>();
  const auto loop = MakeLoop(clock);
  Told told;
  TransportOptions options;
  options.endpoint = {"127.0.0.1", listener.port()};
  Transport transport(*loop, options, told.Events());
  loop->Poll(64);
  clock->AdvanceMicros(options.connect_timeout_us - 1);
  loop->Wait(50'000, 64);
  EXPECT_FALSE(told.closed);
  clock->AdvanceMicros(1);
  ASSERT_TRUE(RunUntil(*loop, [&] { return told.closed.has_value(); }));
  EXPECT_EQ(told.closed->code(), StatusCode::kIoError);
  EXPECT_NE(told.closed->message().find("(127.0.0.1: no answer in 5.0 s)"), std::string::npos)
      << told.closed->ToString();
}

TEST(Transport, ClosesInEveryStateAndSaysNothingMore) {
  LoopbackServer server(Echo);
  for (int turns = 0; turns < 8; ++turns) {
    const auto loop = MakeLoop();
    Told told;
    auto transport = std::make_unique<Transport>(*loop, To(server), told.Events());
    ASSERT_TRUE(transport->Send(std::string(100'000, 'x')).ok());
    for (int i = 0; i < turns; ++i) loop->Wait(1'000, 1);
    transport->Close();
    transport->Close();
    const std::string received = told.received;
    const bool was_connected = told.is_connected;
    loop->Poll(64);
    EXPECT_EQ(told.received, received);
    EXPECT_EQ(told.is_connected, was_connected);
    EXPECT_FALSE(told.closed);
    transport.reset();
    loop->Poll(64);
  }
}

TEST(Transport, MayBeDestroyedByItsOwnEvents) {
  LoopbackServer server(Echo);
  const auto loop = MakeLoop();
  std::unique_ptr<Transport> transport;
  int told = 0;
  TransportEvents events;
  events.connected = [&] { EXPECT_TRUE(transport->Send("x").ok()); };
  events.received = [&](std::string_view) {
    ++told;
    transport.reset();
  };
  events.drained = [] {};
  events.closed = [](const Status& status) { ADD_FAILURE() << status.ToString(); };
  transport = std::make_unique<Transport>(*loop, To(server), events);
  ASSERT_TRUE(RunUntil(*loop, [&] { return told == 1; }));
  loop->Poll(64);
}

}  // namespace
}  // namespace cistern::cql
