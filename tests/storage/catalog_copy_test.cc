// The files that keep the catalog a second time: what is read of them whatever they hold.
#include "storage/catalog_copy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "storage/catalog_frames.h"
#include "storage/confirmed_seals.h"
#include "storage/ended_seals.h"
#include "storage/keyspace.h"
#include "tests/storage/temp_store.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;
using testing::Mix;
using testing::Rng;

const std::string kOurs(32, 'a');
const std::string kTheirs(32, 'b');

// Counts what is read of files.
class ReadCountingFs : public rocksdb::FileSystemWrapper {
 public:
  ReadCountingFs() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "ReadCountingFs"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus s = target()->NewSequentialFile(path, options, result, dbg);
    if (s.ok()) *result = std::make_unique<CountingFile>(std::move(*result), &bytes_read);
    return s;
  }
  uint64_t bytes_read = 0;

 private:
  class CountingFile : public rocksdb::FSSequentialFileOwnerWrapper {
   public:
    CountingFile(std::unique_ptr<rocksdb::FSSequentialFile> file, uint64_t* bytes)
        : FSSequentialFileOwnerWrapper(std::move(file)), bytes_(bytes) {}
    rocksdb::IOStatus Read(size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                           char* scratch, rocksdb::IODebugContext* dbg) override {
      const rocksdb::IOStatus s =
          FSSequentialFileOwnerWrapper::Read(n, options, result, scratch, dbg);
      if (s.ok()) *bytes_ += result->size();
      return s;
    }

   private:
    uint64_t* const bytes_;
  };
};

class CatalogCopyTest : public ::testing::Test {
 protected:
  CatalogCopyTest() { fs::create_directory(directory()); }
  [[nodiscard]] const std::string& directory() const { return temp_.config.directory; }
  [[nodiscard]] std::string First() const { return temp_.Path("CATALOG-1"); }
  [[nodiscard]] std::string Second() const { return temp_.Path("CATALOG-2"); }
  Result<CatalogContent> Read(const std::string& store_id = kOurs) {
    return CatalogCopy::Read(&fs_, directory(), store_id);
  }
  // Some changes of every kind; the first file's bytes.
  std::string MakeFiles(const std::string& store_id, uint64_t changes = 20) {
    CatalogCopy copy(&fs_, directory(), store_id);
    EXPECT_TRUE(copy.Replace({{std::string(kStateKey), "state"}}).ok());
    for (uint64_t n = 0; n < changes; ++n) {
      CatalogChange change;
      change.Put(SpillKey(n), std::string(n * 7 % 50, 's'));
      change.Put(WindowKey(n), "window");
      if (n % 3 == 2) change.Delete(SpillKey(n - 1));
      std::string round;
      PutSealRound(&round, {.round = n, .indexes = {{0, 5}}, .named = {{3, {{1, 2}}}}});
      change.Append(CatalogRoundsKey(n / 4), round);
      std::string confirmed;
      PutConfirmed({{n, ProofLevel::kCount}}, &confirmed);
      change.Append(CatalogConfirmedKey(n / 4), confirmed);
      EXPECT_TRUE(copy.Write(change).ok());
    }
    return ReadBytes(First());
  }
  // What is read of the first file alone, with these bytes: something, or kCorruption that names
  // the file. Nothing of what else may happen is allowed, and the sanitizers look on.
  Result<CatalogContent> ExpectReadable(const std::string& bytes) {
    WriteBytes(First(), bytes);
    fs::remove(Second());
    auto read = Read();
    if (!read.ok()) {
      const StatusCode code = read.status().code();
      EXPECT_TRUE(code == StatusCode::kCorruption || code == StatusCode::kTooNew)
          << read.status().ToString();
      EXPECT_FALSE(read.status().message().empty());
      return read;
    }
    for (const auto& [key, value] : read->records) {
      EXPECT_TRUE(IsCatalogKey(key));
      if (key[0] == 'R') DecodeSealRounds(value).status().IgnoreError();
      if (key[0] == 'C') DecodeConfirmed(value).status().IgnoreError();
    }
    return read;
  }

  TempStore temp_;
  ReadCountingFs fs_;
};

TEST_F(CatalogCopyTest, OfTwoStoresTheOwnIsRead) {
  for (const char* foreign : {"CATALOG-1", "CATALOG-2"}) {
    MakeFiles(kTheirs, 60);  // of more changes: it looks newer
    const std::string theirs = ReadBytes(temp_.Path(foreign));
    MakeFiles(kOurs);
    WriteBytes(temp_.Path(foreign), theirs);
    std::vector<std::string> told;
    const auto read = CatalogCopy::Read(&fs_, directory(), kOurs, &told);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->store_id, kOurs);
    EXPECT_EQ(read->change, 21u);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find(foreign), std::string::npos) << told[0];
    EXPECT_NE(told[0].find(kTheirs), std::string::npos) << told[0];
    // Nobody says which store this is: neither is guessed.
    const auto guessed = Read("");
    ASSERT_EQ(guessed.status().code(), StatusCode::kCorruption);
    EXPECT_NE(guessed.status().message().find("different stores"), std::string::npos);
    CatalogCopy copy(&fs_, directory(), kOurs);
    told.clear();
    ASSERT_TRUE(copy.Load(&told).ok());
    EXPECT_EQ(told.size(), 1u);
    EXPECT_EQ(copy.content().records, read->records);
    // It is written anew though it says the same.
    ASSERT_TRUE(copy.Replace(read->records).ok());
    EXPECT_TRUE(Read("").ok());
  }
}

// Both say the same change, and one of them ends early.
TEST_F(CatalogCopyTest, OfTheSameChangeTheWholeOneCounts) {
  std::map<std::string, std::string> records;
  for (uint64_t n = 0; n < 40; ++n) records[SpillKey(n)] = std::string(10'000, 's');
  for (const char* cut : {"CATALOG-1", "CATALOG-2"}) {
    CatalogCopy copy(&fs_, directory(), kOurs);
    ASSERT_TRUE(copy.Replace(records).ok());
    fs::resize_file(temp_.Path(cut), fs::file_size(temp_.Path(cut)) / 2);
    const auto read = Read();
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->records, records) << cut;
  }
}

TEST_F(CatalogCopyTest, BothOfAnotherStoreAreNamed) {
  MakeFiles(kTheirs);
  const auto read = Read();
  ASSERT_EQ(read.status().code(), StatusCode::kCorruption);
  for (const char* part : {"CATALOG-1", "CATALOG-2", "of another store", "backup"}) {
    EXPECT_NE(read.status().message().find(part), std::string::npos) << read.status().ToString();
  }
}

TEST_F(CatalogCopyTest, WhatIsNoneIsNotReadWhole) {
  for (const uint64_t size : {uint64_t{8} << 20, uint64_t{63} << 20, uint64_t{2} << 30}) {
    for (const std::string& begin : {std::string("SQLite format 3"), std::string("\x20\0\0\0", 4),
                                     std::string("\0\0\x40\0", 4),  // 4 MiB, which are there
                                     std::string("\xff\xff\xff\xff", 4)}) {
      WriteBytes(First(), begin);
      fs::resize_file(First(), size);  // of zeros that take no room
      fs_.bytes_read = 0;
      EXPECT_EQ(Read().status().code(), StatusCode::kCorruption);
      EXPECT_LT(fs_.bytes_read, 1024u) << size;
    }
  }
}

// A file of ours whose frame claims more than any has.
TEST_F(CatalogCopyTest, ALongFrameIsTheEnd) {
  const std::string bytes = MakeFiles(kOurs);
  const auto whole = ExpectReadable(bytes);
  ASSERT_TRUE(whole.ok());
  std::string longer = bytes;
  PutLittle<uint32_t>(&longer, limits::kCatalogFrameBytesMax + 1);
  WriteBytes(First(), longer);
  fs::resize_file(First(), longer.size() + (32u << 20));
  fs_.bytes_read = 0;
  const auto read = Read();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->records, whole->records);
  EXPECT_LT(fs_.bytes_read, longer.size() + 1024);
}

// Confirmed, sent again, confirmed: what is appended is the same seal over and over.
TEST_F(CatalogCopyTest, ConfirmationsDoNotGrowWithoutEnd) {
  MakeFiles(kOurs);
  CatalogCopy copy(&fs_, directory(), kOurs);
  std::vector<std::string> foreign;
  ASSERT_TRUE(copy.Load(&foreign).ok());
  uint64_t largest = 0;
  for (uint64_t n = 0; n < 20'000; ++n) {
    std::string value;
    if (n % 2 == 0) PutConfirmed({{n % 64, ProofLevel::kAck}, {90, ProofLevel::kRows}}, &value);
    else PutWaiting({n % 64, 90}, &value);
    CatalogChange change;
    change.Append(CatalogConfirmedKey(0), value);
    ASSERT_TRUE(copy.Write(change).ok());
    if (n % 64 == 0) largest = std::max<uint64_t>(largest, fs::file_size(First()));
  }
  EXPECT_LT(largest, 256u << 10);
  EXPECT_LT(copy.memory_bytes(), 256u << 10);
  const auto read = Read();
  ASSERT_TRUE(read.ok());
  const auto confirmed = DecodeConfirmed(read->records.at(CatalogConfirmedKey(0)));
  ASSERT_TRUE(confirmed.ok());
  for (uint64_t seal = 0; seal < 64; ++seal) {
    EXPECT_EQ(confirmed->ProofOf(seal).has_value(), seal % 2 == 0) << seal;
  }
  EXPECT_FALSE(confirmed->ProofOf(90));
}

TEST_F(CatalogCopyTest, MoreThanAFileMayHaveIsRefused) {
  MakeFiles(kOurs);
  const std::string before = ReadBytes(First());
  CatalogCopy copy(&fs_, directory(), kOurs);
  std::map<std::string, std::string> records;
  for (uint64_t n = 0; n < 40; ++n) records[SpillKey(n)] = std::string(1 << 20, 's');
  EXPECT_EQ(copy.Replace(records).code(), StatusCode::kTooLarge);
  EXPECT_EQ(ReadBytes(First()), before);
  EXPECT_EQ(copy.Replace({{SpillKey(1), std::string(9 << 20, 's')}}).code(),
            StatusCode::kTooLarge);
}

// Every truncation: what was whole before it is there.
TEST_F(CatalogCopyTest, CutAnywhere) {
  const std::string bytes = MakeFiles(kOurs);
  const auto whole = ExpectReadable(bytes);
  ASSERT_TRUE(whole.ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const auto read = ExpectReadable(bytes.substr(0, size));
    if (read.ok()) {
      EXPECT_LT(read->change, whole->change + 1);
    }
  }
}

// A flipped byte is met by the checksum of its frame. One that is made to fit, as no damage does,
// is met by whoever reads the fields.
TEST_F(CatalogCopyTest, FlippedAnywhere) {
  const std::string bytes = MakeFiles(kOurs);
  Rng rng(Mix(testing::SeedFromEnv()));
  for (size_t at = 0; at < bytes.size(); ++at) {
    SCOPED_TRACE(at);
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 + rng.Below(255)));
    ExpectReadable(flipped).status().IgnoreError();
  }
}

// The payload of each frame, changed at random, in a frame that is right.
TEST_F(CatalogCopyTest, HostileFramesAreErrors) {
  const std::string bytes = MakeFiles(kOurs);
  std::vector<std::string> payloads;
  auto frames = FrameReader::Open(&fs_, First());
  ASSERT_TRUE(frames.ok());
  while (true) {
    const auto payload = frames->Next();
    ASSERT_TRUE(payload.ok());
    if (!*payload) break;
    payloads.emplace_back(**payload);
  }
  ASSERT_GT(payloads.size(), 10u);
  Rng rng(Mix(testing::SeedFromEnv()));
  size_t refused = 0;
  for (int n = 0; n < 1500; ++n) {
    SCOPED_TRACE(n);
    std::vector<std::string> hostile = payloads;
    std::string& payload = hostile[rng.Below(hostile.size())];
    for (uint64_t flips = 1 + rng.Below(3); flips > 0 && !payload.empty(); --flips) {
      payload[rng.Below(payload.size())] = static_cast<char>(rng.Below(256));
    }
    if (rng.OneIn(4)) payload.resize(rng.Below(payload.size() + 1));
    std::string file;
    for (const std::string& each : hostile) file += MakeFrame(each);
    refused += ExpectReadable(file).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 400u);
}

// A value of some kilobytes that names 2^20 seals over and over.
TEST_F(CatalogCopyTest, ManySealsInFewBytesTakeLittle) {
  std::string change(1, '\1');
  PutIntervals(&change, {{0, uint64_t{1} << 20}});
  std::string bytes;
  for (int n = 0; n < 10'000; ++n) bytes += change;
  const auto confirmed = DecodeConfirmed(bytes);
  ASSERT_TRUE(confirmed.ok());
  EXPECT_EQ(confirmed->spans().size(), 1u);
  EXPECT_EQ(confirmed->ProofOf((1 << 20) - 1), ProofLevel::kAck);
  EXPECT_FALSE(confirmed->ProofOf(1 << 20));
  EXPECT_LT(CompactConfirmed(bytes).size(), 256u);
}

// Against a map of single seals.
TEST_F(CatalogCopyTest, IntervalsSayWhatSingleSealsDo) {
  constexpr uint64_t kSeals = 64;
  Rng rng(Mix(testing::SeedFromEnv()));
  for (int history = 0; history < 200; ++history) {
    SCOPED_TRACE(history);
    std::map<uint64_t, ProofLevel> model;
    std::string bytes;
    for (int step = 0; step < 40; ++step) {
      const uint64_t first = rng.Below(kSeals);
      const uint64_t length = 1 + rng.Below(kSeals - first);
      const auto proof = static_cast<ProofLevel>(rng.Below(3));
      const bool waits = rng.OneIn(3);
      std::vector<uint64_t> seals;
      ConfirmedSeals said;
      for (uint64_t seal = first; seal < first + length; ++seal) {
        seals.push_back(seal);
        said.Confirm(seal, 1, proof);
        if (waits) model.erase(seal);
        else model[seal] = proof;
      }
      if (waits) PutWaiting(seals, &bytes);
      else PutConfirmed(said, &bytes);
    }
    const auto confirmed = DecodeConfirmed(bytes);
    ASSERT_TRUE(confirmed.ok());
    const auto compact = DecodeConfirmed(CompactConfirmed(bytes));
    ASSERT_TRUE(compact.ok());
    EXPECT_EQ(*compact, *confirmed);
    for (uint64_t seal = 0; seal <= kSeals; ++seal) {
      const auto known = model.find(seal);
      const auto expected = known == model.end() ? std::nullopt : std::optional(known->second);
      EXPECT_EQ(confirmed->ProofOf(seal), expected) << seal;
    }
  }
}

// The files of ended windows, by the same frames.
TEST_F(CatalogCopyTest, EndedSealsCutOrHostileAreErrors) {
  const auto read = [&](const std::string& bytes) {
    WriteBytes(temp_.Path("ENDED-0000000000000007"), bytes);
    return ReadEndedSeals(&fs_, directory(), 7, [](std::string_view key, std::string_view) {
      EXPECT_TRUE(ParseManifestKey(key));
      return Status::Ok();
    });
  };
  const auto entry = [](const std::string& key) {
    std::string payload;
    for (const std::string& part : {key, std::string("manifest")}) {
      PutVarint(&payload, part.size());
      payload += part;
    }
    return payload;
  };
  const std::string key = ManifestKey(7, {1, "a", 0, 0}, 5);
  const std::string whole = MakeFrame(entry(key)) + MakeFrame("end");
  ASSERT_TRUE(read(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read(whole.substr(0, size)).code(), StatusCode::kCorruption) << size;
  }
  for (const std::string& hostile : {std::string(), std::string("M"), std::string("A"),
                                     ManifestKey(8, {1, "a", 0, 0}, 5)}) {
    EXPECT_EQ(read(MakeFrame(entry(hostile)) + MakeFrame("end")).code(), StatusCode::kCorruption);
  }
}

// Many short lives, each of which changes little, leave no more than a long one.
TEST_F(CatalogCopyTest, WhatFormerOpeningsAppendedCounts) {
  MakeFiles(kOurs, 0);
  for (uint64_t life = 0; life < 40; ++life) {
    CatalogCopy copy(&fs_, directory(), kOurs);
    std::vector<std::string> foreign;
    ASSERT_TRUE(copy.Load(&foreign).ok());
    for (uint64_t n = 0; n < 10; ++n) {
      CatalogChange change;
      change.Put(SpillKey(1), std::string(1000, static_cast<char>('a' + (life + n) % 26)));
      ASSERT_TRUE(copy.Write(change).ok());
    }
    EXPECT_LE(fs::file_size(First()), uint64_t{70} * 1024) << life;
    EXPECT_LE(fs::file_size(Second()), uint64_t{70} * 1024) << life;
  }
}

}  // namespace
}  // namespace cistern
