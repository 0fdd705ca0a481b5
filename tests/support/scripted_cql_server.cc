#include "tests/support/scripted_cql_server.h"

#include <algorithm>
#include <utility>

#include "engine/cql/token.h"
#include "lib/base/coding.h"

namespace cistern::testing {
namespace {

using cql::ErrorCode;
using cql::ErrorResponse;
using cql::ProtocolVersion;

std::string TextSet(const std::vector<int64_t>& tokens) {
  std::string bytes;
  PutBig(&bytes, static_cast<int32_t>(tokens.size()));
  for (const int64_t token : tokens) {
    const std::string text = std::to_string(token);
    PutBig(&bytes, static_cast<int32_t>(text.size()));
    bytes += text;
  }
  return bytes;
}

std::string IntBytes(int32_t value) {
  std::string bytes;
  PutBig(&bytes, value);
  return bytes;
}

std::string TextMap(const std::map<std::string, std::string>& map) {
  std::string bytes = IntBytes(static_cast<int32_t>(map.size()));
  for (const auto& [key, value] : map) {
    bytes += IntBytes(static_cast<int32_t>(key.size())) + key;
    bytes += IntBytes(static_cast<int32_t>(value.size())) + value;
  }
  return bytes;
}

// What local and peers have in common.
SystemRow Common(const NodeRow& node) {
  return {{"host_id", {"uuid", std::string(16, node.host_id)}},
          {"data_center", {"text", node.data_center}},
          {"rack", {"text", node.rack}},
          {"release_version", {"text", "5.0.8"}},
          {"schema_version", {"uuid", std::string(16, 's')}},
          {"tokens", {"set<text>", TextSet(node.tokens)}}};
}

// "a, b" of "SELECT a, b FROM t".
std::vector<std::string> SelectedColumns(const std::string& cql) {
  const size_t from = cql.find(" FROM ");
  std::vector<std::string> columns;
  std::string name;
  for (const char c : cql.substr(7, from - 7) + ",") {
    if (c == ',') columns.push_back(std::exchange(name, {}));
    else if (c != ' ') name += c;
  }
  return columns;
}

}  // namespace

SystemTables DescribeCluster(const NodeRow& self, const std::vector<NodeRow>& peers,
                             int replication) {
  SystemRow local = Common(self);
  local["key"] = {"text", "local"};
  local["cluster_name"] = {"text", "scripted"};
  local["partitioner"] = {"text", "org.apache.cassandra.dht.Murmur3Partitioner"};
  local["rpc_address"] = {"inet", self.address};
  local["rpc_port"] = {"int", IntBytes(self.port)};
  SystemTables tables{{"system.local", {local}}, {"system.peers_v2", {}}, {"system.peers", {}}};
  for (const NodeRow& peer : peers) {
    SystemRow row = Common(peer);
    row["peer"] = {"inet", peer.address};
    row["native_address"] = {"inet", peer.address};
    row["native_port"] = {"int", IntBytes(peer.port)};
    row["rpc_address"] = {"inet", peer.address};
    tables["system.peers_v2"].push_back(row);
    tables["system.peers"].push_back(row);
  }
  const std::string simple = "org.apache.cassandra.locator.SimpleStrategy";
  tables["system_schema.keyspaces"].push_back(
      {{"keyspace_name", {"text", "ks"}},
       {"replication",
        {"map<text, text>",
         TextMap({{"class", simple}, {"replication_factor", std::to_string(replication)}})}}});
  return tables;
}

std::string ScriptedStatementId(const std::string& cql) {
  std::string id;
  PutBig(&id, cql::TokenOf(cql));
  PutBig(&id, cql::TokenOf(cql + "#"));
  return id;
}

struct ScriptedCqlServer::Peer {
  ServerStream& stream;
  int connection = 0;
  ProtocolVersion version = ProtocolVersion::kV5;
  cql::Compression compression = cql::Compression::kNone;
  bool is_started = false;
  bool is_ready = false;
  cql::EnvelopeEncoder encoder = {};
  cql::EnvelopeDecoder decoder{cql::Direction::kRequest};
};

ScriptedCqlServer::ScriptedCqlServer(ScriptedServerOptions options, Script script)
    : options_(std::move(options)), script_(std::move(script)) {
  server_ = std::make_unique<LoopbackServer>([this](ServerStream& stream) { Serve(stream); },
                                             options_.tls, options_.port);
}

std::string ScriptedCqlServer::bytes_received() const {
  const std::lock_guard lock(mutex_);
  return bytes_received_;
}

std::vector<std::string> ScriptedCqlServer::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

void ScriptedCqlServer::SetTables(SystemTables tables) {
  const std::lock_guard lock(mutex_);
  options_.tables = std::move(tables);
}

void ScriptedCqlServer::Serve(ServerStream& stream) {
  Peer peer{.stream = stream};
  {
    const std::lock_guard lock(mutex_);
    peer.connection = connection_count_++;
  }
  while (const auto bytes = stream.Read()) {
    {
      const std::lock_guard lock(mutex_);
      bytes_received_ += *bytes;
    }
    peer.decoder.Feed(*bytes);
    for (;;) {
      const auto next = peer.decoder.Next();
      if (!next.ok()) {
        const std::lock_guard lock(mutex_);
        complaints_.push_back(next.status().ToString());
        return;
      }
      if (!next.value().has_value()) break;
      if (!Handle(&peer, **next)) return;
    }
  }
}

bool ScriptedCqlServer::Send(Peer* peer, const std::string& envelopes) {
  std::string bytes;
  peer->encoder.Encode(envelopes, &bytes);
  const size_t step = options_.write_bytes_max == 0 ? bytes.size() : options_.write_bytes_max;
  for (size_t at = 0; at < bytes.size(); at += step) {
    if (!peer->stream.Write(std::string_view(bytes).substr(at, step))) return false;
  }
  return true;
}

bool ScriptedCqlServer::Handle(Peer* peer, const cql::Envelope& envelope) {
  ResponseHead head{.version = peer->version, .stream = envelope.header.stream};
  if (envelope.header.version > static_cast<uint8_t>(options_.version_max)) {
    head.version = options_.version_max;
    ErrorResponse error;
    error.code = ErrorCode::kProtocolError;
    error.message = "Invalid or unsupported protocol version; supported versions are (4/v4)";
    std::string out;
    AppendError(head, error, &out);
    return Send(peer, out) && false;
  }
  if (!peer->is_started) peer->version = ProtocolVersion{envelope.header.version};
  head.version = peer->version;
  auto request = DecodeRequest(peer->version, envelope);
  {
    const std::lock_guard lock(mutex_);
    if (request.ok()) requests_.push_back(*request);
    else complaints_.push_back(request.status().ToString());
  }
  if (!request.ok()) return false;
  if (const auto* startup = std::get_if<StartupRequest>(&*request)) {
    return HandleStartup(peer, *startup, head);
  }
  if (const auto* sent = std::get_if<AuthResponseRequest>(&*request)) {
    return HandlePassword(peer, *sent, head);
  }
  ScriptedTurn turn{.stream = peer->stream, .connection = peer->connection, .head = head,
                    .request = std::move(*request), .out = {}};
  bool is_answered = false;
  if (peer->is_ready && script_) {
    const std::lock_guard lock(script_mutex_);
    is_answered = script_(turn);
  }
  if (!is_answered) AnswerByDefault(&turn);
  return Send(peer, turn.out) && !turn.closes;
}

bool ScriptedCqlServer::HandleStartup(Peer* peer, const StartupRequest& startup,
                                      const ResponseHead& head) {
  const auto asked = startup.options.find("COMPRESSION");
  if (asked != startup.options.end()) peer->compression = cql::Compression::kLz4;
  peer->is_started = true;
  // As Cassandra does: in v4 the answer itself is packed, in v5 only what follows it.
  if (peer->version == ProtocolVersion::kV4) {
    peer->encoder.Establish(peer->version, peer->compression);
  }
  std::string out;
  if (options_.password) {
    AppendAuthenticate(head, options_.authenticator, &out);
  } else {
    AppendReady(head, &out);
    peer->is_ready = true;
  }
  const bool is_sent = Send(peer, out);
  peer->encoder.Establish(peer->version, peer->compression);
  peer->decoder.Establish(peer->version, peer->compression);
  return is_sent;
}

bool ScriptedCqlServer::HandlePassword(Peer* peer, const AuthResponseRequest& sent,
                                       const ResponseHead& head) {
  const auto given = ParsePlainToken(sent.token);
  const bool is_right = given && options_.password && given->user == options_.password->user &&
                        given->password == options_.password->password;
  std::string out;
  if (is_right) {
    AppendAuthSuccess(head, std::nullopt, &out);
    peer->is_ready = true;
  } else {
    ErrorResponse error;
    error.code = ErrorCode::kBadCredentials;
    // No Cassandra says it; a client must not pass it on all the same.
    error.message = "Provided password " + (given ? given->password : "") + " is incorrect";
    AppendError(head, error, &out);
  }
  return Send(peer, out) && is_right;
}

void ScriptedCqlServer::AnswerQuery(const std::string& cql, const ResponseHead& head,
                                    std::string* out) {
  if (cql.rfind("SELECT ", 0) != 0) return AppendVoid(head, out);
  std::vector<SystemRow> rows;
  bool is_known = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [table, its_rows] : options_.tables) {
      const std::string from = " FROM " + table;
      const size_t at = cql.find(from);
      if (at == std::string::npos) continue;
      if (cql.size() > at + from.size() && cql[at + from.size()] != ' ') continue;
      rows = its_rows;
      is_known = true;
    }
  }
  if (!is_known) {
    ErrorResponse error;
    error.code = ErrorCode::kInvalid;
    error.message = "table does not exist";
    return AppendError(head, error, out);
  }
  RowsAnswer answer;
  answer.metadata.keyspace = "system";
  answer.metadata.table = "table";
  for (const std::string& column : SelectedColumns(cql)) {
    const std::string type = rows.empty() || !rows[0].contains(column) ? "text"
                                                                       : rows[0].at(column).type;
    answer.metadata.columns.push_back({column, type});
  }
  answer.metadata.column_count = answer.metadata.columns.size();
  for (const SystemRow& row : rows) {
    auto& cells = answer.rows.emplace_back();
    for (const auto& column : answer.metadata.columns) {
      const auto found = row.find(column.name);
      cells.push_back(found == row.end() ? std::nullopt : found->second.value);
    }
  }
  AppendRows(head, answer, out);
}

void ScriptedCqlServer::AnswerByDefault(ScriptedTurn* turn) {
  const ResponseHead& head = turn->head;
  if (std::holds_alternative<OptionsRequest>(turn->request)) {
    std::map<std::string, std::vector<std::string>> offered{
        {"CQL_VERSION", {"3.4.7"}}, {"PROTOCOL_VERSIONS", {"3/v3", "4/v4", "5/v5", "6/v6-beta"}}};
    if (options_.has_lz4) offered["COMPRESSION"] = {"snappy", "lz4"};
    return AppendSupported(head, offered, &turn->out);
  }
  if (std::holds_alternative<RegisterRequest>(turn->request)) return AppendReady(head, &turn->out);
  if (const auto* query = std::get_if<QueryRequest>(&turn->request)) {
    return AnswerQuery(query->cql, head, &turn->out);
  }
  if (const auto* prepare = std::get_if<PrepareRequest>(&turn->request)) {
    cql::PreparedResult prepared;
    prepared.ids = {ScriptedStatementId(prepare->cql), "metadata-1"};
    prepared.markers.keyspace = "ks";
    prepared.markers.table = "t";
    for (const char c : prepare->cql) {
      if (c == '?') prepared.markers.columns.push_back({"m", "blob"});
    }
    prepared.markers.column_count = prepared.markers.columns.size();
    if (!prepared.markers.columns.empty()) prepared.key_markers = {0};
    return AppendPrepared(head, prepared, &turn->out);
  }
  AppendVoid(head, &turn->out);
}

}  // namespace cistern::testing
