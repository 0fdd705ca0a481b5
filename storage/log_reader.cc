#include "storage/log_reader.h"

#include <array>
#include <utility>

#include "lib/base/coding.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

constexpr size_t kBlockBytes = 32 * 1024;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kChecksumBytes = 4;
constexpr uint32_t kMaskDelta = 0xa282ead8;
constexpr uint32_t kPolynomial = 0x82f63b78;  // CRC-32C, lowest bit first

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t MaskedChecksum(std::string_view bytes) {
  uint32_t crc = UINT32_MAX;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

}  // namespace

Result<std::unique_ptr<LogReader>> LogReader::Open(rocksdb::FileSystem* fs,
                                                   const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const rocksdb::IOStatus s = fs->NewSequentialFile(path, rocksdb::FileOptions(), &file, nullptr);
  if (!s.ok()) return ToStatus(s, "opening " + path);
  return std::unique_ptr<LogReader>(new LogReader(std::move(file)));
}

Status LogReader::ReadBlock() {
  block_.resize(kBlockBytes);
  size_t size = 0;
  while (size < kBlockBytes) {
    rocksdb::Slice piece;
    const rocksdb::IOStatus s = file_->Read(kBlockBytes - size, rocksdb::IOOptions(), &piece,
                                            block_.data() + size, nullptr);
    if (!s.ok()) return ToStatus(s, "reading a log");
    if (piece.empty()) break;
    // A file system may give bytes of its own instead of using the buffer.
    if (piece.data() != block_.data() + size) block_.replace(size, piece.size(), piece.ToString());
    size += piece.size();
  }
  block_.resize(size);
  is_last_block_ = size < kBlockBytes;
  position_ = 0;
  return Status::Ok();
}

void LogReader::NoteDamage() {
  ++damage_count_;
  damage_met_ = true;
  position_ = block_.size();
}

// kNone: the block has no more of them.
LogReader::Piece LogReader::TakePiece(std::string_view* bytes) {
  const std::string_view rest = std::string_view(block_).substr(position_);
  if (rest.size() < kHeaderBytes) {
    position_ = block_.size();
    return Piece::kNone;
  }
  const size_t length = GetLittle<uint16_t>(rest.data() + kChecksumBytes);
  const auto type = static_cast<uint8_t>(rest[kHeaderBytes - 1]);
  if (kHeaderBytes + length > rest.size()) {
    if (is_last_block_) position_ = block_.size();
    else NoteDamage();
    return Piece::kNone;
  }
  const std::string_view covered = rest.substr(kHeaderBytes - 1, length + 1);
  const bool is_known = type >= static_cast<uint8_t>(Piece::kWhole) &&
                        type <= static_cast<uint8_t>(Piece::kLast);
  if (!is_known || GetLittle<uint32_t>(rest.data()) != MaskedChecksum(covered)) {
    NoteDamage();
    return Piece::kNone;
  }
  *bytes = covered.substr(1);
  position_ += kHeaderBytes + length;
  return static_cast<Piece>(type);
}

Result<bool> LogReader::Next(std::string* record) {
  bool begun = false;
  record->clear();
  while (true) {
    if (position_ == block_.size()) {
      if (is_last_block_) return false;
      CISTERN_RETURN_IF_ERROR(ReadBlock());
      if (block_.empty()) return false;
    }
    const uint64_t damage_before = damage_count_;
    std::string_view bytes;
    const Piece piece = TakePiece(&bytes);
    if (damage_count_ > damage_before) begun = false;  // the record that it cut
    if (piece == Piece::kNone) continue;
    const bool begins = piece == Piece::kWhole || piece == Piece::kFirst;
    if (begins == begun) {
      // The rest of a record whose beginning was damaged, or a beginning whose rest is missing.
      if (!damage_met_) ++damage_count_;
      damage_met_ = true;
      if (!begins) continue;
    }
    if (begins) record->clear();
    begun = true;
    record->append(bytes);
    if (piece == Piece::kWhole || piece == Piece::kLast) {
      damage_met_ = false;
      return true;
    }
  }
}

}  // namespace cistern
