// The bytes lane: text, blobs, uuids, opaque values.
#ifndef CISTERN_CODEC_TEXT_CODEC_H_
#define CISTERN_CODEC_TEXT_CODEC_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/coding.h"
#include "lib/codec/codec.h"

namespace cistern {

// Appends the cells (1..kPageRowsMax, without missing ones) in the cheapest encoding.
[[nodiscard]] EncodingId EncodeText(std::span<const std::string_view> cells, std::string* out);

// A decoded run of cells: cell i is heap[offsets[i] .. offsets[i + 1]).
struct TextRun {
  std::vector<uint32_t> offsets;
  std::string heap;
};

// Reads `count` cells, at least 1, whose bytes are at most heap_bytes_max in all.
void DecodeText(EncodingId encoding, size_t count, size_t heap_bytes_max, ByteReader* in,
                TextRun* out);

}  // namespace cistern

#endif  // CISTERN_CODEC_TEXT_CODEC_H_
