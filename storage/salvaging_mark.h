// The file SALVAGING: says that a store is being made from what can be read of another one.
#ifndef CISTERN_STORAGE_SALVAGING_MARK_H_
#define CISTERN_STORAGE_SALVAGING_MARK_H_

#include <rocksdb/file_system.h>

#include <string>
#include <string_view>

#include "cistern/status.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {

// It is there before the file CISTERN is, and goes when the store has everything. A directory with
// it is no store: half of the rows would pass for all of them. Another salvage may begin anew
// there. What the file says is for people.
inline constexpr std::string_view kSalvagingMarkFileName = "SALVAGING";

[[nodiscard]] inline Status WriteSalvagingMark(rocksdb::FileSystem* fs,
                                               const std::string& directory) {
  return WriteFileDurably(fs, directory, std::string(kSalvagingMarkFileName),
                          "what could be salvaged of a store is being written here\n");
}

[[nodiscard]] inline bool HasSalvagingMark(rocksdb::FileSystem* fs, const std::string& directory) {
  const std::string path = directory + "/" + std::string(kSalvagingMarkFileName);
  return fs->FileExists(path, rocksdb::IOOptions(), nullptr).ok();
}

// REQUIRES: the store is whole, and on the device.
[[nodiscard]] inline Status EndSalvaging(rocksdb::FileSystem* fs, const std::string& directory) {
  return RemoveFileDurably(fs, directory, std::string(kSalvagingMarkFileName));
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_SALVAGING_MARK_H_
