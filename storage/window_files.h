// How many files the sealed segments of a window are in.
#ifndef CISTERN_STORAGE_WINDOW_FILES_H_
#define CISTERN_STORAGE_WINDOW_FILES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cistern/result.h"
#include "storage/store_db.h"

namespace cistern {

// Each seal round leaves a file, which takes a descriptor and 1.1 KB of memory: with buckets of a
// minute that is 490 a day. So neighbours that are small become one: eight of at most 64 KiB, or of
// at most 512 KiB. Of any eight neighbours one is larger then, so that the number of files is
// bounded by that of bytes and windows, and a byte is copied a logarithm of times, twice where
// rounds leave 20 KB.
inline constexpr size_t kMergedFilesMin = 8;
inline constexpr uint64_t kMergedFileBytesMax = 512ull << 10;

// Which files, by their sizes in the order of keys: from `first` on. None: count is 0.
struct FileRun {
  size_t first = 0;
  size_t count = 0;
};
[[nodiscard]] FileRun NextFilesToMerge(std::span<const uint64_t> sizes);

// Merges one such run, of 4 MiB at most; false: there is none, or RocksDB has its files at work. In
// the caller's thread. Errors leave the store's state unknown. Of the maintenance actor.
[[nodiscard]] Result<bool> MergeSmallFiles(const Family& window);

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_FILES_H_
