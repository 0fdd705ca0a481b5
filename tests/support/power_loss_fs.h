// PowerLossFileSystem: what is not synced lives only in this process, so SIGKILL is a
// power cut.
#ifndef CISTERN_TESTS_SUPPORT_POWER_LOSS_FS_H_
#define CISTERN_TESTS_SUPPORT_POWER_LOSS_FS_H_

#include <rocksdb/file_system.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_kind.h"
#include "tests/support/tear.h"

namespace cistern {

// What can be synced, told apart by the kind of file.
enum class SyncedKind : uint8_t {
  kLog = 0,        // NNNNNN.log
  kSegments = 1,   // NNNNNN.sst
  kManifest = 2,   // MANIFEST-NNNNNN
  kSmallFile = 3,  // CISTERN, ACK, CURRENT and what they are before they are renamed
  kDirectory = 4,
};
inline constexpr size_t kSyncedKindCount = 5;
[[nodiscard]] SyncedKind SyncedKindOf(std::string_view path);

struct PowerLossPlan {
  uint64_t seed = 1;
  // The operation (1 is the first) at which the power goes; 0: never by itself.
  uint64_t fatal_op = 0;
  // When not empty: creations, renames and deletions are held back until their
  // directory is synced, and lost otherwise. An empty directory, on the same file system
  // as the store but outside of it.
  std::string shadow_directory = {};
  // At the cut, part of what was never synced may have reached the disk all the same.
  bool leak_unsynced = true;
  // By SyncedKind: the device says that it has synced such files and has not. For proving that
  // a test can fail.
  std::array<bool, kSyncedKindCount> lies = {};
};

// Fork first, then open the store over this in the child, and look at the directory
// in the parent after the child died: by the fatal operation or by the parent's
// SIGKILL at any time. Every modifying operation is one tick of one counter: append,
// sync, write in place, create, delete, rename, create directory, sync of a directory.
// The fatal operation does not happen, but a fatal sync happens in part (tests/support/tear.h).
//
// A cut at a fatal operation also loses directories whose parent was not synced. Reads
// in the same process see what was written, except writes in place until their sync.
// Thread-safe.
class PowerLossFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit PowerLossFileSystem(PowerLossPlan plan);
  ~PowerLossFileSystem() override;

  [[nodiscard]] uint64_t ops() const { return ops_.load(std::memory_order_relaxed); }
  void SetFatalOp(uint64_t op);
  void SetLieAboutSync(bool lie);
  // For a counter that the parent can read after the cut: shared memory, or null.
  void SetOpsMirror(std::atomic<uint64_t>* mirror) { ops_mirror_ = mirror; }
  // Cuts the power now, as a fatal operation would.
  [[noreturn]] void Cut();

  const char* Name() const override { return "PowerLossFileSystem"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus FileExists(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus GetChildren(const std::string& path, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names,
                                rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options,
                                uint64_t* size_bytes, rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus GetFileModificationTime(const std::string& path,
                                            const rocksdb::IOOptions& options, uint64_t* time,
                                            rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus IsDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                bool* is_directory, rocksdb::IODebugContext* dbg) override;

  // One file's bytes. Public for the file classes in the .cc.
  struct Inode {
    std::unique_ptr<rocksdb::FSWritableFile> file;  // below; stays open while bytes are pending
    uint64_t durable_bytes = 0;
    std::string pending;
    int handles = 0;
    SyncedKind kind = SyncedKind::kSmallFile;
  };
  using InodePtr = std::shared_ptr<Inode>;
  struct PlacedWrite {
    uint64_t offset = 0;
    std::string bytes;
  };
  rocksdb::IOStatus Append(const InodePtr& inode, const rocksdb::Slice& data);
  rocksdb::IOStatus Sync(const InodePtr& inode);
  rocksdb::IOStatus TruncateInode(const InodePtr& inode, uint64_t size_bytes);
  rocksdb::IOStatus Allocate(const InodePtr& inode, uint64_t offset, uint64_t length);
  rocksdb::IOStatus CloseHandle(const InodePtr& inode);
  uint64_t SizeOf(const InodePtr& inode);
  rocksdb::IOStatus SyncPlaced(rocksdb::FSRandomRWFile* file, SyncedKind kind,
                               std::vector<PlacedWrite>* writes);
  void Tick();
  rocksdb::IOStatus SyncDirectory(const std::string& path);

 private:
  struct EntryOp {
    enum class Kind { kCreate, kRename, kDelete } kind;
    std::string from;  // kCreate: where the file waits
    std::string to;    // the entry
  };

  // All of these: REQUIRES mutex_ held.
  void TickLocked();
  bool NextIsFatal() const;
  [[noreturn]] void CutLocked();
  rocksdb::IOStatus Spill(Inode* inode, size_t bytes);
  void LeaveTorn(Inode* inode);
  [[nodiscard]] bool LiesAbout(SyncedKind kind) const {
    return plan_.lies[static_cast<size_t>(kind)];
  }
  size_t RandomBelow(size_t bound);
  [[nodiscard]] bool HoldsEntries() const { return !plan_.shadow_directory.empty(); }
  [[nodiscard]] static std::string ParentOf(const std::string& path);
  [[nodiscard]] std::optional<std::string> RealPath(const std::string& path) const;
  [[nodiscard]] bool Exists(const std::string& path);
  void ApplyEntry(const EntryOp& op);
  void ApplyEntries(const std::string& directory, size_t count);
  rocksdb::IOStatus ReadAll(const std::string& path, std::string* content, bool* has_pending);
  rocksdb::IOStatus OpenInode(const std::string& path, const rocksdb::FileOptions& options,
                              bool keep_content, std::unique_ptr<rocksdb::FSWritableFile>* result);
  rocksdb::IOStatus MakeDirectory(const std::string& path, const rocksdb::IOOptions& options);

  PowerLossPlan plan_;
  std::atomic<uint64_t> ops_{0};
  std::atomic<uint64_t>* ops_mirror_ = nullptr;
  std::mutex mutex_;
  std::mt19937_64 random_;
  Tear tear_;  // of the one cut that there is
  std::map<std::string, InodePtr> inodes_;  // by path as the store knows it
  std::map<std::string, std::vector<EntryOp>> held_entries_;        // by directory
  std::map<std::string, std::optional<std::string>> real_paths_;    // nothing: deleted
  std::set<std::string> unsynced_directories_;
  uint64_t shadow_number_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_TESTS_SUPPORT_POWER_LOSS_FS_H_
