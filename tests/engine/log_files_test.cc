// RocksDB's write-ahead logs: each opening for writing adds one, and they stay few.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int kOpenings = 100;
constexpr size_t kLogsMax = 9;  // what an opening leaves alone, with its own

class LogFilesTest : public EngineFixture {
 protected:
  [[nodiscard]] size_t CountLogs() const {
    const std::filesystem::directory_iterator files(directory());
    return static_cast<size_t>(std::count_if(begin(files), end(files), [](const auto& file) {
      return file.path().extension() == ".log";
    }));
  }
  // Those that stay: RocksDB removes files in a thread of its own, behind the flush that has
  // made them needless.
  [[nodiscard]] size_t CountLogsThatStay() const {
    size_t logs = CountLogs();
    for (int pause = 0; pause < 500 && logs > kLogsMax; ++pause, logs = CountLogs()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return logs;
  }
  // Few logs stay behind each of many openings that write nothing.
  void OpenOften() {
    for (int i = 0; i < kOpenings; ++i) {
      Reopen();
      ASSERT_LE(CountLogsThatStay(), kLogsMax) << "opening " << i;
    }
  }
};

TEST_F(LogFilesTest, OpeningsThatWriteNothingLeaveFewLogs) {
  OpenOften();
  EXPECT_EQ(engine_->GetMetrics().rotations, 0u);
  ExpectSound();
}

TEST_F(LogFilesTest, RowsInTheJournalBecomeSegmentsRatherThanHoldLogs) {
  for (int i = 0; i < 3; ++i) MustAppend("a", kStartMs + i, i);
  OpenOften();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 0}, {kStartMs + 1, 1}, {kStartMs + 2, 2}}));
  EXPECT_EQ(engine_->Recovery().records_replayed, 0u);
  ExpectSound();
}

TEST_F(LogFilesTest, OpeningsThatEachWriteARowLeaveFewLogs) {
  for (int i = 0; i < kOpenings; ++i) {
    MustAppend("a", kStartMs + i, i);
    Reopen();
    ASSERT_LE(CountLogsThatStay(), kLogsMax) << "opening " << i;
  }
  EXPECT_EQ(ScanAll("a").size(), static_cast<size_t>(kOpenings));
  ExpectSound();
}

// Below the bound an opening writes what logs have of meta, and no segment. A reader writes no
// file.
TEST_F(LogFilesTest, FewLogsAreLeftAloneAndReadersLeaveAll) {
  MustAppend("a", kStartMs, 1);
  while (CountLogs() < kLogsMax - 1) {
    Reopen();
    ASSERT_LE(engine_->GetMetrics().sst_bytes_written, 2048u);
    ASSERT_EQ(engine_->GetMetrics().rotations, 0u);
  }
  ASSERT_TRUE(engine_->Close().ok());
  EngineOptions reader = options_;
  reader.read_only = true;
  const size_t logs = CountLogs();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(TryOpen(reader).ok());
    ASSERT_EQ(CountLogs(), logs);
  }
}

// On a full disk they stay, nothing fails, and space heals it.
TEST_F(LogFilesTest, AFullDiskLeavesThemToALaterOpening) {
  constexpr uint64_t kDiskBytes = 64 << 20;
  const auto faults = std::make_shared<FaultFileSystem>();
  faults->SetDiskBytes(kDiskBytes);
  ASSERT_TRUE(engine_->Close().ok());
  fs_ = faults;
  directory_ = std::filesystem::path(temp_.path()) / "full";
  OpenWithTable(kPumps);
  MustAppend("a", kStartMs, 1);
  for (int i = 0; i < 20; ++i) {
    // What an opening gives back of the store's reserve is taken too.
    faults->SetForeignBytes(kDiskBytes - faults->used_bytes() - (1 << 20));
    Reopen();
  }
  EXPECT_GT(CountLogs(), kLogsMax);
  EXPECT_EQ(faults->injected(), 0u);
  EXPECT_TRUE(Core()->committer().failure().ok());
  faults->SetForeignBytes(0);
  Reopen();
  EXPECT_LE(CountLogsThatStay(), kLogsMax);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

// The machine stops behind any opening: every row is there once.
TEST_F(LogFilesTest, ACrashBehindAnyOpeningLosesNothing) {
  for (int i = 0; i < 30; ++i) {
    MustAppend("a", kStartMs + i, i);
    Crash();
    ASSERT_FALSE(engine_->Recovery().recovered_with_loss) << i;
    ASSERT_EQ(ScanAll("a").size(), static_cast<size_t>(i) + 1);
    ASSERT_LE(CountLogsThatStay(), kLogsMax);
  }
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
