// RestoreStore: a directory that becomes a store, file by file out of a backup.
#ifndef CISTERN_STORAGE_BACKUP_RESTORER_H_
#define CISTERN_STORAGE_BACKUP_RESTORER_H_

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

#include "cistern/backup.h"
#include "cistern/result.h"

namespace cistern {

// As RestoreBackup (cistern/backup.h). `base_fs` as StoreConfig::base_fs, of both directories.
[[nodiscard]] Result<RestoreReport> RestoreStore(const std::string& from, const std::string& to,
                                                 const RestoreOptions& options,
                                                 std::shared_ptr<rocksdb::FileSystem> base_fs);

}  // namespace cistern

#endif  // CISTERN_STORAGE_BACKUP_RESTORER_H_
