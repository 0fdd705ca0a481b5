#include "engine/cql/topology_rows.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "cistern/limits.h"
#include "engine/cql/transport.h"
#include "engine/cql/wire_reader.h"

namespace cistern::cql {
namespace {

constexpr size_t kHostIdBytes = 16;
constexpr size_t kItemBytesMin = 4;  // of a collection: each item has its length

// The places of columns by their names; a column that is not there gives null cells.
class NamedRow {
 public:
  NamedRow(const RowsMetadata& metadata, const RowReader& row) : metadata_(metadata), row_(row) {}
  [[nodiscard]] std::string_view operator[](std::string_view name) const {
    for (size_t i = 0; i < metadata_.columns.size(); ++i) {
      if (metadata_.columns[i].name == name && row_[i]) return *row_[i];
    }
    return {};
  }

 private:
  const RowsMetadata& metadata_;
  const RowReader& row_;
};

// A set<text> of decimal numbers, the first `count_max` of them. Empty when one of them is none.
std::vector<int64_t> ReadTokens(std::string_view cell, size_t count_max) {
  WireReader reader(cell, "tokens");
  std::vector<int64_t> tokens;
  const size_t count = cell.empty() ? 0 : reader.Count("tokens", kItemBytesMin);
  for (size_t i = 0; i < count && i < count_max; ++i) {
    const std::string_view text = reader.LongString("token");
    int64_t token = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), token);
    const bool is_number = error == std::errc() && stop == text.data() + text.size();
    if (!reader.ok() || !is_number) return {};
    tokens.push_back(token);
  }
  return tokens;
}

std::map<std::string, std::string> ReadTextMap(std::string_view cell) {
  WireReader reader(cell, "replication");
  std::map<std::string, std::string> map;
  const size_t count = cell.empty() ? 0 : reader.Count("replication", 2 * kItemBytesMin);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = reader.LongString("key");
    const std::string_view value = reader.LongString("value");
    if (!reader.ok()) return {};
    map.emplace(key, value);
  }
  return map;
}

std::optional<uint16_t> ReadPort(std::string_view cell) {
  if (cell.size() != sizeof(int32_t)) return std::nullopt;
  const auto port = GetBig<int32_t>(cell.data());
  if (port <= 0 || port > 65'535) return std::nullopt;
  return static_cast<uint16_t>(port);
}

// 0.0.0.0 or ::, with which an older server says that it listens everywhere.
bool IsUnspecified(std::string_view address) {
  return address.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

std::vector<NodeInfo> ReadNodes(const RowsResult& result, uint16_t port) {
  std::vector<NodeInfo> nodes;
  if (result.rows.cells().size() > limits::kClusterTopologyBytesMax) return nodes;
  size_t tokens_left = limits::kClusterTokensMax;
  RowReader reader(result.rows);
  const NamedRow row(result.metadata, reader);
  while (reader.Next() && nodes.size() < limits::kClusterNodesMax) {
    NodeInfo node;
    node.host_id = row["host_id"];
    const std::string_view native = row["native_address"];
    const std::string_view address = native.empty() ? row["rpc_address"] : native;
    if (!IsUnspecified(address)) node.address = AddressText(address);
    const auto native_port = ReadPort(row["native_port"]);
    node.port = native_port ? *native_port : ReadPort(row["rpc_port"]).value_or(port);
    node.data_center = row["data_center"];
    node.rack = row["rack"];
    const size_t count_max = std::clamp<size_t>(tokens_left, 1, limits::kClusterTokensPerNodeMax);
    node.tokens = ReadTokens(row["tokens"], count_max);
    tokens_left -= std::min(tokens_left, node.tokens.size());
    if (node.host_id.size() == kHostIdBytes) nodes.push_back(std::move(node));
  }
  return nodes;
}

std::map<std::string, Replication> ReadKeyspaces(const RowsResult& result) {
  std::map<std::string, Replication> keyspaces;
  if (result.rows.cells().size() > limits::kClusterTopologyBytesMax) return keyspaces;
  RowReader reader(result.rows);
  const NamedRow row(result.metadata, reader);
  while (reader.Next()) {
    keyspaces[std::string(row["keyspace_name"])] =
        ParseReplication(ReadTextMap(row["replication"]));
  }
  return keyspaces;
}

}  // namespace cistern::cql
