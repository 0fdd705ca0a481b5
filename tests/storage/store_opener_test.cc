#include "storage/store_opener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "storage/store_format.h"
#include "tests/storage/temp_store.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;

TEST(StoreOpener, CreatesWithMetaAndOpensAgainWithTheSameId) {
  TempStore temp;
  std::string id;
  {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_TRUE(store->created);
    EXPECT_TRUE(store->recovery.clean);
    EXPECT_EQ(store->families.size(), 2u);
    EXPECT_TRUE(store->families.contains("meta"));
    id = store->store_id;
    EXPECT_EQ(id.size(), 32u);
    ASSERT_TRUE(store->Close().ok());
  }
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_FALSE(store->created);
  EXPECT_TRUE(store->recovery.clean) << store->recovery.notes.front();
  EXPECT_EQ(store->store_id, id);
}

TEST(StoreOpener, TwoStoresHaveDifferentIds) {
  TempStore one;
  TempStore two;
  EXPECT_NE(one.Open()->store_id, two.Open()->store_id);
}

TEST(StoreOpener, NoStoreIsNotFoundWhenNoneMayBeMade) {
  TempStore temp;
  temp.config.create_if_missing = false;
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(temp.config.directory));
  temp.config.create_if_missing = true;
  temp.config.read_only = true;
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(temp.config.directory));
}

TEST(StoreOpener, MakesMissingAncestorsForTheOwnerAlone) {
  TempStore temp;
  temp.config.directory = temp.root() + "/a/b/store/";
  const mode_t before = ::umask(0);
  auto store = temp.Open();
  ::umask(before);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  for (const auto& entry : fs::recursive_directory_iterator(temp.root())) {
    const auto mode = entry.status().permissions();
    const auto expected = entry.is_directory() ? fs::perms(0700) : fs::perms(0600);
    EXPECT_EQ(mode, expected) << entry.path();
  }
}

TEST(StoreOpener, AFileInThePlaceOfTheDirectoryIsRefused) {
  TempStore temp;
  WriteBytes(temp.config.directory, "hello");
  const auto store = temp.Open();
  EXPECT_EQ(store.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(store.status().message().find("is a file"), std::string::npos);
  EXPECT_EQ(ReadBytes(temp.config.directory), "hello");
}

TEST(StoreOpener, AForeignDirectoryIsRefusedAndUntouched) {
  TempStore temp;
  fs::create_directory(temp.config.directory);
  WriteBytes(temp.Path("letters.txt"), "dear");
  const auto store = temp.Open();
  EXPECT_EQ(store.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(store.status().message().find("letters.txt"), std::string::npos);
  temp.config.create_if_missing = false;
  const auto without_leave = temp.Open();
  EXPECT_EQ(without_leave.status().code(), StatusCode::kNotFound);
  EXPECT_NE(without_leave.status().message().find("letters.txt"), std::string::npos);
  EXPECT_EQ(NamesIn(temp.config.directory), std::set<std::string>{"letters.txt"});
}

TEST(StoreOpener, AnEmptyDirectoryAndAMountPointAreFine) {
  TempStore temp;
  fs::create_directory(temp.config.directory);
  fs::create_directory(temp.Path("lost+found"));
  EXPECT_TRUE(temp.Open().ok());
}

TEST(StoreOpener, ANewerFormatTouchesNothing) {
  TempStore temp;
  ASSERT_TRUE(temp.Open().ok());
  std::string text = ReadBytes(temp.Path("CISTERN"));
  text.replace(text.find("format 1"), 8, "format 7");
  WriteBytes(temp.Path("CISTERN"), text);
  std::map<std::string, std::string> before;
  for (const auto& name : NamesIn(temp.config.directory)) before[name] = ReadBytes(temp.Path(name));
  const auto store = temp.Open();
  EXPECT_EQ(store.status().code(), StatusCode::kTooNew);
  EXPECT_NE(store.status().message().find("format 7"), std::string::npos);
  std::map<std::string, std::string> after;
  for (const auto& name : NamesIn(temp.config.directory)) after[name] = ReadBytes(temp.Path(name));
  EXPECT_TRUE(before == after);
}

TEST(StoreOpener, ADamagedFormatFileIsCorruption) {
  TempStore temp;
  ASSERT_TRUE(temp.Open().ok());
  const std::string text = ReadBytes(temp.Path("CISTERN"));
  for (const std::string& damaged :
       {std::string(), text.substr(0, 20), text + "x", "another store\n" + text,
        std::string(text).replace(text.find("ready"), 5, "abcde"), std::string(5000, 'x')}) {
    WriteBytes(temp.Path("CISTERN"), damaged);
    EXPECT_EQ(temp.Open().status().code(), StatusCode::kCorruption) << damaged;
  }
}

TEST(StoreOpener, AMissingFormatFileOfOursIsNotTakenForAnEmptyDirectory) {
  TempStore temp;
  ASSERT_TRUE(temp.Open().ok());
  fs::remove(temp.Path("CISTERN"));
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kCorruption);
}

TEST(StoreOpener, AMissingCurrentIsCorruptionNotAnEmptyStore) {
  TempStore temp;
  ASSERT_TRUE(temp.Open().ok());
  fs::remove(temp.Path("CURRENT"));
  {
    const auto repaired = temp.Open();  // one MANIFEST alone can be meant
    ASSERT_TRUE(repaired.ok()) << repaired.status().ToString();
    EXPECT_FALSE(repaired->created);
    ASSERT_EQ(repaired->recovery.notes.size(), 1u);
    EXPECT_NE(repaired->recovery.notes[0].find("CURRENT is missing"), std::string::npos);
  }
  fs::remove(temp.Path("CURRENT"));
  for (const auto& entry : fs::directory_iterator(temp.Path(""))) {
    if (entry.path().filename().string().starts_with("MANIFEST-")) fs::remove(entry.path());
  }
  const auto store = temp.Open();
  EXPECT_EQ(store.status().code(), StatusCode::kCorruption) << store.status().ToString();
}

TEST(StoreOpener, ASecondOpenIsLockedAndTheFirstKeepsItsLock) {
  TempStore temp;
  auto first = temp.Open();
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 2; ++i) {
    const auto second = temp.Open();
    EXPECT_EQ(second.status().code(), StatusCode::kLocked) << second.status().ToString();
    EXPECT_NE(second.status().message().find("this one: close the engine and destroy its cursors"),
              std::string::npos) << second.status().ToString();
  }
  ASSERT_TRUE(first->Close().ok());
  EXPECT_TRUE(temp.Open().ok());
}

TEST(StoreOpener, ALockedStoreNamesItsHolder) {
  TempStore temp;
  int ready[2];
  int done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = temp.Open();
    char byte = store.ok() ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) == 1) static_cast<void>(::read(done[0], &byte, 1));
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const auto store = temp.Open();
  EXPECT_EQ(store.status().code(), StatusCode::kLocked);
  const std::string holder = std::string("process ").append(std::to_string(child));
  EXPECT_NE(store.status().message().find(holder), std::string::npos) << store.status().ToString();
  EXPECT_EQ(store.status().message().find("this one"), std::string::npos);
  temp.config.read_only = true;
  EXPECT_TRUE(temp.Open().ok());
  temp.config.read_only = false;
  ASSERT_EQ(::write(done[1], &byte, 1), 1);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  for (const int end : {ready[0], ready[1], done[0], done[1]}) ::close(end);
  EXPECT_TRUE(temp.Open().ok());  // the kernel freed the lock with its holder
}

TEST(StoreOpener, BudgetsBelowTheLimitsAreRefused) {
  TempStore temp;
  temp.config.memory_budget_bytes = limits::kMemoryBudgetBytesMin - 1;
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kInvalidArgument);
  temp.config.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  temp.config.disk_budget_bytes = 1;
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kInvalidArgument);
  temp.config.directory.clear();
  EXPECT_EQ(temp.Open().status().code(), StatusCode::kInvalidArgument);
}

TEST(StoreOpener, ReadOnlyWorksBesideAWriterAndWritesNothing) {
  TempStore temp;
  auto writer = temp.Open();
  ASSERT_TRUE(writer.ok());
  rocksdb::WriteOptions synced;
  synced.sync = true;
  ASSERT_TRUE(writer->db->Put(synced, writer->families["meta"], "key", "value").ok());
  std::map<std::string, std::string> before;
  for (const auto& name : NamesIn(temp.config.directory)) before[name] = ReadBytes(temp.Path(name));
  temp.config.read_only = true;
  {
    auto reader = temp.Open();
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    std::string value;
    ASSERT_TRUE(reader->db->Get({}, reader->families["meta"], "key", &value).ok());
    EXPECT_EQ(value, "value");
    EXPECT_EQ(reader->beacon->Write(9).code(), StatusCode::kReadOnly);
  }
  std::map<std::string, std::string> after;
  for (const auto& name : NamesIn(temp.config.directory)) after[name] = ReadBytes(temp.Path(name));
  EXPECT_TRUE(before == after);
}

TEST(StoreOpener, FiftyFamiliesComeAndGoWithoutAnOptionsFile) {
  TempStore temp;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok());
  for (uint64_t i = 1; i <= 50; ++i) {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    const bool spill = i % 2 == 0;
    const auto kind = spill ? FamilyKind::kSpill : FamilyKind::kJournal;
    const std::string name = spill ? SpillFamilyName(i) : JournalFamilyName(i);
    ASSERT_TRUE(store->db->CreateColumnFamily(store->FamilyOptions(kind), name, &handle).ok());
    ASSERT_TRUE(CheckLiveOptions(store->db.get(), {{name, handle}}).ok());
    ASSERT_TRUE(store->db->DropColumnFamily(handle).ok());
    ASSERT_TRUE(store->db->DestroyColumnFamilyHandle(handle).ok());
  }
  for (const auto& name : NamesIn(temp.config.directory)) {
    EXPECT_FALSE(name.starts_with("OPTIONS")) << name;
    EXPECT_FALSE(name.ends_with(".dbtmp")) << name;
  }
  EXPECT_LT(store->fs->bytes_written().manifest, 50u * 400);
  EXPECT_EQ(ReadBytes(temp.Path("LOG")), "");
}

TEST(StoreOpener, AJournalFamilySurvivesReopeningWithoutAnSst) {
  TempStore temp;
  const std::string name = JournalFamilyName(1);
  {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->db
                    ->CreateColumnFamily(store->FamilyOptions(FamilyKind::kJournal), name,
                                         &store->families[name])
                    .ok());
    for (int i = 0; i < 2000; ++i) {
      rocksdb::WriteOptions options;
      options.sync = i % 100 == 0;
      ASSERT_TRUE(store->db
                      ->Put(options, store->families[name], std::to_string(100000 + i),
                            std::string(1000, 'j'))
                      .ok());
    }
    ASSERT_TRUE(store->Close().ok());
  }
  for (int round = 0; round < 3; ++round) {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_EQ(store->fs->file_count(FileKind::kSst), 0u);
    EXPECT_GT(store->fs->wal_bytes_on_disk(), 2'000'000u);
    EXPECT_GT(store->write_buffers->memory_usage(), 2'000'000u);
    const std::unique_ptr<rocksdb::Iterator> records(
        store->db->NewIterator({}, store->families[name]));
    int count = 0;
    for (records->SeekToFirst(); records->Valid(); records->Next()) ++count;
    EXPECT_TRUE(records->status().ok());
    EXPECT_EQ(count, 2000);
  }
}

}  // namespace
}  // namespace cistern
