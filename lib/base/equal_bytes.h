// EqualBytes: compares short byte strings without a call.
#ifndef CISTERN_BASE_EQUAL_BYTES_H_
#define CISTERN_BASE_EQUAL_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string_view>

namespace cistern {

namespace equal_bytes_internal {

template <typename T>
[[nodiscard]] inline uint64_t Load(const char* at) {
  T v;
  std::memcpy(&v, at, sizeof(v));
  return v;
}

}  // namespace equal_bytes_internal

// What a == b says. Keys and texts of sensors are mostly of at most 16 bytes: two loads
// that may overlap cover them, where memcmp costs a call through the linkage table.
[[nodiscard]] inline bool EqualBytes(std::string_view a, std::string_view b) {
  using equal_bytes_internal::Load;
  const size_t n = a.size();
  if (n != b.size()) return false;
  const char* p = a.data();
  const char* q = b.data();
  if (n >= 8 && n <= 16) {
    return ((Load<uint64_t>(p) ^ Load<uint64_t>(q)) |
            (Load<uint64_t>(p + n - 8) ^ Load<uint64_t>(q + n - 8))) == 0;
  }
  if (n > 16) return std::memcmp(p, q, n) == 0;
  if (n >= 4) {
    return ((Load<uint32_t>(p) ^ Load<uint32_t>(q)) |
            (Load<uint32_t>(p + n - 4) ^ Load<uint32_t>(q + n - 4))) == 0;
  }
  if (n == 0) return true;
  return p[0] == q[0] && p[n / 2] == q[n / 2] && p[n - 1] == q[n - 1];
}

}  // namespace cistern

#endif  // CISTERN_BASE_EQUAL_BYTES_H_
