#include "engine/cql/envelope_stream.h"

#include <algorithm>

#include "engine/cql/frame.h"
#include "engine/cql/lz4_block.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr size_t kLz4LengthBytes = 4;  // of v4, before the block
// Versions that a server may answer a handshake in.
constexpr uint8_t kVersionMin = 3;
constexpr uint8_t kVersionMax = 6;

// Of our own envelopes, which are whole.
size_t EnvelopeBytes(std::string_view envelopes) {
  CISTERN_CHECK(envelopes.size() >= kEnvelopeHeaderBytes);
  const size_t bytes =
      kEnvelopeHeaderBytes + GetBig<uint32_t>(&envelopes[kEnvelopeHeaderBytes - 4]);
  CISTERN_CHECK(bytes <= envelopes.size());
  return bytes;
}

// One of v4 with its body packed, where that makes it shorter.
void AppendPacked(std::string_view envelope, std::string* out) {
  const std::string_view body = envelope.substr(kEnvelopeHeaderBytes);
  const size_t begin = out->size();
  out->append(envelope.substr(0, kEnvelopeHeaderBytes));
  PutBig(out, static_cast<uint32_t>(body.size()));
  if (AppendLz4Block(body, out) && out->size() - begin < envelope.size()) {
    (*out)[begin + 1] = static_cast<char>((*out)[begin + 1] | envelope_flag::kCompressed);
    EndEnvelope(begin, out);
    return;
  }
  out->resize(begin);
  out->append(envelope);
}

// Empties a buffer, and gives its memory back if one large envelope had made it grow.
void Empty(std::string* buffer) {
  if (buffer->capacity() > limits::kCqlBufferKeptBytes) {
    std::string().swap(*buffer);
  } else {
    buffer->clear();
  }
}

}  // namespace

// --- EnvelopeEncoder

void EnvelopeEncoder::Establish(ProtocolVersion version, Compression compression) {
  established_ = true;
  version_ = version;
  compression_ = compression;
}

void EnvelopeEncoder::Encode(std::string_view envelopes, std::string* out) const {
  if (established_ && version_ == ProtocolVersion::kV5) {
    EncodeFrames(envelopes, out);
  } else if (established_ && compression_ == Compression::kLz4) {
    while (!envelopes.empty()) {
      const size_t bytes = EnvelopeBytes(envelopes);
      AppendPacked(envelopes.substr(0, bytes), out);
      envelopes.remove_prefix(bytes);
    }
  } else {
    out->append(envelopes);
  }
}

void EnvelopeEncoder::EncodeFrames(std::string_view envelopes, std::string* out) const {
  while (!envelopes.empty()) {
    size_t whole = 0;  // bytes of as many envelopes as fit
    size_t next = EnvelopeBytes(envelopes);
    while (next > 0 && whole + next <= kFramePayloadBytesMax) {
      whole += next;
      next = whole < envelopes.size() ? EnvelopeBytes(envelopes.substr(whole)) : 0;
    }
    if (whole > 0) {
      AppendFrame(compression_, envelopes.substr(0, whole), true, out);
      envelopes.remove_prefix(whole);
      continue;
    }
    for (size_t at = 0; at < next; at += kFramePayloadBytesMax) {
      const size_t bytes = std::min(kFramePayloadBytesMax, next - at);
      AppendFrame(compression_, envelopes.substr(at, bytes), false, out);
    }
    envelopes.remove_prefix(next);
  }
}

// --- EnvelopeDecoder

EnvelopeDecoder::EnvelopeDecoder(Direction expected, size_t body_bytes_max)
    : expected_(expected), body_bytes_max_(body_bytes_max) {}

void EnvelopeDecoder::Establish(ProtocolVersion version, Compression compression) {
  established_ = true;
  version_ = version;
  compression_ = compression;
}

void EnvelopeDecoder::Feed(std::string_view bytes) {
  if (!failure_.ok()) return;
  EndLast();
  if (FrameLeft().empty() && position_ > 0) DropDecoded();
  input_.append(bytes);
}

Result<std::optional<Envelope>> EnvelopeDecoder::Next() {
  if (!failure_.ok()) return failure_;
  EndLast();
  Result<std::optional<Envelope>> next =
      established_ && version_ == ProtocolVersion::kV5 ? NextFramed() : NextBare();
  if (!next.ok()) failure_ = next.status();
  return next;
}

size_t EnvelopeDecoder::memory_bytes() const {
  return input_.capacity() + unpacked_.capacity() + slices_.capacity();
}

void EnvelopeDecoder::EndLast() {
  if (slices_expected_ == 0) Empty(&slices_);
  if (FrameLeft().empty()) {
    frame_at_ = frame_end_ = 0;
    Empty(&unpacked_);
  }
}

std::string_view EnvelopeDecoder::FrameLeft() const {
  return std::string_view(frame_unpacked_ ? unpacked_ : input_)
      .substr(frame_at_, frame_end_ - frame_at_);
}

void EnvelopeDecoder::DropDecoded() {
  if (position_ == input_.size()) {
    Empty(&input_);
  } else {
    input_.erase(0, position_);
  }
  position_ = 0;
}

Result<EnvelopeHeader> EnvelopeDecoder::ParseHeader(std::string_view bytes) const {
  const size_t limit =
      established_ ? body_bytes_max_ : std::min(body_bytes_max_, limits::kCqlHandshakeBytesMax);
  CISTERN_ASSIGN_OR_RETURN(const EnvelopeHeader header,
                           ParseEnvelopeHeader(bytes, expected_, limit));
  const bool fits = established_ ? header.version == static_cast<uint8_t>(version_)
                                 : header.version >= kVersionMin && header.version <= kVersionMax;
  if (!fits) {
    return Status::Corruption(Concat({"an envelope of version ", header.version, " came where ",
        (established_ ? std::string(ProtocolVersionName(version_)) : "Cassandra's native protocol"),
        " is spoken; check that the port is the one of it"}));
  }
  return header;
}

Result<std::optional<Envelope>> EnvelopeDecoder::NextBare() {
  const std::string_view stream = std::string_view(input_).substr(position_);
  if (stream.size() < kEnvelopeHeaderBytes) return std::optional<Envelope>();
  CISTERN_ASSIGN_OR_RETURN(const EnvelopeHeader header, ParseHeader(stream));
  if (stream.size() - kEnvelopeHeaderBytes < header.body_bytes) return std::optional<Envelope>();
  position_ += kEnvelopeHeaderBytes + header.body_bytes;
  const Envelope envelope = {header, stream.substr(kEnvelopeHeaderBytes, header.body_bytes)};
  if ((header.flags & envelope_flag::kCompressed) == 0) return std::optional<Envelope>(envelope);
  return Unpack(envelope);
}

Result<std::optional<Envelope>> EnvelopeDecoder::Unpack(const Envelope& envelope) {
  if (!established_ || compression_ == Compression::kNone) {
    return Status::Corruption("an envelope is compressed on a connection without compression");
  }
  if (envelope.body.size() < kLz4LengthBytes) {
    return Status::Corruption("a compressed envelope is too short for its length");
  }
  const auto length = GetBig<uint32_t>(envelope.body.data());
  if (length > body_bytes_max_) {
    return Status::TooLarge(Concat({"a compressed envelope unpacks to ", length,
        " bytes, at most ", body_bytes_max_, " are taken"}));
  }
  Envelope unpacked = envelope;
  CISTERN_RETURN_IF_ERROR(
      UnpackLz4Block(envelope.body.substr(kLz4LengthBytes), length, &unpacked_));
  unpacked.body = unpacked_;
  unpacked.header.body_bytes = length;
  unpacked.header.flags &= static_cast<uint8_t>(~envelope_flag::kCompressed);
  return std::optional<Envelope>(unpacked);
}

Result<std::optional<Envelope>> EnvelopeDecoder::NextFramed() {
  for (;;) {
    if (!FrameLeft().empty()) return NextInFrame();
    CISTERN_ASSIGN_OR_RETURN(
        const std::optional<Frame> frame,
        ParseFrame(compression_, std::string_view(input_).substr(position_), &unpacked_));
    if (!frame.has_value()) return std::optional<Envelope>();
    const size_t payload_at = position_ + FrameHeaderBytes(compression_);
    position_ += frame->frame_bytes;
    if (!frame->self_contained) {
      CISTERN_ASSIGN_OR_RETURN(const std::optional<Envelope> whole, AddSlice(frame->payload));
      if (whole.has_value()) return whole;
    } else if (slices_expected_ > 0) {
      return Status::Corruption("a self-contained frame came between the slices of an envelope");
    } else {
      frame_unpacked_ = frame->unpacked;
      frame_at_ = frame->unpacked ? 0 : payload_at;
      frame_end_ = frame_at_ + frame->payload.size();
    }
  }
}

Result<std::optional<Envelope>> EnvelopeDecoder::NextInFrame() {
  const std::string_view left = FrameLeft();
  if (left.size() < kEnvelopeHeaderBytes) {
    return Status::Corruption("a self-contained frame ends inside an envelope's header");
  }
  CISTERN_ASSIGN_OR_RETURN(const EnvelopeHeader header, ParseHeader(left));
  if (left.size() - kEnvelopeHeaderBytes < header.body_bytes) {
    return Status::Corruption(Concat({"a self-contained frame ends inside an envelope of ",
        header.body_bytes, " bytes"}));
  }
  frame_at_ += kEnvelopeHeaderBytes + header.body_bytes;
  return std::optional<Envelope>(
      Envelope{header, left.substr(kEnvelopeHeaderBytes, header.body_bytes)});
}

Result<std::optional<Envelope>> EnvelopeDecoder::AddSlice(std::string_view slice) {
  if (slices_expected_ == 0) {
    if (slice.size() < kEnvelopeHeaderBytes) {
      return Status::Corruption("the first slice of an envelope is shorter than its header");
    }
    CISTERN_ASSIGN_OR_RETURN(const EnvelopeHeader header, ParseHeader(slice));
    slices_.clear();
    slices_expected_ = kEnvelopeHeaderBytes + header.body_bytes;
  }
  if (slice.size() > slices_expected_ - slices_.size()) {
    return Status::Corruption("a slice is longer than what its envelope lacks");
  }
  slices_.append(slice);
  if (slices_.size() < slices_expected_) return std::optional<Envelope>();
  slices_expected_ = 0;
  CISTERN_ASSIGN_OR_RETURN(const EnvelopeHeader header, ParseHeader(slices_));
  return std::optional<Envelope>(
      Envelope{header, std::string_view(slices_).substr(kEnvelopeHeaderBytes)});
}

}  // namespace cistern::cql
