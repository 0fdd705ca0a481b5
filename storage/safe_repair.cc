#include "storage/safe_repair.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "lib/base/concat.h"
#include "storage/ack_beacon.h"
#include "storage/catalog_copy.h"
#include "storage/catalog_names.h"
#include "storage/damage_advice.h"
#include "storage/file_kind.h"
#include "storage/log_end.h"
#include "storage/restored_mark.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/torn_end.h"

namespace cistern {

namespace {

constexpr size_t kNameBytesMax = 256;

// Of a file of ours, by a bare name.
bool IsTemporary(std::string_view name) {
  constexpr std::string_view kNames[] = {kStoreFormatFileName, kRestoringMarkFileName, "ACK",
                                         "CURRENT"};
  if (!name.ends_with(kTemporarySuffix)) return false;
  name.remove_suffix(kTemporarySuffix.size());
  return IsCatalogCopyName(name) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Status CheckManifest(rocksdb::FileSystem* fs, const std::string& path) {
  CISTERN_ASSIGN_OR_RETURN(const LogEnd end, FindLogEnd(fs, path, 0));
  if (end.whole_bytes > 0 && !end.torn) return Status::Ok();
  return Status::Corruption(Concat({path, " is damaged too"}));
}

// The repair that CURRENT needs.
struct CurrentRepair {
  std::string what;      // what is wrong with it, for people
  std::string manifest;  // that it is to name; empty: it names one
};

Result<CurrentRepair> FindRepair(rocksdb::FileSystem* fs, const std::string& directory) {
  if (!CurrentManifest(fs, directory).empty()) return CurrentRepair();
  const auto content = ReadSmallFile(fs, directory + "/CURRENT", kNameBytesMax);
  const StatusCode code = content.status().code();
  const bool is_missing = code == StatusCode::kNotFound;
  if (!content.ok() && !is_missing && code != StatusCode::kCorruption) return content.status();
  const bool is_empty = content.ok() && content->empty();
  const std::string what = Concat({"the file CURRENT ", (is_missing ? "is missing"
      : is_empty ? "is empty" : "names no MANIFEST")});
  std::vector<std::string> names;
  const auto listed = fs->GetChildren(directory, rocksdb::IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory);
  std::erase_if(names, [](const auto& n) { return FileKindOf(n) != FileKind::kManifest; });
  Status fits = names.size() == 1
                    ? CheckManifest(fs, Concat({directory, "/", names.front()}))
                    : Status::Corruption(Concat({"there are ", names.size(), " MANIFEST files in ",
                        directory}));
  if (fits.code() == StatusCode::kCorruption) {
    return Status::Corruption(Concat({what, ", and which MANIFEST it meant cannot be told: ",
        fits.message(), SalvageAdvice(directory)}));
  }
  CISTERN_RETURN_IF_ERROR(fits);
  return CurrentRepair{what, names.front()};
}

}  // namespace

Status CheckCurrent(rocksdb::FileSystem* fs, const std::string& directory) {
  CISTERN_ASSIGN_OR_RETURN(const CurrentRepair repair, FindRepair(fs, directory));
  if (repair.manifest.empty()) return Status::Ok();
  return Status::Corruption(Concat({repair.what, RepairAdvice(directory)}));
}

Result<std::string> RepairCurrent(rocksdb::FileSystem* fs, const std::string& directory) {
  CISTERN_ASSIGN_OR_RETURN(const CurrentRepair repair, FindRepair(fs, directory));
  if (repair.manifest.empty()) return std::string();
  CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs, directory, "CURRENT", repair.manifest + "\n"));
  return Concat({repair.what, ": it was written anew with ", repair.manifest, ", the only one"});
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

Status RemoveTemporaries(rocksdb::FileSystem* fs, const std::string& directory) {
  std::vector<std::string> names;
  const auto listed = fs->GetChildren(directory, rocksdb::IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory);
  for (const std::string& name : names) {
    if (!IsTemporary(name)) continue;
    // What stays is tried again by the next opening: no reason to stay shut.
    fs->DeleteFile(directory + "/" + name, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
  }
  return Status::Ok();
}

Result<StoreFormat> RecoverStoreFormat(rocksdb::FileSystem* fs, const std::string& directory,
                                       const Status& why) {
  const std::string mark = Concat({directory, "/", kRestoringMarkFileName});
  if (fs->FileExists(mark, rocksdb::IOOptions(), nullptr).ok()) return why;
  // ACK is a witness, where it can be read: a copy that is of another store must not make this one
  // the other.
  const std::string witnessed = AckBeacon::StoreIdIn(fs, directory).value_or("");
  const auto copy = CatalogCopy::Read(fs, directory, witnessed);
  if (copy.status().code() == StatusCode::kCorruption) {
    return Status::Corruption(why.message() + ", and the copy of the catalog cannot tell which "
                              "store this is: " + copy.status().message());
  }
  if (!copy.ok()) return why;
  return StoreFormat{.version = kStoreFormatVersion, .ready = true, .store_id = copy->store_id};
}

}  // namespace cistern
