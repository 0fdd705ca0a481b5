#include "storage/file_system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "storage/small_file.h"
#include "tests/storage/temp_store.h"
#include "tests/support/fault_fs.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;
using rocksdb::IOOptions;

uint64_t BytesIn(const std::string& directory) {
  uint64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

class StoreFileSystemTest : public testing::Test {
 protected:
  StoreFileSystemTest() {
    fs::create_directory(temp_.config.directory);
    files_ = std::make_shared<StoreFileSystem>(nullptr, temp_.config.directory);
  }
  std::unique_ptr<rocksdb::FSWritableFile> New(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(files_->NewWritableFile(temp_.Path(name), {}, &file, nullptr).ok()) << name;
    return file;
  }
  void Put(const std::string& name, size_t bytes) {
    auto file = New(name);
    ASSERT_TRUE(file->Append(std::string(bytes, 'x'), IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
  TempStore temp_;
  std::shared_ptr<StoreFileSystem> files_;
};

// A device gives whole blocks, so that what many small files have taken is no loss of room.
TEST_F(StoreFileSystemTest, CountsWhatFilesTakeOfTheDevice) {
  for (int i = 0; i < 10; ++i) Put("small" + std::to_string(i), 100);
  EXPECT_EQ(files_->disk_bytes_used(), 1000u);
  EXPECT_EQ(files_->disk_bytes_taken(), 10 * 4096u);
  Put("small0", 4096);
  EXPECT_EQ(files_->disk_bytes_taken(), 10 * 4096u);
  Put("small1", 4097);
  EXPECT_EQ(files_->disk_bytes_taken(), 11 * 4096u);
  for (int i = 0; i < 10; ++i) {
    const std::string path = temp_.Path("small" + std::to_string(i));
    EXPECT_TRUE(files_->DeleteFile(path, IOOptions(), nullptr).ok());
  }
  EXPECT_EQ(files_->disk_bytes_taken(), 0u);
}

TEST_F(StoreFileSystemTest, CountsBytesByKindOfFile) {
  Put("000001.log", 10);
  Put("000002.sst", 20);
  Put("MANIFEST-000003", 30);
  Put("LOG", 40);
  const FileBytes bytes = files_->bytes_written();
  EXPECT_EQ(bytes.wal, 10u);
  EXPECT_EQ(bytes.sst, 20u);
  EXPECT_EQ(bytes.manifest, 30u);
  EXPECT_EQ(bytes.other, 40u);
  EXPECT_EQ(files_->disk_bytes_used(), 100u);
  EXPECT_EQ(files_->wal_bytes_on_disk(), 10u);
  EXPECT_EQ(files_->file_count(FileKind::kSst), 1u);
}

TEST_F(StoreFileSystemTest, FollowsDeletesRenamesAndReplacements) {
  Put("000001.log", 10);
  Put("a.tmp", 5);
  Put("b", 7);
  ASSERT_TRUE(files_->RenameFile(temp_.Path("a.tmp"), temp_.Path("b"), IOOptions(), nullptr).ok());
  EXPECT_EQ(files_->disk_bytes_used(), 15u);
  Put("b", 3);
  EXPECT_EQ(files_->disk_bytes_used(), 13u);
  ASSERT_TRUE(files_->DeleteFile(temp_.Path("000001.log"), IOOptions(), nullptr).ok());
  EXPECT_EQ(files_->disk_bytes_used(), 3u);
  EXPECT_EQ(files_->wal_bytes_on_disk(), 0u);
  EXPECT_EQ(files_->disk_bytes_used(), BytesIn(temp_.config.directory));
  EXPECT_EQ(files_->bytes_written().wal, 10u);  // what was written stays written
}

// Tables, logs and MANIFESTs that were there stay while it is open whether the listing is right.
TEST_F(StoreFileSystemTest, HeldDeletionsAreMadeUpFor) {
  const std::vector<std::string> held = {"000001.log", "000002.sst", "MANIFEST-000003"};
  for (const std::string& name : held) Put(name, 10);
  Put("CURRENT", 5);
  const auto remove = [&](const std::string& name) {
    return files_->DeleteFile(temp_.Path(name), IOOptions(), nullptr).ok();
  };
  for (const bool tables_stay : {false, true}) {
    files_->HoldDeletions();
    Put("000009.sst", 7);  // of the opening itself
    for (const std::string& name : held) EXPECT_TRUE(remove(name)) << name;
    EXPECT_TRUE(remove("000009.sst"));
    EXPECT_FALSE(fs::exists(temp_.Path("000009.sst")));
    for (const std::string& name : held) EXPECT_TRUE(fs::exists(temp_.Path(name))) << name;
    EXPECT_EQ(files_->disk_bytes_used(), BytesIn(temp_.config.directory));
    if (tables_stay) files_->KeepHeldTables();
    else files_->ReleaseDeletions();
    EXPECT_EQ(fs::exists(temp_.Path("000002.sst")), tables_stay);
    EXPECT_FALSE(fs::exists(temp_.Path("000001.log")));
    EXPECT_FALSE(fs::exists(temp_.Path("MANIFEST-000003")));
    EXPECT_EQ(files_->disk_bytes_used(), BytesIn(temp_.config.directory));
    for (const std::string& name : held) Put(name, 10);
    EXPECT_TRUE(remove("000002.sst"));  // nothing is held any more
    EXPECT_FALSE(fs::exists(temp_.Path("000002.sst")));
    Put("000002.sst", 10);
  }
}

TEST_F(StoreFileSystemTest, WritesToADeletedFileDoNotCountAsOnDisk) {
  auto file = New("000001.sst");
  ASSERT_TRUE(files_->DeleteFile(temp_.Path("000001.sst"), IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->Append("abc", IOOptions(), nullptr).ok());
  EXPECT_EQ(files_->disk_bytes_used(), 0u);
  EXPECT_EQ(files_->file_count(FileKind::kSst), 0u);
}

TEST_F(StoreFileSystemTest, RefusesOptionsFiles) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  for (const char* name : {"OPTIONS-000007", "OPTIONS-000007.dbtmp"}) {
    EXPECT_FALSE(files_->NewWritableFile(temp_.Path(name), {}, &file, nullptr).ok());
  }
  EXPECT_TRUE(NamesIn(temp_.config.directory).empty());
}

TEST_F(StoreFileSystemTest, TheDiskLimitStopsDataAndLeavesRoomForTheManifest) {
  const uint64_t limit = StoreFileSystem::kDiskReserveBytes + 1000;
  files_->SetDiskLimit(limit);
  auto log = New("000001.log");
  ASSERT_TRUE(log->Append(std::string(900, 'x'), IOOptions(), nullptr).ok());
  EXPECT_TRUE(log->Append(std::string(200, 'x'), IOOptions(), nullptr).IsNoSpace());
  EXPECT_TRUE(log->Append(std::string(100, 'x'), IOOptions(), nullptr).ok());
  std::unique_ptr<rocksdb::FSWritableFile> sst;
  EXPECT_TRUE(files_->NewWritableFile(temp_.Path("2.sst"), {}, &sst, nullptr).ok());
  EXPECT_TRUE(sst->Append("x", IOOptions(), nullptr).IsNoSpace());
  Put("MANIFEST-000003", 10000);
  EXPECT_FALSE(files_->HasRoomFor(0));
  ASSERT_TRUE(files_->DeleteFile(temp_.Path("MANIFEST-000003"), IOOptions(), nullptr).ok());
  EXPECT_TRUE(files_->HasRoomFor(0));
  files_->SetDiskLimit(0);
  EXPECT_TRUE(sst->Append(std::string(5000, 'x'), IOOptions(), nullptr).ok());
}

TEST_F(StoreFileSystemTest, WritesThroughNoSymbolicLink) {
  const std::string target = temp_.root() + "/elsewhere";
  WriteBytes(target, "precious");
  fs::create_symlink(target, temp_.Path("LOG"));
  std::unique_ptr<rocksdb::FSWritableFile> file;
  EXPECT_FALSE(files_->NewWritableFile(temp_.Path("LOG"), {}, &file, nullptr).ok());
  EXPECT_FALSE(files_->ReopenWritableFile(temp_.Path("LOG"), {}, &file, nullptr).ok());
  EXPECT_EQ(ReadBytes(target), "precious");
}

TEST_F(StoreFileSystemTest, ReadOnlyChangesNothing) {
  Put("a", 3);
  files_->SetReadOnly();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  EXPECT_FALSE(files_->NewWritableFile(temp_.Path("b"), {}, &file, nullptr).ok());
  EXPECT_FALSE(files_->DeleteFile(temp_.Path("a"), IOOptions(), nullptr).ok());
  EXPECT_FALSE(files_->RenameFile(temp_.Path("a"), temp_.Path("b"), IOOptions(), nullptr).ok());
  EXPECT_FALSE(files_->CreateDir(temp_.Path("d"), IOOptions(), nullptr).ok());
  EXPECT_EQ(NamesIn(temp_.config.directory), std::set<std::string>{"a"});
}

TEST(StoreFileSystemOfStore, KnowsEveryByteOfAnOpenAndOfAReopenedStore) {
  TempStore temp;
  for (int round = 0; round < 2; ++round) {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok());
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    const std::string name = SpillFamilyName(static_cast<uint64_t>(round));
    ASSERT_TRUE(
        store->db->CreateColumnFamily(store->FamilyOptions(FamilyKind::kSpill), name, &handle)
            .ok());
    store->families[name] = handle;
    rocksdb::WriteOptions no_log;
    no_log.disableWAL = true;
    for (int i = 0; i < 100; ++i) {
      const std::string key = std::to_string(100 + i);
      ASSERT_TRUE(store->db->Put(no_log, handle, key, std::string(999, 'p')).ok());
    }
    const uint64_t before = store->fs->bytes_written().sst;
    ASSERT_TRUE(store->db->Flush({}, handle).ok());
    EXPECT_GT(store->fs->bytes_written().sst - before, 99'900u);
    EXPECT_EQ(store->fs->file_count(FileKind::kSst), static_cast<uint64_t>(round) + 1);
    EXPECT_EQ(store->fs->disk_bytes_used(), BytesIn(temp.config.directory));
  }
}

TEST(SmallFile, ReplacesWholeOrNotAtAllWhateverFails) {
  for (const auto op : {FaultOp::kWrite, FaultOp::kSync, FaultOp::kCreate, FaultOp::kRename}) {
    TempStore temp;
    FaultFileSystem faulty;
    ASSERT_TRUE(WriteFileDurably(&faulty, temp.root(), "f", "old").ok());
    faulty.Arm({.op = op, .error = FaultError::kNoSpace});
    EXPECT_EQ(WriteFileDurably(&faulty, temp.root(), "f", "new").code(), StatusCode::kNoSpace);
    EXPECT_EQ(NamesIn(temp.root()), std::set<std::string>{"f"});
    EXPECT_EQ(*ReadSmallFile(&faulty, temp.root() + "/f", 10), "old");
    ASSERT_TRUE(WriteFileDurably(&faulty, temp.root(), "f", "new").ok());
    EXPECT_EQ(*ReadSmallFile(&faulty, temp.root() + "/f", 10), "new");
  }
}

TEST(SmallFile, ReadRefusesWhatIsTooLargeOrMissing) {
  TempStore temp;
  auto base = rocksdb::FileSystem::Default();
  WriteBytes(temp.root() + "/f", std::string(11, 'x'));
  EXPECT_EQ(ReadSmallFile(base.get(), temp.root() + "/f", 10).status().code(),
            StatusCode::kCorruption);
  EXPECT_EQ(ReadSmallFile(base.get(), temp.root() + "/f", 11)->size(), 11u);
  EXPECT_EQ(ReadSmallFile(base.get(), temp.root() + "/g", 11).status().code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(RemoveFileDurably(base.get(), temp.root(), "g").ok());
}

}  // namespace
}  // namespace cistern
