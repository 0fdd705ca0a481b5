// Which nodes hold a partition: the ring of tokens and the strategies that place replicas.
// Pure: no I/O, no clock.
//
// Source: SimpleStrategy and NetworkTopologyStrategy of Apache Cassandra 5.0.
#ifndef CISTERN_CQL_TOPOLOGY_H_
#define CISTERN_CQL_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cistern::cql {

// A node as the cluster describes it.
struct NodeInfo {
  std::string host_id;  // 16 bytes; tells nodes apart for ever, whatever their addresses
  std::string address;  // for clients, in text: "10.1.2.3" or "fd00::1"
  uint16_t port = 9042;
  std::string data_center;
  std::string rack;
  std::vector<int64_t> tokens;
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

// How a keyspace places its replicas.
struct Replication {
  enum class Kind : uint8_t {
    kSimple,    // the next nodes of the ring
    kNetwork,   // the same in each data center, racks first
    kUnknown,   // another strategy: any node will do
  };
  Kind kind = Kind::kUnknown;
  uint32_t factor = 0;                                    // of kSimple
  std::map<std::string, uint32_t> factor_of_data_center;  // of kNetwork
  friend bool operator==(const Replication&, const Replication&) = default;
};

// From the map `replication` of system_schema.keyspaces. A factor "3/1" has one transient replica,
// which takes writes as well: it counts as 3. What cannot be read is kUnknown.
[[nodiscard]] Replication ParseReplication(const std::map<std::string, std::string>& options);

// The ring. A token belongs to the first node whose token is not below it; behind the last one the
// ring begins anew. Thread-compatible.
class TokenRing {
 public:
  TokenRing() = default;
  explicit TokenRing(std::span<const NodeInfo> nodes);

  // The nodes that hold `token`, by their place in what the ring was made of, the first replica
  // first. Empty without tokens or with an unknown strategy.
  [[nodiscard]] std::vector<size_t> Replicas(int64_t token, const Replication& replication) const;

  [[nodiscard]] bool empty() const { return ring_.empty(); }

 private:
  struct Place {
    size_t data_center = 0;
    size_t rack = 0;  // of all data centers together
  };
  [[nodiscard]] std::vector<size_t> SimpleReplicas(size_t begin, uint32_t factor) const;
  [[nodiscard]] std::vector<size_t> NetworkReplicas(size_t begin,
                                                    const Replication& replication) const;

  std::vector<std::pair<int64_t, size_t>> ring_;  // sorted: token, node
  std::vector<Place> places_;                     // by node
  std::vector<std::string> data_centers_;
  std::vector<size_t> rack_counts_;               // by data center
  std::vector<size_t> node_counts_;               // by data center, those with tokens
  size_t node_count_ = 0;                         // with tokens
};

// One host as the order sees it.
struct HostRank {
  size_t node = 0;          // whatever the caller counts by
  bool is_replica = false;
  bool is_local = false;    // in the data center that is preferred
  uint32_t load = 0;        // requests in flight
};

// The order in which hosts are tried: local replicas, other local hosts, then the same of other
// data centers. Among equals the least loaded first; among those the ones from `turn` on, which
// the caller counts up, so that idle hosts take turns.
void OrderHosts(std::vector<HostRank>* hosts, uint64_t turn);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_TOPOLOGY_H_
