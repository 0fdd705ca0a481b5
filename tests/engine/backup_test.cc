// Backups of an open engine, and the stores that are made of them.
#include <atomic>
#include <string_view>
#include <thread>

#include "cistern/salvage.h"
#include "lib/base/crash_point.h"
#include "storage/file_kind.h"
#include "tests/engine/backup_fixture.h"
#include "tests/support/outbox_names.h"

namespace cistern::testing {
namespace {

class BackupTest : public BackupFixture {};

TEST_F(BackupTest, HasWhatWasAcknowledgedBeforeAndOpensAsWhole) {
  FillEverywhere();
  const std::string id = Core()->store().store_id();
  const BackupReport report = MustBackUp();
  EXPECT_EQ(report.number, 1u);
  EXPECT_EQ(report.taken_us, kStartUs);
  EXPECT_EQ(report.sequence, Core()->committer().last_sequence());
  EXPECT_EQ(report.files_copied, report.files);
  EXPECT_EQ(report.bytes_copied, report.bytes);
  EXPECT_TRUE(report.problems.empty());
  ExpectWhole(1);
  MustAppend("a", next_ts_, 99);  // later: not in it
  SealAll();

  clock_->AdvanceSeconds(60);
  const RestoreReport restored = MustRestore();
  EXPECT_EQ(restored.number, 1u);
  EXPECT_EQ(restored.store_id, id);
  EXPECT_EQ(restored.files, report.files);
  EXPECT_EQ(restored.bytes, report.bytes);
  const RecoveryReport recovery = engine_->Recovery();
  EXPECT_TRUE(recovery.clean) << recovery.notes.front();
  EXPECT_FALSE(recovery.created);
  ASSERT_TRUE(recovery.restored);
  EXPECT_EQ(recovery.restored->store_id, id);
  EXPECT_EQ(recovery.restored->number, 1u);
  EXPECT_EQ(recovery.restored->taken_us, kStartUs);
  EXPECT_EQ(recovery.restored->restored_us, kStartUs + 60'000'000);
  EXPECT_EQ(Core()->store().store_id(), id);
  EXPECT_EQ(Core()->store().beacon_sequence(), report.sequence);
  ExpectAllBut("");
  ExpectSound();
  MustAppend("a", next_ts_, 7);  // and it goes on
  SealAll();
  Reopen();
  EXPECT_TRUE(engine_->Recovery().restored);
  ExpectSound();
}

TEST_F(BackupTest, RowsThatAreInTheJournalAloneAndNotSyncedAreInIt) {
  ASSERT_TRUE(Append("a", kStartMs, 1, {Durability::kLog}).ok());
  MustBackUp();
  MustRestore();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

// A log of the backup that lacks its end is noticed by whoever opens the store.
TEST_F(BackupTest, AStoreThatLacksWhatTheBackupHadSaysSo) {
  for (int i = 0; i < 5; ++i) MustAppend("a", kStartMs + i, i);
  const BackupReport report = MustBackUp();
  const std::string store = NewStore();
  ASSERT_TRUE(RestoreBackup(Backups(), store).ok());
  std::filesystem::path log;
  for (const std::string& file : FilesBelow(store)) {
    if (file.ends_with(".log") && std::filesystem::file_size(file) > 0) log = file;
  }
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 1);
  GoOnWith(store);
  EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(engine_->Recovery().lost_sequence_last, report.sequence);
}

TEST_F(BackupTest, ASecondOneCopiesOnlyNewFiles) {
  FillEverywhere();
  BackupReport first;
  BackupReport second;
  WhileQuiet([&] {
    first = MustBackUp();
    second = MustBackUp();
  });
  EXPECT_GE(first.files - OwnFiles(1), 3u);
  EXPECT_EQ(second.files, first.files);
  EXPECT_EQ(second.files_copied, OwnFiles(2));
  EXPECT_LT(second.bytes_copied, first.bytes_copied);
  FillSmall();
  SealAll();
  const BackupReport third = MustBackUp();
  EXPECT_GT(third.files_copied, second.files_copied);
  EXPECT_LT(third.files_copied, third.files);
  for (const uint64_t number : {1, 2, 3}) ExpectWhole(number);
  MustRestore(3);
  ExpectAllBut("");
}

// The file of an interrupted one is taken up, and one that was cut there is copied anew.
TEST_F(BackupTest, GoesOnWithWhatAnInterruptedOneHasCopied) {
  FillEverywhere();
  BackupReport again;
  WhileQuiet([&] {
    MustBackUp();
    const BackupRecord record = RecordOf(1);
    std::filesystem::remove(Backups() + "/1/CONTENTS");
    EXPECT_TRUE(Numbers().empty());
    FlipBit(BackupDirectory(nullptr, Backups()).PathOf(1, record.files.back()), 100);
    again = MustBackUp();
  });
  EXPECT_EQ(again.number, 1u);
  EXPECT_EQ(again.files_copied, OwnFiles(1) + 1);
  ExpectWhole(1);
}

TEST_F(BackupTest, KeepsAsManyAsAskedAndWhatTheyNeed) {
  for (int i = 0; i < 5; ++i) {
    FillSmall();
    SealAll();
    MustBackUp(i < 4 ? 3 : 2);
  }
  EXPECT_EQ(Numbers(), (std::vector<uint64_t>{4, 5}));
  ExpectWhole(4);
  ExpectWhole(5);
  // Files that none of them has are gone.
  std::set<std::string> named;
  for (const uint64_t number : {4, 5}) {
    const BackupRecord record = RecordOf(number);
    for (const BackupFile& file : record.files) {
      const BackupDirectory backups(nullptr, Backups());
      if (file.is_shared()) named.insert(backups.PathOf(number, file));
    }
  }
  EXPECT_EQ(FilesBelow(Backups() + "/shared"), named);
  MustRestore(4);
  ExpectSound();
}

TEST_F(BackupTest, ACopyWithANewIdentityHasBackupsOfItsOwn) {
  FillEverywhere();
  const std::string id = Core()->store().store_id();
  MustBackUp();
  const RestoreReport restored = MustRestore(0, {.new_identity = true});
  EXPECT_NE(restored.store_id, id);
  EXPECT_EQ(Core()->store().store_id(), restored.store_id);
  EXPECT_TRUE(engine_->Recovery().clean);
  EXPECT_EQ(engine_->Recovery().restored->store_id, id);
  ExpectAllBut("");
  const auto mixed = engine_->Backup(Backups());
  EXPECT_EQ(mixed.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(mixed.status().message().find("backups of another store"), std::string::npos);
  EXPECT_TRUE(engine_->Backup(temp_.path() + "/others").ok());
}

// It was never opened: what it was copied with is all that salvage has.
TEST_F(BackupTest, ARestoredStoreIsSalvagedAsAnyOther) {
  FillEverywhere();
  const auto names = NamesInOutbox(Core()->store().spills().view());
  ASSERT_TRUE(names.ok());
  ASSERT_FALSE(names->empty());
  ASSERT_TRUE(TryConfirm({names->front()}).ok());
  const uint64_t confirmed = engine_->GetMetrics().versions_confirmed;
  ASSERT_GT(confirmed, 0u);
  MustBackUp();
  for (const bool is_opened : {false, true}) {
    const std::string store = NewStore();
    const auto restored = RestoreStore(Backups(), store, {.clock = clock_}, fs_);
    ASSERT_TRUE(restored.ok()) << restored.status().ToString();
    if (is_opened) GoOnWith(store);
    engine_.reset();
    for (const auto& entry : std::filesystem::directory_iterator(store)) {
      if (FileKindOf(entry.path().string()) == FileKind::kManifest) {
        std::filesystem::remove(entry.path());
      }
    }
    const std::string to = NewStore();
    const auto saved = Salvage(store, to, {.clock = clock_});
    ASSERT_TRUE(saved.ok()) << saved.status().ToString();
    EXPECT_EQ(saved->versions_lost, 0u);
    GoOnWith(to);
    ExpectAllBut("");
    EXPECT_EQ(engine_->GetMetrics().versions_confirmed, confirmed);
    ExpectSound();
  }
}

// Its files have the numbers of those that the original wrote after the backup.
TEST_F(BackupTest, AReplacementGoesOnInTheSameDirectory) {
  FillEverywhere();
  MustBackUp();
  const std::map<std::string, Rows> then = expected_;
  const int64_t ts = next_ts_;
  FillSmall();
  SealAll();
  MustBackUp();
  expected_ = then;
  next_ts_ = ts + 500;
  MustRestore(1);
  FillSmall();
  SealAll();
  EXPECT_EQ(MustBackUp().number, 3u);
  for (const uint64_t number : {1, 2, 3}) ExpectWhole(number);
  MustRestore(3);
  ExpectAllBut("");
  ExpectSound();
}

TEST_F(BackupTest, RefusesWhatIsNoPlaceForBackups) {
  const auto refused = [this](const std::string& directory) {
    const auto report = engine_->Backup(directory);
    EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument) << directory;
    return report.status().message();
  };
  MustAppend("a", kStartMs, 1);
  EXPECT_NE(refused(directory()).find("in the store"), std::string::npos);
  EXPECT_NE(refused(directory() + "/deep/er").find("in the store"), std::string::npos);
  EXPECT_NE(refused(temp_.path()).find("has it in it"), std::string::npos);
  refused("");
  WriteFile(temp_.path() + "/file", "x");
  EXPECT_NE(refused(temp_.path() + "/file").find("is a file"), std::string::npos);
  std::filesystem::create_directory(temp_.path() + "/things");
  WriteFile(temp_.path() + "/things/x", "x");
  EXPECT_NE(refused(temp_.path() + "/things").find("holds other things (x)"), std::string::npos);
  const std::string other = CopyStore();
  EXPECT_NE(refused(other).find("is a store"), std::string::npos);
  std::filesystem::create_directory_symlink(directory(), temp_.path() + "/link");
  refused(temp_.path() + "/link/backups");
  for (const size_t keep_count : {size_t{0}, limits::kBackupKeepMax + 1}) {
    EXPECT_EQ(engine_->Backup(Backups(), {keep_count}).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(directory() + "/deep"));
  MustAppend("a", kStartMs + 1, 2);
}

TEST_F(BackupTest, RefusesToRestoreOverAnything) {
  MustAppend("a", kStartMs, 1);
  const auto restore = [this](const std::string& to, uint64_t number = 0) {
    return RestoreBackup(Backups(), to, {.number = number}).status();
  };
  EXPECT_EQ(restore(NewStore()).code(), StatusCode::kNotFound);
  EXPECT_EQ(ListBackups(Backups()).status().code(), StatusCode::kNotFound);
  MustBackUp();
  EXPECT_EQ(restore(NewStore(), 2).code(), StatusCode::kNotFound);
  EXPECT_EQ(restore(directory()).code(), StatusCode::kAlreadyExists);
  // Nor where CISTERN is lost.
  const std::string copy = CopyStore();
  std::filesystem::remove(copy + "/CISTERN");
  EXPECT_EQ(restore(copy).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(restore(Backups() + "/new").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(restore(temp_.path()).code(), StatusCode::kInvalidArgument);
  WriteFile(temp_.path() + "/file", "x");
  EXPECT_EQ(restore(temp_.path() + "/file").code(), StatusCode::kInvalidArgument);
  std::filesystem::create_directory(temp_.path() + "/things");
  WriteFile(temp_.path() + "/things/x", "x");
  EXPECT_EQ(restore(temp_.path() + "/things").code(), StatusCode::kInvalidArgument);
  ExpectWhole(1);
  // A store that was restored and has lost CISTERN is not taken for one that was interrupted.
  const std::string store = NewStore();
  ASSERT_TRUE(restore(store).ok());
  std::filesystem::remove(store + "/CISTERN");
  EXPECT_EQ(restore(store).code(), StatusCode::kAlreadyExists);
}

TEST_F(BackupTest, AnInterruptedRestoringIsNoStoreAndIsBegunAgain) {
  FillEverywhere();
  MustBackUp();
  const std::string store = NewStore();
  ASSERT_TRUE(RestoreBackup(Backups(), store).ok());
  std::filesystem::remove(store + "/CISTERN");
  std::filesystem::rename(store + "/RESTORED", store + "/RESTORING");
  WriteFile(store + "/000999.sst", "of another one");
  for (const bool read_only : {true, false}) {
    EngineOptions options = options_;
    options.read_only = read_only;
    const auto opened = Engine::Open(store, options);
    EXPECT_EQ(opened.status().code(), StatusCode::kCorruption);
    EXPECT_NE(opened.status().message().find("interrupted"), std::string::npos);
  }
  const auto again = RestoreBackup(Backups(), store);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_FALSE(std::filesystem::exists(store + "/000999.sst"));
  GoOnWith(store);
  ExpectAllBut("");
  ExpectSound();
}

TEST_F(BackupTest, WritersAndSealsGoOnMeanwhile) {
  engine_.reset();
  options_.background_threads = true;
  options_.memory_budget_bytes = 8 << 20;
  Open();
  std::atomic<int64_t> acknowledged{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    const auto producer = engine_->NewProducer();
    for (int64_t n = 0; !stop; ++n) {
      RowBatch batch(schema_);
      AddRow(&batch, "a", kStartMs + n * 60'000, static_cast<double>(n));
      const auto written = (*producer)->Append(batch, {Durability::kLog});
      ASSERT_TRUE(written.ok()) << written.status().ToString();
      acknowledged = n + 1;
    }
  });
  std::thread sealer([&] {
    while (!stop) {
      ASSERT_TRUE(engine_->Rotate().ok());
      ASSERT_TRUE(engine_->Seal({.due_only = false}).ok());
    }
  });
  std::vector<int64_t> before;
  for (int i = 0; i < 6; ++i) {
    before.push_back(acknowledged);
    MustBackUp(6);
  }
  stop = true;
  writer.join();
  sealer.join();
  options_.background_threads = false;
  for (size_t i = 0; i < before.size(); ++i) {
    ExpectWhole(i + 1);
    MustRestore(i + 1);
    EXPECT_TRUE(engine_->Recovery().clean);
    const Rows rows = Scan("a", kStartMs, kStartMs + 3650 * kDayMs);
    EXPECT_GE(static_cast<int64_t>(rows.size()), before[i]);
    for (size_t n = 0; n < rows.size(); ++n) {
      ASSERT_EQ(rows[n], std::pair(kStartMs + static_cast<int64_t>(n) * 60'000,
                                   static_cast<double>(n)));
    }
    ExpectSound();
  }
}

// Whoever closes the engine, or has it open its store anew, is not kept waiting by a long one.
TEST_F(BackupTest, EndsWhenTheEngineIsClosedOrItsStoreHasFailed) {
  FillEverywhere();
  MustBackUp();
  static EngineCore* core = nullptr;
  core = Core().get();
  g_crash_hook = [](const char* name) {
    if (std::string_view(name) == "backup:after_begin") {
      EXPECT_TRUE(core->Finish().ok());
    }
  };
  EXPECT_EQ(engine_->Backup(Backups()).status().code(), StatusCode::kClosed);
  Reopen();
  core = Core().get();
  g_crash_hook = [](const char* name) {
    if (std::string_view(name) == "backup:after_begin") {
      core->committer().Fail(Status::IoError("the device went"));
    }
  };
  const auto failed = engine_->Backup(Backups());
  g_crash_hook = nullptr;
  EXPECT_EQ(failed.status().code(), StatusCode::kIoError);
  EXPECT_EQ(failed.status().message(), "the device went");
  ExpectWhole(1);
  TickAll();  // opens the store anew
  ASSERT_TRUE(engine_->Health().ok());
  EXPECT_EQ(MustBackUp().number, 2u);
  ASSERT_TRUE(engine_->Close().ok());
  EXPECT_EQ(engine_->Backup(Backups()).status().code(), StatusCode::kClosed);
}

TEST_F(BackupTest, TakesItsPartOfTheMemoryBudget) {
  MustAppend("a", kStartMs, 1);
  MemoryCharge all(Core()->budget());
  all.Set(Core()->budget()->left_bytes() - limits::kBackupMemoryBytes + 1);
  EXPECT_EQ(engine_->Backup(Backups()).status().code(), StatusCode::kOutOfMemory);
  all.Set(0);
  const size_t before = Core()->budget()->used_bytes();
  MustBackUp();
  EXPECT_EQ(Core()->budget()->used_bytes(), before);
}

}  // namespace
}  // namespace cistern::testing
