// What was sealed in a window that has ended, kept a second time: beside the database.
#ifndef CISTERN_STORAGE_ENDED_SEALS_H_
#define CISTERN_STORAGE_ENDED_SEALS_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "storage/store_db.h"

namespace cistern {

// Of an ended window the manifests alone tell which segments in spill families were sealed there
// and are not to rise. A live window's own files tell as much; those of an ended one are dropped.
// So its manifests are copied into the file ENDED-<16 hex digits> while a spill family needs them.
// Bytes: KEYSPACE.md.

// Writes the file from `meta`, durably. Takes memory for a frame of it.
[[nodiscard]] Status WriteEndedSeals(rocksdb::FileSystem* fs, const std::string& directory,
                                     const FamilyPtr& meta, uint64_t window_id);

using VisitEndedSeal = std::function<Status(std::string_view key, std::string_view value)>;
// Visits what the file has. kNotFound: there is none. kCorruption: it ends early, or is damaged;
// what was readable before the damage was visited.
[[nodiscard]] Status ReadEndedSeals(rocksdb::FileSystem* fs, const std::string& directory,
                                    uint64_t window_id, const VisitEndedSeal& visit);

// OK also if there is none.
[[nodiscard]] Status RemoveEndedSeals(rocksdb::FileSystem* fs, const std::string& directory,
                                      uint64_t window_id);

// The windows whose files are in the directory.
[[nodiscard]] Result<std::set<uint64_t>> ListEndedSeals(rocksdb::FileSystem* fs,
                                                        const std::string& directory);

}  // namespace cistern

#endif  // CISTERN_STORAGE_ENDED_SEALS_H_
