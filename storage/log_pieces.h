// The pieces of which RocksDB's log format consists: write-ahead logs and MANIFESTs.
#ifndef CISTERN_STORAGE_LOG_PIECES_H_
#define CISTERN_STORAGE_LOG_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cistern {

// Such a file has blocks of 32 KiB. A block holds pieces of records; no piece crosses a block:
//   CRC32C u32 of type and bytes, masked | length u16 | type u8 | bytes
// A record that does not fit goes on in the next block, as a piece of another type. What follows a
// piece with less than 7 bytes of its block is padding. Integers are little-endian.
inline constexpr size_t kLogBlockBytes = 32 * 1024;
inline constexpr size_t kLogHeaderBytes = 7;

enum class LogPieceType : uint8_t { kNone = 0, kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

enum class FoundInLog : uint8_t {
  kPiece,
  kPastEnd,  // it runs past the end of the file, which a crash may leave
  kDamage,   // anything else
};

struct LogPiece {
  FoundInLog found = FoundInLog::kDamage;
  LogPieceType type = LogPieceType::kNone;  // of a piece
  std::string_view bytes;                   // of a piece, what follows its header
  [[nodiscard]] size_t size_bytes() const { return kLogHeaderBytes + bytes.size(); }
};

// What stands at the beginning of `rest`, the bytes that are left of a block.
[[nodiscard]] LogPiece LookAtLogPiece(std::string_view rest, bool is_last_block);

}  // namespace cistern

#endif  // CISTERN_STORAGE_LOG_PIECES_H_
