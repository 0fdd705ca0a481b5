// StoreFileSystem: the layer that every file of a store passes.
#ifndef CISTERN_STORAGE_FILE_SYSTEM_H_
#define CISTERN_STORAGE_FILE_SYSTEM_H_

#include <rocksdb/file_system.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cistern/status.h"
#include "storage/file_kind.h"
#include "storage/file_place.h"
#include "storage/synced_ends.h"

namespace cistern {

// Bytes handed to the kernel since the StoreFileSystem was made.
struct FileBytes {
  uint64_t wal = 0;
  uint64_t sst = 0;
  uint64_t manifest = 0;
  uint64_t other = 0;
};

// Wraps the file system that RocksDB and storage's own small files use, and
//   - refuses OPTIONS files. RocksDB writes one at every family created or dropped,
//     with the options of all families (220 KB and 8 ms a rotation at 24 families),
//     and does without: the options are set in code;
//   - counts the bytes written by kind, and the sizes of the files that are there;
//   - keeps the files to their owner (0600, directories 0700) whatever the umask,
//     and writes through no symbolic link;
//   - changes nothing, and counts no log as synced, once the path leads elsewhere: a directory
//     that was renamed, removed or replaced while it was open;
//   - stops the growth of WAL and SST files at a disk limit;
//   - knows up to where MANIFEST and write-ahead logs were synced;
//   - gives stand-ins for files that cannot be read, and no SST file of which RocksDB would
//     believe what is damaged (storage/table_check.h).
//
// Thread-safe. Counts only files below the store's directory. RocksDB calls it on threads of its
// own: nothing that it does throws.
class StoreFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // `base` null: the machine's file system.
  StoreFileSystem(std::shared_ptr<rocksdb::FileSystem> base, std::string directory);
  ~StoreFileSystem() override;

  // Takes stock of the files that are already in the directory, and of which directory it is.
  // Once, before use.
  [[nodiscard]] Status ScanDirectory();

  [[nodiscard]] FileBytes bytes_written() const;
  // Sum of the sizes of the store's files, LOG and ballast included.
  [[nodiscard]] uint64_t disk_bytes_used() const;
  // The same in blocks of the device, of which each file leaves a part of the last one unused.
  [[nodiscard]] uint64_t disk_bytes_taken() const { return disk_bytes_taken_.load(); }
  [[nodiscard]] uint64_t wal_bytes_on_disk() const;
  [[nodiscard]] uint64_t file_count(FileKind kind) const;

  // A hard stop, above which WAL and SST writes fail with NoSpace; 0: none. The engine
  // refuses rows before it comes to that. kDiskReserveBytes below the limit are
  // left to MANIFEST and small files, so that space can be made.
  void SetDiskLimit(uint64_t bytes) { disk_limit_.store(bytes, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t disk_limit() const { return disk_limit_.load(std::memory_order_relaxed); }
  static constexpr uint64_t kDiskReserveBytes = 1024 * 1024;
  // How much more of WAL and SST fits under the limit; UINT64_MAX: there is none.
  [[nodiscard]] uint64_t BudgetLeft() const;
  // Whether `bytes` more of WAL and SST fit under the limit.
  [[nodiscard]] bool HasRoomFor(uint64_t bytes) const;

  // OK while the directory's path leads to the directory that was scanned; one call of stat.
  [[nodiscard]] rocksdb::IOStatus CheckPlace() const;

  // From here on every attempt to change a file fails.
  void SetReadOnly() { read_only_.store(true, std::memory_order_relaxed); }

  // From here on whoever reads the file reads the stand-in (storage/stand_in.h), and it has
  // `size_bytes`, whether or not there is such a file. What is there stays as it is.
  void SetStandIn(const std::string& path, std::shared_ptr<const std::string> bytes,
                  uint64_t size_bytes);

  // From here on readers of a file, whose path it is, see it end behind so many bytes; of all
  // others no more. What is there stays as it is.
  using FileEnds = std::unordered_map<std::string, uint64_t>;
  void SetEnds(FileEnds ends);

  // Told after each sync of the MANIFEST in use, or of one that is about to be: its number, and
  // how many bytes of it are on the device; and at once of one that was synced already. On the
  // thread that syncs, which waits meanwhile.
  using ManifestListener = std::function<void(uint64_t number, uint64_t synced_bytes)>;
  void SetManifestListener(const ManifestListener& listener);
  // Up to where the write-ahead logs are on the device; of the MANIFEST it says nothing.
  [[nodiscard]] SyncedEnds SyncedLogEnds() const;
  // From here on the files of RocksDB that are there now stay when they are to be deleted, and
  // whoever deletes one is told that it is gone: RocksDB deletes at an opening what the MANIFEST
  // does not list, tables, logs and other MANIFESTs, before anybody knows whether that is right.
  // ReleaseDeletions() deletes them; without it they stay.
  void HoldDeletions();
  void ReleaseDeletions();
  // Ends the hold as well. Tables that are held stay, for the next opening to decide; logs and
  // MANIFESTs are deleted, as what the database has of them is on the device.
  void KeepHeldTables();

  [[nodiscard]] const std::string& directory() const { return directory_; }

  // --- rocksdb::FileSystem
  const char* Name() const override { return "CisternStoreFileSystem"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options,
                                uint64_t* size_bytes, rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock, rocksdb::IODebugContext* dbg) override;

 private:
  friend class CountingWritableFile;
  friend class CountingRandomRwFile;

  // One file on disk, shared by its directory entry and its open handles.
  struct TrackedFile {
    TrackedFile(FileKind file_kind, uint64_t file_number) : kind(file_kind), number(file_number) {}
    const FileKind kind;
    const uint64_t number;      // of a file of RocksDB in use; 0: it is another one, or a copy
    uint64_t size_bytes = 0;    // guarded by mutex_
    uint64_t synced_bytes = 0;  // guarded by mutex_
    bool deleted = false;       // guarded by mutex_
  };
  using TrackedFilePtr = std::shared_ptr<TrackedFile>;
  struct StandIn {
    std::shared_ptr<const std::string> bytes;  // null: none
    uint64_t size_bytes = 0;
  };

  [[nodiscard]] StandIn FindStandIn(const std::string& path) const;
  // Whether the deletion of the file is held, from here on.
  [[nodiscard]] bool Hold(const std::string& path);
  void EndHold(bool tables_stay);

  [[nodiscard]] rocksdb::IOStatus CheckWritable(const std::string& path) const;
  [[nodiscard]] rocksdb::IOStatus CheckRoom(FileKind kind, uint64_t bytes) const;
  [[nodiscard]] bool IsOurs(const std::string& path) const;
  TrackedFilePtr Track(const std::string& path, uint64_t size_bytes);
  void Untrack(const std::string& path);
  void Forget(const std::string& path);  // the same; REQUIRES: mutex_ held
  void SetSize(TrackedFile* file, uint64_t size_bytes);
  void CountWrite(TrackedFile* file, uint64_t bytes);
  [[nodiscard]] uint64_t SizeOf(const TrackedFile& file) const;
  void NoteSync(TrackedFile* file, uint64_t synced_bytes);
  void Resize(TrackedFile* file, uint64_t size_bytes);  // REQUIRES: mutex_ held

  const std::string directory_;
  FilePlace place_;  // of the directory; set by ScanDirectory
  std::atomic<uint64_t> disk_limit_{0};
  std::atomic<bool> read_only_{false};
  std::array<std::atomic<uint64_t>, kFileKindCount> bytes_written_{};
  std::array<std::atomic<uint64_t>, kFileKindCount> bytes_on_disk_{};
  std::array<std::atomic<uint64_t>, kFileKindCount> files_on_disk_{};
  std::atomic<uint64_t> disk_bytes_taken_{0};
  mutable std::mutex mutex_;
  std::unordered_map<std::string, TrackedFilePtr> files_;  // guarded by mutex_
  std::unordered_map<std::string, StandIn> stand_ins_;     // guarded by mutex_
  FileEnds ends_;                                          // guarded by mutex_
  std::shared_ptr<const ManifestListener> manifest_listener_;  // guarded by mutex_
  // Paths: those whose deletion would be held, and those of which it is; guarded by mutex_.
  std::unordered_set<std::string> to_hold_;
  std::unordered_set<std::string> held_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_FILE_SYSTEM_H_
