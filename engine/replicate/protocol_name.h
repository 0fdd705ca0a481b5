// How a server names a type of CQL in the metadata of its answers.
#ifndef CISTERN_ENGINE_REPLICATE_PROTOCOL_NAME_H_
#define CISTERN_ENGINE_REPLICATE_PROTOCOL_NAME_H_

#include <string>
#include <string_view>

#include "cistern/schema.h"

namespace cistern::replicate {

// As engine/cql/rows.h reads it: "map<text, tuple<int, text>>", whether frozen or not; of a
// user-defined type "keyspace.name", without its fields. The protocol has no word for a vector and
// tells Cassandra's own class, in quotes:
// "'org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)'".
[[nodiscard]] std::string ProtocolName(const ColumnType& type, std::string_view keyspace);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PROTOCOL_NAME_H_
