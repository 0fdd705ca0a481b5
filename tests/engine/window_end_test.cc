// Windows that end: what has expired goes with its space, nothing else does, and nothing
// comes back, whatever happens in between.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "lib/base/crash_point.h"
#include "storage/seal_reader.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

// Windows of one day: the TTL is a day.
constexpr char kBrief[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day' AND default_time_to_live = 86400;
)";
constexpr int64_t kDayS = 86'400;

class WindowEndTest : public EngineFixture {
 protected:
  WindowEndTest() {
    options_.seal_when_due = false;
    options_.event_future_s_max = 100 * kDayS;
  }
  void SetUp() override { OpenWithTable(kBrief); }

  // Ten rows of the day, written now.
  void AppendDay(const std::string& pump, int day, std::optional<uint32_t> ttl_s = {}) {
    RowBatch batch(schema_);
    for (int64_t i = 0; i < 10; ++i) {
      AddRow(&batch, pump, kStartMs + day * kDayMs + i * 60'000, static_cast<double>(day),
             RowKind::kInsert, ttl_s);
    }
    const auto answer = engine_->Append(batch);
    ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  }
  void Seal(const std::string& entity = "", int day = 0) {
    SealRequest request;
    request.due_only = false;
    if (!entity.empty()) {
      request.table = schema_->name;
      request.entity = Entity(entity);
      request.time = kStartMs + day * kDayMs;
    }
    const auto report = engine_->Seal(request);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_TRUE(report->problems.empty()) << report->problems.front();
  }
  // The catalog is compacted in the background.
  uint64_t SstBytesAtRest() {
    for (uint64_t before = 0;;) {
      const uint64_t now = engine_->GetMetrics().sst_bytes_written;
      if (now == before) return now;
      before = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }
  ExpireReport Expire() {
    const auto report = engine_->Expire();
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *report : ExpireReport{};
  }
  void TickAll() {
    for (bool more = true; more;) {
      const auto report = engine_->Tick();
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      more = report->more_due;
    }
  }
  // Keys of meta that begin with the tag.
  uint64_t KeysOf(char tag) {
    const auto view = Core()->store().spills().view();
    const std::unique_ptr<rocksdb::Iterator> it(
        view->meta->db()->NewIterator({}, view->meta->handle()));
    uint64_t count = 0;
    const std::string prefix(1, tag);
    for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) ++count;
    return count;
  }
};

TEST_F(WindowEndTest, AWindowGoesWithItsLastRowAndSoDoesItsSpace) {
  AppendDay("a", 0);
  AppendDay("b", 0);
  clock_->AdvanceSeconds(3600);
  AppendDay("b", 0);  // again: these expire an hour later, and supersede the others
  AppendDay("a", 5);
  Seal();
  Metrics m = engine_->GetMetrics();
  ASSERT_EQ(m.window_families, 2u);
  ASSERT_EQ(m.versions_superseded, 10u);
  clock_->AdvanceSeconds(kDayS - 1);
  EXPECT_EQ(Expire().windows, 0u) << "rows of b live for another second";
  EXPECT_TRUE(ScanAll("a").size() == 10u && ScanAll("b").size() == 10u);
  ExpectSound();
  clock_->AdvanceSeconds(1);
  const uint64_t sst_bytes = SstBytesAtRest();
  const ExpireReport report = Expire();
  EXPECT_EQ(report.windows, 2u);
  EXPECT_EQ(report.versions, 30u);
  m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_expired, 30u);
  EXPECT_EQ(m.versions_sealed, 0u);
  EXPECT_EQ(m.windows_dropped, 2u);
  EXPECT_EQ(m.window_families, 0u);
  EXPECT_EQ(m.sst_bytes_written, sst_bytes) << "nothing is rewritten, no tombstone";
  EXPECT_TRUE(ScanAll("a").empty());
  ExpectSound();
  TickAll();  // lets the spill family go
  EXPECT_EQ(KeysOf('M'), 0u) << "no spill family needed them";
  EXPECT_EQ(KeysOf('O'), 0u);
  EXPECT_EQ(KeysOf('W'), 0u);
  Crash();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 30u);
  ExpectSound();
}

TEST_F(WindowEndTest, TicksEndWindowsAndGiveTheSpaceBackAtOnce) {
  for (int round = 0; round < 40; ++round) {
    AppendDay(std::string("a").append(std::to_string(round)), 0);
  }
  Seal();
  TickAll();
  const uint64_t before = engine_->GetMetrics().disk_bytes_used;
  clock_->AdvanceSeconds(kDayS);
  TickAll();
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_expired, 400u);
  EXPECT_EQ(m.window_families, 0u);
  EXPECT_LT(m.disk_bytes_used, before);
  ExpectSound();
}

TEST_F(WindowEndTest, WhatNeverExpiresKeepsItsWindow) {
  AppendDay("a", 0);
  AppendDay("b", 0, 0);  // no TTL
  AppendDay("c", 3);
  ASSERT_TRUE(engine_->DeleteRange(schema_->name, Entity("c"), {kStartMs, kStartMs + 1}).ok());
  Seal();
  clock_->AdvanceSeconds(400 * kDayS);
  EXPECT_EQ(Expire().versions, 10u) << "the day that only c has, but for its delete's bucket";
  EXPECT_EQ(ScanAll("b").size(), 10u);
  EXPECT_TRUE(ScanAll("a").empty());
  ExpectSound();
}

// Rows that were sealed lie in their spill family until that goes, and there are older
// versions among them that never expire.
TEST_F(WindowEndTest, RowsInASpillFamilyDoNotComeBackWithTheEndOfTheirWindow) {
  AppendDay("a", 0, 0);
  AppendDay("straggler", 4);
  Rotate();
  AppendDay("a", 0);  // overwrites all, and expires
  Seal("a");
  ASSERT_EQ(engine_->GetMetrics().spill_families, 1u) << "the straggler holds it";
  clock_->AdvanceSeconds(kDayS);
  AppendDay("straggler", 5);
  EXPECT_EQ(Expire().windows, 1u);
  const auto check = [&] {
    EXPECT_TRUE(ScanAll("a").empty());
    EXPECT_EQ(ScanAll("straggler").size(), 10u);
    EXPECT_EQ(engine_->GetMetrics().versions_expired, 10u);
    EXPECT_EQ(engine_->GetMetrics().versions_open, 20u);
    ExpectSound();
  };
  check();
  EXPECT_EQ(KeysOf('M'), 1u) << "it tells that the rows in the spill family are not open";
  Crash();
  check();
  Rotate();
  check();
  Seal("straggler", 4);
  Seal("straggler", 5);
  TickAll();
  EXPECT_EQ(engine_->GetMetrics().spill_families, 0u);
  EXPECT_EQ(KeysOf('M'), 1u) << "that of the straggler's rows that still live";
  EXPECT_TRUE(ScanAll("a").empty());
  ExpectSound();
}

// The family is rewritten then: what was sealed stays behind, and the manifests can go.
TEST_F(WindowEndTest, RewritingASpillFamilyLeavesBehindWhatWasSealedInAWindowThatHasEnded) {
  AppendDay("a", 0, 0);
  AppendDay("straggler", 20, 0);
  Rotate();
  AppendDay("a", 0);
  Seal("a");
  clock_->AdvanceSeconds(kDayS);
  EXPECT_EQ(Expire().windows, 1u);
  for (int i = 0; i < 40; ++i) {
    MustAppend("straggler", kStartMs + 20 * kDayMs + kDayMs / 2 + i, 1);
    Rotate();
  }
  TickAll();
  EXPECT_GT(engine_->GetMetrics().respill_bytes, 0u);
  EXPECT_EQ(KeysOf('M'), 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 10u);
  EXPECT_TRUE(ScanAll("a").empty());
  EXPECT_EQ(ScanAll("straggler").size(), 50u);
  ExpectSound();
}

// As above, for a reader that holds a spill family which is gone for all others.
TEST_F(WindowEndTest, AReaderThatHoldsASpillFamilyKeepsTheManifestsThatItNeeds) {
  AppendDay("a", 0, 0);
  AppendDay("straggler", 20);
  Rotate();
  AppendDay("a", 0);
  Seal("a");
  clock_->AdvanceSeconds(kDayS);
  auto held = Core()->store().spills().view();
  const auto rows_of_a = [&] {
    const auto segments = ListSegments(*held, {1, Entity("a").bytes, kStartMs / 1000, 0});
    EXPECT_TRUE(segments.ok()) << segments.status().ToString();
    uint64_t rows = 0;
    for (const SegmentRef& s : *segments) rows += s.header.row_count;
    return rows;
  };
  EXPECT_EQ(rows_of_a(), 10u) << "those of the seal";
  Seal("straggler", 20);
  TickAll();
  EXPECT_EQ(Expire().versions, 0u) << "the tick did it";
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 20u);
  EXPECT_EQ(engine_->GetMetrics().spill_families, 0u);
  EXPECT_EQ(rows_of_a(), 10u) << "not also those that never expire";
  EXPECT_GT(KeysOf('M'), 0u);
  held.reset();
  TickAll();
  EXPECT_EQ(KeysOf('M'), 0u);
  ExpectSound();
}

TEST_F(WindowEndTest, ACursorReadsOnInAWindowThatEnds) {
  AppendDay("a", 0, 7 * kDayS);
  AppendDay("a", 1);
  Seal();
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.batch_rows_max = 3;
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok());
  ResultBatch batch;
  Rows seen;
  ASSERT_TRUE((*cursor)->Next(&batch));
  AddRows(batch, &seen);
  clock_->AdvanceSeconds(8 * kDayS);
  EXPECT_EQ(Expire().windows, 2u);
  Drain(cursor->get(), &seen);
  EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
  cursor->reset();
  EXPECT_TRUE(ScanAll("a").empty());
  ExpectSound();
}

TEST_F(WindowEndTest, LateRowsOfAWindowThatHasEndedBeginAnotherOne) {
  AppendDay("a", 0);
  Seal();
  clock_->AdvanceSeconds(kDayS - 1);
  MustAppend("a", kStartMs + 1, 7);  // late, still open, newer than all that is sealed
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(Expire().versions, 10u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs + 1, 7}}));
  ExpectSound();
  Crash();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs + 1, 7}}));
  Seal();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs + 1, 7}}));
  ExpectSound();
  clock_->AdvanceSeconds(kDayS);
  EXPECT_EQ(Expire().versions, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 11u);
  ExpectSound();
}

// A board without a battery boots in 1970; a corrupt answer of a time server says 2106.
TEST_F(WindowEndTest, ALyingClockEndsNothing) {
  AppendDay("a", 0);
  Seal();
  const int64_t now_us = clock_->WallMicros();
  for (const int64_t lie_us : {int64_t{0}, 4'291'747'200'000'000}) {
    clock_->SetWallMicros(lie_us);
    TickAll();
    EXPECT_EQ(engine_->Expire().status().code(), StatusCode::kBusy);
    EXPECT_EQ(engine_->GetMetrics().window_families, 1u);
    Reopen();
    TickAll();
    EXPECT_EQ(engine_->GetMetrics().versions_expired, 0u);
  }
  clock_->SetWallMicros(now_us);
  TickAll();
  EXPECT_EQ(ScanAll("a").size(), 10u);
  clock_->AdvanceSeconds(kDayS);
  TickAll();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 10u);
  ExpectSound();
}

// Rows of an untrusted boot wait for their time, and with them everything that goes by it.
TEST_F(WindowEndTest, NothingEndsWhileTheClockIsNotSettled) {
  AppendDay("a", 0);
  Seal();
  clock_->AdvanceSeconds(2 * kDayS);
  const int64_t true_us = clock_->WallMicros();
  clock_->Reboot("boot-2", 0);
  Reopen();
  MustAppend("late", kStartMs, 1);
  TickAll();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 0u);
  clock_->SetWallMicros(true_us);
  clock_->SetSync(ClockSync::kYes);
  TickAll();
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 10u);
  EXPECT_EQ(ScanAll("late").size(), 1u);
  ExpectSound();
}

// --- local retention

TEST_F(WindowEndTest, WhatIsNotConfirmedIsShedWhenTheHostSaysSo) {
  AppendDay("a", 0, 0);
  AppendDay("a", 3, 0);
  Seal();
  clock_->AdvanceSeconds(4 * kDayS);
  EXPECT_EQ(Expire().windows, 0u) << "nothing unconfirmed goes by default";
  options_.keep_unconfirmed_s = 3 * kDayS;
  Reopen();
  const ExpireReport report = Expire();
  EXPECT_EQ(report.windows, 1u);
  EXPECT_EQ(report.versions, 0u);
  EXPECT_EQ(report.versions_shed, 10u);
  ASSERT_EQ(report.ended.size(), 1u);
  EXPECT_TRUE(report.ended[0].shed);
  EXPECT_EQ(report.ended[0].versions, 10u);
  EXPECT_TRUE(report.ended[0].window.starts_with("window "));
  EXPECT_LE(report.ended[0].from_s, kStartMs / 1000);
  EXPECT_GT(report.ended[0].to_s, kStartMs / 1000);
  EXPECT_EQ(report.ended[0].why, "it was not confirmed within keep_unconfirmed_s");
  EXPECT_TRUE(Expire().ended.empty()) << "told once";
  EXPECT_EQ(ScanAll("a").size(), 10u) << "those of the later day";
  EXPECT_EQ(engine_->GetMetrics().versions_shed, 10u);
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 0u);
  ExpectSound();
  Crash();
  EXPECT_EQ(engine_->GetMetrics().versions_shed, 10u);
  ExpectSound();
}

// A budget that windows have used up: the ballast lets them end, until there is room.
TEST_F(WindowEndTest, TheDiskBudgetShedsTheOldestWindowsWhenItMay) {
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  const auto fill = [&] {
    Rng rng(1);
    for (int day = 0; day < 5; ++day) {
      RowBatch batch(schema_);
      for (int64_t i = 0; i < 900; ++i) {
        std::string state(8000, 'x');
        for (char& c : state) c = static_cast<char>('!' + rng.Below(90));
        batch.BeginRow();
        ASSERT_TRUE(batch.SetBytes(0, "a").ok());
        ASSERT_TRUE(batch.SetInt(2, kStartMs + day * kDayMs + i).ok());
        ASSERT_TRUE(batch.SetBytes(4, state).ok());
        ASSERT_TRUE(batch.SetTtl(0).ok());
        ASSERT_TRUE(batch.EndRow().ok());
        if (batch.row_count() < 50) continue;
        ASSERT_TRUE(engine_->Append(batch).ok());
        batch.Clear();
      }
      Seal();
      TickAll();
    }
  };
  Reopen();
  fill();
  const uint64_t used = engine_->GetMetrics().disk_bytes_used;
  // Not even a record has room: the reserve of a MiB is not for the log.
  options_.disk_budget_bytes = std::max<uint64_t>(limits::kDiskBudgetBytesMin, used + (1 << 20));
  for (const DiskShed shed : {DiskShed::kNothing, DiskShed::kConfirmed, DiskShed::kOldest}) {
    options_.disk_shed = shed;
    Reopen();
    TickAll();
    const Metrics m = engine_->GetMetrics();
    if (shed != DiskShed::kOldest) {
      EXPECT_EQ(m.versions_shed, 0u) << "nothing is confirmed";
      continue;
    }
    EXPECT_GT(m.versions_shed, 0u);
    EXPECT_LT(m.versions_shed, 4500u) << "not more than was needed";
    EXPECT_EQ(m.versions_shed % 900, 0u) << "whole windows";
    EXPECT_TRUE(ScanAll("a").size() == 4500u - m.versions_shed);
    EXPECT_LT(m.disk_bytes_used, used);
    EXPECT_GE(ScanAll("a").front().first, kStartMs + kDayMs) << "the oldest first";
  }
  ExpectSound();
}

// --- the steps of the end, and a crash between any two

std::function<void()> g_at_point;
const char* g_point = nullptr;

void AtPoint(const char* name) {
  if (g_point == nullptr || std::string_view(name) != g_point) return;
  g_point = nullptr;
  g_at_point();
}

class WindowEndCrash : public WindowEndTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(WindowEndCrash, GoesOnWhereItStopped) {
  AppendDay("a", 0);
  AppendDay("straggler", 20);
  Seal("a");
  clock_->AdvanceSeconds(kDayS);
  std::string copy;
  g_point = GetParam();
  g_at_point = [&] { copy = CopyStore(); };
  g_crash_hook.store(&AtPoint);
  Expire();
  Seal();   // lets the spill family go, and with it the manifests
  TickAll();
  clock_->AdvanceSeconds(kDayS);
  TickAll();
  g_crash_hook.store(nullptr);
  ASSERT_FALSE(copy.empty()) << "the point was never met";
  GoOnWith(copy);
  EXPECT_TRUE(ScanAll("a").empty());
  ExpectSound();
  TickAll();
  Expire();
  Seal();
  TickAll();
  EXPECT_TRUE(ScanAll("a").empty());
  EXPECT_EQ(engine_->GetMetrics().versions_expired, 20u);
  EXPECT_EQ(engine_->GetMetrics().window_families, 0u);
  ExpectSound();
  EXPECT_EQ(KeysOf('W'), 0u);
  EXPECT_EQ(KeysOf('M'), 0u);
  std::vector<std::string> families;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), directory(), &families)
                  .ok());
  for (const std::string& name : families) EXPECT_FALSE(name.starts_with("window-")) << name;
}

INSTANTIATE_TEST_SUITE_P(EveryPoint, WindowEndCrash,
                         ::testing::Values("window:before_end", "window:after_end",
                                           "window:before_drop", "window:after_drop",
                                           "window:before_forget", "window:after_forget"));

}  // namespace
}  // namespace cistern::testing
