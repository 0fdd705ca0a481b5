// The cluster's description of itself, read from the rows of its system tables.
#ifndef CISTERN_CQL_TOPOLOGY_ROWS_H_
#define CISTERN_CQL_TOPOLOGY_ROWS_H_

#include <map>
#include <string>
#include <vector>

#include "engine/cql/response.h"
#include "engine/cql/topology.h"

namespace cistern::cql {

// Of the node that is asked.
inline constexpr char kLocalQuery[] =
    "SELECT host_id, rpc_address, rpc_port, data_center, rack, tokens FROM system.local "
    "WHERE key='local'";
// Of all the others, from Cassandra 4.0 on.
inline constexpr char kPeersV2Query[] =
    "SELECT host_id, native_address, native_port, data_center, rack, tokens FROM system.peers_v2";
// The same of older servers, which have one port for all.
inline constexpr char kPeersQuery[] =
    "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers";
inline constexpr char kKeyspacesQuery[] =
    "SELECT keyspace_name, replication FROM system_schema.keyspaces";

// The nodes in the rows of one of the first three. A row without a host id is passed over; what
// else is missing, or has a form that is none, stays empty: so a node looks that is joining or
// leaving. `port` is that of nodes that do not say theirs. None beyond
// limits::kClusterTopologyBytesMax.
[[nodiscard]] std::vector<NodeInfo> ReadNodes(const RowsResult& result, uint16_t port);

// Of the fourth, by the keyspace's name.
[[nodiscard]] std::map<std::string, Replication> ReadKeyspaces(const RowsResult& result);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_TOPOLOGY_ROWS_H_
