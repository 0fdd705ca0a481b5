#include "storage/meta_merge.h"

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/concat.h"
#include "storage/file_survey.h"
#include "storage/rocksdb_status.h"

namespace cistern {
namespace {

// RocksDB looks for a merge from eight runs on: each file behind a flush is one, and so is each of
// the three levels below.
constexpr uint64_t kFilesMin = 5;

// 0: it is not known.
uint64_t PropertyOfMeta(Store& store, const std::string& name) {
  const FamilyPtr meta = store.spills().view()->meta;
  uint64_t value = 0;
  return meta->db()->GetIntProperty(meta->handle(), name, &value) ? value : 0;
}

}  // namespace

uint64_t FilesBehindFlushes(const Family& meta) {
  std::string count;
  const std::string name = rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0";
  if (!meta.db()->GetProperty(meta.handle(), name, &count)) return 0;
  return std::stoull(count);
}

bool MetaMergesAllowed(Store& store) { return store.db().meta_merges_allowed(); }

bool MetaMergesWait(Store& store) {
  return !MetaMergesAllowed(store) && FilesBehindFlushes(*store.spills().view()->meta) >= kFilesMin;
}

Status AllowMetaMerges(Store& store, bool are_allowed) {
  const FamilyPtr meta = store.spills().view()->meta;
  const rocksdb::Status s = meta->db()->SetOptions(
      meta->handle(), {{"disable_auto_compactions", are_allowed ? "false" : "true"}});
  if (s.ok()) store.db().meta_merges_allowed() = are_allowed;
  return ToStatus(s, "switching merges of meta on or off");
}

uint64_t MetaMergeBytes(Store& store) {
  return PropertyOfMeta(store, rocksdb::DB::Properties::kLiveSstFilesSize);
}

uint64_t MergeBytesBehindFlush(Store& store) {
  return MetaMergesAllowed(store) ? MetaMergeBytes(store) : 0;
}

uint64_t RoomBesideMerge(Store& store, uint64_t bytes) {
  const uint64_t spare = store.ballast_spare_bytes();
  const bool fits_alone = store.CheckHeadroom(bytes - std::min(bytes, spare)).ok();
  return fits_alone ? bytes + MergeBytesBehindFlush(store) : 0;
}

Status CheckMetaFiles(Store& store) {
  const FamilyPtr meta = store.spills().view()->meta;
  std::vector<rocksdb::LiveFileMetaData> files;
  meta->db()->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name != meta->handle()->GetName()) continue;
    const std::string path = Concat({file.db_path, "/", file.relative_filename});
    CISTERN_ASSIGN_OR_RETURN(const auto reader, OpenTable(meta->db()->GetEnv(), path));
    CISTERN_RETURN_IF_ERROR(ToReadStatus(reader->VerifyChecksum(), "reading " + path));
  }
  return Status::Ok();
}

bool IsMerging(Store& store) {
  return PropertyOfMeta(store, rocksdb::DB::Properties::kNumRunningCompactions) > 0;
}

}  // namespace cistern
