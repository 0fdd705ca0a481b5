#include "engine/cql/cluster.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cistern::cql {
namespace {

// A server that does not register its client is asked after pauses that grow to so much.
constexpr int64_t kRegisterPauseFactorMax = 64;

}  // namespace

Cluster::Cluster(EventLoop& loop, ClusterOptions options, ClusterEvents events)
    : loop_(loop), options_(std::move(options)), events_(std::move(events)),
      pool_(options_.hosts) {
  ConnectDue();
}

Cluster::~Cluster() { Close(); }

void Cluster::Close() {
  is_closed_ = true;
  control_ = 0;
  if (connect_timer_ != 0) loop_.Cancel(std::exchange(connect_timer_, 0));
  if (refresh_timer_ != 0) loop_.Cancel(std::exchange(refresh_timer_, 0));
  if (register_timer_ != 0) loop_.Cancel(std::exchange(register_timer_, 0));
  connections_.clear();
}

Connection* Cluster::at(HostId host) {
  const auto found = pool_.hosts().find(host);
  if (found == pool_.hosts().end() || found->second.state != HostState::kUp) return nullptr;
  const auto connection = connections_.find(host);
  const bool is_ready = connection != connections_.end() && connection->second->is_ready();
  return is_ready ? connection->second.get() : nullptr;
}

std::vector<HostId> Cluster::Plan(std::optional<int64_t> token, std::string_view keyspace) {
  return pool_.Plan(token, keyspace, [this](HostId host) {
    const Connection* connection = at(host);
    return connection == nullptr ? 0 : static_cast<uint32_t>(connection->requests_in_flight());
  });
}

// Tries the hosts that are due and sets the timer for the next one.
void Cluster::ConnectDue() {
  if (is_closed_) return;
  for (const HostId host : pool_.DueForConnect(loop_.NowUs())) Connect(host);
  if (connect_timer_ != 0) loop_.Cancel(std::exchange(connect_timer_, 0));
  const auto next_us = pool_.NextDueUs();
  if (!next_us) return;
  connect_timer_ = loop_.After(*next_us - loop_.NowUs(), [this] {
    connect_timer_ = 0;
    ConnectDue();
  });
}

void Cluster::Connect(HostId host) {
  pool_.NoteConnecting(host);
  ConnectionOptions options = options_.connection;
  options.transport.endpoint = pool_.hosts().at(host).endpoint;
  connections_[host] = std::make_unique<Connection>(
      loop_, std::move(options),
      ConnectionEvents{
          .ready = [this, host] { OnReady(host); },
          .pushed = [this, host](const ResponseMessage& event) { OnPushed(host, event); },
          .closed = [this, host](const Status& status) { OnClosed(host, status); }});
}

void Cluster::Drop(HostId host) {
  connections_.erase(host);
  if (control_ == host) control_ = 0;
}

// Asked first of all: a contact may be a second name of a host that is connected already.
void Cluster::OnReady(HostId host) {
  Ask(host, kLocalQuery, [this, host](const RowsResult* rows, const ErrorResponse*) {
    std::optional<NodeInfo> info;
    if (rows != nullptr) {
      std::vector<NodeInfo> nodes = ReadNodes(*rows, options_.connection.transport.endpoint.port);
      if (!nodes.empty()) info = std::move(nodes[0]);
    }
    OnIdentified(host, std::move(info));
  });
}

void Cluster::OnIdentified(HostId host, std::optional<NodeInfo> info) {
  const auto found = connections_.find(host);
  if (found == connections_.end() || !found->second->is_ready()) return;
  if (!pool_.NoteUp(host, std::move(info), loop_.NowUs())) {
    Drop(host);
    ConnectDue();
    return;
  }
  if (control_ == 0) TakeControl();
  ConnectDue();
  events_.host_came(host);
}

void Cluster::OnClosed(HostId host, const Status& status) {
  const auto known = pool_.hosts().find(host);
  if (known != pool_.hosts().end() && known->second.state == HostState::kUp) ++hosts_lost_;
  pool_.NoteDown(host, status, loop_.NowUs());
  Drop(host);
  if (control_ == 0) TakeControl();
  ConnectDue();
  events_.host_went(host);
}

void Cluster::OnPushed(HostId host, const ResponseMessage& event) {
  if (host != control_) return;
  const auto* node = std::get_if<NodeEvent>(&event);
  if (node != nullptr && node->kind == NodeEvent::Kind::kUp) {
    // The event may come a second before the port is open.
    pool_.NoteHint(AddressText(node->address), loop_.NowUs() + options_.refresh_delay_us);
    ConnectDue();
  }
  const auto* schema = std::get_if<SchemaChange>(&event);
  const bool is_keyspace = schema != nullptr && schema->target == "KEYSPACE";
  if (node != nullptr || is_keyspace) RefreshSoon();
  if (schema != nullptr) events_.schema_changed(schema);
}

void Cluster::Ask(HostId host, const char* cql, RowsCallback done) {
  const auto found = connections_.find(host);
  const auto answered = [alive = std::weak_ptr<int>(alive_), done](const Answer& answer) {
    if (alive.expired()) return;
    if (answer.response == nullptr) return done(nullptr, nullptr);
    done(std::get_if<RowsResult>(&answer.response->message),
         std::get_if<ErrorResponse>(&answer.response->message));
  };
  const Status sent =
      found == connections_.end()
          ? Status::Closed("the host is gone")
          : found->second->Send(
                [cql](const RequestHead& head, std::string* out) {
                  QueryOptions options;
                  options.consistency = Consistency::kOne;
                  return AppendQuery(head, cql, options, ValueRun(), out);
                },
                AnswerKind::kRows, 0, answered);
  // A connection that has no room, or ends: what waits for the answer must not wait for ever.
  if (!sent.ok()) loop_.Post([answered] { answered(Answer()); });
}

void Cluster::TakeControl() {
  if (is_closed_) return;
  for (const auto& [id, host] : pool_.hosts()) {
    if (!Register(id).ok()) continue;
    control_ = id;
    register_pause_us_ = 0;  // it has grown while no host was there
    if (register_timer_ != 0) loop_.Cancel(std::exchange(register_timer_, 0));
    Refresh();
    return;
  }
  // Every connection may have all the requests that it may have.
  if (!connections_.empty() && register_timer_ == 0) RegisterLater();
}

std::vector<HostId> Cluster::ControlPlan() {
  if (at(control_) != nullptr) return {control_};
  return Plan(std::nullopt, {});
}

Status Cluster::Register(HostId host) {
  Connection* connection = at(host);
  if (connection == nullptr) return Status::Closed("the host is gone");
  return connection->Send(
      [](const RequestHead& head, std::string* out) {
        AppendRegister(head, out);
        return Status::Ok();
      },
      AnswerKind::kReady, 0, [this, alive = std::weak_ptr<int>(alive_),
                              host](const Answer& answer) {
        if (!alive.expired()) OnRegistered(host, answer);
      });
}

// What was altered until now was not told. A server that refuses, or does not answer, tells of
// nothing from now on either: it is asked again and again, and nothing is known in between.
void Cluster::OnRegistered(HostId host, const Answer& answer) {
  if (control_ != host || is_closed_) return;
  const bool is_registered = answer.response != nullptr &&
                             std::holds_alternative<ReadyResponse>(answer.response->message);
  if (is_registered) {
    register_pause_us_ = 0;
  } else if (register_timer_ == 0) {
    RegisterLater();
  }
  events_.schema_changed(nullptr);
}

void Cluster::RegisterLater() {
  register_pause_us_ = std::clamp(2 * register_pause_us_, options_.refresh_delay_us,
                                  kRegisterPauseFactorMax * options_.refresh_delay_us);
  register_timer_ = loop_.After(register_pause_us_, [this] {
    register_timer_ = 0;
    if (control_ == 0) {
      TakeControl();
      if (control_ == 0) events_.schema_changed(nullptr);  // for all that is known
      return;
    }
    const HostId asked = control_;
    if (!Register(asked).ok()) OnRegistered(asked, Answer());
  });
}

void Cluster::RefreshSoon() {
  if (refresh_timer_ != 0 || is_closed_) return;
  refresh_timer_ = loop_.After(options_.refresh_delay_us, [this] {
    refresh_timer_ = 0;
    Refresh();
  });
}

void Cluster::Refresh() {
  if (control_ == 0) return;
  const auto gathered = std::make_shared<Description>();
  const auto& own = pool_.hosts().at(control_).info;
  if (own) gathered->nodes.push_back(*own);
  AskPeers(gathered, kPeersV2Query);
}

void Cluster::AskPeers(std::shared_ptr<Description> gathered, const char* cql) {
  const HostId asked = control_;
  Ask(asked, cql, [this, asked, gathered, cql](const RowsResult* rows, const ErrorResponse* error) {
    if (asked != control_) return;  // the next control connection asks for itself
    if (rows == nullptr) {
      const bool is_older = error != nullptr && error->code == ErrorCode::kInvalid;
      if (is_older && cql == kPeersV2Query) return AskPeers(gathered, kPeersQuery);
      return RefreshSoon();
    }
    const uint16_t port = pool_.hosts().at(asked).endpoint.port;
    for (NodeInfo& node : ReadNodes(*rows, port)) gathered->nodes.push_back(std::move(node));
    AskKeyspaces(gathered);
  });
}

void Cluster::AskKeyspaces(std::shared_ptr<Description> gathered) {
  const HostId asked = control_;
  Ask(asked, kKeyspacesQuery,
      [this, asked, gathered](const RowsResult* rows, const ErrorResponse* error) {
        if (asked != control_) return;
        // A user that may not read the schema writes all the same, without routing.
        if (rows == nullptr && error == nullptr) return RefreshSoon();
        if (rows != nullptr) gathered->keyspaces = ReadKeyspaces(*rows);
        Apply(std::move(*gathered));
      });
}

void Cluster::Apply(Description description) {
  const std::vector<HostId> left =
      pool_.Apply(std::move(description.nodes), std::move(description.keyspaces));
  is_described_ = true;
  hosts_lost_ += left.size();
  for (const HostId host : left) Drop(host);
  if (control_ == 0) TakeControl();
  ConnectDue();
  for (const HostId host : left) events_.host_went(host);
  events_.described();
}

}  // namespace cistern::cql
