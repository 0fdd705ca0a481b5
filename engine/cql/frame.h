// Frame: the outer layer of protocol v5, which carries envelopes and checks what it carries.
//
//   3 bytes  bits 0-16 bytes of the payload, bit 17 self-contained, others 0      (without LZ4)
//   5 bytes  bits 0-16 bytes of the payload as sent, bits 17-33 bytes unpacked,
//            bit 34 self-contained, others 0                                      (with LZ4)
//   3 bytes  Crc24 of the bytes before
//            payload: with LZ4 a raw block, or as it is where the bytes unpacked are 0
//   4 bytes  Crc32 of the payload as sent
//
// All little-endian, unlike what it carries. A self-contained frame holds whole envelopes; another
// one holds a slice of one envelope that is longer than a frame, and the slices follow one another.
//
// Source: native_protocol_v5.spec section 2.1; FrameEncoderCrc, FrameEncoderLZ4 and Crc of
// Apache Cassandra 5.0, where the marker of an unpacked payload and the seed of Crc32 differ from
// the specification's words.
#ifndef CISTERN_CQL_FRAME_H_
#define CISTERN_CQL_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "engine/cql/protocol.h"

namespace cistern::cql {

inline constexpr size_t kFramePayloadBytesMax = 131'071;  // 17 bits
inline constexpr size_t kFrameTrailerBytes = 4;

// Of the header with its checksum: 6, or 8 with LZ4.
[[nodiscard]] constexpr size_t FrameHeaderBytes(Compression compression) {
  return compression == Compression::kLz4 ? 8 : 6;
}

// Appends one frame. The payload has at most kFramePayloadBytesMax bytes; with LZ4 it is packed
// where that makes it shorter.
void AppendFrame(Compression compression, std::string_view payload, bool self_contained,
                 std::string* out);

// One frame at the begin of a stream.
struct Frame {
  std::string_view payload;  // unpacked: into the stream, or into the buffer given
  bool self_contained = false;
  size_t frame_bytes = 0;    // of the stream that it takes
};

// The frame that `stream` begins with; nullopt: more bytes are needed. A packed payload is unpacked
// into *unpacked, which the caller keeps and gives again.
//   kCorruption  a checksum is wrong or the payload cannot be unpacked: nothing behind it can be
//                trusted, close the connection
[[nodiscard]] Result<std::optional<Frame>> ParseFrame(Compression compression,
                                                      std::string_view stream,
                                                      std::string* unpacked);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_FRAME_H_
