// Damaged logs: what a store gives up, and that it says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/repair_mark.h"
#include "tests/storage/temp_store.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;

constexpr int kRecords = 100;
const std::string kJournal = JournalFamilyName(1);

std::string Key(int i) { return std::to_string(1000 + i); }

class RecoveryLadder : public testing::Test {
 protected:
  // A journal of synced records, closed.
  void WriteJournal() {
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->db
                    ->CreateColumnFamily(store->FamilyOptions(FamilyKind::kJournal), kJournal,
                                         &store->families[kJournal])
                    .ok());
    PutRecords(&*store, 0, kRecords);
    ASSERT_TRUE(store->Close().ok());
  }
  static void PutRecords(OpenedStore* store, int from, int to) {
    rocksdb::WriteOptions synced;
    synced.sync = true;
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(
          store->db->Put(synced, store->families[kJournal], Key(i), std::string(200, 'v')).ok());
    }
    ASSERT_TRUE(store->beacon->Write(0, store->fs->SyncedLogEnds()).ok());  // as within a second
  }
  // The log with the most bytes.
  std::string LogPath() const {
    std::string largest;
    for (const auto& name : NamesIn(temp_.config.directory)) {
      if (FileKindOf(name) != FileKind::kWal) continue;
      if (largest.empty() || fs::file_size(temp_.Path(name)) > fs::file_size(largest)) {
        largest = temp_.Path(name);
      }
    }
    return largest;
  }
  static int CountRecords(OpenedStore* store) {
    const std::unique_ptr<rocksdb::Iterator> it(
        store->db->NewIterator({}, store->families[kJournal]));
    int count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    EXPECT_TRUE(it->status().ok());
    return count;
  }
  void FlipBit(double at) {
    std::string bytes = ReadBytes(LogPath());
    char& byte = bytes[static_cast<size_t>(static_cast<double>(bytes.size()) * at)];
    byte = static_cast<char>(byte ^ 4);
    WriteBytes(LogPath(), bytes);
  }
  TempStore temp_;
};

TEST_F(RecoveryLadder, ATornTailIsNothingUnusual) {
  WriteJournal();
  fs::resize_file(LogPath(), fs::file_size(LogPath()) - 57);
  auto store = temp_.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(CountRecords(&*store), kRecords - 1);
  EXPECT_EQ(store->rung, RecoveryRung::kClean);
  EXPECT_TRUE(store->recovery.clean);
}

TEST_F(RecoveryLadder, ABitFlipInTheMiddleIsSaidAndKeptInQuarantine) {
  WriteJournal();
  FlipBit(0.5);
  const std::string damaged = ReadBytes(LogPath());
  const std::string name = fs::path(LogPath()).filename().string();
  {
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_EQ(store->rung, RecoveryRung::kPointInTime);
    EXPECT_FALSE(store->recovery.clean);
    EXPECT_GE(store->recovery.notes.size(), 2u);
    const int kept = CountRecords(&*store);
    EXPECT_GT(kept, kRecords / 3);
    EXPECT_LT(kept, kRecords * 2 / 3);
    std::string value;
    EXPECT_TRUE(store->db->Get({}, store->families[kJournal], Key(0), &value).ok());
    EXPECT_TRUE(store->db->Get({}, store->families[kJournal], Key(kept), &value).IsNotFound());
  }
  EXPECT_EQ(ReadBytes(temp_.Path("quarantine/1/" + name)), damaged);
  EXPECT_TRUE(fs::exists(temp_.Path("quarantine/1/CURRENT")));
}

TEST_F(RecoveryLadder, AfterRecoveryTheStoreIsCleanAndTakesWrites) {
  WriteJournal();
  FlipBit(0.5);
  int kept = 0;
  {
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok());
    kept = CountRecords(&*store);
    PutRecords(&*store, kRecords, kRecords + 10);
  }
  for (int round = 0; round < 3; ++round) {
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    if (round == 0) {  // nobody has looked at the catalog yet, as Store does
      EXPECT_EQ(store->rung, RecoveryRung::kSkipped);
      EXPECT_FALSE(store->recovery.clean);
      ASSERT_TRUE(EndRepair(store->fs.get(), store->config.directory).ok());
      continue;
    }
    EXPECT_EQ(store->rung, RecoveryRung::kClean);
    EXPECT_TRUE(store->recovery.clean);
    EXPECT_EQ(CountRecords(&*store), kept + 10);
  }
  EXPECT_EQ(NamesIn(temp_.Path("quarantine")).size(), 1u);
}

TEST_F(RecoveryLadder, AZeroPageInTheMiddleIsSaid) {
  WriteJournal();
  std::string bytes = ReadBytes(LogPath());
  ASSERT_GT(bytes.size(), 16384u);
  std::fill_n(bytes.begin() + 8192, 4096, '\0');
  WriteBytes(LogPath(), bytes);
  auto store = temp_.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(store->rung, RecoveryRung::kPointInTime);
  EXPECT_FALSE(store->recovery.clean);
  EXPECT_LT(CountRecords(&*store), kRecords);
  EXPECT_GT(CountRecords(&*store), 20);
}

TEST_F(RecoveryLadder, GarbageBehindTheLastRecordLosesNothing) {
  WriteJournal();
  WriteBytes(LogPath(), ReadBytes(LogPath()) + std::string(500, 'g'));
  auto store = temp_.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(CountRecords(&*store), kRecords);
}

TEST_F(RecoveryLadder, AFlushedMetaDoesNotKeepADamagedOlderLogFromOpening) {
  WriteJournal();
  {
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok());
    // meta is flushed: its SST is then ahead of the log that gets damaged.
    rocksdb::WriteOptions synced;
    synced.sync = true;
    ASSERT_TRUE(store->db->Put(synced, store->families["meta"], "m", "1").ok());
    ASSERT_TRUE(store->db->Flush({}, store->families["meta"]).ok());
    PutRecords(&*store, kRecords, kRecords + 5);
  }
  FlipBit(0.5);
  auto store = temp_.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_NE(store->rung, RecoveryRung::kClean);
  EXPECT_FALSE(store->recovery.clean);
  std::string value;
  EXPECT_TRUE(store->db->Get({}, store->families["meta"], "m", &value).ok());
  EXPECT_LT(CountRecords(&*store), kRecords + 5);
}

TEST_F(RecoveryLadder, QuarantineKeepsTwoCopies) {
  WriteJournal();
  for (int round = 0; round < 4; ++round) {
    FlipBit(0.5);
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_FALSE(store->recovery.clean);
    store->fs->ReleaseDeletions();  // the listing is right
    PutRecords(&*store, 0, kRecords);
    ASSERT_TRUE(store->Close().ok());
  }
  EXPECT_EQ(NamesIn(temp_.Path("quarantine")), (std::set<std::string>{"3", "4"}));
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(temp_.config.directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  auto store = temp_.Open();
  ASSERT_TRUE(store.ok());
  EXPECT_GT(store->fs->disk_bytes_used(), bytes / 2);  // the copies are charged
}

TEST_F(RecoveryLadder, ADamagedManifestIsCorruptionEveryTimeAndNothingPilesUp) {
  WriteJournal();
  for (const auto& name : NamesIn(temp_.config.directory)) {
    if (FileKindOf(name) != FileKind::kManifest) continue;
    std::string bytes = ReadBytes(temp_.Path(name));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 8);
    WriteBytes(temp_.Path(name), bytes);
  }
  const auto before = NamesIn(temp_.config.directory);
  for (int round = 0; round < 4; ++round) {
    const auto store = temp_.Open();
    EXPECT_EQ(store.status().code(), StatusCode::kCorruption) << store.status().ToString();
  }
  auto after = NamesIn(temp_.config.directory);
  after.erase("LOG");
  EXPECT_EQ(after, before);
}

TEST_F(RecoveryLadder, ReadOnlyShowsWhatComesBeforeTheDamageAndChangesNothing) {
  WriteJournal();
  FlipBit(0.5);
  const auto before = NamesIn(temp_.config.directory);
  temp_.config.read_only = true;
  auto store = temp_.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_FALSE(store->recovery.clean);
  EXPECT_LT(CountRecords(&*store), kRecords);
  EXPECT_EQ(NamesIn(temp_.config.directory), before);
}

// What may happen to a file.
enum class Damage {
  kMissing,
  kEmpty,
  kHalf,
  kTailCut,
  kBitFlip,
  kZeroPage,
  kGarbageTail,
  kForeign,
};

void Apply(Damage damage, const std::string& path) {
  const std::string bytes = ReadBytes(path);
  std::string changed = bytes;
  switch (damage) {
    case Damage::kMissing: fs::remove(path); return;
    case Damage::kEmpty: changed.clear(); break;
    case Damage::kHalf: changed.resize(bytes.size() / 2); break;
    case Damage::kTailCut: changed.resize(bytes.size() - std::min<size_t>(bytes.size(), 5)); break;
    case Damage::kBitFlip:
      if (!bytes.empty()) {
        changed[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
      }
      break;
    case Damage::kZeroPage:
      std::fill_n(changed.begin(), std::min<size_t>(changed.size(), 4096), '\0');
      break;
    case Damage::kGarbageTail: changed.append(500, 'g'); break;
    case Damage::kForeign: changed = "not what you expect\n"; break;
  }
  WriteBytes(path, changed);
}

// Every file of a store, damaged in every way: an open gives a documented code, or a
// store in which either nothing is missing or the loss shows.
TEST_F(RecoveryLadder, NoDamageOfOneFilePassesForAnIntactStore) {
  WriteJournal();
  {
    auto store = temp_.Open();
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->db->Put({}, store->families["meta"], "m", std::string(5000, 'm')).ok());
    ASSERT_TRUE(store->db->Flush({}, store->families["meta"]).ok());
    PutRecords(&*store, kRecords, kRecords + 20);
    ASSERT_TRUE(store->beacon->Write(kRecords + 20).ok());
  }
  const std::string intact = temp_.root() + "/intact";
  fs::copy(temp_.config.directory, intact);
  int cases = 0;
  for (const std::string& name : NamesIn(intact)) {
    for (int d = 0; d <= static_cast<int>(Damage::kForeign); ++d) {
      if (name == "BALLAST" && d > 0) continue;  // its bytes mean nothing
      SCOPED_TRACE(name + ", damage " + std::to_string(d));
      fs::remove_all(temp_.config.directory);
      fs::copy(intact, temp_.config.directory);
      Apply(static_cast<Damage>(d), temp_.Path(name));
      ++cases;
      auto store = temp_.Open();
      if (!store.ok()) {
        EXPECT_EQ(store.status().code(), StatusCode::kCorruption) << store.status().ToString();
        continue;
      }
      std::string value;
      const bool has_meta = store->db->Get({}, store->families["meta"], "m", &value).ok();
      const auto journal = store->families.find(kJournal);
      const int kept = journal == store->families.end() ? 0 : CountRecords(&*store);
      const bool whole = has_meta && kept == kRecords + 20;
      const bool shows = !store->recovery.clean || !has_meta ||
                         store->beacon->sequence() > static_cast<uint64_t>(kept);
      EXPECT_TRUE(whole || shows) << kept << " records";
    }
  }
  EXPECT_GT(cases, 60);
}

}  // namespace
}  // namespace cistern
