// Backups: taken of an open engine, listed, checked, and made stores again.
#include "cistern/backup.h"

#include <string>
#include <utility>

#include "engine/engine_impl.h"
#include "lib/base/concat.h"
#include "lib/base/entered.h"
#include "storage/backup_directory.h"
#include "storage/backup_restorer.h"
#include "storage/backup_writer.h"

namespace cistern {

namespace {

Result<BackupReport> BackUp(EngineCore* core, const std::string& directory, size_t keep_count,
                            Clock* clock) {
  MemoryCharge charge(core->budget());
  if (!charge.TrySet(limits::kBackupMemoryBytes)) {
    return Status::OutOfMemory(Concat({"the memory budget is used up, and a backup takes ",
        limits::kBackupMemoryBytes, " bytes of it: close cursors, or raise memory_budget_bytes "
        "(cistern --memory-budget)"}));
  }
  // Whoever closes the engine, or has it open its store anew, waits for the end of this call.
  const KeepOn keep_on = [core] {
    if (core->finished()) return Status::Closed("the engine was closed");
    return core->committer().failure();
  };
  CISTERN_ASSIGN_OR_RETURN(auto writer,
                           BackupWriter::Begin(&core->store().db(), directory, keep_on));
  CISTERN_RETURN_IF_ERROR(writer->CopyAhead());
  CISTERN_ASSIGN_OR_RETURN(const int64_t held_us,
                           core->maintenance().WhileStill([&](uint64_t sequence) {
                             return writer->Pin(sequence, clock->WallMicros());
                           }));
  CISTERN_RETURN_IF_ERROR(writer->CopyPinned());
  CISTERN_ASSIGN_OR_RETURN(BackupReport report, writer->Finish(keep_count));
  report.held_us = held_us;
  return report;
}

BackupInfo InfoOf(uint64_t number, const Result<BackupRecord>& record) {
  BackupInfo info;
  info.number = number;
  info.readable = record.ok();
  if (!record.ok()) {
    info.problems.push_back(record.status().message());
    return info;
  }
  info.store_id = record->store_id;
  info.taken_us = record->taken_us;
  info.sequence = record->sequence;
  info.files = record->files.size();
  info.bytes = record->byte_count();
  info.problems = record->problems;
  return info;
}

}  // namespace

Result<BackupReport> EngineImpl::Backup(const std::string& directory,
                                        const BackupOptions& options) {
  if (options.keep_count < 1 || options.keep_count > limits::kBackupKeepMax) {
    return Status::InvalidArgument(Concat({"keep_count is ", options.keep_count, ": 1 to ",
        limits::kBackupKeepMax}));
  }
  CISTERN_ASSIGN_OR_RETURN(const auto open, writable_core());
  (void)open->committer().CommitQueued();  // what was submitted before is in it
  return BackUp(open.get(), directory, options.keep_count, this->options().clock.get());
}

Result<std::vector<BackupInfo>> ListBackups(const std::string& directory) {
  return Entered([&]() -> Result<std::vector<BackupInfo>> {
    const BackupDirectory backups(nullptr, directory);
    CISTERN_RETURN_IF_ERROR(backups.ReadOwner().status());
    CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, backups.ListNumbers());
    std::vector<BackupInfo> infos;
    for (const uint64_t number : numbers) infos.push_back(InfoOf(number, backups.Read(number)));
    return infos;
  });
}

Result<BackupCheck> VerifyBackup(const std::string& directory, uint64_t number) {
  return Entered([&]() -> Result<BackupCheck> {
    const BackupDirectory backups(nullptr, directory);
    CISTERN_ASSIGN_OR_RETURN(const BackupRecord record, backups.Find(number));
    return backups.Check(record, [] { return Status::Ok(); });
  });
}

Result<RestoreReport> RestoreBackup(const std::string& from, const std::string& to,
                                    const RestoreOptions& options) {
  return Entered([&]() -> Result<RestoreReport> {
    return RestoreStore(from, to, options, nullptr);
  });
}

}  // namespace cistern
