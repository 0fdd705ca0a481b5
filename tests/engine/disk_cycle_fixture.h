// What tests of full disks share: rows that do not compress, and a store that drains itself by what
// it seals, has confirmed and drops.
#ifndef CISTERN_TESTS_ENGINE_DISK_CYCLE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_DISK_CYCLE_FIXTURE_H_

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/outbox.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {

class DiskCycleFixture : public EngineFixture {
 protected:
  static constexpr uint64_t kDiskBytes = 64 << 20;
  static constexpr int kRoundsMax = 400;  // of sealing, confirming and dropping

  DiskCycleFixture() { options_.memory_budget_bytes = 8 << 20; }
  // About 100 KB of rows that hardly compress, or as many rows of that width.
  RowBatch WideBatch(std::string_view sensors, int rows) {
    RowBatch batch(schema_);
    for (int i = 0; i < rows; ++i) {
      batch.BeginRow();
      std::string noise(1000, ' ');
      for (char& c : noise) c = static_cast<char>('!' + random_.Below(90));
      EXPECT_TRUE(batch.SetBytes(0, std::string(1, sensors[i % sensors.size()])).ok());
      EXPECT_TRUE(batch.SetInt(2, ++ts_).ok() && batch.SetBytes(4, noise).ok());
      EXPECT_TRUE(batch.EndRow().ok());
    }
    return batch;
  }
  Status AppendWide(std::string_view sensors, int rows = 100) {
    const RowBatch batch = WideBatch(sensors, rows);
    const auto written = engine_->Append(batch, {Durability::kLog});
    if (written.ok()) taken_ += batch.row_count();
    return written.status();
  }
  // Gives the refusal.
  Status FillUp(std::string_view sensors) {
    Status s;
    for (int n = 0; n < 2000 && s.ok(); ++n) {
      s = AppendWide(sensors);
      // A refused writer tries again once the head is in segments.
      for (int again = 0; again < 3 && !s.ok(); ++again) {
        TickAll();
        s = AppendWide(sensors);
      }
      if (n % 10 == 0) TickAll();
    }
    return s;
  }
  // What RocksDB merges takes room until its compaction has ended.
  void LetCompactionsEnd() {
    rocksdb::DB* db = Core()->store().db().db();
    EXPECT_TRUE(db->PauseBackgroundWork().ok() && db->ContinueBackgroundWork().ok());
  }
  // As upstream does.
  void ConfirmAll() {
    LetCompactionsEnd();
    std::vector<SealName> names;
    const auto view = Core()->store().spills().view();
    for (const auto& window : view->windows) {
      OutboxWalker walker(view, window->id);
      for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
        names.push_back(**entry);
      }
    }
    const Status s = TryConfirm(names);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // Everything is over, is sealed as far as there is room, confirmed, and dropped: until nothing is
  // left to send.
  void Drain() {
    clock_->AdvanceSeconds(3 * 86'400);
    int rounds = 0;
    for (; rounds < kRoundsMax; ++rounds) {
      clock_->AdvanceSeconds(60);
      ASSERT_NO_FATAL_FAILURE(TickAll());
      ASSERT_NO_FATAL_FAILURE(ConfirmAll());
      const Metrics m = engine_->GetMetrics();
      if (m.versions_open == 0 && m.versions_waiting == 0) break;
    }
    EXPECT_LT(rounds, kRoundsMax) << engine_->GetMetrics().versions_open << " open still";
    ASSERT_NO_FATAL_FAILURE(TickAll());
    EXPECT_TRUE(Core()->committer().failure().ok());
    EXPECT_EQ(engine_->GetMetrics().versions_written, taken_);
    ExpectSound();
  }

  Rng random_{5};
  int64_t ts_ = kStartMs;
  uint64_t taken_ = 0;
};

// Over a file system that counts what is written, and refuses what is too much.
class FullDiskFixture : public DiskCycleFixture {
 protected:
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    faults_->SetDiskBytes(kDiskBytes);
    fs_ = faults_;
    DiskCycleFixture::SetUp();
  }
  // Another process takes all but `bytes` of what is free, when RocksDB has ended the compactions
  // that it had room for.
  void LeaveFree(uint64_t bytes) {
    if (engine_ != nullptr) LetCompactionsEnd();
    faults_->SetForeignBytes(kDiskBytes - faults_->used_bytes() - bytes);
  }
  // What the store held back for what frees a disk is gone.
  void GiveUpBallast() {
    LeaveFree(0);
    ASSERT_TRUE(Core()->store().MakeDeviceRoom(1 << 20).ok());
    ASSERT_FALSE(Core()->store().ballast_held());
  }
  [[nodiscard]] uint64_t FreeBytes() const {
    uint64_t bytes = 0;
    EXPECT_TRUE(faults_->GetFreeSpace(directory(), {}, &bytes, nullptr).ok());
    return bytes;
  }
  void Drain() {
    DiskCycleFixture::Drain();
    EXPECT_EQ(faults_->refused(), 0u) << "RocksDB met the full disk itself";
  }
  std::shared_ptr<FaultFileSystem> faults_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_DISK_CYCLE_FIXTURE_H_
