// Sealing through the engine: what is sealed reads as before, later rows make amendments,
// and nothing is lost or counted twice, whatever happens in between.
#include <rocksdb/db.h>

#include <atomic>
#include <map>
#include <thread>

#include "storage/seal_reader.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class SealTest : public EngineFixture {
 protected:
  SealTest() { options_.seal_when_due = false; }

  SealReport Seal(bool due_only = false) {
    SealRequest request;
    request.due_only = due_only;
    const auto report = engine_->Seal(request);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
    return *report;
  }
  std::map<std::string, BucketInfo> Buckets() {
    std::map<std::string, BucketInfo> out;
    const Status s = engine_->ListBuckets([&](const BucketInfo& info) {
      out[info.entity + " " + info.bucket] = info;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out;
  }
  // Days of three pumps, ten rows each; the clock then stands at the end of the last.
  void AppendDays(int days) {
    for (int day = 0; day < days; ++day) {
      for (const char* pump : {"a", "b", "c"}) {
        RowBatch batch(schema_);
        for (int64_t i = 0; i < 10; ++i) {
          AddRow(&batch, pump, kStartMs + day * kDayMs + i * 60'000, static_cast<double>(day));
        }
        ASSERT_TRUE(engine_->Append(batch).ok());
      }
      clock_->AdvanceSeconds(86'400);
    }
  }
};

TEST_F(SealTest, SealedBucketsReadAsBefore) {
  AppendDays(4);
  const Rows before = ScanAll("b");
  const SealReport report = Seal();
  EXPECT_EQ(report.buckets, 12u);
  EXPECT_EQ(report.amendments, 0u);
  EXPECT_EQ(ScanAll("b"), before);
  Rows down = Scan("b", kStartMs + 30 * kDayMs, kStartMs);
  std::reverse(down.begin(), down.end());
  EXPECT_EQ(down, before);
  for (const auto& [name, info] : Buckets()) {
    EXPECT_EQ(info.state, "sealed") << name;
    EXPECT_EQ(info.versions, 10u);
    EXPECT_EQ(info.seals, 1u);
    EXPECT_GT(info.seal_sequence, 0u);
  }
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 120u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 0u);
  ExpectSound();
  Reopen();
  EXPECT_EQ(ScanAll("b"), before);
  ExpectSound();
  EXPECT_EQ(Seal().buckets, 0u) << "nothing came since";
}

TEST_F(SealTest, LateRowsMakeAmendmentsOfWhatIsNewAlone) {
  AppendDays(2);
  EXPECT_EQ(Seal().buckets, 6u);
  MustAppend("a", kStartMs + 30'000, 7);
  MustAppend("a", kStartMs, 8);  // overwrites a sealed row
  EXPECT_EQ(Buckets()["a 2027-01-15"].state, "open");
  const Rows before = ScanAll("a");
  EXPECT_EQ(before.size(), 21u);
  EXPECT_EQ(before[0].second, 8);
  const SealReport amended = Seal();
  EXPECT_EQ(amended.buckets, 1u);
  EXPECT_EQ(amended.amendments, 1u);
  const BucketInfo info = Buckets()["a 2027-01-15"];
  EXPECT_EQ(info.state, "sealed");
  EXPECT_EQ(info.seals, 2u);
  EXPECT_EQ(info.versions, 12u) << "ten of the first seal, two of the second";
  EXPECT_EQ(ScanAll("a"), before);
  ExpectSound();
  Crash();
  EXPECT_EQ(ScanAll("a"), before);
  ExpectSound();
}

TEST_F(SealTest, DeletesReachAcrossSeals) {
  AppendDays(1);
  Seal();
  const TimeRange first_five{kStartMs, kStartMs + 300'000};
  ASSERT_TRUE(engine_->DeleteRange(schema_->name, Entity("a"), first_five).ok());
  EXPECT_EQ(ScanAll("a").size(), 5u);
  EXPECT_EQ(Seal().amendments, 1u);
  EXPECT_EQ(ScanAll("a").size(), 5u);
  MustAppend("a", kStartMs, 3);
  EXPECT_EQ(ScanAll("a").size(), 6u) << "written after the delete";
  EXPECT_EQ(Seal().amendments, 1u);
  Reopen();
  EXPECT_EQ(ScanAll("a").size(), 6u);
  ExpectSound();
}

TEST_F(SealTest, OnlyWhatIsOverAndIdleIsDue) {
  AppendDays(3);  // the clock stands at the end of the third day
  MustAppend("a", kStartMs + 2 * kDayMs + 70'000, 1);
  EXPECT_EQ(Seal(true).buckets, 6u) << "the last day has just ended";
  clock_->AdvanceSeconds(299);
  EXPECT_EQ(Seal(true).buckets, 0u);
  MustAppend("b", kStartMs + 2 * kDayMs + 70'000, 1);
  clock_->AdvanceSeconds(2);
  EXPECT_EQ(Seal(true).buckets, 2u) << "a row came to the third just now";
  clock_->AdvanceSeconds(300);
  EXPECT_EQ(Seal(true).buckets, 1u);
  MustAppend("a", clock_->WallMicros() / 1000, 1);
  clock_->AdvanceSeconds(7200);
  EXPECT_EQ(Seal(true).buckets, 0u) << "its day still goes on";
  ExpectSound();
}

// What a process that is started now and then has to go by.
TEST_F(SealTest, WhatWasWrittenBeforeTheOpeningIsDueByItsWriteTimes) {
  AppendDays(2);
  MustAppend("a", kStartMs, 1);
  Rotate();
  clock_->AdvanceSeconds(299);
  Reopen();
  EXPECT_EQ(Seal(true).buckets, 0u);
  clock_->AdvanceSeconds(2);
  Reopen();
  EXPECT_EQ(Seal(true).buckets, 6u);
}

TEST_F(SealTest, OneBucketByHand) {
  AppendDays(2);
  SealRequest request;
  request.due_only = false;
  request.table = schema_->name;
  request.entity = Entity("b");
  request.time = kStartMs + kDayMs;
  auto report = engine_->Seal(request);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->buckets, 1u);
  EXPECT_EQ(Buckets()["b 2027-01-16"].state, "sealed");
  EXPECT_EQ(Buckets()["b 2027-01-15"].state, "open");
  request.table = "nothing";
  EXPECT_EQ(engine_->Seal(request).status().code(), StatusCode::kNotFound);
  request.table.clear();
  EXPECT_EQ(engine_->Seal(request).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SealTest, TicksSealWhatIsDueAndDropWhatIsLeftOfTheSpills) {
  options_.seal_when_due = true;
  Reopen();
  AppendDays(3);
  Rows before = ScanAll("c");
  for (int minute = 0; minute < 12; ++minute) {
    clock_->AdvanceSeconds(61);
    for (bool more = true; more;) {
      const auto report = engine_->Tick();
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      more = report->more_due;
    }
  }
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.buckets_sealed, 9u);
  EXPECT_EQ(m.amendments, 0u);
  EXPECT_EQ(m.versions_open, 0u);
  EXPECT_EQ(m.spill_families, 0u) << "nothing open is left in them";
  EXPECT_EQ(ScanAll("c"), before);
  ExpectSound();
  Reopen();
  EXPECT_EQ(ScanAll("c"), before);
  ExpectSound();
}

// A cursor that began before the seal goes on as if nothing had happened.
// A rotation that is under way has a lower sequence than a round that begins now, and commits
// after it: its rows would count as sealed.
TEST_F(SealTest, ARotationUnderWayIsFinishedBeforeARoundBegins) {
  for (int steps = 1; steps <= 4; ++steps) {
    AppendDays(1);
    ASSERT_TRUE(engine_->Rotate().ok());
    RowBatch late(schema_);
    AddRow(&late, "a", kStartMs + (steps - 1) * kDayMs + 30'000, 77.0);
    ASSERT_TRUE(engine_->Append(late).ok());
    const Rows before = ScanAll("a");
    ASSERT_TRUE(Core()->committer().Freeze());
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(engine_->Tick({1}).ok());
    clock_->AdvanceSeconds(3600);
    Seal(/*due_only=*/true);
    EXPECT_EQ(ScanAll("a"), before) << steps;
    while (engine_->Tick()->more_due) {
    }
    EXPECT_EQ(ScanAll("a"), before) << steps;
    ExpectSound();
  }
}

// Rows that come while everything is being sealed are for the next time: Seal ends.
TEST_F(SealTest, WritersGoOnWhileEverythingIsSealed) {
  AppendDays(3);
  std::atomic<bool> done = false;
  std::atomic<int64_t> written = 0;
  std::thread writer([&] {
    while (!done) {
      RowBatch batch(schema_);
      AddRow(&batch, "w", kStartMs + written * 1000, 1.0);
      ASSERT_TRUE(engine_->Append(batch, {Durability::kMemory, BackPressure::kWait}).ok());
      ++written;
      if (written % 50 == 0) {
        ASSERT_TRUE(engine_->Rotate().ok());
      }
    }
  });
  while (written < 200) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) Seal();
  done = true;
  writer.join();
  EXPECT_EQ(ScanAll("w").size(), static_cast<size_t>(written));
  EXPECT_EQ(ScanAll("a").size(), 30u);
  ExpectSound();
}

TEST_F(SealTest, OpenCursorsAndTokensSurviveASeal) {
  AppendDays(4);
  Rotate();
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.batch_rows_max = 7;
  auto cursor = engine_->Scan(request);
  ASSERT_TRUE(cursor.ok());
  ResultBatch batch;
  Rows seen;
  ASSERT_TRUE((*cursor)->Next(&batch));
  AddRows(batch, &seen);
  request.token = (*cursor)->Token();
  Seal();
  Rows by_token = seen;
  Drain(cursor->get(), &seen);
  EXPECT_EQ(seen, ScanAll("a"));
  auto resumed = engine_->Scan(request);
  ASSERT_TRUE(resumed.ok());
  Drain(resumed->get(), &by_token);
  EXPECT_EQ(by_token, seen);
}

// Pages of a round that did not end count for nothing, and the next round begins anew.
TEST_F(SealTest, BytesThatDoNotReadBackAreNotSealed) {
  AppendDays(1);
  Rotate();
  auto view = Core()->store().spills().view();
  auto segments = ListSegments(*view, {1, Entity("b").bytes, kStartMs / 1000, 0});
  ASSERT_TRUE(segments.ok());
  ASSERT_EQ(segments->size(), 1u);
  const SegmentRef& segment = segments->front();
  std::string page;
  rocksdb::DB* db = segment.family->family->db();
  const std::string key = PageKey(segment.id, 0);
  ASSERT_TRUE(db->Get({}, segment.family->family->handle(), key, &page).ok());
  std::string bad = page;
  bad[bad.size() / 2] ^= 1;
  ASSERT_TRUE(db->Put({}, segment.family->family->handle(), key, bad).ok());
  SealRequest all;
  all.due_only = false;
  auto report = engine_->Seal(all);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->problems.size(), 1u);
  EXPECT_EQ(report->buckets, 2u) << "the others are sealed";
  EXPECT_EQ(Buckets()["b 2027-01-15"].state, "open");
  EXPECT_EQ(ScanAll("a").size(), 10u);
  ASSERT_TRUE(db->Put({}, segment.family->family->handle(), key, page).ok());
  segments->clear();  // what it holds keeps the store open
  view.reset();
  Reopen();
  EXPECT_EQ(Seal().buckets, 1u);
  EXPECT_EQ(ScanAll("b").size(), 10u);
  ExpectSound();
}

TEST_F(SealTest, VerifyNamesASealThatIsNotWhatItsManifestSays) {
  AppendDays(1);
  Seal();
  const auto view = Core()->store().spills().view();
  ASSERT_EQ(view->windows.size(), 1u);
  const BucketKey bucket{1, Entity("b").bytes, kStartMs / 1000, 0};
  const auto sealed = ListSealed(*view, bucket);
  ASSERT_TRUE(sealed.ok());
  ASSERT_EQ(sealed->size(), 1u);
  const std::string key = ManifestKey(view->windows[0]->id, bucket, sealed->front().id);
  std::string bytes;
  rocksdb::DB* db = view->meta->db();
  ASSERT_TRUE(db->Get({}, view->meta->handle(), key, &bytes).ok());
  auto manifest = DecodeManifest(bytes);
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->row_count, 10u);
  EXPECT_TRUE(manifest->has_endless_rows);
  EXPECT_FALSE(manifest->has_deletes);
  EXPECT_EQ(manifest->first_time, kStartMs);
  manifest->content_hash ^= 1;
  ASSERT_TRUE(db->Put({}, view->meta->handle(), key, EncodeManifest(*manifest)).ok());
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_NE(report->problems[0].find("not those that were sealed"), std::string::npos);
}

}  // namespace
}  // namespace cistern::testing
