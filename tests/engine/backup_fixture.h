// What tests of backups share: a directory of them, and the store that is made of one.
#ifndef CISTERN_TESTS_ENGINE_BACKUP_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_BACKUP_FIXTURE_H_

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cistern/backup.h"
#include "storage/backup_directory.h"
#include "storage/backup_restorer.h"
#include "tests/engine/quarantine_fixture.h"

namespace cistern::testing {

class BackupFixture : public QuarantineFixture {
 protected:
  BackupFixture() { options_.event_future_s_max = limits::kFutureSecondsMax; }

  [[nodiscard]] std::string Backups() const { return temp_.path() + "/backups"; }
  [[nodiscard]] std::string NewStore() { return temp_.path() + "/new" + std::to_string(++news_); }

  BackupReport MustBackUp(size_t keep_count = limits::kBackupKeepDefault) {
    const auto report = engine_->Backup(Backups(), {keep_count});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *report : BackupReport{};
  }
  // What the directory has, unreadable or not.
  std::vector<uint64_t> Numbers() {
    std::vector<uint64_t> numbers;
    const auto list = ListBackups(Backups());
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    if (!list.ok()) return numbers;
    for (const BackupInfo& info : *list) numbers.push_back(info.number);
    return numbers;
  }
  void ExpectWhole(uint64_t number) {
    const auto check = VerifyBackup(Backups(), number);
    ASSERT_TRUE(check.ok()) << check.status().ToString();
    EXPECT_EQ(check->number, number);
    EXPECT_TRUE(check->problems.empty()) << check->problems.front();
  }
  std::set<std::string> FilesBelow(const std::string& directory) {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file()) files.insert(entry.path().string());
    }
    return files;
  }
  // Goes on with the store that is made of the backup.
  RestoreReport MustRestore(uint64_t number = 0, RestoreOptions options = {}) {
    options.number = number;
    options.clock = clock_;
    const std::string store = NewStore();
    const auto report = RestoreStore(Backups(), store, options, fs_);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    if (!report.ok()) return {};
    GoOnWith(store);
    return *report;
  }
  // RocksDB's own threads change nothing meanwhile; it cannot flush either.
  template <typename Work>
  void WhileQuiet(const Work& work) {
    rocksdb::DB* db = Core()->store().db().db();
    ASSERT_TRUE(db->PauseBackgroundWork().ok());
    work();
    ASSERT_TRUE(db->ContinueBackgroundWork().ok());
  }
  BackupRecord RecordOf(uint64_t number) {
    const auto record = BackupDirectory(nullptr, Backups()).Read(number);
    EXPECT_TRUE(record.ok()) << record.status().ToString();
    return record.ok() ? *record : BackupRecord{};
  }
  // Files that every backup has for itself.
  uint64_t OwnFiles(uint64_t number) {
    const BackupRecord record = RecordOf(number);
    return static_cast<uint64_t>(
        std::count_if(record.files.begin(), record.files.end(),
                      [](const BackupFile& file) { return !file.is_shared(); }));
  }
  // Sealed, spilled and journal rows, each of another bucket or time.
  void FillEverywhere() {
    FillSmall();
    SealAll();
    next_ts_ += kDayMs;
    FillSmall();
    next_ts_ += 1000;
    for (int i = 0; i < 5; ++i) {
      MustAppend("a", next_ts_, i);
      expected_["a"].emplace_back(next_ts_++, i);
    }
  }

  int news_ = 0;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_BACKUP_FIXTURE_H_
