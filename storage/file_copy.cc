#include "storage/file_copy.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/base/checksum.h"
#include "lib/base/running_checksum.h"
#include "lib/base/shortage.h"
#include "storage/backup_record.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kPieceBytes = 64 * 1024;

using TakePiece = std::function<Status(std::string_view)>;

// Reads to the end or `bytes_max`, piece by piece. An error of `take` or `keep_on` is the result.
Result<FileContent> ReadPieces(rocksdb::FSSequentialFile* source, uint64_t bytes_max,
                               const KeepOn& keep_on, const TakePiece& take) {
  FileContent content;
  RunningChecksum checksum;
  std::string tail;
  std::vector<char> scratch(kPieceBytes);
  while (content.size_bytes < bytes_max) {
    CISTERN_RETURN_IF_ERROR(keep_on());
    const uint64_t wanted = std::min<uint64_t>(kPieceBytes, bytes_max - content.size_bytes);
    rocksdb::Slice piece;
    const IOStatus read = source->Read(wanted, IOOptions(), &piece, scratch.data(), nullptr);
    if (!read.ok()) {
      content.unreadable = ToReadStatus(read, "reading it");
      if (IsShortage(content.unreadable)) return content.unreadable;
      break;
    }
    if (piece.empty()) break;
    const std::string_view bytes(piece.data(), piece.size());
    checksum.Add(bytes);
    tail.append(bytes.substr(bytes.size() - std::min<size_t>(bytes.size(), kTailBytes)));
    if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
    content.size_bytes += bytes.size();
    CISTERN_RETURN_IF_ERROR(take(bytes));
  }
  content.checksum = checksum.value();
  content.tail = Checksum(tail);
  return content;
}

}  // namespace

Result<FileContent> CopyFile(rocksdb::FSSequentialFile* source, uint64_t bytes_max,
                             rocksdb::FileSystem* fs, const std::string& to,
                             const KeepOn& keep_on) {
  FileOptions options;
  options.allow_fallocate = false;
  std::unique_ptr<rocksdb::FSWritableFile> target;
  const std::string context = "writing " + to;
  const IOStatus opened = fs->NewWritableFile(to, options, &target, nullptr);
  if (!opened.ok()) return ToStatus(opened, context);
  Result<FileContent> content =
      ReadPieces(source, bytes_max, keep_on, [&](std::string_view bytes) {
        return ToStatus(target->Append({bytes.data(), bytes.size()}, IOOptions(), nullptr),
                        context);
      });
  IOStatus finished = content.ok() ? target->Fsync(IOOptions(), nullptr) : IOStatus::OK();
  const IOStatus closed = target->Close(IOOptions(), nullptr);
  if (finished.ok()) finished = closed;
  if (content.ok() && finished.ok()) return content;
  fs->DeleteFile(to, IOOptions(), nullptr).PermitUncheckedError();  // no use, and takes room
  return content.ok() ? ToStatus(finished, context) : content.status();
}

Result<FileContent> ReadContent(rocksdb::FileSystem* fs, const std::string& path,
                                const KeepOn& keep_on) {
  std::unique_ptr<rocksdb::FSSequentialFile> source;
  const IOStatus opened = fs->NewSequentialFile(path, FileOptions(), &source, nullptr);
  if (!opened.ok()) {
    FileContent none;
    none.unreadable = opened.IsNotFound() || opened.IsPathNotFound()
                          ? Status::NotFound("it is missing")
                          : ToReadStatus(opened, "opening it");
    return IsShortage(none.unreadable) ? Result<FileContent>(none.unreadable) : none;
  }
  source->InvalidateCache(0, 0).PermitUncheckedError();  // a file system may not be able to
  return ReadPieces(source.get(), UINT64_MAX, keep_on,
                    [](std::string_view) { return Status::Ok(); });
}

}  // namespace cistern
