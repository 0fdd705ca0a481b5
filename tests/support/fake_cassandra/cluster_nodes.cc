#include <algorithm>
#include <utility>

#include "tests/support/fake_cassandra/cluster_state.h"

namespace cistern::fake_cassandra {

WriteContext ClusterState::ContextOf(const testing::RequestParameters& parameters) const {
  return {options_.clock->WallMicros(), parameters.default_timestamp_us, parameters.now_in_seconds,
          options_.compatibility};
}

std::vector<size_t> ClusterState::ReplicasOf(const Keyspace& keyspace, int64_t token) const {
  // Tokens ascend with the nodes: the first one at or above the key's owns it, then clockwise.
  const auto owner = std::find_if(facts_.begin(), facts_.end(), [token](const NodeFacts& node) {
    return node.token >= token;
  });
  const auto first = static_cast<size_t>(owner - facts_.begin());
  std::vector<size_t> out;
  const size_t count = std::min(keyspace.replication_factor(), nodes_.size());
  for (size_t i = 0; i < count; ++i) out.push_back((first + i) % nodes_.size());
  return out;
}

std::optional<cql::ErrorResponse> ClusterState::Unavailable(const std::vector<size_t>& replicas,
                                                            size_t factor,
                                                            cql::Consistency consistency) const {
  const auto alive = static_cast<size_t>(std::count_if(
      replicas.begin(), replicas.end(), [this](size_t node) { return nodes_[node].is_up; }));
  const size_t required = RequiredReplicas(consistency, factor);
  if (alive >= required) return std::nullopt;
  cql::ErrorResponse error;
  error.code = cql::ErrorCode::kUnavailable;
  error.message = "Cannot achieve consistency level " +
                  std::string(cql::ConsistencyName(consistency));
  error.consistency = consistency;
  error.required = static_cast<int32_t>(required);
  error.received = static_cast<int32_t>(alive);
  return error;
}

void ClusterState::SetUp(size_t node, bool is_up) {
  Node& target = nodes_[node];
  target.is_up = is_up;
  if (!is_up) return;
  for (const auto& hint : std::exchange(target.hints, {})) {
    // What was dropped meanwhile stays dropped.
    const Result<TablePtr> table = schema_.Find(hint->table->keyspace, hint->table->name);
    if (table.ok() && (*table)->id == hint->table->id) ApplyAt(&target, hint);
  }
}

void ClusterState::Crash(size_t node, CommitLog commit_log) {
  Node& target = nodes_[node];
  target.is_up = false;
  target.prepared.clear();
  if (!options_.syncs_later) return;
  if (commit_log == CommitLog::kReplayed) {
    SyncCommitLog(node);
  } else {
    target.unsynced.clear();
    target.store = target.synced;
  }
}

void ClusterState::SyncCommitLog(size_t node) {
  Node& target = nodes_[node];
  for (const auto& mutation : std::exchange(target.unsynced, {})) target.synced.Apply(*mutation);
}

std::string ClusterState::Dump(const std::string& keyspace, const std::string& table, DumpKind kind,
                               int64_t now_s) const {
  const Result<TablePtr> found = schema_.Find(keyspace, table);
  if (!found.ok()) return found.status().message();
  PartitionStore merged;
  for (const Node& node : nodes_) merged.MergeTable(**found, node.store);
  return merged.Dump(**found, kind, now_s);
}

std::string ClusterState::DumpNode(size_t node, const std::string& keyspace,
                                   const std::string& table, DumpKind kind, int64_t now_s) const {
  const Result<TablePtr> found = schema_.Find(keyspace, table);
  if (!found.ok()) return found.status().message();
  return nodes_[node].store.Dump(**found, kind, now_s);
}

void ClusterState::Compact() {
  const int64_t now_s = options_.clock->WallMicros() / 1'000'000;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    SyncCommitLog(i);  // what is compacted was flushed before
    for (const auto& [name, keyspace] : schema_.keyspaces()) {
      for (const auto& [table_name, table] : keyspace.tables) {
        nodes_[i].store.Purge(*table, now_s);
        nodes_[i].synced.Purge(*table, now_s);
      }
    }
  }
}

std::vector<cql::SchemaChange> ClusterState::TakeSchemaChanges() {
  return std::exchange(schema_changes_, {});
}

}  // namespace cistern::fake_cassandra
