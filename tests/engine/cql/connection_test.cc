// A connection that works: handshake in every form, passwords, pipelining, order, limits, events.
#include "engine/cql/connection.h"

#include <fstream>

#include "tests/engine/cql/connection_fixture.h"
#include "tests/support/temp_dir.h"

namespace cistern::cql {
namespace {

using testing::PlainCredentials;
using testing::QueryRequest;
using testing::ScriptedCqlServer;
using testing::ScriptedServerOptions;
using testing::ScriptedTurn;
using testing::ServerTls;

constexpr char kPassword[] = "hunter2-and-more";

CredentialSource User(const std::string& password) {
  return [password]() -> Result<Credentials> {
    return Credentials{"gw", Secret(std::string(password))};
  };
}

TEST(Connection, ShakesHandsInEveryForm) {
  for (const auto version : {ProtocolVersion::kV5, ProtocolVersion::kV4}) {
    for (const bool has_lz4 : {true, false}) {
      for (const size_t write_bytes : {size_t{0}, size_t{1}}) {
        ScriptedCqlServer server({.version_max = version, .has_lz4 = has_lz4,
                                  .write_bytes_max = write_bytes});
        Client client;
        ASSERT_TRUE(client.ConnectAndWait(server.port())) << client.closed->ToString();
        EXPECT_EQ(client.connection->version(), version);
        EXPECT_EQ(client.connection->compression(),
                  has_lz4 ? Compression::kLz4 : Compression::kNone);
        ASSERT_TRUE(client.Query("INSERT " + std::string(5'000, 'x')).ok());
        ASSERT_TRUE(client.WaitForAll());
        EXPECT_TRUE(client.ended[0]->is_void) << client.ended[0]->status.ToString();
        EXPECT_TRUE(server.complaints().empty());
        EXPECT_EQ(server.accepted_count(), version == ProtocolVersion::kV5 ? 1 : 2);
      }
    }
  }
}

TEST(Connection, LeavesLz4OutWhereTold) {
  ScriptedCqlServer server;
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port(), {.transport = {}, .use_lz4 = false}));
  EXPECT_EQ(client.connection->compression(), Compression::kNone);
  const auto startups = server.Received<testing::StartupRequest>();
  ASSERT_EQ(startups.size(), 1u);
  EXPECT_FALSE(startups[0].options.contains("COMPRESSION"));
  EXPECT_EQ(startups[0].options.at("CQL_VERSION"), "3.0.0");
  EXPECT_EQ(startups[0].options.at("THROW_ON_OVERLOAD"), "1");
  EXPECT_EQ(startups[0].options.at("DRIVER_NAME"), "Cistern");
}

TEST(Connection, TellsAServerWithV4WhereV5IsAMust) {
  ScriptedCqlServer server({.version_max = ProtocolVersion::kV4});
  Client client;
  EXPECT_FALSE(client.ConnectAndWait(server.port(), {.transport = {}, .allow_v4 = false}));
  EXPECT_EQ(client.closed->code(), StatusCode::kInvalidArgument);
  EXPECT_NE(client.closed->message().find("does not speak protocol v5"), std::string::npos)
      << client.closed->ToString();
}

TEST(Connection, NeverSendsAPasswordInClearUnlessAllowed) {
  ScriptedCqlServer server({.password = PlainCredentials{"gw", kPassword}});
  {
    Client client;
    bool was_asked = false;
    ConnectionOptions options;
    options.credentials = [&]() -> Result<Credentials> {
      was_asked = true;
      return Credentials{"gw", Secret(kPassword)};
    };
    EXPECT_FALSE(client.ConnectAndWait(server.port(), options));
    EXPECT_EQ(client.closed->code(), StatusCode::kInvalidArgument);
    EXPECT_NE(client.closed->message().find("allow it in clear"), std::string::npos);
    EXPECT_FALSE(was_asked);
    EXPECT_EQ(server.bytes_received().find(kPassword), std::string::npos);
  }
  Client client;
  ConnectionOptions options;
  options.use_lz4 = false;
  options.allow_cleartext_password = true;
  options.credentials = User(kPassword);
  ASSERT_TRUE(client.ConnectAndWait(server.port(), options)) << client.closed->ToString();
  EXPECT_NE(server.bytes_received().find(kPassword), std::string::npos);
  ASSERT_TRUE(client.Query("INSERT").ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_TRUE(client.ended[0]->is_void);
}

TEST(Connection, SendsAPasswordOverTls) {
  const testing::CertificateAuthority authority("Test authority");
  ScriptedCqlServer server({.password = PlainCredentials{"gw", kPassword},
                            .tls = ServerTls{authority.Issue({})}});
  const cistern::testing::TempDir directory("cql-connection");
  const std::string ca_file = directory.path() + "/ca.pem";
  std::ofstream(ca_file) << authority.certificate();
  Client client;
  ConnectionOptions options;
  options.transport.tls = TlsOptions{.ca_file = ca_file, .certificate_file = {}, .key_file = {},
                                     .server_name = {}};
  options.credentials = User(kPassword);
  ASSERT_TRUE(client.ConnectAndWait(server.port(), options)) << client.closed->ToString();
  ASSERT_TRUE(client.Query("INSERT").ok());
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_TRUE(client.ended[0]->is_void);
}

TEST(Connection, TakesAnAnswerToStartupThatIsPacked) {
  for (const auto version : {ProtocolVersion::kV5, ProtocolVersion::kV4}) {
    ScriptedCqlServer server({.version_max = version,
                              .password = PlainCredentials{"gw", kPassword}});
    Client client;
    ConnectionOptions options;
    options.allow_cleartext_password = true;
    options.credentials = User(kPassword);
    ASSERT_TRUE(client.ConnectAndWait(server.port(), options)) << client.closed->ToString();
    EXPECT_EQ(client.connection->compression(), Compression::kLz4);
    ASSERT_TRUE(client.Query("INSERT").ok());
    ASSERT_TRUE(client.WaitForAll());
    EXPECT_TRUE(client.ended[0]->is_void);
  }
}

TEST(Connection, TellsAWrongPasswordWithoutRepeatingIt) {
  ScriptedCqlServer server({.password = PlainCredentials{"gw", "another"}});
  Client client;
  ConnectionOptions options;
  options.allow_cleartext_password = true;
  options.credentials = User(kPassword);
  EXPECT_FALSE(client.ConnectAndWait(server.port(), options));
  EXPECT_EQ(client.closed->code(), StatusCode::kInvalidArgument);
  EXPECT_NE(client.closed->message().find("refuses the password"), std::string::npos);
  // The server did repeat it.
  EXPECT_EQ(client.closed->ToString().find(kPassword), std::string::npos)
      << client.closed->ToString();
  EXPECT_NE(client.closed->message().find("***"), std::string::npos);
}

// A server's name for its own method, before anybody knows whose server it is.
TEST(Connection, DoesNotRepeatWhatATerminalWouldObey) {
  testing::ScriptedServerOptions raw;
  raw.password = PlainCredentials{"gw", kPassword};
  raw.authenticator = "\x1b]0;owned\x07\nFATAL \xc2\x9b" "31m" + std::string(5'000, 'x');
  ScriptedCqlServer server(raw);
  Client client;
  EXPECT_FALSE(client.ConnectAndWait(server.port()));
  const std::string& words = client.closed->message();
  EXPECT_NE(words.find("?]0;owned??FATAL ?31mxx"), std::string::npos) << words;
  EXPECT_EQ(words.find_first_of("\x1b\x07\n\xc2"), std::string::npos);
  EXPECT_LT(words.size(), 500u);
}

TEST(Connection, TellsAPasswordThatIsMissingOrCannotBeRead) {
  ScriptedCqlServer server({.password = PlainCredentials{"gw", kPassword}});
  Client without;
  EXPECT_FALSE(without.ConnectAndWait(server.port()));
  EXPECT_NE(without.closed->message().find("and no user is given"), std::string::npos);
  Client unreadable;
  ConnectionOptions options;
  options.allow_cleartext_password = true;
  options.credentials = []() -> Result<Credentials> {
    return Status::NotFound("no file /etc/cistern/password");
  };
  EXPECT_FALSE(unreadable.ConnectAndWait(server.port(), options));
  EXPECT_EQ(unreadable.closed->message(), "no file /etc/cistern/password");
}

TEST(Connection, PipelinesTwoThousandRequests) {
  for (const auto version : {ProtocolVersion::kV5, ProtocolVersion::kV4}) {
    ScriptedCqlServer server({.version_max = version});
    Client client;
    ASSERT_TRUE(client.ConnectAndWait(server.port(), {.transport = {}, .requests_max = 2'000}));
    for (int i = 0; i < 2'000; ++i) {
      ASSERT_TRUE(client.Query("INSERT " + std::to_string(i)).ok()) << i;
    }
    EXPECT_EQ(client.connection->requests_in_flight(), 2'000u);
    EXPECT_FALSE(client.connection->has_room());
    EXPECT_EQ(client.Query("one too many").code(), StatusCode::kBusy);
    ASSERT_TRUE(client.WaitForAll());
    for (const auto& one : client.ended) EXPECT_TRUE(one->is_void);
    EXPECT_EQ(client.connection->requests_in_flight(), 0u);
    EXPECT_EQ(client.connection->bytes_in_flight(), 0u);
    const auto queries = server.Received<QueryRequest>();
    ASSERT_EQ(queries.size(), 2'000u);
    for (size_t i = 0; i < queries.size(); ++i) {
      ASSERT_EQ(queries[i].cql, "INSERT " + std::to_string(i));
    }
  }
}

TEST(Connection, BoundsBytesInFlightButTakesOneThatIsLonger) {
  ScriptedCqlServer server;
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port(),
                                    {.transport = {}, .bytes_in_flight_max = 100'000}));
  ASSERT_TRUE(client.Query(std::string(1'000'000, 'x')).ok());
  EXPECT_EQ(client.Query("INSERT").code(), StatusCode::kBusy);
  ASSERT_TRUE(client.WaitForAll());
  EXPECT_TRUE(client.ended[0]->is_void);
  ASSERT_TRUE(client.Query(std::string(60'000, 'x')).ok());
  EXPECT_EQ(client.Query(std::string(60'000, 'y')).code(), StatusCode::kBusy);
  ASSERT_TRUE(client.Query("INSERT").ok());
  ASSERT_TRUE(client.WaitForAll());
  // What was refused has not left half of itself behind.
  EXPECT_TRUE(server.complaints().empty());
  EXPECT_EQ(server.Received<QueryRequest>().size(), 3u);
}

TEST(Connection, MatchesAnswersThatComeInAnotherOrder) {
  std::vector<std::pair<testing::ResponseHead, std::string>> held;
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    const auto* query = std::get_if<QueryRequest>(&turn.request);
    if (query == nullptr) return false;
    held.emplace_back(turn.head, query->cql);
    if (held.size() < 10) return true;
    for (size_t i = held.size(); i-- > 0;) {
      ErrorResponse error;
      error.code = ErrorCode::kInvalid;
      error.message = held[i].second;
      AppendError(held[i].first, error, &turn.out);
    }
    return true;
  });
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.Query("query " + std::to_string(i)).ok());
  ASSERT_TRUE(client.WaitForAll());
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(client.ended[i]->fate, RequestFate::kAnswered);
    EXPECT_EQ(client.ended[i]->error->message, "query " + std::to_string(i));
  }
}

TEST(Connection, PassesEventsOn) {
  ScriptedCqlServer server({}, [&](ScriptedTurn& turn) {
    if (!std::holds_alternative<testing::RegisterRequest>(turn.request)) return false;
    AppendReady(turn.head, &turn.out);
    testing::ResponseHead pushed = turn.head;
    pushed.stream = kEventStream;
    NodeEvent event;
    event.kind = NodeEvent::Kind::kDown;
    event.address = std::string("\x0a\x01\x02\x03", 4);
    event.port = 9042;
    AppendNodeEvent(pushed, event, &turn.out);
    AppendSchemaChange(pushed, {"UPDATED", "TABLE", "ks", "t"}, &turn.out);
    return true;
  });
  Client client;
  ASSERT_TRUE(client.ConnectAndWait(server.port()));
  ASSERT_TRUE(client.connection
                  ->Send(
                      [](const RequestHead& head, std::string* out) {
                        AppendRegister(head, out);
                        return Status::Ok();
                      },
                      AnswerKind::kReady, 0, [](const Answer&) {})
                  .ok());
  ASSERT_TRUE(RunUntil(*client.loop, [&] { return client.events.size() == 2; }));
  EXPECT_EQ(std::get<NodeEvent>(client.events[0]).kind, NodeEvent::Kind::kDown);
  EXPECT_EQ(std::get<SchemaChange>(client.events[1]).name, "t");
}

TEST(Secret, IsWipedWhenItMovesOrEnds) {
  Secret one{std::string(kPassword)};
  const Secret other(std::move(one));
  EXPECT_EQ(other.text(), kPassword);
  EXPECT_TRUE(one.empty());
  for (std::string given : {std::string("short"), std::string(100, 'x')}) {
    const std::string copy = given;
    const char* const begin = given.data();
    const bool is_short = copy.size() < 16;
    const Secret kept(std::move(given));
    EXPECT_EQ(kept.text(), copy);
    EXPECT_TRUE(given.empty());
    // Of a short one, that lies in the string itself.
    for (size_t i = 0; is_short && i < copy.size(); ++i) EXPECT_EQ(begin[i], '\0');
  }
  std::string text = kPassword;
  const char* const at = text.data();
  const size_t size = text.size();
  Wipe(&text);
  for (size_t i = 0; i < size; ++i) EXPECT_EQ(at[i], '\0');
}

}  // namespace
}  // namespace cistern::cql
