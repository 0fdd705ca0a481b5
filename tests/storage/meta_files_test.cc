// How the files of meta are merged: few times, and in stores that were opened with levels too.
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/file_system.h"
#include "storage/rocksdb_options.h"
#include "storage/store_opener.h"
#include "tests/storage/temp_store.h"

namespace cistern {
namespace {

constexpr size_t kRecordBytes = 8 * 1024;  // of one flush, about that of a round of some buckets
constexpr int kIdleLooks = 5;

rocksdb::ColumnFamilyHandle* MetaOf(const OpenedStore& store) {
  return store.families.at("meta");
}

// As maintenance does once there is room.
void LetMerge(const OpenedStore& store) {
  ASSERT_TRUE(store.db->EnableAutoCompaction({MetaOf(store)}).ok());
}

// Bytes that no compression makes fewer, another for each number.
std::string RecordOf(int number) {
  std::string value;
  uint64_t state = static_cast<uint64_t>(number) + 1;
  while (value.size() < kRecordBytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value.push_back(static_cast<char>(state >> 56));
  }
  return value;
}

std::string KeyOf(int number) {
  std::string digits = std::to_string(number);
  return "M" + std::string(8 - digits.size(), '0') + digits;
}

// With a record on either side that each flush has anew, as it has the state and a window: so no
// file can be moved down without others.
void WriteFlushed(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* meta, int first, int end) {
  for (int number = first; number < end; ++number) {
    ASSERT_TRUE(db->Put({}, meta, "A", KeyOf(number)).ok());
    ASSERT_TRUE(db->Put({}, meta, KeyOf(number), RecordOf(number)).ok());
    ASSERT_TRUE(db->Put({}, meta, "W", KeyOf(number)).ok());
    ASSERT_TRUE(db->Flush({}, meta).ok());
  }
}

void ExpectRecords(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* meta, int end) {
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, meta));
  int number = 0;
  for (it->Seek("M"); it->Valid() && it->key().starts_with("M"); it->Next(), ++number) {
    ASSERT_EQ(it->key().ToString(), KeyOf(number));
    ASSERT_EQ(it->value().ToString(), RecordOf(number));
  }
  EXPECT_TRUE(it->status().ok());
  EXPECT_EQ(number, end);
}

// RocksDB merges in the background. It calls a compaction pending for as long as there are eight
// runs, whether it would merge them or not: so it is looked at until it has been idle for a while.
void Settle(rocksdb::DB* db) {
  for (int idle = 0; idle < kIdleLooks; ++idle) {
    uint64_t running = 1;
    ASSERT_TRUE(db->GetAggregatedIntProperty("rocksdb.num-running-compactions", &running));
    if (running > 0) idle = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// With levels it would be some thirty times: level 1 would be written anew by every fourth flush.
TEST(MetaFiles, ARecordIsWrittenAFewTimesHoweverManyFollow) {
  TempStore temp;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  ASSERT_NO_FATAL_FAILURE(LetMerge(*store));
  constexpr int kFlushes = 240;
  for (int number = 0; number < kFlushes; ++number) {
    ASSERT_NO_FATAL_FAILURE(WriteFlushed(store->db.get(), MetaOf(*store), number, number + 1));
    ASSERT_NO_FATAL_FAILURE(Settle(store->db.get()));
  }
  const uint64_t written = store->fs->bytes_written().sst;
  EXPECT_GT(written, kFlushes * kRecordBytes);
  EXPECT_LT(written, 6 * kFlushes * kRecordBytes);
  rocksdb::ColumnFamilyMetaData files;
  store->db->GetColumnFamilyMetaData(MetaOf(*store), &files);
  EXPECT_LE(files.file_count, 12u);
  ExpectRecords(store->db.get(), MetaOf(*store), kFlushes);
}

// However many there are when merges begin: the merge has not ended yet, and a write does not wait.
TEST(MetaFiles, FilesThatWaitedForRoomStopNoWrite) {
  TempStore temp;
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  ASSERT_NO_FATAL_FAILURE(WriteFlushed(store->db.get(), MetaOf(*store), 0, 60));
  rocksdb::ColumnFamilyMetaData files;
  store->db->GetColumnFamilyMetaData(MetaOf(*store), &files);
  EXPECT_EQ(files.file_count, 60u);
  ASSERT_TRUE(store->db->PauseBackgroundWork().ok());
  ASSERT_NO_FATAL_FAILURE(LetMerge(*store));
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  const rocksdb::Status written = store->db->Put(at_once, MetaOf(*store), "A", "");
  EXPECT_TRUE(written.ok()) << written.ToString();
  ASSERT_TRUE(store->db->ContinueBackgroundWork().ok());
  ASSERT_NO_FATAL_FAILURE(Settle(store->db.get()));
  store->db->GetColumnFamilyMetaData(MetaOf(*store), &files);
  EXPECT_LT(files.file_count, 12u);
  ExpectRecords(store->db.get(), MetaOf(*store), 60);
}

// Opens the database as versions before did, whose meta had levels.
void WithLevels(const std::string& directory,
                const std::function<void(rocksdb::DB*, rocksdb::ColumnFamilyHandle*)>& use) {
  rocksdb::ColumnFamilyOptions with_levels;
  with_levels.num_levels = 4;
  with_levels.level0_file_num_compaction_trigger = 4;
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, directory, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, with_levels);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status s = rocksdb::DB::Open({}, directory, families, &handles, &opened);
  ASSERT_TRUE(s.ok()) << s.ToString();
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "meta") use(db.get(), handles[i]);
  }
  Settle(db.get());
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    EXPECT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
  EXPECT_TRUE(db->Close().ok());
}

TEST(MetaFiles, AStoreWithLevelsOpensAndItsRecordsStay) {
  TempStore temp;
  {
    auto store = temp.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    ASSERT_TRUE(store->Close().ok());
  }
  WithLevels(temp.config.directory, [](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* meta) {
    ASSERT_NO_FATAL_FAILURE(WriteFlushed(db, meta, 0, 20));
    ASSERT_TRUE(db->CompactRange({}, meta, nullptr, nullptr).ok());
    ASSERT_NO_FATAL_FAILURE(WriteFlushed(db, meta, 20, 42));
  });
  auto store = temp.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  ExpectRecords(store->db.get(), MetaOf(*store), 42);
  ASSERT_NO_FATAL_FAILURE(LetMerge(*store));
  ASSERT_NO_FATAL_FAILURE(WriteFlushed(store->db.get(), MetaOf(*store), 42, 100));
  ASSERT_NO_FATAL_FAILURE(Settle(store->db.get()));
  ExpectRecords(store->db.get(), MetaOf(*store), 100);
  ASSERT_TRUE(store->Close().ok());
  // Whoever goes back to a version before finds all of it.
  WithLevels(temp.config.directory, [](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* meta) {
    ExpectRecords(db, meta, 100);
  });
}

}  // namespace
}  // namespace cistern
