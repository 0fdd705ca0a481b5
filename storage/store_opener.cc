#include "storage/store_opener.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/crash_point.h"
#include "storage/quarantine.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/stand_in.h"
#include "storage/store_format.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::WALRecoveryMode;

constexpr int kReadOnlyAttempts = 3;

// RocksDB keeps errno only as a text.
bool LacksFile(const Status& status) {
  return status.code() == StatusCode::kIoError &&
         status.message().find("No such file or directory") != std::string::npos;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What a creation that was cut at its very beginning leaves, or a mount point has.
bool MayBeInEmptyDirectory(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {".", "..", "lost+found", kStoreLockFileName,
                                                      "CISTERN.tmp"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsDatabaseFile(std::string_view name) {
  return FileKindOf(name) != FileKind::kOther || name == "CURRENT" || name == "IDENTITY" ||
         name.ends_with(".dbtmp");
}

// One attempt to open a store. The steps are called in the order of their declaration.
class Opener {
 public:
  explicit Opener(const StoreConfig& config) { store_.config = config; }
  Result<OpenedStore> Run();

 private:
  const StoreConfig& config() const { return store_.config; }
  const std::string& directory() const { return store_.config.directory; }
  void NoteOddity(std::string note);

  Status CheckArguments();
  Status LookAround();     // touches nothing: decides between opening, creating, refusing
  bool MayCreate() const { return config().create_if_missing && !config().read_only; }
  Status CheckIsVacant();  // a directory without the file CISTERN
  Status TakeHold();       // directory, lock; looks again under the lock
  Status PrepareParts();
  Status BeginCreation();
  Status OpenDatabase();
  Status FinishCreation();
  Status Settle();

  Status OpenWritable();
  Status SyncLogs();
  Status OpenReadOnly();
  Status OpenBeacon();
  Status ReadPastDamage(const Status& first);
  Status RunRepairPass(WALRecoveryMode mode);
  Status GoDownLadder(Status first);
  Result<std::vector<rocksdb::ColumnFamilyDescriptor>> DescribeFamilies(
      const rocksdb::DBOptions& options);
  Status TryOpen(const rocksdb::DBOptions& options);
  Status TryOpenAround();
  Result<std::vector<LostTable>> ListLostTables(bool is_open);
  Status StandIn(std::vector<LostTable> lost);
  Status CloseDatabase();
  Status OpenError(const rocksdb::Status& error, const std::string& context) const;
  void AdoptHandles(const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  rocksdb::DBOptions DbOptions() const;
  Status WipeDatabaseFiles();

  OpenedStore store_;
  StoreFormat format_;
  bool creating_ = false;
  bool is_catalog_lost_ = false;  // no way of reading the logs helps then
};

Result<OpenedStore> Opener::Run() {
  CISTERN_RETURN_IF_ERROR(CheckArguments());
  CISTERN_RETURN_IF_ERROR(LookAround());
  if (!config().read_only) CISTERN_RETURN_IF_ERROR(TakeHold());
  CISTERN_RETURN_IF_ERROR(PrepareParts());
  if (creating_) CISTERN_RETURN_IF_ERROR(BeginCreation());
  CISTERN_RETURN_IF_ERROR(config().read_only ? OpenReadOnly() : OpenDatabase());
  CISTERN_RETURN_IF_ERROR(CheckLiveOptions(store_.db.get(), store_.families,
                                           config().segments_rest));
  if (creating_) CISTERN_RETURN_IF_ERROR(FinishCreation());
  CISTERN_RETURN_IF_ERROR(Settle());
  return std::move(store_);
}

void Opener::NoteOddity(std::string note) {
  store_.info_log->Write(LogLevel::kWarning, note);
  store_.recovery.clean = false;
  store_.recovery.notes.push_back(std::move(note));
}

Status Opener::CheckArguments() {
  CISTERN_RETURN_IF_ERROR(CheckRocksDbVersion(config()));
  std::string& path = store_.config.directory;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty()) return Status::InvalidArgument("the store's directory has no name");
  if (config().memory_budget_bytes < limits::kMemoryBudgetBytesMin) {
    return Status::InvalidArgument("a memory budget below " +
                                   std::to_string(limits::kMemoryBudgetBytesMin) + " bytes");
  }
  if (config().disk_budget_bytes > 0 && config().disk_budget_bytes < limits::kDiskBudgetBytesMin) {
    return Status::InvalidArgument("a disk budget below " +
                                   std::to_string(limits::kDiskBudgetBytesMin) + " bytes");
  }
  store_.fs = std::make_shared<StoreFileSystem>(config().base_fs, directory());
  if (config().read_only) store_.fs->SetReadOnly();
  return Status::Ok();
}

Status Opener::LookAround() {
  creating_ = false;
  rocksdb::FileSystem* fs = store_.fs.get();
  const rocksdb::IOStatus exists = fs->FileExists(directory(), IOOptions(), nullptr);
  if (!exists.ok() && !exists.IsNotFound()) return ToStatus(exists, "opening " + directory());
  if (exists.ok()) {
    bool is_directory = false;
    const auto told = fs->IsDirectory(directory(), IOOptions(), &is_directory, nullptr);
    if (!told.ok()) return ToStatus(told, "opening " + directory());
    if (!is_directory) {
      return Status::InvalidArgument(directory() + " is a file; a store is a directory");
    }
    auto format = ReadStoreFormat(fs, directory());
    if (format.ok()) format_ = std::move(format).value();
    else if (format.status().code() != StatusCode::kNotFound) return format.status();
    else CISTERN_RETURN_IF_ERROR(CheckIsVacant());
    if (format_.ready) return Status::Ok();
  }
  if (!MayCreate()) return Status::NotFound("there is no store in " + directory());
  creating_ = true;
  return Status::Ok();
}

Status Opener::CheckIsVacant() {
  std::vector<std::string> names;
  const auto listed = store_.fs->GetChildren(directory(), IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory());
  const auto foreign = std::find_if_not(names.begin(), names.end(), MayBeInEmptyDirectory);
  if (foreign == names.end()) return Status::Ok();
  const bool was_ours = std::find(names.begin(), names.end(), "ACK") != names.end();
  if (was_ours) {
    return Status::Corruption("the file CISTERN is missing from the store " + directory() +
                              "; restore it from a backup of this store");
  }
  const std::string held = "holds other things (" + *foreign + ")";
  if (!MayCreate()) return Status::NotFound("there is no store in " + directory() + ": it " + held);
  return Status::InvalidArgument(directory() + " " + held +
                                 " and no store; choose an empty or new directory");
}

Status Opener::TakeHold() {
  if (creating_) CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(store_.fs.get(), directory()));
  CISTERN_ASSIGN_OR_RETURN(store_.lock, StoreLock::Take(store_.fs, directory()));
  return LookAround();  // another process may have created, or changed, it meanwhile
}

Status Opener::PrepareParts() {
  CISTERN_RETURN_IF_ERROR(store_.fs->ScanDirectory());
  store_.info_log = std::make_shared<InfoLog>(config().read_only ? nullptr : store_.fs,
                                              directory(), config().log_sink, config().clock);
  if (!creating_ &&
      store_.fs->FileExists(directory() + "/CURRENT", IOOptions(), nullptr).IsNotFound()) {
    return Status::Corruption("the file CURRENT is missing from the store " + directory() +
                              "; restore the directory from a backup");
  }
  store_.env = rocksdb::NewCompositeEnv(store_.fs);
  store_.cache = MakeBlockCache(config());
  store_.write_buffers = MakeWriteBufferManager();
  if (config().read_only) return Status::Ok();
  store_.ballast = std::make_unique<Ballast>(store_.fs.get(), directory(), BallastBytes(config()));
  if (store_.ballast->held() && store_.ballast->IsSpaceShort()) {
    NoteOddity("the disk is nearly full: the ballast was released to open");
    CISTERN_RETURN_IF_ERROR(store_.ballast->Release());
  }
  return Status::Ok();
}

Status Opener::BeginCreation() {
  // An earlier attempt may have made ancestors that are not on the device yet. Those
  // above what we made need not let us sync them.
  std::string at = directory();
  CISTERN_RETURN_IF_ERROR(SyncDirectory(store_.fs.get(), at));
  while (at != "/" && at != ".") {
    at = ParentOf(at);
    if (!SyncDirectory(store_.fs.get(), at).ok()) break;
  }
  format_ = StoreFormat{.ready = false, .store_id = NewStoreId()};
  CISTERN_RETURN_IF_ERROR(WriteStoreFormat(store_.fs.get(), directory(), format_));
  CrashPoint("create:after_format");
  // Nothing was ever acknowledged here: what a cut left is thrown away.
  return WipeDatabaseFiles();
}

Status Opener::WipeDatabaseFiles() {
  std::vector<std::string> names;
  rocksdb::IOStatus status = store_.fs->GetChildren(directory(), IOOptions(), &names, nullptr);
  for (const std::string& name : names) {
    if (status.ok() && IsDatabaseFile(name)) {
      status = store_.fs->DeleteFile(directory() + "/" + name, IOOptions(), nullptr);
    }
  }
  return ToStatus(status, "clearing an unfinished creation in " + directory());
}

rocksdb::DBOptions Opener::DbOptions() const {
  rocksdb::DBOptions options = MakeDbOptions({.env = store_.env.get(),
                                              .info_log = store_.info_log,
                                              .cache = store_.cache,
                                              .write_buffers = store_.write_buffers,
                                              .met_corruption = store_.met_corruption});
  options.create_if_missing = creating_;
  options.create_missing_column_families = creating_;
  options.verify_sst_unique_id_in_manifest = store_.lost_tables.empty();
  return options;
}

Status Opener::OpenError(const rocksdb::Status& error, const std::string& context) const {
  Status status = ToStatus(error, context);
  // A file that the MANIFEST or CURRENT names is gone. Beside a live writer that may
  // happen to a reader; otherwise it is damage.
  return LacksFile(status) && !config().read_only ? Status::Corruption(status.message()) : status;
}

Result<std::vector<rocksdb::ColumnFamilyDescriptor>> Opener::DescribeFamilies(
    const rocksdb::DBOptions& options) {
  std::vector<std::string> names = {"default", std::string(kMetaFamilyName)};
  if (!creating_) {
    const rocksdb::Status listed = rocksdb::DB::ListColumnFamilies(options, directory(), &names);
    if (!listed.ok()) return OpenError(listed, "reading the MANIFEST of " + directory());
    if (std::find(names.begin(), names.end(), kMetaFamilyName) == names.end()) {
      return Status::Corruption("the database in " + directory() + " has no catalog");
    }
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) {
    const auto kind = FamilyKindOf(name);
    if (!kind) {
      return Status::Corruption("the database in " + directory() + " has the unknown family '" +
                                name + "'");
    }
    families.emplace_back(name, store_.FamilyOptions(*kind));
  }
  return families;
}

void Opener::AdoptHandles(const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  for (rocksdb::ColumnFamilyHandle* handle : handles) store_.families[handle->GetName()] = handle;
}

Status Opener::TryOpen(const rocksdb::DBOptions& options) {
  CISTERN_ASSIGN_OR_RETURN(const auto families, DescribeFamilies(options));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      config().read_only
          ? rocksdb::DB::OpenForReadOnly(options, directory(), families, &handles, &db)
          : rocksdb::DB::Open(options, directory(), families, &handles, &db);
  if (!opened.ok()) return OpenError(opened, "opening the database in " + directory());
  store_.db.reset(db);
  AdoptHandles(handles);
  return Status::Ok();
}

// What is lost of an open database, or of one that does not open for it. Nothing is merged
// meanwhile, as its files would seem to be missing; where some are, not until it is closed.
Result<std::vector<LostTable>> Opener::ListLostTables(bool is_open) {
  std::vector<rocksdb::LiveFileMetaData> files;
  if (is_open) {
    store_.db->PauseBackgroundWork().PermitUncheckedError();
    store_.db->GetLiveFilesMetaData(&files);
  } else {
    CISTERN_ASSIGN_OR_RETURN(const auto families, DescribeFamilies(DbOptions()));
    CISTERN_ASSIGN_OR_RETURN(files, ListTables(DbOptions(), directory(), families));
  }
  auto lost = FindLostTables(store_.env.get(), directory(), files, !is_open);
  if (is_open && lost.empty()) store_.db->ContinueBackgroundWork().PermitUncheckedError();
  return lost;
}

Status Opener::StandIn(std::vector<LostTable> lost) {
  for (const LostTable& table : lost) {
    if (table.kind != FamilyKind::kSpill && table.kind != FamilyKind::kWindow) {
      is_catalog_lost_ = true;
      return Status::Corruption(
          directory() + "/" + table.name + ", a file of the catalog, cannot be used: " + table.why +
          "; without it nobody can tell what counts of the rows that are there. Keep it, and "
          "restore the directory from a backup, or that file alone, or begin a new store beside");
    }
    CISTERN_ASSIGN_OR_RETURN(std::string bytes, MakeStandIn(table.largest_key));
    CISTERN_ASSIGN_OR_RETURN(auto fitted, FitStandIn(std::move(bytes), table.size_bytes));
    store_.fs->SetStandIn(directory() + "/" + table.name, std::move(fitted), table.size_bytes);
  }
  store_.lost_tables = std::move(lost);
  store_.config.segments_rest = true;
  return Status::Ok();
}

// Opens the database with stand-ins for the files that cannot be used, if there are any.
Status Opener::TryOpenAround() {
  Status status = TryOpen(DbOptions());
  const bool may_be_files =
      status.ok() || status.code() == StatusCode::kCorruption || LacksFile(status);
  if (creating_ || !may_be_files) return status;
  auto lost = ListLostTables(status.ok());
  if (!lost.ok() || lost->empty()) return status;
  if (status.ok()) CISTERN_RETURN_IF_ERROR(CloseDatabase());
  CISTERN_RETURN_IF_ERROR(StandIn(*std::move(lost)));
  return TryOpen(DbOptions());
}

Status Opener::CloseDatabase() {
  for (const auto& [name, handle] : store_.families) {
    CISTERN_RETURN_IF_ERROR(
        ToStatus(store_.db->DestroyColumnFamilyHandle(handle), "closing the family " + name));
  }
  store_.families.clear();
  const rocksdb::Status closed = store_.db->Close();
  store_.db.reset();
  return ToStatus(closed, "closing the database in " + directory());
}

Status Opener::OpenDatabase() {
  Status status = OpenWritable();
  if (status.code() == StatusCode::kNoSpace && store_.ballast->held()) {
    NoteOddity("the disk is full: the ballast was released to open");
    CISTERN_RETURN_IF_ERROR(store_.ballast->Release());
    status = OpenWritable();
  }
  return status;
}

// What the process before wrote without a sync outlived its crash, but only in the
// kernel's memory, and RocksDB never syncs a log that it has recovered: a power cut could
// still take rows that count as durable once they are replayed.
Status Opener::SyncLogs() {
  std::vector<std::string> names;
  const auto listed = store_.fs->GetChildren(directory(), IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory());
  for (const std::string& name : names) {
    if (FileKindOf(name) != FileKind::kWal) continue;
    CISTERN_RETURN_IF_ERROR(SyncFile(store_.fs.get(), directory() + "/" + name));
  }
  return SyncDirectory(store_.fs.get(), directory());
}

Status Opener::OpenWritable() {
  if (!creating_) CISTERN_RETURN_IF_ERROR(SyncLogs());
  Status status = TryOpenAround();
  if (status.code() == StatusCode::kCorruption && !creating_ && !is_catalog_lost_) {
    return GoDownLadder(status);
  }
  return status;
}

// Opens in a mode that gives records up, flushes what it kept so that the damaged logs
// can go, and closes: the open that follows is an ordinary one, and proves the repair.
Status Opener::RunRepairPass(WALRecoveryMode mode) {
  rocksdb::DBOptions options = DbOptions();
  options.wal_recovery_mode = mode;
  options.avoid_flush_during_recovery = false;
  CISTERN_RETURN_IF_ERROR(TryOpen(options));
  CISTERN_RETURN_IF_ERROR(CloseDatabase());
  return TryOpen(DbOptions());
}

Status Opener::GoDownLadder(Status first) {
  // A damaged MANIFEST cannot be helped by any way of reading the logs.
  const auto families = DescribeFamilies(DbOptions());
  if (families.ok()) {
    const auto copy = QuarantineLogs(store_.fs.get(), directory());
    NoteOddity("the log is damaged (" + first.message() + "); " +
               (copy.ok() ? "copies are in " + *copy
                          : "it could not be copied: " + copy.status().message()));
    Status status = RunRepairPass(WALRecoveryMode::kPointInTimeRecovery);
    store_.rung = RecoveryRung::kPointInTime;
    if (status.ok()) {
      NoteOddity("records from the damage on were given up");
      return status;
    }
    if (status.code() == StatusCode::kCorruption) {
      status = RunRepairPass(WALRecoveryMode::kSkipAnyCorruptedRecords);
      store_.rung = RecoveryRung::kSkipped;
      if (status.ok()) {
        NoteOddity("damaged records were skipped");
        return status;
      }
    }
    if (status.code() != StatusCode::kCorruption) return status;
    first = std::move(status);
  }
  return Status::Corruption(first.message() + "; the store " + directory() +
                            " cannot be opened. Keep the directory, restore a backup, or begin "
                            "a new store beside it");
}

Status Opener::OpenBeacon() {
  CISTERN_ASSIGN_OR_RETURN(store_.beacon,
                           AckBeacon::Open(store_.fs.get(), directory(), format_.store_id,
                                           config().read_only));
  if (!store_.beacon->note().empty()) NoteOddity(store_.beacon->note());
  return Status::Ok();
}

Status Opener::OpenReadOnly() {
  // Before the database: a live writer moves both on, and what the beacon says must not be
  // newer than the log that is read.
  CISTERN_RETURN_IF_ERROR(OpenBeacon());
  Status status;
  for (int attempt = 0; attempt < kReadOnlyAttempts; ++attempt) {
    // A live writer may change files under our hands: only what stays is damage.
    const bool is_last = attempt + 1 == kReadOnlyAttempts;
    status = is_last ? TryOpenAround() : TryOpen(DbOptions());
    if (!status.ok()) continue;
    if (is_last) return status;
    CISTERN_ASSIGN_OR_RETURN(const auto lost, ListLostTables(/*is_open=*/true));
    if (lost.empty()) return status;
    CISTERN_RETURN_IF_ERROR(CloseDatabase());
  }
  if (is_catalog_lost_) return status;
  if (LacksFile(status)) {
    return Status::Corruption(status.message() + "; if a process writes the store, try again; if "
                              "none does, a file of it was taken away: restore the directory from "
                              "a backup, or begin a new store beside it");
  }
  return status.code() == StatusCode::kCorruption ? ReadPastDamage(status) : status;
}

// What comes before the damage of a log, where that can be read without repairing anything.
Status Opener::ReadPastDamage(const Status& first) {
  // RocksDB names the MANIFEST wherever it or an SST that it lists is damaged. No way of
  // reading the logs helps then.
  if (first.message().find("MANIFEST") != std::string::npos) {
    return Status::Corruption(first.message() + "; restore the directory from a backup, or begin "
                              "a new store beside it");
  }
  rocksdb::DBOptions options = DbOptions();
  options.wal_recovery_mode = WALRecoveryMode::kPointInTimeRecovery;
  const Status opened = TryOpen(options);
  if (opened.code() == StatusCode::kCorruption) {
    return Status::Corruption("a write-ahead log (*.log) is damaged: " + first.message() +
                              "; opening the store for writing repairs it, and keeps a copy of "
                              "the damaged logs in " + directory() + "/quarantine");
  }
  CISTERN_RETURN_IF_ERROR(opened);
  store_.rung = RecoveryRung::kPointInTime;
  NoteOddity("a write-ahead log (*.log) is damaged (" + first.message() +
             "); what follows the damage is not shown. Opening the store for writing repairs it");
  return Status::Ok();
}

Status Opener::FinishCreation() {
  CrashPoint("create:before_ready");
  CISTERN_ASSIGN_OR_RETURN(store_.beacon, AckBeacon::Open(store_.fs.get(), directory(),
                                                          format_.store_id, false));
  format_.ready = true;
  CISTERN_RETURN_IF_ERROR(WriteStoreFormat(store_.fs.get(), directory(), format_));
  CrashPoint("create:after_ready");
  store_.created = true;
  store_.recovery.created = true;
  return Status::Ok();
}

Status Opener::Settle() {
  store_.store_id = format_.store_id;
  if (store_.beacon == nullptr) CISTERN_RETURN_IF_ERROR(OpenBeacon());
  if (config().read_only) return Status::Ok();
  const Status held = store_.ballast->TryHold();
  // Not having it is no reason to stay shut: the engine tries again.
  if (!held.ok()) store_.info_log->Write(LogLevel::kWarning, held.message());
  store_.fs->SetDiskLimit(config().disk_budget_bytes);
  return Status::Ok();
}

}  // namespace

Result<OpenedStore> OpenStore(const StoreConfig& config) { return Opener(config).Run(); }

}  // namespace cistern
