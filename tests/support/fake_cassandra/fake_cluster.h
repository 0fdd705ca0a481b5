// FakeCluster: a Cassandra cluster inside the test, on loopback sockets.
//
// Nodes listen at 127.0.0.1, 127.0.0.2, ... on one ephemeral port. The cluster is a step function:
// Poll takes what came and sends what is due, so that a test which drives the client on the same
// thread, with a clock of its own, repeats itself; or it runs on a thread of its own. What it
// stores follows Cassandra's rules (partition_store.h), what goes wrong a script (fault_script.h).
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_FAKE_CLUSTER_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_FAKE_CLUSTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cistern/result.h"
#include "lib/base/fair_mutex.h"
#include "tests/support/fake_cassandra/cluster_state.h"
#include "tests/support/fake_cassandra/fault_script.h"
#include "tests/support/fake_cassandra/server_connection.h"

namespace cistern::fake_cassandra {

// Thread-safe, but for Poll while the thread runs. Events of a script call the methods that end
// in "Locked": they run under the cluster's lock already.
class FakeCluster {
 public:
  // kIoError: no sockets. `script` may be null: nothing goes wrong.
  [[nodiscard]] static Result<std::unique_ptr<FakeCluster>> Start(
      ClusterOptions options, std::shared_ptr<FaultScript> script = nullptr);
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;
  ~FakeCluster();

  // Does what can be done now; waits for at most `wait_ms` for something to come. False: nothing
  // was there to do.
  bool Poll(int wait_ms = 0);
  // Polls on a thread until StopThread or the end.
  void StartThread();
  void StopThread();

  [[nodiscard]] std::string host(size_t node) const;
  [[nodiscard]] uint16_t port() const { return port_; }

  // --- by hand
  // A statement with literals, at consistency ALL.
  Status Run(std::string_view cql);
  void TakeDown(size_t node, CommitLog commit_log = CommitLog::kReplayed);
  // What was not synced is lost, and nobody is told: connections stay, and are reset when the node
  // is up again.
  void CutPower(size_t node);
  Status BringUp(size_t node);
  void SyncCommitLogs();
  void SetPassword(const std::string& password);
  void Compact();
  // Ends all connections with RST; nodes stay up.
  void ResetConnections();
  // From now on nothing goes wrong, and nodes that are down come up.
  Status Heal();

  Status RunLocked(std::string_view cql) { return state_.Run(cql); }
  void TakeDownLocked(size_t node, CommitLog commit_log, int64_t back_after_us);
  void CutPowerLocked(size_t node, int64_t back_after_us);
  void SetPasswordLocked(const std::string& password) { state_.SetPassword(password); }

  // --- what came of it
  // Of all nodes together; see DumpKind. `now_s`: none is the cluster's own.
  [[nodiscard]] std::string Dump(const std::string& keyspace, const std::string& table,
                                 DumpKind kind = DumpKind::kVisible,
                                 std::optional<int64_t> now_s = std::nullopt);
  [[nodiscard]] ClusterCounters counters();
  [[nodiscard]] size_t connection_count();
  // Anything else, under the lock.
  void WithState(const std::function<void(ClusterState&)>& visit);

 private:
  struct Listener {
    int socket = -1;  // -1: the node is down
    std::optional<int64_t> up_at_us;
  };
  struct Connection {
    int socket = -1;
    ServerConnection server;
    Connection(int s, ServerConnection c) : socket(s), server(std::move(c)) {}
  };

  FakeCluster(ClusterOptions options, std::shared_ptr<FaultScript> script);
  Status Listen(size_t node);
  [[nodiscard]] bool PollLocked(int wait_ms);
  void Accept(size_t node);
  // False: the connection is over, and its socket closed.
  bool Serve(Connection* connection, bool is_readable, bool* did_something);
  bool Flush(Connection* connection, bool* did_something);
  void Drop(size_t node);  // its connections and its listener
  void DropConnections(size_t node);
  void BringUpDueNodes();
  void SendEvents();
  Status BringUpLocked(size_t node);
  FaultStep NextStep(const RequestFacts& facts);
  [[nodiscard]] int64_t NowUs() { return state_.options().clock->MonotonicMicros(); }

  FairMutex mutex_;
  ClusterState state_;
  std::shared_ptr<FaultScript> script_;
  ClusterCounters counters_;
  uint16_t port_ = 0;
  std::vector<Listener> listeners_;
  std::list<Connection> connections_;
  std::vector<cql::NodeEvent> node_events_;
  struct Crash {
    size_t node;
    CommitLog commit_log;
    int64_t back_after_us;
    bool is_silent = false;
  };
  std::vector<Crash> crashes_;  // after the request that brought them about
  std::atomic<bool> is_stopped_ = true;
  std::thread thread_;
};

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_FAKE_CLUSTER_H_
