#include "storage/window_files.h"

#include <algorithm>
#include <string>
#include <vector>

#include "storage/rocksdb_status.h"

namespace cistern {

namespace {
constexpr int kLevel = 1;  // where files of rounds move to, in the order of their keys
}  // namespace

FileRun NextFilesToMerge(std::span<const uint64_t> sizes) {
  for (const uint64_t bytes_max : {kMergedFileBytesMax / 8, kMergedFileBytesMax}) {
    size_t first = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > bytes_max) first = i + 1;
      if (i + 1 - first == kMergedFilesMin) return {first, kMergedFilesMin};
    }
  }
  return {};
}

Result<bool> MergeSmallFiles(const Family& window) {
  rocksdb::ColumnFamilyMetaData found;
  window.db()->GetColumnFamilyMetaData(window.handle(), &found);
  if (found.levels.size() <= kLevel) return false;
  std::vector<rocksdb::SstFileMetaData> files = found.levels[kLevel].files;
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.smallestkey < b.smallestkey; });
  std::vector<uint64_t> sizes;
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
  const rocksdb::Status s = window.db()->CompactFiles(options, window.handle(), names, kLevel);
  if (s.IsAborted() || s.IsInvalidArgument()) return false;  // RocksDB has taken some meanwhile
  if (!s.ok()) return ToStatus(s, "merging files of a window");
  return true;
}

}  // namespace cistern
