#include "storage/log_end.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "storage/log_pieces.h"
#include "storage/rocksdb_status.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

bool IsZeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Goes through the records of a block. Adds to `end` those that are whole.
FoundInLog WalkBlock(std::string_view block, uint64_t block_at, bool is_last_block, LogEnd* end) {
  size_t at = 0;
  while (block.size() - at >= kLogHeaderBytes) {
    const LogPiece piece = LookAtLogPiece(block.substr(at), is_last_block);
    if (piece.found != FoundInLog::kPiece) {
      end->zeros_follow = IsZeros(block.substr(at));
      return piece.found;
    }
    at += piece.size_bytes();
    end->whole_bytes = block_at + at;
    const bool ends_record =
        piece.type == LogPieceType::kWhole || piece.type == LogPieceType::kLast;
    if (ends_record) end->record_bytes = end->whole_bytes;
  }
  return FoundInLog::kPiece;
}

}  // namespace

Result<LogEnd> FindLogEnd(rocksdb::FileSystem* fs, const std::string& path, uint64_t from) {
  LogEnd end;
  IOStatus status = fs->GetFileSize(path, IOOptions(), &end.size_bytes, nullptr);
  if (!status.ok()) return ToStatus(status, "looking at " + path);
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  status = fs->NewSequentialFile(path, rocksdb::FileOptions(), &file, nullptr);
  uint64_t block_at = std::min(from - from % kLogBlockBytes, end.size_bytes);
  if (status.ok() && block_at > 0) status = file->Skip(block_at);
  end.whole_bytes = block_at;
  end.record_bytes = block_at;
  std::vector<char> scratch(kLogBlockBytes);
  rocksdb::Slice read;
  while (status.ok()) {
    status = file->Read(kLogBlockBytes, IOOptions(), &read, scratch.data(), nullptr);
    if (!status.ok() || read.empty()) break;
    const std::string_view block(read.data(), read.size());
    if (end.torn) {  // what stands behind is of no interest, only whether it is anything
      end.zeros_follow = end.zeros_follow && IsZeros(block);
    } else {
      const bool is_last = block_at + block.size() >= end.size_bytes;
      const FoundInLog found = WalkBlock(block, block_at, is_last, &end);
      if (found == FoundInLog::kPastEnd) return end;
      end.torn = found == FoundInLog::kDamage;
    }
    if (end.torn && !end.zeros_follow) break;
    block_at += block.size();
  }
  if (!status.ok()) return ToStatus(status, "reading " + path);
  return end;
}

}  // namespace cistern
