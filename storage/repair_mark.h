// The file REPAIRING: says that an opening gives up damaged records of logs.
#ifndef CISTERN_STORAGE_REPAIR_MARK_H_
#define CISTERN_STORAGE_REPAIR_MARK_H_

#include <rocksdb/file_system.h>

#include <string>
#include <string_view>

#include "lib/base/concat.h"
#include "storage/small_file.h"

namespace cistern {

// RocksDB brings what it has read of damaged logs into files before the catalog is looked at, so a
// second opening would find nothing wrong. The file is there from before that on, until the catalog
// was counted and put right: an opening that finds it takes nothing for granted either. What the
// file says is for people.
inline constexpr std::string_view kRepairMarkFileName = "REPAIRING";

[[nodiscard]] inline Status WriteRepairMark(rocksdb::FileSystem* fs,
                                            const std::string& directory) {
  return WriteFileDurably(fs, directory, std::string(kRepairMarkFileName),
                          "damaged records of logs were given up, the catalog is to be counted\n");
}

[[nodiscard]] inline bool HasRepairMark(rocksdb::FileSystem* fs, const std::string& directory) {
  return fs->FileExists(Concat({directory, "/", kRepairMarkFileName}), rocksdb::IOOptions(),
                        nullptr).ok();
}

// OK if there is none. REQUIRES: what the catalog counts is there, and on the device.
[[nodiscard]] inline Status EndRepair(rocksdb::FileSystem* fs, const std::string& directory) {
  if (!HasRepairMark(fs, directory)) return Status::Ok();
  return RemoveFileDurably(fs, directory, std::string(kRepairMarkFileName));
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_REPAIR_MARK_H_
