// A CQL server on the loopback whose answers a test writes down. It shakes hands, describes a
// cluster and keeps nothing: the fake of Cassandra is another one (fake_cassandra).
#ifndef CISTERN_TESTS_SUPPORT_SCRIPTED_CQL_SERVER_H_
#define CISTERN_TESTS_SUPPORT_SCRIPTED_CQL_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/cql/envelope_stream.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/loopback_server.h"

namespace cistern::testing {

// A row of a system table: the serialised value of each column, and its type.
struct SystemColumn {
  std::string type;
  std::optional<std::string> value;
};
using SystemRow = std::map<std::string, SystemColumn>;
// "system.local" to its rows. A table that is not here is answered with `invalid`.
using SystemTables = std::map<std::string, std::vector<SystemRow>>;

// A node as system.local and system.peers_v2 describe it.
struct NodeRow {
  char host_id = 'a';  // sixteen times this
  std::string address = std::string("\x7f\0\0\1", 4);
  int32_t port = 9042;
  std::string data_center = "dc1";
  std::string rack = "r1";
  std::vector<int64_t> tokens = {};
};
// What `self` says of the cluster. Keyspace "ks" has SimpleStrategy with `replication` copies.
[[nodiscard]] SystemTables DescribeCluster(const NodeRow& self, const std::vector<NodeRow>& peers,
                                           int replication = 1);

struct ScriptedServerOptions {
  cql::ProtocolVersion version_max = cql::ProtocolVersion::kV5;
  bool has_lz4 = true;
  std::optional<PlainCredentials> password = {};  // none: nobody is asked
  std::optional<ServerTls> tls = {};
  size_t write_bytes_max = 0;                     // of one write; 0: all at once
  uint16_t port = 0;
  SystemTables tables = DescribeCluster({}, {});
  // Long enough that packing makes it shorter.
  std::string authenticator =
      "org.apache.cassandra.auth.PasswordAuthenticator" + std::string(100, '.');
};

// One request and the way to answer it. On the thread of its connection.
struct ScriptedTurn {
  ServerStream& stream;
  int connection = 0;  // counted from 0
  ResponseHead head;
  RequestMessage request;
  std::string out;     // envelopes that are sent when the script returns
  bool closes = false;
};

class ScriptedCqlServer {
 public:
  // Called for each request after the handshake. False: the server answers as it would without a
  // script (Prepared, Void, rows of system tables). One call at a time.
  using Script = std::function<bool(ScriptedTurn&)>;

  explicit ScriptedCqlServer(ScriptedServerOptions options = {}, Script script = {});

  [[nodiscard]] uint16_t port() const { return server_->port(); }
  [[nodiscard]] int accepted_count() const { return server_->accepted_count(); }
  // All that came, of all connections, as it came (behind TLS: decrypted).
  [[nodiscard]] std::string bytes_received() const;
  // Messages of this kind that came.
  template <typename T>
  [[nodiscard]] std::vector<T> Received() const {
    const std::lock_guard lock(mutex_);
    std::vector<T> all;
    for (const RequestMessage& one : requests_) {
      if (const T* found = std::get_if<T>(&one)) all.push_back(*found);
    }
    return all;
  }
  // Mistakes of the client: requests that could not be decoded, in words.
  [[nodiscard]] std::vector<std::string> complaints() const;
  // Ends the connections that are open.
  void ShutAll() { server_->ShutAll(); }
  void SetTables(SystemTables tables);

 private:
  struct Peer;  // one connection
  void Serve(ServerStream& stream);
  [[nodiscard]] bool Handle(Peer* peer, const cql::Envelope& envelope);
  [[nodiscard]] bool HandleStartup(Peer* peer, const StartupRequest& startup,
                                   const ResponseHead& head);
  [[nodiscard]] bool HandlePassword(Peer* peer, const AuthResponseRequest& sent,
                                    const ResponseHead& head);
  void AnswerQuery(const std::string& cql, const ResponseHead& head, std::string* out);
  void AnswerByDefault(ScriptedTurn* turn);
  [[nodiscard]] bool Send(Peer* peer, const std::string& envelopes);

  ScriptedServerOptions options_;
  const Script script_;
  mutable std::mutex mutex_;
  std::string bytes_received_;
  std::vector<RequestMessage> requests_;
  std::vector<std::string> complaints_;
  int connection_count_ = 0;
  std::mutex script_mutex_;
  std::unique_ptr<LoopbackServer> server_;  // last: its threads use all the others
};

// The id that the server gives a statement: 16 bytes that depend on the text alone.
[[nodiscard]] std::string ScriptedStatementId(const std::string& cql);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_SCRIPTED_CQL_SERVER_H_
