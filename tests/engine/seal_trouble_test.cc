// Sealing when things go wrong: bytes that the device changes, a full disk, readers and
// deletes in between.
#include <atomic>
#include <filesystem>
#include <thread>

#include "lib/base/crash_point.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/fault_fs.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

// What a crash point does in this test.
std::function<void()> g_at_point;
const char* g_point = "";
void AtPoint(const char* name) {
  if (std::string_view(name) == g_point && g_at_point) std::exchange(g_at_point, nullptr)();
}

class SealTroubleTest : public EngineFixture {
 protected:
  SealTroubleTest() { options_.seal_when_due = false; }
  void TearDown() override {
    g_crash_hook = nullptr;
    g_at_point = nullptr;
  }
  void DoAt(const char* point, std::function<void()> what) {
    g_point = point;
    g_at_point = std::move(what);
    g_crash_hook = AtPoint;
  }
  Result<SealReport> Seal(bool due_only = false) {
    SealRequest request;
    request.due_only = due_only;
    return engine_->Seal(request);
  }
  // Flips a bit in the middle of the largest of the newest two SST files.
  void DamageNewestTable() {
    std::vector<std::filesystem::path> tables;
    for (const auto& entry : std::filesystem::directory_iterator(directory())) {
      if (entry.path().extension() == ".sst") tables.push_back(entry.path());
    }
    ASSERT_FALSE(tables.empty());
    FlipBit(*std::max_element(tables.begin(), tables.end()), 40);
  }
};

// The sealed pages themselves, after they were flushed and before they are read back.
TEST_F(SealTroubleTest, WhatTheDeviceChangedIsNotSealed) {
  for (int i = 0; i < 50; ++i) MustAppend("a", kStartMs + i * 1000, i);
  const Rows before = ScanAll("a");
  DoAt("seal:before_read_back", [&] { DamageNewestTable(); });
  const auto report = Seal();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->buckets, 0u);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_EQ(ScanAll("a"), before);
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 50u);
  Reopen();
  EXPECT_EQ(ScanAll("a"), before);
  EXPECT_EQ(Seal()->buckets, 1u) << "another try, in another opening";
  EXPECT_EQ(ScanAll("a"), before);
  ExpectSound();
}

// Of several in a round.
TEST_F(SealTroubleTest, ADamagedBucketIsNamedAndTheOthersAreSealed) {
  Rng random{7};
  RowBatch batch(schema_);
  for (const char* pump : {"a", "b", "c"}) {
    for (int i = 0; i < 20; ++i) {
      batch.BeginRow();
      std::string noise;
      for (int k = 0; k < 4000; ++k) noise.push_back(static_cast<char>('!' + random.Below(90)));
      ASSERT_TRUE(batch.SetBytes(0, pump).ok() && batch.SetInt(2, kStartMs + i).ok() &&
                  batch.SetBytes(4, noise).ok() && batch.EndRow().ok());
    }
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  Rotate();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    if (entry.path().extension() != ".sst" || entry.file_size() < 100'000) continue;
    FlipBit(entry.path(), static_cast<int64_t>(entry.file_size()) / 2);  // in the pages of b
  }
  Open();
  for (int time = 0; time < 2; ++time) {
    const auto report = Seal();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->buckets, time == 0 ? 2u : 0u);
    ASSERT_EQ(report->problems.size(), 1u) << "told to everyone who asks";
    EXPECT_TRUE(report->problems.front().starts_with("plant.pumps b 2027-01-15: "))
        << report->problems.front();
  }
  EXPECT_EQ(engine_->GetMetrics().versions_sealed, 40u);
  EXPECT_EQ(engine_->GetMetrics().window_families, 1u);
}

// Rows that were sealed look open then, in the spill family that a straggler keeps.
TEST_F(SealTroubleTest, AMissingManifestIsAProblemAndNoAssertion) {
  MustAppend("straggler", kStartMs, 1);
  MustAppend("a", kStartMs, 1);
  SealRequest only_a;
  only_a.due_only = false;
  only_a.table = schema_->name;
  only_a.entity = Entity("a");
  ASSERT_EQ(engine_->Seal(only_a)->buckets, 1u);
  {
    const auto view = Core()->store().spills().view();
    const std::unique_ptr<rocksdb::Iterator> it(
        view->meta->db()->NewIterator({}, view->meta->handle()));
    it->Seek("M");
    ASSERT_TRUE(it->Valid());
    ASSERT_TRUE(view->meta->db()->Delete({}, view->meta->handle(), it->key()).ok());
  }
  MustAppend("a", kStartMs + 1, 2);
  const auto report = Seal();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  ASSERT_FALSE(report->problems.empty());
  EXPECT_NE(report->problems.front().find("a manifest"), std::string::npos)
      << report->problems.front();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}}));
  MustAppend("a", kStartMs + 2, 3);
  Reopen();
  EXPECT_EQ(ScanAll("a").size(), 3u);
  EXPECT_FALSE(engine_->Verify()->problems.empty());
}

// A process that may open no more files knows nothing of those that it did not open.
TEST_F(SealTroubleTest, TooFewDescriptorsAreNoDamage) {
  const auto faults = std::make_shared<FaultFileSystem>();
  fs_ = faults;
  Reopen();
  for (int i = 0; i < 50; ++i) MustAppend("a", kStartMs + i * 1000, i);
  ASSERT_TRUE(Seal().ok());
  for (int i = 0; i < 50; ++i) MustAppend("b", kStartMs + i * 1000, i);
  Rotate();
  Reopen();
  const Fault fault = {.op = FaultOp::kRead, .kind = FileKind::kSst, .forever = true,
                       .error = FaultError::kTooManyFiles};
  faults->Arm(fault);
  const auto report = engine_->Verify();
  faults->Disarm();
  EXPECT_EQ(report.status().code(), StatusCode::kTooManyOpenFiles) << report.status().ToString();
  EXPECT_NE(report.status().message().find("ulimit -n"), std::string::npos)
      << report.status().ToString();
  EXPECT_EQ(engine_->GetMetrics().versions_quarantined, 0u);
  ASSERT_TRUE(engine_->Verify().ok());
  EXPECT_TRUE(engine_->Verify()->problems.empty());
  // Neither does an opening, wherever it runs out of them.
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  uint64_t refused = 0;
  for (Fault late = fault;; ++late.nth) {
    faults->Arm(late);
    auto opened = TryOpen(options_);
    const bool was_met = faults->injected() > 0;
    faults->Disarm();
    if (opened.ok()) {
      EXPECT_TRUE((*opened)->Recovery().clean) << (*opened)->Recovery().notes.front();
      EXPECT_TRUE((*opened)->Close().ok());
    } else {
      ++refused;
      EXPECT_EQ(opened.status().code(), StatusCode::kTooManyOpenFiles)
          << late.nth << ": " << opened.status().ToString();
    }
    if (!was_met) break;
  }
  EXPECT_GT(refused, 0u);
  Open();
  EXPECT_EQ(ScanAll("a").size(), 50u);
  EXPECT_EQ(ScanAll("b").size(), 50u);
}

TEST_F(SealTroubleTest, VerifyComparesTheOutboxWithTheManifests) {
  MustAppend("a", kStartMs, 1);
  MustAppend("b", kStartMs, 1);
  ASSERT_EQ(Seal()->buckets, 2u);
  ExpectSound();
  const auto view = Core()->store().spills().view();
  rocksdb::DB* db = view->meta->db();
  const uint64_t window = view->windows.front()->id;
  const auto first = [&](const std::string& prefix) {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, view->meta->handle()));
    it->Seek(prefix);
    return std::pair(it->key().ToString(), it->value().ToString());
  };
  const auto expect_problem = [&](const std::string& what) {
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(std::any_of(report->problems.begin(), report->problems.end(),
                            [&](const std::string& p) { return p.find(what) != p.npos; }))
        << what << "\n" << (report->problems.empty() ? "" : report->problems.back());
  };
  for (const auto& [prefix, what] :
       {std::pair(OutboxKeyFrom(window), "the outbox has 1 of its 2 seals"),
        std::pair(ManifestKeyFrom(window, ""), "which has no manifest")}) {
    const auto [key, value] = first(prefix);
    ASSERT_TRUE(key.starts_with(prefix));
    ASSERT_TRUE(db->Delete({}, view->meta->handle(), key).ok());
    expect_problem(what);
    ASSERT_TRUE(db->Put({}, view->meta->handle(), key, value).ok());
    ExpectSound();
  }
  const auto [key, value] = first(OutboxKeyFrom(window));
  ASSERT_TRUE(db->Put({}, view->meta->handle(), key, value + "x").ok());
  expect_problem("an outbox entry does not parse");
}

TEST_F(SealTroubleTest, ADeleteIsAWriteLikeAnother) {
  options_.seal_grace_s = options_.seal_idle_s = 300;
  Reopen();
  clock_->AdvanceSeconds(3 * 86'400);  // the first day is over
  const auto delete_one = [&](int64_t at_ms) {
    const auto deleted = engine_->DeleteRange("pumps", Entity("a"), {at_ms, at_ms + 1});
    ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  };
  delete_one(kStartMs);
  EXPECT_EQ(Seal(/*due_only=*/true)->buckets, 0u) << "it came just now";
  clock_->AdvanceSeconds(200);
  delete_one(kStartMs + 5);
  clock_->AdvanceSeconds(200);
  EXPECT_EQ(Seal(/*due_only=*/true)->buckets, 0u) << "not idle for 300 s";
  clock_->AdvanceSeconds(101);
  EXPECT_EQ(Seal(/*due_only=*/true)->buckets, 1u);
}

TEST_F(SealTroubleTest, DeletesThatNewerOnesCoverAreNotKept) {
  for (int round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(
          engine_->DeleteRange("pumps", Entity("a"), {kStartMs + i, kStartMs + i + 1}).ok());
    }
    ASSERT_TRUE(engine_->Rotate().ok());
  }
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {kStartMs, kStartMs + 50}).ok());
  ASSERT_EQ(Seal()->buckets, 1u);
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_sealed, 51u) << "the last one, and 50 that it does not cover";
  EXPECT_EQ(m.versions_superseded, 250u);
  ExpectSound();
}

TEST_F(SealTroubleTest, VerifySeesOneMomentWhileOthersSeal) {
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int64_t i = 0; !done; ++i) {
      const std::string pump(1, static_cast<char>('a' + i % 7));
      const Status appended = Append(pump, kStartMs + i * 500, 1);
      ASSERT_TRUE(appended.ok()) << appended.ToString();
      if (i % 20 != 0) continue;
      const auto report = Seal();
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      ASSERT_TRUE(report->problems.empty()) << report->problems.front();
    }
  });
  for (int i = 0; i < 60; ++i) {
    const auto report = engine_->Verify();
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    if (!report.ok()) break;
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
    uint64_t listed = 0;
    EXPECT_TRUE(engine_
                    ->ListBuckets([&](const BucketInfo& info) {
                      listed += info.versions;
                      return true;
                    })
                    .ok());
  }
  done = true;
  writer.join();
  ExpectSound();
}

TEST_F(SealTroubleTest, AbsurdTimesAreRefused) {
  for (const int64_t seconds : {int64_t{-1}, INT64_MAX}) {
    EngineOptions options = options_;
    options.seal_idle_s = seconds;
    EXPECT_EQ(TryOpen(options).status().code(), StatusCode::kInvalidArgument);
    options = options_;
    options.seal_grace_s = seconds;
    EXPECT_EQ(TryOpen(options).status().code(), StatusCode::kInvalidArgument);
  }
}

// The disk fills up between the choice of a round and its flush.
class SealFullDiskTest : public SealTroubleTest {
 protected:
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    faults_->SetDiskBytes(64 << 20);
    fs_ = faults_;
    SealTroubleTest::SetUp();
  }
  // With the ballast gone.
  void LeaveFree(uint64_t bytes) {
    faults_->SetForeignBytes((64 << 20) - faults_->used_bytes());
    Core()->store().MakeDeviceRoom(1 << 20).IgnoreError();
    EXPECT_EQ(Core()->store().ballast_spare_bytes(), 0u);
    faults_->SetForeignBytes((64 << 20) - faults_->used_bytes() - bytes);
  }
  // Rows of 64 KiB: a few are more than pages wait in memory for.
  void AppendWide(int64_t from_ms, int rows, std::string_view sensor = "a") {
    Rng rng(static_cast<uint64_t>(from_ms));
    for (int row = 0; row < rows; ++row) {
      std::string noise(64 * 1024, ' ');
      for (char& c : noise) c = static_cast<char>('!' + rng.Below(90));
      RowBatch batch(schema_);
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, sensor).ok());
      ASSERT_TRUE(batch.SetInt(2, from_ms + row).ok());
      ASSERT_TRUE(batch.SetBytes(4, noise).ok());
      ASSERT_TRUE(batch.EndRow().ok());
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    Rotate();
  }
  // A bucket that was sealed gets rows, and the room for their round is lost on the way.
  void LoseTheRoomOnTheWay() {
    AppendWide(kStartMs, 1);
    ASSERT_EQ(Seal()->buckets, 1u);
    AppendWide(kStartMs + 1000, 4);
    DoAt("spill:before_pages", [&] { LeaveFree(1 << 20); });
    ASSERT_EQ(Seal().status().code(), StatusCode::kNoSpace) << "before its flush";
  }
  std::shared_ptr<FaultFileSystem> faults_;
};

TEST_F(SealFullDiskTest, ARoundWithoutRoomIsGivenUpAndNothingHasFailed) {
  for (int i = 0; i < 50; ++i) MustAppend("a", kStartMs + i * 1000, i);
  ASSERT_TRUE(engine_->Rotate().ok());
  const Rows before = ScanAll("a");
  const auto fill = [&] { LeaveFree(100'000); };
  fill();
  EXPECT_EQ(Seal().status().code(), StatusCode::kNoSpace) << "before it begins";
  faults_->SetForeignBytes(0);
  DoAt("seal:after_create", fill);
  EXPECT_EQ(Seal().status().code(), StatusCode::kNoSpace) << "before its flush";
  EXPECT_EQ(faults_->injected(), 0u) << "RocksDB met the full disk itself";
  EXPECT_TRUE(Core()->committer().failure().ok());
  EXPECT_EQ(ScanAll("a"), before);
  faults_->SetForeignBytes(0);
  EXPECT_EQ(Seal()->buckets, 1u);
  EXPECT_EQ(ScanAll("a"), before);
  ExpectSound();
}

// What a round has written into a window that was there stays in it when the round is given up:
// that is not to happen again and again.
TEST_F(SealFullDiskTest, WhatWasWrittenInVainAsksForTwiceTheRoom) {
  LoseTheRoomOnTheWay();
  constexpr uint64_t kEnough = (2 << 20) + (600 << 10);  // 2 MiB beside twice the rows
  uint64_t pages = 0;
  DoAt("spill:before_pages", [&] { ++pages; });
  LeaveFree(kEnough);
  const auto refused = Seal();
  EXPECT_EQ(refused.status().code(), StatusCode::kNoSpace);
  EXPECT_EQ(pages, 0u) << "written in vain again";
  LeaveFree((2 << 20) + (1200 << 10));  // ... or four times
  EXPECT_EQ(Seal()->amendments, 1u);
  // Once is enough to begin as before.
  faults_->SetForeignBytes(0);
  AppendWide(kStartMs + 2000, 4);
  LeaveFree(kEnough);
  EXPECT_EQ(Seal()->amendments, 1u);
  ExpectSound();
}

// A round is chosen as large as the room that it will ask for.
TEST_F(SealFullDiskTest, AfterOneThatWasGivenUpRoundsAreSmallerRatherThanNone) {
  LoseTheRoomOnTheWay();
  faults_->SetForeignBytes(0);
  for (const char* sensor : {"b", "c", "d", "e", "f"}) AppendWide(kStartMs, 16, sensor);
  LeaveFree(10 << 20);  // for twice the room of 1.5 MiB, not of all 5
  const auto report = Seal();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->buckets, 6u);
  ExpectSound();
}

TEST_F(SealFullDiskTest, ADayLaterARoundBeginsAsBefore) {
  LoseTheRoomOnTheWay();
  LeaveFree((2 << 20) + (600 << 10));
  clock_->AdvanceSeconds(86'400 - 1);
  EXPECT_EQ(Seal().status().code(), StatusCode::kNoSpace);
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(Seal()->amendments, 1u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
