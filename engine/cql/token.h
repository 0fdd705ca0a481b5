// Where a partition lives: the bytes of its key and its token on Cassandra's ring.
//
// Source: CompositeType, MurmurHash and Murmur3Partitioner of Apache Cassandra 5.0.
#ifndef CISTERN_CQL_TOKEN_H_
#define CISTERN_CQL_TOKEN_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cistern::cql {

// The bytes of a partition key from the serialised values of its columns, in the order of the
// key. One column is its value alone; of several each is
//
//   u16  bytes of the value, big-endian
//        the value
//   u8   0
//
// A value has at most 65,535 bytes (limits::kEntityKeyBytesMax is below).
[[nodiscard]] std::string PartitionKeyBytes(std::span<const std::string_view> values);

// The token of Murmur3Partitioner for the bytes of a partition key.
[[nodiscard]] int64_t TokenOf(std::string_view partition_key);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_TOKEN_H_
