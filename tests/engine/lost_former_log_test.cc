// An older log that is gone or damaged, beside a newer one that builds on it.
#include "storage/keyspace.h"
#include "tests/engine/left_store_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

class LostFormerLogTest : public LeftStoreFixture {
 protected:
  // One rotation of all sensors, of which b and c are sealed; no log has anything of it.
  void Begin() {
    Write("a", kStartMs, 1);
    Write("b", kStartMs, 2);
    Write("c", kStartMs, 3);
    Rotate();
    SealOf("b");
    SealOf("c");
    ASSERT_TRUE(Core()->store().ReleaseLogs().ok());
    Reopen();
  }
  SealName NameOf(const std::string& sensor) {
    auto names = NamesInOutbox(Core()->store().spills().view());
    EXPECT_TRUE(names.ok()) << names.status().ToString();
    std::erase_if(*names, [&](const SealName& n) { return !n.bucket.entity.ends_with(sensor); });
    EXPECT_EQ(names->size(), 1u) << sensor;
    return names->empty() ? SealName{} : names->front();
  }
  void Confirm(const std::string& sensor) {
    const Status confirmed = TryConfirm({NameOf(sensor)}, ProofLevel::kRows);
    ASSERT_TRUE(confirmed.ok()) << confirmed.ToString();
  }
  uint64_t CountWaiting() {
    const auto names = NamesInOutbox(Core()->store().spills().view());
    EXPECT_TRUE(names.ok()) << names.status().ToString();
    return names.ok() ? names->size() : 0;
  }
  // Ends the process with its logs on the device, which ACK knows, and goes on with what it left.
  void LeaveSynced() {
    const uint64_t last = Core()->committer().last_sequence();
    ASSERT_TRUE(Core()->store().WriteBeacon(last).ok());
    directory_ = CopyStore();
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  void Expect() {
    for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
    confirmed_ = engine_->GetMetrics().versions_confirmed;
  }
};

// What a process did behind its last flush of meta, and where it ended.
struct FirstLife {
  std::string name;
  std::string point;  // empty: it was killed at its leisure
};

class LostLifeTest : public LostFormerLogTest,
                     public ::testing::WithParamInterface<FirstLife> {
 protected:
  void Live() {
    const std::string& deed = GetParam().name;
    if (deed.starts_with("confirmation")) Confirm("c");
    if (deed.starts_with("seal")) SealOf("a");
    if (!deed.starts_with("rotation")) return;
    Write("a", kStartMs + 1, 4);
    Rotate();
  }
};

// Each opening begins a log. It leaves no log before in which anything but rows is needed.
TEST_P(LostLifeTest, TheNextProcessDoesNotBuildOnIt) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  const std::string& point = GetParam().point;
  if (point.empty()) Live();
  const std::string left = point.empty() ? CopyStore() : EndAt(point, [this] { Live(); });
  Shut();
  directory_ = left;
  const auto former = FilesOf(FileKind::kWal);
  Open();
  Confirm("b");
  Expect();
  const uint64_t waiting = CountWaiting();
  const std::string next = CopyStore();
  Shut();
  directory_ = next;
  for (const std::string& log : former) Remove(log);
  Open();
  ASSERT_NE(engine_, nullptr);
  EXPECT_TRUE(engine_->Recovery().clean);
  for (const char* sensor : kSensors) EXPECT_EQ(ScanAll(sensor), expected_[sensor]) << sensor;
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, confirmed_);
  EXPECT_EQ(engine_->GetMetrics().versions_quarantined, 0u);
  EXPECT_EQ(CountWaiting(), waiting);
  ExpectSound();
}

INSTANTIATE_TEST_SUITE_P(Lives, LostLifeTest,
                         ::testing::Values(FirstLife{"confirmation", ""},
                                           FirstLife{"seal", "seal:after_commit"},
                                           FirstLife{"rotation_committed", "spill:after_commit"},
                                           FirstLife{"rotation_alone", "journal:after_drop"}),
                         [](const auto& of) { return of.param.name; });

// Each process codes its rows anew: those that follow the lost ones of the former process are read.
TEST_F(LostFormerLogTest, RowsOfTheNextProcessAreRead) {
  Write("a", kStartMs, 1);
  const auto former = FilesOf(FileKind::kWal);
  Reopen();
  Write("b", kStartMs, 2);
  Write("c", kStartMs, 3);
  Write("b", kStartMs + 1, 4);
  for (const char* sensor : {"b", "c"}) expected_[sensor] = ScanAll(sensor);
  directory_ = CopyStore();
  ASSERT_TRUE(engine_->Close().ok());
  for (const std::string& log : former) Remove(log);
  ExpectSalvaged();
  for (int opening = 0; opening < 2; ++opening) {
    Open();
    ASSERT_NE(engine_, nullptr);
    EXPECT_EQ(engine_->Recovery().recovered_with_loss, opening == 0);
    EXPECT_EQ(engine_->Recovery().lost_record_count, opening == 0 ? 1u : 0u);
    EXPECT_EQ(ScanAll("a"), Rows());
    for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
    ExpectSound();
    Shut();
  }
}

// Two logs of one process: the flush of a round begins the second one.
class LostFirstLogTest : public LostFormerLogTest {
 protected:
  void BeginNextLog() {
    first_ = FilesOf(FileKind::kWal).back();
    const auto view = Core()->store().spills().view();
    const auto round = Core()->store().NextSequence();
    ASSERT_TRUE(round.ok());
    // It came to nothing: what it wrote is in no manifest.
    rocksdb::DB* db = Core()->store().db().db();
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    rocksdb::ColumnFamilyHandle* window = view->windows.front()->family->handle();
    ASSERT_TRUE(db->Put(unlogged, window, ExtentKey({.rotation = *round}), "").ok());
    ASSERT_TRUE(db->Flush(rocksdb::FlushOptions(), window).ok());
    ASSERT_LT(first_, FilesOf(FileKind::kWal).back());
  }
  // By the record two of three seals are confirmed, and the third too once one is sent again.
  void ConfirmInTwoLogs() {
    ASSERT_NO_FATAL_FAILURE(Begin());
    SealOf("a");
    Reopen();
    Confirm("a");
    BeginNextLog();
    Confirm("b");
    Expect();
    LeaveSynced();
  }
  void RemoveManifestOf(const std::string& sensor) {
    const SealName lost = NameOf(sensor);
    const auto view = Core()->store().spills().view();
    for (const auto& window : view->windows) {
      ASSERT_TRUE(view->meta->db()
                      ->Delete({}, view->meta->handle(),
                               ManifestKey(window->id, lost.bucket, lost.seal))
                      .ok());
    }
  }
  // What upstream has is not known of a: it waits again, and c is not hidden.
  void ExpectAllWaitButB() {
    Open();
    ASSERT_NE(engine_, nullptr);
    EXPECT_FALSE(engine_->Recovery().clean);
    EXPECT_EQ(CountWaiting(), 2u);
    EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 1u);
    ExpectSound();
    Confirm("a");
    EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 2u);
    Confirm("c");
    Reopen();
    ASSERT_NE(engine_, nullptr);
    EXPECT_TRUE(engine_->Recovery().clean);
    EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 3u);
    ExpectSound();
  }

  std::string first_;
};

TEST_F(LostFirstLogTest, AConfirmationThatWasLostHidesNoSealThatWaits) {
  ASSERT_NO_FATAL_FAILURE(ConfirmInTwoLogs());
  Remove(first_);
  ExpectAllWaitButB();
}

TEST_F(LostFirstLogTest, ADamagedConfirmationHidesNoSealThatWaits) {
  ASSERT_NO_FATAL_FAILURE(ConfirmInTwoLogs());
  FlipBit(PathOf(first_), static_cast<int64_t>(fs::file_size(PathOf(first_)) / 2));
  Open();
  ASSERT_NE(engine_, nullptr);
  EXPECT_FALSE(engine_->Recovery().clean);
  const uint64_t waiting = CountWaiting();
  EXPECT_GE(waiting, 2u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed + waiting, 3u);
  ExpectSound();
}

// The record counts a seal that has no manifest. Its rows would rise, and be dropped as sealed.
TEST_F(LostFirstLogTest, ASealThatWasLostShutsTheStoreAndIsSalvaged) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  SealOf("a");
  Reopen();
  Confirm("b");
  Expect();
  RemoveManifestOf("a");
  Shut();
  ExpectDoesNotOpen();
  ExpectSalvaged();
}

// RocksDB has brought what it read of the damaged log into files by then.
TEST_F(LostFirstLogTest, ARepairThatDidNotEndIsNotForgotten) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  SealOf("a");
  Reopen();
  Confirm("c");
  BeginNextLog();
  Confirm("b");
  Expect();
  RemoveManifestOf("a");
  LeaveSynced();
  FlipBit(PathOf(first_), static_cast<int64_t>(fs::file_size(PathOf(first_)) / 2));
  for (int opening = 0; opening < 3; ++opening) ExpectDoesNotOpen();
  EngineOptions reader = options_;
  reader.read_only = true;
  const auto read = TryOpen(reader);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_FALSE((*read)->Recovery().clean);
  ExpectSalvaged();
}

// RocksDB brings journals into tables where it gives damaged records up, and their logs go.
TEST_F(LostFirstLogTest, RowsOfARepairAreReadWithoutTheCatalog) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  SealOf("a");
  Reopen();
  Confirm("a");
  BeginNextLog();
  Confirm("b");
  Write("c", kStartMs + 1, 4);
  LeaveSynced();
  FlipBit(PathOf(first_), static_cast<int64_t>(fs::file_size(PathOf(first_)) / 2));
  Open();
  ASSERT_NE(engine_, nullptr);
  Expect();
  EXPECT_EQ(expected_["c"].size(), 2u);
  confirmed_ = 2;  // by the copy, which knows of a too
  Shut();
  ASSERT_FALSE(TablesOf("journal-").empty());
  for (const std::string& manifest : FilesOf(FileKind::kManifest)) Remove(manifest);
  ExpectSalvaged();
}

// RocksDB stops at the first damage of a log where that is to give a state of some moment.
TEST_F(LostFormerLogTest, ASalvageReadsTheNextGenerationBehindTheDamage) {
  Reopen();
  for (int64_t i = 0; i < 2000; ++i) {
    Write("a", kStartMs + i, 0.1 * static_cast<double>(i * i));
  }
  const std::string log = FilesOf(FileKind::kWal).back();
  ASSERT_GT(fs::file_size(PathOf(log)), 64u * 1024);
  ASSERT_TRUE(Core()->committer().Freeze());
  Write("b", kStartMs, 2);
  expected_["b"] = ScanAll("b");
  LeaveSynced();
  FlipBit(PathOf(log), 100);
  ExpectSalvaged();
  EXPECT_FALSE(problems_.empty());
}

// The damage is in rows that were rotated since, and a generation of rows goes on behind it.
TEST_F(LostFirstLogTest, ASalvageReadsBehindTheDamage) {
  constexpr int64_t kRows = 2000;
  for (int64_t i = 0; i < kRows; ++i) Write("a", kStartMs + i, 0.1 * static_cast<double>(i * i));
  const std::string log = FilesOf(FileKind::kWal).back();
  ASSERT_GT(fs::file_size(PathOf(log)), 64u * 1024);
  ASSERT_TRUE(Core()->committer().Freeze());
  Write("b", kStartMs, 2);  // of the next generation, in the same log
  Expect();
  const auto core = Core();
  const std::string left = EndAt("meta:after_flush", [this] { Rotate(); }, [&core] {
    EXPECT_TRUE(core->store().WriteBeacon(core->store().beacon_sequence()).ok());
  });
  Shut();
  directory_ = left;
  ASSERT_TRUE(fs::exists(PathOf(log)));
  FlipBit(PathOf(log), 100);
  ExpectSalvaged();
}

}  // namespace
}  // namespace cistern::testing
