#include "tests/support/fake_cassandra/cluster_state.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"
#include "tests/support/rng.h"

namespace cistern::fake_cassandra {
namespace {

using cql::Consistency;
using cql::ErrorCode;
using cql::ErrorResponse;
using testing::RequestParameters;

constexpr uint64_t kHostIds = 4;  // a family of uuids

ErrorResponse ErrorOf(ErrorCode code, std::string message) {
  ErrorResponse error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

// The code that Cassandra gives a refusal of one of our functions.
ErrorResponse ErrorOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
    case StatusCode::kTooLarge: return ErrorOf(ErrorCode::kInvalid, status.message());
    case StatusCode::kNotSupported: return ErrorOf(ErrorCode::kSyntaxError, status.message());
    case StatusCode::kAlreadyExists: return ErrorOf(ErrorCode::kAlreadyExists, status.message());
    default: return ErrorOf(ErrorCode::kServerError, status.ToString());
  }
}

// Tokens at equal distances, the last node's is the largest.
int64_t TokenOfNode(size_t node, size_t count) {
  const uint64_t step = std::numeric_limits<uint64_t>::max() / count;
  const uint64_t offset = step * (node + 1);
  return static_cast<int64_t>(offset + (uint64_t{1} << 63));
}

}  // namespace

size_t RequiredReplicas(Consistency consistency, size_t factor) {
  switch (consistency) {
    case Consistency::kTwo: return 2;
    case Consistency::kThree: return 3;
    case Consistency::kQuorum:
    case Consistency::kLocalQuorum:
    case Consistency::kEachQuorum:
    case Consistency::kSerial:
    case Consistency::kLocalSerial: return factor / 2 + 1;
    case Consistency::kAll: return factor;
    default: return 1;
  }
}

void AppendAnswer(const testing::ResponseHead& head, const Answer& answer, std::string* out) {
  if (const auto* keyspace = std::get_if<KeyspaceAnswer>(&answer)) {
    testing::AppendSetKeyspace(head, keyspace->keyspace, out);
  } else if (const auto* rows = std::get_if<testing::RowsAnswer>(&answer)) {
    testing::AppendRows(head, *rows, out);
  } else if (const auto* prepared = std::get_if<cql::PreparedResult>(&answer)) {
    testing::AppendPrepared(head, *prepared, out);
  } else if (const auto* change = std::get_if<cql::SchemaChange>(&answer)) {
    testing::AppendSchemaChange(head, *change, out);
  } else if (const auto* error = std::get_if<ErrorResponse>(&answer)) {
    testing::AppendError(head, *error, out);
  } else {
    testing::AppendVoid(head, out);
  }
}

ClusterState::ClusterState(ClusterOptions options) : options_(std::move(options)) {
  nodes_.resize(options_.node_count);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    facts_.push_back({"", 0, UuidOf(kHostIds, i), TokenOfNode(i, nodes_.size()), {}});
  }
}

void ClusterState::SetEndpoint(size_t node, std::string address, uint16_t port) {
  facts_[node].address = std::move(address);
  facts_[node].port = port;
}

Answer ClusterState::Execute(size_t node, cql::ProtocolVersion version,
                             const testing::RequestMessage& request, std::string* keyspace,
                             size_t replicas_max) {
  if (const auto* query = std::get_if<testing::QueryRequest>(&request)) {
    return Query(node, version, *query, keyspace, replicas_max);
  }
  if (const auto* prepare = std::get_if<testing::PrepareRequest>(&request)) {
    return Prepare(node, *prepare, *keyspace);
  }
  if (const auto* batch = std::get_if<testing::BatchRequest>(&request)) {
    return Batch(node, *batch, *keyspace, replicas_max);
  }
  if (const auto* execute = std::get_if<testing::ExecuteRequest>(&request)) {
    const PreparedPtr prepared = FindPrepared(node, execute->id);
    if (prepared != nullptr) {
      return ExecuteOne(*prepared, execute->metadata_id, execute->parameters, node, version,
                        replicas_max);
    }
    ErrorResponse error = ErrorOf(ErrorCode::kUnprepared,
                                  "Prepared query with this ID not found (either the query was "
                                  "not prepared on this host or its table has changed)");
    error.statement_id = execute->id;
    return error;
  }
  return ErrorOf(ErrorCode::kProtocolError, "this request is not for a coordinator");
}

RequestTraits ClusterState::TraitsOf(size_t node, const testing::RequestMessage& request) const {
  if (const auto* batch = std::get_if<testing::BatchRequest>(&request)) {
    return {true, batch->entries.size()};
  }
  if (const auto* execute = std::get_if<testing::ExecuteRequest>(&request)) {
    const PreparedPtr prepared = FindPrepared(node, execute->id);
    return {prepared != nullptr && prepared->statement.is_write(), 1};
  }
  if (const auto* query = std::get_if<testing::QueryRequest>(&request)) {
    const Result<Statement> statement = ParseStatement(query->cql);
    return {statement.ok() && statement->is_write(), 1,
            statement.ok() && statement->is_definition()};
  }
  return {};
}

Status ClusterState::Run(std::string_view cql) {
  testing::QueryRequest request;
  request.cql = std::string(cql);
  request.parameters.consistency = Consistency::kAll;
  std::string keyspace;
  const Answer answer = Execute(0, cql::ProtocolVersion::kV5, request, &keyspace);
  const auto* error = std::get_if<ErrorResponse>(&answer);
  return error == nullptr ? Status::Ok() : Status::InvalidArgument(error->message);
}

Result<PreparedStatement> ClusterState::PrepareText(std::string_view cql,
                                                    const std::string& keyspace) const {
  CISTERN_ASSIGN_OR_RETURN(Statement statement, ParseStatement(cql));
  if (statement.keyspace.empty()) statement.keyspace = keyspace;
  if (statement.keyspace.empty()) {
    return Status::InvalidArgument("No keyspace has been specified. USE a keyspace, or explicitly "
                                   "specify keyspace.tablename");
  }
  const bool is_of_rows = statement.is_write() || statement.kind == Statement::Kind::kSelect;
  if (!is_of_rows) {
    PreparedStatement prepared;
    prepared.statement = std::move(statement);
    return prepared;
  }
  CISTERN_ASSIGN_OR_RETURN(
      TablePtr table,
      IsSystemKeyspace(statement.keyspace)
          ? FindSystemTable(statement.keyspace, statement.table, options_.has_peers_v2)
          : schema_.Find(statement.keyspace, statement.table));
  return PrepareStatement(std::move(statement), std::move(table));
}

ClusterState::PreparedPtr ClusterState::FindPrepared(size_t node, const std::string& id) const {
  const auto at = nodes_[node].prepared.find(id);
  if (at == nodes_[node].prepared.end()) return nullptr;
  const PreparedStatement& prepared = *at->second;
  if (prepared.table == nullptr || IsSystemKeyspace(prepared.table->keyspace)) return at->second;
  const Result<TablePtr> table = schema_.Find(prepared.table->keyspace, prepared.table->name);
  return table.ok() && *table == prepared.table ? at->second : nullptr;
}

Answer ClusterState::Query(size_t node, cql::ProtocolVersion version,
                           const testing::QueryRequest& request, std::string* keyspace,
                           size_t replicas_max) {
  const Result<Statement> parsed = ParseStatement(request.cql);
  if (!parsed.ok()) return ErrorOf(ErrorCode::kSyntaxError, parsed.status().message());
  const Result<PreparedStatement> prepared =
      PrepareText(request.cql, request.parameters.keyspace.value_or(*keyspace));
  if (!prepared.ok()) return ErrorOf(prepared.status());
  if (prepared->statement.kind == Statement::Kind::kUse) {
    *keyspace = prepared->statement.keyspace;
    return KeyspaceAnswer{*keyspace};
  }
  return ExecuteOne(*prepared, "", request.parameters, node, version, replicas_max);
}

Answer ClusterState::Prepare(size_t node, const testing::PrepareRequest& request,
                             const std::string& keyspace) {
  const Result<Statement> parsed = ParseStatement(request.cql);
  if (!parsed.ok()) return ErrorOf(ErrorCode::kSyntaxError, parsed.status().message());
  Result<PreparedStatement> prepared =
      PrepareText(request.cql, request.keyspace.value_or(keyspace));
  if (!prepared.ok()) return ErrorOf(prepared.status());
  cql::PreparedResult out;
  // As in Cassandra: of the text alone, so the same on every node and after a restart.
  uint64_t hash = 0;
  for (const char c : request.cql) hash = testing::Mix(hash ^ static_cast<uint8_t>(c));
  out.ids.id = UuidOf(hash, request.cql.size());
  out.ids.metadata_id = MetadataIdOf(*prepared);
  if (prepared->table != nullptr) {
    out.markers.keyspace = out.result.keyspace = prepared->table->keyspace;
    out.markers.table = out.result.table = prepared->table->name;
  }
  for (const Marker& marker : prepared->markers) {
    const std::string type = WireTypeText(marker.type, out.markers.keyspace);
    out.markers.columns.push_back({marker.name, marker.is_list ? "list<" + type + ">" : type});
  }
  out.markers.column_count = out.markers.columns.size();
  out.key_markers = prepared->key_markers;
  out.result.columns = prepared->result;
  out.result.column_count = out.result.columns.size();
  nodes_[node].prepared[out.ids.id] =
      std::make_shared<const PreparedStatement>(*std::move(prepared));
  return out;
}

Answer ClusterState::Batch(size_t node, const testing::BatchRequest& request,
                           const std::string& keyspace, size_t replicas_max) {
  constexpr size_t kFailBytes = 50 * 1024;  // batch_size_fail_threshold
  const WriteContext context = ContextOf(request.parameters);
  std::map<PartitionStore::PartitionName, std::shared_ptr<Mutation>> merged;
  size_t bytes = 0;
  for (const testing::BatchRequest::Entry& entry : request.entries) {
    PreparedPtr prepared = entry.cql.has_value() ? nullptr : FindPrepared(node, entry.id);
    if (entry.cql.has_value()) {
      Result<PreparedStatement> found = PrepareText(*entry.cql, keyspace);
      if (!found.ok()) return ErrorOf(found.status());
      prepared = std::make_shared<const PreparedStatement>(*std::move(found));
    }
    if (prepared == nullptr) {
      ErrorResponse error =
          ErrorOf(ErrorCode::kUnprepared, "Prepared query with this ID not found");
      error.statement_id = entry.id;
      return error;
    }
    if (!prepared->statement.is_write()) {
      return ErrorOf(ErrorCode::kInvalid, "Invalid statement in batch: only UPDATE, INSERT and "
                                          "DELETE statements are allowed.");
    }
    if (entry.values.size() != prepared->markers.size()) {
      return ErrorOf(ErrorCode::kInvalid, "There were " + std::to_string(prepared->markers.size()) +
                                              " markers(?) in CQL but " +
                                              std::to_string(entry.values.size()) +
                                              " bound variables");
    }
    Result<Mutation> mutation = BindWrite(*prepared, entry.values, context);
    if (!mutation.ok()) return ErrorOf(mutation.status());
    for (const testing::SentValue& value : entry.values) bytes += value.bytes.size();
    PartitionStore::PartitionName name = NameOf(mutation->partition_key);
    name.key_bytes += mutation->table->id;
    std::shared_ptr<Mutation>& place = merged[name];
    if (place == nullptr) {
      place = std::make_shared<Mutation>(*std::move(mutation));
    } else {
      place->change.Merge(mutation->change);
    }
  }
  if (merged.size() > 1 && bytes > kFailBytes) {
    return ErrorOf(ErrorCode::kInvalid, "Batch too large");
  }
  std::vector<std::shared_ptr<const Mutation>> mutations;
  for (auto& [name, mutation] : merged) mutations.push_back(std::move(mutation));
  return Write(mutations, request.parameters.consistency, replicas_max);
}

Answer ClusterState::ExecuteOne(const PreparedStatement& prepared, const std::string& metadata_id,
                                const RequestParameters& parameters, size_t node,
                                cql::ProtocolVersion version, size_t replicas_max) {
  if (prepared.statement.is_definition()) return Define(prepared.statement);
  if (parameters.values.size() != prepared.markers.size()) {
    return ErrorOf(ErrorCode::kInvalid, "Invalid amount of bind variables");
  }
  if (prepared.statement.is_write()) {
    Result<Mutation> mutation = BindWrite(prepared, parameters.values, ContextOf(parameters));
    if (!mutation.ok()) return ErrorOf(mutation.status());
    return Write({std::make_shared<const Mutation>(*std::move(mutation))}, parameters.consistency,
                 replicas_max);
  }
  if (prepared.statement.kind != Statement::Kind::kSelect) {
    return ErrorOf(ErrorCode::kSyntaxError, "TRUNCATE is not among what the fake cluster does");
  }
  if (parameters.consistency == Consistency::kAny) {
    return ErrorOf(ErrorCode::kInvalid, "ANY ConsistencyLevel is only supported for writes");
  }
  Answer answer = Select(prepared, parameters, node);
  auto* rows = std::get_if<testing::RowsAnswer>(&answer);
  if (rows == nullptr) return answer;
  const std::string current = MetadataIdOf(prepared);
  const bool is_changed =
      version == cql::ProtocolVersion::kV5 && !metadata_id.empty() && metadata_id != current;
  if (is_changed) rows->metadata.new_metadata_id = current;
  rows->skip_metadata = parameters.skip_metadata && !is_changed;
  return answer;
}

Answer ClusterState::Define(const Statement& statement) {
  Result<Definition> done = schema_.Apply(statement, options_.clock->WallMicros());
  if (!done.ok()) {
    ErrorResponse error = ErrorOf(done.status());
    error.keyspace = statement.keyspace;
    error.name = statement.table;
    return error;
  }
  for (Node& node : nodes_) {
    for (PartitionStore* store : {&node.store, &node.synced}) {
      for (const TablePtr& table : done->dropped_tables) store->DropTable(*table);
    }
  }
  if (!done->change.has_value()) return DoneAnswer{};
  schema_changes_.push_back(*done->change);
  return *done->change;
}

Answer ClusterState::Select(const PreparedStatement& prepared, const RequestParameters& parameters,
                            size_t node) {
  std::optional<ErrorResponse> unavailable;
  const ReadPartitions read = [&](const TablePtr& table,
                                  const auto& key) -> Result<PartitionStore> {
    if (IsSystemKeyspace(table->keyspace)) return FillSystemTable(table, schema_, facts_, node);
    const Keyspace* keyspace = schema_.FindKeyspace(table->keyspace);
    CISTERN_CHECK(keyspace != nullptr);
    std::vector<size_t> replicas;
    size_t factor = keyspace->replication_factor();
    size_t required = RequiredReplicas(parameters.consistency, factor);
    if (key.has_value()) {
      replicas = ReplicasOf(*keyspace, NameOf(*key).token);
      unavailable = Unavailable(replicas, factor, parameters.consistency);
    } else {
      // A scan meets every range: all nodes that are up together have what it may see.
      for (size_t i = 0; i < nodes_.size(); ++i) replicas.push_back(i);
      required = nodes_.size();
    }
    if (unavailable.has_value()) return Status::Busy("replicas are missing");
    PartitionStore out;
    ++reads_;
    for (size_t i = 0; i < replicas.size() && required > 0; ++i) {
      const Node& replica = nodes_[replicas[(i + reads_) % replicas.size()]];
      if (!replica.is_up) continue;
      --required;
      if (key.has_value()) {
        const Partition* found = replica.store.Find(*table, *key);
        if (found != nullptr) out.Apply({table, *key, *found});
      } else {
        out.MergeTable(*table, replica.store);
      }
    }
    return out;
  };
  PageRequest page;
  page.now_s = ContextOf(parameters).now_s();
  page.page_rows = parameters.page_rows;
  if (!options_.loses_places) page.paging_state = parameters.paging_state.value_or("");
  Result<testing::RowsAnswer> rows = RunSelect(prepared, parameters.values, page, read);
  if (unavailable.has_value()) return *unavailable;
  if (!rows.ok()) return ErrorOf(rows.status());
  return *std::move(rows);
}

Answer ClusterState::Write(const std::vector<std::shared_ptr<const Mutation>>& mutations,
                           Consistency consistency, size_t replicas_max) {
  std::vector<std::vector<size_t>> replicas;
  for (const auto& mutation : mutations) {
    const Keyspace* keyspace = schema_.FindKeyspace(mutation->table->keyspace);
    if (keyspace == nullptr) return ErrorOf(ErrorCode::kInvalid, "the table is the server's own");
    replicas.push_back(ReplicasOf(*keyspace, NameOf(mutation->partition_key).token));
    const auto missing =
        Unavailable(replicas.back(), keyspace->replication_factor(), consistency);
    if (missing.has_value()) return *missing;
  }
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (options_.on_write) options_.on_write(*mutations[i]);
    size_t left = replicas_max;
    for (const size_t at : replicas[i]) {
      Node& node = nodes_[at];
      if (left == 0) break;
      if (!node.is_up) {
        if (options_.keeps_hints) node.hints.push_back(mutations[i]);
        continue;
      }
      ApplyAt(&node, mutations[i]);
      --left;
    }
  }
  return DoneAnswer{};
}

void ClusterState::ApplyAt(Node* node, const std::shared_ptr<const Mutation>& mutation) {
  node->store.Apply(*mutation);
  if (options_.syncs_later) node->unsynced.push_back(mutation);
}

}  // namespace cistern::fake_cassandra
