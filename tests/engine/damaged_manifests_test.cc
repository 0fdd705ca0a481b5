// Iterators over the catalog meet a damaged block while ranges of it are deleted.
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kRemovedWindow = 1;
constexpr uint64_t kLiveWindow = 2;
constexpr int kSeals = 300;

class DamagedManifestsTest : public EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    StoreConfig config;
    config.directory = directory();
    config.clock = clock_;
    config_ = config;
    OpenCatalog();
  }
  void TearDown() override { ASSERT_TRUE(store_->Close().ok()); }

  void OpenCatalog() {
    auto opened = OpenStore(config_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    store_ = *std::move(opened);
    meta_ = store_->families.at("meta");
  }
  [[nodiscard]] rocksdb::DB* db() { return store_->db.get(); }
  // An outbox entry and a manifest for each seal of the window.
  void WriteWindow(uint64_t window) {
    Rng rng(window);
    rocksdb::WriteBatch batch;
    for (int seal = 1; seal <= kSeals; ++seal) {
      const BucketKey bucket{1, "pump", seal * int64_t{86'400}, 0};
      std::string noise;
      for (int i = 0; i < 64; ++i) noise.push_back(static_cast<char>(rng.Below(256)));
      const std::string key = ManifestKey(window, bucket, static_cast<uint64_t>(seal));
      ASSERT_TRUE(batch.Put(meta_, key, noise).ok());
      ASSERT_TRUE(batch.Put(meta_, OutboxKey(window, static_cast<uint64_t>(seal)), noise).ok());
      if (window == kLiveWindow) manifests_.push_back(key);
    }
    ASSERT_TRUE(db()->Write({}, &batch).ok());
    ASSERT_TRUE(db()->Flush({}, meta_).ok());
  }
  // The file of meta that was written last.
  std::string NewestFile() {
    std::vector<rocksdb::LiveFileMetaData> files;
    db()->GetLiveFilesMetaData(&files);
    const rocksdb::LiveFileMetaData* newest = nullptr;
    for (const auto& file : files) {
      if (file.column_family_name != "meta") continue;
      if (newest == nullptr || file.file_number > newest->file_number) newest = &file;
    }
    return std::filesystem::path(directory()) / newest->relative_filename;
  }
  std::unique_ptr<rocksdb::Iterator> NewIterator() {
    return std::unique_ptr<rocksdb::Iterator>(
        db()->NewIterator(MetaIteratorOptions(), meta_));
  }

  StoreConfig config_;
  std::optional<OpenedStore> store_;
  rocksdb::ColumnFamilyHandle* meta_ = nullptr;
  std::vector<std::string> manifests_;  // keys of the live window
};

// The removed window lies below, the damage above it: RocksDB 7.8 forgets the damage when it seeks
// on behind the removed one.
TEST_F(DamagedManifestsTest, AnIteratorFindsAManifestOrSaysThatItCannot) {
  WriteWindow(kRemovedWindow);
  ASSERT_TRUE(db()->CompactRange({}, meta_, nullptr, nullptr).ok());
  WriteWindow(kLiveWindow);
  const std::string file = NewestFile();
  ASSERT_TRUE(db()->DeleteRange({}, meta_, ManifestKeyFrom(kRemovedWindow, ""),
                                ManifestKeyFrom(kLiveWindow, ""))
                  .ok());
  ASSERT_TRUE(db()->DeleteRange({}, meta_, OutboxKeyFrom(kRemovedWindow),
                                OutboxKeyFrom(kLiveWindow))
                  .ok());
  ASSERT_TRUE(store_->Close().ok());
  FlipBit(file, static_cast<int64_t>(std::filesystem::file_size(file) / 4));
  OpenCatalog();

  size_t told = 0;
  for (const std::string& key : manifests_) {
    for (const bool backward : {false, true}) {
      const auto it = NewIterator();
      backward ? it->SeekForPrev(key) : it->Seek(key);
      if (it->Valid()) {
        EXPECT_EQ(it->key().ToString(true), rocksdb::Slice(key).ToString(true));
      } else {
        EXPECT_TRUE(it->status().IsCorruption()) << it->status().ToString();
        ++told;
      }
    }
  }
  EXPECT_GT(told, 0u);
  const auto walk = NewIterator();
  walk->SeekToFirst();
  while (walk->Valid()) walk->Next();
  EXPECT_TRUE(walk->status().IsCorruption()) << walk->status().ToString();
}

}  // namespace
}  // namespace cistern::testing
