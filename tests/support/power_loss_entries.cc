// PowerLossFileSystem: names, directories and what is known of files.
#include <set>
#include <utility>

#include "tests/support/power_loss_fs.h"

namespace cistern {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string PowerLossFileSystem::ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

IOStatus PowerLossFileSystem::FileExists(const std::string& path, const IOOptions& options,
                                         IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  const auto real = RealPath(path);
  return real ? target_->FileExists(*real, options, dbg) : IOStatus::NotFound(path);
}

IOStatus PowerLossFileSystem::IsDirectory(const std::string& path, const IOOptions& options,
                                          bool* is_directory, IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  const auto real = RealPath(path);
  return real ? target_->IsDirectory(*real, options, is_directory, dbg) : IOStatus::NotFound(path);
}

IOStatus PowerLossFileSystem::GetChildren(const std::string& path, const IOOptions& options,
                                          std::vector<std::string>* names, IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  IOStatus status = target_->GetChildren(path, options, names, dbg);
  if (!status.ok()) return status;
  std::set<std::string> all(names->begin(), names->end());
  for (const auto& [entry, real] : real_paths_) {
    if (ParentOf(entry) != path) continue;
    const std::string name = entry.substr(path.size() + 1);
    if (real) all.insert(name);
    else all.erase(name);
  }
  names->assign(all.begin(), all.end());
  return IOStatus::OK();
}

IOStatus PowerLossFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                         IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  if (!Exists(path)) return IOStatus::PathNotFound(path);
  TickLocked();
  if (const auto it = inodes_.find(path); it != inodes_.end()) {
    it->second->pending.clear();
    inodes_.erase(it);
  }
  if (!HoldsEntries()) return target_->DeleteFile(path, options, dbg);
  held_entries_[ParentOf(path)].push_back({EntryOp::Kind::kDelete, {}, path});
  real_paths_[path] = std::nullopt;
  return IOStatus::OK();
}

IOStatus PowerLossFileSystem::RenameFile(const std::string& from, const std::string& to,
                                         const IOOptions& options, IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  if (!Exists(from)) return IOStatus::PathNotFound(from);
  TickLocked();
  inodes_.erase(to);
  if (const auto it = inodes_.find(from); it != inodes_.end()) {
    inodes_[to] = it->second;
    inodes_.erase(it);
  }
  if (!HoldsEntries()) return target_->RenameFile(from, to, options, dbg);
  real_paths_[to] = RealPath(from);
  real_paths_[from] = std::nullopt;
  held_entries_[ParentOf(to)].push_back({EntryOp::Kind::kRename, from, to});
  return IOStatus::OK();
}

IOStatus PowerLossFileSystem::LinkFile(const std::string&, const std::string&, const IOOptions&,
                                       IODebugContext*) {
  return IOStatus::NotSupported("no links here: copy");
}

IOStatus PowerLossFileSystem::MakeDirectory(const std::string& path, const IOOptions& options) {
  TickLocked();
  IOStatus status = target_->CreateDir(path, options, nullptr);
  if (status.ok()) unsynced_directories_.insert(path);
  return status;
}

IOStatus PowerLossFileSystem::CreateDir(const std::string& path, const IOOptions& options,
                                        IODebugContext*) {
  const std::lock_guard lock(mutex_);
  return MakeDirectory(path, options);
}

IOStatus PowerLossFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                                 IODebugContext*) {
  const std::lock_guard lock(mutex_);
  if (Exists(path)) return IOStatus::OK();
  return MakeDirectory(path, options);
}

IOStatus PowerLossFileSystem::GetFileSize(const std::string& path, const IOOptions& options,
                                          uint64_t* size_bytes, IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  const auto real = RealPath(path);
  if (!real) return IOStatus::PathNotFound(path);
  IOStatus status = target_->GetFileSize(*real, options, size_bytes, dbg);
  const auto it = inodes_.find(path);
  if (status.ok() && it != inodes_.end()) *size_bytes += it->second->pending.size();
  return status;
}

IOStatus PowerLossFileSystem::GetFileModificationTime(const std::string& path,
                                                      const IOOptions& options, uint64_t* time,
                                                      IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  const auto real = RealPath(path);
  if (!real) return IOStatus::PathNotFound(path);
  return target_->GetFileModificationTime(*real, options, time, dbg);
}

}  // namespace cistern
