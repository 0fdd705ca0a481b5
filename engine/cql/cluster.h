// Cluster: connections to the hosts of a cluster, and what it tells of itself.
//
// One of the connections that are up is the control connection: it is told of changes, and it is
// asked for the nodes, their tokens and the replication of the keyspaces.
#ifndef CISTERN_CQL_CLUSTER_H_
#define CISTERN_CQL_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/cql/connection.h"
#include "engine/cql/host_pool.h"
#include "engine/cql/topology_rows.h"

namespace cistern::cql {

struct ClusterOptions {
  HostPoolOptions hosts = {};
  ConnectionOptions connection = {};     // its endpoint is that of each host
  int64_t refresh_delay_us = 1'000'000;  // from a change to the question what it was
};

struct ClusterEvents {
  std::function<void(HostId)> host_came;     // it takes requests now
  std::function<void(HostId)> host_went;     // its connection has ended, or could not be made
  std::function<void()> described;           // nodes and keyspaces are known, or known anew
  // Somebody has altered the schema; null: what was altered until now was not told.
  std::function<void(const SchemaChange*)> schema_changed;
};

// The loop's thread only; must not outlive the loop. Events come from the loop, never from inside
// a call; they must not destroy the cluster.
class Cluster {
 public:
  Cluster(EventLoop& loop, ClusterOptions options, ClusterEvents events);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  // The connection of a host that is up; null otherwise. Valid until the next turn of the loop.
  [[nodiscard]] Connection* at(HostId host);
  // The hosts to try, in order; see HostPool::Plan.
  [[nodiscard]] std::vector<HostId> Plan(std::optional<int64_t> token, std::string_view keyspace);
  // The host whose events are heard, alone; where there is none any host.
  [[nodiscard]] std::vector<HostId> ControlPlan();
  [[nodiscard]] const HostPool& pool() const { return pool_; }
  // True once the cluster has described itself: requests are routed by their token.
  [[nodiscard]] bool is_described() const { return is_described_; }
  // How often a host was lost that had taken requests. What it acknowledged last may be lost with
  // it: an acknowledgement is no fsync.
  [[nodiscard]] uint64_t hosts_lost() const { return hosts_lost_; }
  // Ends all connections and stays so. Any number of times.
  void Close();

 private:
  // What a refresh gathers, answer by answer.
  struct Description {
    std::vector<NodeInfo> nodes;
    std::map<std::string, Replication> keyspaces;
  };
  using RowsCallback = std::function<void(const RowsResult*, const ErrorResponse*)>;

  void ConnectDue();
  void Connect(HostId host);
  void OnReady(HostId host);
  void OnIdentified(HostId host, std::optional<NodeInfo> info);
  void OnClosed(HostId host, const Status& status);
  void OnPushed(HostId host, const ResponseMessage& event);
  void Drop(HostId host);
  // Of a query of the control connection or a new one. Null rows: it failed.
  void Ask(HostId host, const char* cql, RowsCallback done);
  void TakeControl();
  [[nodiscard]] Status Register(HostId host);
  void OnRegistered(HostId host, const Answer& answer);
  void RegisterLater();
  void RefreshSoon();
  void Refresh();
  void AskPeers(std::shared_ptr<Description> gathered, const char* cql);
  void AskKeyspaces(std::shared_ptr<Description> gathered);
  void Apply(Description description);

  EventLoop& loop_;
  const ClusterOptions options_;
  const ClusterEvents events_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  HostPool pool_;
  std::map<HostId, std::unique_ptr<Connection>> connections_;
  HostId control_ = 0;                   // 0: none
  bool is_described_ = false;
  bool is_closed_ = false;
  uint64_t hosts_lost_ = 0;
  TimerId connect_timer_ = 0;
  TimerId refresh_timer_ = 0;
  TimerId register_timer_ = 0;
  int64_t register_pause_us_ = 0;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_CLUSTER_H_
