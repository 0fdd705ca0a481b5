// Lost tables: files of segments (SST) that are gone, cut or damaged where RocksDB needs them
// whole, found before they are read.
#ifndef CISTERN_STORAGE_LOST_TABLES_H_
#define CISTERN_STORAGE_LOST_TABLES_H_

#include <rocksdb/db.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "storage/family_kind.h"

namespace cistern {

struct LostTable {
  std::string name;          // 000123.sst
  FamilyKind kind = FamilyKind::kSpill;
  uint64_t family_id = 0;    // of a numbered family
  uint64_t size_bytes = 0;   // this and the keys as the MANIFEST has them
  std::string smallest_key;
  std::string largest_key;
  std::string why;           // what is wrong with it
};

// What a database has of files is told by the database if it is open; else by one that is
// opened for reading, without logs and without insisting on its files.
[[nodiscard]] Result<std::vector<rocksdb::LiveFileMetaData>> ListTables(
    rocksdb::DBOptions options, const std::string& directory,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Those of the files that cannot be used: missing, of another size, without a readable footer,
// index or properties; of spill families also those with a segment header that cannot be read,
// as no reader could tell what the file holds. Pages are not looked at. Files of windows are
// looked at only with `windows_too`: what they hold is known from manifests. kTooManyOpenFiles,
// kOutOfMemory: this process cannot look at them, which is no loss.
[[nodiscard]] Result<std::vector<LostTable>> FindLostTables(
    rocksdb::Env* env, const std::string& directory,
    const std::vector<rocksdb::LiveFileMetaData>& files, bool windows_too);

}  // namespace cistern

#endif  // CISTERN_STORAGE_LOST_TABLES_H_
