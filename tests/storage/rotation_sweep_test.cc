// Families come and go as rotation does it, and the power goes at every operation; then
// again during the recovery (211 cuts, each with a second). Everything runs in children:
// the parent starts no thread.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/storage/temp_store.h"
#include "tests/support/cut_process.h"
#include "tests/support/power_loss_fs.h"

namespace cistern {
namespace {

constexpr uint64_t kRotations = 4;
constexpr uint64_t kRecordsPerJournal = 3;

rocksdb::WriteOptions Synced() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

std::string RecordKey(uint64_t number) { return std::to_string(1000 + number); }

bool CreateFamily(OpenedStore* store, FamilyKind kind, const std::string& name) {
  if (store->families.contains(name)) return true;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  if (!store->db->CreateColumnFamily(store->FamilyOptions(kind), name, &handle).ok()) return false;
  store->families[name] = handle;
  return true;
}

bool DropFamily(OpenedStore* store, const std::string& name) {
  rocksdb::ColumnFamilyHandle* handle = store->families[name];
  store->families.erase(name);
  return store->db->DropColumnFamily(handle).ok() &&
         store->db->DestroyColumnFamilyHandle(handle).ok();
}

// The journal that is written to; meta says so in the same batch that makes the spilled
// pages of the former one count.
uint64_t CurrentJournal(OpenedStore* store) {
  std::string value;
  if (!store->db->Get({}, store->families["meta"], "journal", &value).ok()) return 1;
  return std::stoull(value);
}

bool Rotate(OpenedStore* store, uint64_t number) {
  const std::string journal = JournalFamilyName(number);
  const std::string spill = SpillFamilyName(number);
  if (!CreateFamily(store, FamilyKind::kJournal, JournalFamilyName(number + 1)) ||
      !CreateFamily(store, FamilyKind::kSpill, spill)) {
    return false;
  }
  rocksdb::WriteOptions no_log;
  no_log.disableWAL = true;
  {
    const std::unique_ptr<rocksdb::Iterator> it(
        store->db->NewIterator({}, store->families[journal]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      if (!store->db->Put(no_log, store->families[spill], it->key(), it->value()).ok()) {
        return false;
      }
    }
    if (!it->status().ok()) return false;
  }
  if (!store->db->Flush({}, store->families[spill]).ok()) return false;
  if (!store->db->Put(Synced(), store->families["meta"], "journal", std::to_string(number + 1))
           .ok()) {
    return false;
  }
  return DropFamily(store, journal) && store->db->Flush({}, store->families["meta"]).ok();
}

// Drops journals that were spilled already, as an open after a cut must.
bool FinishRotation(OpenedStore* store) {
  const uint64_t current = CurrentJournal(store);
  for (uint64_t number = 1; number < current; ++number) {
    const std::string name = JournalFamilyName(number);
    if (store->families.contains(name) && !DropFamily(store, name)) return false;
  }
  return true;
}

bool Work(const StoreConfig& config, const SharedCounters& shared, uint64_t* wal_bytes_max) {
  auto store = OpenStore(config);
  if (!store.ok() || !FinishRotation(&*store)) return false;
  for (uint64_t n = CurrentJournal(&*store); n <= kRotations; ++n) {
    if (!CreateFamily(&*store, FamilyKind::kJournal, JournalFamilyName(n))) return false;
    for (uint64_t i = 0; i < kRecordsPerJournal; ++i) {
      const uint64_t number = (n - 1) * kRecordsPerJournal + i + 1;
      if (number <= shared->acknowledged.load()) continue;
      if (!store->db
               ->Put(Synced(), store->families[JournalFamilyName(n)], RecordKey(number),
                     std::string(2000, 'r'))
               .ok()) {
        return false;
      }
      shared->acknowledged.store(number);
      // As an engine does once a second: what lies behind may be torn by a cut.
      if (!store->beacon->Write(number, store->fs->SyncedLogEnds()).ok()) return false;
    }
    if (!Rotate(&*store, n)) return false;
    *wal_bytes_max = std::max(*wal_bytes_max, store->fs->wal_bytes_on_disk());
  }
  return store->Close().ok();
}

bool Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return false;
}

bool Verify(const StoreConfig& config, const SharedCounters& shared) {
  auto store = OpenStore(config);
  if (!store.ok()) return Fail(store.status().ToString());
  if (!store->recovery.clean) return Fail(store->recovery.notes.front());
  const uint64_t current = CurrentJournal(&*store);
  for (uint64_t number = 1; number <= shared->acknowledged.load(); ++number) {
    const uint64_t n = (number - 1) / kRecordsPerJournal + 1;
    const std::string name = n < current ? SpillFamilyName(n) : JournalFamilyName(n);
    std::string value;
    if (!store->families.contains(name) ||
        !store->db->Get({}, store->families[name], RecordKey(number), &value).ok()) {
      return Fail("record " + std::to_string(number) + " is not in " + name);
    }
  }
  for (const auto& [name, handle] : store->families) {
    uint64_t files = 0;
    if (FamilyKindOf(name) == FamilyKind::kJournal &&
        store->db->GetIntProperty(handle, "rocksdb.live-sst-files-size", &files) && files > 0) {
      return Fail(name + " has an SST");
    }
  }
  return true;
}

StoreConfig WithPower(const TempStore& temp, PowerLossPlan plan, bool lose_entries) {
  if (lose_entries) {
    plan.shadow_directory = temp.root() + "/shadow";
    std::filesystem::remove_all(plan.shadow_directory);
    std::filesystem::create_directory(plan.shadow_directory);
  }
  StoreConfig config = temp.config;
  config.base_fs = std::make_shared<PowerLossFileSystem>(plan);
  return config;
}

class RotationSweep : public testing::TestWithParam<bool> {};

TEST_P(RotationSweep, EveryCutKeepsWhatWasAcknowledged) {
  uint64_t cuts = 0;
  bool cut = true;
  for (uint64_t fatal_op = 1; cut; ++fatal_op) {
    SCOPED_TRACE("cut at operation " + std::to_string(fatal_op));
    TempStore temp;
    SharedCounters shared;
    uint64_t wal_bytes_max = 0;
    cut = RunUntilCut([&] {
      return Work(WithPower(temp, {.seed = fatal_op, .fatal_op = fatal_op}, GetParam()), shared,
                  &wal_bytes_max);
    });
    // Another cut while it recovers and goes on, then the plain disk.
    const uint64_t second = 1 + fatal_op * 7 % 60;
    RunUntilCut([&] {
      return Work(WithPower(temp, {.seed = fatal_op + 1, .fatal_op = second}, GetParam()), shared,
                  &wal_bytes_max);
    });
    EXPECT_FALSE(RunUntilCut([&] { return Verify(temp.config, shared); }));
    if (testing::Test::HasFailure()) return;
    cuts += cut ? 1 : 0;
  }
  EXPECT_GT(cuts, 100u);
}

INSTANTIATE_TEST_SUITE_P(Storage, RotationSweep, testing::Bool(), [](const auto& sweep) {
  return std::string(sweep.param ? "entries_lost" : "entries_durable");
});

TEST(Rotation, KeepsTheLogShort) {
  TempStore temp;
  SharedCounters shared;
  EXPECT_FALSE(RunUntilCut([&] {
    uint64_t wal_bytes_max = 0;
    if (!Work(temp.config, shared, &wal_bytes_max)) return Fail("the work failed");
    // One journal of 3 records of 2,000 bytes; four of them if nothing were let go.
    return wal_bytes_max < 2 * kRecordsPerJournal * 2100 || Fail(std::to_string(wal_bytes_max));
  }));
  EXPECT_EQ(shared->acknowledged.load(), kRotations * kRecordsPerJournal);
  EXPECT_FALSE(RunUntilCut([&] { return Verify(temp.config, shared); }));
}

// Bytes of anonymous memory of this process.
uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return 0;
}

TEST(Memory, AnOpenStoreIsSmall) {
  TempStore temp;
  EXPECT_FALSE(RunUntilCut([&] {
    const uint64_t before = AnonymousBytes();
    auto store = OpenStore(temp.config);
    if (!store.ok()) return Fail(store.status().ToString());
    for (uint64_t i = 1; i <= 8; ++i) {
      if (!CreateFamily(&*store, FamilyKind::kSpill, SpillFamilyName(i))) return Fail("no family");
    }
    const uint64_t used = AnonymousBytes() - before;
    return used < 4 * 1024 * 1024 || Fail(std::to_string(used) + " bytes");
  }));
}

}  // namespace
}  // namespace cistern
