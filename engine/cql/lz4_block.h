// LZ4 blocks: the only door to the library.
#ifndef CISTERN_CQL_LZ4_BLOCK_H_
#define CISTERN_CQL_LZ4_BLOCK_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern::cql {

// A block cannot unpack to more than this many times its bytes.
inline constexpr size_t kLz4RatioMax = 255;

// Appends `bytes`, packed; false, and *out is as it was, when that is no shorter. At most 1 GiB.
[[nodiscard]] bool AppendLz4Block(std::string_view bytes, std::string* out);

// Replaces *unpacked by the block's bytes, which are exactly unpacked_bytes: the caller has checked
// that number against a limit.
//   kCorruption  the block is damaged, or unpacks to another length
[[nodiscard]] Status UnpackLz4Block(std::string_view block, size_t unpacked_bytes,
                                    std::string* unpacked);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_LZ4_BLOCK_H_
