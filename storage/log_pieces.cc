#include "storage/log_pieces.h"

#include <array>

#include "lib/base/coding.h"

namespace cistern {
namespace {

constexpr size_t kLengthAt = 4;
constexpr size_t kTypeAt = 6;                 // the checksum covers the bytes from here on
constexpr uint32_t kPolynomial = 0x82f63b78;  // of CRC32C, its bits reversed
constexpr uint32_t kMaskDelta = 0xa282ead8;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

// The CRC32C of the bytes, rotated and moved on as RocksDB stores it.
uint32_t MaskedCrc(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

}  // namespace

LogPiece LookAtLogPiece(std::string_view rest, bool is_last_block) {
  LogPiece piece;
  if (rest.size() < kLogHeaderBytes) {
    piece.found = FoundInLog::kPastEnd;
    return piece;
  }
  const size_t length = GetLittle<uint16_t>(rest.data() + kLengthAt);
  const auto type = static_cast<uint8_t>(rest[kTypeAt]);
  if (type == 0 || type > static_cast<uint8_t>(LogPieceType::kLast)) return piece;
  if (kLogHeaderBytes + length > rest.size()) {
    if (is_last_block) piece.found = FoundInLog::kPastEnd;
    return piece;
  }
  if (GetLittle<uint32_t>(rest.data()) != MaskedCrc(rest.substr(kTypeAt, 1 + length))) return piece;
  piece.found = FoundInLog::kPiece;
  piece.type = static_cast<LogPieceType>(type);
  piece.bytes = rest.substr(kLogHeaderBytes, length);
  return piece;
}

}  // namespace cistern
