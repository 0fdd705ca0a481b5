// A flipped bit at the end of a file of segments: RocksDB is not given what it would believe.
#include "storage/table_check.h"

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/file_system.h"
#include "tests/storage/temp_store.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;
constexpr size_t kEndBytes = 2048;  // filter, index, properties, metaindex, footer

class TableCheckTest : public ::testing::Test {
 protected:
  TableCheckTest() {
    std::filesystem::create_directory(temp_.config.directory);
    files_ = std::make_shared<StoreFileSystem>(nullptr, temp_.config.directory);
    env_ = rocksdb::NewCompositeEnv(files_);
    rocksdb::BlockBasedTableOptions table;
    table.no_block_cache = true;
    table.checksum = rocksdb::kXXH3;
    table.format_version = 5;
    options_.env = env_.get();
    options_.compression = rocksdb::kNoCompression;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    EXPECT_TRUE(writer.Open(path_).ok());
    for (int n = 0; n < 100; ++n) {
      entries_.emplace_back("key" + std::to_string(1000 + n), std::string(20, 'v'));
      EXPECT_TRUE(writer.Put(entries_.back().first, entries_.back().second).ok());
    }
    EXPECT_TRUE(writer.Finish().ok());
    bytes_ = ReadBytes(path_);
  }
  void Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  // What the file holds, as RocksDB reads it.
  rocksdb::Status Read(Entries* out) {
    out->clear();
    rocksdb::SstFileReader reader(options_);
    rocksdb::Status s = reader.Open(path_);
    if (!s.ok()) return s;
    const std::unique_ptr<rocksdb::Iterator> it(reader.NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      out->emplace_back(it->key().ToString(), it->value().ToString());
    }
    return it->status();
  }
  std::string Flipped(size_t bit) const {
    std::string bytes = bytes_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    return bytes;
  }

  TempStore temp_;
  const std::string path_ = temp_.Path("000012.sst");
  std::shared_ptr<StoreFileSystem> files_;
  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::Options options_;
  Entries entries_;
  std::string bytes_;
};

TEST_F(TableCheckTest, AFlippedBitAtTheEndIsMetOrHarmless) {
  Entries read;
  ASSERT_TRUE(Read(&read).ok());
  ASSERT_EQ(read, entries_);
  ASSERT_GT(bytes_.size(), kEndBytes);
  size_t refused = 0;
  for (size_t bit = 8 * (bytes_.size() - kEndBytes); bit < 8 * bytes_.size(); ++bit) {
    Write(Flipped(bit));
    const rocksdb::Status s = Read(&read);
    refused += s.ok() ? 0 : 1;
    if (s.ok()) {
      ASSERT_EQ(read, entries_) << "bit " << bit << " of " << 8 * bytes_.size();
    }
  }
  EXPECT_GT(refused, 8 * kEndBytes * 9 / 10);
}

TEST_F(TableCheckTest, PropertiesAndTheKindOfChecksumAreNamed) {
  const size_t properties = bytes_.find("rocksdb.");
  ASSERT_NE(properties, std::string::npos);
  Write(Flipped(8 * properties));
  Entries read;
  const rocksdb::Status damaged = Read(&read);
  EXPECT_TRUE(damaged.IsCorruption());
  EXPECT_NE(damaged.ToString().find("the properties are not"), std::string::npos)
      << damaged.ToString();
  Write(Flipped(8 * (bytes_.size() - 53) + 2));  // 4 becomes 0: no checksums
  const rocksdb::Status unchecked = Read(&read);
  EXPECT_TRUE(unchecked.IsCorruption());
  EXPECT_NE(unchecked.ToString().find("another kind of checksum"), std::string::npos)
      << unchecked.ToString();
}

TEST_F(TableCheckTest, AnyBytesAreAnswered) {
  Rng rng(7);
  Entries read;
  for (int n = 0; n < 3000; ++n) {
    std::string bytes = bytes_;
    const size_t changed = 1 + rng.Below(kEndBytes);
    for (uint64_t k = 1 + rng.Below(40); k > 0; --k) {
      bytes[bytes.size() - 1 - rng.Below(changed)] = static_cast<char>(rng.Next());
    }
    if (rng.OneIn(4)) bytes.resize(rng.Below(bytes.size()));
    Write(bytes);
    const auto machine = rocksdb::FileSystem::Default();
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    ASSERT_TRUE(machine->NewRandomAccessFile(path_, {}, &file, nullptr).ok());
    (void)CheckTable(*file, path_, bytes.size());
    (void)CheckTable(*file, path_, bytes.size() + rng.Below(100));  // cut meanwhile
  }
}

}  // namespace
}  // namespace cistern::testing
