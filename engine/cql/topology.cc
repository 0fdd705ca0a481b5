#include "engine/cql/topology.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace cistern::cql {
namespace {

constexpr uint32_t kFactorMax = 1'000;

// "3", or "3/1"; 0 for what is neither.
uint32_t ParseFactor(const std::string& text) {
  uint32_t factor = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, factor);
  const bool is_whole = error == std::errc() && (stop == end || *stop == '/');
  return is_whole && factor <= kFactorMax ? factor : 0;
}

// The last part of "org.apache.cassandra.locator.SimpleStrategy".
std::string_view ShortName(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// The place of `name` in `names`, at their end if it is new.
size_t PlaceOf(std::vector<std::string>* names, const std::string& name) {
  const auto found = std::find(names->begin(), names->end(), name);
  if (found != names->end()) return static_cast<size_t>(found - names->begin());
  names->push_back(name);
  return names->size() - 1;
}

}  // namespace

Replication ParseReplication(const std::map<std::string, std::string>& options) {
  Replication replication;
  const auto strategy = options.find("class");
  if (strategy == options.end()) return replication;
  const std::string_view name = ShortName(strategy->second);
  if (name == "SimpleStrategy") {
    const auto factor = options.find("replication_factor");
    replication.factor = factor == options.end() ? 0 : ParseFactor(factor->second);
    if (replication.factor != 0) replication.kind = Replication::Kind::kSimple;
  } else if (name == "NetworkTopologyStrategy") {
    replication.kind = Replication::Kind::kNetwork;
    for (const auto& [data_center, text] : options) {
      const uint32_t factor = data_center == "class" ? 0 : ParseFactor(text);
      if (factor != 0) replication.factor_of_data_center[data_center] = factor;
    }
  }
  return replication;
}

TokenRing::TokenRing(std::span<const NodeInfo> nodes) {
  std::vector<std::string> racks;
  std::set<std::pair<size_t, size_t>> racks_with_tokens;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeInfo& node = nodes[i];
    const size_t data_center = PlaceOf(&data_centers_, node.data_center);
    const size_t rack = PlaceOf(&racks, node.data_center + '\0' + node.rack);
    places_.push_back({data_center, rack});
    rack_counts_.resize(data_centers_.size());
    node_counts_.resize(data_centers_.size());
    if (node.tokens.empty()) continue;
    ++node_count_;
    ++node_counts_[data_center];
    if (racks_with_tokens.emplace(data_center, rack).second) ++rack_counts_[data_center];
    for (const int64_t token : node.tokens) ring_.emplace_back(token, i);
  }
  std::sort(ring_.begin(), ring_.end());
}

std::vector<size_t> TokenRing::Replicas(int64_t token, const Replication& replication) const {
  if (ring_.empty()) return {};
  const auto owner = std::lower_bound(ring_.begin(), ring_.end(), std::pair(token, size_t{0}));
  const auto begin = static_cast<size_t>(owner - ring_.begin()) % ring_.size();
  switch (replication.kind) {
    case Replication::Kind::kSimple: return SimpleReplicas(begin, replication.factor);
    case Replication::Kind::kNetwork: return NetworkReplicas(begin, replication);
    case Replication::Kind::kUnknown: break;
  }
  return {};
}

std::vector<size_t> TokenRing::SimpleReplicas(size_t begin, uint32_t factor) const {
  std::vector<size_t> replicas;
  const size_t wanted = std::min<size_t>(factor, node_count_);
  for (size_t i = 0; i < ring_.size() && replicas.size() < wanted; ++i) {
    const size_t node = ring_[(begin + i) % ring_.size()].second;
    const bool is_new = std::find(replicas.begin(), replicas.end(), node) == replicas.end();
    if (is_new) replicas.push_back(node);
  }
  return replicas;
}

// Clockwise, each data center for itself: a node of a rack that has none yet is taken; one of a
// rack that has is taken only as often as there are more replicas than racks.
std::vector<size_t> TokenRing::NetworkReplicas(size_t begin,
                                               const Replication& replication) const {
  struct DataCenter {
    size_t wanted = 0;             // replicas
    size_t repeats = 0;            // of them may be in a rack that has one already
    std::vector<size_t> racks;     // that have one
    size_t taken = 0;
  };
  std::vector<DataCenter> all(data_centers_.size());
  size_t missing = 0;  // of all data centers
  for (size_t i = 0; i < all.size(); ++i) {
    const auto factor = replication.factor_of_data_center.find(data_centers_[i]);
    if (factor == replication.factor_of_data_center.end()) continue;
    all[i].wanted = std::min<size_t>(factor->second, node_counts_[i]);
    missing += all[i].wanted;
    all[i].repeats = factor->second - std::min<size_t>(factor->second, rack_counts_[i]);
  }
  std::vector<size_t> replicas;
  std::vector<bool> is_seen(places_.size());
  for (size_t i = 0; i < ring_.size() && missing > 0; ++i) {
    const size_t node = ring_[(begin + i) % ring_.size()].second;
    DataCenter& here = all[places_[node].data_center];
    if (here.taken == here.wanted || is_seen[node]) continue;
    const size_t rack = places_[node].rack;
    const bool is_new_rack =
        std::find(here.racks.begin(), here.racks.end(), rack) == here.racks.end();
    if (!is_new_rack && here.repeats == 0) continue;
    if (is_new_rack) here.racks.push_back(rack);
    else --here.repeats;
    is_seen[node] = true;
    ++here.taken;
    --missing;
    replicas.push_back(node);
  }
  return replicas;
}

void OrderHosts(std::vector<HostRank>* hosts, uint64_t turn) {
  const size_t count = hosts->size();
  if (count < 2) return;
  const auto shift = static_cast<std::ptrdiff_t>(turn % count);
  std::rotate(hosts->begin(), hosts->begin() + shift, hosts->end());
  std::stable_sort(hosts->begin(), hosts->end(), [](const HostRank& a, const HostRank& b) {
    return std::tuple(!a.is_local, !a.is_replica, a.load) <
           std::tuple(!b.is_local, !b.is_replica, b.load);
  });
}

}  // namespace cistern::cql
