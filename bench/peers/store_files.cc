#include "bench/peers/store_files.h"

#include <rocksdb/db.h>

#include <memory>
#include <vector>

namespace cistern::bench {

std::map<std::string, uint64_t> FamilyFileBytes(const std::string& directory) {
  std::map<std::string, uint64_t> bytes;
  std::vector<std::string> names;
  const rocksdb::DBOptions options;
  if (!rocksdb::DB::ListColumnFamilies(options, directory, &names).ok()) return bytes;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(options, directory, families, &handles, &opened).ok()) {
    return bytes;
  }
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const auto& file : files) bytes[file.column_family_name] += file.size;
  for (auto* handle : handles) (void)db->DestroyColumnFamilyHandle(handle);
  return bytes;
}

}  // namespace cistern::bench
