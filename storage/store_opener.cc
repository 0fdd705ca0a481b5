#include "storage/store_opener.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "lib/base/memory_reserve.h"
#include "storage/background_threads.h"
#include "storage/catalog_names.h"
#include "storage/recovery_ladder.h"
#include "storage/restored_mark.h"
#include "storage/rocksdb_status.h"
#include "storage/safe_repair.h"
#include "storage/salvaging_mark.h"
#include "storage/small_file.h"
#include "storage/store_format.h"
#include "storage/torn_end.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;

// What RocksDB takes while it opens, beside the reserve.
constexpr size_t kOpeningBytes = 8 << 20;

// What a creation that was cut at its very beginning leaves, or a mount point has.
bool MayBeInEmptyDirectory(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {
      ".", "..", "lost+found", kStoreLockFileName, "CISTERN.tmp", "SALVAGING.tmp"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsDatabaseFile(std::string_view name) {
  return FileKindOf(name) != FileKind::kOther || name == "CURRENT" || name == "IDENTITY" ||
         IsCatalogCopyName(name) || name.ends_with(".dbtmp");
}

// One attempt to open a store. The steps are called in the order of their declaration.
class Opener {
 public:
  explicit Opener(const StoreConfig& config) { store_.config = config; }
  Result<OpenedStore> Run();

 private:
  const StoreConfig& config() const { return store_.config; }
  const std::string& directory() const { return store_.config.directory; }

  Status TakeSteps();
  std::string RoomText() const;

  Status CheckArguments();
  Status LookAround();     // touches nothing: decides between opening, creating, refusing
  Status FindStore();      // of it, what is in the directory
  Status CheckMaySalvage();  // into a directory with the mark of a salvage
  bool MayCreate() const { return config().create_if_missing && !config().read_only; }
  Status CheckIsVacant();  // a directory without the file CISTERN
  Status TakeHold();       // directory, lock; looks again under the lock
  Status PrepareParts();
  Status RepairSmallFiles();
  Status BeginCreation();
  Status OpenDatabase();
  Status FinishCreation();
  Status Settle();

  Status OpenBeacon();
  void ListenToManifest();
  Status WipeDatabaseFiles();
  Status HoldBallast();

  OpenedStore store_;
  StoreFormat format_;
  bool creating_ = false;
  bool is_format_lost_ = false;  // CISTERN, while there is a copy of the catalog
};

Result<OpenedStore> Opener::Run() {
  const Status opened = TakeSteps();
  if (opened.ok()) return std::move(store_);
  if (opened.code() != StatusCode::kNoSpace) return opened;
  return Status::NoSpace(opened.message() + RoomText());
}

// How much an opening may want of a full file system; empty: bytes are not what it lacks.
std::string Opener::RoomText() const {
  uint64_t free_bytes = 0;
  const uint64_t wanted = BallastBytes(config());  // which is held back for that
  const auto told = store_.fs->GetFreeSpace(directory(), IOOptions(), &free_bytes, nullptr);
  if (!told.ok() || free_bytes >= wanted) return {};
  return Concat({"; opening takes up to ", wanted, " bytes, and ", free_bytes, " are free"});
}

Status Opener::TakeSteps() {
  CISTERN_RETURN_IF_ERROR(CheckArguments());
  CISTERN_RETURN_IF_ERROR(LookAround());
  if (!config().read_only) CISTERN_RETURN_IF_ERROR(TakeHold());
  CISTERN_RETURN_IF_ERROR(PrepareParts());
  if (creating_) CISTERN_RETURN_IF_ERROR(BeginCreation());
  if (!config().read_only) {
    CISTERN_RETURN_IF_ERROR(CompleteRestoredMark(store_.fs.get(), directory()));
  }
  CISTERN_RETURN_IF_ERROR(OpenDatabase());
  CISTERN_RETURN_IF_ERROR(CheckLiveOptions(store_.db.get(), store_.families,
                                           config().segments_rest));
  if (creating_) CISTERN_RETURN_IF_ERROR(FinishCreation());
  return Settle();
}

Status Opener::CheckArguments() {
  CISTERN_RETURN_IF_ERROR(CheckRocksDbVersion(config()));
  std::string& path = store_.config.directory;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty()) return Status::InvalidArgument("the store's directory has no name");
  if (config().memory_budget_bytes < limits::kMemoryBudgetBytesMin) {
    return Status::InvalidArgument(Concat({"a memory budget below ", limits::kMemoryBudgetBytesMin,
        " bytes"}));
  }
  if (config().disk_budget_bytes > 0 && config().disk_budget_bytes < limits::kDiskBudgetBytesMin) {
    return Status::InvalidArgument(Concat({"a disk budget below ", limits::kDiskBudgetBytesMin,
        " bytes"}));
  }
  store_.fs = std::make_shared<StoreFileSystem>(config().base_fs, directory());
  if (config().read_only) store_.fs->SetReadOnly();
  return Status::Ok();
}

Status Opener::LookAround() {
  const Status found = FindStore();
  const std::string& expected = config().expected_store_id;
  if (expected.empty() || (found.ok() && format_.store_id == expected)) return found;
  const bool is_other = found.ok() || found.code() == StatusCode::kNotFound ||
                        found.code() == StatusCode::kInvalidArgument;
  if (!is_other) return found;
  return Status::IoError(Concat({"the store that was open in ", directory(),
      " is not there any more", (found.ok() ? ": another store is there" : ": " + found.message()),
      "; put it back, and it is opened again"}));
}

Status Opener::FindStore() {
  creating_ = false;
  rocksdb::FileSystem* fs = store_.fs.get();
  const rocksdb::IOStatus exists = fs->FileExists(directory(), IOOptions(), nullptr);
  if (!exists.ok() && !exists.IsNotFound()) return ToStatus(exists, "opening " + directory());
  if (exists.ok()) {
    bool is_directory = false;
    const auto told = fs->IsDirectory(directory(), IOOptions(), &is_directory, nullptr);
    if (!told.ok()) return ToStatus(told, "opening " + directory());
    if (!is_directory) {
      return Status::InvalidArgument(Concat({directory(), " is a file; a store is a directory"}));
    }
    creating_ = HasSalvagingMark(fs, directory());
    if (creating_) return CheckMaySalvage();
    auto format = ReadStoreFormat(fs, directory());
    const Status read = format.status();
    const bool is_lost =
        read.code() == StatusCode::kNotFound || read.code() == StatusCode::kCorruption;
    if (is_lost) format = RecoverStoreFormat(fs, directory(), read);
    is_format_lost_ = is_lost && format.ok();
    if (format.ok()) format_ = std::move(format).value();
    else if (format.status().code() != StatusCode::kNotFound) return format.status();
    else CISTERN_RETURN_IF_ERROR(CheckIsVacant());
    if (format_.ready) return Status::Ok();
  }
  if (!MayCreate()) {
    return Status::NotFound(Concat({"there is no store in ", directory(),
        "; check the path, and whether its file system is mounted"}));
  }
  creating_ = true;
  return Status::Ok();
}

Status Opener::CheckMaySalvage() {
  if (config().is_salvage_target) return Status::Ok();
  return Status::Corruption(Concat({directory(), " is no store yet: salvaging another one into it "
      "was interrupted. Salvage into it once more, or remove the directory"}));
}

Status Opener::CheckIsVacant() {
  std::vector<std::string> names;
  const auto listed = store_.fs->GetChildren(directory(), IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory());
  const auto foreign = std::find_if_not(names.begin(), names.end(), MayBeInEmptyDirectory);
  if (foreign == names.end()) return Status::Ok();
  if (std::find(names.begin(), names.end(), kRestoringMarkFileName) != names.end()) {
    return Status::Corruption(Concat({directory(), " is no store yet: restoring it from a backup "
        "was interrupted. Restore it there once more, or remove the directory"}));
  }
  const bool was_ours = std::find(names.begin(), names.end(), "ACK") != names.end();
  if (was_ours) {
    return Status::Corruption(Concat({"the file CISTERN is missing from the store ", directory(),
        "; restore it from a backup of this store"}));
  }
  const std::string held = Concat({"holds other things (", *foreign, ")"});
  if (!MayCreate()) return Status::NotFound(Concat({"there is no store in ", directory(), ": it ",
      held}));
  return Status::InvalidArgument(Concat({directory(), " ", held, " and no store; choose an empty "
      "or new directory"}));
}

Status Opener::TakeHold() {
  if (creating_) CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(store_.fs.get(), directory()));
  CISTERN_ASSIGN_OR_RETURN(store_.lock, StoreLock::Take(store_.fs, directory()));
  return LookAround();  // another process may have created, or changed, it meanwhile
}

Status Opener::PrepareParts() {
  CISTERN_RETURN_IF_ERROR(MemoryReserve::CheckRoom(kOpeningBytes));
  CISTERN_RETURN_IF_ERROR(StartBackgroundThreads());
  CISTERN_RETURN_IF_ERROR(store_.fs->ScanDirectory());
  store_.info_log = std::make_shared<InfoLog>(config().read_only ? nullptr : store_.fs,
                                              directory(), config().log_sink, config().clock);
  if (!creating_) CISTERN_RETURN_IF_ERROR(RepairSmallFiles());
  store_.env = rocksdb::NewCompositeEnv(store_.fs);
  store_.cache = MakeBlockCache(config());
  store_.write_buffers = MakeWriteBufferManager();
  if (config().read_only) return Status::Ok();
  store_.ballast = std::make_unique<Ballast>(store_.fs.get(), directory(), BallastBytes(config()));
  if (!store_.ballast->is_empty() && store_.ballast->IsSpaceShort()) {
    store_.NoteOddity("the disk is nearly full: the ballast was released to open");
    CISTERN_RETURN_IF_ERROR(store_.ballast->Release());
  }
  return Status::Ok();
}

// A reader changes nothing: it does with what there is.
Status Opener::RepairSmallFiles() {
  if (is_format_lost_) {
    store_.NoteOddity("the file CISTERN is missing or damaged: the copy of the catalog says which "
                      "store this is");
    if (!config().read_only) {
      CISTERN_RETURN_IF_ERROR(WriteStoreFormat(store_.fs.get(), directory(), format_));
    }
  }
  if (config().read_only) return CheckCurrent(store_.fs.get(), directory());
  CISTERN_RETURN_IF_ERROR(RemoveTemporaries(store_.fs.get(), directory()));
  for (const auto& repair : {RepairCurrent, RepairIdentity}) {
    CISTERN_ASSIGN_OR_RETURN(std::string done, repair(store_.fs.get(), directory()));
    if (!done.empty()) store_.NoteOddity(std::move(done));
  }
  return Status::Ok();
}

Status Opener::BeginCreation() {
  CISTERN_RETURN_IF_ERROR(SyncAncestors(store_.fs.get(), directory()));
  if (config().is_salvage_target) {
    CISTERN_RETURN_IF_ERROR(WriteSalvagingMark(store_.fs.get(), directory()));
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
      status = store_.fs->DeleteFile(Concat({directory(), "/", name}), IOOptions(), nullptr);
    }
  }
  return ToStatus(status, "clearing an unfinished creation in " + directory());
}

Status Opener::OpenDatabase() {
  RecoveryLadder ladder(&store_, creating_);
  if (!creating_) CISTERN_RETURN_IF_ERROR(OpenBeacon());
  if (config().read_only) return ladder.OpenReadOnly();
  if (!creating_) store_.fs->HoldDeletions();
  Status status = ladder.OpenWritable();
  if (status.code() == StatusCode::kNoSpace && !store_.ballast->is_empty()) {
    store_.NoteOddity("the disk is full: the ballast was released to open");
    CISTERN_RETURN_IF_ERROR(store_.ballast->Release());
    status = ladder.OpenWritable();
  }
  return status;
}

Status Opener::OpenBeacon() {
  // Before the file itself: a live writer tells it of a MANIFEST before that is in use.
  const uint64_t manifest = FileNumberOf(CurrentManifest(store_.fs.get(), directory()));
  CISTERN_ASSIGN_OR_RETURN(store_.beacon,
                           AckBeacon::Open(store_.fs.get(), directory(), format_.store_id,
                                           config().read_only));
  store_.beacon->ExpectManifest(manifest);
  ListenToManifest();
  if (!store_.beacon->note().empty()) store_.NoteOddity(store_.beacon->note());
  return Status::Ok();
}

// A MANIFEST is synced a few times a rotation. Where a note of that fails less is known, which
// shows only if the next sync is torn.
void Opener::ListenToManifest() {
  if (config().read_only) return;
  store_.fs->SetManifestListener([beacon = store_.beacon.get()](uint64_t number, uint64_t bytes) {
    beacon->NoteManifest(number, bytes).IgnoreError();
  });
}

Status Opener::FinishCreation() {
  CrashPoint("create:before_ready");
  CISTERN_ASSIGN_OR_RETURN(store_.beacon,
                           AckBeacon::Create(store_.fs.get(), directory(), format_.store_id));
  ListenToManifest();
  format_.ready = true;
  CISTERN_RETURN_IF_ERROR(WriteStoreFormat(store_.fs.get(), directory(), format_));
  CrashPoint("create:after_ready");
  store_.created = true;
  store_.recovery.created = true;
  return Status::Ok();
}

Status Opener::Settle() {
  store_.store_id = format_.store_id;
  auto restored = ReadRestoredMark(store_.fs.get(), directory());
  if (restored.ok()) store_.recovery.restored = *std::move(restored);
  else store_.NoteOddity(restored.status().message());
  if (config().read_only) return Status::Ok();
  store_.fs->SetDiskLimit(config().disk_budget_bytes);
  // Not having it is no reason to stay shut: the engine tries again. Who makes a store is to know
  // that it is of no use there.
  const Status held = HoldBallast();
  if (held.ok()) return held;
  if (creating_) store_.NoteOddity(held.message() + "; rows are refused until there is room");
  else store_.info_log->Write(LogLevel::kWarning, held.message());
  return Status::Ok();
}

// As much as the ballast stays free, of the budget as of the device.
Status Opener::HoldBallast() {
  Ballast& ballast = *store_.ballast;
  const bool fits = store_.fs->HasRoomFor(ballast.bytes() + ballast.missing_bytes());
  if (fits || ballast.held()) return ballast.TryHold();
  return Status::NoSpace("the disk budget has no room for the ballast");
}

}  // namespace

Result<OpenedStore> OpenStore(const StoreConfig& config) { return Opener(config).Run(); }

}  // namespace cistern
