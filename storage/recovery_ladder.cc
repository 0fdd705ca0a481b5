#include "storage/recovery_ladder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/concat.h"
#include "storage/damage_advice.h"
#include "storage/quarantine.h"
#include "storage/repair_mark.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {

using rocksdb::IOOptions;
using rocksdb::WALRecoveryMode;

namespace {

constexpr int kReadOnlyAttempts = 3;

}  // namespace

// What the process before wrote without a sync outlived its crash, but only in the
// kernel's memory, and RocksDB never syncs a log that it has recovered: a power cut could
// still take rows that count as durable once they are replayed.
Status RecoveryLadder::SyncLogs() {
  std::vector<std::string> names;
  const auto listed = store_->fs->GetChildren(directory(), IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory());
  for (const std::string& name : names) {
    if (FileKindOf(name) != FileKind::kWal) continue;
    CISTERN_RETURN_IF_ERROR(SyncFile(store_->fs.get(), Concat({directory(), "/", name})));
  }
  return SyncDirectory(store_->fs.get(), directory());
}

// One that was cut opens as an older state of the store, without a word.
Status RecoveryLadder::CheckManifestLength() const {
  const SyncedEnds ends = store_->beacon->ends();
  const std::string name = CurrentManifest(store_->fs.get(), directory());
  if (name.empty() || FileNumberOf(name) != ends.manifest_number) return Status::Ok();
  uint64_t size_bytes = 0;
  const auto looked =
      store_->fs->GetFileSize(Concat({directory(), "/", name}), IOOptions(), &size_bytes, nullptr);
  if (!looked.ok() || size_bytes >= ends.manifest_bytes) return Status::Ok();
  return Status::Corruption(Concat({name, " in ", directory(), " has ", size_bytes,
      " bytes, and had ", ends.manifest_bytes, ": its end is missing. Nothing was deleted",
      SalvageAdvice(directory())}));
}

// One that cannot be read is left to the database to name.
std::vector<TornEnd> RecoveryLadder::FindTornEnds() const {
  auto torn = cistern::FindTornEnds(store_->fs.get(), directory(), store_->beacon->ends());
  return torn.ok() ? *std::move(torn) : std::vector<TornEnd>();
}

Status RecoveryLadder::CutTornEnds() {
  CISTERN_ASSIGN_OR_RETURN(
      const auto told, cistern::CutTornEnds(store_->fs.get(), directory(), FindTornEnds()));
  for (const std::string& line : told) store_->info_log->Write(LogLevel::kInfo, line);
  return Status::Ok();
}

void RecoveryLadder::HideTornEnds() {
  StoreFileSystem::FileEnds ends;
  for (const TornEnd& torn : FindTornEnds()) {
    ends[Concat({directory(), "/", torn.name})] = torn.whole_bytes;
  }
  store_->fs->SetEnds(std::move(ends));
}

// A beacon that is not whole does not tell whether what is missing was acknowledged.
Status RecoveryLadder::LookForLoss() {
  if (store_->beacon->is_whole()) return Status::Ok();
  const Result<bool> hole = HasLogWithHole(store_->fs.get(), directory());
  return hole.ok() && *hole ? store_->beacon->NoteLostLogs() : Status::Ok();
}

// What an opening gave up that did not end is not known to the next one.
void RecoveryLadder::NoteRepair() {
  if (!HasRepairMark(store_->fs.get(), directory())) return;
  store_->rung = RecoveryRung::kSkipped;
  store_->NoteOddity("an opening that gave up damaged records of logs did not come to its end");
}

Status RecoveryLadder::OpenWritable() {
  if (!database_.creating()) {
    CISTERN_RETURN_IF_ERROR(SyncLogs());
    CISTERN_RETURN_IF_ERROR(CheckManifestLength());
    CISTERN_RETURN_IF_ERROR(LookForLoss());
    CISTERN_RETURN_IF_ERROR(CutTornEnds());
  }
  NoteRepair();
  Status status = database_.OpenAroundLost();
  const bool may_be_logs = !database_.creating() && !database_.is_catalog_lost();
  if (status.code() == StatusCode::kCorruption && may_be_logs) return GoDown(status);
  return status;
}

// Opens in a mode that gives records up, flushes what it kept so that the damaged logs
// can go, and closes: the open that follows is an ordinary one, and proves the repair.
Status RecoveryLadder::RunRepairPass(WALRecoveryMode mode) {
  rocksdb::DBOptions options = database_.Options();
  options.wal_recovery_mode = mode;
  options.avoid_flush_during_recovery = false;
  CISTERN_RETURN_IF_ERROR(database_.Open(options));
  CISTERN_RETURN_IF_ERROR(database_.Close());
  return database_.Open(database_.Options());
}

Status RecoveryLadder::GoDown(Status first) {
  // A damaged MANIFEST cannot be helped by any way of reading the logs.
  const auto families = database_.DescribeFamilies();
  if (families.ok()) {
    const auto copy = QuarantineLogs(store_->fs.get(), directory());
    store_->NoteOddity(Concat({"the log is damaged (", first.message(), "); ",
        (copy.ok() ? "copies are in " + *copy
                   : "it could not be copied: " + copy.status().message())}));
    CISTERN_RETURN_IF_ERROR(WriteRepairMark(store_->fs.get(), directory()));
    Status status = RunRepairPass(WALRecoveryMode::kPointInTimeRecovery);
    store_->rung = RecoveryRung::kPointInTime;
    if (status.ok()) {
      store_->NoteOddity("records from the damage on were given up");
      return status;
    }
    if (status.code() == StatusCode::kCorruption) {
      status = RunRepairPass(WALRecoveryMode::kSkipAnyCorruptedRecords);
      store_->rung = RecoveryRung::kSkipped;
      if (status.ok()) {
        store_->NoteOddity("damaged records were skipped");
        return status;
      }
    }
    if (status.code() != StatusCode::kCorruption) return status;
    first = std::move(status);
  }
  return Status::Corruption(Concat({first.message(), SalvageAdvice(directory())}));
}

Status RecoveryLadder::OpenReadOnly() {
  NoteRepair();
  CISTERN_RETURN_IF_ERROR(CheckManifestLength());
  CISTERN_RETURN_IF_ERROR(LookForLoss());
  Status status;
  for (int attempt = 0; attempt < kReadOnlyAttempts; ++attempt) {
    // A live writer may change files under our hands: only what stays is damage.
    const bool is_last = attempt + 1 == kReadOnlyAttempts;
    HideTornEnds();
    status = is_last ? database_.OpenAroundLost() : database_.Open(database_.Options());
    if (!status.ok()) continue;
    if (is_last) return status;
    CISTERN_ASSIGN_OR_RETURN(const auto lost, database_.ListLost(/*is_open=*/true));
    if (lost.empty()) return status;
    CISTERN_RETURN_IF_ERROR(database_.Close());
  }
  if (database_.is_catalog_lost()) return status;
  if (LacksFile(status)) {
    return Status::Corruption(Concat({status.message(), "; if a process writes the store, try "
        "again; if none does, a file of it was taken away", SalvageAdvice(directory())}));
  }
  return status.code() == StatusCode::kCorruption ? ReadPastDamage(status) : status;
}

// What comes before the damage of a log, where that can be read without repairing anything.
Status RecoveryLadder::ReadPastDamage(const Status& first) {
  // RocksDB names the MANIFEST wherever it or an SST that it lists is damaged. No way of
  // reading the logs helps then.
  if (first.message().find("MANIFEST") != std::string::npos) {
    return Status::Corruption(Concat({first.message(), SalvageAdvice(directory())}));
  }
  const auto broken = FindBrokenLogs(store_->fs.get(), directory());
  const bool has_logs_behind = broken.ok() && !broken->empty();
  // Point in time gives up all that follows, the logs behind the damaged one too, though records
  // are whole there. To read them leaves no catalog to write to, as sums of a later record may
  // count what is missing. So it is for salvage alone, which checks them.
  const bool has_gap = store_->config.is_alone;
  rocksdb::DBOptions options = database_.Options();
  options.wal_recovery_mode = has_gap ? WALRecoveryMode::kSkipAnyCorruptedRecords
                                      : WALRecoveryMode::kPointInTimeRecovery;
  const Status opened = database_.Open(options);
  if (opened.code() == StatusCode::kCorruption) {
    return Status::Corruption(Concat({"a write-ahead log (*.log) is damaged: ", first.message(),
        RepairAdvice(directory(), Concat({", gives up what cannot be read, and keeps a copy of "
            "the damaged logs in ", directory(), "/quarantine"}))}));
  }
  CISTERN_RETURN_IF_ERROR(opened);
  store_->rung = has_gap ? RecoveryRung::kSkipped : RecoveryRung::kPointInTime;
  store_->NoteOddity(Concat({"a write-ahead log (*.log) is damaged (", first.message(),
      "); what ", (has_gap ? "is damaged of it" : "follows the damage"), " is not shown",
      (has_gap ? std::string()
       : has_logs_behind
           ? "; an opening for writing gives up the logs behind it too" + SalvageAdvice(directory())
           : RepairAdvice(directory(), Concat({", gives that up, and keeps a copy of the damaged "
                 "logs in ", directory(), "/quarantine"})))}));
  return Status::Ok();
}

}  // namespace cistern
