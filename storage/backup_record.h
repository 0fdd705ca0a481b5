// BackupRecord: what one backup consists of. It is there from the moment on that this is.
#ifndef CISTERN_STORAGE_BACKUP_RECORD_H_
#define CISTERN_STORAGE_BACKUP_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"

namespace cistern {

// A file of the store as the backup has it. Files of segments and of the catalog (SST) never
// change, and all backups share them; the others a backup has for itself.
struct BackupFile {
  std::string name;         // in the store: 000012.sst, MANIFEST-000004, 000013.log
  uint64_t size_bytes = 0;
  uint64_t checksum = 0;    // XXH3-64 of all its bytes
  uint64_t tail = 0;        // shared ones: XXH3-64 of its last kTailBytes, or of all if it has less
  [[nodiscard]] bool is_shared() const { return name.ends_with(".sst"); }
  // Shared ones: its name among them, which tells what it holds. Two stores that were one once may
  // give different files the same name.
  [[nodiscard]] std::string SharedName() const;
  friend bool operator==(const BackupFile&, const BackupFile&) = default;
};

// RocksDB's properties of an SST, its session and number among them, are in its last bytes.
inline constexpr uint64_t kTailBytes = 4096;

// The file CONTENTS of a backup is text:
//   cistern backup
//   format 1
//   number 7
//   store 0123456789abcdef0123456789abcdef    identity of the store, StoreFormat
//   taken_us 1799971200000000                 wall clock, microseconds since 1970
//   sequence 1234                             every journal record up to this one is in it
//   file 0123456789abcdef 812 MANIFEST-000004                   checksum, bytes, name
//   shared 0123456789abcdef fedcba9876543210 4096 000012.sst    checksum, tail, bytes, name
//   problem 000012.sst: what is wrong with it                   of the store when it was taken
//   checksum 0123456789abcdef                 XXH3 of all bytes before this line
// Files and problems in any number; the first two lines stay as they are in every later version.
struct BackupRecord {
  uint64_t number = 0;
  std::string store_id;
  int64_t taken_us = 0;
  uint64_t sequence = 0;
  std::vector<BackupFile> files;
  std::vector<std::string> problems;

  [[nodiscard]] uint64_t byte_count() const;
};

inline constexpr uint32_t kBackupFormatVersion = 1;
inline constexpr std::string_view kBackupRecordFileName = "CONTENTS";
inline constexpr uint64_t kBackupRecordBytesMax = 16 * 1024 * 1024;

[[nodiscard]] std::string EncodeBackupRecord(const BackupRecord& record);
// kTooNew before anything else of a newer one is looked at; kCorruption if damaged. No name in it
// leads out of its directory.
[[nodiscard]] Result<BackupRecord> DecodeBackupRecord(std::string_view text);

// The file BACKUPS says that a directory has backups, and of which store:
//   cistern backups
//   format 1
//   store 0123456789abcdef0123456789abcdef
//   checksum 0123456789abcdef
inline constexpr std::string_view kBackupsFileName = "BACKUPS";
[[nodiscard]] std::string EncodeBackupOwner(std::string_view store_id);
// The store's identity; errors as DecodeBackupRecord.
[[nodiscard]] Result<std::string> DecodeBackupOwner(std::string_view text);

}  // namespace cistern

#endif  // CISTERN_STORAGE_BACKUP_RECORD_H_
