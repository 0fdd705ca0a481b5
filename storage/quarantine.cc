#include "storage/quarantine.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "lib/base/concat.h"
#include "storage/file_copy.h"
#include "storage/file_kind.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr char kFromMark[] = ".from-";  // in the name of an end, between the file's and its byte

struct LogFile {
  std::string name;
  uint64_t size_bytes = 0;
  friend bool operator==(const LogFile&, const LogFile&) = default;
};

// CURRENT, MANIFEST and WAL files with their sizes, small ones first.
Result<std::vector<LogFile>> ListLogs(rocksdb::FileSystem* fs, const std::string& directory) {
  std::vector<std::string> names;
  IOStatus status = fs->GetChildren(directory, IOOptions(), &names, nullptr);
  if (!status.ok()) return ToStatus(status, "listing " + directory);
  std::vector<LogFile> files;
  for (const std::string& name : names) {
    const FileKind kind = FileKindOf(name);
    if (kind != FileKind::kWal && kind != FileKind::kManifest && name != "CURRENT") continue;
    LogFile file{.name = name};
    status = fs->GetFileSize(Concat({directory, "/", name}), IOOptions(), &file.size_bytes,
                             nullptr);
    if (!status.ok()) return ToStatus(status, Concat({"looking at ", directory, "/", name}));
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const LogFile& a, const LogFile& b) {
    return std::pair(a.size_bytes, a.name) < std::pair(b.size_bytes, b.name);
  });
  return files;
}

// The numbers of the copies that are there, ascending.
std::vector<uint64_t> ListCopies(rocksdb::FileSystem* fs, const std::string& root) {
  std::vector<std::string> names;
  std::vector<uint64_t> numbers;
  if (!fs->GetChildren(root, IOOptions(), &names, nullptr).ok()) return numbers;
  for (const std::string& name : names) {
    uint64_t number = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Status RemoveFiles(rocksdb::FileSystem* fs, const std::string& copy) {
  std::vector<std::string> names;
  IOStatus status = fs->GetChildren(copy, IOOptions(), &names, nullptr);
  for (const std::string& name : names) {
    if (!status.ok()) break;
    if (name != "." && name != "..") {
      status = fs->DeleteFile(Concat({copy, "/", name}), IOOptions(), nullptr);
    }
  }
  return ToStatus(status, "emptying " + copy);
}

// Removes ends that were kept of files that are gone or are kept anew. The others stay, as the
// opening that kept them may have been interrupted before its last cut: their bytes.
Result<uint64_t> RemoveFormerEnds(rocksdb::FileSystem* fs, const std::string& directory,
                                  const std::string& copy, const std::vector<FileEnd>& ends) {
  std::vector<std::string> names;
  IOStatus status = fs->GetChildren(copy, IOOptions(), &names, nullptr);
  uint64_t left_bytes = 0;
  for (const std::string& name : names) {
    if (!status.ok()) break;
    const std::string source = name.substr(0, name.find(kFromMark));
    if (source.size() == name.size()) continue;
    const bool is_due = std::any_of(ends.begin(), ends.end(),
                                    [&](const FileEnd& end) { return end.name == source; });
    const std::string path = Concat({copy, "/", name});
    if (is_due ||
        fs->FileExists(Concat({directory, "/", source}), IOOptions(), nullptr).IsNotFound()) {
      status = fs->DeleteFile(path, IOOptions(), nullptr);
    } else {
      uint64_t size_bytes = 0;
      status = fs->GetFileSize(path, IOOptions(), &size_bytes, nullptr);
      left_bytes += size_bytes;
    }
  }
  if (!status.ok()) return ToStatus(status, "emptying " + copy);
  return left_bytes;
}

Status RemoveCopy(rocksdb::FileSystem* fs, const std::string& copy) {
  CISTERN_RETURN_IF_ERROR(RemoveFiles(fs, copy));
  return ToStatus(fs->DeleteDir(copy, IOOptions(), nullptr), "removing " + copy);
}

// What stands behind the first `skipped_bytes`.
Status CopyEnd(rocksdb::FileSystem* fs, const std::string& from, uint64_t skipped_bytes,
               const std::string& to) {
  std::unique_ptr<rocksdb::FSSequentialFile> source;
  IOStatus status = fs->NewSequentialFile(from, FileOptions(), &source, nullptr);
  if (status.ok() && skipped_bytes > 0) status = source->Skip(skipped_bytes);
  if (!status.ok()) return ToStatus(status, "opening " + from);
  CISTERN_ASSIGN_OR_RETURN(const FileContent content,
                           CopyFile(source.get(), UINT64_MAX, fs, to, [] { return Status::Ok(); }));
  return content.unreadable;
}

Status KeepFile(rocksdb::FileSystem* fs, const std::string& from, const std::string& to) {
  // RocksDB never changes these files again, only deletes them: a link keeps the bytes.
  if (fs->LinkFile(from, to, IOOptions(), nullptr).ok()) return Status::Ok();
  return CopyEnd(fs, from, 0, to);
}

}  // namespace

Result<std::string> QuarantineLogs(rocksdb::FileSystem* fs, const std::string& directory) {
  const std::string root = Concat({directory, "/", kQuarantineName});
  CISTERN_ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(fs, directory));
  CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(fs, root));
  std::vector<uint64_t> copies = ListCopies(fs, root);
  if (!copies.empty()) {
    const std::string newest = Concat({root, "/", copies.back()});
    const auto kept = ListLogs(fs, newest);
    if (kept.ok() && *kept == logs) return newest;
  }
  const uint64_t next = copies.empty() ? 1 : copies.back() + 1;
  for (size_t i = 0; copies.size() - i >= kQuarantineCopiesMax; ++i) {
    CISTERN_RETURN_IF_ERROR(RemoveCopy(fs, Concat({root, "/", copies[i]})));
  }
  std::string copy = Concat({root, "/", next});
  CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(fs, copy));
  uint64_t total_bytes = 0;
  for (const LogFile& file : logs) {
    total_bytes += file.size_bytes;
    if (total_bytes > kQuarantineBytesMax) break;
    CISTERN_RETURN_IF_ERROR(KeepFile(fs, Concat({directory, "/", file.name}), Concat({copy, "/",
        file.name})));
  }
  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs, copy));
  return copy;
}

Status QuarantineEnds(rocksdb::FileSystem* fs, const std::string& directory,
                      const std::vector<FileEnd>& ends) {
  if (ends.empty()) return Status::Ok();
  const std::string copy = Concat({directory, "/", kQuarantineName, "/torn"});
  CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(fs, copy));
  CISTERN_ASSIGN_OR_RETURN(uint64_t total_bytes, RemoveFormerEnds(fs, directory, copy, ends));
  for (const FileEnd& end : ends) {
    const std::string path = Concat({directory, "/", end.name});
    uint64_t size_bytes = 0;
    const IOStatus looked = fs->GetFileSize(path, IOOptions(), &size_bytes, nullptr);
    if (!looked.ok()) return ToStatus(looked, "looking at " + path);
    total_bytes += size_bytes - std::min(end.from_bytes, size_bytes);
    if (total_bytes > kQuarantineBytesMax) {
      CISTERN_RETURN_IF_ERROR(SyncDirectory(fs, copy));
      return Status::TooLarge(Concat({"all of them together have more than ", kQuarantineBytesMax,
          " bytes; those before ", end.name, " were kept"}));
    }
    const std::string kept = Concat({copy, "/", end.name, kFromMark, end.from_bytes});
    CISTERN_RETURN_IF_ERROR(CopyEnd(fs, path, end.from_bytes, kept));
  }
  return SyncDirectory(fs, copy);
}

}  // namespace cistern
