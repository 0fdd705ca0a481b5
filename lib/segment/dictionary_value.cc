#include "lib/segment/dictionary_value.h"

#include "lib/base/coding.h"
#include "lib/segment/segment_format.h"

namespace cistern {

std::string EncodeDictionary(uint64_t number, const ZstdDictionary& dictionary) {
  std::string out;
  out.push_back(static_cast<char>(segment_format::kDictionaryTag |
                                  segment_format::kFormatOfDictionaries));
  PutVarint(&out, number);
  PutVarint(&out, dictionary.bytes().size());
  out += dictionary.bytes();
  segment_format::AppendChecksum(&out);
  return out;
}

Result<std::shared_ptr<const ZstdDictionary>> DecodeDictionary(uint64_t number,
                                                               std::string_view value) {
  CISTERN_ASSIGN_OR_RETURN(
      const std::string_view body,
      segment_format::CheckEnvelope(value, segment_format::kDictionaryTag, "dictionary"));
  ByteReader in(body, "dictionary");
  const uint64_t named = in.ReadVarint("number");
  if (in.ok() && named != number) in.Fail("number", "is that of another one");
  const size_t size = in.ReadCount("size", limits::kDictionaryBytesMax);
  const std::string_view bytes = in.ReadBytes("content", size);
  if (in.ok() && in.remaining() != 0) in.Fail("end", "is not where the fields end");
  CISTERN_RETURN_IF_ERROR(in.status());
  return ZstdDictionary::Make(std::string(bytes));
}

}  // namespace cistern
