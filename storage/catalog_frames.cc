#include "storage/catalog_frames.h"

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kLengthBytes = 4;
constexpr size_t kChecksumBytes = 8;

}  // namespace

std::string MakeFrame(std::string_view payload) {
  std::string frame;
  PutLittle(&frame, static_cast<uint32_t>(payload.size()));
  frame.append(payload);
  PutLittle<uint64_t>(&frame, Checksum(frame));
  return frame;
}

Result<FrameReader> FrameReader::Open(rocksdb::FileSystem* fs, const std::string& path) {
  IOStatus s = fs->FileExists(path, IOOptions(), nullptr);
  if (s.IsNotFound()) return Status::NotFound(path + " does not exist");
  uint64_t size_bytes = 0;
  if (s.ok()) s = fs->GetFileSize(path, IOOptions(), &size_bytes, nullptr);
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  if (s.ok()) s = fs->NewSequentialFile(path, FileOptions(), &file, nullptr);
  if (!s.ok()) return ToStatus(s, "opening " + path);
  if (size_bytes > limits::kCatalogCopyBytesMax) {
    return Status::Corruption(path + " has " + std::to_string(size_bytes) + " bytes, more than " +
                              std::to_string(limits::kCatalogCopyBytesMax) +
                              ": no store writes such a file");
  }
  return FrameReader(std::move(file), path, size_bytes);
}

Status FrameReader::ReadInto(size_t bytes) {
  const size_t begin = frame_.size();
  frame_.resize(begin + bytes);
  size_t at = begin;
  while (at < frame_.size()) {
    rocksdb::Slice piece;
    const IOStatus s =
        file_->Read(frame_.size() - at, IOOptions(), &piece, frame_.data() + at, nullptr);
    if (!s.ok()) return ToStatus(s, "reading " + path_);
    if (piece.empty()) break;
    if (piece.data() != frame_.data() + at) {
      frame_.replace(at, piece.size(), piece.data(), piece.size());
    }
    at += piece.size();
  }
  frame_.resize(at);
  return Status::Ok();
}

Result<std::optional<std::string_view>> FrameReader::Next(size_t payload_bytes_max) {
  constexpr std::optional<std::string_view> kNone;
  frame_.clear();
  if (left_bytes_ < kLengthBytes + kChecksumBytes) return kNone;
  CISTERN_RETURN_IF_ERROR(ReadInto(kLengthBytes));
  if (frame_.size() < kLengthBytes) return kNone;
  const size_t length = GetLittle<uint32_t>(frame_.data());
  const size_t covered_bytes = kLengthBytes + length;
  if (length > payload_bytes_max || covered_bytes + kChecksumBytes > left_bytes_) return kNone;
  CISTERN_RETURN_IF_ERROR(ReadInto(length + kChecksumBytes));
  if (frame_.size() < covered_bytes + kChecksumBytes) return kNone;
  const std::string_view covered(frame_.data(), covered_bytes);
  if (GetLittle<uint64_t>(frame_.data() + covered_bytes) != Checksum(covered)) return kNone;
  left_bytes_ -= frame_.size();
  return std::optional(covered.substr(kLengthBytes));
}

}  // namespace cistern
