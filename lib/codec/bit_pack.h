// Bit packing: values of 1..64 bits, lowest bit first, no gaps; the last byte is
// filled up with zero bits.
#ifndef CISTERN_CODEC_BIT_PACK_H_
#define CISTERN_CODEC_BIT_PACK_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/base/coding.h"

namespace cistern {

[[nodiscard]] inline size_t PackedBytes(size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

// Appends packed values to a string. Finish() writes the last bytes.
class BitWriter {
 public:
  // `width` is 1..64; exactly `count` values follow.
  BitWriter(std::string* out, size_t count, unsigned width) : out_(out), width_(width) {
    end_ = out->size();
    out->resize(end_ + PackedBytes(count, width));
  }

  // `value` must fit the width.
  void Put(uint64_t value) {
    pending_ |= value << filled_;
    if (filled_ + width_ < 64) {
      filled_ += width_;
      return;
    }
    SetLittle<uint64_t>(out_->data() + end_, pending_);
    end_ += 8;
    pending_ = filled_ == 0 ? 0 : value >> (64 - filled_);
    filled_ = filled_ + width_ - 64;
  }
  void Finish() {
    for (unsigned bit = 0; bit < filled_; bit += 8) {
      (*out_)[end_++] = static_cast<char>(pending_ >> bit);
    }
    pending_ = 0;
    filled_ = 0;
  }

 private:
  std::string* out_;
  size_t end_;  // of what is written
  unsigned width_;
  unsigned filled_ = 0;  // bits of pending_ in use, below 64
  uint64_t pending_ = 0;
};

// Reads 8 bytes at `position`; bytes past the end read as 0.
[[nodiscard]] inline uint64_t LoadTail(std::string_view bytes, size_t position) {
  if (position + 8 <= bytes.size()) return GetLittle<uint64_t>(bytes.data() + position);
  uint64_t v = 0;
  for (size_t i = bytes.size(); i-- > position;) v = v << 8 | static_cast<uint8_t>(bytes[i]);
  return v;
}

// Calls take(i, value) for each of the values begin..count-1 of `width` 1..64 bits in turn.
// `packed` must have PackedBytes(count, width) bytes; nothing is read beyond them.
template <typename Take>
inline void ForEachPackedFrom(std::string_view packed, size_t begin, size_t count, unsigned width,
                              const Take& take) {
  const uint64_t mask = ~uint64_t{0} >> (64 - width);
  // Values that one load of eight bytes inside `packed` holds, then the last few.
  size_t whole = 0;
  if (width <= 57 && packed.size() >= 8) {
    whole = std::min(count, ((packed.size() - 8) * 8) / width + 1);
  }
  size_t bit = begin * width;
  for (size_t i = begin; i < whole; ++i, bit += width) {
    take(i, GetLittle<uint64_t>(packed.data() + bit / 8) >> (bit % 8) & mask);
  }
  for (size_t i = std::max(begin, whole); i < count; ++i, bit += width) {
    const size_t byte = bit / 8;
    const unsigned shift = static_cast<unsigned>(bit % 8);
    uint64_t v = LoadTail(packed, byte) >> shift;
    if (shift + width > 64) {
      v |= static_cast<uint64_t>(static_cast<uint8_t>(packed[byte + 8])) << (64 - shift);
    }
    take(i, v & mask);
  }
}

// The same of all values.
template <typename Take>
inline void ForEachPacked(std::string_view packed, size_t count, unsigned width,
                          const Take& take) {
  ForEachPackedFrom(packed, 0, count, width, take);
}

// The sum of the first `count` values of `width` 1..64 bits, modulo 2^64: many at a time where they
// are narrow, as lanes of twice their width side by side in one word.
[[nodiscard]] inline uint64_t SumPacked(std::string_view packed, size_t count, unsigned width) {
  constexpr unsigned kNarrowMin = 3;  // below, lanes are full too soon
  constexpr unsigned kNarrowMax = 14;
  uint64_t sum = 0;
  size_t done = 0;
  if (width >= kNarrowMin && width <= kNarrowMax && packed.size() >= 8) {
    const unsigned of_word = 56 / width;
    const uint64_t used = ~uint64_t{0} >> (64 - of_word * width);
    uint64_t even = 0;
    for (unsigned bit = 0; bit < 64; bit += 2 * width) {
      even |= (~uint64_t{0} >> (64 - width)) << bit;
    }
    const size_t words_whole = std::min(count, ((packed.size() - 8) * 8) / width + 1) / of_word;
    // The last lane may reach beyond the word by a few of its bits, and has less to add up then.
    const size_t until_full = size_t{1} << (width - 2);
    for (size_t word = 0; word < words_whole;) {
      const size_t end = std::min(words_whole, word + until_full);
      uint64_t lanes = 0;
      for (; word < end; ++word) {
        const size_t bit = word * of_word * width;
        const uint64_t v = GetLittle<uint64_t>(packed.data() + bit / 8) >> (bit % 8) & used;
        lanes += (v & even) + (v >> width & even);
      }
      const uint64_t lane_mask = ~uint64_t{0} >> (64 - 2 * width);
      for (; lanes != 0; lanes >>= 2 * width) sum += lanes & lane_mask;
    }
    done = words_whole * of_word;
  }
  ForEachPackedFrom(packed, done, count, width, [&sum](size_t, uint64_t v) { sum += v; });
  return sum;
}

// Unpacks them all.
inline void UnpackBits(std::string_view packed, size_t count, unsigned width, uint64_t* out) {
  ForEachPacked(packed, count, width, [out](size_t i, uint64_t v) { out[i] = v; });
}

// Whether the bits after the last packed value are zero, as they are written.
[[nodiscard]] inline bool PaddingIsZero(std::string_view packed, size_t count, unsigned width) {
  const size_t used = count * width % 8;
  return used == 0 || (static_cast<uint8_t>(packed.back()) >> used) == 0;
}

}  // namespace cistern

#endif  // CISTERN_CODEC_BIT_PACK_H_
