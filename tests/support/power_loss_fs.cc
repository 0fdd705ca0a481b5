#include "tests/support/power_loss_fs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

namespace cistern {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

class CutFile : public rocksdb::FSWritableFile {
 public:
  CutFile(PowerLossFileSystem* fs, PowerLossFileSystem::InodePtr inode)
      : fs_(fs), inode_(std::move(inode)) {}
  ~CutFile() override { CutFile::Close(IOOptions(), nullptr).PermitUncheckedError(); }

  using rocksdb::FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    return fs_->Append(inode_, data);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return fs_->Sync(inode_); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return fs_->Sync(inode_); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    return fs_->TruncateInode(inode_, size);
  }
  IOStatus Allocate(uint64_t offset, uint64_t length, const IOOptions&, IODebugContext*) override {
    return fs_->Allocate(inode_, offset, length);
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    if (closed_) return IOStatus::OK();
    closed_ = true;
    return fs_->CloseHandle(inode_);
  }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return fs_->SizeOf(inode_); }
  bool IsSyncThreadSafe() const override { return true; }

 private:
  PowerLossFileSystem* const fs_;
  const PowerLossFileSystem::InodePtr inode_;
  bool closed_ = false;
};

class CutRandomRwFile : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  CutRandomRwFile(PowerLossFileSystem* fs, std::unique_ptr<rocksdb::FSRandomRWFile> file,
                  SyncedKind kind)
      : FSRandomRWFileOwnerWrapper(std::move(file)), fs_(fs), kind_(kind) {}
  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions&, IODebugContext*) override {
    fs_->Tick();
    writes_.push_back({offset, data.ToString()});
    return IOStatus::OK();
  }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return DoSync(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return DoSync(); }

 private:
  IOStatus DoSync() {
    IOStatus status = fs_->SyncPlaced(target(), kind_, &writes_);
    if (status.ok()) writes_.clear();
    return status;
  }
  PowerLossFileSystem* const fs_;
  const SyncedKind kind_;
  std::vector<PowerLossFileSystem::PlacedWrite> writes_;
};

class CutDirectory : public rocksdb::FSDirectory {
 public:
  CutDirectory(PowerLossFileSystem* fs, std::string path) : fs_(fs), path_(std::move(path)) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return fs_->SyncDirectory(path_); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*,
                               const rocksdb::DirFsyncOptions&) override {
    return fs_->SyncDirectory(path_);
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  PowerLossFileSystem* const fs_;
  const std::string path_;
};

// A file whose bytes are partly unsynced, as it was when it was opened.
class MemorySequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit MemorySequentialFile(std::string content) : content_(std::move(content)) {}
  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    const size_t count = std::min(n, content_.size() - position_);
    std::memcpy(scratch, content_.data() + position_, count);
    position_ += count;
    *result = Slice(scratch, count);
    return IOStatus::OK();
  }
  IOStatus Skip(uint64_t n) override {
    position_ += std::min<uint64_t>(n, content_.size() - position_);
    return IOStatus::OK();
  }

 private:
  const std::string content_;
  size_t position_ = 0;
};

class MemoryRandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit MemoryRandomAccessFile(std::string content) : content_(std::move(content)) {}
  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    const size_t from = std::min<uint64_t>(offset, content_.size());
    const size_t count = std::min(n, content_.size() - from);
    std::memcpy(scratch, content_.data() + from, count);
    *result = Slice(scratch, count);
    return IOStatus::OK();
  }

 private:
  const std::string content_;
};

}  // namespace

PowerLossFileSystem::PowerLossFileSystem(PowerLossPlan plan)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      plan_(std::move(plan)),
      random_(plan_.seed),
      tear_(&random_) {}

PowerLossFileSystem::~PowerLossFileSystem() = default;

// --- the cut

void PowerLossFileSystem::SetFatalOp(uint64_t op) {
  const std::lock_guard lock(mutex_);
  plan_.fatal_op = op;
}

SyncedKind SyncedKindOf(std::string_view path) {
  switch (FileKindOf(path)) {
    case FileKind::kWal: return SyncedKind::kLog;
    case FileKind::kSst: return SyncedKind::kSegments;
    case FileKind::kManifest: return SyncedKind::kManifest;
    case FileKind::kOptions:
    case FileKind::kOther: break;
  }
  return SyncedKind::kSmallFile;
}

void PowerLossFileSystem::SetLieAboutSync(bool lie) {
  const std::lock_guard lock(mutex_);
  plan_.lies.fill(lie);
}

void PowerLossFileSystem::Cut() {
  mutex_.lock();
  CutLocked();
}

void PowerLossFileSystem::Tick() {
  const std::lock_guard lock(mutex_);
  TickLocked();
}

bool PowerLossFileSystem::NextIsFatal() const { return ops() + 1 == plan_.fatal_op; }

void PowerLossFileSystem::TickLocked() {
  if (NextIsFatal()) CutLocked();
  const uint64_t done = ops_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (ops_mirror_ != nullptr) ops_mirror_->store(done, std::memory_order_relaxed);
}

void PowerLossFileSystem::CutLocked() {
  if (plan_.leak_unsynced && RandomBelow(2) == 0) {
    for (auto& [path, inode] : inodes_) LeaveTorn(inode.get());
    for (auto& [directory, entries] : held_entries_) {
      ApplyEntries(directory, RandomBelow(entries.size() + 1));
    }
  }
  for (const std::string& path : unsynced_directories_) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

size_t PowerLossFileSystem::RandomBelow(size_t bound) {
  return static_cast<size_t>(random_() % std::max<size_t>(bound, 1));
}

// --- bytes

IOStatus PowerLossFileSystem::Append(const InodePtr& inode, const Slice& data) {
  const std::lock_guard lock(mutex_);
  TickLocked();
  inode->pending.append(data.data(), data.size());
  return IOStatus::OK();
}

IOStatus PowerLossFileSystem::Spill(Inode* inode, size_t bytes) {
  if (bytes == 0) return IOStatus::OK();
  IOStatus status = inode->file->Append(Slice(inode->pending.data(), bytes), IOOptions(), nullptr);
  if (!status.ok()) return status;
  inode->durable_bytes += bytes;
  inode->pending.erase(0, bytes);
  return inode->file->Flush(IOOptions(), nullptr);
}

void PowerLossFileSystem::LeaveTorn(Inode* inode) {
  inode->pending = tear_.OfAppend(inode->durable_bytes, inode->pending);
  Spill(inode, inode->pending.size()).PermitUncheckedError();
}

IOStatus PowerLossFileSystem::Sync(const InodePtr& inode) {
  const std::lock_guard lock(mutex_);
  if (NextIsFatal() && !LiesAbout(inode->kind)) {
    LeaveTorn(inode.get());
    inode->pending.clear();
  }
  TickLocked();
  if (LiesAbout(inode->kind)) return IOStatus::OK();
  return Spill(inode.get(), inode->pending.size());
}

IOStatus PowerLossFileSystem::SyncPlaced(rocksdb::FSRandomRWFile* file, SyncedKind kind,
                                         std::vector<PlacedWrite>* writes) {
  const std::lock_guard lock(mutex_);
  if (NextIsFatal() && !LiesAbout(kind)) {
    for (const PlacedWrite& write : *writes) {
      for (const Tear::Part& part : tear_.OfPlaced(write.offset, write.bytes)) {
        file->Write(part.offset, Slice(part.bytes.data(), part.bytes.size()), IOOptions(), nullptr)
            .PermitUncheckedError();
      }
    }
  }
  TickLocked();
  IOStatus status;
  for (const PlacedWrite& write : *writes) {
    if (!status.ok() || LiesAbout(kind)) break;
    status = file->Write(write.offset, write.bytes, IOOptions(), nullptr);
  }
  return status;
}

IOStatus PowerLossFileSystem::TruncateInode(const InodePtr& inode, uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  TickLocked();
  if (size_bytes >= inode->durable_bytes) {
    inode->pending.resize(size_bytes - inode->durable_bytes, '\0');
    return IOStatus::OK();
  }
  inode->pending.clear();
  inode->durable_bytes = size_bytes;
  return inode->file->Truncate(size_bytes, IOOptions(), nullptr);
}

IOStatus PowerLossFileSystem::Allocate(const InodePtr& inode, uint64_t offset, uint64_t length) {
  const std::lock_guard lock(mutex_);
  TickLocked();
  IOStatus status = inode->file->Allocate(offset, length, IOOptions(), nullptr);
  if (status.ok()) inode->durable_bytes = std::max(inode->durable_bytes, offset + length);
  return status;
}

uint64_t PowerLossFileSystem::SizeOf(const InodePtr& inode) {
  const std::lock_guard lock(mutex_);
  return inode->durable_bytes + inode->pending.size();
}

IOStatus PowerLossFileSystem::CloseHandle(const InodePtr& inode) {
  const std::lock_guard lock(mutex_);
  if (--inode->handles > 0 || !inode->pending.empty()) return IOStatus::OK();
  std::erase_if(inodes_, [&](const auto& entry) { return entry.second == inode; });
  IOStatus status;
  if (inode->file != nullptr) status = inode->file->Close(IOOptions(), nullptr);
  inode->file.reset();
  return status;
}

// --- names

std::optional<std::string> PowerLossFileSystem::RealPath(const std::string& path) const {
  const auto it = real_paths_.find(path);
  return it == real_paths_.end() ? std::optional(path) : it->second;
}

bool PowerLossFileSystem::Exists(const std::string& path) {
  const auto real = RealPath(path);
  return real && target_->FileExists(*real, IOOptions(), nullptr).ok();
}

void PowerLossFileSystem::ApplyEntry(const EntryOp& op) {
  IOStatus status;
  switch (op.kind) {
    case EntryOp::Kind::kCreate:
    case EntryOp::Kind::kRename:
      status = target_->RenameFile(op.from, op.to, IOOptions(), nullptr);
      break;
    case EntryOp::Kind::kDelete:
      status = target_->DeleteFile(op.to, IOOptions(), nullptr);
      break;
  }
  status.PermitUncheckedError();  // a file that came and went between two syncs
}

void PowerLossFileSystem::ApplyEntries(const std::string& directory, size_t count) {
  const auto held = held_entries_.find(directory);
  if (held == held_entries_.end()) return;
  for (size_t i = 0; i < count; ++i) ApplyEntry(held->second[i]);
}

IOStatus PowerLossFileSystem::SyncDirectory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  TickLocked();
  if (LiesAbout(SyncedKind::kDirectory)) return IOStatus::OK();
  std::erase_if(unsynced_directories_, [&](const std::string& made) {
    return ParentOf(made) == path;
  });
  const auto held = held_entries_.find(path);
  if (held == held_entries_.end()) return IOStatus::OK();
  ApplyEntries(path, held->second.size());
  held_entries_.erase(held);
  std::erase_if(real_paths_, [&](const auto& entry) { return ParentOf(entry.first) == path; });
  return IOStatus::OK();
}

IOStatus PowerLossFileSystem::ReadAll(const std::string& path, std::string* content,
                                      bool* has_pending) {
  const auto it = inodes_.find(path);
  *has_pending = it != inodes_.end() && !it->second->pending.empty();
  if (!*has_pending) return IOStatus::OK();
  const auto real = RealPath(path);
  if (!real) return IOStatus::PathNotFound(path);
  IOStatus status = rocksdb::ReadFileToString(target_.get(), *real, content);
  content->append(it->second->pending);
  return status;
}

IOStatus PowerLossFileSystem::NewSequentialFile(const std::string& path,
                                                const FileOptions& options,
                                                std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                                IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  std::string content;
  bool has_pending = false;
  IOStatus status = ReadAll(path, &content, &has_pending);
  if (!status.ok()) return status;
  if (has_pending) {
    *result = std::make_unique<MemorySequentialFile>(std::move(content));
    return IOStatus::OK();
  }
  const auto real = RealPath(path);
  if (!real) return IOStatus::PathNotFound(path);
  return target_->NewSequentialFile(*real, options, result, dbg);
}

IOStatus PowerLossFileSystem::NewRandomAccessFile(
    const std::string& path, const FileOptions& options,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  std::string content;
  bool has_pending = false;
  IOStatus status = ReadAll(path, &content, &has_pending);
  if (!status.ok()) return status;
  if (has_pending) {
    *result = std::make_unique<MemoryRandomAccessFile>(std::move(content));
    return IOStatus::OK();
  }
  const auto real = RealPath(path);
  if (!real) return IOStatus::PathNotFound(path);
  return target_->NewRandomAccessFile(*real, options, result, dbg);
}

IOStatus PowerLossFileSystem::OpenInode(const std::string& path, const FileOptions& options,
                                        bool keep_content,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result) {
  TickLocked();
  InodePtr inode;
  const auto known = inodes_.find(path);
  if (keep_content && known != inodes_.end()) {
    inode = known->second;
  } else if (keep_content && Exists(path)) {
    inode = std::make_shared<Inode>();
    const std::string real = *RealPath(path);
    IOStatus status = target_->ReopenWritableFile(real, options, &inode->file, nullptr);
    if (status.ok())
      status = target_->GetFileSize(real, IOOptions(), &inode->durable_bytes, nullptr);
    if (!status.ok()) return status;
  } else {
    inode = std::make_shared<Inode>();
    std::string real = path;
    if (HoldsEntries()) real = plan_.shadow_directory + "/" + std::to_string(++shadow_number_);
    IOStatus status = target_->NewWritableFile(real, options, &inode->file, nullptr);
    if (!status.ok()) return status;
    if (HoldsEntries()) {
      held_entries_[ParentOf(path)].push_back({EntryOp::Kind::kCreate, real, path});
      real_paths_[path] = real;
    }
  }
  ++inode->handles;
  inode->kind = SyncedKindOf(path);
  inodes_[path] = inode;
  *result = std::make_unique<CutFile>(this, inode);
  return IOStatus::OK();
}

IOStatus PowerLossFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext*) {
  const std::lock_guard lock(mutex_);
  return OpenInode(path, options, /*keep_content=*/false, result);
}

IOStatus PowerLossFileSystem::ReopenWritableFile(const std::string& path,
                                                 const FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                 IODebugContext*) {
  const std::lock_guard lock(mutex_);
  return OpenInode(path, options, /*keep_content=*/true, result);
}

IOStatus PowerLossFileSystem::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                              IODebugContext* dbg) {
  const std::lock_guard lock(mutex_);
  const auto real = RealPath(path);
  if (!real) return IOStatus::PathNotFound(path);
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  IOStatus status = target_->NewRandomRWFile(*real, options, &file, dbg);
  if (!status.ok()) return status;
  *result = std::make_unique<CutRandomRwFile>(this, std::move(file), SyncedKindOf(path));
  return status;
}

IOStatus PowerLossFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                           std::unique_ptr<rocksdb::FSDirectory>* result,
                                           IODebugContext* dbg) {
  // Opened and dropped for its error alone.
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = target_->NewDirectory(path, options, &directory, dbg);
  if (status.ok()) *result = std::make_unique<CutDirectory>(this, path);
  return status;
}

}  // namespace cistern
