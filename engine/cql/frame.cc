#include "engine/cql/frame.h"

#include "engine/cql/crc.h"
#include "engine/cql/lz4_block.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr int kLengthBits = 17;
constexpr uint64_t kLengthMask = (uint64_t{1} << kLengthBits) - 1;
constexpr size_t kHeaderCrcBytes = 3;

void PutLittleBytes(uint64_t value, size_t count, std::string* out) {
  for (size_t i = 0; i < count; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t GetLittleBytes(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

void AppendHeader(Compression compression, size_t sent_bytes, size_t unpacked_bytes,
                  bool self_contained, std::string* out) {
  uint64_t fields = sent_bytes;
  int flag_bit = kLengthBits;
  if (compression == Compression::kLz4) {
    fields |= static_cast<uint64_t>(unpacked_bytes) << kLengthBits;
    flag_bit += kLengthBits;
  }
  fields |= static_cast<uint64_t>(self_contained) << flag_bit;
  const size_t bytes = FrameHeaderBytes(compression) - kHeaderCrcBytes;
  const size_t begin = out->size();
  PutLittleBytes(fields, bytes, out);
  PutLittleBytes(Crc24(std::string_view(*out).substr(begin)), kHeaderCrcBytes, out);
}

}  // namespace

void AppendFrame(Compression compression, std::string_view payload, bool self_contained,
                 std::string* out) {
  CISTERN_CHECK(payload.size() <= kFramePayloadBytesMax);
  const size_t begin = out->size();
  if (compression == Compression::kLz4) {
    // Behind the place of the header, which is known only then.
    std::string header;
    const size_t header_bytes = FrameHeaderBytes(compression);
    out->append(header_bytes, '\0');
    const bool packed = AppendLz4Block(payload, out);
    if (!packed) out->append(payload);
    AppendHeader(compression, out->size() - begin - header_bytes, packed ? payload.size() : 0,
                 self_contained, &header);
    out->replace(begin, header_bytes, header);
  } else {
    AppendHeader(compression, payload.size(), 0, self_contained, out);
    out->append(payload);
  }
  const size_t sent_at = begin + FrameHeaderBytes(compression);
  PutLittle(out, FrameCrc32(std::string_view(*out).substr(sent_at)));
}

Result<std::optional<Frame>> ParseFrame(Compression compression, std::string_view stream,
                                        std::string* unpacked) {
  const size_t header_bytes = FrameHeaderBytes(compression);
  if (stream.size() < header_bytes) return std::optional<Frame>();
  const std::string_view fields_bytes = stream.substr(0, header_bytes - kHeaderCrcBytes);
  const uint64_t crc = GetLittleBytes(stream.substr(fields_bytes.size(), kHeaderCrcBytes));
  if (crc != Crc24(fields_bytes)) {
    return Status::Corruption("the checksum of a frame's header is wrong");
  }
  const uint64_t fields = GetLittleBytes(fields_bytes);
  const size_t sent_bytes = fields & kLengthMask;
  const bool lz4 = compression == Compression::kLz4;
  const size_t unpacked_bytes = lz4 ? fields >> kLengthBits & kLengthMask : 0;
  Frame frame;
  frame.self_contained = (fields >> (lz4 ? 2 * kLengthBits : kLengthBits) & 1) != 0;
  frame.frame_bytes = header_bytes + sent_bytes + kFrameTrailerBytes;
  if (stream.size() < frame.frame_bytes) return std::optional<Frame>();
  frame.payload = stream.substr(header_bytes, sent_bytes);
  if (GetLittle<uint32_t>(stream.data() + header_bytes + sent_bytes) !=
      FrameCrc32(frame.payload)) {
    return Status::Corruption(Concat({"the checksum of a frame's ", sent_bytes,
        " bytes is wrong"}));
  }
  if (unpacked_bytes > 0) {
    CISTERN_RETURN_IF_ERROR(UnpackLz4Block(frame.payload, unpacked_bytes, unpacked));
    frame.payload = *unpacked;
    frame.unpacked = true;
  }
  return std::optional<Frame>(frame);
}

}  // namespace cistern::cql
