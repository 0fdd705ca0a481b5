// The files RESTORING and RESTORED: say that a store is being made of a backup, or was.
#ifndef CISTERN_STORAGE_RESTORED_MARK_H_
#define CISTERN_STORAGE_RESTORED_MARK_H_

#include <rocksdb/file_system.h>

#include <optional>
#include <string>
#include <string_view>

#include "cistern/backup.h"
#include "cistern/result.h"
#include "cistern/status.h"

namespace cistern {

// RESTORING is the first file of a restored store and CISTERN the last, but for RESTORED, which
// the first one is renamed to. So a directory with RESTORING and without CISTERN is no store yet:
// nothing opens it, and another restoring may write into it. With RESTORED in it none may, whatever
// else the store has lost. The file is text:
//   cistern restored
//   format 1
//   store 0123456789abcdef0123456789abcdef   identity of the original
//   backup 7
//   taken_us 1799971200000000                wall clock, microseconds since 1970
//   restored_us 1799974800000000
//   checksum 0123456789abcdef                XXH3 of all bytes before this line
inline constexpr std::string_view kRestoringMarkFileName = "RESTORING";
inline constexpr std::string_view kRestoredMarkFileName = "RESTORED";

// Begins a restoring.
[[nodiscard]] Status WriteRestoringMark(rocksdb::FileSystem* fs, const std::string& directory,
                                        const RestoredFrom& from);
// REQUIRES: the store is whole. OK if it was done before, or there is no mark.
[[nodiscard]] Status CompleteRestoredMark(rocksdb::FileSystem* fs, const std::string& directory);
// Of a store. Nothing: it was not made of a backup. kCorruption: the file is damaged, or of a later
// version; a store can do without.
[[nodiscard]] Result<std::optional<RestoredFrom>> ReadRestoredMark(rocksdb::FileSystem* fs,
                                                                   const std::string& directory);

}  // namespace cistern

#endif  // CISTERN_STORAGE_RESTORED_MARK_H_
