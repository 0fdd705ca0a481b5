// What a power cut tears of the last writes to a MANIFEST or a log is an end, and no damage.
#include "storage/torn_end.h"

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/log_end.h"
#include "tests/storage/temp_store.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;

const std::string kJournal = JournalFamilyName(1);

class TornEndTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = std::make_unique<OpenedStore>(*temp_.Open());
    MakeFamily(1);
    for (int i = 0; i < 40; ++i) Put("synced-" + std::to_string(100 + i), true);
    ASSERT_TRUE(store_->beacon->Write(40, store_->fs->SyncedLogEnds()).ok());
  }
  void MakeFamily(uint64_t number) {
    const std::string name = JournalFamilyName(number);
    ASSERT_TRUE(store_->db
                    ->CreateColumnFamily(store_->FamilyOptions(FamilyKind::kJournal), name,
                                         &store_->families[name])
                    .ok());
  }
  void Put(const std::string& key, bool sync) {
    rocksdb::WriteOptions options;
    options.sync = sync;
    ASSERT_TRUE(
        store_->db->Put(options, store_->families[kJournal], key, std::string(300, 'v')).ok());
  }
  // The store as a process that ended here would leave it.
  void Keep(const std::string& name) {
    fs::remove_all(temp_.root() + "/" + name);
    fs::copy(temp_.config.directory, temp_.root() + "/" + name, fs::copy_options::recursive);
  }
  // The only file of a kind in a store, or its largest.
  static std::string FileOf(const std::string& directory, FileKind kind) {
    std::string largest;
    for (const auto& name : NamesIn(directory)) {
      if (FileKindOf(name) != kind) continue;
      if (largest.empty() || fs::file_size(directory + "/" + name) >
                                 fs::file_size(directory + "/" + largest)) {
        largest = name;
      }
    }
    return largest;
  }
  [[nodiscard]] StoreConfig ConfigOf(const std::string& name) const {
    StoreConfig config = temp_.config;
    config.directory = temp_.root() + "/" + name;
    return config;
  }
  static int CountRecords(OpenedStore* store) {
    const std::unique_ptr<rocksdb::Iterator> it(
        store->db->NewIterator({}, store->families[kJournal]));
    int count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    EXPECT_TRUE(it->status().ok());
    return count;
  }
  // Zeros at [from, to) of what was appended to `name` behind `before`, if `to` is not its end.
  static std::string WithHole(std::string bytes, size_t from, size_t to) {
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from),
              bytes.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    return bytes;
  }
  static void ExpectNoAlarm(const OpenedStore& store, const std::string& what) {
    EXPECT_EQ(store.rung, RecoveryRung::kClean) << what;
    EXPECT_TRUE(store.recovery.clean) << what << ": " << store.recovery.notes.front();
  }

  TempStore temp_;
  std::unique_ptr<OpenedStore> store_;
};

TEST_F(TornEndTest, AWholeFileHasNoHole) {
  for (int i = 0; i < 300; ++i) Put("more-" + std::to_string(i), false);  // several blocks
  for (const FileKind kind : {FileKind::kManifest, FileKind::kWal}) {
    const std::string path = temp_.Path(FileOf(temp_.config.directory, kind));
    const std::string bytes = ReadBytes(path);
    const auto end = FindLogEnd(store_->fs.get(), path, 0);
    ASSERT_TRUE(end.ok());
    EXPECT_FALSE(end->torn);
    EXPECT_EQ(end->whole_bytes, bytes.size());
    const std::string copy = temp_.root() + "/copy";
    for (size_t at = 0; at < bytes.size(); at += 61) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      WriteBytes(copy, damaged);
      const auto found = FindLogEnd(store_->fs.get(), copy, 0);
      ASSERT_TRUE(found.ok());
      EXPECT_LE(found->whole_bytes, at) << "no record with the changed byte is whole";
      EXPECT_GT(found->whole_bytes + 400, at) << "those before it are";
    }
  }
}

TEST_F(TornEndTest, NotesOfSyncedLengthsAreLowerBoundsAndFollow) {
  const std::string manifest = FileOf(temp_.config.directory, FileKind::kManifest);
  SyncedEnds ends = store_->beacon->ends();
  EXPECT_EQ(ends.manifest_number, FileNumberOf(manifest));
  EXPECT_EQ(ends.manifest_bytes, fs::file_size(temp_.Path(manifest)));
  EXPECT_EQ(ends.log_bytes, fs::file_size(temp_.Path(FileOf(temp_.config.directory,
                                                            FileKind::kWal))));
  Put("unsynced", false);
  EXPECT_EQ(store_->fs->SyncedLogEnds().log_bytes, ends.log_bytes);
  MakeFamily(2);
  ends = store_->beacon->ends();
  EXPECT_EQ(ends.manifest_bytes, fs::file_size(temp_.Path(manifest)));
}

TEST_F(TornEndTest, AHoleInTheLastAppendToTheManifestIsCutOff) {
  Keep("before");
  MakeFamily(2);
  const std::string manifest = FileOf(temp_.config.directory, FileKind::kManifest);
  const std::string whole = ReadBytes(temp_.Path(manifest));
  const size_t synced = fs::file_size(temp_.root() + "/before/" + manifest);
  ASSERT_GT(whole.size(), synced + 40);
  for (size_t from = synced; from < whole.size(); from += 9) {
    for (const size_t to : {from + 5, from + 20, whole.size() - 4}) {
      if (to <= from || to + 4 > whole.size()) continue;
      const std::string what = std::to_string(from - synced) + " to " + std::to_string(to - synced);
      const StoreConfig config = ConfigOf("torn");
      fs::remove_all(config.directory);
      fs::copy(temp_.root() + "/before", config.directory, fs::copy_options::recursive);
      const std::string torn = WithHole(whole, from, to);
      WriteBytes(config.directory + "/" + manifest, torn);
      StoreConfig reading = config;
      reading.read_only = true;
      const auto names = NamesIn(config.directory);
      {
        auto store = OpenStore(reading);
        ASSERT_TRUE(store.ok()) << what << ": " << store.status().ToString();
        ExpectNoAlarm(*store, what);
        EXPECT_EQ(CountRecords(&*store), 40) << what;
      }
      EXPECT_EQ(NamesIn(config.directory), names) << "a reader changes nothing";
      EXPECT_EQ(ReadBytes(config.directory + "/" + manifest), torn);
      auto store = OpenStore(config);
      ASSERT_TRUE(store.ok()) << what << ": " << store.status().ToString();
      ExpectNoAlarm(*store, what);
      EXPECT_EQ(CountRecords(&*store), 40) << what;
      if (torn == whole) continue;
      const auto kept = NamesIn(config.directory + "/quarantine/torn");
      ASSERT_EQ(kept.size(), 1u) << what;
      const std::string start = manifest + ".from-";
      ASSERT_TRUE(kept.begin()->starts_with(start)) << *kept.begin();
      const size_t cut_at = std::stoul(kept.begin()->substr(start.size()));
      EXPECT_GE(cut_at, synced) << what;
      EXPECT_LE(cut_at, from) << what;
      EXPECT_EQ(ReadBytes(config.directory + "/quarantine/torn/" + *kept.begin()),
                torn.substr(cut_at));
    }
  }
}

TEST_F(TornEndTest, RotBeforeTheSyncedEndOfTheManifestIsNoEnd) {
  MakeFamily(2);
  Keep("rotten");
  const StoreConfig config = ConfigOf("rotten");
  const std::string manifest = config.directory + "/" + FileOf(config.directory,
                                                               FileKind::kManifest);
  std::string bytes = ReadBytes(manifest);
  bytes[bytes.size() - 20] = static_cast<char>(bytes[bytes.size() - 20] ^ 1);
  WriteBytes(manifest, bytes);
  EXPECT_EQ(OpenStore(config).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadBytes(manifest), bytes) << "it is not cut";
}

TEST_F(TornEndTest, AHoleInTheUnsyncedEndOfTheLogRaisesNoAlarm) {
  const std::string log = FileOf(temp_.config.directory, FileKind::kWal);
  const size_t synced = fs::file_size(temp_.Path(log));
  for (int i = 0; i < 200; ++i) Put("unsynced-" + std::to_string(i), false);  // over two blocks
  Keep("before");
  const std::string whole = ReadBytes(temp_.Path(log));
  ASSERT_GT(whole.size(), size_t{64} << 10);
  for (const size_t unit : {size_t{512}, size_t{4096}}) {
    for (size_t from = synced / unit * unit + unit; from + unit < whole.size(); from += 7 * unit) {
      const std::string what = std::to_string(unit) + " at " + std::to_string(from);
      const StoreConfig config = ConfigOf("torn");
      fs::remove_all(config.directory);
      fs::copy(temp_.root() + "/before", config.directory, fs::copy_options::recursive);
      WriteBytes(config.directory + "/" + log, WithHole(whole, from, from + unit));
      StoreConfig reading = config;
      reading.read_only = true;
      int shown = 0;
      {
        auto store = OpenStore(reading);
        ASSERT_TRUE(store.ok()) << what << ": " << store.status().ToString();
        ExpectNoAlarm(*store, what);
        shown = CountRecords(&*store);
      }
      auto store = OpenStore(config);
      ASSERT_TRUE(store.ok()) << what << ": " << store.status().ToString();
      ExpectNoAlarm(*store, what);
      EXPECT_EQ(CountRecords(&*store), shown) << what;
      EXPECT_GE(shown, 40) << what;
      std::string value;
      const std::string next = "unsynced-" + std::to_string(shown - 40);
      EXPECT_TRUE(store->db->Get({}, store->families[kJournal], next, &value).IsNotFound())
          << what << ": what follows the hole is not replayed";
      EXPECT_EQ(NamesIn(config.directory + "/quarantine"), std::set<std::string>{"torn"}) << what;
    }
  }
}

// The power goes before the first second of a store is over.
TEST_F(TornEndTest, AHoleInALogThatNobodyHasNotedRaisesNoAlarm) {
  const TempStore young;
  auto store = young.Open();
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_NE(store->beacon->ends().manifest_number, 0u);
  EXPECT_EQ(store->beacon->ends().log_number, 0u);
  auto* const meta = store->families.at("meta");
  const std::string log = FileOf(young.config.directory, FileKind::kWal);
  const size_t before = fs::file_size(young.Path(log));
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(store->db->Put({}, meta, std::to_string(i), std::string(300, 'v')).ok());
  }
  StoreConfig config = young.config;
  config.directory = young.root() + "/torn";
  fs::copy(young.config.directory, config.directory, fs::copy_options::recursive);
  const std::string path = config.directory + "/" + log;
  WriteBytes(path, WithHole(ReadBytes(path), before + 700, before + 1212));
  auto torn = OpenStore(config);
  ASSERT_TRUE(torn.ok()) << torn.status().ToString();
  ExpectNoAlarm(*torn, "a hole in the first log");
  std::string value;
  EXPECT_TRUE(torn->db->Get({}, torn->families.at("meta"), "1", &value).ok());
  EXPECT_TRUE(torn->db->Get({}, torn->families.at("meta"), "7", &value).IsNotFound());
}

// RocksDB syncs a log with all that were written before it: one behind a hole never was.
TEST_F(TornEndTest, LogsBehindATornOneAreNotReplayed) {
  const std::string log = FileOf(temp_.config.directory, FileKind::kWal);
  const size_t synced = fs::file_size(temp_.Path(log));
  for (int i = 0; i < 10; ++i) Put("unsynced-" + std::to_string(i), false);
  Keep("torn");
  ASSERT_TRUE(store_->db->Flush({}, store_->families["meta"]).ok());
  Put("behind", false);  // into the next log, if this flush began one
  rocksdb::WriteOptions options;
  ASSERT_TRUE(store_->db->Put(options, store_->families["meta"], "m", "1").ok());
  ASSERT_TRUE(store_->db->Flush({}, store_->families["meta"]).ok());
  Put("behind-too", false);
  const StoreConfig config = ConfigOf("torn");
  size_t later_logs = 0;
  for (const auto& name : NamesIn(temp_.config.directory)) {
    if (FileKindOf(name) != FileKind::kWal || FileNumberOf(name) <= FileNumberOf(log)) continue;
    fs::copy_file(temp_.Path(name), config.directory + "/" + name);
    ++later_logs;
  }
  ASSERT_GT(later_logs, 0u);
  const std::string path = config.directory + "/" + log;
  WriteBytes(path, WithHole(ReadBytes(path), synced + 100, synced + 400));
  StoreConfig reading = config;
  reading.read_only = true;
  for (const StoreConfig& opening : {reading, config}) {
    auto store = OpenStore(opening);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    ExpectNoAlarm(*store, opening.read_only ? "read-only" : "for writing");
    EXPECT_EQ(CountRecords(&*store), 40);
  }
}

// Fails the cut of the second file.
class SecondCutFails : public rocksdb::FileSystemWrapper {
 public:
  SecondCutFails() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  [[nodiscard]] const char* Name() const override { return "SecondCutFails"; }
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* context) override {
    if (++cuts_ == 2) return rocksdb::IOStatus::IOError("no second cut");
    return FileSystemWrapper::ReopenWritableFile(path, options, file, context);
  }

 private:
  int cuts_ = 0;
};

// A log behind a torn one must not be there once the torn one is whole.
TEST_F(TornEndTest, TheNewestLogIsCutFirst) {
  Keep("cut");
  const std::string directory = ConfigOf("cut").directory;
  for (const char* name : {"/999998.log", "/999999.log"}) {
    WriteBytes(directory + name, std::string(100, 'x'));
  }
  SecondCutFails failing;
  const std::vector<TornEnd> torn = {
      {.name = "999998.log", .whole_bytes = 40, .size_bytes = 100},
      {.name = "999999.log", .whole_bytes = 0, .size_bytes = 100}};
  const auto told = CutTornEnds(&failing, directory, torn);
  EXPECT_EQ(told.status().code(), StatusCode::kIoError) << told.status().ToString();
  EXPECT_EQ(fs::file_size(directory + "/999998.log"), 100u);
  EXPECT_EQ(fs::file_size(directory + "/999999.log"), 0u);
  // The next opening cuts the other, and what was kept of both stays.
  const auto next = CutTornEnds(rocksdb::FileSystem::Default().get(), directory, {torn[0]});
  EXPECT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_EQ(fs::file_size(directory + "/999998.log"), 40u);
  EXPECT_EQ(fs::file_size(directory + "/quarantine/torn/999998.log.from-40"), 60u);
  EXPECT_EQ(fs::file_size(directory + "/quarantine/torn/999999.log.from-0"), 100u);
  // Of a log that is gone the next cut keeps nothing more.
  fs::remove(directory + "/999999.log");
  WriteBytes(directory + "/999998.log", std::string(70, 'y'));
  ASSERT_TRUE(CutTornEnds(rocksdb::FileSystem::Default().get(), directory,
                          {{.name = "999998.log", .whole_bytes = 50, .size_bytes = 70}}).ok());
  EXPECT_EQ(NamesIn(directory + "/quarantine/torn"),
            (std::set<std::string>{"999998.log.from-50"}));
}

TEST_F(TornEndTest, AnEndThatIsTooLargeToBeKeptIsTold) {
  Keep("large");
  const std::string directory = ConfigOf("large").directory;
  WriteBytes(directory + "/999999.log", "x");
  const uint64_t size_bytes = uint64_t{65} << 20;
  fs::resize_file(directory + "/999999.log", size_bytes);
  const auto told = CutTornEnds(rocksdb::FileSystem::Default().get(), directory,
                                {{.name = "999999.log", .size_bytes = size_bytes}});
  ASSERT_TRUE(told.ok()) << told.status().ToString();
  ASSERT_EQ(told->size(), 1u);
  EXPECT_NE(told->front().find("could not be kept"), std::string::npos) << told->front();
  EXPECT_EQ(fs::file_size(directory + "/999999.log"), 0u);
}

TEST_F(TornEndTest, RotBeforeTheSyncedEndOfTheLogIsDamage) {
  const std::string log = FileOf(temp_.config.directory, FileKind::kWal);
  Keep("rotten");
  const StoreConfig config = ConfigOf("rotten");
  std::string bytes = ReadBytes(config.directory + "/" + log);
  bytes[bytes.size() - 700] = static_cast<char>(bytes[bytes.size() - 700] ^ 1);
  WriteBytes(config.directory + "/" + log, bytes);
  auto store = OpenStore(config);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(store->rung, RecoveryRung::kPointInTime);
  EXPECT_FALSE(store->recovery.clean);
  EXPECT_TRUE(fs::exists(config.directory + "/quarantine/1/" + log));
}

}  // namespace
}  // namespace cistern
