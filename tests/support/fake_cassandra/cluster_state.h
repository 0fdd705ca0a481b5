// ClusterState: nodes, ring, schema and stores of the fake cluster, and what a coordinator does.
//
// No network: requests come decoded, answers go out as values.
#ifndef CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_CLUSTER_STATE_H_
#define CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_CLUSTER_STATE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cistern/clock.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/fake_cassandra/partition_store.h"
#include "tests/support/fake_cassandra/prepared_statement.h"
#include "tests/support/fake_cassandra/schema.h"
#include "tests/support/fake_cassandra/system_tables.h"

namespace cistern::fake_cassandra {

struct ClusterOptions {
  size_t node_count = 1;  // at most 200
  StorageCompatibility compatibility = StorageCompatibility::kCassandra4;
  std::string user;  // empty: everybody may connect
  std::string password;
  bool speaks_v5 = true;
  bool speaks_v4 = true;
  std::set<size_t> older_nodes = {};  // that do not speak v5 though the others do
  bool knows_lz4 = true;
  bool has_peers_v2 = true;  // false: as before Cassandra 4.0
  // Whether a write is durable only once SyncCommitLog was called, as in Cassandra where an
  // acknowledgement is no fsync. Otherwise it is at once.
  bool syncs_later = false;
  // Whether a node that was down gets what it missed once it is up again.
  bool keeps_hints = true;
  // A broken server: whatever page of an answer is asked for, it gives the first.
  bool loses_places = false;
  // Called with each mutation that a coordinator takes, in this order.
  std::function<void(const Mutation&)> on_write = {};
  // The server's clock: wall time for write timestamps and expiry, monotonic time for delays.
  std::shared_ptr<Clock> clock = SystemClock();
};

// What becomes of the writes that a node had not yet synced when it goes down.
enum class CommitLog { kReplayed, kUnsyncedLost };

// What a coordinator answers.
struct DoneAnswer {};
struct KeyspaceAnswer {
  std::string keyspace;
};
using Answer = std::variant<DoneAnswer, KeyspaceAnswer, testing::RowsAnswer, cql::PreparedResult,
                            cql::SchemaChange, cql::ErrorResponse>;

void AppendAnswer(const testing::ResponseHead& head, const Answer& answer, std::string* out);

// What a write was, for scripts and counters.
struct RequestTraits {
  bool is_write = false;  // INSERT, UPDATE, DELETE, or a batch of them
  size_t statement_count = 0;
  bool is_definition = false;  // CREATE, ALTER, DROP, as a QUERY
};

// One thread at a time.
class ClusterState {
 public:
  explicit ClusterState(ClusterOptions options);

  // Answers QUERY, PREPARE, EXECUTE or BATCH at `node`. At most `replicas_max` replicas take what
  // it writes: less than are asked for is what a write timeout leaves behind. `keyspace` is the
  // connection's, changed by USE.
  Answer Execute(size_t node, cql::ProtocolVersion version, const testing::RequestMessage& request,
                 std::string* keyspace,
                 size_t replicas_max = std::numeric_limits<size_t>::max());
  [[nodiscard]] RequestTraits TraitsOf(size_t node, const testing::RequestMessage& request) const;

  // A definition or statement with literals, by hand: as at node 0 and consistency ALL.
  // kInvalidArgument with the server's words.
  Status Run(std::string_view cql);

  // --- nodes
  void SetUp(size_t node, bool is_up);  // up: with hints
  void Crash(size_t node, CommitLog commit_log);
  void SyncCommitLog(size_t node);
  [[nodiscard]] bool is_up(size_t node) const { return nodes_[node].is_up; }
  [[nodiscard]] size_t node_count() const { return nodes_.size(); }
  void ForgetPrepared(size_t node) { nodes_[node].prepared.clear(); }
  // As drivers are told of it.
  void SetEndpoint(size_t node, std::string address, uint16_t port);
  [[nodiscard]] const NodeFacts& facts(size_t node) const { return facts_[node]; }

  // --- what is stored
  // Of all nodes together, those that are down too: what the cluster ends with.
  [[nodiscard]] std::string Dump(const std::string& keyspace, const std::string& table,
                                 DumpKind kind, int64_t now_s) const;
  [[nodiscard]] const PartitionStore& store(size_t node) const { return nodes_[node].store; }
  [[nodiscard]] std::string DumpNode(size_t node, const std::string& keyspace,
                                     const std::string& table, DumpKind kind, int64_t now_s) const;
  // A major compaction of every table on every node.
  void Compact();

  void SetPassword(std::string password) { options_.password = std::move(password); }
  void SetCompatibility(StorageCompatibility mode) { options_.compatibility = mode; }
  void SetLosesPlaces(bool loses) { options_.loses_places = loses; }
  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  [[nodiscard]] const Schema& schema() const { return schema_; }
  // What a node knows that lags behind the others, or has caught up: nobody is told.
  void ReplaceSchema(Schema schema) { schema_ = std::move(schema); }
  // The schema's version that a node names as its own, and others as its.
  void NameSchemaVersion(size_t node, std::optional<uint64_t> version) {
    facts_[node].schema_version = version;
  }
  // Changes since the last call, for events.
  std::vector<cql::SchemaChange> TakeSchemaChanges();

 private:
  struct Node {
    bool is_up = true;
    PartitionStore store;
    PartitionStore synced;  // what a crash leaves, if syncs_later
    std::vector<std::shared_ptr<const Mutation>> unsynced;
    std::vector<std::shared_ptr<const Mutation>> hints;
    std::map<std::string, std::shared_ptr<const PreparedStatement>> prepared;  // by id
  };
  using PreparedPtr = std::shared_ptr<const PreparedStatement>;

  Answer ExecuteOne(const PreparedStatement& prepared, const std::string& metadata_id,
                    const testing::RequestParameters& parameters, size_t node,
                    cql::ProtocolVersion version, size_t replicas_max);
  Answer Query(size_t node, cql::ProtocolVersion version, const testing::QueryRequest& request,
               std::string* keyspace, size_t replicas_max);
  Answer Prepare(size_t node, const testing::PrepareRequest& request, const std::string& keyspace);
  Answer Batch(size_t node, const testing::BatchRequest& request, const std::string& keyspace,
               size_t replicas_max);
  Answer Define(const Statement& statement);
  Answer Select(const PreparedStatement& prepared, const testing::RequestParameters& parameters,
                size_t node);
  // Writes all or, when replicas are missing, nothing.
  Answer Write(const std::vector<std::shared_ptr<const Mutation>>& mutations,
               cql::Consistency consistency, size_t replicas_max);

  Result<PreparedStatement> PrepareText(std::string_view cql, const std::string& keyspace) const;
  // Null: the node does not know it, or its table has changed since.
  PreparedPtr FindPrepared(size_t node, const std::string& id) const;
  [[nodiscard]] WriteContext ContextOf(const testing::RequestParameters& parameters) const;
  [[nodiscard]] std::vector<size_t> ReplicasOf(const Keyspace& keyspace, int64_t token) const;
  // An error, unless enough of `replicas` are up.
  [[nodiscard]] std::optional<cql::ErrorResponse> Unavailable(const std::vector<size_t>& replicas,
                                                              size_t factor,
                                                              cql::Consistency consistency) const;
  void ApplyAt(Node* node, const std::shared_ptr<const Mutation>& mutation);

  ClusterOptions options_;
  Schema schema_;
  std::vector<Node> nodes_;
  std::vector<NodeFacts> facts_;
  std::vector<cql::SchemaChange> schema_changes_;
  uint64_t reads_ = 0;  // turns the choice of the replicas that are read
};

// Replicas that must answer, of `factor`.
[[nodiscard]] size_t RequiredReplicas(cql::Consistency consistency, size_t factor);

}  // namespace cistern::fake_cassandra

#endif  // CISTERN_TESTS_SUPPORT_FAKE_CASSANDRA_CLUSTER_STATE_H_
