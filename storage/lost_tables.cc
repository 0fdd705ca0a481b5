#include "storage/lost_tables.h"

#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>

#include <memory>
#include <utility>

#include "lib/base/concat.h"
#include "lib/base/shortage.h"
#include "storage/header_iterator.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

// Every block that readers of headers are led to, and no other: those that hold headers, and the
// first one of a file that begins with pages. The rotations of a file are found one behind the
// other, by the index of the file.
rocksdb::Status ReadHeaders(rocksdb::SstFileReader* reader,
                            const rocksdb::LiveFileMetaData& file) {
  const auto headers = NewHeaderIterator(
      [reader](const rocksdb::ReadOptions& options) { return reader->NewIterator(options); },
      false);
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> all(reader->NewIterator(options));
  const uint64_t last = RotationOfKey(file.largestkey);
  for (uint64_t rotation = RotationOfKey(file.smallestkey);;) {
    headers->Seek(HeaderKeyFrom(rotation, ""));
    while (headers->Valid()) headers->Next();
    if (!headers->status().ok() || rotation >= last) return headers->status();
    all->Seek(HeaderKeyFrom(rotation + 1, ""));
    if (!all->Valid()) return all->status();
    rotation = RotationOfKey(all->key().ToStringView());
  }
}

// What is wrong with the file; empty: nothing. An error: it cannot be looked at now.
Result<std::string> Examine(rocksdb::Env* env, const std::string& directory,
                    const rocksdb::LiveFileMetaData& file, bool headers) {
  const std::string path = Concat({directory, "/", file.relative_filename});
  uint64_t is_bytes = 0;
  rocksdb::Status s = env->GetFileSize(path, &is_bytes);
  if (s.IsNotFound() || s.IsPathNotFound()) return std::string("it is missing");
  if (s.ok() && is_bytes != file.size) {
    return Concat({"it has ", is_bytes, " bytes, it had ", file.size});
  }
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;  // index and filter are read with the footer
  rocksdb::Options options;
  options.env = env;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::SstFileReader reader(options);
  if (s.ok()) s = reader.Open(path);
  if (s.ok() && headers) s = ReadHeaders(&reader, file);
  if (s.ok()) return std::string();
  const Status status = ToStatus(s, "opening " + path);
  return IsShortage(status) ? Result<std::string>(status) : s.ToString();
}

}  // namespace

Result<std::vector<rocksdb::LiveFileMetaData>> ListTables(
    rocksdb::DBOptions options, const std::string& directory,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  options.paranoid_checks = false;
  options.create_if_missing = false;
  options.create_missing_column_families = false;
  std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
  for (const auto& family : families) {
    if (FamilyKindOf(family.name) != FamilyKind::kJournal) wanted.push_back(family);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status s =
      rocksdb::DB::OpenForReadOnly(options, directory, wanted, &handles, &raw);
  if (!s.ok()) {
    const std::string what = "listing the files of " + directory;
    const Status status = ToStatus(s, what);
    return IsShortage(status) ? status : Status::Corruption(Concat({what, ": ", s.ToString()}));
  }
  const std::unique_ptr<rocksdb::DB> db(raw);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return files;
}

Result<std::vector<LostTable>> FindLostTables(
    rocksdb::Env* env, const std::string& directory,
    const std::vector<rocksdb::LiveFileMetaData>& files, bool windows_too) {
  std::vector<LostTable> lost;
  for (const rocksdb::LiveFileMetaData& file : files) {
    const FamilyKind kind = FamilyKindOf(file.column_family_name).value_or(FamilyKind::kDefault);
    const bool is_spill = kind == FamilyKind::kSpill;
    if (!is_spill && !windows_too) continue;
    CISTERN_ASSIGN_OR_RETURN(std::string why, Examine(env, directory, file, is_spill));
    if (why.empty()) continue;
    lost.push_back({file.relative_filename, kind,
                    FamilyNumberOf(file.column_family_name).value_or(0), file.size,
                    file.smallestkey, file.largestkey, std::move(why)});
  }
  return lost;
}

}  // namespace cistern
