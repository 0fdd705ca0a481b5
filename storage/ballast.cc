#include "storage/ballast.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr char kFileName[] = "BALLAST";
constexpr uint64_t kBaseBytes = 2 * 1024 * 1024;
constexpr uint64_t kBytesMax = 8 * 1024 * 1024;
constexpr size_t kPieceBytes = 64 * 1024;

// A compressing file system would keep nothing of zeros.
void FillWithNoise(std::string* piece, uint64_t* state) {
  piece->clear();
  while (piece->size() < kPieceBytes) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    PutLittle(piece, *state);
  }
}

}  // namespace

uint64_t BallastBytes(const StoreConfig& config) {
  uint64_t bytes = kBaseBytes + 3 * (kMetaFlushBytes + uint64_t{SpillBufferBytes(config)});
  bytes = std::min(bytes, kBytesMax);
  if (config.disk_budget_bytes > 0) bytes = std::min(bytes, config.disk_budget_bytes / 16);
  return bytes;
}

Ballast::Ballast(rocksdb::FileSystem* fs, std::string directory, uint64_t bytes)
    : fs_(fs), directory_(std::move(directory)), bytes_(bytes) {
  Measure();
}

std::string Ballast::Path() const { return directory_ + "/" + kFileName; }

void Ballast::Measure() {
  uint64_t size_bytes = 0;
  const bool is_there = fs_->GetFileSize(Path(), IOOptions(), &size_bytes, nullptr).ok();
  size_bytes_ = is_there ? size_bytes : 0;
}

bool Ballast::IsSpaceShort() const {
  uint64_t free_bytes = 0;
  // A file system that cannot tell is taken to have room: the open itself will show.
  if (!fs_->GetFreeSpace(directory_, IOOptions(), &free_bytes, nullptr).ok()) return false;
  return free_bytes < bytes_;
}

// Where the file is gone but its directory cannot be synced, the space is there all the same: a
// power cut may bring the ballast back, and no more.
Status Ballast::Release() {
  const Status removed = RemoveFileDurably(fs_, directory_, kFileName);
  Measure();
  return is_empty() ? Status::Ok() : removed;
}

// The same.
Status Ballast::ReleaseSpare() {
  if (spare_bytes() == 0) return Status::Ok();
  const Status cut = CutFile(fs_, Path(), OpeningBytes());
  Measure();
  return spare_bytes() == 0 ? Status::Ok() : cut;
}

Status Ballast::TryHold() {
  if (held()) return Status::Ok();
  uint64_t free_bytes = 0;
  if (fs_->GetFreeSpace(directory_, IOOptions(), &free_bytes, nullptr).ok() &&
      free_bytes < bytes_ + missing_bytes()) {
    return Status::NoSpace(Concat({"no room for the ballast of ", bytes_, " bytes: ", free_bytes,
        " are free, and ", bytes_ + missing_bytes(), " are needed"}));
  }
  const uint64_t size_before = size_bytes_;
  const IOStatus status = Fill();
  if (!status.ok()) {
    if (size_before > 0) CutFile(fs_, Path(), size_before).IgnoreError();
    else fs_->DeleteFile(Path(), IOOptions(), nullptr).PermitUncheckedError();
  }
  Measure();
  return ToStatus(status, "making the ballast");
}

IOStatus Ballast::Fill() const {
  rocksdb::FileOptions options;
  options.allow_fallocate = true;
  options.fallocate_with_keep_size = false;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = is_empty() ? fs_->NewWritableFile(Path(), options, &file, nullptr)
                               : fs_->ReopenWritableFile(Path(), options, &file, nullptr);
  if (!status.ok()) return status;
  // Blocks without writing them, where the file system can: no wear, no wait.
  status = file->Allocate(Size(), missing_bytes(), IOOptions(), nullptr);
  uint64_t size_bytes = 0;
  const bool allocated =
      status.ok() && fs_->GetFileSize(Path(), IOOptions(), &size_bytes, nullptr).ok() &&
      size_bytes >= bytes_;
  if (!allocated && !status.IsNoSpace()) {
    status = IOStatus::OK();
    std::string piece;
    uint64_t noise = 0x9e3779b97f4a7c15;
    for (uint64_t done = 0; status.ok() && done < missing_bytes(); done += piece.size()) {
      FillWithNoise(&piece, &noise);
      status = file->Append(piece, IOOptions(), nullptr);
    }
  }
  if (status.ok()) status = file->Fsync(IOOptions(), nullptr);
  const IOStatus closed = file->Close(IOOptions(), nullptr);
  return status.ok() ? closed : status;
}

}  // namespace cistern
