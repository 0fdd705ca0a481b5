#include "storage/log_end.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/base/coding.h"
#include "storage/rocksdb_status.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kBlockBytes = 32 * 1024;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kTypeAt = 6;        // the checksum covers the bytes from here on
constexpr uint8_t kTypeMax = 4;      // whole, first, middle and last part of a record
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

// What stands at the beginning of the bytes that are left of a block.
enum class Found { kRecord, kPastEnd, kDamage };

Found LookAt(std::string_view rest, bool is_last_block, size_t* record_bytes) {
  if (rest.size() < kHeaderBytes) return Found::kPastEnd;
  const size_t length = GetLittle<uint16_t>(rest.data() + 4);
  const auto type = static_cast<uint8_t>(rest[kTypeAt]);
  *record_bytes = kHeaderBytes + length;
  if (type == 0 || type > kTypeMax) return Found::kDamage;
  if (*record_bytes > rest.size()) return is_last_block ? Found::kPastEnd : Found::kDamage;
  const bool right =
      GetLittle<uint32_t>(rest.data()) == MaskedCrc(rest.substr(kTypeAt, 1 + length));
  return right ? Found::kRecord : Found::kDamage;
}

bool IsZeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Goes through the records of a block. Adds to `end` those that are whole.
Found WalkBlock(std::string_view block, uint64_t block_at, bool is_last_block, LogEnd* end) {
  size_t at = 0;
  while (block.size() - at >= kHeaderBytes) {
    size_t record_bytes = 0;
    const Found found = LookAt(block.substr(at), is_last_block, &record_bytes);
    if (found != Found::kRecord) {
      end->zeros_follow = IsZeros(block.substr(at));
      return found;
    }
    at += record_bytes;
    end->whole_bytes = block_at + at;
  }
  return Found::kRecord;
}

}  // namespace

Result<LogEnd> FindLogEnd(rocksdb::FileSystem* fs, const std::string& path, uint64_t from) {
  LogEnd end;
  IOStatus status = fs->GetFileSize(path, IOOptions(), &end.size_bytes, nullptr);
  if (!status.ok()) return ToStatus(status, "looking at " + path);
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  status = fs->NewSequentialFile(path, rocksdb::FileOptions(), &file, nullptr);
  uint64_t block_at = std::min(from - from % kBlockBytes, end.size_bytes);
  if (status.ok() && block_at > 0) status = file->Skip(block_at);
  end.whole_bytes = block_at;
  std::vector<char> scratch(kBlockBytes);
  rocksdb::Slice read;
  while (status.ok()) {
    status = file->Read(kBlockBytes, IOOptions(), &read, scratch.data(), nullptr);
    if (!status.ok() || read.empty()) break;
    const std::string_view block(read.data(), read.size());
    if (end.torn) {  // what stands behind is of no interest, only whether it is anything
      end.zeros_follow = end.zeros_follow && IsZeros(block);
    } else {
      const bool is_last = block_at + block.size() >= end.size_bytes;
      const Found found = WalkBlock(block, block_at, is_last, &end);
      if (found == Found::kPastEnd) return end;
      end.torn = found == Found::kDamage;
    }
    if (end.torn && !end.zeros_follow) break;
    block_at += block.size();
  }
  if (!status.ok()) return ToStatus(status, "reading " + path);
  return end;
}

}  // namespace cistern
