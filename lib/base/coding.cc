#include "lib/base/coding.h"

namespace cistern {

namespace {

constexpr uint64_t kVarintGoesOn = 0x8080808080808080;  // the high bit of each byte

// The seven low bits of each byte, without gaps.
uint64_t Squeezed(uint64_t bytes) {
  uint64_t v = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
  v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
  return (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
}

}  // namespace

uint64_t ByteReader::ReadLongVarint(const char* field) {
  if (remaining() >= sizeof(uint64_t)) {
    // All at once where it ends within eight bytes: times are of five to eight.
    const auto word = GetLittle<uint64_t>(bytes_.data() + position_);
    const uint64_t ends = ~word & kVarintGoesOn;
    if (ends != 0) {
      position_ += static_cast<size_t>(std::countr_zero(ends)) / 8 + 1;
      return Squeezed(word & (ends ^ (ends - 1)));  // without what follows it
    }
  }
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (!Need(1, field)) return 0;
    const auto byte = static_cast<uint8_t>(bytes_[position_++]);
    if (shift == 63 && byte > 1) break;
    v |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return v;
  }
  Fail(field, "is not a varint of at most 64 bits");
  return 0;
}

void ByteReader::Fail(const char* field, const char* why) {
  if (!ok()) return;
  status_ = Status::Corruption(std::string(what_) + ": field '" + field + "' at byte " +
                               std::to_string(position_) + " of " + std::to_string(bytes_.size()) +
                               " " + why);
  position_ = bytes_.size();
}

}  // namespace cistern
