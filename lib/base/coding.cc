#include "lib/base/coding.h"

#include "lib/base/concat.h"

namespace cistern {

uint64_t ByteReader::ReadLongVarint(const char* field) {
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
  status_ = Status::Corruption(Concat({what_, ": field '", field, "' at byte ", position_, " of ",
      bytes_.size(), " ", why}));
  position_ = bytes_.size();
}

void ByteReader::Fail(Status why) {
  if (!ok()) return;
  status_ = std::move(why);
  position_ = bytes_.size();
}

}  // namespace cistern
