// Backups that are damaged, backups of a store that is, and disks that fail under either.
#include "lib/base/coding.h"
#include "storage/outbox.h"
#include "tests/engine/backup_fixture.h"
#include "tests/support/fault_fs.h"

namespace cistern::testing {
namespace {

class BackupDamageTest : public BackupFixture {};

TEST_F(BackupDamageTest, AFlippedBitOfAnyFileIsFound) {
  FillEverywhere();
  MustBackUp();
  constexpr size_t kStride = 67;
  size_t at = 0;
  uint64_t flips = 0;
  for (const std::string& file : FilesBelow(Backups())) {
    const std::string whole = ReadFile(file);
    for (; at < whole.size(); at += kStride) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
      WriteFile(file, bytes);
      const auto check = VerifyBackup(Backups());
      EXPECT_TRUE(!check.ok() || !check->problems.empty()) << file << " at " << at;
      ++flips;
    }
    at -= whole.size();
    WriteFile(file, whole.substr(0, whole.size() - std::min<size_t>(whole.size(), 1)));
    const auto cut = VerifyBackup(Backups());
    EXPECT_TRUE(whole.empty() || !cut.ok() || !cut->problems.empty()) << file;
    WriteFile(file, whole);
  }
  EXPECT_GT(flips, 80u);
  ExpectWhole(1);
}

TEST_F(BackupDamageTest, WhatIsLeftOfADamagedOneIsRestoredWhenAskedFor) {
  FillSmall();
  SealAll();
  FillSmall();
  MustBackUp();
  // The file of the seal: a page of it.
  const auto tables = Tables("window-");
  ASSERT_EQ(tables.size(), 1u);
  std::string copy;
  for (const std::string& file : FilesBelow(Backups() + "/shared")) {
    const std::string name = std::filesystem::path(file).filename();
    if (name.starts_with(tables.front().stem().string() + "-")) copy = file;
  }
  ASSERT_FALSE(copy.empty());
  std::filesystem::remove(copy);
  const std::string store = NewStore();
  const auto refused = RestoreBackup(Backups(), store);
  EXPECT_EQ(refused.status().code(), StatusCode::kCorruption);
  EXPECT_NE(refused.status().message().find(copy), std::string::npos);
  EXPECT_EQ(Engine::Open(store, options_).status().code(), StatusCode::kCorruption);
  const auto restored = RestoreBackup(Backups(), store, {.damaged_too = true});
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  ASSERT_EQ(restored->problems.size(), 1u);
  EXPECT_NE(restored->problems.front().find(copy), std::string::npos);
  GoOnWith(store);
  EXPECT_EQ(engine_->Recovery().files_damaged, 1u);
  expect_gaps_ = true;
  EXPECT_EQ(ScanAll("a").size(), 50u);
}

// A backup compares sizes of what is there alone: it does as VerifyBackup advises.
TEST_F(BackupDamageTest, ATableThatIsMovedAwayIsCopiedAnew) {
  FillSmall();
  SealAll();
  MustBackUp();
  const std::string table = *FilesBelow(Backups() + "/shared").begin();
  FlipBit(table, 400);
  const auto rotten = VerifyBackup(Backups());
  ASSERT_TRUE(rotten.ok()) << rotten.status().ToString();
  ASSERT_EQ(rotten->problems.size(), 1u);
  EXPECT_NE(rotten->problems.front().find(table), std::string::npos);
  EXPECT_NE(rotten->problems.front().find("move it away"), std::string::npos);
  std::filesystem::remove(table);
  const auto missing = VerifyBackup(Backups());
  ASSERT_TRUE(missing.ok()) << missing.status().ToString();
  ASSERT_EQ(missing->problems.size(), 1u);
  EXPECT_NE(missing->problems.front().find("missing; back up again"), std::string::npos)
      << missing->problems.front();
  const uint64_t next = MustBackUp().number;
  ExpectWhole(1);
  ExpectWhole(next);
}

TEST_F(BackupDamageTest, TheFileThatAnnouncesThemIsNotNeeded) {
  FillSmall();
  MustBackUp();
  for (const bool gone : {false, true}) {
    if (gone) std::filesystem::remove(Backups() + "/BACKUPS");
    else FlipBit(Backups() + "/BACKUPS", 40);
    EXPECT_EQ(VerifyBackup(Backups())->problems.size(), 1u);
    EXPECT_FALSE(Numbers().empty());
    ASSERT_TRUE(RestoreBackup(Backups(), NewStore()).ok());
    ExpectWhole(MustBackUp().number);
  }
}

// Of a store that has lost a file: told, and no reason for an older backup to go.
TEST_F(BackupDamageTest, ABackupOfADamagedStoreSaysSoAndPushesOutNone) {
  FillSmall();
  SealAll();
  FillSmall();
  MustBackUp(1);
  const std::filesystem::path lost = Tables("window-").front();
  Shut();
  std::filesystem::remove(lost);
  Open();
  for (const uint64_t number : {2, 3}) {
    const BackupReport report = MustBackUp(1);
    EXPECT_EQ(report.number, number);
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_EQ(report.problems.front(),
              lost.filename().string() + ": it is missing; it is not in the backup");
    EXPECT_TRUE(report.removed.empty());
  }
  EXPECT_EQ(Numbers(), (std::vector<uint64_t>{1, 2, 3}));
  const auto check = VerifyBackup(Backups());
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->problems.size(), 1u);  // those of the store; the copies are as they were written
  expect_gaps_ = true;
  const Rows rest = ScanAll("a");
  const RestoreReport restored = MustRestore();
  EXPECT_EQ(restored.problems.size(), 1u);
  EXPECT_EQ(ScanAll("a"), rest);
  expect_gaps_ = false;
  MustRestore(1);
  ExpectAllBut("");
}

TEST_F(BackupDamageTest, ADamagedPageIsToldByThisBackupAndTheNext) {
  FillSmall();
  SealAll();
  const std::filesystem::path table = Tables("window-").front();
  FlipBit(table, 60);
  for (int i = 0; i < 2; ++i) {
    const BackupReport report = MustBackUp();
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_TRUE(report.problems.front().starts_with(table.filename().string() + ": damaged"))
        << report.problems.front();
  }
}

// Whatever fails under the directory of backups: the store goes on, the backup before is whole,
// the next one is made.
TEST_F(BackupDamageTest, AnErrorOfTheDeviceHarmsNothing) {
  engine_.reset();
  const auto faults = std::make_shared<FaultFileSystem>();
  fs_ = faults;
  Open();
  FillEverywhere();
  MustBackUp(1);
  FillSmall();
  SealAll();
  for (const FaultError error : {FaultError::kEio, FaultError::kNoSpace}) {
    uint64_t failed = 0;
    for (uint64_t nth = 1;; ++nth) {
      // Nothing of the store itself is to meet it.
      rocksdb::DB* db = Core()->store().db().db();
      ASSERT_TRUE(db->PauseBackgroundWork().ok());
      faults->Arm({.op = FaultOp::kAnyChange, .nth = nth, .forever = true, .error = error});
      const auto report = engine_->Backup(Backups(), {1});
      const bool was_hit = faults->injected() > 0;
      faults->Disarm();
      ASSERT_TRUE(db->ContinueBackgroundWork().ok());
      ASSERT_TRUE(engine_->Health().ok()) << nth;
      if (!was_hit) break;
      ++failed;
      if (!report.ok()) {
        EXPECT_EQ(report.status().code(), error == FaultError::kEio ? StatusCode::kIoError
                                                                    : StatusCode::kNoSpace)
            << nth << ": " << report.status().ToString();
      }
      const auto check = VerifyBackup(Backups());
      ASSERT_TRUE(check.ok()) << nth << ": " << check.status().ToString();
      ASSERT_TRUE(check->problems.empty()) << nth << ": " << check->problems.front();
      // The next one has something to copy again.
      FillSmall();
    }
    EXPECT_GT(failed, 20u);
  }
  MustAppend("a", next_ts_, 1);
  expected_["a"].emplace_back(next_ts_++, 1);
  MustBackUp(1);
  MustRestore();
  ExpectAllBut("");
}

// Another backup would not help a process that may open no more files.
TEST_F(BackupDamageTest, TooFewDescriptorsAreNoDamageOfABackup) {
  engine_.reset();
  const auto faults = std::make_shared<FaultFileSystem>();
  fs_ = faults;
  Open();
  FillEverywhere();
  MustBackUp();
  faults->Arm({.op = FaultOp::kRead, .kind = FileKind::kSst, .forever = true,
               .error = FaultError::kTooManyFiles});
  RestoreOptions options;
  options.clock = clock_;
  options.damaged_too = true;
  const auto report = RestoreStore(Backups(), NewStore(), options, fs_);
  faults->Disarm();
  EXPECT_EQ(report.status().code(), StatusCode::kTooManyOpenFiles) << report.status().ToString();
  MustRestore();
  ExpectAllBut("");
}

TEST_F(BackupDamageTest, TooLittleRoomIsToldBeforeAnythingIsCopied) {
  engine_.reset();
  const auto faults = std::make_shared<FaultFileSystem>();
  fs_ = faults;
  Open();
  FillEverywhere();
  faults->SetDiskBytes(faults->used_bytes() + 100'000);
  const auto report = engine_->Backup(Backups());
  EXPECT_EQ(report.status().code(), StatusCode::kNoSpace) << report.status().ToString();
  EXPECT_TRUE(FilesBelow(Backups() + "/shared").empty());
  faults->SetDiskBytes(0);
  MustBackUp();
}

TEST_F(BackupDamageTest, WhatWasConfirmedStaysAndTheRestWaits) {
  FillSmall();
  SealAll();
  FillSmall();
  SealAll();
  const auto outbox = [this] {
    std::vector<SealName> names;
    const auto view = Core()->store().spills().view();
    for (const auto& window : view->windows) {
      OutboxWalker walker(view, window->id);
      while (true) {
        const auto entry = walker.Next();
        if (!entry.ok() || !*entry) break;
        names.push_back(**entry);
      }
    }
    return names;
  };
  const std::vector<SealName> all = outbox();
  ASSERT_EQ(all.size(), 4u);
  ASSERT_TRUE(TryConfirm({all[0]}).ok());
  MustBackUp();
  ASSERT_TRUE(TryConfirm({all[1], all[2]}).ok());
  MustRestore();
  std::vector<uint64_t> waiting;
  for (const SealName& name : outbox()) waiting.push_back(name.seal);
  EXPECT_EQ(waiting, (std::vector<uint64_t>{all[1].seal, all[2].seal, all[3].seal}));
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 50u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
