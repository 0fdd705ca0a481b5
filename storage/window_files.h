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
// minute that is 490 a day. So neighbours that are small together become one: a run of files of at
// most 8 KiB each once it has more than 8 KiB, then the same with 64 and with 512 KiB. Neighbours
// of at most 512 KiB together are all that stays small, so that the number of files is bounded by
// those of windows and bytes. Each size is left by one merge, so that a byte is copied three times
// at most: twice where rounds leave 12 KB.
inline constexpr uint64_t kMergedFileBytesMax = 512ull << 10;
inline constexpr uint64_t kFileClassRatio = 8;
inline constexpr int kFileClasses = 3;

// Which files, by their sizes in the order of keys: from `first` on. None: count is 0.
struct FileRun {
  size_t first = 0;
  size_t count = 0;
};
[[nodiscard]] FileRun NextFilesToMerge(std::span<const uint64_t> sizes);

// Merges one such run, of twice kMergedFileBytesMax at most, and reads the new file back before the
// old ones are gone; false: there is none, or RocksDB has its files at work. In the caller's
// thread. Errors end the opening: the old files are whole then. Of the maintenance actor.
[[nodiscard]] Result<bool> MergeSmallFiles(const Family& window);

}  // namespace cistern

#endif  // CISTERN_STORAGE_WINDOW_FILES_H_
