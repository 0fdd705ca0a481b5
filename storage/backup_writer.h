// BackupWriter: one backup of an open store, from the first look to the last sync.
#ifndef CISTERN_STORAGE_BACKUP_WRITER_H_
#define CISTERN_STORAGE_BACKUP_WRITER_H_

#include <rocksdb/db.h>
#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cistern/backup.h"
#include "cistern/result.h"
#include "storage/backup_directory.h"
#include "storage/store_db.h"
#include "storage/store_lock.h"

namespace cistern {

// The steps, in this order; after an error of any the writer is of no use. What was copied until
// then stays for the next one, and no backup is touched.
//
// Files of the database are kept readable by being open, not by DisableFileDeletions: enabling
// those again deletes what RocksDB takes for obsolete, which after a failed write of the MANIFEST
// is the MANIFEST. So as few as possible are new at the moment of Pin.
//
// One thread at a time, beside any others of the store.
class BackupWriter {
 public:
  // Checks and locks the directory, and takes the next number. `db` must outlive the writer.
  // `keep_on` is asked between two pieces. Errors as Engine::Backup.
  [[nodiscard]] static Result<std::unique_ptr<BackupWriter>> Begin(const StoreDb* db,
                                                                   const std::string& directory,
                                                                   KeepOn keep_on);
  // Copies the tables that the directory does not have, until few new ones come.
  [[nodiscard]] Status CopyAhead();
  // REQUIRES: nothing writes journal records, flushes, makes or drops families meanwhile. Opens
  // what the store consists of at this moment: what a process leaves that is killed now. Quick.
  // `sequence` is the last journal record, `taken_us` the wall clock.
  [[nodiscard]] Status Pin(uint64_t sequence, int64_t taken_us);
  [[nodiscard]] Status CopyPinned();
  // Makes the backup be there, then removes what is not to be kept: BackupOptions::keep_count.
  [[nodiscard]] Result<BackupReport> Finish(size_t keep_count);

 private:
  struct Table {  // as the database has it
    uint64_t size_bytes = 0;
    bool is_catalog = false;
  };
  using Tables = std::map<std::string, Table>;
  struct PinnedFile {
    std::string name;
    uint64_t bytes_max = 0;  // as many count
    std::unique_ptr<rocksdb::FSSequentialFile> source;
  };

  BackupWriter(const StoreDb* db, const std::string& directory, KeepOn keep_on);
  [[nodiscard]] Status TakeDirectory();
  [[nodiscard]] Status CheckPlace() const;
  [[nodiscard]] Status TakeNumber();
  [[nodiscard]] Tables ListTables() const;
  [[nodiscard]] Status CheckRoom(const Tables& fresh) const;
  // One attempt of Pin; false: a file went while it was being opened.
  [[nodiscard]] Result<bool> TryPin(bool is_last);
  [[nodiscard]] Result<bool> PinTable(const std::string& name, const Table& table, bool is_last);
  [[nodiscard]] Result<bool> PinOwn(const std::string& name, uint64_t bytes_max);

  [[nodiscard]] Result<std::unique_ptr<rocksdb::FSSequentialFile>> OpenSource(
      const std::string& name) const;
  [[nodiscard]] Status CopyTable(const std::string& name, const Table& table);
  // Whether the directory has the table already; it is in known_ then.
  [[nodiscard]] Result<bool> FindCopy(const std::string& name, const Table& table);
  [[nodiscard]] Status AddCopy(const std::string& name, const Table& table,
                               rocksdb::FSSequentialFile* source);
  [[nodiscard]] Result<FileContent> CopyAndCompare(rocksdb::FSSequentialFile* source,
                                                   uint64_t bytes_max, const std::string& path);
  [[nodiscard]] Status Lose(const std::string& name, const Table& table, const std::string& why);
  void Examine(const BackupFile& file, const Table& table);
  void NoteProblem(const std::string& name, const std::string& what);
  [[nodiscard]] Result<std::vector<uint64_t>> RemoveOld(size_t keep_count);

  const StoreDb* const db_;
  StoreFileSystem* const source_fs_;
  const KeepOn keep_on_;
  BackupDirectory target_;
  std::unique_ptr<StoreLock> lock_;
  std::map<std::string, uint64_t> shared_;     // files of the directory, when it began
  std::set<std::string> named_;                // of these those that backups name
  std::map<std::string, std::string> marked_;  // what backups say of files by shared name
  std::map<std::string, BackupFile> known_;    // tables that the directory has, by name
  std::map<std::string, std::string> problems_;  // by name
  Tables pinned_tables_;                       // sizes as of Pin
  std::vector<PinnedFile> pinned_;
  std::vector<std::string> live_;              // tables of the backup
  std::set<std::string> copied_;               // files that were, tables that went since too
  BackupRecord record_;
  BackupReport report_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BACKUP_WRITER_H_
