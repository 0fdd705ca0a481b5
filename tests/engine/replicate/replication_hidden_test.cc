// Columns that somebody drops upstream and adds again: the cluster takes what is sent and shows
// nobody what was written before.
#include <memory>
#include <string>
#include <vector>

#include "engine/replicate/accepted_drop.h"
#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {
namespace {

class ReplicationHiddenTest : public ReplicationFixture,
                              public ::testing::WithParamInterface<ProofLevel> {
 protected:
  void StartAll() {
    replicator_.proof = GetParam();
    replicator_.hold_us = 5'000'000;
    ASSERT_NO_FATAL_FAILURE(StartCluster());
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
  }
  void Revive(const std::string& column, const std::string& type) {
    MustRun("ALTER TABLE plant.pumps DROP " + column);
    MustRun("ALTER TABLE plant.pumps ADD " + column + " " + type);
    dropped_ms_ = clock_->WallMicros() / 1000;
  }
  // As a person does who pastes the words of the message.
  void AgreeAndStartAnew() {
    replicator_.accepted_drops = {{"plant.pumps", "flow", dropped_ms_}};
    service_.reset();
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  [[nodiscard]] std::string DropText() const {
    return replicate::AcceptedDropText({"plant.pumps", "flow", dropped_ms_});
  }
  // Until no more is done. Gives the reason in words.
  std::string RunUntilStuck() {
    if (!TurnUntil([&] { return status_.phase == ReplicationPhase::kStuck; })) {
      ADD_FAILURE() << Explain();
      return {};
    }
    if (!status_.held.empty()) return status_.held.front().why.message();
    const auto parked = ListParked(engine_.get());
    return parked.ok() && !parked->empty() ? parked->front().words : std::string();
  }
  uint64_t Confirmed() { return engine_->GetMetrics().versions_confirmed; }

  int64_t dropped_ms_ = 0;
};

TEST_P(ReplicationHiddenTest, WhatWouldBeHiddenWaitsUntilSomebodyAgrees) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(Revive("flow", "double"));
  ASSERT_NO_FATAL_FAILURE(StartService());
  const std::string why = RunUntilStuck();
  EXPECT_NE(why.find("--accept-hidden " + DropText()), std::string::npos) << why;
  EXPECT_EQ(Confirmed(), 0u);
  const bool is_sent = GetParam() == ProofLevel::kRows;  // which shows what arrived
  EXPECT_EQ(status_.counters.versions_sent > 0, is_sent);
  EXPECT_EQ(status_.counters.seals_not_proven, is_sent ? 4u : 0u);
  EXPECT_EQ(status_.held.size(), is_sent ? 0u : 1u) << Explain();

  ASSERT_NO_FATAL_FAILURE(AgreeAndStartAnew());
  if (is_sent) {
    ASSERT_TRUE(RetryParked(engine_.get(), std::nullopt).ok());
    service_->LookAgain();
  }
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 6u);
  EXPECT_EQ(status_.counters.rows_hidden, is_sent ? 6u : 0u);
  EXPECT_EQ(status_.counters.rows_shadowed, 0u);
  ExpectEqual();
  ExpectSound();
}

TEST_P(ReplicationHiddenTest, WhatWasWrittenSinceGoes) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(Revive("flow", "double"));
  clock_->AdvanceSeconds(1);
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_TRUE(status_.held.empty()) << Explain();
  EXPECT_EQ(Confirmed(), 6u);
  ExpectEqual();
}

// One bucket has rows of before, the other one of after.
TEST_P(ReplicationHiddenTest, OnlyTheBucketsOfThatTimeAreHeld) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  Write("p0", kStartMs, 1);
  ASSERT_NO_FATAL_FAILURE(Revive("flow", "double"));
  clock_->AdvanceSeconds(1);
  Write("p1", kStartMs, 2);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  EXPECT_FALSE(RunUntilStuck().empty());
  EXPECT_EQ(Confirmed(), 1u);
}

// Acknowledged, and not confirmed yet.
TEST_P(ReplicationHiddenTest, ADropMeanwhileTakesBackWhatIsHeld) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(2));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(Revive("flow", "double"));
  const std::string why = RunUntilStuck();
  EXPECT_NE(why.find("--accept-hidden " + DropText()), std::string::npos) << why;
  EXPECT_EQ(Confirmed(), 0u);
}

// The column is not there again yet.
TEST_P(ReplicationHiddenTest, NothingIsConfirmedOfAColumnThatIsDropped) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kHolding));
  ASSERT_NO_FATAL_FAILURE(MustRun("ALTER TABLE plant.pumps DROP flow"));
  const std::string why = RunUntilStuck();
  EXPECT_NE(why.find("no column 'flow'"), std::string::npos) << why;
  EXPECT_EQ(Confirmed(), 0u);
}

// A column of which no row has a value hides none; only a proof by rows can know.
TEST_P(ReplicationHiddenTest, AColumnWithoutValuesHidesNone) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(WriteDays(1));
  SealAll();
  ASSERT_NO_FATAL_FAILURE(Revive("state", "text"));
  ASSERT_NO_FATAL_FAILURE(StartService());
  if (GetParam() != ProofLevel::kRows) {
    EXPECT_FALSE(RunUntilStuck().empty());
    EXPECT_EQ(Confirmed(), 0u);
    return;
  }
  ASSERT_NO_FATAL_FAILURE(RunUntil(ReplicationPhase::kIdle));
  EXPECT_EQ(Confirmed(), 3u);
  ASSERT_EQ(status_.warnings.size(), 1u);
  EXPECT_NE(status_.warnings.front().find("'state'"), std::string::npos);
  ExpectEqual();
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationHiddenTest,
                         ::testing::Values(ProofLevel::kAck, ProofLevel::kCount,
                                           ProofLevel::kRows));

class ReplicationHiddenRowsTest : public ReplicationHiddenTest {};

// The findings until then say nothing any more.
TEST_P(ReplicationHiddenRowsTest, ADropWhileRowsAreReadBackHasThemReadAnew) {
  replicator_.byte_count_max = 2'000;
  ASSERT_NO_FATAL_FAILURE(StartAll());
  for (int i = 0; i < 400; ++i) Write("p0", kStartMs + i, i);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  ASSERT_TRUE(TurnUntil([&] { return status_.counters.bytes_read_back > 0; })) << Explain();
  ASSERT_NO_FATAL_FAILURE(Revive("flow", "double"));
  const std::string why = RunUntilStuck();
  EXPECT_NE(why.find("'flow' was dropped"), std::string::npos) << why;
  EXPECT_EQ(status_.counters.seals_mended, 0u);
  EXPECT_EQ(Confirmed(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationHiddenRowsTest, ::testing::Values(ProofLevel::kRows));

// Rows that are written now have the timestamps of their events, which may be long before a drop.
class ReplicationHiddenEventsTest : public ReplicationHiddenTest {
 protected:
  void SetUp() override { OpenWithTable(kEventPumps); }
};

TEST_P(ReplicationHiddenEventsTest, EventsOfBeforeAreHeld) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  ASSERT_NO_FATAL_FAILURE(Revive("flow", "double"));
  clock_->AdvanceSeconds(60);
  Write("p0", kStartMs, 1);
  Write("p1", dropped_ms_ + 30'000, 2);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(StartService());
  EXPECT_FALSE(RunUntilStuck().empty());
  EXPECT_EQ(Confirmed(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplicationHiddenEventsTest,
                         ::testing::Values(ProofLevel::kAck, ProofLevel::kRows));

}  // namespace
}  // namespace cistern::testing
