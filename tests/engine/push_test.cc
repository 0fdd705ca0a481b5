// What is remembered of seals that are pushed: how far they are, that upstream refused them. It
// follows its seal wherever that goes, and the counters with it.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/replication_service.h"
#include "tests/engine/push_fixture.h"

namespace cistern::testing {
namespace {

class PushTest : public PushFixture {
 protected:
  rocksdb::DB* Db() { return TheStore().spills().view()->meta->db(); }
  rocksdb::ColumnFamilyHandle* Meta() { return TheStore().spills().view()->meta->handle(); }
  // Behind the engine's back.
  void PutRaw(const std::string& key, const std::string& value) {
    ASSERT_TRUE(Db()->Put({}, Meta(), key, value).ok());
  }
  void ExpectProblem(const std::string& words) {
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(std::any_of(report->problems.begin(), report->problems.end(),
                            [&](const auto& p) { return p.find(words) != std::string::npos; }))
        << report->problems.size() << " problems, none says: " << words;
  }
};

TEST_F(PushTest, WhatIsRememberedOutlivesTheProcess) {
  LiveDays(4);
  const std::vector<SealName> seals = Outbox();
  Note({{seals[0], Parked("no column celsius")}, {seals[1], Pushing("page 3")}});
  Note({{seals[1], Pushing("page 4")}});
  const auto look = [&](const char* when) {
    SCOPED_TRACE(when);
    const auto parked = TheStore().push(seals[0].seal);
    ASSERT_TRUE(parked);
    PushRecord expected = Parked("no column celsius");
    expected.bucket = seals[0].bucket;
    expected.version_count = 2;
    expected.window_id = Windows().front()->id;
    EXPECT_EQ(*parked, expected);
    const auto pushing = TheStore().push(seals[1].seal);
    ASSERT_TRUE(pushing);
    EXPECT_EQ(pushing->state, PushState::kPushing);
    EXPECT_EQ(pushing->position, "page 4");
    EXPECT_EQ(Noted(), (std::vector{seals[0].seal, seals[1].seal}));
    EXPECT_FALSE(TheStore().push(seals[2].seal));
    EXPECT_EQ(engine_->GetMetrics().versions_parked, 2u);
    EXPECT_EQ(engine_->GetMetrics().versions_waiting, 6u);
    ExpectReconciled();
  };
  look("at once");
  Crash();
  look("after a crash");
  Reopen();
  look("after a reopening");
  options_.read_only = true;
  Reopen();
  look("for who only reads");
}

TEST_F(PushTest, AnAnswerTakesAlongWhatIsRemembered) {
  LiveDays(3);
  const std::vector<SealName> seals = Outbox();
  Note({{seals[0], Parked("no")}, {seals[1], Pushing("p")}, {seals[2], Parked("no")}});
  Confirm({seals[0], seals[1]});
  EXPECT_EQ(Noted(), std::vector{seals[2].seal});
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 4u);
  EXPECT_EQ(engine_->GetMetrics().versions_waiting, 0u);
  ExpectReconciled();
  Note({{seals[0], Pushing("too late")}});
  EXPECT_EQ(Noted(), std::vector{seals[2].seal}) << "of what is confirmed nothing is remembered";
  Crash();
  EXPECT_EQ(Noted(), std::vector{seals[2].seal});
  ExpectReconciled();
}

// One that upstream refuses does not keep its window for ever where the options say so.
TEST_F(PushTest, AWindowThatEndsTakesAlongWhatIsRemembered) {
  options_.keep_unconfirmed_s = 20 * kDayS;
  Reopen();
  LiveDays(6);
  const std::vector<SealName> seals = Outbox();
  Note({{seals.front(), Parked("no")}, {seals.back(), Parked("no")}});
  ASSERT_NE(TheStore().push(seals.front().seal)->window_id,
            TheStore().push(seals.back().seal)->window_id);
  while (engine_->GetMetrics().versions_shed == 0) {
    clock_->AdvanceSeconds(kDayS);
    ASSERT_TRUE(engine_->Expire().ok());
  }
  EXPECT_EQ(Noted(), std::vector{seals.back().seal});
  EXPECT_EQ(engine_->GetMetrics().versions_parked, 2u);
  Note({{seals.front(), Parked("it comes once more")}});
  EXPECT_EQ(Noted(), std::vector{seals.back().seal});
  ExpectReconciled();
  Crash();
  EXPECT_EQ(Noted(), std::vector{seals.back().seal});
  ExpectReconciled();
}

TEST_F(PushTest, AMergeTakesAlongWhatIsRemembered) {
  LiveDays(12);
  const std::vector<SealName> seals = Outbox();
  Confirm({seals[4]});
  const std::vector<uint64_t> noted{seals[0].seal, seals[1].seal, seals[11].seal};
  Note({{seals[0], Parked("no")}, {seals[1], Pushing("p")}, {seals[11], Parked("no")}});
  const uint64_t window_before = TheStore().push(seals[0].seal)->window_id;
  LiveDays(20);
  ASSERT_GT(engine_->GetMetrics().window_merges, 0u);
  const auto moved = TheStore().push(seals[0].seal);
  ASSERT_TRUE(moved);
  EXPECT_NE(moved->window_id, window_before);
  EXPECT_EQ(moved->words, "no");
  EXPECT_EQ(TheStore().push(seals[1].seal)->position, "p");
  EXPECT_EQ(Noted(), noted);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 2u);
  ExpectReconciled();
  Crash();
  EXPECT_EQ(Noted(), noted);
  EXPECT_TRUE(engine_->Recovery().clean);
  ExpectReconciled();
  Confirm(seals);  // by the names from before the merge
  EXPECT_TRUE(Noted().empty());
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 24u);
  ExpectReconciled();
}

TEST_F(PushTest, ANoteDoesNotWaitForAMerge) {
  ASSERT_NO_FATAL_FAILURE(
      LiveIntoAMerge([this] { return TryConfirm({}); }));
  Pushes pushes;
  for (const SealName& name : Outbox()) pushes.emplace_back(name, Parked("no"));
  Note(pushes);
  const auto before = TheStore().pushes();
  TickAll();
  const auto after = TheStore().pushes();
  EXPECT_EQ(after.size(), pushes.size());
  EXPECT_TRUE(std::any_of(after.begin(), after.end(), [&](const auto& push) {
    return push.second.window_id != before.at(push.first).window_id;
  }));
  ExpectReconciled();
}

TEST_F(PushTest, WhatIsNotInTheOutboxIsPassedOver) {
  LiveDays(2);
  const std::vector<SealName> seals = Outbox();
  SealName other = seals[0];
  other.bucket.entity += "x";
  SealName unknown = seals[1];
  ++unknown.seal;
  const auto view = TheStore().spills().view();
  Note({{other, Parked("no")}, {unknown, Pushing("p")}});
  Note({});
  EXPECT_TRUE(Noted().empty());
  EXPECT_EQ(TheStore().spills().view(), view);
  Note({{other, Parked("no")}, {seals[1], Pushing("p")}});
  EXPECT_EQ(Noted(), std::vector{seals[1].seal});
  EXPECT_EQ(TheStore().spills().view(), view) << "a position is no matter of readers";
  ExpectReconciled();
}

TEST_F(PushTest, ASealThatIsTriedAgainWaits) {
  LiveDays(3);
  const std::vector<SealName> seals = Outbox();
  Note({{seals[0], Parked("no")}, {seals[1], Parked("no")}, {seals[2], Pushing("p")}});
  const std::vector<uint64_t> again{seals[1].seal, seals[2].seal, 7};
  ASSERT_TRUE(Core()->maintenance().ErasePushes(again).ok());
  ASSERT_TRUE(Core()->maintenance().ErasePushes(again).ok());
  EXPECT_EQ(Noted(), std::vector{seals[0].seal});
  EXPECT_EQ(engine_->GetMetrics().versions_waiting, 4u);
  ExpectReconciled();
  Crash();
  EXPECT_EQ(Noted(), std::vector{seals[0].seal});
  ExpectReconciled();
}

// A person is to see what upstream refused; a position that is lost costs some rows sent again.
TEST_F(PushTest, OnlyWhatIsParkedWaitsForTheDevice) {
  const auto disk = std::make_shared<FaultFileSystem>();
  fs_ = disk;
  Reopen();
  LiveDays(2);
  const std::vector<SealName> seals = Outbox();
  const auto syncs_of = [&](const Pushes& pushes) {
    // Of the log: a flush of RocksDB's own may end meanwhile.
    disk->Arm({.op = FaultOp::kSync, .kind = FileKind::kWal, .nth = UINT64_MAX});
    Note(pushes);
    return disk->matched();
  };
  EXPECT_EQ(syncs_of({{seals[0], Pushing("p")}}), 0u);
  EXPECT_EQ(syncs_of({{seals[0], Pushing("q")}, {seals[1], Parked("no")}}), 1u);
}

// The words of a server, and what a replicator wants to be told later, are bounded.
TEST_F(PushTest, SoMuchIsRememberedAndNoMore) {
  constexpr size_t kSeals = limits::kPushRecordsMax + 10;
  options_.memory_budget_bytes = 16 << 20;
  Reopen();
  for (size_t first = 0; first < kSeals; first += 1000) {
    RowBatch rows(schema_);
    for (size_t i = first; i < std::min(first + 1000, kSeals); ++i) {
      AddRow(&rows, "pump-" + std::to_string(i), kStartMs, 1);
    }
    ASSERT_TRUE(engine_->Append(rows).ok());
  }
  SealAll();
  const std::vector<SealName> seals = Outbox();
  ASSERT_EQ(seals.size(), kSeals);
  const uint64_t charged_before = engine_->GetMetrics().memory_bytes_charged;
  Pushes all;
  for (const SealName& name : seals) all.emplace_back(name, Parked(std::string(600, 'w')));
  EXPECT_EQ(TryNote(all).code(), StatusCode::kTooLarge);
  EXPECT_TRUE(Noted().empty());
  all.resize(limits::kPushRecordsMax);
  Note(all);
  EXPECT_EQ(TheStore().push(seals[5].seal)->words, std::string(512, 'w'));
  EXPECT_GT(engine_->GetMetrics().memory_bytes_charged, charged_before + kSeals * 512);
  EXPECT_EQ(TryNote({{seals.back(), Pushing("p")}}).code(), StatusCode::kTooLarge);
  EXPECT_EQ(TryNote({{seals[5], Pushing(std::string(65, 'p'))}}).code(), StatusCode::kTooLarge);
  EXPECT_TRUE(engine_->Health().ok());
  Note({{seals[5], Pushing(std::string(64, 'p'))}});
  Reopen();
  EXPECT_GT(engine_->GetMetrics().memory_bytes_charged, charged_before + kSeals * 512);
  ExpectReconciled();
  Confirm({seals[7]});
  Note({{seals.back(), Pushing("p")}});
  EXPECT_EQ(Noted().size(), limits::kPushRecordsMax);
  Confirm(seals);
  EXPECT_TRUE(Noted().empty());
  EXPECT_LE(engine_->GetMetrics().memory_bytes_charged, charged_before + (64 << 10));
  ExpectReconciled();
}

// Nothing that upstream lacks depends on it: the seal is pushed from its start.
TEST_F(PushTest, ADamagedRecordIsSaidAndLeftOut) {
  LiveDays(3);
  const std::vector<SealName> seals = Outbox();
  Note({{seals[0], Parked("no")}, {seals[1], Parked("no")}, {seals[2], Parked("no")}});
  const PushRecord gone = *TheStore().push(seals[2].seal);
  PutRaw(PushKey(seals[1].seal), "damaged");
  Confirm({seals[2]});
  PutRaw(PushKey(seals[2].seal), EncodePush(gone));
  for (const bool read_only : {true, false}) {
    options_.read_only = read_only;
    Reopen();
    const RecoveryReport recovery = engine_->Recovery();
    EXPECT_FALSE(recovery.clean);
    EXPECT_EQ(recovery.records_damaged, 2u);
    ASSERT_EQ(recovery.notes.size(), 2u);
    EXPECT_NE(recovery.notes[0].find("seal " + std::to_string(seals[1].seal)), std::string::npos);
    EXPECT_NE(recovery.notes[1].find("seal " + std::to_string(seals[2].seal)), std::string::npos);
    EXPECT_EQ(Noted(), std::vector{seals[0].seal});
    EXPECT_EQ(engine_->GetMetrics().versions_waiting, 2u);
    EXPECT_EQ(KeysOf("P"), read_only ? 3u : 1u);
  }
  Reopen();
  EXPECT_TRUE(engine_->Recovery().clean);
  ExpectReconciled();
}

TEST_F(PushTest, TheOutboxCountsBytes) {
  LiveDays(4);
  const std::vector<SealName> seals = Outbox();
  const auto bytes_of = [this](const SealName& name) -> uint64_t {
    const auto view = TheStore().spills().view();
    for (const auto& window : view->windows) {
      const auto manifest = ReadManifest(view->meta, window->id, name.bucket, name.seal);
      if (manifest.ok()) return manifest->byte_count;
    }
    ADD_FAILURE() << "no window has seal " << name.seal;
    return 0;
  };
  uint64_t all = 0;
  for (const SealName& name : seals) all += bytes_of(name);
  ASSERT_GT(bytes_of(seals[0]), 0u);
  const auto expect = [&](const char* when, uint64_t parked, uint64_t confirmed) {
    SCOPED_TRACE(when);
    const auto outbox = GetOutboxStatus(engine_.get());
    ASSERT_TRUE(outbox.ok()) << outbox.status().ToString();
    EXPECT_EQ(outbox->bytes_parked, parked);
    EXPECT_EQ(outbox->bytes_confirmed, confirmed);
    EXPECT_EQ(outbox->bytes_waiting, all - parked - confirmed);
  };
  expect("all of it waits", 0, 0);
  Note({{seals[0], Parked("no")}});
  expect("one is parked", bytes_of(seals[0]), 0);
  Confirm({seals[1], seals[3]});
  expect("two are confirmed", bytes_of(seals[0]), bytes_of(seals[1]) + bytes_of(seals[3]));
}

TEST_F(PushTest, VerifyNamesARecordThatDoesNotFitItsSeal) {
  LiveDays(2);
  const std::vector<SealName> seals = Outbox();
  Note({{seals[0], Parked("no")}, {seals[1], Parked("no")}});
  PushRecord wrong = *TheStore().push(seals[0].seal);
  ++wrong.version_count;
  PutRaw(PushKey(seals[0].seal), EncodePush(wrong));
  Reopen();
  const std::string words = "what is remembered of the push of seal ";
  ExpectProblem(words + std::to_string(seals[0].seal));
  const uint64_t window_id = TheStore().push(seals[1].seal)->window_id;
  ASSERT_TRUE(Db()->Delete({}, Meta(), OutboxKey(window_id, seals[1].seal)).ok());
  ExpectProblem(words + std::to_string(seals[1].seal));
  ExpectProblem("are not in the outbox, its record says 0 with 0");
}

}  // namespace
}  // namespace cistern::testing
