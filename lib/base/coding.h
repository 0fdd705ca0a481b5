// Little-endian and big-endian integers, varints, and a reader that checks the
// remaining length before each read.
#ifndef CISTERN_BASE_CODING_H_
#define CISTERN_BASE_CODING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cistern/status.h"

namespace cistern {

// Writes sizeof(T) bytes at p.
template <typename T>
inline void SetLittle(char* p, T value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(p, &value, sizeof(T));
    return;
  }
  for (size_t i = 0; i < sizeof(T); ++i) {
    p[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}
// The same with the highest byte first.
template <typename T>
inline void SetBig(char* p, T value) {
  if constexpr (std::endian::native == std::endian::little && sizeof(T) == sizeof(uint64_t)) {
    const uint64_t swapped = __builtin_bswap64(static_cast<uint64_t>(value));
    std::memcpy(p, &swapped, sizeof(swapped));
    return;
  }
  for (size_t i = 0; i < sizeof(T); ++i) {
    p[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * (sizeof(T) - 1 - i)));
  }
}
template <typename T>
inline void PutLittle(std::string* out, T value) {
  char bytes[sizeof(T)];
  SetLittle(bytes, value);
  out->append(bytes, sizeof(T));
}
template <typename T>
inline void PutBig(std::string* out, T value) {
  for (size_t i = sizeof(T); i-- > 0;) {
    out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
}
template <typename T>
inline T GetBig(const char* p) {
  if constexpr (std::endian::native == std::endian::little && sizeof(T) == sizeof(uint64_t)) {
    uint64_t value;  // a load and a swap; the loop below is not seen to be that
    std::memcpy(&value, p, sizeof(value));
    return static_cast<T>(__builtin_bswap64(value));
  }
  uint64_t v = 0;
  for (size_t i = 0; i < sizeof(T); ++i) v = v << 8 | static_cast<uint8_t>(p[i]);
  return static_cast<T>(v);
}
template <typename T>
inline T GetLittle(const char* p) {
  if constexpr (std::endian::native == std::endian::little) {
    T value;  // one load; the loop below is not always seen to be one
    std::memcpy(&value, p, sizeof(T));
    return value;
  }
  uint64_t v = 0;
  for (size_t i = sizeof(T); i-- > 0;) v = v << 8 | static_cast<uint8_t>(p[i]);
  return static_cast<T>(v);
}

// LEB128, seven bits a byte, lowest first; at most 10 bytes.
inline void PutVarint(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}
// Bytes of value as a varint.
inline size_t VarintBytes(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
inline uint64_t ZigZag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t UnZigZag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}
inline void PutSigned(std::string* out, int64_t value) { PutVarint(out, ZigZag(value)); }

// Reads fields from untrusted bytes. After the first failure every read gives 0 or
// an empty view, and status() names the field that failed and where.
class ByteReader {
 public:
  // `what` names the structure in errors ("page header"); must outlive the reader.
  ByteReader(std::string_view bytes, const char* what) : bytes_(bytes), what_(what) {}

  uint8_t ReadU8(const char* field) { return ReadLittle<uint8_t>(field); }
  uint16_t ReadU16(const char* field) { return ReadLittle<uint16_t>(field); }
  uint32_t ReadU32(const char* field) { return ReadLittle<uint32_t>(field); }
  uint64_t ReadU64(const char* field) { return ReadLittle<uint64_t>(field); }
  template <typename T>
  T ReadLittle(const char* field) {
    if (!Need(sizeof(T), field)) return 0;
    const T v = GetLittle<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return v;
  }
  uint64_t ReadVarint(const char* field) {
    // Most are of one byte. After a failure nothing remains.
    if (remaining() > 0 && static_cast<uint8_t>(bytes_[position_]) < 0x80) {
      return static_cast<uint8_t>(bytes_[position_++]);
    }
    if (remaining() >= sizeof(uint64_t)) {
      // All at once where it ends within eight bytes: times are of five to eight.
      const auto word = GetLittle<uint64_t>(bytes_.data() + position_);
      const uint64_t ends = ~word & kVarintGoesOn;
      if (ends != 0) {
        position_ += static_cast<size_t>(std::countr_zero(ends)) / 8 + 1;
        return Squeezed(word & (ends ^ (ends - 1)));  // without what follows it
      }
    }
    return ReadLongVarint(field);
  }
  int64_t ReadSigned(const char* field) { return UnZigZag(ReadVarint(field)); }
  // A varint that must be at most `max`.
  uint64_t ReadCount(const char* field, uint64_t max) {
    const uint64_t v = ReadVarint(field);
    if (ok() && v > max) {
      Fail(field, "is beyond its limit");
      return 0;
    }
    return v;
  }
  std::string_view ReadBytes(const char* field, size_t count) {
    if (!Need(count, field)) return {};
    const std::string_view v = bytes_.substr(position_, count);
    position_ += count;
    return v;
  }

  void Fail(const char* field, const char* why);
  // The same for what went wrong outside of the bytes. `why` is an error.
  void Fail(Status why);
  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] size_t position() const { return position_; }

 private:
  static constexpr uint64_t kVarintGoesOn = 0x8080808080808080;  // the high bit of each byte
  // The seven low bits of each byte, without gaps.
  static uint64_t Squeezed(uint64_t bytes) {
    uint64_t v = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
    v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
    return (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
  }
  // Byte by byte: what ends with the bytes, or is of nine or ten.
  uint64_t ReadLongVarint(const char* field);
  bool Need(size_t count, const char* field) {
    if (!ok()) return false;
    if (count <= remaining()) return true;
    Fail(field, "runs past the end");
    return false;
  }
  std::string_view bytes_;
  const char* what_;
  size_t position_ = 0;
  Status status_;
};

}  // namespace cistern

#endif  // CISTERN_BASE_CODING_H_
