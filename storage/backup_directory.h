// BackupDirectory: the backups of one store, beside one another, and what they share.
#ifndef CISTERN_STORAGE_BACKUP_DIRECTORY_H_
#define CISTERN_STORAGE_BACKUP_DIRECTORY_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cistern/backup.h"
#include "cistern/result.h"
#include "storage/backup_record.h"
#include "storage/file_copy.h"
#include "storage/file_system.h"

namespace cistern {

// What is in the directory:
//   BACKUPS                    whose backups these are
//   CISTERN.lock               held while one is written
//   shared/000012-T-C.sst      a file that never changes, by name, tail and checksum
//   7/CONTENTS                 says that backup 7 is there, and what it consists of
//   7/MANIFEST-000004 ...      its own files
// A number without CONTENTS is a backup that was begun and is none; a file of `shared` that no
// backup names is of one that was begun, or of one that went. Both are taken up or taken away by
// the next Backup. One thread at a time.
class BackupDirectory {
 public:
  // `base` as StoreConfig::base_fs. Nothing is read.
  BackupDirectory(std::shared_ptr<rocksdb::FileSystem> base, std::string directory);

  // The identity of the store, by the newest backup where BACKUPS is damaged or gone. kNotFound:
  // the directory has no backups, or is not there; kCorruption: nothing there tells.
  [[nodiscard]] Result<std::string> ReadOwner() const;
  // Of the backups that are there, readable or not, ascending.
  [[nodiscard]] Result<std::vector<uint64_t>> ListNumbers() const;
  // Those that were begun and are none, ascending.
  [[nodiscard]] Result<std::vector<uint64_t>> ListUnfinished() const;
  // kNotFound: no such backup; kCorruption, kTooNew: its CONTENTS.
  [[nodiscard]] Result<BackupRecord> Read(uint64_t number) const;
  // The record of that number; 0: of the newest one that is readable. kNotFound: there is none.
  [[nodiscard]] Result<BackupRecord> Find(uint64_t number) const;
  // The files that backups share, with their sizes, by name.
  [[nodiscard]] Result<std::map<std::string, uint64_t>> ListShared() const;

  // What differs from the record, each with its file. An error of `keep_on` alone is the result.
  [[nodiscard]] Result<BackupCheck> Check(const BackupRecord& record, const KeepOn& keep_on) const;

  // --- changes: while the lock is held (storage/backup_writer.h)
  // Writes BACKUPS, unless it is there and whole.
  [[nodiscard]] Status WriteOwner(const std::string& store_id);
  // Makes the directory of the backup and that of what is shared.
  [[nodiscard]] Status Prepare(uint64_t number);
  // From here on the backup is there.
  [[nodiscard]] Status Write(const BackupRecord& record);
  // From the first step on the backup is not there. Shared files stay.
  [[nodiscard]] Status Remove(uint64_t number);
  // Removes shared files that no backup names. Where one is not readable nothing is removed.
  [[nodiscard]] Status RemoveUnnamed();

  [[nodiscard]] std::string PathOf(uint64_t number, const BackupFile& file) const;
  [[nodiscard]] std::string SharedPath() const { return directory_ + "/shared"; }
  [[nodiscard]] std::string PathOf(uint64_t number) const {
    return directory_ + "/" + std::to_string(number);
  }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::shared_ptr<StoreFileSystem>& fs() const { return fs_; }

 private:
  // What BACKUPS says; kNotFound: it is not there.
  [[nodiscard]] Result<std::string> ReadOwnerFile() const;
  // The numbers that name directories, and whether each has CONTENTS.
  [[nodiscard]] Result<std::vector<std::pair<uint64_t, bool>>> ListAll() const;

  const std::string directory_;
  const std::shared_ptr<StoreFileSystem> fs_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BACKUP_DIRECTORY_H_
