// A stand-in for a table file (SST) that cannot be read: RocksDB opens no database of which
// it cannot open every file, and an iterator of a family fails with any file of level 0.
#ifndef CISTERN_STORAGE_STAND_IN_H_
#define CISTERN_STORAGE_STAND_IN_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"

namespace cistern {

// The bytes of a table that holds nothing that a reader of segments asks for: one key, which
// sorts among those of the rotation that `largest_key` belongs to and is none of them.
[[nodiscard]] Result<std::string> MakeStandIn(std::string_view largest_key);

// The bytes of a table with these keys, ascending, and empty values.
[[nodiscard]] Result<std::string> MakeTable(const std::vector<std::string>& keys);

// The stand-in as a file of `size_bytes`, the size that the MANIFEST has: its footer is at the
// end, the rest at the beginning. kCorruption if it is longer than that.
[[nodiscard]] Result<std::shared_ptr<const std::string>> FitStandIn(std::string bytes,
                                                                    uint64_t size_bytes);
[[nodiscard]] std::unique_ptr<rocksdb::FSRandomAccessFile> OpenStandIn(
    std::shared_ptr<const std::string> bytes, uint64_t size_bytes);

}  // namespace cistern

#endif  // CISTERN_STORAGE_STAND_IN_H_
