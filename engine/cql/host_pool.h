// HostPool: which hosts there are, which are up, when the others are tried again. Pure: no I/O,
// the clock is given.
#ifndef CISTERN_CQL_HOST_POOL_H_
#define CISTERN_CQL_HOST_POOL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cql/backoff.h"
#include "engine/cql/topology.h"
#include "engine/cql/transport.h"

namespace cistern::cql {

// Names a host of a pool; never used again for another one.
using HostId = uint32_t;

struct HostPoolOptions {
  std::vector<Endpoint> contacts = {};  // at least one
  std::string data_center = {};         // preferred; empty: that of the first host that answers
  bool use_other_data_centers = false;  // for requests, where the preferred one has no host up
  int64_t retry_first_us = 250'000;     // after a host failed, doubled with each failure
  int64_t retry_max_us = 60'000'000;
  int64_t steady_us = 60'000'000;       // up so long, the next failure counts as the first
  uint32_t flap_count_max = 2;          // beyond, it is not tried early for being said to be up
  size_t connected_max = 16;            // hosts that a connection is kept to
  uint64_t seed = 1;                    // of the waits; differs from gateway to gateway
};

enum class HostState : uint8_t { kDown, kConnecting, kUp };

struct Host {
  Endpoint endpoint;
  std::optional<NodeInfo> info;  // once it or another one has told
  bool is_contact = false;       // stays in the pool, as the way back to the cluster
  HostState state = HostState::kDown;
  int64_t retry_at_us = 0;       // while down
  int64_t up_at_us = 0;          // since when it is up, or was
  uint32_t flap_count = 0;       // times in a row that it went before it was steady
  Status failure;                // why it is down, in words; OK before the first try
};

// One thread at a time.
class HostPool {
 public:
  explicit HostPool(HostPoolOptions options);

  // Hosts that are down and due, as many as may be connected. The caller tries them and notes it.
  [[nodiscard]] std::vector<HostId> DueForConnect(int64_t now_us) const;
  // When the next one is due; nullopt: none is down, or no more may be connected.
  [[nodiscard]] std::optional<int64_t> NextDueUs() const;

  void NoteConnecting(HostId host);
  // It is connected and says that it is `info`. False: another host that is up says the same, and
  // this one is not needed.
  [[nodiscard]] bool NoteUp(HostId host, std::optional<NodeInfo> info, int64_t now_us);
  void NoteDown(HostId host, Status failure, int64_t now_us);
  // Somebody says that the host at this address is up: it is tried at `at_us`, unless it is sooner.
  void NoteHint(std::string_view address, int64_t at_us);

  // All nodes of the cluster, with their replication. Hosts that are not among them leave, but for
  // contacts; returns those that left and were not down.
  [[nodiscard]] std::vector<HostId> Apply(std::vector<NodeInfo> nodes,
                                          std::map<std::string, Replication> keyspaces);

  // The hosts that are up, in the order to try them for a partition's token; see OrderHosts.
  // `load` gives the requests in flight of a host.
  [[nodiscard]] std::vector<HostId> Plan(std::optional<int64_t> token, std::string_view keyspace,
                                         const std::function<uint32_t(HostId)>& load);

  // Why there is no host: each with its failure, the first few. kInvalidArgument when every host
  // failed so (password, certificate), otherwise kNotFound.
  [[nodiscard]] Status Away() const;
  [[nodiscard]] const std::map<HostId, Host>& hosts() const { return hosts_; }
  [[nodiscard]] const std::string& data_center() const { return data_center_; }

 private:
  HostId Add(Endpoint endpoint);
  void Remove(HostId host);
  [[nodiscard]] std::optional<HostId> FindNode(const std::string& host_id) const;
  [[nodiscard]] bool IsWanted(const Host& host) const;
  [[nodiscard]] size_t ConnectedCount() const;
  // Why the host takes no requests, in words.
  [[nodiscard]] std::string WhyNot(const Host& host) const;

  const HostPoolOptions options_;
  std::string data_center_;
  std::map<HostId, Host> hosts_;
  std::map<HostId, Backoff> backoffs_;
  HostId host_last_ = 0;
  TokenRing ring_;
  std::vector<HostId> host_of_node_;  // by place in the ring
  std::map<std::string, Replication, std::less<>> keyspaces_;
  uint64_t turn_ = 0;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_HOST_POOL_H_
