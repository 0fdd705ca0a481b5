// StoreFileSystem: what it counts of its files, and up to where they are on the device.
#include <algorithm>
#include <utility>

#include "storage/file_system.h"

namespace cistern {

namespace {
// Of most file systems.
constexpr uint64_t kBlockBytes = 4096;

uint64_t InBlocks(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }
}  // namespace

FileBytes StoreFileSystem::bytes_written() const {
  const auto of = [this](FileKind kind) {
    return bytes_written_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
  };
  return {.wal = of(FileKind::kWal),
          .sst = of(FileKind::kSst),
          .manifest = of(FileKind::kManifest),
          .other = of(FileKind::kOther)};
}

uint64_t StoreFileSystem::disk_bytes_used() const {
  uint64_t sum = 0;
  for (const auto& bytes : bytes_on_disk_) sum += bytes.load(std::memory_order_relaxed);
  return sum;
}

uint64_t StoreFileSystem::wal_bytes_on_disk() const {
  return bytes_on_disk_[static_cast<size_t>(FileKind::kWal)].load(std::memory_order_relaxed);
}

uint64_t StoreFileSystem::file_count(FileKind kind) const {
  return files_on_disk_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
}

uint64_t StoreFileSystem::BudgetLeft() const {
  const uint64_t limit = disk_limit();
  return limit == 0 ? UINT64_MAX : limit - std::min(limit, disk_bytes_used() + kDiskReserveBytes);
}

bool StoreFileSystem::HasRoomFor(uint64_t bytes) const {
  return disk_limit() == 0 || disk_bytes_used() + bytes + kDiskReserveBytes <= disk_limit();
}

StoreFileSystem::TrackedFilePtr StoreFileSystem::Track(const std::string& path,
                                                       uint64_t size_bytes) {
  Untrack(path);
  const FileKind kind = FileKindOf(path);
  const bool is_in_use = kind != FileKind::kOther && IsOurs(path) &&
                         path.find('/', directory_.size() + 1) == std::string::npos;
  auto file = std::make_shared<TrackedFile>(kind, is_in_use ? FileNumberOf(path) : 0);
  if (!IsOurs(path)) {
    file->deleted = true;  // counted as written, not as ours on disk
    return file;
  }
  const std::lock_guard lock(mutex_);
  files_[path] = file;
  files_on_disk_[static_cast<size_t>(file->kind)].fetch_add(1, std::memory_order_relaxed);
  Resize(file.get(), size_bytes);
  return file;
}

void StoreFileSystem::Untrack(const std::string& path) {
  const std::lock_guard lock(mutex_);
  Forget(path);
}

void StoreFileSystem::Forget(const std::string& path) {
  const auto it = files_.find(path);
  if (it == files_.end()) return;
  Resize(it->second.get(), 0);
  it->second->deleted = true;
  files_on_disk_[static_cast<size_t>(it->second->kind)].fetch_sub(1, std::memory_order_relaxed);
  files_.erase(it);
}

void StoreFileSystem::Resize(TrackedFile* file, uint64_t size_bytes) {
  if (file->deleted) return;
  // Unsigned wrap-around makes one addition of growth and shrinkage.
  bytes_on_disk_[static_cast<size_t>(file->kind)].fetch_add(size_bytes - file->size_bytes,
                                                            std::memory_order_relaxed);
  disk_bytes_taken_ += InBlocks(size_bytes) - InBlocks(file->size_bytes);
  file->size_bytes = size_bytes;
}

void StoreFileSystem::SetSize(TrackedFile* file, uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  Resize(file, size_bytes);
}

void StoreFileSystem::CountWrite(TrackedFile* file, uint64_t bytes) {
  bytes_written_[static_cast<size_t>(file->kind)].fetch_add(bytes, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  Resize(file, file->size_bytes + bytes);
}

uint64_t StoreFileSystem::SizeOf(const TrackedFile& file) const {
  const std::lock_guard lock(mutex_);
  return file.size_bytes;
}

void StoreFileSystem::NoteSync(TrackedFile* file, uint64_t synced_bytes) {
  std::shared_ptr<const ManifestListener> listener;
  {
    const std::lock_guard lock(mutex_);
    if (file->deleted || file->number == 0) return;
    file->synced_bytes = std::max(file->synced_bytes, synced_bytes);
    if (file->kind == FileKind::kManifest) listener = manifest_listener_;
  }
  if (listener) (*listener)(file->number, synced_bytes);
}

void StoreFileSystem::SetManifestListener(const ManifestListener& listener) {
  SyncedEnds ends;
  {
    const std::lock_guard lock(mutex_);
    manifest_listener_ = std::make_shared<const ManifestListener>(listener);
    for (const auto& [path, file] : files_) {
      if (file->kind != FileKind::kManifest || file->number <= ends.manifest_number) continue;
      if (file->synced_bytes == 0) continue;  // not since this process began
      ends.manifest_number = file->number;
      ends.manifest_bytes = file->synced_bytes;
    }
  }
  if (ends.manifest_number != 0) listener(ends.manifest_number, ends.manifest_bytes);
}

// A log is synced with all that were written before it, and never again once it is no more
// written.
SyncedEnds StoreFileSystem::SyncedLogEnds() const {
  const std::lock_guard lock(mutex_);
  const TrackedFile* last = nullptr;
  const TrackedFile* first_open = nullptr;  // with bytes that are not on the device
  for (const auto& [path, file] : files_) {
    if (file->kind != FileKind::kWal || file->number == 0) continue;
    if (last == nullptr || file->number > last->number) last = file.get();
    if (file->synced_bytes >= file->size_bytes) continue;
    if (first_open == nullptr || file->number < first_open->number) first_open = file.get();
  }
  SyncedEnds ends;
  if (const TrackedFile* end = first_open != nullptr ? first_open : last; end != nullptr) {
    ends.log_number = end->number;
    ends.log_bytes = end->synced_bytes;
  }
  return ends;
}

}  // namespace cistern
