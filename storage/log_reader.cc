#include "storage/log_reader.h"

#include <utility>

#include "storage/rocksdb_status.h"

namespace cistern {

Result<std::unique_ptr<LogReader>> LogReader::Open(rocksdb::FileSystem* fs,
                                                   const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const rocksdb::IOStatus s = fs->NewSequentialFile(path, rocksdb::FileOptions(), &file, nullptr);
  if (!s.ok()) return ToStatus(s, "opening " + path);
  return std::unique_ptr<LogReader>(new LogReader(std::move(file)));
}

Status LogReader::ReadBlock() {
  block_.resize(kLogBlockBytes);
  size_t size = 0;
  while (size < kLogBlockBytes) {
    rocksdb::Slice piece;
    const rocksdb::IOStatus s = file_->Read(kLogBlockBytes - size, rocksdb::IOOptions(), &piece,
                                            block_.data() + size, nullptr);
    if (!s.ok()) return ToStatus(s, "reading a log");
    if (piece.empty()) break;
    // A file system may give bytes of its own instead of using the buffer.
    if (piece.data() != block_.data() + size) block_.replace(size, piece.size(), piece.ToString());
    size += piece.size();
  }
  block_.resize(size);
  is_last_block_ = size < kLogBlockBytes;
  position_ = 0;
  return Status::Ok();
}

void LogReader::NoteDamage() {
  ++damage_count_;
  damage_met_ = true;
  position_ = block_.size();
}

// kNone: the block has no more of them.
LogPieceType LogReader::TakePiece(std::string_view* bytes) {
  const std::string_view rest = std::string_view(block_).substr(position_);
  const LogPiece piece = LookAtLogPiece(rest, is_last_block_);
  const bool is_padding = rest.size() < kLogHeaderBytes || piece.found == FoundInLog::kPastEnd;
  if (is_padding) position_ = block_.size();
  else if (piece.found == FoundInLog::kDamage) NoteDamage();
  else position_ += piece.size_bytes();
  *bytes = piece.bytes;
  return piece.type;
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
    const LogPieceType piece = TakePiece(&bytes);
    if (damage_count_ > damage_before) begun = false;  // the record that it cut
    if (piece == LogPieceType::kNone) continue;
    const bool begins = piece == LogPieceType::kWhole || piece == LogPieceType::kFirst;
    if (begins == begun) {
      // The rest of a record whose beginning was damaged, or a beginning whose rest is missing.
      if (!damage_met_) ++damage_count_;
      damage_met_ = true;
      if (!begins) continue;
    }
    if (begins) record->clear();
    begun = true;
    record->append(bytes);
    if (piece == LogPieceType::kWhole || piece == LogPieceType::kLast) {
      damage_met_ = false;
      return true;
    }
  }
}

}  // namespace cistern
