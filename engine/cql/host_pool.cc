#include "engine/cql/host_pool.h"

#include <algorithm>
#include <utility>

#include "engine/cql/readable.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr size_t kFailuresShownMax = 4;
constexpr size_t kNameShownBytesMax = 200;
// When to try a contact that is a second name of a host: not while that one is up.
constexpr int64_t kNever = INT64_MAX;

}  // namespace

HostPool::HostPool(HostPoolOptions options)
    : options_(std::move(options)), data_center_(options_.data_center) {
  for (const Endpoint& contact : options_.contacts) hosts_.at(Add(contact)).is_contact = true;
}

HostId HostPool::Add(Endpoint endpoint) {
  const HostId host = ++host_last_;
  hosts_[host].endpoint = std::move(endpoint);
  // Each host waits for itself, or all of a rack would be tried in the same moment.
  backoffs_.emplace(host, Backoff(options_.retry_first_us, options_.retry_max_us,
                                  options_.seed + host));
  return host;
}

void HostPool::Remove(HostId host) {
  hosts_.erase(host);
  backoffs_.erase(host);
  std::replace(host_of_node_.begin(), host_of_node_.end(), host, HostId{0});  // no host's
}

std::optional<HostId> HostPool::FindNode(const std::string& host_id) const {
  for (const auto& [id, host] : hosts_) {
    if (host.info && host.info->host_id == host_id) return id;
  }
  return std::nullopt;
}

size_t HostPool::ConnectedCount() const {
  return static_cast<size_t>(std::count_if(hosts_.begin(), hosts_.end(), [](const auto& one) {
    return one.second.state != HostState::kDown;
  }));
}

// Contacts are the way to the cluster wherever they are; others are for requests.
bool HostPool::IsWanted(const Host& host) const {
  if (host.is_contact || options_.use_other_data_centers || data_center_.empty()) return true;
  return host.info && host.info->data_center == data_center_;
}

std::vector<HostId> HostPool::DueForConnect(int64_t now_us) const {
  std::vector<HostId> due;
  const size_t connected = ConnectedCount();
  for (const auto& [id, host] : hosts_) {
    if (connected + due.size() >= options_.connected_max) break;
    const bool is_due = host.state == HostState::kDown && host.retry_at_us <= now_us;
    if (is_due && IsWanted(host)) due.push_back(id);
  }
  return due;
}

std::optional<int64_t> HostPool::NextDueUs() const {
  if (ConnectedCount() >= options_.connected_max) return std::nullopt;
  std::optional<int64_t> next_us;
  for (const auto& [id, host] : hosts_) {
    if (host.state != HostState::kDown || !IsWanted(host)) continue;
    if (host.retry_at_us == kNever) continue;
    next_us = std::min(next_us.value_or(host.retry_at_us), host.retry_at_us);
  }
  return next_us;
}

void HostPool::NoteConnecting(HostId host) {
  const auto found = hosts_.find(host);
  if (found != hosts_.end()) found->second.state = HostState::kConnecting;
}

bool HostPool::NoteUp(HostId host, std::optional<NodeInfo> info, int64_t now_us) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return false;
  if (info) {
    const auto same = FindNode(info->host_id);
    if (same && *same != host) {
      Host& other = hosts_.at(*same);
      if (other.state != HostState::kDown) {
        // A contact that is a second name of a host: kept for later, when that one is gone.
        found->second.state = HostState::kDown;
        found->second.retry_at_us = kNever;
        return false;
      }
      // The name that works takes the place of the address that does not.
      std::replace(host_of_node_.begin(), host_of_node_.end(), *same, host);
      if (other.is_contact) other.info.reset();
      else Remove(*same);
    }
    if (data_center_.empty()) data_center_ = info->data_center;
    found->second.info = std::move(info);
  }
  found->second.state = HostState::kUp;
  found->second.failure = Status::Ok();
  found->second.up_at_us = now_us;
  return true;
}

void HostPool::NoteDown(HostId host, Status failure, int64_t now_us) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  // One that comes and goes every few seconds is asked less and less: each time it goes, what it
  // acknowledged last has to be sent again, and nothing would ever be held for long enough.
  if (found->second.state == HostState::kUp) {
    const bool was_steady = now_us - found->second.up_at_us >= options_.steady_us;
    if (was_steady) backoffs_.at(host).Reset();
    found->second.flap_count = was_steady ? 0 : found->second.flap_count + 1;
  }
  found->second.state = HostState::kDown;
  found->second.retry_at_us = now_us + backoffs_.at(host).NextUs();
  found->second.failure = std::move(failure);
  // Second names are worth a try again.
  for (auto& [id, other] : hosts_) {
    if (other.retry_at_us == kNever) other.retry_at_us = now_us;
  }
}

void HostPool::NoteHint(std::string_view address, int64_t at_us) {
  for (auto& [id, host] : hosts_) {
    const bool is_meant = host.endpoint.host == address ||
                          (host.info && host.info->address == address);
    const bool flaps = host.flap_count > options_.flap_count_max;
    if (is_meant && !flaps && host.retry_at_us != kNever) {
      host.retry_at_us = std::min(host.retry_at_us, at_us);
    }
  }
}

std::vector<HostId> HostPool::Apply(std::vector<NodeInfo> nodes,
                                    std::map<std::string, Replication> keyspaces) {
  std::erase_if(nodes, [](const NodeInfo& node) { return node.tokens.empty(); });
  std::vector<HostId> host_of_node;
  std::vector<NodeInfo> in_ring;
  for (NodeInfo& node : nodes) {
    auto host = FindNode(node.host_id);
    if (!host && node.address.empty()) continue;  // nowhere to connect to
    if (!host) host = Add({node.address, node.port});
    host_of_node.push_back(*host);
    in_ring.push_back(node);
    hosts_.at(*host).info = std::move(node);
  }
  ring_ = TokenRing(in_ring);
  std::vector<HostId> left;
  std::vector<HostId> gone;
  for (auto& [id, host] : hosts_) {
    const bool stays = std::find(host_of_node.begin(), host_of_node.end(), id) !=
                       host_of_node.end();
    if (stays || host.is_contact) continue;
    gone.push_back(id);
    if (host.state != HostState::kDown) left.push_back(id);
  }
  for (const HostId id : gone) Remove(id);
  host_of_node_ = std::move(host_of_node);
  keyspaces_.clear();
  for (auto& [name, replication] : keyspaces) keyspaces_.emplace(name, std::move(replication));
  return left;
}

std::vector<HostId> HostPool::Plan(std::optional<int64_t> token, std::string_view keyspace,
                                   const std::function<uint32_t(HostId)>& load) {
  std::vector<size_t> replicas;
  const auto found = keyspaces_.find(keyspace);
  if (token && found != keyspaces_.end()) replicas = ring_.Replicas(*token, found->second);
  std::vector<HostRank> ranks;
  for (const auto& [id, host] : hosts_) {
    if (host.state != HostState::kUp) continue;
    const bool is_local = !host.info || host.info->data_center == data_center_;
    if (!is_local && !options_.use_other_data_centers) continue;
    const HostId own = id;
    const bool is_replica = std::any_of(replicas.begin(), replicas.end(), [&](size_t node) {
      return node < host_of_node_.size() && host_of_node_[node] == own;
    });
    ranks.push_back({.node = id, .is_replica = is_replica, .is_local = is_local,
                     .load = load(id)});
  }
  OrderHosts(&ranks, turn_++);
  std::vector<HostId> plan;
  plan.reserve(ranks.size());
  for (const HostRank& rank : ranks) plan.push_back(static_cast<HostId>(rank.node));
  return plan;
}

std::string HostPool::WhyNot(const Host& host) const {
  if (!host.failure.ok()) return host.failure.message();
  const std::string where = EndpointText(host.endpoint);
  if (host.state == HostState::kConnecting) {
    return where + " was asked and has not answered yet: check that the server is not stopped or "
           "overloaded, and that no firewall is between";
  }
  if (host.state == HostState::kDown || !host.info) return where + " has not been asked yet";
  return Concat({where, " is in data center ",
      Readable(host.info->data_center, kNameShownBytesMax), ", and only nodes of ",
      Readable(data_center_, kNameShownBytesMax), " are asked"});
}

Status HostPool::Away() const {
  std::string words;
  size_t shown = 0;
  bool is_refused = true;
  for (const auto& [id, host] : hosts_) {
    if (host.retry_at_us == kNever && host.state == HostState::kDown) continue;
    if (host.failure.code() != StatusCode::kInvalidArgument) is_refused = false;
    if (shown++ >= kFailuresShownMax) continue;
    words += (words.empty() ? "" : "; ") + WhyNot(host);
  }
  const auto code = is_refused && shown != 0 ? StatusCode::kInvalidArgument
                                             : StatusCode::kNotFound;
  return {code, "no host of the cluster takes requests: " + words};
}

}  // namespace cistern::cql
