// What an opening puts right by itself: there is one way alone to do it, and no row depends on it.
#ifndef CISTERN_STORAGE_SAFE_REPAIR_H_
#define CISTERN_STORAGE_SAFE_REPAIR_H_

#include <rocksdb/file_system.h>

#include <string>

#include "cistern/result.h"
#include "cistern/status.h"
#include "storage/store_format.h"

namespace cistern {

// CURRENT says which MANIFEST is in force. Where it is missing, empty or no such name, and the
// directory has one MANIFEST, every record of which can be read, that is the one. Returns what was
// done, for people; empty: there was nothing to do. kCorruption says why it cannot be told.
// REQUIRES: the store's lock.
[[nodiscard]] Result<std::string> RepairCurrent(rocksdb::FileSystem* fs,
                                                const std::string& directory);

// The same for a reader, which repairs nothing. kCorruption: it names no MANIFEST; the message says
// how it is repaired, or why it cannot be.
[[nodiscard]] Status CheckCurrent(rocksdb::FileSystem* fs, const std::string& directory);

// IDENTITY is a number that RocksDB gave the database, of which nothing depends. RocksDB makes
// another where there is none; an empty file, or one that cannot be read, is taken away for that.
// Returns as above. REQUIRES: the store's lock.
[[nodiscard]] Result<std::string> RepairIdentity(rocksdb::FileSystem* fs,
                                                 const std::string& directory);

// Removes what a crash left of small files that were being written (small_file.h): no other write
// takes away what is left of a file that is not written again. REQUIRES: the store's lock.
[[nodiscard]] Status RemoveTemporaries(rocksdb::FileSystem* fs, const std::string& directory);

// What CISTERN said, by the copy of the catalog (catalog_copy.h), where CISTERN is missing or
// damaged. `why` is what reading it said. It is told where there is no copy either, and where a
// restoring was interrupted, as the directory is no store then. kCorruption: the copies are of
// different stores, or of another one than ACK, and nothing is guessed.
[[nodiscard]] Result<StoreFormat> RecoverStoreFormat(rocksdb::FileSystem* fs,
                                                     const std::string& directory,
                                                     const Status& why);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SAFE_REPAIR_H_
