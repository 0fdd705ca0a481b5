#include "engine/cql/token.h"

#include <limits>

#include "lib/base/check.h"

namespace cistern::cql {
namespace {

constexpr uint64_t kC1 = 0x87c37b91114253d5u;
constexpr uint64_t kC2 = 0x4cf5ad432745937fu;

uint64_t RotateLeft(uint64_t v, int bits) { return (v << bits) | (v >> (64 - bits)); }

uint64_t Finish(uint64_t k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdu;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53u;
  return k ^ (k >> 33);
}

uint64_t MixFirst(uint64_t k) { return RotateLeft(k * kC1, 31) * kC2; }
uint64_t MixSecond(uint64_t k) { return RotateLeft(k * kC2, 33) * kC1; }

// 8 bytes of a whole block, little-endian.
uint64_t BlockWord(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 8; i-- > 0;) word = word << 8 | static_cast<uint8_t>(bytes[at + i]);
  return word;
}

// Up to 8 bytes behind the last whole block. Cassandra adds them as signed bytes, which sets all
// bits above a byte from 0x80 on: unlike MurmurHash3, and for ever.
uint64_t TailWord(std::string_view tail) {
  uint64_t word = 0;
  for (size_t i = 0; i < tail.size(); ++i) {
    const auto extended = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(tail[i])));
    word ^= extended << (8 * i);
  }
  return word;
}

// The first half of MurmurHash3 x64 128 with seed 0, as Cassandra computes it.
uint64_t Murmur3(std::string_view bytes) {
  uint64_t h1 = 0;
  uint64_t h2 = 0;
  const size_t whole = bytes.size() / 16 * 16;
  for (size_t at = 0; at < whole; at += 16) {
    h1 ^= MixFirst(BlockWord(bytes, at));
    h1 = (RotateLeft(h1, 27) + h2) * 5 + 0x52dce729;
    h2 ^= MixSecond(BlockWord(bytes, at + 8));
    h2 = (RotateLeft(h2, 31) + h1) * 5 + 0x38495ab5;
  }
  const std::string_view tail = bytes.substr(whole);
  if (tail.size() > 8) h2 ^= MixSecond(TailWord(tail.substr(8)));
  if (!tail.empty()) h1 ^= MixFirst(TailWord(tail.substr(0, 8)));
  h1 ^= bytes.size();
  h2 ^= bytes.size();
  h1 += h2;
  h2 += h1;
  return Finish(h1) + Finish(h2);
}

}  // namespace

std::string PartitionKeyBytes(std::span<const std::string_view> values) {
  if (values.size() == 1) return std::string(values[0]);
  std::string bytes;
  for (const std::string_view value : values) {
    CISTERN_CHECK(value.size() <= std::numeric_limits<uint16_t>::max());
    bytes.push_back(static_cast<char>(value.size() >> 8));
    bytes.push_back(static_cast<char>(value.size() & 0xff));
    bytes.append(value);
    bytes.push_back('\0');
  }
  return bytes;
}

int64_t TokenOf(std::string_view partition_key) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  if (partition_key.empty()) return kLeast;
  const auto token = static_cast<int64_t>(Murmur3(partition_key));
  // The least token belongs to no key.
  return token == kLeast ? std::numeric_limits<int64_t>::max() : token;
}

}  // namespace cistern::cql
