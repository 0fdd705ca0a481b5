// The few files of a store that RocksDB does not write: each through here.
#ifndef CISTERN_STORAGE_SMALL_FILE_H_
#define CISTERN_STORAGE_SMALL_FILE_H_

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "cistern/status.h"

namespace cistern {

inline constexpr std::string_view kTemporarySuffix = ".tmp";

// Replaces `directory`/`name`: temporary file, fsync, rename, fsync of the directory.
// After a power cut the old content or the new one is there, never a mixture.
[[nodiscard]] Status WriteFileDurably(rocksdb::FileSystem* fs, const std::string& directory,
                                      const std::string& name, std::string_view content);
// kNotFound if there is none; kCorruption if it is larger than `bytes_max`.
[[nodiscard]] Result<std::string> ReadSmallFile(rocksdb::FileSystem* fs, const std::string& path,
                                                size_t bytes_max);
// OK also if there was none.
[[nodiscard]] Status RemoveFileDurably(rocksdb::FileSystem* fs, const std::string& directory,
                                       const std::string& name);
// Puts the bytes that a file holds on the device, whoever wrote them; not its entry.
[[nodiscard]] Status SyncFile(rocksdb::FileSystem* fs, const std::string& path);
// Cuts a file to its first `size_bytes`, on the device too. After a power cut meanwhile it is as
// it was, or cut.
[[nodiscard]] Status CutFile(rocksdb::FileSystem* fs, const std::string& path,
                             uint64_t size_bytes);
[[nodiscard]] Status SyncDirectory(rocksdb::FileSystem* fs, const std::string& directory);
// Makes the directory and its missing ancestors, each synced in its parent, up to
// the first that was there before (that one included).
[[nodiscard]] Status CreateDirectoryDurably(rocksdb::FileSystem* fs, const std::string& directory);
// Syncs a directory that is there, and its ancestors: an attempt that was killed may have made them
// and not come to that. Those that do not let us are left out.
[[nodiscard]] Status SyncAncestors(rocksdb::FileSystem* fs, const std::string& directory);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SMALL_FILE_H_
