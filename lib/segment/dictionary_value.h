// A trained dictionary as a stored value. The bytes are specified in FORMAT.md.
#ifndef CISTERN_SEGMENT_DICTIONARY_VALUE_H_
#define CISTERN_SEGMENT_DICTIONARY_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "lib/codec/zstd_dictionary.h"

namespace cistern {

// The value that stands under the number.
[[nodiscard]] std::string EncodeDictionary(uint64_t number, const ZstdDictionary& dictionary);

//   kCorruption  the bytes are damaged, or a dictionary of another number; names the field
//   kTooNew      a later format
[[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> DecodeDictionary(
    uint64_t number, std::string_view value);

}  // namespace cistern

#endif  // CISTERN_SEGMENT_DICTIONARY_VALUE_H_
