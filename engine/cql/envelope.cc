#include "engine/cql/envelope.h"

#include <limits>

#include "cistern/limits.h"
#include "engine/cql/wire_reader.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr uint8_t kDirectionBit = 0x80;
constexpr size_t kLengthAt = 5;
constexpr size_t kTracingIdBytes = 16;

void ReadWarnings(WireReader* reader, std::vector<std::string_view>* warnings) {
  const uint16_t count = reader->Short("warnings");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    const std::string_view warning = reader->String("warning");
    if (reader->ok() && i < limits::kCqlWarningCountMax) warnings->push_back(warning);
  }
}

void SkipPayload(WireReader* reader) {
  const uint16_t count = reader->Short("custom payload");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    static_cast<void>(reader->String("custom payload"));
    static_cast<void>(reader->Bytes("custom payload"));
  }
}

}  // namespace

Result<EnvelopeHeader> ParseEnvelopeHeader(std::string_view bytes, Direction direction,
                                           size_t body_bytes_max) {
  CISTERN_CHECK(bytes.size() >= kEnvelopeHeaderBytes);
  EnvelopeHeader header;
  const auto first = static_cast<uint8_t>(bytes[0]);
  header.version = first & static_cast<uint8_t>(~kDirectionBit);
  header.direction = Direction{static_cast<uint8_t>(first & kDirectionBit)};
  header.flags = static_cast<uint8_t>(bytes[1]);
  header.stream = GetBig<int16_t>(&bytes[2]);
  header.opcode = Opcode{static_cast<uint8_t>(bytes[4])};
  if (header.direction != direction) {
    return Status::Corruption(Concat({"the first byte of an envelope is ", first,
        ": this is not Cassandra's native protocol; check the port (9042, if nobody changed it)"}));
  }
  const auto length = GetBig<int32_t>(&bytes[kLengthAt]);
  if (length < 0) {
    return Status::Corruption(Concat({"the envelope of ", OpcodeName(header.opcode),
        " has a negative length"}));
  }
  header.body_bytes = static_cast<uint32_t>(length);
  if (header.body_bytes > body_bytes_max) {
    return Status::TooLarge(Concat({"the envelope of ", OpcodeName(header.opcode), " has ", length,
        " bytes, at most ", body_bytes_max, " are taken"}));
  }
  return header;
}

size_t BeginEnvelope(const EnvelopeHeader& header, std::string* out) {
  const size_t begin = out->size();
  out->push_back(static_cast<char>(header.version | static_cast<uint8_t>(header.direction)));
  out->push_back(static_cast<char>(header.flags));
  PutBig(out, header.stream);
  out->push_back(static_cast<char>(header.opcode));
  PutBig(out, header.body_bytes);
  return begin;
}

void EndEnvelope(size_t begin, std::string* out) {
  const size_t body_bytes = out->size() - begin - kEnvelopeHeaderBytes;
  CISTERN_CHECK(body_bytes <= std::numeric_limits<int32_t>::max());
  for (size_t i = 0; i < 4; ++i) {
    (*out)[begin + kLengthAt + i] = static_cast<char>(body_bytes >> (24 - 8 * i));
  }
}

Result<ResponseBody> SplitResponseBody(const Envelope& envelope) {
  const uint8_t flags = envelope.header.flags;
  WireReader reader(envelope.body, OpcodeName(envelope.header.opcode));
  ResponseBody body;
  if ((flags & envelope_flag::kTracing) != 0) {
    body.tracing_id = reader.Take(kTracingIdBytes, "tracing id");
  }
  if ((flags & envelope_flag::kWarning) != 0) ReadWarnings(&reader, &body.warnings);
  if ((flags & envelope_flag::kCustomPayload) != 0) SkipPayload(&reader);
  body.message = reader.Rest();
  if (!reader.ok()) return reader.status();
  return body;
}

}  // namespace cistern::cql
