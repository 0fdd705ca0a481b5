// Envelope: one message of the native protocol with its header (v4 calls it a frame).
//
//   u8   version     4 or 5; 0x80 is added in responses
//   u8   flags       envelope_flag
//   i16  stream      the request's own number, repeated by its response; -1: an event
//   u8   opcode
//   i32  bytes of the body
//        body
//
// All big-endian. A response's body begins with what its flags announce, in this order: tracing
// id (16 bytes), warnings ([string list]), custom payload ([bytes map]).
//
// Source: native_protocol_v5.spec section 2.
#ifndef CISTERN_CQL_ENVELOPE_H_
#define CISTERN_CQL_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/protocol.h"

namespace cistern::cql {

inline constexpr size_t kEnvelopeHeaderBytes = 9;

struct EnvelopeHeader {
  uint8_t version = 5;  // without the direction. A server may answer in one that we do not speak
  Direction direction = Direction::kRequest;
  uint8_t flags = 0;
  int16_t stream = 0;
  Opcode opcode = Opcode::kOptions;  // may be one without a name: the decoders refuse it
  uint32_t body_bytes = 0;
};

// A message as it came or goes. The body is a view into the buffer of who made it.
struct Envelope {
  EnvelopeHeader header;
  std::string_view body;
};

// Reads the first kEnvelopeHeaderBytes of `bytes`, which must be there.
//   kCorruption  a negative length, or the direction is not the one expected
//   kTooLarge    the body is longer than body_bytes_max
[[nodiscard]] Result<EnvelopeHeader> ParseEnvelopeHeader(std::string_view bytes,
                                                         Direction direction,
                                                         size_t body_bytes_max);

// Appends a header whose length EndEnvelope fills in. Returns where the envelope begins.
[[nodiscard]] size_t BeginEnvelope(const EnvelopeHeader& header, std::string* out);

// Everything behind the header is the body. It must be shorter than 2 GiB.
void EndEnvelope(size_t begin, std::string* out);

// A response's body without what stands before its message. Views into the body.
struct ResponseBody {
  std::string_view tracing_id;             // 16 bytes or none
  std::vector<std::string_view> warnings;  // at most limits::kCqlWarningCountMax, the first ones
  std::string_view message;
};

// kCorruption when what the flags announce runs past the end. A custom payload is passed over.
[[nodiscard]] Result<ResponseBody> SplitResponseBody(const Envelope& envelope);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_ENVELOPE_H_
