// Short byte strings, compared, copied and looked at without a call. Keys and texts of sensors are
// mostly of at most 16 bytes: two loads that may overlap cover them, where memcmp or memcpy costs
// a call through the linkage table.
#ifndef CISTERN_BASE_SHORT_BYTES_H_
#define CISTERN_BASE_SHORT_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string_view>

namespace cistern {

namespace short_bytes_internal {

template <typename T>
[[nodiscard]] inline uint64_t Load(const char* at) {
  T v;
  std::memcpy(&v, at, sizeof(v));
  return v;
}

template <typename T>
void Store(char* at, T v) {
  std::memcpy(at, &v, sizeof(v));
}

}  // namespace short_bytes_internal

// What a == b says.
[[nodiscard]] inline bool EqualBytes(std::string_view a, std::string_view b) {
  using short_bytes_internal::Load;
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

// Copies `bytes` to `out`, which they do not overlap.
inline void CopyBytes(std::string_view bytes, char* out) {
  using short_bytes_internal::Load;
  using short_bytes_internal::Store;
  const size_t n = bytes.size();
  const char* p = bytes.data();
  if (n > 16) {
    std::memcpy(out, p, n);
  } else if (n >= 8) {
    const auto last = Load<uint64_t>(p + n - 8);
    Store(out, Load<uint64_t>(p));
    Store(out + n - 8, last);
  } else if (n >= 4) {
    const auto last = static_cast<uint32_t>(Load<uint32_t>(p + n - 4));
    Store(out, static_cast<uint32_t>(Load<uint32_t>(p)));
    Store(out + n - 4, last);
  } else if (n != 0) {
    out[0] = p[0];
    out[n / 2] = p[n / 2];
    out[n - 1] = p[n - 1];
  }
}

// Whether they are at most 16 bytes, and ASCII all of them.
[[nodiscard]] inline bool IsShortAscii(std::string_view bytes) {
  using short_bytes_internal::Load;
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  const size_t n = bytes.size();
  const char* p = bytes.data();
  if (n > 16) return false;
  if (n >= 8) return ((Load<uint64_t>(p) | Load<uint64_t>(p + n - 8)) & kHighBits) == 0;
  if (n >= 4) return ((Load<uint32_t>(p) | Load<uint32_t>(p + n - 4)) & kHighBits) == 0;
  return n == 0 || ((p[0] | p[n / 2] | p[n - 1]) & 0x80) == 0;
}

}  // namespace cistern

#endif  // CISTERN_BASE_SHORT_BYTES_H_
