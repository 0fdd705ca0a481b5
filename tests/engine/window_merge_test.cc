// Windows at their bound: neighbours become one, nothing is lost by it, nobody sees it.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "storage/seal_reader.h"
#include "storage/window_copy.h"
#include "tests/engine/window_merge_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

TEST_F(WindowMergeTest, WindowsStayWithinTheirBoundAndNobodySeesIt) {
  LiveDays(10);
  const auto seals = Seals();
  ASSERT_EQ(engine_->GetMetrics().window_merges, 0u);
  LiveDays(40);
  const Metrics m = engine_->GetMetrics();
  EXPECT_GE(m.window_merges, 15u);
  EXPECT_GT(m.window_merge_bytes, 0u);
  EXPECT_EQ(m.windows_dropped, 0u) << "none has ended";
  EXPECT_FALSE(HasWindowOfAllTimes());
  EXPECT_EQ(ScanEverything(), written_);
  EXPECT_EQ(m.versions_sealed, written_.size());
  const auto later = Seals();
  for (const auto& [bucket, seal] : seals) EXPECT_EQ(later.at(bucket), seal) << bucket;
  ExpectSound();
  TickAll();
  ExpectNoRemains();
  Crash();
  EXPECT_EQ(ScanEverything(), written_);
  EXPECT_EQ(Seals(), later);
  ExpectSound();
  ExpectNoRemains();
}

TEST_F(WindowMergeTest, WindowsAreTheWiderTheOlderTheyAre) {
  LiveDays(90);
  TickAll();
  const int64_t now_s = clock_->WallMicros() / 1'000'000;
  for (const auto& window : Windows()) {
    const WindowSpan& span = window->record.span;
    EXPECT_LE(span.end_s - span.start_s, std::max(4 * kDayS, now_s - span.start_s));
  }
  EXPECT_EQ(ScanEverything(), written_);
}

TEST_F(WindowMergeTest, LateRowsAmendABucketInAMergedWindow) {
  LiveDays(40);
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  MustAppend("a", kStartMs + kDayMs + 7, 77);
  MustAppend("b", kStartMs + kDayMs + 7, 78);  // a bucket that was not there
  const size_t before = Windows().size();
  SealAll();
  EXPECT_EQ(engine_->GetMetrics().amendments, 1u);
  EXPECT_LE(Windows().size(), before) << "both found the window of their time";
  EXPECT_EQ(Scan("a", kStartMs + kDayMs + 7, kStartMs + kDayMs + 8),
            (Rows{{kStartMs + kDayMs + 7, 77}}));
  EXPECT_EQ(ScanEverything("b").size(), 1u);
  ExpectSound();
  LiveDays(20);
  EXPECT_EQ(ScanEverything().size(), written_.size() + 1);
  ExpectSound();
}

// A copy of all windows there are, which is not to be committed.
class WindowCopyTest : public WindowMergeTest {
 protected:
  void SetUp() override {
    WindowMergeTest::SetUp();
    Rng rng(1);
    for (int64_t ms = 0; ms < 128'000;) {
      RowBatch batch(schema_);
      for (int i = 0; i < 1000; ++i, ++ms) {
        AddRow(&batch, "large", kStartMs + ms, static_cast<double>(rng.Next()) / 7);
      }
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    LiveDays(4);
    Store& store = Core()->store();
    WindowMerge merge;
    merge.sources = Windows();
    ASSERT_GE(merge.sources.size(), 2u);
    merge.target_id = *store.NextSequence();
    merge.target = *store.CreateWindow(merge.target_id);
    copy_.emplace(store.spills().view(), std::move(merge));
  }
  void TearDown() override {
    if (copy_) {
      const WindowMerge merge = copy_->merge();
      copy_.reset();
      EXPECT_TRUE(Core()->store().AbandonWindow(merge.target_id, merge.target).ok());
    }
    WindowMergeTest::TearDown();
  }
  using Step = Result<bool> (WindowCopy::*)();
  // Until it is false.
  uint64_t StepsOf(Step step) {
    for (uint64_t steps = 1;; ++steps) {
      const Result<bool> more = (*copy_.*step)();
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) return steps;
    }
  }
  Status ReadBack() {
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const bool more, copy_->ReadBack());
      if (!more) return Status::Ok();
    }
  }
  std::optional<WindowCopy> copy_;
};

TEST_F(WindowCopyTest, AStepTakesSomePagesOfALargeSeal) {
  const uint64_t copied = StepsOf(&WindowCopy::Copy);
  ASSERT_TRUE(copy_->Flush().ok());
  const uint64_t checked = StepsOf(&WindowCopy::ReadBack);
  ASSERT_GT(copy_->byte_count(), 800u << 10);
  EXPECT_GE(copied, copy_->byte_count() / (192 << 10)) << "128 KiB, and what a page is over";
  EXPECT_GE(checked, copy_->byte_count() / (192 << 10));
}

TEST_F(WindowCopyTest, AnOutboxEntryThatIsMissingInTheCopyIsNamed) {
  (void)StepsOf(&WindowCopy::Copy);
  ASSERT_TRUE(copy_->Flush().ok());
  ASSERT_TRUE(ReadBack().ok());
  const auto view = Core()->store().spills().view();
  const std::string prefix = OutboxKeyFrom(copy_->merge().target_id);
  std::string key;
  {
    const std::unique_ptr<rocksdb::Iterator> it(
        view->meta->db()->NewIterator({}, view->meta->handle()));
    it->Seek(prefix);
    ASSERT_TRUE(it->Valid() && it->key().starts_with(prefix));
    key = it->key().ToString();
  }
  ASSERT_TRUE(view->meta->db()->Delete({}, view->meta->handle(), key).ok());
  const Status s = ReadBack();
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_EQ(s.message().find("the outbox of window "), 0u) << s.message();
}

// Its view has windows whose families, manifests and outbox entries are gone for all others.
TEST_F(WindowMergeTest, AReaderReadsOnInWindowsThatWereMerged) {
  LiveDays(14);
  ScanRequest request = Request("a", kStartMs, kStartMs + 14 * kDayMs);
  request.batch_rows_max = 1;
  request.buckets_ahead = 1;
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok());
  ResultBatch batch;
  Rows seen;
  ASSERT_TRUE((*cursor)->Next(&batch));
  AddRows(batch, &seen);
  const Rows expected = written_;
  const auto held = Core()->store().spills().view();
  LiveDays(40);
  ASSERT_GT(engine_->GetMetrics().window_merges, 5u);
  TickAll();
  Drain(cursor->get(), &seen);
  EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
  EXPECT_EQ(seen, expected);
  uint64_t versions = 0;
  ManifestWalker walker(held, "");
  for (auto item = walker.Next(); item.ok() && *item; item = walker.Next()) {
    versions += (*item)->manifest.version_count();
    EXPECT_TRUE(ReadSealedSegment((*item)->window, (*item)->bucket, (*item)->seal).ok());
  }
  EXPECT_EQ(versions, expected.size());
}

TEST_F(WindowMergeTest, WhatWasMergedIsForgottenWithItsLastReader) {
  LiveDays(14);
  auto held = Core()->store().spills().view();
  LiveDays(20);
  TickAll();
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  uint64_t seals = 0;
  for (const auto& window : Windows()) seals += window->record.seal_count;
  EXPECT_GT(KeysOf("M"), seals);
  held.reset();
  TickAll();
  ExpectNoRemains();
}

TEST_F(WindowMergeTest, AMergedWindowEndsAsAWhole) {
  options_.keep_unconfirmed_s = 60 * kDayS;
  Reopen();
  LiveDays(40);
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  LiveDays(60);
  clock_->AdvanceSeconds(10 * kDayS);
  ASSERT_TRUE(engine_->Expire().ok());
  const Metrics m = engine_->GetMetrics();
  EXPECT_GT(m.windows_dropped, 0u);
  EXPECT_GT(m.versions_shed, 0u);
  const Rows left = ScanEverything();
  EXPECT_EQ(left.size() + m.versions_shed, written_.size());
  EXPECT_TRUE(std::equal(left.rbegin(), left.rend(), written_.rbegin()));
  const int64_t kept_s = (clock_->WallMicros() / 1000 - left.front().first) / 1000;
  EXPECT_GE(kept_s, 60 * kDayS) << "nothing before its time";
  ExpectSound();
  TickAll();
  ExpectNoRemains();
}

// Without room for a copy the last family takes what finds no window; nothing stops.
TEST_F(WindowMergeTest, WithoutRoomTheWindowOfAllTimesTakesWhatComes) {
  constexpr uint64_t kDiskBytes = 256 << 20;
  const auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(kDiskBytes);
  fs_ = disk;
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  directory_ = std::filesystem::path(temp_.path()) / "on-the-disk";
  OpenWithTable(kPumps);
  Rng rng(1);
  for (int day = 0; day < 10; ++day) {  // a MiB for each window
    std::string noise(500'000, ' ');
    for (char& c : noise) c = static_cast<char>('!' + rng.Below(90));
    RowBatch batch(schema_);
    batch.BeginRow();
    ASSERT_TRUE(batch.SetBytes(0, "noise").ok());
    ASSERT_TRUE(batch.SetInt(2, kStartMs + day * kDayMs).ok());
    ASSERT_TRUE(batch.SetBytes(4, noise).ok());
    ASSERT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
    LiveDays(1);
  }
  TickAll();
  const auto leave = [&](uint64_t bytes) {
    disk->SetForeignBytes(kDiskBytes - disk->used_bytes() - bytes);
  };
  leave(5 << 20);
  LiveDays(6);
  EXPECT_TRUE(HasWindowOfAllTimes());
  EXPECT_EQ(engine_->GetMetrics().window_merges, 0u);
  EXPECT_EQ(ScanEverything(), written_);
  leave(100 << 20);
  LiveDays(8);
  EXPECT_GT(engine_->GetMetrics().window_merges, 0u) << "space heals it";
  EXPECT_EQ(ScanEverything(), written_);
  EXPECT_EQ(ScanEverything("noise").size(), 10u);
  ExpectSound();
}

// The copy is read back before it counts.
TEST_F(WindowMergeTest, WhatTheDeviceChangedIsNotMerged) {
  LiveDays(10);
  const uint64_t oldest = Windows().front()->id;
  g_point = "merge:before_read_back";
  int damaged = 0;
  g_at_point = [&] {
    // The newest window is the one that is being made.
    std::vector<rocksdb::LiveFileMetaData> files;
    Core()->store().db().db()->GetLiveFilesMetaData(&files);
    std::pair<std::string, std::string> newest;
    for (const auto& file : files) {
      if (!file.column_family_name.starts_with("window-")) continue;
      newest = std::max(newest, {file.column_family_name, file.db_path + file.name});
    }
    FlipBit(newest.second, 40);
    ++damaged;
  };
  g_crash_hook = AtPoint;
  LiveDays(4);
  ASSERT_EQ(damaged, 1) << "the point was never met";
  g_crash_hook = nullptr;
  EXPECT_EQ(ScanEverything(), written_);
  EXPECT_EQ(Windows().front()->id, oldest) << "it is what it was";
  ExpectSound();
  Reopen();
  LiveDays(4);
  TickAll();
  EXPECT_NE(Windows().front()->id, oldest) << "another try, in another opening";
  EXPECT_EQ(ScanEverything(), written_);
  ExpectSound();
  ExpectNoRemains();
}

// What cannot be read stays where it is, and the others go on around it.
TEST_F(WindowMergeTest, AWindowWithADamagedPageIsNotMerged) {
  LiveDays(10);
  std::string file;
  uint64_t damaged_id = 0;
  {
    const auto window = Windows().front();
    damaged_id = window->id;
    rocksdb::ColumnFamilyMetaData meta;
    window->family->db()->GetColumnFamilyMetaData(window->family->handle(), &meta);
    for (const auto& level : meta.levels) {
      for (const auto& table : level.files) file = table.db_path + table.name;
    }
  }
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  FlipBit(file, 40);
  Open();
  LiveDays(20);
  const Metrics m = engine_->GetMetrics();
  EXPECT_GT(m.window_merges, 0u);
  EXPECT_GT(m.versions_sealed, 0u);
  const auto windows = Windows();
  EXPECT_TRUE(std::any_of(windows.begin(), windows.end(),
                          [&](const auto& w) { return w->id == damaged_id; }));
  EXPECT_LE(windows.size(), kBound);
  EXPECT_FALSE(HasWindowOfAllTimes());
  EXPECT_EQ(Scan("a", kStartMs + 10 * kDayMs, kStartMs + 100 * kDayMs),
            Rows(written_.begin() + 20, written_.end()));
}

TEST_F(WindowMergeTest, WindowsThatLackAManifestAreNotMerged) {
  LiveDays(10);
  TickAll();
  const uint64_t oldest = Windows().front()->id;
  const auto view = Core()->store().spills().view();
  const std::unique_ptr<rocksdb::Iterator> it(
      view->meta->db()->NewIterator({}, view->meta->handle()));
  it->Seek(ManifestKeyFrom(oldest, ""));
  ASSERT_TRUE(it->Valid());
  ASSERT_TRUE(view->meta->db()->Delete({}, view->meta->handle(), it->key()).ok());
  LiveDays(20);
  EXPECT_GT(engine_->GetMetrics().window_merges, 0u);
  EXPECT_EQ(Windows().front()->id, oldest);
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->problems.empty()) << "it is known of, and not covered up";
}

// As long as a spill family has them, whatever became of the window that they were sealed into.
TEST_F(WindowMergeTest, RowsInASpillFamilyDoNotComeBackWithTheEndOfAMergedWindow) {
  options_.keep_unconfirmed_s = 30 * kDayS;
  Reopen();
  MustAppend("straggler", kStartMs, 1);  // never sealed below
  SealRequest only_a;
  only_a.due_only = false;
  only_a.table = schema_->name;
  only_a.entity = Entity("a");
  for (int day = 0; day < 16; ++day) {
    MustAppend("a", kStartMs + day * kDayMs, day);
    clock_->AdvanceSeconds(kDayS);
    only_a.time = kStartMs + day * kDayMs;
    ASSERT_TRUE(engine_->Seal(only_a).ok());
  }
  TickAll();
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  ASSERT_EQ(engine_->GetMetrics().spill_families, 1u) << "the straggler holds it";
  clock_->AdvanceSeconds(40 * kDayS);
  ASSERT_GT(engine_->Expire()->versions_shed, 0u);
  TickAll();
  const auto check = [&] {
    EXPECT_TRUE(ScanEverything().empty());
    EXPECT_EQ(engine_->GetMetrics().versions_shed, 16u);
    EXPECT_EQ(engine_->GetMetrics().versions_open, 1u);
    ExpectSound();
  };
  check();
  Crash();
  check();
}

// --- a crash between any two steps

class WindowMergeCrash : public WindowMergeTest,
                         public ::testing::WithParamInterface<const char*> {};

TEST_P(WindowMergeCrash, GoesOnWhereItStopped) {
  LiveDays(10);
  std::string copy;
  Rows promised;
  g_point = GetParam();
  // From where all families but one are taken: what follows is a merge.
  g_is_armed = [this] { return Windows().size() + 1 == kBound; };
  g_at_point = [&] {
    copy = CopyStore();
    promised = written_;
  };
  g_crash_hook = AtPoint;
  LiveDays(4);
  TickAll();
  g_crash_hook = nullptr;
  ASSERT_FALSE(copy.empty()) << "the point was never met";
  EXPECT_GE(engine_->GetMetrics().window_merges, 1u);
  GoOnWith(copy);
  EXPECT_EQ(ScanEverything(), promised);
  ExpectSound();
  TickAll();
  EXPECT_EQ(ScanEverything(), promised);
  ExpectSound();
  ExpectNoRemains();
  EXPECT_EQ(Windows().size(), kBound - 2) << "the merge was done, or is done now";
  written_ = promised;
  LiveDays(10);
  EXPECT_EQ(ScanEverything(), written_);
  ExpectSound();
}

INSTANTIATE_TEST_SUITE_P(EveryPoint, WindowMergeCrash,
                         ::testing::Values("seal:before_create", "seal:after_create",
                                           "spill:before_pages", "spill:before_flush",
                                           "spill:after_flush", "merge:before_read_back",
                                           "merge:before_commit", "merge:after_commit",
                                           "meta:before_flush", "window:before_drop",
                                           "window:after_drop", "window:before_forget",
                                           "window:after_forget"));

// A merge that has begun needs no time: it ends, and nothing is sealed until the clock is back.
TEST_F(WindowMergeTest, AClockThatStepsBackWhileWindowsAreMerged) {
  LiveDays(13);
  const int64_t now_us = clock_->WallMicros();
  bool stepped = false;
  int64_t stepped_us = 0;
  g_crash_hook = AtPoint;
  g_point = "merge:before_read_back";
  g_at_point = [&] {
    stepped_us = clock_->WallMicros();
    clock_->SetWallMicros(0);
    std::thread writer([&] { (void)Append("b", kStartMs + day_ * kDayMs, 2); });
    writer.join();
    stepped = true;
  };
  Status last;
  for (int i = 0; i < 10 && !stepped; ++i) {
    MustAppend("a", kStartMs + day_ * kDayMs, day_);
    written_.emplace_back(kStartMs + day_ * kDayMs, day_);
    clock_->AdvanceSeconds(kDayS);
    ++day_;
    SealRequest request;
    request.due_only = false;
    const auto report = engine_->Seal(request);
    last = report.ok() ? report->stopped : report.status();
  }
  ASSERT_TRUE(stepped);
  EXPECT_EQ(last.code(), StatusCode::kBusy) << last.ToString();
  clock_->StepWallMicros(stepped_us);  // as far as the monotonic clock has it
  clock_->PassTo(now_us + 20 * kDayS * 1'000'000);
  MustAppend("c", kStartMs + day_ * kDayMs, 2);
  SealAll();
  EXPECT_GT(engine_->GetMetrics().window_merges, 0u);
  EXPECT_EQ(ScanEverything(), written_);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
