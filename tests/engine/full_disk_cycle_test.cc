// A disk full of rows becomes empty again by what the store does itself: it seals, sends, has
// confirmed and drops, a little at a time, and nothing fails on the way.
#include <rocksdb/db.h>

#include "lib/base/coding.h"
#include "lib/base/crash_point.h"
#include "storage/meta_merge.h"
#include "storage/store_opener.h"
#include "tests/engine/disk_cycle_fixture.h"
#include "tests/support/small_disk.h"

namespace cistern::testing {
namespace {

// What happens when the round behind the first one begins to write.
std::function<void()> g_at_round;
bool g_first_is_written = false;
void AtPoint(const char* name) {
  const std::string_view point = name;
  if (point == "spill:before_pages" && g_first_is_written && g_at_round) g_at_round();
  if (point == "seal:before_read_back") g_first_is_written = true;
}

class FullDiskCycleTest : public FullDiskFixture {
 protected:
  void TearDown() override {
    g_crash_hook = nullptr;
    g_at_round = nullptr;
    g_first_is_written = false;
    FullDiskFixture::TearDown();
  }
  // Files in `meta` that a merge would copy whole: manifests of a window that is none, which
  // nobody reads. Closes the engine.
  void FattenCatalog(int files, size_t file_bytes) {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    StoreConfig config;
    config.directory = directory();
    config.base_fs = fs_;
    config.clock = clock_;
    auto store = OpenStore(config);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    rocksdb::ColumnFamilyHandle* meta = store->families.at("meta");
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    for (int i = 0; i < files; ++i) {
      const std::string key = "M" + std::string(8, '\xee') + std::to_string(i);
      std::string noise;
      while (noise.size() < file_bytes) PutBig<uint64_t>(&noise, random_.Next());
      ASSERT_TRUE(store->db->Put(unlogged, meta, key, noise).ok());
      ASSERT_TRUE(store->db->Flush({}, meta).ok());
    }
    ASSERT_TRUE(store->Close().ok());
  }
  // Beside a catalog of 6 MB: one run of 6 MB, which needs 14 MB to be sealed.
  void HaveLargeRun() {
    options_.memory_budget_bytes = size_t{256} << 20;
    options_.disk_shed = DiskShed::kNothing;
    Reopen();
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("a").ok());
    Rotate();
    ASSERT_NO_FATAL_FAILURE(FattenCatalog(12, 500'000));
    Open();
  }
  [[nodiscard]] int CatalogFiles() {
    rocksdb::ColumnFamilyMetaData files;
    Store& store = Core()->store();
    store.db().db()->GetColumnFamilyMetaData(store.spills().view()->meta->handle(), &files);
    return static_cast<int>(files.file_count);
  }
};

TEST_F(FullDiskCycleTest, OfManyBucketsWithTwoMegabytesAndAHalfFree) {
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(AppendWide("abcdefghij").ok());
  TickAll();
  LeaveFree(2'500'000);
  Drain();
  EXPECT_GT(engine_->GetMetrics().versions_shed, 0u) << "room for new rows";
  EXPECT_TRUE(AppendWide("a").ok());
}

TEST_F(FullDiskCycleTest, OfOneBucketThatIsLargerThanTheRoom) {
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(AppendWide("a").ok());
  TickAll();
  LeaveFree(2'500'000);
  Drain();
  EXPECT_TRUE(AppendWide("a").ok());
}

TEST_F(FullDiskCycleTest, WithNothingFreeButTheBallast) {
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  TickAll();
  ASSERT_TRUE(Core()->store().ballast_held());
  LeaveFree(0);
  Drain();
}

// Merges were let while there was room: a seal does not wait for theirs.
TEST_F(FullDiskCycleTest, OfACatalogThatMayBeMerged) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  TickAll();
  ASSERT_NO_FATAL_FAILURE(FattenCatalog(12, 1'000'000));
  Open();
  ASSERT_NO_FATAL_FAILURE(TickAll());
  LetCompactionsEnd();
  ASSERT_TRUE(MetaMergesAllowed(Core()->store()));
  LeaveFree(2'500'000);
  Drain();
  EXPECT_FALSE(MetaMergesAllowed(Core()->store()));
}

// The smallest round has room beside a merge, and this run has not.
TEST_F(FullDiskCycleTest, OfARunThatHasNoRoomBesideAMergeOfTheCatalog) {
  ASSERT_NO_FATAL_FAILURE(HaveLargeRun());
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_TRUE(MetaMergesAllowed(Core()->store()));
  LeaveFree(11'000'000);
  Drain();
  EXPECT_FALSE(MetaMergesAllowed(Core()->store()));
}

TEST_F(FullDiskCycleTest, ARunThatHasNoRoomBesideAMergeOfTheCatalogIsSealedByHand) {
  options_.seal_when_due = false;
  ASSERT_NO_FATAL_FAILURE(HaveLargeRun());
  ASSERT_TRUE(MetaMergesAllowed(Core()->store()));
  LeaveFree(11'000'000);
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->stopped.ok()) << report->stopped.ToString();
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
}

// What is still in the head is rotated first, and that needs room as well. A look that has just
// been is not waited for: whoever seals by hand may do so once.
TEST_F(FullDiskCycleTest, OfAHeadThatHasNoRoomBesideAMergeOfTheCatalog) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  TickAll();
  ASSERT_NO_FATAL_FAILURE(FattenCatalog(12, 1'000'000));
  options_.seal_when_due = false;
  Open();
  ASSERT_NO_FATAL_FAILURE(TickAll());
  LetCompactionsEnd();
  ASSERT_TRUE(MetaMergesAllowed(Core()->store()));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  clock_->AdvanceSeconds(2);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_TRUE(Core()->store().ballast_held());
  LeaveFree(0);  // to forbid merges takes a record of the MANIFEST, and that takes of the ballast
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->stopped.ok()) << report->stopped.ToString();
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  EXPECT_FALSE(MetaMergesAllowed(Core()->store()));
  EXPECT_EQ(faults_->refused(), 0u) << "RocksDB met the full disk itself";
}

// It was frozen before its buckets were due, and the source has fallen silent: nothing else is
// there to be sealed, for which merges would be forbidden.
TEST_F(FullDiskCycleTest, OfAFrozenHeadThatIsDueLater) {
  ASSERT_NO_FATAL_FAILURE(FattenCatalog(12, 1'000'000));
  Open();
  ASSERT_NO_FATAL_FAILURE(TickAll());
  LetCompactionsEnd();
  ASSERT_TRUE(MetaMergesAllowed(Core()->store()));
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(35'000'000);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  ASSERT_TRUE(Core()->committer().Freeze());
  LeaveFree(4'000'000);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  ASSERT_NE(Core()->heads().frozen_head(), nullptr) << "it has room beside a merge";
  Drain();
  EXPECT_FALSE(MetaMergesAllowed(Core()->store()));
}

// Nobody ticks beside them, as in a process that opens a store, or seals, and ends.
TEST_F(FullDiskCycleTest, ACatalogIsMergedBehindOpeningsAndSealsByHand) {
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(AppendWide("abc").ok());
    const auto report = engine_->Seal({.due_only = false});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
  }
  EXPECT_TRUE(MetaMergesAllowed(Core()->store()));
  Reopen();
  ASSERT_FALSE(MetaMergesAllowed(Core()->store())) << "they were merged";
  // Each seal leaves a file, and no rotation is asked for.
  const std::string_view sensors = "abcdefgh";
  ASSERT_TRUE(AppendWide(sensors).ok());
  Rotate();
  clock_->AdvanceSeconds(3 * 86'400);
  for (const char sensor : sensors) {
    ASSERT_FALSE(MetaMergesAllowed(Core()->store())) << sensor;
    const auto report = engine_->Seal({.table = "pumps", .entity = Entity(std::string(1, sensor))});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->buckets, 1u);
    if (MetaMergesAllowed(Core()->store())) break;
  }
  EXPECT_TRUE(MetaMergesAllowed(Core()->store()));
  ASSERT_NO_FATAL_FAILURE(FattenCatalog(8, 1000));
  Open();
  EXPECT_TRUE(MetaMergesAllowed(Core()->store()));
}

// RocksDB would begin a merge with the opening, and again with each one that follows it.
TEST_F(FullDiskCycleTest, AMergeOfTheCatalogWaitsForItsRoom) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  TickAll();
  constexpr int kFiles = 12;
  ASSERT_NO_FATAL_FAILURE(FattenCatalog(kFiles, 1'000'000));
  LeaveFree(2'500'000);
  Open();
  Drain();
  EXPECT_GE(CatalogFiles(), kFiles);
  faults_->SetForeignBytes(0);
  clock_->AdvanceSeconds(60);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  LetCompactionsEnd();
  EXPECT_LT(CatalogFiles(), 8);
  EXPECT_TRUE(AppendWide("a").ok());
}

TEST_F(FullDiskCycleTest, OfADiskThatRowsHaveFilled) {
  EXPECT_EQ(FillUp("abcdef").code(), StatusCode::kNoSpace);
  Drain();
  EXPECT_TRUE(AppendWide("a").ok());
}

TEST_F(FullDiskCycleTest, OfADiskBudgetThatRowsHaveFilled) {
  faults_->SetDiskBytes(0);
  options_.disk_budget_bytes = limits::kDiskBudgetBytesMin;
  for (const char* sensors : {"a", "abcdefgh"}) {
    for (const size_t memory_bytes : {size_t{8} << 20, limits::kMemoryBudgetBytesDefault}) {
      options_.memory_budget_bytes = memory_bytes;
      Reopen();
      ts_ = clock_->WallMicros() / 1000;
      EXPECT_EQ(FillUp(sensors).code(), StatusCode::kNoSpace);
      EXPECT_GT(engine_->GetMetrics().disk_bytes_used, limits::kDiskBudgetBytesMin / 2);
      ASSERT_NO_FATAL_FAILURE(Drain()) << sensors << ", " << memory_bytes;
      EXPECT_TRUE(AppendWide("a").ok());
    }
  }
}

TEST_F(FullDiskCycleTest, SixtyPercentOfASmallBudgetAreSealedAtOnce) {
  faults_->SetDiskBytes(0);
  options_.disk_budget_bytes = limits::kDiskBudgetBytesMin;
  options_.seal_when_due = false;
  Reopen();
  while (engine_->GetMetrics().disk_bytes_used < limits::kDiskBudgetBytesMin / 100 * 60) {
    ASSERT_TRUE(AppendWide("a").ok());
    TickAll();
  }
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GT(report->buckets, 1u) << "in pieces";
  ConfirmAll();
  TickAll();
  EXPECT_TRUE(AppendWide("a").ok());
  ExpectSound();
}

// Pieces and what came between them are read as one.
TEST_F(FullDiskCycleTest, ABucketInPiecesHasEveryRowOnce) {
  options_.disk_shed = DiskShed::kNothing;
  Reopen();
  std::vector<int64_t> times;
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(AppendWide("a").ok());
  for (int64_t t = kStartMs + 1; t <= ts_; ++t) times.push_back(t);
  const auto deleted = engine_->DeleteRange("pumps", Entity("a"), {kStartMs + 5, kStartMs + 10});
  ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  times.erase(times.begin() + 4, times.begin() + 9);
  ++taken_;
  TickAll();
  LeaveFree(4 << 20);
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GT(report->amendments, 0u);
  const auto expect_all = [&] {
    const Rows rows = ScanAll("a");
    ASSERT_EQ(rows.size(), times.size());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].first, times[i]);
  };
  expect_all();
  faults_->SetForeignBytes(0);
  Reopen();
  expect_all();
  EXPECT_EQ(engine_->Seal({.due_only = false})->problems.size(), 0u);
  expect_all();
  ExpectSound();
}

TEST_F(FullDiskCycleTest, WhatWasSealedBeforeTheDiskWasFullIsReported) {
  options_.seal_when_due = false;
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesDefault;
  Reopen();
  // Two rounds, each of which is held in memory until its flush.
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(AppendWide("abcdefghijklmnopqrst").ok());
  g_at_round = [&] { faults_->SetForeignBytes(kDiskBytes); };
  g_crash_hook = AtPoint;
  const auto report = engine_->Seal({.due_only = false});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->stopped.code(), StatusCode::kNoSpace) << report->stopped.ToString();
  EXPECT_GT(report->buckets, 0u);
  EXPECT_GT(report->bytes, 0u);
  g_at_round = nullptr;
  faults_->SetForeignBytes(0);
  const auto rest = engine_->Seal({.due_only = false});
  ASSERT_TRUE(rest.ok() && rest->stopped.ok());
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
}

// Rows do not take what the ballast is to have again.
TEST_F(FullDiskCycleTest, RowsLeaveTheBallastItsRoom) {
  constexpr uint64_t kFree = 6 << 20;
  LeaveFree(kFree);
  ASSERT_TRUE(AppendWide("a").ok()) << "with the ballast in its place";
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(kFree);
  Status s;
  for (int i = 0; i < 5 && s.ok(); ++i) s = AppendWide("a");
  EXPECT_EQ(s.code(), StatusCode::kNoSpace);
}

TEST_F(FullDiskCycleTest, InRoundsAsSmallAsTheRoomThatIsLeft) {
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesDefault;
  Reopen();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(AppendWide("abcdefghijklmnopqrst").ok());
  Rotate();
  ASSERT_NO_FATAL_FAILURE(GiveUpBallast());
  LeaveFree(4 << 20);
  Drain();
  clock_->AdvanceSeconds(60);
  ASSERT_NO_FATAL_FAILURE(TickAll());
  EXPECT_TRUE(AppendWide("a").ok()) << "windows go until rows find room";
  EXPECT_TRUE(Core()->store().ballast_held());
}

// The same on a disk that is really full.
class RealDiskCycleTest : public DiskCycleFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.mounted()) << "mounts a tmpfs: run as root, or where users have namespaces";
    directory_ = disk_.path() + "/store";
    DiskCycleFixture::SetUp();
  }
  void TearDown() override {
    engine_.reset();  // before its disk is gone
    DiskCycleFixture::TearDown();
  }
  TempDir root_{"cistern-cycle"};
  const SmallDisk disk_{root_.path() + "/disk", "size=64m"};
};

TEST_F(RealDiskCycleTest, OfManyBucketsWithTwoMegabytesAndAHalfFree) {
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(AppendWide("abcdefghij").ok());
  TickAll();
  disk_.FillBut(2'500'000);
  Drain();
  EXPECT_TRUE(AppendWide("a").ok());
}

TEST_F(RealDiskCycleTest, WithNothingFreeButTheBallast) {
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(AppendWide("abc").ok());
  TickAll();
  ASSERT_TRUE(Core()->store().ballast_held());
  disk_.Fill();
  Drain();
}

TEST_F(RealDiskCycleTest, OfADiskThatRowsHaveFilled) {
  for (const char* sensors : {"a", "abcdef"}) {
    ts_ = clock_->WallMicros() / 1000;
    EXPECT_EQ(FillUp(sensors).code(), StatusCode::kNoSpace);
    ASSERT_NO_FATAL_FAILURE(Drain()) << sensors;
    EXPECT_TRUE(AppendWide("a").ok());
  }
}

}  // namespace
}  // namespace cistern::testing
