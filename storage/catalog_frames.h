// The frames of the files that keep the catalog a second time. Bytes: KEYSPACE.md.
#ifndef CISTERN_STORAGE_CATALOG_FRAMES_H_
#define CISTERN_STORAGE_CATALOG_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"

namespace cistern {

inline constexpr size_t kFrameBytesMin = 4 + 8;  // length and checksum
// A frame is begun anew behind so much, so that damage of one costs little.
inline constexpr size_t kFramePayloadBytes = 64 * 1024;

// length u32 | payload | XXH3 u64 over both
[[nodiscard]] inline std::string MakeFrame(std::string_view payload) {
  std::string frame;
  PutLittle(&frame, static_cast<uint32_t>(payload.size()));
  frame.append(payload);
  PutLittle<uint64_t>(&frame, Checksum(frame));
  return frame;
}

// The next payload; nothing at the end, or where a frame is not whole.
[[nodiscard]] inline std::optional<std::string_view> TakeFrame(std::string_view* bytes) {
  if (bytes->size() < kFrameBytesMin) return std::nullopt;
  const size_t length = GetLittle<uint32_t>(bytes->data());
  if (length > bytes->size() - kFrameBytesMin) return std::nullopt;
  const std::string_view covered = bytes->substr(0, 4 + length);
  if (GetLittle<uint64_t>(bytes->data() + covered.size()) != Checksum(covered)) return std::nullopt;
  bytes->remove_prefix(kFrameBytesMin + length);
  return covered.substr(4);
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_CATALOG_FRAMES_H_
