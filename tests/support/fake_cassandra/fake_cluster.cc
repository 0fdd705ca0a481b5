#include "tests/support/fake_cassandra/fake_cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

namespace cistern::fake_cassandra {
namespace {

constexpr size_t kNodeCountMax = 200;  // addresses 127.0.0.1 and up
constexpr int kPortAttempts = 50;

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

// With `is_reset` the peer gets RST instead of an orderly end.
void CloseSocket(int socket, bool is_reset) {
  if (is_reset) {
    const linger now{1, 0};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close(socket);
}

}  // namespace

FakeCluster::FakeCluster(ClusterOptions options, std::shared_ptr<FaultScript> script)
    : state_(std::move(options)), script_(std::move(script)), listeners_(state_.node_count()) {}

Result<std::unique_ptr<FakeCluster>> FakeCluster::Start(ClusterOptions options,
                                                        std::shared_ptr<FaultScript> script) {
  if (options.node_count == 0 || options.node_count > kNodeCountMax) {
    return Status::InvalidArgument("a fake cluster has 1 to 200 nodes");
  }
  std::unique_ptr<FakeCluster> cluster(new FakeCluster(std::move(options), std::move(script)));
  Status status = Status::Ok();
  // The port of the first node must be free at the other addresses too.
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    cluster->port_ = 0;
    for (size_t node = 0; node < cluster->listeners_.size(); ++node) {
      status = cluster->Listen(node);
      if (!status.ok()) break;
    }
    if (status.ok()) return cluster;
    for (size_t node = 0; node < cluster->listeners_.size(); ++node) cluster->Drop(node);
  }
  return status;
}

FakeCluster::~FakeCluster() {
  StopThread();
  for (size_t node = 0; node < listeners_.size(); ++node) Drop(node);
}

std::string FakeCluster::host(size_t node) const { return "127.0.0." + std::to_string(node + 1); }

Status FakeCluster::Listen(size_t node) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return Status::IoError("no socket for a fake node");
  SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<uint32_t>(node));
  address.sin_port = htons(port_);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool is_listening = bind(socket, generic, length) == 0 && listen(socket, 128) == 0 &&
                            getsockname(socket, generic, &length) == 0;
  if (!is_listening) {
    close(socket);
    return Status::IoError("fake node " + host(node) + ":" + std::to_string(port_) +
                           " cannot listen");
  }
  port_ = ntohs(address.sin_port);
  listeners_[node] = {socket, std::nullopt};
  const std::string bytes = {127, 0, 0, static_cast<char>(node + 1)};
  state_.SetEndpoint(node, bytes, port_);
  state_.SetUp(node, true);
  return Status::Ok();
}

bool FakeCluster::Poll(int wait_ms) {
  const std::lock_guard lock(mutex_);
  return PollLocked(wait_ms);
}

bool FakeCluster::PollLocked(int wait_ms) {
  BringUpDueNodes();
  SendEvents();
  const int64_t now_us = NowUs();
  std::vector<pollfd> polled;
  for (const Listener& listener : listeners_) polled.push_back({listener.socket, POLLIN, 0});
  for (Connection& connection : connections_) {
    const bool is_deaf = connection.server.end() != ServerConnection::End::kOpen;
    short events = is_deaf ? 0 : POLLIN;
    if (!connection.server.Output(now_us).empty()) events |= POLLOUT;
    polled.push_back({connection.socket, events, 0});
  }
  if (poll(polled.data(), polled.size(), wait_ms) <= 0) return false;
  bool did_something = false;
  size_t at = listeners_.size();
  for (auto connection = connections_.begin(); connection != connections_.end(); ++at) {
    const bool is_readable = (polled[at].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    const bool goes_on = Serve(&*connection, is_readable, &did_something);
    connection = goes_on ? std::next(connection) : connections_.erase(connection);
  }
  for (size_t node = 0; node < listeners_.size(); ++node) {
    if ((polled[node].revents & POLLIN) == 0) continue;
    did_something = true;
    Accept(node);
  }
  for (const Crash& crash : std::exchange(crashes_, {})) {
    if (crash.is_silent) {
      CutPowerLocked(crash.node, crash.back_after_us);
    } else {
      TakeDownLocked(crash.node, crash.commit_log, crash.back_after_us);
    }
  }
  return did_something;
}

void FakeCluster::Accept(size_t node) {
  const int socket =
      accept4(listeners_[node].socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return;
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  ++counters_.connections;
  ConnectionContext context{
      state_, counters_, [this](const RequestFacts& facts) { return NextStep(facts); },
      [this](size_t at, CommitLog commit_log, int64_t back_after_us) {
        crashes_.push_back({at, commit_log, back_after_us});
      },
      [this](size_t at, int64_t back_after_us) {
        crashes_.push_back({at, CommitLog::kUnsyncedLost, back_after_us, true});
      }};
  connections_.emplace_back(socket, ServerConnection(std::move(context), node));
}

bool FakeCluster::Serve(Connection* connection, bool is_readable, bool* did_something) {
  using End = ServerConnection::End;
  std::array<char, 64 * 1024> buffer;
  const bool reads = is_readable && connection->server.end() == End::kOpen;
  if (reads) {
    const ssize_t count = recv(connection->socket, buffer.data(), buffer.size(), 0);
    if (count > 0) {
      *did_something = true;
      connection->server.Feed({buffer.data(), static_cast<size_t>(count)});
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      *did_something = true;
      CloseSocket(connection->socket, false);
      return false;
    }
  }
  const bool is_connected = Flush(connection, did_something);
  const End end = connection->server.end();
  if (is_connected && (end == End::kOpen || end == End::kBlackHole)) return true;
  if (is_connected && !connection->server.Output(NowUs()).empty()) return true;
  *did_something = true;
  CloseSocket(connection->socket, end == End::kReset);
  return false;
}

bool FakeCluster::Flush(Connection* connection, bool* did_something) {
  const std::string_view output = connection->server.Output(NowUs());
  if (output.empty() || connection->server.end() == ServerConnection::End::kBlackHole) return true;
  const ssize_t count = send(connection->socket, output.data(), output.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  *did_something = true;
  connection->server.Sent(static_cast<size_t>(count));
  return true;
}

void FakeCluster::DropConnections(size_t node) {
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (at->server.node() != node) {
      ++at;
      continue;
    }
    CloseSocket(at->socket, true);
    at = connections_.erase(at);
  }
}

void FakeCluster::Drop(size_t node) {
  DropConnections(node);
  Listener& listener = listeners_[node];
  if (listener.socket >= 0) close(listener.socket);
  listener.socket = -1;
}

void FakeCluster::TakeDownLocked(size_t node, CommitLog commit_log, int64_t back_after_us) {
  if (listeners_[node].socket < 0) return;
  Drop(node);
  state_.Crash(node, commit_log);
  if (back_after_us > 0) listeners_[node].up_at_us = NowUs() + back_after_us;
  const NodeFacts& facts = state_.facts(node);
  node_events_.push_back({cql::NodeEvent::Kind::kDown, facts.address, facts.port});
}

void FakeCluster::CutPowerLocked(size_t node, int64_t back_after_us) {
  Listener& listener = listeners_[node];
  if (listener.socket < 0) return;
  for (Connection& connection : connections_) {
    if (connection.server.node() == node) connection.server.FallSilent();
  }
  close(std::exchange(listener.socket, -1));
  state_.Crash(node, CommitLog::kUnsyncedLost);
  if (back_after_us > 0) listener.up_at_us = NowUs() + back_after_us;
}

Status FakeCluster::BringUpLocked(size_t node) {
  if (listeners_[node].socket >= 0) return Status::Ok();
  DropConnections(node);  // of before its power was cut
  CISTERN_RETURN_IF_ERROR(Listen(node));
  const NodeFacts& facts = state_.facts(node);
  node_events_.push_back({cql::NodeEvent::Kind::kUp, facts.address, facts.port});
  return Status::Ok();
}

void FakeCluster::BringUpDueNodes() {
  for (size_t node = 0; node < listeners_.size(); ++node) {
    const Listener& listener = listeners_[node];
    if (listener.socket >= 0 || listener.up_at_us.value_or(INT64_MAX) > NowUs()) continue;
    // Where the port is taken for a moment the next turn tries again.
    BringUpLocked(node).IgnoreError();
  }
}

void FakeCluster::SendEvents() {
  const std::vector<cql::SchemaChange> changes = state_.TakeSchemaChanges();
  const std::vector<cql::NodeEvent> events = std::exchange(node_events_, {});
  for (Connection& connection : connections_) {
    if (!connection.server.is_registered()) continue;
    for (const cql::SchemaChange& change : changes) connection.server.SendSchemaChange(change);
    for (const cql::NodeEvent& event : events) connection.server.SendNodeEvent(event);
  }
}

FaultStep FakeCluster::NextStep(const RequestFacts& facts) {
  if (script_ == nullptr) return {};
  FaultStep step = script_->Next(facts);
  if (step.event) step.event(*this);
  return step;
}

void FakeCluster::StartThread() {
  is_stopped_ = false;
  thread_ = std::thread([this] {
    while (!is_stopped_) Poll(1);
  });
}

void FakeCluster::StopThread() {
  is_stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

Status FakeCluster::Run(std::string_view cql) {
  const std::lock_guard lock(mutex_);
  return state_.Run(cql);
}

void FakeCluster::TakeDown(size_t node, CommitLog commit_log) {
  const std::lock_guard lock(mutex_);
  TakeDownLocked(node, commit_log, 0);
}

void FakeCluster::CutPower(size_t node) {
  const std::lock_guard lock(mutex_);
  CutPowerLocked(node, 0);
}

Status FakeCluster::BringUp(size_t node) {
  const std::lock_guard lock(mutex_);
  return BringUpLocked(node);
}

void FakeCluster::SyncCommitLogs() {
  const std::lock_guard lock(mutex_);
  for (size_t node = 0; node < state_.node_count(); ++node) state_.SyncCommitLog(node);
}

void FakeCluster::SetPassword(const std::string& password) {
  const std::lock_guard lock(mutex_);
  state_.SetPassword(password);
}

void FakeCluster::Compact() {
  const std::lock_guard lock(mutex_);
  state_.Compact();
}

void FakeCluster::ResetConnections() {
  const std::lock_guard lock(mutex_);
  for (const Connection& connection : connections_) CloseSocket(connection.socket, true);
  connections_.clear();
}

Status FakeCluster::Heal() {
  const std::lock_guard lock(mutex_);
  script_ = nullptr;
  for (size_t node = 0; node < listeners_.size(); ++node) {
    CISTERN_RETURN_IF_ERROR(BringUpLocked(node));
  }
  return Status::Ok();
}

std::string FakeCluster::Dump(const std::string& keyspace, const std::string& table, DumpKind kind,
                              std::optional<int64_t> now_s) {
  const std::lock_guard lock(mutex_);
  const int64_t own_s = state_.options().clock->WallMicros() / 1'000'000;
  return state_.Dump(keyspace, table, kind, now_s.value_or(own_s));
}

ClusterCounters FakeCluster::counters() {
  const std::lock_guard lock(mutex_);
  return counters_;
}

size_t FakeCluster::connection_count() {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void FakeCluster::WithState(const std::function<void(ClusterState&)>& visit) {
  const std::lock_guard lock(mutex_);
  visit(state_);
}

}  // namespace cistern::fake_cassandra
