#include "lib/segment/segment_format.h"

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"

namespace cistern::segment_format {

void AppendChecksum(std::string* bytes) { PutLittle<uint64_t>(bytes, Checksum(*bytes)); }

Result<std::string_view> CheckEnvelope(std::string_view bytes, uint8_t tag, const char* what) {
  const std::string name = what;
  if (bytes.size() > limits::kPageBytesMax) {
    return Status::Corruption(Concat({name, ": size of ", bytes.size(),
        " bytes is beyond the limit of ", limits::kPageBytesMax}));
  }
  if (bytes.size() < 1 + kChecksumBytes) {
    return Status::Corruption(Concat({name, ": size of ", bytes.size(),
        " bytes is too small for a checksum"}));
  }
  const size_t body_size = bytes.size() - kChecksumBytes;
  const uint64_t stored = GetLittle<uint64_t>(bytes.data() + body_size);
  if (stored != Checksum(bytes.substr(0, body_size))) {
    return Status::Corruption(Concat({name, ": field 'checksum' does not match the ", body_size,
        " bytes before it"}));
  }
  const auto first = static_cast<uint8_t>(bytes[0]);
  if ((first & 0xF0) != tag) {
    return Status::Corruption(Concat({name, ": field 'tag' says that this is something else"}));
  }
  if ((first & 0x0F) == 0) {
    return Status::Corruption(Concat({name, ": field 'tag' says format 0, of before format ",
        kFormat, " was frozen; read it with the version that wrote it"}));
  }
  if ((first & 0x0F) > kFormatMax) {
    return Status::TooNew(Concat({name, ": format ", first & 0x0F, " is newer than this build, "
        "which reads formats up to ", kFormatMax}));
  }
  if (tag == kDictionaryTag && (first & 0x0F) < kFormatOfDictionaries) {
    return Status::Corruption(Concat({name, ": field 'tag' says a format that has no "
        "dictionaries"}));
  }
  return bytes.substr(1, body_size - 1);
}

}  // namespace cistern::segment_format
