// The descriptor of an integer stream, for what writes it and what reads it (lib/segment/FORMAT.md,
// "Integer streams").
#ifndef CISTERN_CODEC_INTEGER_STREAM_H_
#define CISTERN_CODEC_INTEGER_STREAM_H_

#include <cstdint>

namespace cistern::integer_stream {

// Bits of the descriptor byte.
inline constexpr uint8_t kOrderMask = 3;  // 3: runs
inline constexpr uint8_t kRuns = 3;
inline constexpr uint8_t kHasDivisor = 4;
inline constexpr uint8_t kHasPatches = 8;
inline constexpr unsigned kWidthShift = 4;   // bits 4..7: the width, 0: none
inline constexpr unsigned kWidthApart = 15;  // a byte of its own has it: 15..64

}  // namespace cistern::integer_stream

#endif  // CISTERN_CODEC_INTEGER_STREAM_H_
