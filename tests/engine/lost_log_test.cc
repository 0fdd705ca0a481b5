// Logs that are gone behind what was acknowledged: the copy of the catalog knows what they had of
// it, whether or not the file ACK tells of the rows already.
#include "storage/catalog_copy.h"
#include "storage/keyspace.h"
#include "storage/seal_records.h"
#include "tests/engine/left_store_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

class LostLogTest : public LeftStoreFixture {
 protected:
  // Goes on with a copy of what is left, without the logs whose bits are set.
  void GoOnWithout(const std::string& left, unsigned gone) {
    directory_ = (fs::path(temp_.path()) / ("gone-" + std::to_string(gone))).string();
    fs::remove_all(directory_);
    fs::copy(left, directory_, fs::copy_options::recursive);
    const auto logs = FilesOf(FileKind::kWal);
    for (size_t i = 0; i < logs.size(); ++i) {
      if ((gone >> i & 1) != 0) Remove(logs[i]);
    }
  }
  // As EndAt, and ACK knows that the log is on the device.
  template <typename Work>
  std::string EndSyncedAt(const std::string& point, const Work& work) {
    const auto core = Core();
    return EndAt(point, work, [&core] {
      EXPECT_TRUE(core->store().WriteBeacon(core->store().beacon_sequence()).ok());
    });
  }
  // The newest one, in its middle.
  void DamageLog() {
    const std::string log = PathOf(FilesOf(FileKind::kWal).back());
    FlipBit(log, static_cast<int64_t>(fs::file_size(log) / 2));
  }
  void RemoveLogs() {
    for (const std::string& log : FilesOf(FileKind::kWal)) Remove(log);
  }
  // Two buckets are sealed, one after the other, and the log with the second seal is damaged.
  void LoseTheSealOfB() {
    Write("a", kStartMs, 1);
    Write("b", kStartMs, 2);
    Rotate();
    Reopen();
    SealOf("a");
    const std::string left = EndSyncedAt("seal:after_commit", [this] { SealOf("b"); });
    Shut();
    directory_ = left;
    DamageLog();
    Open();
    ASSERT_NE(engine_, nullptr);
    EXPECT_FALSE(engine_->Recovery().clean);
  }
  // As it is said once and is so from then on.
  void ExpectTakenBack() {
    for (int opening = 0; opening < 3; ++opening) {
      Open();
      ASSERT_NE(engine_, nullptr);
      EXPECT_EQ(engine_->Recovery().clean, opening > 0) << opening;
      EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
      for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
      ExpectSound();
      Shut();
    }
  }
};

// A log stays behind its repair. What is written then is in logs behind the damage, and is synced.
TEST_F(LostLogTest, WhatIsWrittenBehindADamagedLogStays) {
  ASSERT_NO_FATAL_FAILURE(LoseTheSealOfB());
  for (int64_t opening = 0; opening < 3; ++opening) {
    Write("c", kStartMs + opening, 3);
    Reopen();
    EXPECT_TRUE(engine_->Recovery().clean);
    EXPECT_EQ(ScanAll("c").size(), static_cast<size_t>(opening + 1));
  }
  ExpectSound();
}

// A rotation is acknowledged, and within the second logs are lost.
class LostRotationLogTest : public LostLogTest,
                            public ::testing::WithParamInterface<const char*> {};

// At each point of a rotation, and of what it leaves any logs. Rows that are in no file but a lost
// one are gone, and no others.
TEST_P(LostRotationLogTest, NothingThatWasRotatedIsLost) {
  Write("a", kStartMs, 1);
  Rotate();
  Reopen();  // of the first rotation nothing is in a log
  Write("b", kStartMs, 2);
  ASSERT_TRUE(Core()->store().ReleaseLogs().ok());
  Write("b", kStartMs + 1, 3);  // in another log
  ASSERT_TRUE(Core()->committer().Freeze());
  Write("c", kStartMs, 4);  // in the same log, and not of the rotation
  for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
  const std::string with_rows = FilesOf(FileKind::kWal).back();
  const std::string left = EndAt(GetParam(), [this] { Rotate(); });
  Shut();
  GoOnWithout(left, 0);
  const auto logs = FilesOf(FileKind::kWal);
  ASSERT_GE(logs.size(), 1u);
  ASSERT_LE(logs.size(), 4u);
  for (unsigned gone = 0; gone < 1u << logs.size(); ++gone) {
    SCOPED_TRACE("logs " + std::to_string(gone) + " of " + std::to_string(logs.size()));
    GoOnWithout(left, gone);
    const bool has_rows = fs::exists(PathOf(with_rows));
    for (int opening = 0; opening < 2; ++opening) {
      Open();
      ASSERT_NE(engine_, nullptr);
      EXPECT_TRUE(engine_->Recovery().clean || (gone != 0 && opening == 0));
      EXPECT_EQ(ScanAll("a"), expected_["a"]);
      EXPECT_EQ(ScanAll("b"), expected_["b"]);
      EXPECT_EQ(ScanAll("c"), has_rows ? expected_["c"] : Rows());
      ExpectSound();
      Shut();
    }
  }
  // Without the database the copy says the same.
  expected_["c"].clear();
  for (const std::string& manifest : FilesOf(FileKind::kManifest)) Remove(manifest);
  ExpectSalvaged();
}

INSTANTIATE_TEST_SUITE_P(Points, LostRotationLogTest,
                         ::testing::Values("catalog:after_first", "catalog:after_second",
                                           "spill:after_commit", "journal:before_drop",
                                           "journal:after_drop", "meta:after_flush"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

// RocksDB gives up all logs behind a damaged one. Each opening begins one, and keeps the one before
// for its rows.
TEST_F(LostLogTest, InASalvageADamagedLogTakesNoOtherWithIt) {
  Write("a", kStartMs, 1);
  Reopen();
  Write("b", kStartMs, 2);
  Write("c", kStartMs, 3);
  ASSERT_TRUE(Core()->store().WriteBeacon(Core()->committer().last_sequence()).ok());
  for (const char* sensor : {"b", "c"}) expected_[sensor] = ScanAll(sensor);
  const std::string left = CopyStore();
  Shut();
  GoOnWithout(left, 0);
  const std::vector<std::string> logs = FilesOf(FileKind::kWal);
  ASSERT_GE(logs.size(), 2u);
  const auto size_bytes = static_cast<int64_t>(fs::file_size(PathOf(logs[0])));
  for (int64_t at = 4; at < size_bytes; at += 29) {
    SCOPED_TRACE(at);
    GoOnWithout(left, 0);
    FlipBit(PathOf(logs[0]), at);
    ExpectSalvaged();
    EXPECT_FALSE(problems_.empty());
  }
}

// A salvage opens the database, and reads what the copy gives back.
TEST_F(LostLogTest, ASalvageKnowsWhatTheLogsHad) {
  Write("a", kStartMs, 1);
  Rotate();
  Reopen();
  Write("b", kStartMs, 2);
  for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
  const std::string left = EndAt("journal:after_drop", [this] { Rotate(); });
  Shut();
  directory_ = left;
  RemoveLogs();
  ExpectSalvaged();
}

TEST_F(LostLogTest, ATableIsTakenBack) {
  Write("a", kStartMs, 1);
  Rotate();
  const Status made = engine_->CreateTable(kValves);
  ASSERT_TRUE(made.ok()) << made.ToString();
  const std::string left = CopyStore();
  Shut();
  directory_ = left;
  RemoveLogs();
  for (int opening = 0; opening < 2; ++opening) {
    Open();
    EXPECT_EQ(engine_->ListTables().size(), 2u);
    Shut();
  }
}

// The log had the end of a window, whose family is gone by the MANIFEST.
class LostEndTest : public LostLogTest {
 protected:
  LostEndTest() { options_.keep_confirmed_s = 86'400; }
  // A window that is confirmed and ended, with the logs of that lost.
  void EndWindowAndLoseLogs() {
    ConfirmAll();
    clock_->AdvanceSeconds(40 * 86'400);
    const auto expired = engine_->Expire();
    ASSERT_TRUE(expired.ok()) << expired.status().ToString();
    ASSERT_EQ(expired->windows, 1u);
    for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
    ASSERT_TRUE(expected_["a"].empty());
    const std::string left = CopyStore();
    Shut();
    directory_ = left;
    RemoveLogs();
  }
};

TEST_F(LostEndTest, AWindowThatWasForgottenHasEnded) {
  Write("a", kStartMs, 1);
  SealAll();
  EndWindowAndLoseLogs();
  ExpectTakenBack();
}

// A spill family has other rows, so that the window's manifests are needed still.
TEST_F(LostEndTest, WhatWasSealedInItDoesNotRise) {
  Write("a", kStartMs, 1);
  clock_->AdvanceSeconds(5 * 86'400);
  Write("b", kStartMs + 5 * kDayMs, 2);
  Rotate();
  SealOf("a");
  EndWindowAndLoseLogs();
  ASSERT_EQ(expected_["b"].size(), 1u);
  ExpectTakenBack();
}

// Which of them expired, and which was dropped unconfirmed, the copy does not tell.
TEST_F(LostEndTest, WindowsThatEndedForSeveralReasons) {
  Write("a", kStartMs, 1);
  SealAll();
  const auto unconfirmed = NamesInOutbox(Core()->store().spills().view());
  clock_->AdvanceSeconds(30 * 86'400);
  for (int64_t i = 0; i < 3; ++i) Write("b", kStartMs + 30 * kDayMs + i, 2);
  SealAll();
  auto names = NamesInOutbox(Core()->store().spills().view());
  ASSERT_TRUE(unconfirmed.ok() && names.ok());
  std::erase_if(*names, [&](const auto& name) { return name.seal == unconfirmed->front().seal; });
  ASSERT_EQ(names->size(), 1u);
  ASSERT_TRUE(TryConfirm(*names, ProofLevel::kCount).ok());
  options_.keep_unconfirmed_s = 86'400;
  Reopen();
  clock_->AdvanceSeconds(40 * 86'400);
  const auto expired = engine_->Expire();
  ASSERT_TRUE(expired.ok()) << expired.status().ToString();
  ASSERT_EQ(expired->windows, 2u);
  ASSERT_EQ(expired->versions_shed, 1u);
  for (const char* sensor : kSensors) expected_[sensor].clear();
  const std::string left = CopyStore();
  Shut();
  directory_ = left;
  RemoveLogs();
  ExpectTakenBack();
}

// A later log has the state record, which counts the window as gone.
TEST_F(LostEndTest, AnEndThatALaterLogCounts) {
  Write("a", kStartMs, 1);
  clock_->AdvanceSeconds(5 * 86'400);
  Write("b", kStartMs + 5 * kDayMs, 2);
  Rotate();
  SealOf("a");
  ConfirmAll();
  ASSERT_TRUE(Core()->store().ReleaseLogs().ok());
  Reopen();
  clock_->AdvanceSeconds(40 * 86'400);
  const auto expired = engine_->Expire();
  ASSERT_TRUE(expired.ok()) << expired.status().ToString();
  ASSERT_EQ(expired->windows, 1u);
  const std::string with_end = FilesOf(FileKind::kWal).back();
  Write("c", kStartMs + 5 * kDayMs, 3);
  for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
  ASSERT_TRUE(expected_["a"].empty());
  const std::string left = EndAt("spill:after_commit", [this] { Rotate(); });
  Shut();
  directory_ = left;
  ASSERT_TRUE(fs::exists(PathOf(with_end)));
  Remove(with_end);
  ExpectTakenBack();
}

// An opening passes what is lost by a commit, and reports it behind that.
TEST_F(LostLogTest, ALossIsReportedThoughTheOpeningThatMetItDidNotEnd) {
  Write("a", kStartMs, 1);
  Rotate();
  Reopen();
  Write("b", kStartMs, 2);
  ASSERT_TRUE(Core()->store().WriteBeacon(Core()->committer().last_sequence()).ok());
  const std::string lost = CopyStore();
  Shut();
  for (const char* point : {"catalog:after_first", "spill:after_commit"}) {
    SCOPED_TRACE(point);
    GoOnWithout(lost, ~0u);
    const std::string left = EndAt(point, [this] { Open(); });
    ASSERT_NE(engine_, nullptr);
    EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
    const uint64_t sequence = engine_->Recovery().lost_sequence_first;
    EXPECT_GT(sequence, 0u);
    EXPECT_EQ(engine_->Recovery().lost_sequence_last, sequence);
    Shut();
    directory_ = left;
    Open();
    ASSERT_NE(engine_, nullptr);
    EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
    EXPECT_EQ(engine_->Recovery().lost_sequence_first, sequence);
    EXPECT_EQ(engine_->Recovery().lost_sequence_last, sequence);
    EXPECT_EQ(ScanAll("a").size(), 1u);
    EXPECT_EQ(ScanAll("b"), Rows());
    ExpectSound();
    Reopen();
    EXPECT_TRUE(engine_->Recovery().clean);
    Shut();
    fs::remove_all(left);
  }
}

// A round whose commit was lost with the log is no round of the window, in the copy neither.
TEST_F(LostLogTest, ARoundThatWasLostIsNotInTheCopy) {
  ASSERT_NO_FATAL_FAILURE(LoseTheSealOfB());
  EXPECT_EQ(ScanAll("b").size(), 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_open, 1u) << "it is open again";
  ConfirmAll();  // the copy gets the window's record
  Write("c", kStartMs, 3);
  Rotate();
  Reopen();
  EXPECT_TRUE(engine_->Recovery().clean);
  ExpectSound();
  Shut();
  const auto copy = CatalogCopy::Read(rocksdb::FileSystem::Default().get(), directory(), "");
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  size_t windows = 0;
  for (const auto& [key, value] : copy->records) {
    if (key[0] != 'W') continue;
    const auto window = DecodeWindow(value);
    const auto rounds = DecodeSealRounds(copy->records.at("R" + key.substr(1)));
    ASSERT_TRUE(window.ok() && rounds.ok());
    uint64_t seals = 0;
    for (const SealRound& round : *rounds) seals += CountSequences(round.indexes);
    EXPECT_EQ(seals, window->seal_count);
    ++windows;
  }
  EXPECT_EQ(windows, 1u);
}

// Many small rotations are gathered in another family, and the one that they were in is dropped.
class LostRewritingTest : public LostLogTest {
 protected:
  void GatherUntil(const std::string& point) {
    const std::string left = EndSyncedAt(point, [this] {
      for (int i = 0; i < 100 && !HasLeft(); ++i) {
        Write(kSensors[i % 3], kStartMs + i, i);
        Rotate();
      }
    });
    for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
    Shut();
    directory_ = left;
  }
};

TEST_F(LostRewritingTest, WhatWasRewrittenIsReadWhereItIs) {
  GatherUntil("spill:after_drop");
  RemoveLogs();
  ExpectTakenBack();
}

// The damage is in the commit, and its source is there still.
TEST_F(LostRewritingTest, WhatWasNotDroppedIsReadOnce) {
  GatherUntil("spill:before_drop");
  DamageLog();
  ExpectTakenBack();
}

}  // namespace
}  // namespace cistern::testing
