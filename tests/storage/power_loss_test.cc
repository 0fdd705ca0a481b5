// The power-loss layer must lose what a power cut loses, or the tests over it prove nothing.
#include "tests/support/power_loss_fs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "storage/small_file.h"
#include "tests/storage/temp_store.h"
#include "tests/support/cut_process.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;

std::unique_ptr<rocksdb::FSWritableFile> NewFile(PowerLossFileSystem* fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  EXPECT_TRUE(fs->NewWritableFile(path, {}, &file, nullptr).ok());
  return file;
}

TEST(PowerLoss, UnsyncedBytesAreReadBackAndLost) {
  TempStore temp;
  const std::string path = temp.root() + "/file";
  EXPECT_TRUE(RunUntilCut([&]() -> bool {
    PowerLossFileSystem fs({.leak_unsynced = false});
    auto file = NewFile(&fs, path);
    if (!file->Append("synced", IOOptions(), nullptr).ok()) return false;
    if (!file->Sync(IOOptions(), nullptr).ok()) return false;
    if (!file->Append("not", IOOptions(), nullptr).ok()) return false;
    if (!file->Close(IOOptions(), nullptr).ok()) return false;
    const auto content = ReadSmallFile(&fs, path, 100);
    if (!content.ok() || *content != "syncednot") return true;
    fs.Cut();
  }));
  EXPECT_EQ(ReadBytes(path), "synced");
}

TEST(PowerLoss, AnEntryWithoutDirectorySyncIsLost) {
  for (const bool sync_directory : {false, true}) {
    TempStore temp;
    std::filesystem::create_directory(temp.root() + "/shadow");
    const std::string directory = temp.root() + "/d";
    std::filesystem::create_directory(directory);
    WriteBytes(directory + "/old", "old");
    EXPECT_TRUE(RunUntilCut([&]() -> bool {
      PowerLossFileSystem fs({.shadow_directory = temp.root() + "/shadow", .leak_unsynced = false});
      auto file = NewFile(&fs, directory + "/new.tmp");
      if (!file->Append("x", IOOptions(), nullptr).ok()) return false;
      if (!file->Sync(IOOptions(), nullptr).ok()) return false;
      if (!fs.RenameFile(directory + "/new.tmp", directory + "/new", IOOptions(), nullptr).ok() ||
          !fs.DeleteFile(directory + "/old", IOOptions(), nullptr).ok()) {
        return false;
      }
      // Within the process it all happened.
      if (!fs.FileExists(directory + "/new", IOOptions(), nullptr).ok()) return false;
      if (fs.FileExists(directory + "/old", IOOptions(), nullptr).ok()) return false;
      if (sync_directory && !SyncDirectory(&fs, directory).ok()) return false;
      fs.Cut();
    }));
    using Names = std::set<std::string>;
    EXPECT_EQ(NamesIn(directory), sync_directory ? Names{"new"} : Names{"old"});
  }
}

TEST(PowerLoss, ANewDirectoryWithoutSyncOfItsParentIsLost) {
  for (const bool durably : {false, true}) {
    TempStore temp;
    const std::string directory = temp.root() + "/a";
    EXPECT_TRUE(RunUntilCut([&]() -> bool {
      PowerLossFileSystem fs({});
      const bool made = durably ? CreateDirectoryDurably(&fs, directory + "/b").ok()
                                : fs.CreateDir(directory, IOOptions(), nullptr).ok();
      if (!made) return false;
      fs.Cut();
    }));
    EXPECT_EQ(std::filesystem::exists(directory), durably);
    EXPECT_EQ(std::filesystem::exists(directory + "/b"), durably);
  }
}

TEST(PowerLoss, AFatalSyncIsTorn) {
  bool torn = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TempStore temp;
    const std::string path = temp.root() + "/file";
    EXPECT_TRUE(RunUntilCut([&] {
      PowerLossFileSystem fs({.seed = seed, .fatal_op = 3, .leak_unsynced = false});
      auto file = NewFile(&fs, path);
      return file->Append(std::string(1000, 'x'), IOOptions(), nullptr).ok() &&
             file->Sync(IOOptions(), nullptr).ok();
    }));
    const size_t size = ReadBytes(path).size();
    torn = torn || (size > 0 && size < 1000);
  }
  EXPECT_TRUE(torn);
}

TEST(PowerLoss, ADeviceThatLiesAboutSyncIsCaught) {
  TempStore temp;
  SharedCounters shared;
  ASSERT_TRUE(temp.Open().ok());
  const bool cut = RunUntilCut([&]() -> bool {
    StoreConfig config = temp.config;
    auto fs = std::make_shared<PowerLossFileSystem>(PowerLossPlan{.leak_unsynced = false});
    config.base_fs = fs;
    auto store = OpenStore(config);
    if (!store.ok()) return false;
    fs->SetLieAboutSync(true);
    rocksdb::WriteOptions synced;
    synced.sync = true;
    if (!store->db->Put(synced, store->families["meta"], "key", "v").ok()) return false;
    shared->acknowledged.store(1);
    fs->Cut();
  });
  EXPECT_TRUE(cut);
  EXPECT_EQ(shared->acknowledged.load(), 1u);
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  std::string value;
  EXPECT_TRUE(store->db->Get({}, store->families["meta"], "key", &value).IsNotFound());
}

}  // namespace
}  // namespace cistern
