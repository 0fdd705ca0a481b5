// What an opening puts right by itself: there is one way alone to do it, and no row depends on it.
#ifndef CISTERN_STORAGE_SAFE_REPAIR_H_
#define CISTERN_STORAGE_SAFE_REPAIR_H_

#include <rocksdb/file_system.h>

#include <string>

#include "cistern/result.h"
#include "storage/store_format.h"

namespace cistern {

// CURRENT says which MANIFEST is in force. Where it is missing, empty or no such name, and the
// directory has one MANIFEST, every record of which can be read, that is the one. Returns what was
// done, for people; empty: there was nothing to do. kCorruption says why it cannot be told.
// REQUIRES: the store's lock.
[[nodiscard]] Result<std::string> RepairCurrent(rocksdb::FileSystem* fs,
                                                const std::string& directory);

// IDENTITY is a number that RocksDB gave the database, of which nothing depends. RocksDB makes
// another where there is none; an empty file, or one that cannot be read, is taken away for that.
// Returns as above. REQUIRES: the store's lock.
[[nodiscard]] Result<std::string> RepairIdentity(rocksdb::FileSystem* fs,
                                                 const std::string& directory);

// What CISTERN said, by the copy of the catalog (catalog_copy.h), where CISTERN is missing or
// damaged. `why` is what reading it said. It is told where the copy cannot be read either, and
// where a restoring was interrupted, as the directory is no store then.
[[nodiscard]] Result<StoreFormat> RecoverStoreFormat(rocksdb::FileSystem* fs,
                                                     const std::string& directory,
                                                     const Status& why);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SAFE_REPAIR_H_
