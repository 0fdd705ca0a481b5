// Backups: a directory of them, what is in it, and a store made of one. Engine::Backup adds one.
#ifndef CISTERN_BACKUP_H_
#define CISTERN_BACKUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cistern/clock.h"
#include "cistern/export.h"
#include "cistern/limits.h"
#include "cistern/result.h"

namespace cistern {

struct BackupOptions {
  // As many of the newest backups without a problem stay, and all that are newer than the oldest
  // of these. A backup with problems is added, and removes no other. 1 to limits::kBackupKeepMax.
  size_t keep_count = limits::kBackupKeepDefault;
};

// What Engine::Backup did.
struct BackupReport {
  uint64_t number = 0;    // in its directory, from 1
  int64_t taken_us = 0;   // wall clock of the moment that it shows, microseconds since 1970
  uint64_t sequence = 0;  // every commit group up to this one is in it
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t files_copied = 0;  // of these; the others were in the directory
  uint64_t bytes_copied = 0;
  int64_t held_us = 0;    // for so long no commit and no step of maintenance could begin
  std::vector<uint64_t> removed;      // older backups that went, ascending
  std::vector<std::string> problems;  // what of the store is damaged or gone, and so in the backup
};

// A line of the list of backups. Unreadable ones are listed too, with one problem and no numbers.
struct BackupInfo {
  uint64_t number = 0;
  bool readable = false;  // its list of files is whole; VerifyBackup looks at the files
  std::string store_id;   // 32 hexadecimal digits: of the store that it is of
  int64_t taken_us = 0;   // this and those below as in BackupReport
  uint64_t sequence = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::vector<std::string> problems;
};

struct BackupCheck {
  uint64_t number = 0;
  uint64_t files = 0;  // looked at
  uint64_t bytes = 0;
  // What differs from what was written, each with its file; then what the backup itself says.
  std::vector<std::string> problems;
};

struct RestoreOptions {
  uint64_t number = 0;  // 0: the newest one that is readable
  // The new store is another one than the original: for a copy beside an original that lives on.
  bool new_identity = false;
  // Files of segments that are damaged or gone are no reason to stop: the store has the rest, and
  // treats them as a store treats damage. Each is a problem of the report.
  bool damaged_too = false;
  std::shared_ptr<Clock> clock{};  // null: the machine's
};

struct RestoreReport {
  uint64_t number = 0;
  std::string store_id;  // of the new store
  int64_t taken_us = 0;  // as in BackupReport
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::vector<std::string> problems;  // of damaged_too, and what the backup itself says
};

// Where a store came from that was made of a backup.
struct RestoredFrom {
  std::string store_id;     // of the original
  uint64_t number = 0;      // of the backup
  int64_t taken_us = 0;     // as in BackupReport
  int64_t restored_us = 0;  // wall clock, microseconds since 1970
};

// The backups in a directory, by number. Reads, and changes nothing; beside a Backup that runs it
// lists what is whole.
//   kNotFound  the directory has no backups
//   kTooNew    written by a newer version
[[nodiscard]] CISTERN_EXPORT Result<std::vector<BackupInfo>> ListBackups(
    const std::string& directory);

// Reads every file of the backup and compares it with what was written; 0: of the newest one that
// is readable. Damage is no error but one of the problems. kNotFound: no such backup;
// kTooManyOpenFiles, kOutOfMemory: it could not be looked at; others as ListBackups. Not beside a
// Backup into the same directory, which may remove this one: kIoError.
[[nodiscard]] CISTERN_EXPORT Result<BackupCheck> VerifyBackup(const std::string& directory,
                                                              uint64_t number = 0);

// Makes a store in `to` of a backup in `from`: what a process leaves that was killed at the moment
// of the backup. What was confirmed then is confirmed; what was confirmed later is sent once more,
// which changes nothing upstream. Every file is checked against the backup on its way. One that was
// interrupted is begun again by the same call; until one is done `to` is no store and nothing opens
// it.
//   kInvalidArgument  `to` is a file, has other things in it, or is in or above `from`
//   kNotFound         no such backup
//   kAlreadyExists    there is a store in `to`
//   kLocked           another process restores there
//   kCorruption       a file of the backup is damaged or gone; the message names it
//   kNoSpace, kReadOnly, kIoError  of `to`; call it again
//   kTooManyOpenFiles, kOutOfMemory  of this process, and no damage; call it again
[[nodiscard]] CISTERN_EXPORT Result<RestoreReport> RestoreBackup(
    const std::string& from, const std::string& to, const RestoreOptions& options = {});

}  // namespace cistern

#endif  // CISTERN_BACKUP_H_
