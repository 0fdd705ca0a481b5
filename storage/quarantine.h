// Copies of damaged logs, kept for people before recovery gives records up.
#ifndef CISTERN_STORAGE_QUARANTINE_H_
#define CISTERN_STORAGE_QUARANTINE_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cistern/result.h"

namespace cistern {

inline constexpr char kQuarantineName[] = "quarantine";
inline constexpr size_t kQuarantineCopiesMax = 2;
inline constexpr uint64_t kQuarantineBytesMax = 64 * 1024 * 1024;

// Links (or copies) CURRENT, every MANIFEST and every WAL of the store into
// quarantine/<number>/ and returns that directory. Keeps the newest
// kQuarantineCopiesMax; if the newest holds the same files already, as in a crash
// loop, nothing is copied. At most kQuarantineBytesMax a copy, smaller files first.
[[nodiscard]] Result<std::string> QuarantineLogs(rocksdb::FileSystem* fs,
                                                 const std::string& directory);

// What stands behind a byte of a file.
struct FileEnd {
  std::string name;
  uint64_t from_bytes = 0;
};

// Copies the ends of files into quarantine/torn/, as NAME.from-BYTES, in place of what an earlier
// call left there of these files and of such that are gone. At most kQuarantineBytesMax with what
// stays: kTooLarge, and those before are kept. No ends: nothing is touched.
[[nodiscard]] Status QuarantineEnds(rocksdb::FileSystem* fs, const std::string& directory,
                                    const std::vector<FileEnd>& ends);

}  // namespace cistern

#endif  // CISTERN_STORAGE_QUARANTINE_H_
