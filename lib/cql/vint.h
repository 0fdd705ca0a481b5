// Numbers of varying length as Cassandra's protocol has them in durations and vectors.
//
// The first byte has as many leading ones as bytes follow it; what is left of it and those bytes
// are the number, the highest first. Signed numbers are zigzagged: 0, -1, 1, -2 are 0, 1, 2, 3.
//
// Source: native_protocol_v5.spec sections 3 ([unsigned vint], [vint]) and 6.
#ifndef CISTERN_CQL_VINT_H_
#define CISTERN_CQL_VINT_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace cistern {

inline constexpr size_t kVintBytesMax = 9;

// Appends the number in as few bytes as it takes.
inline void PutUnsignedVint(std::string* out, uint64_t value) {
  const auto bits = static_cast<size_t>(std::bit_width(value | 1));
  const size_t more = bits > 7 * 8 ? 8 : (bits - 1) / 7;  // bytes behind the first
  const auto ones = static_cast<uint8_t>(0xff00u >> more);
  const uint64_t first = more == 8 ? 0 : value >> (8 * more);
  out->push_back(static_cast<char>(ones | first));
  for (size_t i = more; i-- > 0;) out->push_back(static_cast<char>(value >> (8 * i)));
}

inline void PutVint(std::string* out, int64_t value) {
  PutUnsignedVint(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

// Takes a number from the front of *bytes; false: they end inside it.
[[nodiscard]] inline bool TakeUnsignedVint(std::string_view* bytes, uint64_t* value) {
  if (bytes->empty()) return false;
  const auto first = static_cast<uint8_t>(bytes->front());
  const auto more = static_cast<size_t>(std::countl_one(first));
  if (bytes->size() <= more) return false;
  *value = more == 8 ? 0 : first & (0xffu >> more);
  for (size_t i = 1; i <= more; ++i) *value = *value << 8 | static_cast<uint8_t>((*bytes)[i]);
  bytes->remove_prefix(1 + more);
  return true;
}

[[nodiscard]] inline bool TakeVint(std::string_view* bytes, int64_t* value) {
  uint64_t zigzag = 0;
  if (!TakeUnsignedVint(bytes, &zigzag)) return false;
  *value = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
  return true;
}

}  // namespace cistern

#endif  // CISTERN_CQL_VINT_H_
