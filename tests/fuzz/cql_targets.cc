#include <string>
#include <variant>
#include <vector>

#include "engine/cql/envelope_stream.h"
#include "engine/cql/frame.h"
#include "engine/cql/lz4_block.h"
#include "engine/cql/lz4_search.h"
#include "engine/cql/response.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "tests/fuzz/decoder_targets.h"

namespace cistern {
namespace {

using cql::Compression;
using cql::Envelope;
using cql::EnvelopeDecoder;
using cql::ProtocolVersion;

constexpr size_t kBodyBytesMax = 1 << 20;

// Which form the bytes of a connection have.
struct Form {
  ProtocolVersion version;
  Compression compression;
  bool established;
};

struct KeptEnvelope {
  cql::EnvelopeHeader header;
  std::string body;
};

bool IsRefusal(const Status& status) {
  return status.code() == StatusCode::kCorruption || status.code() == StatusCode::kTooLarge;
}

void UseResponse(const Form& form, const Envelope& envelope) {
  const Result<cql::Response> response = DecodeResponse(form.version, envelope);
  if (!response.ok()) {
    CISTERN_CHECK(IsRefusal(response.status()));
    return;
  }
  CISTERN_CHECK(response->stream == envelope.header.stream);
  CISTERN_CHECK(response->warnings.size() <= limits::kCqlWarningCountMax);
  if (const auto* error = std::get_if<cql::ErrorResponse>(&response->message)) {
    CISTERN_CHECK(!DescribeError(*error).empty());
  }
  const auto* result = std::get_if<cql::RowsResult>(&response->message);
  if (result == nullptr) return;
  CISTERN_CHECK(result->metadata.columns.empty() ||
                result->metadata.columns.size() == result->metadata.column_count);
  size_t bytes = 0;
  size_t count = 0;
  for (cql::RowReader rows(result->rows); rows.Next(); ++count) {
    for (size_t c = 0; c < result->rows.column_count(); ++c) {
      bytes += 4 + rows[c].value_or(std::string_view()).size();
    }
  }
  CISTERN_CHECK(count == result->rows.row_count() && bytes == result->rows.cells().size());
}

// All envelopes up to the first error, of bytes that come in pieces.
std::vector<KeptEnvelope> Decode(const Form& form, std::string_view bytes, size_t piece_bytes) {
  EnvelopeDecoder decoder(cql::Direction::kResponse, kBodyBytesMax);
  if (form.established) decoder.Establish(form.version, form.compression);
  std::vector<KeptEnvelope> envelopes;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    decoder.Feed(bytes.substr(at, piece_bytes));
    for (;;) {
      const auto next = decoder.Next();
      if (!next.ok()) {
        CISTERN_CHECK(IsRefusal(next.status()) && !decoder.Next().ok());
        return envelopes;
      }
      if (!next->has_value()) break;
      const Envelope& envelope = **next;
      CISTERN_CHECK(envelope.body.size() == envelope.header.body_bytes);
      CISTERN_CHECK(envelope.body.size() <= kBodyBytesMax);
      UseResponse(form, envelope);
      envelopes.push_back({envelope.header, std::string(envelope.body)});
    }
    CISTERN_CHECK(decoder.memory_bytes() <= 4 * (bytes.size() + cql::kFramePayloadBytesMax) +
                                                2 * kBodyBytesMax);
  }
  return envelopes;
}

// What decoded is sent again and must come back.
void CheckSameAgain(const Form& form, const std::vector<KeptEnvelope>& envelopes) {
  std::string plain;
  for (const KeptEnvelope& envelope : envelopes) {
    const size_t begin = BeginEnvelope(envelope.header, &plain);
    plain.append(envelope.body);
    cql::EndEnvelope(begin, &plain);
  }
  cql::EnvelopeEncoder encoder;
  if (form.established) encoder.Establish(form.version, form.compression);
  std::string sent;
  encoder.Encode(plain, &sent);
  const std::vector<KeptEnvelope> again = Decode(form, sent, sent.size() + 1);
  CISTERN_CHECK(again.size() == envelopes.size());
  for (size_t i = 0; i < again.size(); ++i) {
    CISTERN_CHECK(again[i].header.stream == envelopes[i].header.stream);
    CISTERN_CHECK(again[i].header.opcode == envelopes[i].header.opcode);
    CISTERN_CHECK(again[i].body == envelopes[i].body);
  }
}

std::string InFrames(const Form& form, std::string_view bytes, bool self_contained,
                     size_t slice_bytes) {
  std::string frames;
  for (size_t at = 0; at < bytes.size(); at += slice_bytes) {
    AppendFrame(form.compression, bytes.substr(at, slice_bytes), self_contained, &frames);
  }
  return frames;
}

}  // namespace

void FuzzCqlResponse(std::string_view input) {
  if (input.size() < 2) return;
  const auto choice = static_cast<uint8_t>(input[0]);
  const Form form = {(choice & 1) != 0 ? ProtocolVersion::kV4 : ProtocolVersion::kV5,
                     (choice & 2) != 0 ? Compression::kLz4 : Compression::kNone,
                     (choice & 4) == 0};
  const size_t piece_bytes = size_t{1} + static_cast<uint8_t>(input[1]);
  const std::string_view bytes = input.substr(2, cql::kFramePayloadBytesMax);
  CheckSameAgain(form, Decode(form, bytes, piece_bytes));
  if (!form.established || form.version == ProtocolVersion::kV4) return;
  // The bytes as they are have wrong checksums: in frames with right ones what they carry is
  // reached.
  CheckSameAgain(form, Decode(form, InFrames(form, bytes, true, bytes.size() + 1), 100'000));
  const size_t slice_bytes = cql::kEnvelopeHeaderBytes + piece_bytes;
  CheckSameAgain(form, Decode(form, InFrames(form, bytes, false, slice_bytes), piece_bytes));
}

namespace {

// Rows that are alike: copies of the first bytes, a byte of each replaced by one of the rest.
std::string RowsOf(std::string_view input) {
  const size_t row_bytes = 1 + static_cast<uint8_t>(input[0]);
  const std::string_view row = input.substr(1, row_bytes);
  const std::string_view edits = input.substr(1 + row.size());
  std::string rows(row);
  for (size_t i = 0; i + 1 < edits.size() && !row.empty(); i += 2) {
    const size_t begin = rows.size();
    rows.append(row);
    rows[begin + static_cast<uint8_t>(edits[i]) % row.size()] = edits[i + 1];
  }
  return rows;
}

void CheckPacks(std::string_view bytes) {
  std::vector<char> room(bytes.size() + bytes.size() / 255 + 16);  // any block fits
  cql::Lz4Search search;
  const size_t size = search.Pack(bytes, room.data(), room.size());
  CISTERN_CHECK(size > 0);
  const std::string block(room.data(), size);
  std::string unpacked;
  CISTERN_CHECK(cql::UnpackLz4Block(block, bytes.size(), &unpacked).ok() && unpacked == bytes);
  room.resize(size);  // exactly; what is written behind it is the sanitizer's
  room.shrink_to_fit();
  CISTERN_CHECK(search.Pack(bytes, room.data(), size) == size);
  CISTERN_CHECK(search.Pack(bytes, room.data(), size - 1) == 0);
}

}  // namespace

void FuzzLz4(std::string_view input) {
  if (input.size() < 4) return;
  CheckPacks(input);
  CheckPacks(RowsOf(input));
  std::string unpacked;
  const size_t claimed = GetLittle<uint16_t>(input.data()) * size_t{8};
  const Status status = cql::UnpackLz4Block(input.substr(2), claimed, &unpacked);
  CISTERN_CHECK(status.ok() ? unpacked.size() == claimed : IsRefusal(status));
}

}  // namespace cistern
