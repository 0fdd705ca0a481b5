// Full disks: rows are refused in time, nothing fails, and space heals it.
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class FullDiskTest : public EngineFixture {
 protected:
  static constexpr uint64_t kDiskBytes = 64 << 20;
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    faults_->SetDiskBytes(kDiskBytes);
    fs_ = faults_;
    EngineFixture::SetUp();
  }
  // Another process takes all but `bytes` of what is free.
  void LeaveFree(uint64_t bytes) {
    faults_->SetForeignBytes(kDiskBytes - faults_->used_bytes() - bytes);
  }
  RowBatch WideBatch(int64_t* ts) {
    RowBatch batch(schema_);
    for (int i = 0; i < 100; ++i) {
      batch.BeginRow();
      EXPECT_TRUE(batch.SetBytes(0, "a").ok());
      EXPECT_TRUE(batch.SetInt(2, ++*ts).ok());
      std::string noise;
      for (int k = 0; k < 1000; ++k) noise.push_back(static_cast<char>('!' + rng_() % 90));
      EXPECT_TRUE(batch.SetBytes(4, noise).ok());
      EXPECT_TRUE(batch.EndRow().ok());
    }
    return batch;
  }
  // Appends until it is refused; how many rows were taken.
  uint64_t FillUp(Status* refusal) {
    uint64_t taken = 0;
    for (int i = 0; i < 2000; ++i) {
      const RowBatch batch = WideBatch(&ts_);
      const auto written = engine_->Append(batch, {Durability::kLog});
      if (!written.ok()) {
        *refusal = written.status();
        return taken;
      }
      taken += batch.row_count();
    }
    return taken;
  }
  std::shared_ptr<FaultFileSystem> faults_;
  int64_t ts_ = kStartMs;
  uint64_t state_ = 88172645463325252ull;
  uint64_t rng_() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
};

TEST_F(FullDiskTest, RowsAreRefusedBeforeAnythingFailsAndSpaceHeals) {
  MustAppend("a", kStartMs, 1);
  LeaveFree(1 << 20);
  // Not at once: what the disk was asked about last may still be written.
  Status refusal;
  const uint64_t taken = FillUp(&refusal);
  EXPECT_EQ(refusal.code(), StatusCode::kNoSpace) << refusal.ToString();
  EXPECT_LT(taken, 1000u);
  EXPECT_EQ(engine_->Health().code(), StatusCode::kNoSpace);
  EXPECT_TRUE(Core()->committer().failure().ok());  // refused, not failed
  EXPECT_EQ(faults_->injected(), 0u);
  WriteOptions busy;
  busy.back_pressure = BackPressure::kBusy;
  EXPECT_EQ(Append("a", kStartMs + 1, 2, busy).code(), StatusCode::kNoSpace);
  // A delete is how space comes back: it is taken still.
  const auto deleted = engine_->DeleteRange("pumps", Entity("a"), {kStartMs, kStartMs + 1});
  EXPECT_TRUE(deleted.ok()) << deleted.status().ToString();
  faults_->SetForeignBytes(0);
  EXPECT_TRUE(engine_->Health().ok());
  MustAppend("a", kStartMs + 2, 3);
  EXPECT_EQ(engine_->GetMetrics().versions_written, 1 + taken + 1 + 1);
  ExpectSound();
}

TEST_F(FullDiskTest, WhatIsInMemoryWhenRowsAreRefusedCanBeRotated) {
  LeaveFree(24 << 20);
  Status refusal;
  const uint64_t taken = FillUp(&refusal);
  ASSERT_EQ(refusal.code(), StatusCode::kNoSpace) << refusal.ToString();
  Rotate();
  EXPECT_EQ(engine_->GetMetrics().versions_head, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_written, taken);
  EXPECT_TRUE(Core()->committer().failure().ok());
  ExpectSound();
}

TEST_F(FullDiskTest, ARotationWithoutRoomIsSaid) {
  MustAppend("a", kStartMs, 1);
  LeaveFree(256 << 10);
  EXPECT_EQ(engine_->Rotate().code(), StatusCode::kNoSpace);
  EXPECT_TRUE(Core()->committer().failure().ok());
  ASSERT_TRUE(engine_->Tick({100}).ok());
  faults_->SetForeignBytes(0);
  Rotate();
  EXPECT_EQ(engine_->GetMetrics().versions_head, 0u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

TEST_F(FullDiskTest, TheDiskBudgetIsKept) {
  faults_->SetDiskBytes(0);
  options_.disk_budget_bytes = 32 << 20;
  Reopen();
  Status refusal;
  uint64_t taken = 0;
  for (int round = 0; round < 4 && refusal.ok(); ++round) {
    taken += FillUp(&refusal);
    ASSERT_TRUE(engine_->Tick({1000}).ok());
  }
  EXPECT_EQ(refusal.code(), StatusCode::kNoSpace);
  EXPECT_GT(taken, 1000u);
  const Metrics m = engine_->GetMetrics();
  EXPECT_LE(m.disk_bytes_used, m.disk_budget_bytes);
  EXPECT_EQ(m.versions_written, taken);
  EXPECT_TRUE(Core()->committer().failure().ok());
  EXPECT_TRUE(engine_->DeleteBucket("pumps", Entity("a"), kStartMs).ok());
  Rotate();
  ExpectSound();
  options_.disk_budget_bytes = 0;
  Reopen();
  MustAppend("a", kStartMs, 1);
}

TEST_F(FullDiskTest, AnUntrustedClockOnAFullDiskFailsNothing) {
  clock_->SetWallMicros(0);
  MustAppend("a", kStartMs, 1);  // boot 1
  LeaveFree(16 << 10);
  clock_->SetWallMicros(kStartUs);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(engine_->Tick({10}).ok());
  }
  EXPECT_TRUE(Core()->committer().failure().ok());
  EXPECT_FALSE(Core()->clock().settled());
  faults_->SetForeignBytes(0);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_TRUE(Core()->clock().settled());
}

TEST_F(FullDiskTest, TheBallastIsTakenBackWhenThereIsRoom) {
  ASSERT_TRUE(Core()->store().ballast_held());
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  LeaveFree(300 << 10);
  Open();
  ASSERT_FALSE(Core()->store().ballast_held());
  clock_->AdvanceSeconds(60);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_FALSE(Core()->store().ballast_held());
  faults_->SetForeignBytes(0);
  clock_->AdvanceSeconds(60);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_TRUE(Core()->store().ballast_held());
}

TEST_F(FullDiskTest, AFailedWriteIsHealedByOpeningAnewAndNothingAcknowledgedIsLost) {
  MustAppend("a", kStartMs, 1);
  // A cursor holds the opening that it began with; healing waits for it, for a while.
  auto cursor = engine_->Scan(Request("a", kStartMs, kStartMs + 1000));
  ASSERT_TRUE(cursor.ok());
  faults_->Arm({.op = FaultOp::kWrite, .kind = FileKind::kWal, .nth = 1});
  EXPECT_FALSE(Append("a", kStartMs + 1, 2).ok());
  faults_->Disarm();
  EXPECT_FALSE(engine_->Health().ok());
  EXPECT_FALSE(Append("a", kStartMs + 2, 3).ok());
  clock_->AdvanceSeconds(1);
  EXPECT_FALSE(engine_->Tick({10}).ok());
  Rows seen;
  Drain(cursor->get(), &seen);
  EXPECT_EQ(seen, (Rows{{kStartMs, 1}}));
  cursor->reset();
  clock_->AdvanceSeconds(1);
  const auto healed = engine_->Tick({10});
  ASSERT_TRUE(healed.ok()) << healed.status().ToString();
  EXPECT_TRUE(engine_->Health().ok());
  MustAppend("a", kStartMs + 2, 3);
  const Rows rows = ScanAll("a");
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows.front(), (std::pair<int64_t, double>{kStartMs, 1}));
  EXPECT_EQ(rows.back(), (std::pair<int64_t, double>{kStartMs + 2, 3}));
  ExpectSound();
}

TEST_F(FullDiskTest, SubmittedRowsSurviveAHealing) {
  auto producer = engine_->NewProducer();
  ASSERT_TRUE(producer.ok());
  faults_->Arm({.op = FaultOp::kWrite, .kind = FileKind::kWal, .nth = 1});
  EXPECT_FALSE(Append("a", kStartMs, 1).ok());
  faults_->Disarm();
  clock_->AdvanceSeconds(1);
  ASSERT_TRUE(engine_->Tick({10}).ok());
  const auto ticket = (*producer)->Submit(Row("b", kStartMs, 2));
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(engine_->Tick({10}).ok());
  EXPECT_TRUE((*producer)->Wait(*ticket).ok());
  EXPECT_EQ(ScanAll("b"), (Rows{{kStartMs, 2}}));
  producer->reset();
}

TEST_F(FullDiskTest, AStoreThatFailsAgainAndAgainIsNotOpenedEverFaster) {
  int healed = 0;
  for (int i = 0; i < 100; ++i) {
    clock_->AdvanceMicros(200'000);
    faults_->Arm({.op = FaultOp::kSync, .kind = FileKind::kWal, .nth = 1});
    (void)Append("a", kStartMs + i, i);
    faults_->Disarm();
    if (engine_->Tick({1}).ok()) ++healed;
  }
  EXPECT_GT(healed, 2);
  EXPECT_LT(healed, 12);  // 20 seconds: pauses of 0.1, 0.2, 0.4, ...
}

}  // namespace
}  // namespace cistern::testing
