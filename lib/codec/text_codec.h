// The bytes lane: text, blobs, uuids, opaque values.
#ifndef CISTERN_CODEC_TEXT_CODEC_H_
#define CISTERN_CODEC_TEXT_CODEC_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/coding.h"
#include "lib/codec/codec.h"
#include "lib/codec/zstd_dictionary.h"

namespace cistern {

// Cells of more bytes than that are compressed without a trained dictionary: what it tells they
// have soon told themselves.
inline constexpr size_t kDictionaryCellBytesMax = 32 * 1024;

struct TextEncoding {
  EncodingId id = EncodingId::kNone;
  bool has_dictionary = false;  // it names the trained one
};
// Appends the cells (1..kPageRowsMax, without missing ones) in the cheapest encoding. `trained`
// may have none.
[[nodiscard]] TextEncoding EncodeText(std::span<const std::string_view> cells,
                                      const NumberedDictionary& trained, std::string* out);

// A decoded run of cells: cell i is heap[offsets[i] .. offsets[i + 1]).
struct TextRun {
  std::vector<uint32_t> offsets;
  std::string heap;
};

// Reads the wanted cells alone: cell i of *out is cell wanted.begin + i. The bytes of all that have
// to be read for them are at most heap_bytes_max. Where `dictionaries` is null no trained
// dictionary may be named.
void DecodeText(EncodingId encoding, const WantedValues& wanted, size_t heap_bytes_max,
                const DictionarySource* dictionaries, ByteReader* in, TextRun* out);
// All of `count` cells, at least 1.
inline void DecodeText(EncodingId encoding, size_t count, size_t heap_bytes_max,
                       const DictionarySource* dictionaries, ByteReader* in, TextRun* out) {
  DecodeText(encoding, WantedValues::All(count), heap_bytes_max, dictionaries, in, out);
}

}  // namespace cistern

#endif  // CISTERN_CODEC_TEXT_CODEC_H_
