// kill -9 at every crash point of Backup and of restoring, and a power cut at every operation of
// either: the backup before stays whole, the store loses nothing, and the next attempt does it.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "cistern/cistern.h"
#include "engine/engine_impl.h"
#include "storage/backup_restorer.h"
#include "tests/crash/killed_work.h"
#include "tests/support/cut_process.h"
#include "tests/support/power_loss_fs.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr char kTable[] =
    "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, flow double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';";
constexpr int64_t kFirstMs = 1'704'067'200'000;
constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kRowsOfStep = 20;

// The parent opens nothing: RocksDB's threads would not survive the next fork.
class BackupCrash : public ::testing::Test {
 protected:
  BackupCrash() : root_("cistern-backup-crash") {}

  [[nodiscard]] std::string Store() const { return root_.path() + "/store"; }
  [[nodiscard]] std::string Backups() const { return root_.path() + "/backups"; }
  [[nodiscard]] std::string NewStore() const { return root_.path() + "/new"; }

  static Result<std::unique_ptr<Engine>> Open(const std::string& directory,
                                              std::shared_ptr<rocksdb::FileSystem> fs = nullptr) {
    EngineOptions options;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    options.background_threads = false;
    return OpenEngineOver(directory, options, std::move(fs));
  }
  // Day `step` of one sensor: half of it is sealed, some is spilled, the rest in the journal.
  static Status Write(Engine* engine, int64_t step) {
    CISTERN_RETURN_IF_ERROR(engine->CreateTable(kTable));
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("pumps"));
    for (int64_t n = 0; n < kRowsOfStep; ++n) {
      RowBatch batch(schema);
      batch.BeginRow();
      CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, "a"));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(2, kFirstMs + step * kDayMs + n));
      CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, static_cast<double>(n)));
      CISTERN_RETURN_IF_ERROR(batch.EndRow());
      CISTERN_RETURN_IF_ERROR(engine->Append(batch).status());
      if (n == kRowsOfStep / 2) {
        CISTERN_RETURN_IF_ERROR(engine->Seal({.due_only = false}).status());
      }
      if (n == kRowsOfStep - 5) CISTERN_RETURN_IF_ERROR(engine->Rotate());
    }
    return Status::Ok();
  }
  static Result<int64_t> Count(Engine* engine) {
    return CountRows(engine, kFirstMs, kFirstMs + 100'000 * kDayMs);
  }
  Status BackUp(std::shared_ptr<rocksdb::FileSystem> fs = nullptr, size_t keep_count = 2) const {
    CISTERN_ASSIGN_OR_RETURN(const auto engine, Open(Store(), std::move(fs)));
    return engine->Backup(Backups(), {keep_count}).status();
  }
  Status WriteStep(int64_t step) const {
    CISTERN_ASSIGN_OR_RETURN(const auto engine, Open(Store()));
    return Write(engine.get(), step);
  }
  Status Restore(std::shared_ptr<rocksdb::FileSystem> fs = nullptr) const {
    return RestoreStore(Backups(), NewStore(), {}, std::move(fs)).status();
  }
  // The restored store is whole, of `rows` rows, and takes more.
  Status CheckRestored(int64_t rows) const {
    CISTERN_ASSIGN_OR_RETURN(const auto engine, Open(NewStore()));
    const RecoveryReport recovery = engine->Recovery();
    if (!recovery.clean) return Status::Internal(recovery.notes.front());
    if (!recovery.restored) return Status::Internal("it does not know that it was restored");
    CISTERN_ASSIGN_OR_RETURN(const int64_t count, Count(engine.get()));
    if (count != rows) {
      return Status::Internal(std::to_string(count) + " rows instead of " + std::to_string(rows));
    }
    CISTERN_ASSIGN_OR_RETURN(const VerifyReport verified, engine->Verify());
    if (!verified.problems.empty()) return Status::Internal(verified.problems.front());
    return Write(engine.get(), -1);
  }
  // Every backup that is there is whole.
  std::vector<uint64_t> WholeBackups() const {
    std::vector<uint64_t> numbers;
    const auto list = ListBackups(Backups());
    if (!list.ok()) return numbers;
    for (const BackupInfo& info : *list) {
      const auto check = VerifyBackup(Backups(), info.number);
      EXPECT_TRUE(check.ok()) << check.status().ToString();
      EXPECT_TRUE(!check.ok() || check->problems.empty()) << check->problems.front();
      numbers.push_back(info.number);
    }
    return numbers;
  }

  TempDir root_;
};

constexpr const char* kBackupPoints[] = {
    "backup:after_begin",  "backup:after_file",     "backup:after_own_file", "backup:before_record",
    "backup:after_record", "backup:after_unrecord", "backup:after_remove"};
constexpr const char* kRestorePoints[] = {"restore:after_mark", "restore:after_file",
                                          "restore:before_format", "restore:after_format"};

TEST_F(BackupCrash, KilledAtEveryPointOfABackup) {
  int64_t step = 0;  // what the store has
  ASSERT_TRUE(InChild([&] { return WriteStep(step); }));
  ++step;
  ASSERT_TRUE(InChild([&] { return BackUp(); }));
  for (const char* point : kBackupPoints) {
    int kills = 0;
    // Not every backup removes something.
    for (int attempt = 0; attempt < 6 && kills < 2; ++attempt) {
      ASSERT_TRUE(InChild([&] { return WriteStep(step); }));
      ++step;
      const std::vector<uint64_t> before = WholeBackups();
      const bool killed = KilledAt(point, 1 + kills, [&] { return BackUp(nullptr, 1); });
      kills += killed ? 1 : 0;
      const std::vector<uint64_t> after = WholeBackups();
      ASSERT_FALSE(after.empty()) << point;
      EXPECT_GE(after.back(), before.back()) << point;
      ASSERT_TRUE(InChild([&] { return BackUp(); })) << point;
      ASSERT_GT(WholeBackups().back(), before.back()) << point;
      std::filesystem::remove_all(NewStore());
      ASSERT_TRUE(InChild([&] { return Restore(); })) << point;
      ASSERT_TRUE(InChild([&] { return CheckRestored(step * kRowsOfStep); })) << point;
    }
    EXPECT_GT(kills, 0) << point << " was never passed";
  }
}

TEST_F(BackupCrash, KilledAtEveryPointOfARestoring) {
  for (int64_t step = 0; step < 4; ++step) {
    ASSERT_TRUE(InChild([&] { return WriteStep(step); }));
  }
  ASSERT_TRUE(InChild([&] { return BackUp(); }));
  for (const char* point : kRestorePoints) {
    int kills = 0;
    for (int hit = 1; hit <= 3; ++hit) {
      std::filesystem::remove_all(NewStore());
      const bool killed = KilledAt(point, hit, [&] { return Restore(); });
      kills += killed ? 1 : 0;
      const bool is_store = std::filesystem::exists(NewStore() + "/CISTERN");
      EXPECT_EQ(is_store, !killed || std::strcmp(point, "restore:after_format") == 0) << point;
      // What is not whole is not opened, and not taken for an empty place either.
      if (!is_store) {
        ASSERT_FALSE(InChild([&] { return Open(NewStore()).status(); })) << point;
        ASSERT_TRUE(InChild([&] { return Restore(); })) << point;
      }
      ASSERT_TRUE(InChild([&] { return CheckRestored(4 * kRowsOfStep); })) << point;
      ASSERT_FALSE(InChild([&] { return Restore(); })) << "a store was overwritten";
      if (!killed) break;
    }
    EXPECT_GT(kills, 0) << point << " was never passed";
  }
}

class PowerCutOfBackup : public BackupCrash, public ::testing::WithParamInterface<bool> {
 protected:
  // Directory entries that were not synced are lost too, by the parameter.
  std::shared_ptr<PowerLossFileSystem> Power(uint64_t fatal_op) const {
    PowerLossPlan plan{.seed = fatal_op, .fatal_op = fatal_op};
    if (GetParam()) {
      plan.shadow_directory = root_.path() + "/shadow";
      std::filesystem::remove_all(plan.shadow_directory);
      std::filesystem::create_directory(plan.shadow_directory);
    }
    return std::make_shared<PowerLossFileSystem>(plan);
  }
  // Each nth operation; all of them in the nightly run.
  static uint64_t Stride() { return EnvNumber("CISTERN_FAULT_STRIDE", 5); }
};

TEST_P(PowerCutOfBackup, AtAnyOperationLeavesTheBackupBefore) {
  int64_t step = 0;  // what the store has
  ASSERT_TRUE(InChild([&] { return WriteStep(step); }));
  ++step;
  ASSERT_TRUE(InChild([&] { return BackUp(nullptr, 1); }));
  uint64_t cuts = 0;
  for (uint64_t fatal_op = 1;; fatal_op += Stride()) {
    ASSERT_TRUE(InChild([&] { return WriteStep(step); }));
    ++step;
    const std::vector<uint64_t> before = WholeBackups();
    ASSERT_FALSE(before.empty()) << fatal_op;
    const bool cut = RunUntilCut([&] { return IsOk(BackUp(Power(fatal_op), 1)); });
    const std::vector<uint64_t> after = WholeBackups();
    ASSERT_FALSE(after.empty()) << "cut at " << fatal_op;
    ASSERT_GE(after.back(), before.back()) << "cut at " << fatal_op;
    ASSERT_TRUE(InChild([&] { return BackUp(nullptr, 1); })) << "cut at " << fatal_op;
    std::filesystem::remove_all(NewStore());
    ASSERT_TRUE(InChild([&] { return Restore(); })) << "cut at " << fatal_op;
    ASSERT_TRUE(InChild([&] { return CheckRestored(step * kRowsOfStep); }))
        << "cut at " << fatal_op;
    if (!cut) break;
    ++cuts;
  }
  EXPECT_GT(cuts, 60 / Stride());
}

TEST_P(PowerCutOfBackup, AtAnyOperationOfARestoringLeavesAWholeStoreOrNone) {
  for (int64_t step = 0; step < 2; ++step) {
    ASSERT_TRUE(InChild([&] { return WriteStep(step); }));
  }
  ASSERT_TRUE(InChild([&] { return BackUp(); }));
  uint64_t cuts = 0;
  for (uint64_t fatal_op = 1;; fatal_op += Stride()) {
    std::filesystem::remove_all(NewStore());
    const bool cut = RunUntilCut([&] { return IsOk(Restore(Power(fatal_op))); });
    if (!std::filesystem::exists(NewStore() + "/CISTERN")) {
      ASSERT_TRUE(InChild([&] { return Restore(); })) << "cut at " << fatal_op;
    }
    ASSERT_TRUE(InChild([&] { return CheckRestored(2 * kRowsOfStep); })) << "cut at " << fatal_op;
    if (!cut) break;
    ++cuts;
  }
  EXPECT_GT(cuts, 50 / Stride());
}

INSTANTIATE_TEST_SUITE_P(Crash, PowerCutOfBackup, ::testing::Bool(), [](const auto& run) {
  return std::string(run.param ? "entries_lost" : "entries_durable");
});

}  // namespace
}  // namespace cistern::testing
