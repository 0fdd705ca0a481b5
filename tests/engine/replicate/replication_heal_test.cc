// The store under a replication: opened anew while answers are on their way, without room, without
// a clock that is trusted.
#include <rocksdb/db.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/replicate/replication_fixture.h"
#include "tests/support/fault_fs.h"

namespace cistern::testing {
namespace {

// What expires later is refused by Cassandra 5.0 as it is set up.
constexpr uint32_t kTwentyYearsS = 20 * 365 * 86'400;

class ReplicationHealTest : public ReplicationFixture {
 protected:
  ReplicationHealTest() { fs_ = faults_ = std::make_shared<FaultFileSystem>(); }
  void StartAll() {
    ASSERT_NO_FATAL_FAILURE(StartCluster());
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // A write of the journal fails: the store is opened anew by one of the next ticks.
  void BreakTheJournal() {
    faults_->Arm({.op = FaultOp::kWrite, .kind = FileKind::kWal, .nth = 1});
    EXPECT_FALSE(Append("other", kStartMs + 1, 2).ok());
    faults_->Disarm();
  }
  // When RocksDB has ended the compactions that it had room for.
  void FillDisk() {
    rocksdb::DB* db = Core()->store().db().db();
    EXPECT_TRUE(db->PauseBackgroundWork().ok() && db->ContinueBackgroundWork().ok());
    faults_->SetDiskBytes(1u << 30);
    faults_->SetForeignBytes(1u << 30);
  }
  // And nothing is said of the store meanwhile.
  void RunSilentlyUntil(const std::function<bool()>& is_done) {
    bool was_said = false;
    ASSERT_TRUE(TurnUntil([&] {
      was_said = was_said || !status_.store.ok();
      return was_said || is_done();
    })) << Explain();
    EXPECT_FALSE(was_said) << status_.store.ToString();
  }

  std::shared_ptr<FaultFileSystem> faults_;
};

TEST_F(ReplicationHealTest, AnAnswerForTheStoreThatWasFindsNobody) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  ASSERT_NO_FATAL_FAILURE(StartService());
  Write("p0", kStartMs, 7, RowKind::kInsert, kTwentyYearsS);
  Write("p1", kStartMs, 8);
  SealAll();
  // One is refused, the schema is compared, and it is sent once more: the next refusal parks it.
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.batches_sent == 3; })) << Explain();
  ASSERT_TRUE(service_->Run(0).ok());   // what was begun goes out
  while (cluster_->Poll(10)) continue;  // the answer is there, and not read
  ASSERT_NO_FATAL_FAILURE(BreakTheJournal());
  // The old one is closed; what is pushed still holds its files, so the new one has to wait.
  EXPECT_FALSE(engine_->Tick({10}).ok());
  bool is_back = false;
  ASSERT_TRUE(TurnUntil([&] {
    (void)engine_->Tick({10});
    is_back = is_back || Append("other", kStartMs + 2, 3).ok();
    return is_back && status_.phase == ReplicationPhase::kStuck;
  })) << Explain();
  // The new replicator sent both again: one is refused once more, the other is there.
  EXPECT_EQ(engine_->GetMetrics().versions_parked, 1u);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 1u);
}

TEST_F(ReplicationHealTest, AFullDiskIsSaid) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  FillDisk();
  ASSERT_TRUE(TurnUntil([&] { return !status_.store.ok(); })) << Explain();
  EXPECT_EQ(status_.store.code(), StatusCode::kNoSpace) << status_.store.ToString();
  EXPECT_EQ(status_.phase, ReplicationPhase::kHolding);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
  faults_->SetForeignBytes(0);
  ASSERT_TRUE(TurnUntil([&] { return engine_->GetMetrics().versions_confirmed == 1; }))
      << Explain();
  EXPECT_TRUE(status_.store.ok()) << status_.store.ToString();
  // Nor is it said of the next.
  Write("p1", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunSilentlyUntil([&] {
    return engine_->GetMetrics().versions_confirmed == 2;
  }));
}

// Nothing but a seal that was refused waits for room, and is not parked before.
TEST_F(ReplicationHealTest, AFullDiskIsSaidOfWhatIsParked) {
  replicator_.hold_us = 1'000'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  Write("p1", kStartMs, 7, RowKind::kInsert, kTwentyYearsS);
  SealAll();
  FillDisk();
  ASSERT_TRUE(TurnUntil([&] { return !status_.store.ok(); })) << Explain();
  EXPECT_EQ(status_.seals_holding, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_parked, 0u);
  faults_->SetForeignBytes(0);
  ASSERT_TRUE(TurnUntil([&] { return engine_->GetMetrics().versions_parked == 1; })) << Explain();
  Write("p2", kStartMs, 1);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(RunSilentlyUntil([&] {
    return engine_->GetMetrics().versions_confirmed == 2;
  }));
}

// Positions inside of a long seal save bytes alone: that they are not kept is no trouble.
TEST_F(ReplicationHealTest, AFullDiskIsNotSaidOfPositions) {
  replicator_.checkpoint_bytes = 4'096;
  replicator_.hold_us = 1'000'000;
  replicator_.bytes_per_s_max = 2'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  for (int i = 0; i < 1'000; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  FillDisk();
  const int64_t begin_us = clock_->MonotonicMicros();
  ASSERT_NO_FATAL_FAILURE(RunSilentlyUntil([&] {
    return clock_->MonotonicMicros() - begin_us > 20'000'000;
  }));
  EXPECT_EQ(status_.seals_pushing, 1u) << Explain();
  EXPECT_TRUE(Core()->store().pushes().empty());
  faults_->SetForeignBytes(0);
  ASSERT_TRUE(TurnUntil([&] { return !Core()->store().pushes().empty(); })) << Explain();
}

TEST_F(ReplicationHealTest, AClockThatIsNotKnownIsSaid) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  SealAll();
  service_.reset();
  const int64_t true_us = clock_->WallMicros();
  clock_->SetWallMicros(true_us - 4'000 * kDayMs * 1000);
  Reopen();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_TRUE(TurnUntil([&] { return !status_.store.ok(); })) << Explain();
  EXPECT_EQ(status_.store.code(), StatusCode::kBusy) << status_.store.ToString();
  EXPECT_NE(status_.store.message().find("clock"), std::string::npos);
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
  clock_->SetWallMicros(true_us);
  ASSERT_TRUE(TurnUntil([&] {
    (void)engine_->Tick({10});
    return engine_->GetMetrics().versions_confirmed == 1;
  })) << Explain();
  EXPECT_TRUE(status_.store.ok()) << status_.store.ToString();
}

// The store remembers nearly all the parked seals that it may.
class LittleRoomTest : public ReplicationHealTest {
 protected:
  static constexpr size_t kRoom = 10;  // for records
  void ParkOthers() {
    std::vector<std::pair<SealName, PushRecord>> records;
    for (size_t left = limits::kPushRecordsMax - kRoom, t = 0; left > 0; ++t) {
      const std::string name = "plant.t" + std::to_string(t);
      ASSERT_NO_FATAL_FAILURE(CreateTableLikePumps(name));
      RowBatch batch(*engine_->FindTable(name));
      for (size_t i = 0; i < limits::kParkedSealsPerTableMax && left > 0; ++i, --left) {
        AddRow(&batch, "s" + std::to_string(i), kStartMs, 1);
      }
      ASSERT_TRUE(engine_->Append(batch).ok());
    }
    SealAll();
    for (const auto& window : Core()->store().spills().view()->windows) {
      OutboxWalker walker(Core()->store().spills().view(), window->id);
      for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
        PushRecord record;
        record.state = PushState::kParked;
        record.bucket = (*entry)->bucket;
        records.emplace_back(**entry, record);
      }
    }
    ASSERT_TRUE(Core()->maintenance().NotePushes(records).ok());
  }
};

// What does not fit waits in memory, and the store is not to blame for it.
TEST_F(LittleRoomTest, AFullDiskIsSaidUntilWhatFitsIsNoted) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  ASSERT_NO_FATAL_FAILURE(ParkOthers());
  for (size_t i = 0; i < 2 * kRoom; ++i) {
    Write("bad" + std::to_string(i), kStartMs, 1, RowKind::kInsert, kTwentyYearsS);
  }
  SealAll();
  FillDisk();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_TRUE(TurnUntil([&] {
    return status_.counters.seals_parked == 2 * kRoom && !status_.store.ok();
  })) << Explain();
  ASSERT_NO_FATAL_FAILURE(RunFor(20'000'000));
  EXPECT_FALSE(status_.store.ok());
  faults_->SetForeignBytes(0);
  ASSERT_TRUE(TurnUntil([&] {
    return Core()->store().pushes().size() == limits::kPushRecordsMax;
  })) << Explain();
  ASSERT_NO_FATAL_FAILURE(RunFor(1'000'000));
  EXPECT_TRUE(status_.store.ok()) << status_.store.ToString();
  // Once they may go, all do.
  cluster_->WithState([](fake_cassandra::ClusterState& state) {
    state.SetCompatibility(fake_cassandra::StorageCompatibility::kNone);
  });
  ASSERT_TRUE(RetryParked(engine_.get(), "plant.pumps").ok());
  service_->LookAgain();
  ASSERT_TRUE(TurnUntil([&] {
    return status_.phase == ReplicationPhase::kStuck || status_.phase == ReplicationPhase::kIdle;
  })) << Explain();
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 2 * kRoom);
}

// It is the process that lacks them: no seal is damaged, however long it takes, where the seal is
// opened or later.
TEST_F(ReplicationHealTest, TooFewDescriptorsParkNothing) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  uint64_t injected = 0;
  for (uint64_t sent = 1; sent <= 8; ++sent) {
    SCOPED_TRACE(sent);
    service_.reset();
    Write("p" + std::to_string(sent), kStartMs, 1);
    SealAll();
    Reopen();
    faults_->Arm({.op = FaultOp::kRead, .kind = FileKind::kSst, .nth = sent, .forever = true,
                  .error = FaultError::kTooManyFiles});
    ASSERT_NO_FATAL_FAILURE(StartService());
    ASSERT_NO_FATAL_FAILURE(RunFor(300'000'000));
    injected += faults_->injected();
    EXPECT_EQ(engine_->GetMetrics().versions_parked, 0u) << Explain();
    faults_->Disarm();
    ASSERT_TRUE(TurnUntil([&] {
      return engine_->GetMetrics().versions_confirmed == sent;
    })) << Explain();
  }
  EXPECT_GT(injected, 0u);
  EXPECT_EQ(last_error_.code(), StatusCode::kTooManyOpenFiles) << last_error_.ToString();
}

}  // namespace
}  // namespace cistern::testing
