// FindLogEnd: up to where the records of a MANIFEST or of a write-ahead log are whole.
#ifndef CISTERN_STORAGE_LOG_END_H_
#define CISTERN_STORAGE_LOG_END_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>

#include "cistern/result.h"

namespace cistern {

// Of such a file (storage/log_pieces.h).
struct LogEnd {
  uint64_t whole_bytes = 0;  // every piece of a record that ends here or before is whole
  uint64_t record_bytes = 0;  // so is every record, and no piece of another stands before
  uint64_t size_bytes = 0;   // of the file
  // Something other than a record that runs past the end of the file follows: RocksDB would call
  // it damage, or skip it and go on behind it.
  bool torn = false;
  bool zeros_follow = false;  // with `torn`: it is nothing but zeros
};

// Reads the file from the block of byte `from` on. Records before that block are taken for whole.
[[nodiscard]] Result<LogEnd> FindLogEnd(rocksdb::FileSystem* fs, const std::string& path,
                                        uint64_t from);

}  // namespace cistern

#endif  // CISTERN_STORAGE_LOG_END_H_
