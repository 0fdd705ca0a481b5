#include "storage/small_file.h"

#include <memory>
#include <vector>

#include "lib/base/concat.h"
#include "storage/rocksdb_status.h"

namespace cistern {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A new file with this content, on the device; its directory entry not yet.
IOStatus WriteAndSync(rocksdb::FileSystem* fs, const std::string& path, std::string_view content) {
  FileOptions options;
  options.allow_fallocate = false;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = fs->NewWritableFile(path, options, &file, nullptr);
  if (!status.ok()) return status;
  status = file->Append({content.data(), content.size()}, IOOptions(), nullptr);
  if (status.ok()) status = file->Fsync(IOOptions(), nullptr);
  const IOStatus closed = file->Close(IOOptions(), nullptr);
  return status.ok() ? closed : status;
}

IOStatus SyncDirectoryEntry(rocksdb::FileSystem* fs, const std::string& directory,
                            const rocksdb::DirFsyncOptions& what) {
  std::unique_ptr<rocksdb::FSDirectory> handle;
  IOStatus status = fs->NewDirectory(directory, IOOptions(), &handle, nullptr);
  if (!status.ok()) return status;
  status = handle->FsyncWithDirOptions(IOOptions(), nullptr, what);
  const IOStatus closed = handle->Close(IOOptions(), nullptr);
  return status.ok() ? closed : status;
}

}  // namespace

Status WriteFileDurably(rocksdb::FileSystem* fs, const std::string& directory,
                        const std::string& name, std::string_view content) {
  const std::string path = Concat({directory, "/", name});
  const std::string temporary = path + std::string(kTemporarySuffix);
  IOStatus status = WriteAndSync(fs, temporary, content);
  if (status.ok()) status = fs->RenameFile(temporary, path, IOOptions(), nullptr);
  if (!status.ok()) {
    fs->DeleteFile(temporary, IOOptions(), nullptr).PermitUncheckedError();
    return ToStatus(status, "writing " + path);
  }
  return ToStatus(SyncDirectoryEntry(fs, directory, rocksdb::DirFsyncOptions(path)),
                  "syncing " + directory);
}

Result<std::string> ReadSmallFile(rocksdb::FileSystem* fs, const std::string& path,
                                  size_t bytes_max) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  IOStatus status = fs->FileExists(path, IOOptions(), nullptr);
  if (status.IsNotFound()) return Status::NotFound(Concat({path, " does not exist"}));
  if (status.ok()) status = fs->NewSequentialFile(path, FileOptions(), &file, nullptr);
  if (!status.ok()) return ToStatus(status, "opening " + path);
  std::string content;
  std::vector<char> scratch(bytes_max + 1);
  while (content.size() <= bytes_max) {
    rocksdb::Slice piece;
    status = file->Read(bytes_max + 1 - content.size(), IOOptions(), &piece, scratch.data(),
                        nullptr);
    if (!status.ok()) return ToStatus(status, "reading " + path);
    if (piece.empty()) return content;
    content.append(piece.data(), piece.size());
  }
  return Status::Corruption(Concat({path, " is larger than the ", bytes_max,
      " bytes that it can have"}));
}

Status RemoveFileDurably(rocksdb::FileSystem* fs, const std::string& directory,
                         const std::string& name) {
  const std::string path = Concat({directory, "/", name});
  IOStatus status = fs->FileExists(path, IOOptions(), nullptr);
  if (status.IsNotFound()) return Status::Ok();
  if (status.ok()) status = fs->DeleteFile(path, IOOptions(), nullptr);
  if (!status.ok()) return ToStatus(status, "deleting " + path);
  return SyncDirectory(fs, directory);
}

Status SyncFile(rocksdb::FileSystem* fs, const std::string& path) {
  FileOptions options;
  options.allow_fallocate = false;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = fs->ReopenWritableFile(path, options, &file, nullptr);
  if (!status.ok()) return ToStatus(status, "opening " + path);
  status = file->Sync(IOOptions(), nullptr);
  const IOStatus closed = file->Close(IOOptions(), nullptr);
  return ToStatus(status.ok() ? closed : status, "syncing " + path);
}

Status CutFile(rocksdb::FileSystem* fs, const std::string& path, uint64_t size_bytes) {
  FileOptions options;
  options.allow_fallocate = false;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = fs->ReopenWritableFile(path, options, &file, nullptr);
  if (!status.ok()) return ToStatus(status, "opening " + path);
  status = file->Truncate(size_bytes, IOOptions(), nullptr);
  if (status.ok()) status = file->Fsync(IOOptions(), nullptr);
  const IOStatus closed = file->Close(IOOptions(), nullptr);
  return ToStatus(status.ok() ? closed : status, "cutting off the end of " + path);
}

Status SyncDirectory(rocksdb::FileSystem* fs, const std::string& directory) {
  return ToStatus(SyncDirectoryEntry(fs, directory, rocksdb::DirFsyncOptions()),
                  "syncing " + directory);
}

Status CreateDirectoryDurably(rocksdb::FileSystem* fs, const std::string& directory) {
  std::vector<std::string> missing;  // innermost first
  std::string at = directory;
  while (fs->FileExists(at, IOOptions(), nullptr).IsNotFound()) {
    missing.push_back(at);
    const std::string parent = ParentOf(at);
    if (parent == at) break;
    at = parent;
  }
  for (size_t i = missing.size(); i-- > 0;) {
    const IOStatus status = fs->CreateDirIfMissing(missing[i], IOOptions(), nullptr);
    if (!status.ok()) return ToStatus(status, "creating the directory " + missing[i]);
    CISTERN_RETURN_IF_ERROR(SyncDirectory(fs, missing[i]));
    CISTERN_RETURN_IF_ERROR(SyncDirectory(fs, ParentOf(missing[i])));
  }
  return Status::Ok();
}

Status SyncAncestors(rocksdb::FileSystem* fs, const std::string& directory) {
  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs, directory));
  for (std::string at = directory; at != "/" && at != ".";) {
    at = ParentOf(at);
    if (!SyncDirectory(fs, at).ok()) break;
  }
  return Status::Ok();
}

}  // namespace cistern
