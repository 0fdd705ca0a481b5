// The power goes at every single operation of creating a store, and of the opening after.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/storage/temp_store.h"
#include "tests/support/cut_process.h"
#include "tests/support/power_loss_fs.h"

namespace cistern {
namespace {

const std::string kJournal = JournalFamilyName(1);

// Opens, writes synced records, counting those acknowledged.
bool Work(const StoreConfig& config, const SharedCounters& shared) {
  auto store = OpenStore(config);
  if (!store.ok()) return false;
  if (!store->families.contains(kJournal)) {
    if (!store->db
             ->CreateColumnFamily(store->FamilyOptions(FamilyKind::kJournal), kJournal,
                                  &store->families[kJournal])
             .ok()) {
      return false;
    }
  }
  rocksdb::WriteOptions synced;
  synced.sync = true;
  for (uint64_t i = 1; i <= 5; ++i) {
    if (!store->db->Put(synced, store->families[kJournal], std::to_string(i), "v").ok()) {
      return false;
    }
    shared->acknowledged.store(i);
    if (!store->beacon->Write(i).ok()) return false;
  }
  return store->Close().ok();
}

// The next start meets the plain disk. A child looks as well: threads of a store that its parent
// had opened could have a lock while the next child is forked, which would then wait for ever.
bool IsHealed(const StoreConfig& config, const SharedCounters& shared) {
  auto store = OpenStore(config);
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  if (!store.ok()) return false;
  const uint64_t acknowledged = shared->acknowledged.load();
  EXPECT_TRUE(acknowledged == 0 || !store->created);
  for (uint64_t i = 1; i <= acknowledged; ++i) {
    std::string value;
    EXPECT_TRUE(store->db->Get({}, store->families[kJournal], std::to_string(i), &value).ok())
        << "record " << i << " of " << acknowledged;
  }
  EXPECT_LE(store->beacon->sequence(), acknowledged);
  EXPECT_TRUE(store->recovery.clean) << store->recovery.notes.front();
  return !testing::Test::HasFailure();
}

struct SweepCase {
  const char* name;
  bool lose_entries;
};

class CreationSweep : public testing::TestWithParam<SweepCase> {};

TEST_P(CreationSweep, EveryCutHealsAndLosesNothingAcknowledged) {
  uint64_t cuts = 0;
  for (uint64_t fatal_op = 1;; ++fatal_op) {
    TempStore temp;
    temp.config.directory = temp.root() + "/deep/er/store";
    SharedCounters shared;
    const bool cut = RunUntilCut([&] {
      PowerLossPlan plan{.seed = fatal_op, .fatal_op = fatal_op};
      if (GetParam().lose_entries) {
        plan.shadow_directory = temp.root() + "/shadow";
        std::filesystem::create_directory(plan.shadow_directory);
      }
      StoreConfig config = temp.config;
      config.base_fs = std::make_shared<PowerLossFileSystem>(plan);
      return Work(config, shared);
    });
    EXPECT_FALSE(RunUntilCut([&] { return IsHealed(temp.config, shared); }))
        << "cut at " << fatal_op;
    if (testing::Test::HasFailure()) return;
    if (!cut) break;
    ++cuts;
  }
  EXPECT_GT(cuts, 40u);
}

INSTANTIATE_TEST_SUITE_P(Storage, CreationSweep,
                         testing::Values(SweepCase{"entries_durable", false},
                                         SweepCase{"entries_lost", true}),
                         [](const auto& sweep) { return std::string(sweep.param.name); });

}  // namespace
}  // namespace cistern
