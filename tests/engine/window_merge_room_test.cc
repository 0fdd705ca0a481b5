// Merges of windows near a full disk: made where there is room for a copy, and never copied in
// vain without end where there is not.
#include <filesystem>
#include <string_view>

#include "tests/engine/window_merge_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kDiskBytes = 256 * kMiB;
constexpr uint64_t kCopyBytes = 4 * kMiB;  // more than two windows of the least

int g_windows_made = 0;
void CountWindows(const char* name) {
  if (std::string_view(name) == "seal:before_create") ++g_windows_made;
}

// Windows of 1 to 2 MiB, all but one family taken: a merge is due, and has not begun.
class WindowMergeRoom : public WindowMergeTest {
 protected:
  void SetUp() override {
    disk_->SetDiskBytes(kDiskBytes);
    fs_ = disk_;
    options_.memory_budget_bytes = 16 << 20;  // more may there be: none is merged yet
    OpenWithTable(kPumps);
    while (Windows().size() + 1 < kBound) {
      for (int row = 0; row < 16; ++row) AppendNoise(row);
      LiveDays(1);
    }
    ASSERT_EQ(engine_->GetMetrics().window_merges, 0u);
    options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    Reopen();
    ASSERT_EQ(Windows().size() + 1, kBound);
    g_windows_made = 0;
    g_crash_hook = CountWindows;
  }
  void AppendNoise(int row) {
    std::string noise(64 * 1024, ' ');
    for (char& c : noise) c = static_cast<char>('!' + rng_.Below(90));
    RowBatch batch(schema_);
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "noise").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + day_ * kDayMs + row).ok());
    ASSERT_TRUE(batch.SetBytes(4, noise).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
    ++noise_rows_;
  }
  // Another process takes all but so much.
  void LeaveFree(uint64_t bytes) {
    disk_->SetForeignBytes(kDiskBytes - disk_->used_bytes() - bytes);
  }
  void TickOnce() {
    const auto report = engine_->Tick({.steps_max = 1});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
  }
  // Steps until nothing is due, or so many.
  int TickAtMost(int steps_max) {
    int steps = 0;
    for (bool more = true; more && steps < steps_max; ++steps) {
      const auto report = engine_->Tick({.steps_max = 1});
      EXPECT_TRUE(report.ok()) << report.status().ToString();
      more = report.ok() && report->more_due;
    }
    return steps;
  }
  void ExpectEverything() {
    EXPECT_EQ(ScanEverything(), written_);
    EXPECT_EQ(ScanEverything("noise").size(), noise_rows_);
    ExpectSound();
  }
  // Begins the merge with what it asks for, and takes the room away when some is copied.
  void LoseTheRoomOnTheWay(uint64_t free_bytes) {
    LeaveFree(free_bytes);
    const int made = g_windows_made;
    for (int step = 0; step < 20 && g_windows_made == made; ++step) TickOnce();
    TickOnce();
    ASSERT_EQ(g_windows_made, made + 1) << "it has begun";
    LeaveFree(kMiB);
    TickAtMost(500);
    ASSERT_EQ(engine_->GetMetrics().window_merges, 0u);
  }

  const std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  Rng rng_{1};
  size_t noise_rows_ = 0;
};

TEST_F(WindowMergeRoom, RoomForOneCopyIsEnough) {
  LeaveFree(7 * kMiB + kMiB / 2);  // the oldest two are 2.5 MiB: 4 beside a copy of them, not two
  const uint64_t before = engine_->GetMetrics().sst_bytes_written;
  EXPECT_LT(TickAtMost(1000), 1000);
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.window_merges, 1u);
  EXPECT_EQ(g_windows_made, 1) << "the first try was the last";
  EXPECT_LT(m.sst_bytes_written - before, kCopyBytes + kMiB);
  ExpectEverything();
  ExpectNoRemains();
}

TEST_F(WindowMergeRoom, WhatWasGivenUpBeginsWithTwiceTheRoom) {
  const uint64_t room = kCopyBytes + 6 * kMiB;
  LoseTheRoomOnTheWay(room);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(g_windows_made, 1) << "one try";
  LeaveFree(room);  // as it was
  const uint64_t before = engine_->GetMetrics().sst_bytes_written;
  EXPECT_LT(TickAtMost(1000), 1000) << "nothing to do";
  EXPECT_EQ(g_windows_made, 1);
  EXPECT_LT(engine_->GetMetrics().sst_bytes_written - before, kMiB);
  LoseTheRoomOnTheWay(2 * room);
  LeaveFree(2 * room);
  TickAtMost(1000);
  EXPECT_EQ(g_windows_made, 2) << "and twice as much again";
  LeaveFree(4 * room);
  TickAtMost(1000);
  EXPECT_EQ(engine_->GetMetrics().window_merges, 1u);
  ExpectEverything();
  ExpectNoRemains();
}

TEST_F(WindowMergeRoom, SealingGoesOnWithoutTheMergeThatWasGivenUp) {
  const uint64_t room = kCopyBytes + 6 * kMiB;
  LoseTheRoomOnTheWay(room);
  ASSERT_FALSE(HasFailure());
  LeaveFree(room);
  MustAppend("late", kStartMs - 5 * kDayMs, 1);  // of no window that is there
  SealAll();
  EXPECT_TRUE(HasWindowOfAllTimes());
  const auto windows = engine_->ListWindows();
  ASSERT_TRUE(windows.ok()) << windows.status().ToString();
  const auto old = std::count_if(windows->begin(), windows->end(),
                                 [](const WindowInfo& w) { return w.kind == "old"; });
  EXPECT_EQ(old, 1);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  ExpectEverything();
  // A day later it is tried again with what one try needs.
  clock_->AdvanceSeconds(kDayS);
  LeaveFree(room);
  TickAtMost(1000);
  EXPECT_EQ(engine_->GetMetrics().window_merges, 2u) << "from 8 windows to 6";
  ExpectEverything();
}

}  // namespace
}  // namespace cistern::testing
