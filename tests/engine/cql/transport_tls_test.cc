// TLS of the transport: which servers it talks to, and what it says of the others.
#include <openssl/ssl.h>

#include <fstream>

#include "engine/cql/transport.h"
#include "tests/engine/cql/net_fixture.h"
#include "tests/support/fake_clock.h"
#include "tests/support/loopback_server.h"
#include "tests/support/temp_dir.h"

namespace cistern::cql {
namespace {

using testing::CertificateAuthority;
using testing::CertificatePair;
using testing::CertificateSpec;
using testing::LoopbackServer;
using testing::ServerStream;
using testing::ServerTls;

class TransportTls : public ::testing::Test {
 protected:
  static constexpr int64_t kDayUs = 86'400'000'000;

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // What comes of one connection to `tls`: "ok" or the status in words.
  std::string Try(const ServerTls& tls, const std::string& host,
                  const std::function<void(TlsOptions*)>& change = {},
                  std::shared_ptr<Clock> clock = SystemClock()) {
    LoopbackServer server(
        [](ServerStream& stream) {
          while (const auto bytes = stream.Read()) stream.Write(*bytes);
        },
        tls);
    const auto loop = MakeLoop(std::move(clock));
    TransportOptions options;
    options.endpoint = {host, server.port()};
    options.tls.emplace();
    options.tls->ca_file = Write("ca.pem", authority_.certificate());
    if (change) change(&*options.tls);
    std::string received;
    std::optional<Status> closed;
    Transport transport(
        *loop, options,
        {.connected = [] {},
         .received = [&](std::string_view bytes) { received.append(bytes); },
         .drained = [] {},
         .closed = [&](const Status& status) { closed = status; }});
    EXPECT_TRUE(transport.Send("secret").ok());
    EXPECT_TRUE(RunUntil(*loop, [&] { return closed || received == "secret"; }));
    return closed ? closed->ToString() : "ok";
  }

  void ExpectRefused(const std::string& told, const std::string& words) {
    EXPECT_EQ(told.substr(0, 15), "InvalidArgument") << told;
    EXPECT_NE(told.find(words), std::string::npos) << told;
  }

  cistern::testing::TempDir directory_{"cql-tls"};
  CertificateAuthority authority_{"Test authority"};
};

TEST_F(TransportTls, AcceptsNamesAndAddresses) {
  EXPECT_EQ(Try({authority_.Issue({})}, "localhost"), "ok");
  EXPECT_EQ(Try({authority_.Issue({.names = {"IP:127.0.0.1"}})}, "127.0.0.1"), "ok");
  EXPECT_EQ(Try({authority_.Issue({.names = {"DNS:other", "DNS:localhost"}})}, "localhost"), "ok");
  // Without the extension a certificate is good for all.
  EXPECT_EQ(Try({authority_.Issue({.usage = ""})}, "localhost"), "ok");
  // Reached by another name than the certificate's.
  const auto by_name = [](TlsOptions* tls) { tls->server_name = "node1.cluster.lan"; };
  EXPECT_EQ(Try({authority_.Issue({.names = {"DNS:*.cluster.lan"}})}, "127.0.0.1", by_name), "ok");
}

TEST_F(TransportTls, AcceptsTls12) {
  EXPECT_EQ(Try({.own = authority_.Issue({}), .version_max = TLS1_2_VERSION}, "localhost"), "ok");
}

TEST_F(TransportTls, RefusesTls11) {
  ExpectRefused(Try({.own = authority_.Issue({}), .version_max = TLS1_1_VERSION}, "localhost"),
                "no common version of TLS");
}

TEST_F(TransportTls, RefusesTheWrongHost) {
  const std::string told = Try({authority_.Issue({.names = {"DNS:other.lan", "IP:10.1.2.3"}})},
                               "localhost");
  ExpectRefused(told, "wrong host: the certificate does not name localhost, it names other.lan, "
                      "10.1.2.3");
  // An address is no name, and a name no address.
  ExpectRefused(Try({authority_.Issue({.names = {"DNS:127.0.0.1"}})}, "127.0.0.1"), "wrong host");
  ExpectRefused(Try({authority_.Issue({.names = {"IP:127.0.0.1"}})}, "localhost"), "wrong host");
  // The common name counts for nothing.
  ExpectRefused(Try({authority_.Issue({.common_name = "localhost", .names = {}})}, "localhost"),
                "nothing in its subject alternative names");
  // Part of a label is no wildcard.
  ExpectRefused(Try({authority_.Issue({.names = {"DNS:local*"}})}, "localhost"), "wrong host");
}

TEST_F(TransportTls, RefusesAnUnknownAuthority) {
  const CertificateAuthority other("Another authority");
  ExpectRefused(Try({other.Issue({})}, "localhost"), "unknown authority");
  // The system's store does not know ours.
  const auto system = [](TlsOptions* tls) { tls->ca_file.clear(); };
  ExpectRefused(Try({authority_.Issue({})}, "localhost", system), "unknown authority");
  // An authority of the same name with another key.
  const CertificateAuthority same_name("Test authority");
  ExpectRefused(Try({same_name.Issue({})}, "localhost"), "unknown authority");
}

TEST_F(TransportTls, RefusesWhatIsOutOfDate) {
  ExpectRefused(Try({authority_.Issue({.begins_s = -7200, .ends_s = -3600})}, "localhost"),
                "expired: the certificate /CN=server");
  ExpectRefused(Try({authority_.Issue({.begins_s = 3600, .ends_s = 7200})}, "localhost"),
                "not yet valid: the certificate /CN=server");
}

TEST_F(TransportTls, JudgesDatesByTheClockGiven) {
  const auto clock = std::make_shared<FakeClock>(SystemClock()->WallMicros() + 2 * kDayUs);
  ExpectRefused(Try({authority_.Issue({})}, "localhost", {}, clock), "expired");
  const CertificatePair old = authority_.Issue({.begins_s = -10 * 86'400, .ends_s = -86'400});
  const auto then = std::make_shared<FakeClock>(SystemClock()->WallMicros() - 5 * kDayUs);
  EXPECT_EQ(Try({old}, "localhost", {}, then), "ok");
  const auto boot = std::make_shared<FakeClock>(1'000'000);  // a dead battery
  ExpectRefused(Try({authority_.Issue({})}, "localhost", {}, boot), "1970-01-01 00:00:01");
}

TEST_F(TransportTls, RefusesTheCertificateOfAClient) {
  ExpectRefused(Try({authority_.Issue({.usage = "clientAuth"})}, "localhost"),
                "wrong usage: the certificate /CN=server");
}

TEST_F(TransportTls, ShowsItsOwnCertificateWhereAsked) {
  const CertificateAuthority clients("Authority of the clients");
  const ServerTls tls{.own = authority_.Issue({}), .client_authority = clients.certificate()};
  const CertificatePair own = clients.Issue({.common_name = "gateway", .names = {},
                                             .usage = "clientAuth"});
  const auto show = [&](TlsOptions* options) {
    options->certificate_file = Write("own.pem", own.certificate);
    options->key_file = Write("own.key", own.key);
  };
  EXPECT_EQ(Try(tls, "localhost", show), "ok");
  ExpectRefused(Try(tls, "localhost"), "client certificate");
  const auto stranger = [&](TlsOptions* options) {
    const CertificatePair other = authority_.Issue({.usage = "clientAuth"});
    options->certificate_file = Write("other.pem", other.certificate);
    options->key_file = Write("other.key", other.key);
  };
  ExpectRefused(Try(tls, "localhost", stranger), "does not accept the client certificate");
}

TEST_F(TransportTls, NamesTheFileThatIsOfNoUse) {
  const ServerTls tls{authority_.Issue({})};
  ExpectRefused(Try(tls, "localhost", [](TlsOptions* o) { o->ca_file = "/no/such/ca.pem"; }),
                "/no/such/ca.pem");
  const std::string noise = Write("noise.pem", "this is no certificate");
  ExpectRefused(Try(tls, "localhost", [&](TlsOptions* o) { o->ca_file = noise; }), noise);
  ExpectRefused(Try(tls, "localhost", [&](TlsOptions* o) { o->certificate_file = noise; }),
                "certificate_file and key_file go together");
  const CertificatePair one = authority_.Issue({});
  const CertificatePair other = authority_.Issue({});
  const auto mixed = [&](TlsOptions* o) {
    o->certificate_file = Write("one.pem", one.certificate);
    o->key_file = Write("other.key", other.key);
  };
  ExpectRefused(Try(tls, "localhost", mixed), "other.key");
  const auto of_another_type = [&](TlsOptions* o) {
    o->certificate_file = Write("one.pem", one.certificate);
    o->key_file = Write("rsa.key", testing::MakeRsaKey());
  };
  ExpectRefused(Try(tls, "localhost", of_another_type), "rsa.key");
}

TEST_F(TransportTls, TellsAServerWithoutTls) {
  LoopbackServer server([](ServerStream& stream) {
    if (stream.Read()) stream.Write("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const auto loop = MakeLoop();
  TransportOptions options;
  options.endpoint = {"localhost", server.port()};
  options.tls.emplace();
  std::optional<Status> closed;
  Transport transport(*loop, options,
                      {.connected = [] { ADD_FAILURE(); },
                       .received = [](std::string_view) { ADD_FAILURE(); },
                       .drained = [] {},
                       .closed = [&](const Status& status) { closed = status; }});
  ASSERT_TRUE(RunUntil(*loop, [&] { return closed.has_value(); }));
  ExpectRefused(closed->ToString(), "does not speak TLS on this port");
}

TEST_F(TransportTls, GivesUpOnASilentHandshake) {
  LoopbackServer server([](ServerStream& stream) { stream.Hang(); });
  const auto clock = std::make_shared<FakeClock>(SystemClock()->WallMicros());
  const auto loop = MakeLoop(clock);
  TransportOptions options;
  options.endpoint = {"127.0.0.1", server.port()};
  options.tls.emplace();
  std::optional<Status> closed;
  Transport transport(*loop, options,
                      {.connected = [] {}, .received = [](std::string_view) {},
                       .drained = [] {},
                       .closed = [&](const Status& status) { closed = status; }});
  ASSERT_TRUE(RunUntil(*loop, [&] { return !transport.peer_address().empty(); }));
  clock->AdvanceSeconds(10);
  ASSERT_TRUE(RunUntil(*loop, [&] { return closed.has_value(); }));
  EXPECT_EQ(closed->code(), StatusCode::kIoError);
  EXPECT_NE(closed->message().find("no answer in 10.0 s"), std::string::npos);
}

TEST_F(TransportTls, CarriesMegabytes) {
  LoopbackServer server(
      [](ServerStream& stream) {
        while (const auto bytes = stream.Read()) stream.Write(*bytes);
      },
      ServerTls{authority_.Issue({})});
  const auto loop = MakeLoop();
  TransportOptions options;
  options.endpoint = {"localhost", server.port()};
  options.tls.emplace();
  options.tls->ca_file = Write("ca.pem", authority_.certificate());
  std::string received;
  std::optional<Status> closed;
  Transport transport(*loop, options,
                      {.connected = [] {},
                       .received = [&](std::string_view bytes) { received.append(bytes); },
                       .drained = [] {},
                       .closed = [&](const Status& status) { closed = status; }});
  std::string sent;
  for (int i = 0; sent.size() < 3'000'000; ++i) sent += std::to_string(i) + ",";
  ASSERT_TRUE(transport.Send(sent).ok());
  ASSERT_TRUE(RunUntil(*loop, [&] { return closed || received.size() >= sent.size(); }));
  EXPECT_FALSE(closed);
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace cistern::cql
