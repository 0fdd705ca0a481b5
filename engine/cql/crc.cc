#include "engine/cql/crc.h"

#include <array>
#include <cstddef>

#include "lib/base/coding.h"

namespace cistern::cql {
namespace {

constexpr uint32_t kCrc24Begin = 0x875060;
constexpr uint32_t kCrc24Polynomial = 0x1974f0b;
constexpr uint32_t kCrc32Polynomial = 0xedb88320;  // lowest bit first
constexpr size_t kLanes = 8;

// Of lane n: what a byte adds to the checksum when n more bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, kLanes>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * kCrc32Polynomial);
    tables[0][byte] = crc;
  }
  for (size_t lane = 1; lane < kLanes; ++lane) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[lane - 1][byte];
      tables[lane][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

// The state of CRC-32 behind the four bytes that Cassandra puts before every payload.
constexpr uint32_t SeedState() {
  uint32_t state = 0xffffffff;
  for (const uint32_t byte : {0xfau, 0x2du, 0x55u, 0xcau}) {
    state = (state >> 8) ^ kTables[0][(state ^ byte) & 0xff];
  }
  return state;
}

}  // namespace

uint32_t Crc24(std::string_view bytes) {
  uint32_t crc = kCrc24Begin;
  for (const char byte : bytes) {
    crc ^= static_cast<uint32_t>(static_cast<uint8_t>(byte)) << 16;
    for (int bit = 0; bit < 8; ++bit) {
      crc <<= 1;
      if ((crc & 0x1000000) != 0) crc ^= kCrc24Polynomial;
    }
  }
  return crc;
}

uint32_t FrameCrc32(std::string_view bytes) {
  uint32_t state = SeedState();
  // Eight bytes a step: their shares come from tables that do not wait for one another.
  for (; bytes.size() >= kLanes; bytes.remove_prefix(kLanes)) {
    const uint32_t low = state ^ GetLittle<uint32_t>(bytes.data());
    const auto high = GetLittle<uint32_t>(bytes.data() + 4);
    state = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^
            kTables[5][(low >> 16) & 0xff] ^ kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^
            kTables[2][(high >> 8) & 0xff] ^ kTables[1][(high >> 16) & 0xff] ^
            kTables[0][high >> 24];
  }
  for (const char byte : bytes) {
    state = (state >> 8) ^ kTables[0][(state ^ static_cast<uint8_t>(byte)) & 0xff];
  }
  return ~state;
}

}  // namespace cistern::cql
