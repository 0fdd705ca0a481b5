#include "storage/safe_repair.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "storage/catalog_copy.h"
#include "storage/file_kind.h"
#include "storage/log_reader.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {

namespace {

constexpr size_t kNameBytesMax = 256;

bool IsManifestLine(const std::string& content) {
  return content.size() > 1 && content.back() == '\n' &&
         FileKindOf(content.substr(0, content.size() - 1)) == FileKind::kManifest;
}

Status CheckManifest(rocksdb::FileSystem* fs, const std::string& path) {
  CISTERN_ASSIGN_OR_RETURN(const auto reader, LogReader::Open(fs, path));
  std::string record;
  uint64_t count = 0;
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const bool more, reader->Next(&record));
    if (!more) break;
    ++count;
  }
  if (count > 0 && reader->damage_count() == 0) return Status::Ok();
  return Status::Corruption(path + " is damaged too");
}

}  // namespace

Result<std::string> RepairCurrent(rocksdb::FileSystem* fs, const std::string& directory) {
  const auto content = ReadSmallFile(fs, directory + "/CURRENT", kNameBytesMax);
  if (content.ok() && IsManifestLine(*content)) return std::string();
  const StatusCode code = content.status().code();
  const bool is_missing = code == StatusCode::kNotFound;
  if (!content.ok() && !is_missing && code != StatusCode::kCorruption) return content.status();
  const std::string what = is_missing ? "the file CURRENT is missing"
                                      : "the file CURRENT names no MANIFEST";
  std::vector<std::string> names;
  const auto listed = fs->GetChildren(directory, rocksdb::IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory);
  std::erase_if(names, [](const auto& n) { return FileKindOf(n) != FileKind::kManifest; });
  Status fits = names.size() == 1
                    ? CheckManifest(fs, directory + "/" + names.front())
                    : Status::Corruption("there are " + std::to_string(names.size()) +
                                         " MANIFEST files in " + directory);
  if (fits.code() == StatusCode::kCorruption) {
    return Status::Corruption(what + ", and which MANIFEST it meant cannot be told: " +
                              fits.message() +
                              "; salvage the store, or restore the directory from a backup");
  }
  CISTERN_RETURN_IF_ERROR(fits);
  CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs, directory, "CURRENT", names.front() + "\n"));
  return what + ": it was written anew with " + names.front() + ", the only one";
}

Result<std::string> RepairIdentity(rocksdb::FileSystem* fs, const std::string& directory) {
  const auto content = ReadSmallFile(fs, directory + "/IDENTITY", kNameBytesMax);
  const bool is_there = content.ok() && content->find_first_not_of('\0') != std::string::npos;
  if (is_there) return std::string();
  if (content.status().code() == StatusCode::kNotFound) {
    return std::string("the file IDENTITY is missing: RocksDB makes another");
  }
  if (!content.ok() && content.status().code() != StatusCode::kCorruption) {
    return content.status();
  }
  CISTERN_RETURN_IF_ERROR(RemoveFileDurably(fs, directory, "IDENTITY"));
  return std::string("the file IDENTITY is damaged: RocksDB makes another");
}

Result<StoreFormat> RecoverStoreFormat(rocksdb::FileSystem* fs, const std::string& directory,
                                       const Status& why) {
  const auto copy = CatalogCopy::Read(fs, directory);
  if (!copy.ok()) return why;
  return StoreFormat{.version = kStoreFormatVersion, .ready = true, .store_id = copy->store_id};
}

}  // namespace cistern
