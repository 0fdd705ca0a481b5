// The two checksums of protocol v5's frames.
//
// Source: native_protocol_v5.spec section 2.1; Crc of Apache Cassandra 5.0.
#ifndef CISTERN_CQL_CRC_H_
#define CISTERN_CQL_CRC_H_

#include <cstdint>
#include <string_view>

namespace cistern::cql {

// 24 bits: polynomial 0x1974f0b, from 0x875060, highest bit first. For up to 8 bytes.
[[nodiscard]] uint32_t Crc24(std::string_view bytes);

// CRC-32 as zlib computes it, of the bytes fa 2d 55 ca and then of these. The specification does
// not tell of the four.
[[nodiscard]] uint32_t FrameCrc32(std::string_view bytes);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_CRC_H_
