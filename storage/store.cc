#include "storage/store.h"

#include <algorithm>
#include <utility>

#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/create_family.h"
#include "storage/full_disk_advice.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {
constexpr uint64_t kSequencesReservedAtOnce = 1024;

// Of the file system; nothing: it does not tell.
std::optional<uint64_t> FreeBytes(const StoreDb& db) {
  StoreFileSystem& fs = *db.opened().fs;
  uint64_t free_bytes = 0;
  const rocksdb::IOStatus s =
      fs.GetFreeSpace(fs.directory(), rocksdb::IOOptions(), &free_bytes, nullptr);
  return s.ok() ? std::optional(free_bytes) : std::nullopt;
}
}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const StoreConfig& config, RecoveryReport* report) {
  CISTERN_ASSIGN_OR_RETURN(OpenedStore opened, OpenStore(config));
  opened.recovery.created = opened.created;
  std::unique_ptr<Store> store(new Store(std::make_shared<StoreDb>(std::move(opened))));
  RecoveryReport* told = &store->db_->opened().recovery;  // with what NoteOddity() adds meanwhile
  const Status loaded = store->Load(config.read_only, told);
  *report = *told;
  CISTERN_RETURN_IF_ERROR(loaded);
  return store;
}

StateRecord Store::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

Status Store::PutMeta(const std::string& key, const std::string& value, bool sync) {
  rocksdb::WriteBatch batch;
  batch.Put(meta_->handle(), key, value);
  return WriteMeta(&batch, sync, "writing meta");
}

Status Store::PutTable(uint32_t table_id, uint32_t schema_version, const TableRecord& record) {
  return PutMeta(TableKey(table_id, schema_version), EncodeTable(record), true);
}

Status Store::PutBoot(uint32_t boot, const BootRecord& record) {
  return PutMeta(BootKey(boot), EncodeBoot(record), true);
}

Status Store::PutClock(const ClockRecord& record) {
  const std::lock_guard lock(state_mutex_);
  StateRecord state = state_;
  state.clock = record;
  CISTERN_RETURN_IF_ERROR(PutMeta(std::string(kStateKey), EncodeState(state), true));
  state_ = state;
  return Status::Ok();
}

Result<uint64_t> Store::NextSequence() {
  const std::lock_guard lock(state_mutex_);
  if (next_sequence_ >= state_.sequence_reserved) {
    StateRecord reserved = state_;
    reserved.sequence_reserved = next_sequence_ + kSequencesReservedAtOnce;
    CISTERN_RETURN_IF_ERROR(PutMeta(std::string(kStateKey), EncodeState(reserved), true));
    state_ = reserved;
  }
  return next_sequence_++;
}

bool Store::BudgetHasRoomFor(uint64_t bytes) const {
  return db_->opened().fs->HasRoomFor(bytes);
}

Status Store::CheckPlace() const {
  const rocksdb::IOStatus s = db_->opened().fs->CheckPlace();
  return s.ok() ? Status::Ok() : ToStatus(s, "the store's directory");
}

Status Store::CheckHeadroom(uint64_t bytes) const {
  if (!BudgetHasRoomFor(bytes)) {
    return Status::NoSpace(Concat({"the disk budget leaves no room for ", bytes,
        " bytes: ", kDiskBudgetAdvice}));
  }
  return CheckDevice(bytes);
}

Status Store::CheckRoomForRows(uint64_t bytes) const {
  return CheckHeadroom(bytes + BallastMissingBytes());
}

bool Store::BudgetHasRoomForRows(uint64_t bytes) const {
  return BudgetHasRoomFor(bytes + BallastMissingBytes());
}

Status Store::MakeRoom(uint64_t bytes) {
  const Status room = CheckHeadroom(bytes);
  const uint64_t spare = ballast_spare_bytes();
  if (room.ok() || !CheckHeadroom(bytes - std::min(spare, bytes)).ok()) return room;
  CISTERN_RETURN_IF_ERROR(db_->opened().ballast->ReleaseSpare());
  return CheckHeadroom(bytes);
}

Status Store::MakeDeviceRoom(uint64_t bytes) {
  const Status room = CheckDevice(bytes);
  const uint64_t spare = ballast_spare_bytes();
  if (room.ok() || !CheckDevice(bytes - std::min(spare, bytes)).ok()) return room;
  CISTERN_RETURN_IF_ERROR(db_->opened().ballast->ReleaseSpare());
  return CheckDevice(bytes);
}

Status Store::MakeRoomToOpen(uint64_t bytes) {
  const Status room = CheckHeadroom(bytes);
  Ballast& ballast = *db_->opened().ballast;
  const uint64_t held = ballast.bytes() - ballast.missing_bytes();
  if (room.ok() || !CheckHeadroom(bytes - std::min(held, bytes)).ok()) return room;
  CISTERN_RETURN_IF_ERROR(ballast.Release());
  return CheckHeadroom(bytes);
}

uint64_t Store::ballast_spare_bytes() const {
  const Ballast* const ballast = db_->opened().ballast.get();
  return ballast == nullptr ? 0 : ballast->spare_bytes();
}

uint64_t Store::BallastMissingBytes() const {
  const Ballast* const ballast = db_->opened().ballast.get();
  return ballast == nullptr ? 0 : ballast->missing_bytes();
}

Status Store::CheckDevice(uint64_t bytes) const {
  const std::optional<uint64_t> free_bytes = FreeBytes(*db_);
  if (!free_bytes || *free_bytes >= bytes) return Status::Ok();
  return Status::NoSpace(Concat({"the file system of ", directory(), " has ",
                                *free_bytes, " bytes free, ", bytes,
                                " are needed: free some space, the store goes on by itself"}));
}

uint64_t Store::RoomLeft() const {
  return std::min(FreeBytes(*db_).value_or(UINT64_MAX), db_->opened().fs->BudgetLeft());
}

uint64_t Store::DeviceBytes() const {
  const std::optional<uint64_t> free_bytes = FreeBytes(*db_);
  return free_bytes ? *free_bytes + db_->opened().fs->disk_bytes_taken() : UINT64_MAX;
}

Result<FamilyPtr> Store::CreateSpill(uint64_t family_id) {
  CrashPoint("spill:before_create");
  CISTERN_ASSIGN_OR_RETURN(
      FamilyPtr made,
      CreateFamily(db_, FamilyKind::kSpill, SpillFamilyName(family_id), "a spill family"));
  CrashPoint("spill:after_create");
  return made;
}

Result<std::shared_ptr<const SpillView>> Store::CommitSpill(const SpillCommit& commit) {
  SpillRecord record = spill_records_[commit.family_id];
  record.tier = commit.tier;
  for (const uint64_t rotation : commit.rotations) record.Add(rotation);
  record.version_count += commit.version_count;
  record.byte_count += commit.byte_count;

  rocksdb::WriteBatch batch;
  batch.Put(meta_->handle(), SpillKey(commit.family_id), EncodeSpill(record));
  SpillRecord superseded;
  std::map<uint64_t, WindowRecord> windows;  // that await the family
  if (commit.superseded_family) {
    superseded = spill_records_[*commit.superseded_family];
    superseded.superseded = true;
    batch.Put(meta_->handle(), SpillKey(*commit.superseded_family), EncodeSpill(superseded));
    HandOnAwaited(*commit.superseded_family, commit.family_id, &batch, &windows);
  }
  {
    const std::lock_guard lock(state_mutex_);
    StateRecord state = commit.state;
    state.sequence_reserved = state_.sequence_reserved;
    batch.Put(meta_->handle(), std::string(kStateKey), EncodeState(state));
    CrashPoint("spill:before_commit");
    CISTERN_RETURN_IF_ERROR(WriteSynced(&batch, "committing segments"));
    CrashPoint("spill:after_commit");
    state_ = state;
  }
  spill_records_[commit.family_id] = record;
  if (commit.superseded_family) spill_records_[*commit.superseded_family] = superseded;

  auto next = std::make_shared<SpillView>();
  next->windows = spills_.view()->windows;
  for (auto& window : next->windows) {
    const auto changed = windows.find(window->id);
    if (changed == windows.end()) continue;
    window_records_[window->id] = changed->second;
    window = std::make_shared<const WindowFamily>(window->id, window->family, changed->second);
  }
  next->ended = spills_.view()->ended;
  next->set_aside = spills_.view()->set_aside;
  next->meta = meta_;
  next->round_last = spills_.view()->round_last;
  next->versions_expired = commit.state.versions_expired;
  next->versions_shed = commit.state.versions_shed;
  next->versions_superseded = commit.state.versions_superseded;
  next->versions_parked = spills_.view()->versions_parked;
  for (const auto& f : spills_.view()->families) {
    if (f->id != commit.family_id && f->id != commit.superseded_family) next->families.push_back(f);
  }
  next->families.push_back(
      std::make_shared<const SpillFamily>(commit.family_id, commit.family, std::move(record)));
  // A rewrite may commit to a family that has meanwhile stopped to be the newest.
  std::sort(next->families.begin(), next->families.end(),
            [](const auto& a, const auto& b) { return a->id < b->id; });
  return std::shared_ptr<const SpillView>(std::move(next));
}

Status Store::DropSpill(uint64_t family_id, const FamilyPtr& family) {
  CrashPoint("spill:before_drop");
  const rocksdb::Status s = db_->db()->DropColumnFamily(family->handle());
  if (!s.ok()) return ToStatus(s, "dropping a spill family");
  CrashPoint("spill:after_drop");
  rocksdb::WriteBatch batch;
  batch.Delete(meta_->handle(), SpillKey(family_id));
  CISTERN_RETURN_IF_ERROR(WriteMeta(&batch, false, "forgetting a spill family"));
  spill_records_.erase(family_id);
  held_spills_[family_id] = family;
  return Status::Ok();
}

Status Store::FlushMeta() {
  CrashPoint("meta:before_flush");
  const rocksdb::Status s = db_->db()->Flush(rocksdb::FlushOptions(), meta_->handle());
  CrashPoint("meta:after_flush");
  return s.ok() ? Status::Ok() : ToStatus(s, "flushing meta");
}

uint64_t Store::MetaMemtableBytes() const {
  uint64_t bytes = 0;
  const bool known = db_->db()->GetIntProperty(
      meta_->handle(), rocksdb::DB::Properties::kCurSizeActiveMemTable, &bytes);
  return known ? bytes : 0;
}

uint64_t Store::log_file_count() const {
  return db_->opened().fs->file_count(FileKind::kWal);
}

uint64_t Store::log_bytes_on_disk() const { return db_->opened().fs->wal_bytes_on_disk(); }

// A flush of nothing lets go of no log: the state record is written once more as it is.
Status Store::ReleaseLogs() {
  {
    const std::lock_guard lock(state_mutex_);
    CISTERN_RETURN_IF_ERROR(PutMeta(std::string(kStateKey), EncodeState(state_), false));
  }
  return FlushMeta();
}

bool Store::ballast_held() const {
  return BallastMissingBytes() == 0;
}

Status Store::HoldBallast() {
  if (ballast_held()) return Status::Ok();
  Ballast& ballast = *db_->opened().ballast;
  CISTERN_RETURN_IF_ERROR(CheckRoomForRows(ballast.bytes()));
  return ballast.TryHold();
}

void Store::AddMetrics(Metrics* metrics) const {
  const StoreFileSystem& fs = *db_->opened().fs;
  const FileBytes written = fs.bytes_written();
  metrics->wal_bytes_written = written.wal;
  metrics->sst_bytes_written = written.sst;
  metrics->manifest_bytes_written = written.manifest;
  metrics->other_bytes_written = written.other;
  metrics->disk_bytes_used = fs.disk_bytes_used();
  metrics->wal_bytes_on_disk = fs.wal_bytes_on_disk();
  metrics->spill_families = spills_.view()->families.size();
  metrics->window_families = spills_.view()->windows.size();
  metrics->journal_families = journal_->family_count();
}

Status Store::EndDoubt() {
  const AckBeacon& beacon = *db_->opened().beacon;
  // A store that is new, restored or of a former version has noted no log yet, and a host that
  // writes no rows would never note one: rot in a log would count as a torn end for as long.
  const bool has_note = beacon.ends().log_number != 0;
  if (has_note && beacon.is_whole() && !beacon.has_lost_logs()) return Status::Ok();
  const Status written = WriteBeacon(beacon_sequence());
  return written.code() == StatusCode::kNoSpace ? Status::Ok() : written;
}

}  // namespace cistern
