// WindowFiles: how many files the sealed segments of a window are in.
#ifndef CISTERN_STORAGE_WINDOW_FILES_H_
#define CISTERN_STORAGE_WINDOW_FILES_H_

#include <rocksdb/metadata.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "storage/store_db.h"

namespace cistern {

// Each seal round leaves a file, which takes a descriptor and 1.1 KB of memory: with buckets of a
// minute that is 490 a day. So neighbours that are small together become one: a run of files of at
// most 1 KiB of records each once it has more than 1 KiB, then the same with 8, 64 and 512 KiB.
// Neighbours of at most 512 KiB together are all that stays small, so that the number of files is
// bounded by those of windows and bytes. Each size is left by one merge, so that a record is copied
// four times, and some more where the merged file compresses better than its parts.
inline constexpr uint64_t kMergedFileBytesMax = 512ull << 10;
inline constexpr uint64_t kFileClassRatio = 8;
inline constexpr int kFileClasses = 4;

// What a table takes beside its records: index, filter, properties and footer. It is not counted,
// since a merge leaves it behind: a run would else be a small file again.
inline constexpr uint64_t kTableOverheadBytes = 1536;
// What the smallest round counts as, so that as many of them as kFileClassRatio are a run.
inline constexpr uint64_t kRecordBytesMin = 128;

// What a file of that size counts as in NextFilesToMerge, in bytes.
[[nodiscard]] uint64_t RecordBytesOf(uint64_t file_bytes);

// Which files, by the bytes of their records in the order of keys: from `first` on. None: count
// is 0.
struct FileRun {
  size_t first = 0;
  size_t count = 0;
};
[[nodiscard]] FileRun NextFilesToMerge(std::span<const uint64_t> record_bytes);

// Merges small files of windows. RocksDB writes the new file and replaces the old ones by it, in
// one edit of the MANIFEST. What they hold is read before, file by file, kept in memory, and
// compared with the new file behind it: a compaction of RocksDB 7.8 may take a read error for the
// end of a file. If the new file lacks records they are put back. Only a crash, or a disk that
// refuses writes, between a merge that failed in such a way and the end of that loses them.
// Of the maintenance actor. `db` must outlive it.
class WindowFiles {
 public:
  explicit WindowFiles(const StoreDb* db) : db_(db) {}
  WindowFiles(const WindowFiles&) = delete;
  WindowFiles& operator=(const WindowFiles&) = delete;

  enum class Outcome { kNothing, kMerged, kBusy };
  // Merges one run, of twice kMergedFileBytesMax at most, in the caller's thread. kNothing: there
  // is none; kBusy: RocksDB has its files at work. A file that cannot be read is left as it is
  // until the next opening. Errors, which are of writing, end the opening.
  [[nodiscard]] Result<Outcome> MergeSmall(const Family& window);

 private:
  // Of the records of files in the order of their keys.
  struct Digest {
    uint64_t records = 0;
    uint64_t checksum = 0;
    bool operator==(const Digest&) const = default;
  };
  using Files = std::vector<rocksdb::SstFileMetaData>;
  [[nodiscard]] Files SmallFilesOf(const Family& window) const;
  // Puts the records into the batch too, where there is one.
  [[nodiscard]] Status AddRecordsOf(const std::string& path, Digest* digest, const Family& window,
                                    rocksdb::WriteBatch* batch) const;
  [[nodiscard]] Result<Outcome> Merge(const Family& window, const std::vector<std::string>& names,
                                      std::vector<std::string>* merged);
  [[nodiscard]] Status PutBack(const Family& window, rocksdb::WriteBatch* records,
                               const std::vector<std::string>& merged);
  void LeaveOut(const rocksdb::SstFileMetaData& file, const Status& why);

  const StoreDb* const db_;
  std::set<uint64_t> left_out_;  // numbers of files that cannot be merged
  bool has_ended_ = false;       // RocksDB made a file that lacks records
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_FILES_H_
