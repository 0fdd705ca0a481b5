// How much memory the journal's rows and records take: when they are replayed, and after it.
#include <rocksdb/db.h>

#include <thread>

#include "lib/base/crash_point.h"
#include "storage/store.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/fault_fs.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kDiskBytes = 256ull << 20;
// Of options_.memory_budget_bytes, what the heads may have together: HeadLimitsFor().
constexpr uint64_t kHeadBytes = 10ull << 20;

class JournalRoomTest : public EngineFixture {
 protected:
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    faults_->SetDiskBytes(kDiskBytes);
    fs_ = faults_;
    EngineFixture::SetUp();
  }
  void AppendRows(int rows) {
    RowBatch batch(schema_);
    for (int i = 0; i < rows; ++i) AddRow(&batch, "a", ++ts_, 1);
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  // Texts that nothing makes shorter.
  void AppendNoise() {
    RowBatch batch(schema_);
    for (int i = 0; i < 20; ++i) {
      std::string noise(1000, ' ');
      for (char& c : noise) c = static_cast<char>('!' + random_.Below(90));
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, "a").ok());
      ASSERT_TRUE(batch.SetInt(2, ++ts_).ok());
      ASSERT_TRUE(batch.SetBytes(4, noise).ok());
      ASSERT_TRUE(batch.EndRow().ok());
    }
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  uint64_t HeadBytes() {
    const HeadSet& heads = Core()->heads();
    return heads.active->memory_bytes() + (heads.frozen ? heads.frozen->memory_bytes() : 0);
  }
  uint64_t MemtableBytes() {
    uint64_t bytes = 0;
    EXPECT_TRUE(Core()->store().db().db()->GetAggregatedIntProperty(
        "rocksdb.cur-size-all-mem-tables", &bytes));
    return bytes;
  }
  bool has_frozen() { return Core()->heads().frozen != nullptr; }

  std::shared_ptr<FaultFileSystem> faults_;
  Rng random_{7};
  int64_t ts_ = kStartMs;
};

rocksdb::DB* g_stalled = nullptr;  // goes on when the journal is written
std::thread* g_flush = nullptr;    // by this one

// RocksDB lets nobody write while two memtables of a family wait for their flush, which pages of
// half a megabyte are enough for. That is no failure of the store.
TEST_F(JournalRoomTest, AppendsWaitForAFlushThatGoesOn) {
  rocksdb::DB* const db = Core()->store().db().db();
  const Result<FamilyPtr> family = Core()->store().CreateSpill(UINT32_MAX);
  ASSERT_TRUE(family.ok()) << family.status().ToString();
  ASSERT_TRUE(db->PauseBackgroundWork().ok());
  rocksdb::WriteOptions pages;
  pages.disableWAL = true;
  pages.no_slowdown = true;
  rocksdb::Status s;
  for (int i = 0; i < 1000 && s.ok(); ++i) {
    s = db->Put(pages, (*family)->handle(), std::to_string(i), std::string(500'000, 'x'));
  }
  ASSERT_TRUE(s.IsIncomplete()) << s.ToString();
  g_stalled = db;
  std::thread flush;
  g_flush = &flush;
  g_crash_hook = [](const char* name) {
    if (std::string_view(name) != "journal:before_append" || g_flush->joinable()) return;
    *g_flush = std::thread([] { EXPECT_TRUE(g_stalled->ContinueBackgroundWork().ok()); });
  };
  const Status appended = Append("a", kStartMs, 1);
  g_crash_hook = nullptr;
  ASSERT_TRUE(flush.joinable());
  flush.join();
  EXPECT_TRUE(appended.ok()) << appended.ToString();
  EXPECT_TRUE(Core()->committer().failure().ok());
}

TEST_F(JournalRoomTest, AStoreThatWasClosedOpensForReadingAlone) {
  while (!has_frozen()) AppendRows(200);
  const uint64_t frozen_at = HeadBytes();
  engine_.reset();
  directory_ = temp_.path() + "/other";
  Open();
  ASSERT_TRUE(engine_->CreateTable(kPumps).ok());
  schema_ = engine_->ListTables().front();
  while (HeadBytes() < frozen_at - (frozen_at >> 6)) AppendRows(200);
  ASSERT_FALSE(has_frozen());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.read_only = true;
  Open();
  EXPECT_EQ(ScanAll("a").back().first, ts_);
}

TEST_F(JournalRoomTest, BothGenerationsOpenForReadingAloneAndOnAFullDisk) {
  while (!has_frozen()) AppendRows(200);
  const uint64_t frozen_at = HeadBytes();
  while (HeadBytes() < frozen_at + kHeadBytes / 8) AppendRows(200);
  ASSERT_TRUE(has_frozen());
  const std::string copy = CopyStore();
  faults_->SetForeignBytes(kDiskBytes - faults_->used_bytes() - (1 << 20));
  engine_.reset();
  directory_ = copy;
  Open();
  EXPECT_EQ(ScanAll("a").back().first, ts_);
  engine_.reset();
  options_.read_only = true;
  Open();
  EXPECT_EQ(ScanAll("a").back().first, ts_);
}

// As many as a generation takes: it is frozen, and the next one has rows.
TEST_F(JournalRoomTest, ManyDeletesOpenForReadingAlone) {
  MustAppend("a", kStartMs, 1);
  for (int64_t i = 0; !has_frozen(); ++i) {
    const TimeRange one{kStartMs + 2 * i + 1, kStartMs + 2 * i + 2};
    ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), one, {Durability::kLog}).ok()) << i;
  }
  for (int i = 0; i < 10; ++i) MustAppend("a", kStartMs + 2 * i, 2);
  const std::string copy = CopyStore();
  engine_.reset();
  directory_ = copy;
  options_.read_only = true;
  Open();
  EXPECT_EQ(ScanAll("a").size(), 10u);
}

// A crash before the journal was dropped, and an opening with a smaller budget: what it holds is in
// segments, and more than a generation may have.
TEST_F(JournalRoomTest, RecordsThatAreInSegmentsKeepNoRowsOut) {
  engine_.reset();
  directory_ = temp_.path() + "/large";
  options_.memory_budget_bytes = 64 << 20;
  OpenWithTable(kPumps);
  while (Core()->store().journal().active_bytes() < kHeadBytes) AppendNoise();
  ASSERT_TRUE(Core()->committer().Freeze());
  while (has_frozen()) ASSERT_TRUE(engine_->Tick({1}).ok());
  ASSERT_TRUE(Core()->store().journal().has_frozen());
  options_.memory_budget_bytes = 16 << 20;
  Crash();
  ASSERT_EQ(Core()->heads().active->version_count(), 0u);
  ASSERT_GE(Core()->store().journal().active_bytes(), kHeadBytes);
  for (int i = 0; i < 3; ++i) {
    const Status taken = Append("b", kStartMs + i, 1, {Durability::kLog, BackPressure::kBusy});
    ASSERT_TRUE(taken.ok()) << taken.ToString();
    Rotate();
  }
  EXPECT_LT(Core()->store().journal().active_bytes(), 64u << 10);
  EXPECT_EQ(ScanAll("b").size(), 3u);
}

TEST_F(JournalRoomTest, ReplayedRecordsCountUntilTheyAreInSegments) {
  const uint64_t limit = kHeadBytes / 4 * 3 + (256 << 10);
  while (HeadBytes() < kHeadBytes / 3) AppendNoise();
  Reopen();
  uint64_t most = 0;
  for (; !has_frozen(); AppendNoise()) most = std::max(most, HeadBytes() + MemtableBytes());
  EXPECT_LE(most, limit);
  EXPECT_GT(most, limit / 4 * 3) << "they count twice";
  Rotate();
  AppendNoise();
  EXPECT_LT(Core()->store().journal().active_bytes(), 64u << 10);
}

}  // namespace
}  // namespace cistern::testing
