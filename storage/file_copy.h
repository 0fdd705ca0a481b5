// Copies of files, with their checksum.
#ifndef CISTERN_STORAGE_FILE_COPY_H_
#define CISTERN_STORAGE_FILE_COPY_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <functional>
#include <string>

#include "cistern/result.h"
#include "cistern/status.h"

namespace cistern {

// Asked between two pieces of a long work: an error ends it.
using KeepOn = std::function<Status()>;

// What was read of a file.
struct FileContent {
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of all that was read
  uint64_t tail = 0;      // of the last kTailBytes of it (storage/backup_record.h)
  Status unreadable;      // not OK: reading ended there
};

// Copies what `source` has from where it is, at most `bytes_max`, to a new file `to` that is on the
// device then; its directory entry is not. Memory: two pieces of 64 KiB. An error of `to` is the
// result, and nothing is left there; one of the source is in `unreadable`, what was read before it
// is in the file. A source that ends before `bytes_max` is no error. A shortage of either is the
// result (lib/base/shortage.h).
[[nodiscard]] Result<FileContent> CopyFile(rocksdb::FSSequentialFile* source, uint64_t bytes_max,
                                           rocksdb::FileSystem* fs, const std::string& to,
                                           const KeepOn& keep_on);

// Reads the file as the device has it: what the system keeps of it in memory is given up first.
// An error is in `unreadable`, kNotFound if there is no such file; that of `keep_on` and a shortage
// are the result.
[[nodiscard]] Result<FileContent> ReadContent(rocksdb::FileSystem* fs, const std::string& path,
                                              const KeepOn& keep_on);

}  // namespace cistern

#endif  // CISTERN_STORAGE_FILE_COPY_H_
