// Full disks and failing devices: a Status, no abort, and nothing acknowledged is lost.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/concat.h"
#include "storage/ballast.h"
#include "storage/rocksdb_status.h"
#include "tests/storage/temp_store.h"
#include "tests/support/fault_fs.h"

namespace cistern {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;
const std::string kJournal = JournalFamilyName(1);

std::string Key(int i) { return std::to_string(100000 + i); }

Status AddJournal(OpenedStore* store) {
  if (store->families.contains(kJournal)) return Status::Ok();
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  const rocksdb::Status made = store->db->CreateColumnFamily(
      store->FamilyOptions(FamilyKind::kJournal), kJournal, &handle);
  if (made.ok()) store->families[kJournal] = handle;
  return ToStatus(made, "creating a journal");
}

Status PutSynced(OpenedStore* store, int i, size_t bytes) {
  rocksdb::WriteOptions synced;
  synced.sync = true;
  return ToStatus(
      store->db->Put(synced, store->families[kJournal], Key(i), std::string(bytes, 'v')), "put");
}

bool Has(OpenedStore* store, int i) {
  std::string value;
  return store->db->Get({}, store->families[kJournal], Key(i), &value).ok();
}

TEST(DiskFaults, AFullDiskRefusesWritesAndHealsByReopening) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(32 * kMiB);
  temp.config.base_fs = disk;
  int acknowledged = 0;
  {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_TRUE(store->ballast->held());
    ASSERT_TRUE(AddJournal(&*store).ok());
    disk->SetForeignBytes(20 * kMiB);  // another process
    Status status;
    while ((status = PutSynced(&*store, acknowledged, 20000)).ok()) ++acknowledged;
    EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.ToString();
    EXPECT_GT(acknowledged, 50);
    // It stays refused, without harm, and every acknowledged record is there.
    EXPECT_FALSE(PutSynced(&*store, acknowledged, 20000).ok());
    for (int i = 0; i < acknowledged; ++i) EXPECT_TRUE(Has(&*store, i)) << i;
    EXPECT_FALSE(store->Close().ok());  // there is something that it could not write
  }
  {
    // Still full: the ballast is what it opens on.
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_FALSE(store->ballast->held());
    for (int i = 0; i < acknowledged; ++i) EXPECT_TRUE(Has(&*store, i)) << i;
    EXPECT_EQ(store->ballast->TryHold().code(), StatusCode::kNoSpace);
    disk->SetForeignBytes(0);
    EXPECT_TRUE(store->ballast->TryHold().ok());
    EXPECT_TRUE(PutSynced(&*store, acknowledged, 20000).ok());
  }
}

// An opening takes the ballast as maintenance does: within the budget of the disk, with as much
// left as it is worth.
TEST(DiskFaults, TheBallastIsTakenWithinTheDiskBudget) {
  TempStore temp;
  temp.config.disk_budget_bytes = 32 * kMiB;
  const auto reopen = [&] {
    std::filesystem::remove(temp.Path("BALLAST"));
    auto store = temp.Open();
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_LE(store->fs->disk_bytes_used(), 32 * kMiB);
    return store->ballast->held();
  };
  ASSERT_TRUE(temp.Open().ok());
  const uint64_t ballast_bytes = BallastBytes(temp.config);
  std::ofstream(temp.Path("rows")).put('x');
  std::filesystem::resize_file(temp.Path("rows"), 31 * kMiB - ballast_bytes / 2);
  EXPECT_FALSE(reopen());
  std::filesystem::resize_file(temp.Path("rows"), 30 * kMiB - 2 * ballast_bytes);
  EXPECT_TRUE(reopen());
}

TEST(DiskFaults, MaintenanceLeavesAPartOfTheBallastToTheNextOpening) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(64 * kMiB);
  temp.config.base_fs = disk;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  Ballast& ballast = *store->ballast;
  const uint64_t used = disk->used_bytes();
  const uint64_t spare = ballast.spare_bytes();
  ASSERT_TRUE(ballast.ReleaseSpare().ok());
  EXPECT_EQ(disk->used_bytes(), used - spare);
  EXPECT_EQ(ballast.missing_bytes(), spare);
  EXPECT_EQ(ballast.bytes() - spare, ballast.bytes() / 4);
  EXPECT_EQ(std::filesystem::file_size(temp.config.directory + "/BALLAST"), ballast.bytes() / 4);
  ASSERT_TRUE(ballast.TryHold().ok());
  EXPECT_EQ(disk->used_bytes(), used);
  EXPECT_EQ(std::filesystem::file_size(temp.config.directory + "/BALLAST"), ballast.bytes());
  EXPECT_TRUE(ballast.held());
}

// What was given back is there, and what is missing is taken again.
TEST(DiskFaults, ABallastWhoseDirectoryCannotBeSyncedIsGoneAllTheSame) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(64 * kMiB);
  temp.config.base_fs = disk;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  disk->Arm({.op = FaultOp::kDirSync, .nth = 1});
  EXPECT_TRUE(store->ballast->Release().ok());
  EXPECT_EQ(disk->injected(), 1u);
  EXPECT_FALSE(store->ballast->held());
  disk->Arm({.op = FaultOp::kSync, .kind = FileKind::kOther, .nth = 1});
  EXPECT_FALSE(store->ballast->TryHold().ok());
  EXPECT_FALSE(store->ballast->held());
  disk->Disarm();
  EXPECT_TRUE(store->ballast->TryHold().ok());
  disk->Arm({.op = FaultOp::kSync, .kind = FileKind::kOther, .nth = 1});
  EXPECT_TRUE(store->ballast->ReleaseSpare().ok());
  EXPECT_EQ(store->ballast->spare_bytes(), 0u);
  EXPECT_FALSE(store->ballast->is_empty());
}

TEST(DiskFaults, ADiskWithoutAnyRoomIsNoSpaceAndNoAbort) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(kMiB);
  disk->SetForeignBytes(kMiB);
  temp.config.base_fs = disk;
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kNoSpace);
  disk->SetDiskBytes(64 * kMiB);
  EXPECT_TRUE(temp.Open().ok());
}

// Others have taken what the ballast gave back.
TEST(DiskFaults, AnOpeningThatFindsNoRoomSaysHowMuchItTakes) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(64 * kMiB);
  temp.config.base_fs = disk;
  ASSERT_TRUE(temp.Open().ok());
  disk->SetForeignBytes(64 * kMiB);
  const Status full = temp.Open().status();
  EXPECT_EQ(full.code(), StatusCode::kNoSpace) << full.ToString();
  const std::string told = Concat({"; opening takes up to ", BallastBytes(temp.config),
      " bytes, and 0 are free"});
  EXPECT_NE(full.message().find(told), std::string::npos) << full.ToString();
  disk->SetForeignBytes(0);
  EXPECT_TRUE(temp.Open().ok());
}

TEST(DiskFaults, AStoreThatIsMadeWhereTheBallastHasNoRoomSaysSo) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  const uint64_t ballast_bytes = BallastBytes(temp.config);
  disk->SetDiskBytes(ballast_bytes + ballast_bytes / 2);
  temp.config.base_fs = disk;
  {
    const auto made = temp.Open();
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_FALSE(made->ballast->held());
    ASSERT_EQ(made->recovery.notes.size(), 1u);
    EXPECT_NE(made->recovery.notes[0].find("no room for the ballast of "), std::string::npos);
    EXPECT_NE(made->recovery.notes[0].find(Concat({" are free, and ", 2 * ballast_bytes,
        " are needed; rows are refused until"})), std::string::npos) << made->recovery.notes[0];
  }
  const auto opened = temp.Open();  // its own log says it from then on
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_TRUE(opened->recovery.clean);
}

TEST(DiskFaults, TheDiskBudgetStopsTheLogAndAReopenTakesWritesAgain) {
  TempStore temp;
  temp.config.disk_budget_bytes = 32 * kMiB;
  int acknowledged = 0;
  {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    ASSERT_TRUE(AddJournal(&*store).ok());
    Status status;
    while ((status = PutSynced(&*store, acknowledged, 200000)).ok()) ++acknowledged;
    EXPECT_EQ(status.code(), StatusCode::kNoSpace);
    EXPECT_LE(store->fs->disk_bytes_used(), temp.config.disk_budget_bytes);
    EXPECT_GT(store->fs->disk_bytes_used(), temp.config.disk_budget_bytes - 2 * kMiB);
  }
  temp.config.disk_budget_bytes = 64 * kMiB;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  for (int i = 0; i < acknowledged; ++i) EXPECT_TRUE(Has(&*store, i)) << i;
  EXPECT_TRUE(PutSynced(&*store, acknowledged, 1000).ok());
}

TEST(DiskFaults, ANewStoreOnAReadOnlyFileSystemSaysSo) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  disk->Arm({.op = FaultOp::kAnyChange, .forever = true, .error = FaultError::kReadOnlyFs});
  temp.config.base_fs = disk;
  std::filesystem::create_directory(temp.config.directory);
  const auto store = temp.Open();
  EXPECT_EQ(store.status().code(), StatusCode::kReadOnly) << store.status().ToString();
  EXPECT_NE(store.status().message().find(temp.config.directory), std::string::npos);
}

TEST(DiskFaults, AReadOnlyFileSystemStillOpensForReading) {
  TempStore temp;
  ASSERT_TRUE(temp.Open().ok());
  auto disk = std::make_shared<FaultFileSystem>();
  disk->Arm({.op = FaultOp::kAnyChange, .forever = true, .error = FaultError::kReadOnlyFs});
  temp.config.base_fs = disk;
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kReadOnly);
  temp.config.read_only = true;
  EXPECT_TRUE(temp.Open().ok());
  EXPECT_EQ(disk->injected(), 1u);  // the lock of the first attempt
}

TEST(DiskFaults, AFailedSyncIsAnIoErrorAndTheStoreReopens) {
  TempStore temp;
  auto disk = std::make_shared<FaultFileSystem>();
  temp.config.base_fs = disk;
  {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(AddJournal(&*store).ok());
    ASSERT_TRUE(PutSynced(&*store, 1, 100).ok());
    disk->Arm({.op = FaultOp::kSync, .kind = FileKind::kWal});
    EXPECT_EQ(PutSynced(&*store, 2, 100).code(), StatusCode::kIoError);
    EXPECT_FALSE(PutSynced(&*store, 3, 100).ok());  // refused until it is reopened
  }
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_TRUE(Has(&*store, 1));
  EXPECT_FALSE(Has(&*store, 3));
  EXPECT_TRUE(PutSynced(&*store, 4, 100).ok());
}

// One life: open, a journal, synced records, a spill flush, a family dropped. Returns how
// many records were acknowledged.
int LiveOnce(const TempStore& temp) {
  auto store = temp.Open();
  if (!store.ok()) return 0;
  int acknowledged = 0;
  if (!AddJournal(&*store).ok()) return 0;
  for (int i = 0; i < 5; ++i) {
    if (!PutSynced(&*store, i, 1000).ok()) return acknowledged;
    acknowledged = i + 1;
  }
  const std::string name = SpillFamilyName(1);
  rocksdb::ColumnFamilyHandle* spill = nullptr;
  if (!store->db->CreateColumnFamily(store->FamilyOptions(FamilyKind::kSpill), name, &spill).ok()) {
    return acknowledged;
  }
  store->families[name] = spill;
  rocksdb::WriteOptions no_log;
  no_log.disableWAL = true;
  rocksdb::FlushOptions flush;
  flush.allow_write_stall = true;
  if (store->db->Put(no_log, spill, "P12345678", "page").ok() &&
      store->db->Flush(flush, spill).ok() && store->db->DropColumnFamily(spill).ok()) {
    static_cast<void>(store->beacon->Write(5).ok());
  }
  return acknowledged;
}

TEST(DiskFaults, EveryOperationMayFailOnceOrForEver) {
  uint64_t operations = 0;
  {
    TempStore temp;
    auto disk = std::make_shared<FaultFileSystem>();
    temp.config.base_fs = disk;
    disk->Arm({.op = FaultOp::kAnyChange, .nth = UINT64_MAX});
    ASSERT_EQ(LiveOnce(temp), 5);
    operations = disk->matched();
  }
  ASSERT_GT(operations, 60u);
  for (const auto error : {FaultError::kEio, FaultError::kNoSpace}) {
    for (const bool forever : {false, true}) {
      for (uint64_t nth = 1; nth <= operations; ++nth) {
        SCOPED_TRACE("operation " + std::to_string(nth) + (forever ? " for ever" : " once"));
        TempStore temp;
        auto disk = std::make_shared<FaultFileSystem>();
        temp.config.base_fs = disk;
        disk->Arm({.op = FaultOp::kAnyChange, .nth = nth, .forever = forever, .error = error});
        const int acknowledged = LiveOnce(temp);
        disk->Disarm();
        auto store = temp.Open();
        ASSERT_TRUE(store.ok()) << store.status().ToString();
        ASSERT_TRUE(acknowledged == 0 || store->families.contains(kJournal));
        for (int i = 0; i < acknowledged; ++i) ASSERT_TRUE(Has(&*store, i)) << i;
      }
    }
  }
}

TEST(DiskFaults, EveryReadOfOpeningMayFail) {
  TempStore temp;
  ASSERT_EQ(LiveOnce(temp), 5);
  auto disk = std::make_shared<FaultFileSystem>();
  temp.config.base_fs = disk;
  disk->Arm({.op = FaultOp::kRead, .nth = UINT64_MAX});
  ASSERT_TRUE(temp.Open().ok());
  const uint64_t reads = disk->matched();
  ASSERT_GT(reads, 5u);
  for (uint64_t nth = 1; nth <= reads; ++nth) {
    disk->Arm({.op = FaultOp::kRead, .nth = nth});
    static_cast<void>(temp.Open().ok());  // an error, or OK where the read did not matter
    disk->Disarm();
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << nth << ": " << store.status().ToString();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(Has(&*store, i)) << "read " << nth << ", record " << i;
  }
}

}  // namespace
}  // namespace cistern
