#include "storage/database_opener.h"

#include <algorithm>
#include <utility>

#include "lib/base/concat.h"
#include "lib/base/shortage.h"
#include "lib/base/unwind_guard.h"
#include "storage/damage_advice.h"
#include "storage/rocksdb_status.h"
#include "storage/stand_in.h"

namespace cistern {

// RocksDB keeps errno only as a text.
bool LacksFile(const Status& status) {
  return status.code() == StatusCode::kIoError &&
         status.message().find("No such file or directory") != std::string::npos;
}

rocksdb::DBOptions DatabaseOpener::Options() const {
  rocksdb::DBOptions options = MakeDbOptions({.env = store_->env.get(),
                                              .info_log = store_->info_log,
                                              .cache = store_->cache,
                                              .write_buffers = store_->write_buffers,
                                              .met_corruption = store_->met_corruption});
  options.create_if_missing = creating_;
  options.create_missing_column_families = creating_;
  // Segments rest where there may be stand-ins, which have other identities.
  options.verify_sst_unique_id_in_manifest =
      store_->lost_tables.empty() && !store_->config.segments_rest;
  return options;
}

Status DatabaseOpener::OpenError(const rocksdb::Status& error, const std::string& context) const {
  Status status = ToStatus(error, context);
  // A file that the MANIFEST or CURRENT names is gone. Beside a live writer that may
  // happen to a reader; otherwise it is damage.
  return LacksFile(status) && !is_read_only() ? Status::Corruption(status.message()) : status;
}

Result<std::vector<rocksdb::ColumnFamilyDescriptor>> DatabaseOpener::DescribeFamilies() {
  std::vector<std::string> names = {"default", std::string(kMetaFamilyName)};
  if (!creating_) {
    const rocksdb::Status listed = rocksdb::DB::ListColumnFamilies(Options(), directory(), &names);
    if (!listed.ok()) return OpenError(listed, "reading the MANIFEST of " + directory());
    if (std::find(names.begin(), names.end(), kMetaFamilyName) == names.end()) {
      return Status::Corruption(Concat({"the database in ", directory(), " has no catalog"}));
    }
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) {
    const auto kind = FamilyKindOf(name);
    if (!kind) {
      return Status::Corruption(Concat({"the database in ", directory(),
          " has the unknown family '", name, "'"}));
    }
    families.emplace_back(name, store_->FamilyOptions(*kind));
  }
  return families;
}

Status DatabaseOpener::Open(const rocksdb::DBOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto families, DescribeFamilies());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      is_read_only()
          ? rocksdb::DB::OpenForReadOnly(options, directory(), families, &handles, &db)
          : rocksdb::DB::Open(options, directory(), families, &handles, &db);
  if (!opened.ok()) return OpenError(opened, "opening the database in " + directory());
  store_->db.reset(db);
  const UnwindGuard unnamed([&] {
    for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    store_->families.clear();
  });
  for (rocksdb::ColumnFamilyHandle* handle : handles) store_->families[handle->GetName()] = handle;
  return Status::Ok();
}

// What is lost of an open database, or of one that does not open for it. Nothing is merged
// meanwhile, as its files would seem to be missing; where some are, not until it is closed.
Result<std::vector<LostTable>> DatabaseOpener::ListLost(bool is_open) {
  std::vector<rocksdb::LiveFileMetaData> files;
  if (is_open) {
    store_->db->PauseBackgroundWork().PermitUncheckedError();
    store_->db->GetLiveFilesMetaData(&files);
  } else {
    CISTERN_ASSIGN_OR_RETURN(const auto families, DescribeFamilies());
    CISTERN_ASSIGN_OR_RETURN(files, ListTables(Options(), directory(), families));
  }
  CISTERN_ASSIGN_OR_RETURN(
      auto lost, FindLostTables(store_->env.get(), directory(), files, !is_open));
  if (is_open && lost.empty()) store_->db->ContinueBackgroundWork().PermitUncheckedError();
  return lost;
}

Status DatabaseOpener::StandIn(std::vector<LostTable> lost) {
  for (const LostTable& table : lost) {
    if (table.kind != FamilyKind::kSpill && table.kind != FamilyKind::kWindow) {
      is_catalog_lost_ = true;
      return Status::Corruption(Concat({directory(), "/", table.name,
          ", a file of the catalog, cannot be used: ", table.why, "; without it nobody can tell "
          "what counts of the rows that are there", SalvageAdvice(directory())}));
    }
    CISTERN_ASSIGN_OR_RETURN(std::string bytes, MakeStandIn(table.largest_key));
    CISTERN_ASSIGN_OR_RETURN(auto fitted, FitStandIn(std::move(bytes), table.size_bytes));
    store_->fs->SetStandIn(Concat({directory(), "/", table.name}), std::move(fitted),
                            table.size_bytes);
  }
  store_->lost_tables = std::move(lost);
  store_->config.segments_rest = true;
  return Status::Ok();
}

// Opens the database with stand-ins for the files that cannot be used, if there are any.
Status DatabaseOpener::OpenAroundLost() {
  Status status = Open(Options());
  const bool may_be_files =
      status.ok() || status.code() == StatusCode::kCorruption || LacksFile(status);
  if (creating_ || !may_be_files) return status;
  auto lost = ListLost(status.ok());
  if (IsShortage(lost.status())) return lost.status();
  if (!lost.ok() || lost->empty()) return status;
  if (status.ok()) CISTERN_RETURN_IF_ERROR(Close());
  CISTERN_RETURN_IF_ERROR(StandIn(*std::move(lost)));
  return Open(Options());
}

Status DatabaseOpener::Close() {
  for (const auto& [name, handle] : store_->families) {
    CISTERN_RETURN_IF_ERROR(
        ToStatus(store_->db->DestroyColumnFamilyHandle(handle), "closing the family " + name));
  }
  store_->families.clear();
  const rocksdb::Status closed = store_->db->Close();
  store_->db.reset();
  return ToStatus(closed, "closing the database in " + directory());
}

}  // namespace cistern
