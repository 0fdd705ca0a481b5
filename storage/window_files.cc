#include "storage/window_files.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/crash_point.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

// Where files of rounds move to, in the order of their keys, which begin with the round's number.
constexpr int kLevel = 1;

// The first run of files of at most `bytes` each that have more together.
FileRun FirstRun(std::span<const uint64_t> sizes, uint64_t bytes) {
  size_t first = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > bytes) {
      first = i + 1;
      total = 0;
      continue;
    }
    total += sizes[i];
    if (total > bytes) return {first, i + 1 - first};
  }
  return {};
}

// Whether RocksDB compares each file that it writes with what it was to write. Not for rounds: the
// sealer reads these back, from the file and not from the cache that such a look leaves behind.
// An edit of the MANIFEST each time.
Status SetReadBack(const Family& window, bool on) {
  const rocksdb::Status s = window.db()->SetOptions(
      window.handle(), {{"paranoid_file_checks", on ? "true" : "false"}});
  return s.ok() ? Status::Ok() : ToStatus(s, "preparing to merge files of a window");
}

}  // namespace

FileRun NextFilesToMerge(std::span<const uint64_t> sizes) {
  uint64_t bytes = kMergedFileBytesMax;
  for (int i = 1; i < kFileClasses; ++i) bytes /= kFileClassRatio;
  for (; bytes <= kMergedFileBytesMax; bytes *= kFileClassRatio) {
    const FileRun run = FirstRun(sizes, bytes);
    if (run.count > 0) return run;
  }
  return {};
}

// RocksDB merges, as a compaction within a level: one edit of the MANIFEST has the new file count
// and the old ones not. Before that it reads the new file back and compares it.
Result<bool> MergeSmallFiles(const Family& window) {
  rocksdb::ColumnFamilyMetaData found;
  window.db()->GetColumnFamilyMetaData(window.handle(), &found);
  if (found.levels.size() <= kLevel) return false;
  std::vector<rocksdb::SstFileMetaData> files = found.levels[kLevel].files;
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.smallestkey < b.smallestkey; });
  std::vector<uint64_t> sizes;
  sizes.reserve(files.size());
  for (const auto& file : files) sizes.push_back(file.size);
  const FileRun run = NextFilesToMerge(sizes);
  if (run.count == 0) return false;
  std::vector<std::string> names;
  for (size_t i = run.first; i < run.first + run.count; ++i) {
    if (files[i].being_compacted) return false;
    names.push_back(files[i].name);
  }
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // that of the family
  CrashPoint("files:before_merge");
  CISTERN_RETURN_IF_ERROR(SetReadBack(window, true));
  const rocksdb::Status s = window.db()->CompactFiles(options, window.handle(), names, kLevel);
  const bool has_failed = !s.ok() && !s.IsAborted() && !s.IsInvalidArgument();
  if (!has_failed) CISTERN_RETURN_IF_ERROR(SetReadBack(window, false));
  if (has_failed) return ToStatus(s, "merging files of a window");
  if (!s.ok()) return false;  // RocksDB has taken some of the files meanwhile
  CrashPoint("files:after_merge");
  return true;
}

}  // namespace cistern
