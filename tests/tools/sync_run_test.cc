#include "tools/sync_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tools/sync_follow.h"

namespace cistern::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A replicator that tells what a test wrote down, a second for each status; the last one stays.
class SyncRunTest : public ::testing::Test {
 protected:
  void Tell(ReplicationPhase phase, int64_t seconds = 1) {
    status_.phase = phase;
    status_.away = phase == ReplicationPhase::kAway ? Status::NotFound("no host\n  answers")
                                                    : Status::Ok();
    for (int64_t i = 0; i < seconds; ++i) told_.emplace_back(status_);
  }
  void Fail(const Status& status) { told_.emplace_back(status); }

  Result<ReplicationStatus> Step() {
    clock_->AdvanceSeconds(1);
    const size_t at = std::min(steps_++, told_.size() - 1);
    return told_[at];
  }

  SyncOutcome Run(size_t steps_max = SIZE_MAX) {
    SyncRunSettings settings;
    settings.step = [this](int64_t) { return Step(); };
    settings.is_interrupted = [this, steps_max] { return steps_ >= steps_max; };
    settings.complain = [this](const std::string& line) { lines_.push_back(line); };
    settings.clock = clock_;
    settings.connect_timeout_us = 10'000'000;
    settings.away_after_us = 30'000'000;
    settings.line_every_us = line_every_us_;
    Progress progress(false);
    return SyncRun(std::move(settings), &progress).Run();
  }

  // Until all was told.
  ReplicationStatus Follow() {
    SyncFollowSettings settings;
    settings.step = [this](int64_t) { return Step(); };
    settings.list_parked = [this]() -> Result<std::vector<ParkedSeal>> {
      std::vector<ParkedSeal> listed;
      for (const auto& [step, parked] : parked_) {
        if (steps_ >= step) listed.push_back(parked);
      }
      return listed;
    };
    settings.is_interrupted = [this] { return steps_ >= told_.size(); };
    settings.pause = [this](int64_t wait_us) { clock_->AdvanceMicros(wait_us); };
    settings.say = [this](const std::string& line) {
      EXPECT_EQ(line.substr(0, is_json_ ? 1 : 11), is_json_ ? "{" : "2024-01-01T") << line;
      lines_.push_back(is_json_ ? line : line.substr(line.find(' ') + 1));
    };
    settings.is_json = is_json_;
    settings.line_every_us = line_every_us_;
    settings.metrics = [this] {
      ++metrics_asked_;
      Metrics metrics;
      metrics.versions_waiting = 20;
      metrics.versions_parked = 3;
      return metrics;
    };
    settings.clock = clock_;
    return SyncFollow(std::move(settings)).Run();
  }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  ReplicationStatus status_;
  int64_t line_every_us_ = 0;
  bool is_json_ = false;
  int metrics_asked_ = 0;
  std::vector<Result<ReplicationStatus>> told_;
  std::vector<std::pair<size_t, ParkedSeal>> parked_;  // with the step from which on it is listed
  size_t steps_ = 0;
  std::vector<std::string> lines_;
};

// --- once

TEST_F(SyncRunTest, UntilAllIsConfirmed) {
  Tell(ReplicationPhase::kAway, 3);
  Tell(ReplicationPhase::kWorking, 100);
  Tell(ReplicationPhase::kHolding, 10);
  status_.counters.seals_confirmed = 5;
  Tell(ReplicationPhase::kIdle);
  const SyncOutcome outcome = Run();
  EXPECT_EQ(outcome.end, SyncEnd::kConfirmed);
  EXPECT_EQ(outcome.last.counters.seals_confirmed, 5u);
  EXPECT_EQ(steps_, 114u);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(SyncRunTest, WhatNeedsAPersonEndsIt) {
  Tell(ReplicationPhase::kWorking);
  Tell(ReplicationPhase::kStuck);
  EXPECT_EQ(Run().end, SyncEnd::kStuck);
  EXPECT_EQ(steps_, 2u);
}

TEST_F(SyncRunTest, AClusterThatNeverAnswers) {
  Tell(ReplicationPhase::kAway);
  const SyncOutcome outcome = Run();
  EXPECT_EQ(outcome.end, SyncEnd::kAway);
  EXPECT_EQ(outcome.last.away.message(), "no host\n  answers");
  EXPECT_EQ(steps_, 11u);  // ten seconds after the first
}

TEST_F(SyncRunTest, AClusterThatGoesAwayForTooLong) {
  Tell(ReplicationPhase::kWorking);
  Tell(ReplicationPhase::kAway, 29);
  status_.counters.bytes_sent += 1000;
  Tell(ReplicationPhase::kWorking);  // the patience is whole again
  Tell(ReplicationPhase::kAway);
  EXPECT_EQ(Run().end, SyncEnd::kAway);
  EXPECT_EQ(steps_, 1u + 29u + 1u + 31u);
}

// It answers, and refuses: each time it is tried anew it seems to be back for a moment.
TEST_F(SyncRunTest, AClusterThatRefusesEachTimeIsAwayAllTheWhile) {
  Tell(ReplicationPhase::kWorking);
  for (int i = 0; i < 10; ++i) {
    Tell(ReplicationPhase::kAway, 6);
    Tell(ReplicationPhase::kWorking);
  }
  EXPECT_EQ(Run().end, SyncEnd::kAway);
  EXPECT_EQ(steps_, 1u + 31u);  // thirty seconds after the first
}

TEST_F(SyncRunTest, AnInterruption) {
  status_.seals_holding = 2;
  Tell(ReplicationPhase::kHolding);
  const SyncOutcome outcome = Run(7);
  EXPECT_EQ(outcome.end, SyncEnd::kInterrupted);
  EXPECT_EQ(outcome.last.seals_holding, 2u);
}

TEST_F(SyncRunTest, AStoreThatFailsEndsIt) {
  Tell(ReplicationPhase::kWorking);
  Fail(Status::IoError("the device is gone"));
  const SyncOutcome outcome = Run();
  EXPECT_EQ(outcome.end, SyncEnd::kFailed);
  EXPECT_EQ(outcome.failure.code(), StatusCode::kIoError);
}

// Whatever the phase: it would stay so for as long as the disk is full.
TEST_F(SyncRunTest, AStoreThatNotesNothingForTooLongEndsIt) {
  Tell(ReplicationPhase::kWorking);
  status_.store = Status::NoSpace("the disk is\n full");
  for (int i = 0; i < 50; ++i) {
    status_.counters.bytes_sent += 1000;  // others go on
    Tell(ReplicationPhase::kWorking);
  }
  status_.store = Status::Ok();
  Tell(ReplicationPhase::kHolding, 50);
  status_.store = Status::NoSpace("the disk is\n full");
  Tell(ReplicationPhase::kHolding);
  const SyncOutcome outcome = Run();
  EXPECT_EQ(outcome.end, SyncEnd::kFailed);
  EXPECT_EQ(outcome.failure.code(), StatusCode::kNoSpace);
  EXPECT_EQ(steps_, 1u + 50u + 50u + 31u);
  const std::string line =
      "what the cluster answered cannot be noted in the store: the disk is full";
  EXPECT_THAT(lines_, ElementsAre(line, line));
}

TEST_F(SyncRunTest, WhatStandsInTheWayIsToldOnce) {
  status_.warnings = {"table t: gc_grace_seconds is 1"};
  status_.damaged = {"seal 3 of t: a page is damaged"};
  status_.held = {{"p.t", Status::InvalidArgument("no rows are sent to p.t: the cluster has no "
                                                  "table p.t. `cistern schema apply` creates it, "
                                                  "or this statement:\nCREATE TABLE p.t (\n  a"),
                   HeldReason::kDiffers},
                  {"p.u", Status::InvalidArgument("Unauthorized: \x1b[31mno"),
                   HeldReason::kNotCompared}};
  Tell(ReplicationPhase::kWorking, 3);
  status_.held.pop_back();
  status_.held[0].why = Status::InvalidArgument("p.t: other words, see cistern schema diff");
  Tell(ReplicationPhase::kWorking, 2);
  status_.held.clear();
  Tell(ReplicationPhase::kWorking, 2);
  Tell(ReplicationPhase::kIdle);
  EXPECT_EQ(Run().end, SyncEnd::kConfirmed);
  EXPECT_THAT(
      lines_,
      ElementsAre("table t: gc_grace_seconds is 1",
                  "seal 3 of t: a page is damaged; `cistern verify` tells more",
                  "no rows are sent to p.t: the cluster has no table p.t. `cistern schema apply` "
                  "creates it, or this statement: CREATE TABLE p.t ( a",
                  "p.u is held back: Unauthorized:  [31mno; `cistern schema diff` compares it "
                  "with the cluster's",
                  "p.t: other words, see cistern schema diff", "p.u is not held back any more",
                  "p.t is not held back any more"));
}

TEST_F(SyncRunTest, WhatToDoWithATableThatIsHeld) {
  status_.held = {{"t", Status::InvalidArgument("table t was declared without a keyspace: say in "
                                                "which keyspace of the cluster it is"),
                   HeldReason::kNoKeyspace},
                  // Whatever words a server uses.
                  {"p.t", Status::InvalidArgument("db-1:9042 answered: t are parked, without a "
                                                  "keyspace, cistern schema"),
                   HeldReason::kNotPermitted},
                  {"p.u", Status::TooLarge("100 of its seals are parked: look at why"),
                   HeldReason::kParked}};
  Tell(ReplicationPhase::kStuck);
  (void)Run();
  EXPECT_THAT(lines_,
              ElementsAre("table t was declared without a keyspace: say in which keyspace of the "
                          "cluster it is, by --keyspace NAME, or keyspace in the file of --config",
                          "p.t is held back: db-1:9042 answered: t are parked, without a keyspace, "
                          "cistern schema; grant this user MODIFY on the table, and SELECT where "
                          "--proof reads",
                          "p.u is held back: 100 of its seals are parked: look at why; `cistern "
                          "sync status` names them"));
}

// --- progress

TEST_F(SyncRunTest, WhereNoBarIsALineComesNowAndThen) {
  line_every_us_ = 30'000'000;
  status_.counters.versions_sent = 7;
  Tell(ReplicationPhase::kWorking, 95);
  Tell(ReplicationPhase::kIdle);
  EXPECT_EQ(Run().end, SyncEnd::kConfirmed);
  EXPECT_EQ(lines_, std::vector<std::string>(3, "7 of 7 rows, 0 of 0 buckets, 0 B, 0 rows/s"));
}

TEST(SyncProgress, ALine) {
  SyncProgress progress;
  progress.versions_done = 340;
  progress.versions_total = 1000;
  progress.seals_done = 3;
  progress.seals_total = 10;
  progress.bytes = 1'258'291;
  EXPECT_EQ(SyncProgressText(progress), "340 of 1000 rows, 3 of 10 buckets, 1.2 MiB");
  progress.versions_per_s = 33.4;
  EXPECT_EQ(SyncProgressText(progress),
            "340 of 1000 rows, 3 of 10 buckets, 1.2 MiB, 33 rows/s, 20 s left");
  progress.versions_per_s = 0;
  EXPECT_EQ(SyncProgressText(progress), "340 of 1000 rows, 3 of 10 buckets, 1.2 MiB, 0 rows/s");
  progress.phase = ReplicationPhase::kAway;
  progress.away = "no host";
  EXPECT_EQ(SyncProgressText(progress),
            "340 of 1000 rows, 3 of 10 buckets, 1.2 MiB, away: no host");
  progress.phase = ReplicationPhase::kWorking;
  progress.refused = "write timeout";
  EXPECT_EQ(SyncProgressText(progress),
            "340 of 1000 rows, 3 of 10 buckets, 1.2 MiB, refused: write timeout");
  progress.phase = ReplicationPhase::kHolding;
  progress.versions_done = 1000;
  EXPECT_EQ(SyncProgressText(progress),
            "1000 of 1000 rows, 3 of 10 buckets, 1.2 MiB, until the cluster has them on disk");
}

TEST(SyncPace, CountsTheLastQuarterOfAMinute) {
  SyncPace pace;
  EXPECT_FALSE(pace.per_s().has_value());
  pace.Note(0, 0);
  EXPECT_FALSE(pace.per_s().has_value());
  pace.Note(400'000, 1'000'000);  // too soon to tell
  EXPECT_FALSE(pace.per_s().has_value());
  pace.Note(1'000'000, 100);
  EXPECT_DOUBLE_EQ(*pace.per_s(), 100);
  for (int64_t s = 2; s <= 60; ++s) pace.Note(s * 1'000'000, 100 + 10 * static_cast<uint64_t>(s));
  EXPECT_NEAR(*pace.per_s(), 10, 0.001);
}

// --- follow

TEST_F(SyncRunTest, FollowTellsWhatChanges) {
  Tell(ReplicationPhase::kAway, 4);  // no line: it may be there at once
  Tell(ReplicationPhase::kWorking, 3);
  Tell(ReplicationPhase::kHolding, 10);
  status_.counters.seals_confirmed = 2;
  status_.counters.versions_sent = 30;
  status_.counters.bytes_sent = 2048;
  Tell(ReplicationPhase::kIdle, 60);
  Tell(ReplicationPhase::kWorking, 3);
  Tell(ReplicationPhase::kAway, 3600);
  Tell(ReplicationPhase::kWorking, 2);
  Tell(ReplicationPhase::kIdle, 6);  // nothing came of it
  Tell(ReplicationPhase::kWorking, 2);
  status_.counters.seals_confirmed = 3;
  status_.counters.versions_sent = 31;
  Tell(ReplicationPhase::kIdle, 2);
  EXPECT_EQ(Follow().counters.seals_confirmed, 3u);
  EXPECT_THAT(lines_,
              ElementsAre("the cluster takes requests",
                          "2 seals confirmed, 30 row versions sent in 2.0 KiB; nothing waits",
                          "the cluster is away: no host answers",
                          "the cluster takes requests again, after 1 h",
                          "1 seal confirmed, 1 row version sent in 0 B; nothing waits"));
}

// Once in 30 s while something is on its way, and not while nothing is.
TEST_F(SyncRunTest, FollowTellsHowItGoesNowAndThen) {
  line_every_us_ = 30'000'000;
  Tell(ReplicationPhase::kIdle, 100);
  Tell(ReplicationPhase::kWorking, 29);
  status_.counters.seals_confirmed = 1;
  status_.counters.versions_sent = 340;
  status_.counters.bytes_sent = 2048;
  Tell(ReplicationPhase::kWorking, 33);
  Tell(ReplicationPhase::kHolding, 30);
  Tell(ReplicationPhase::kAway, 30);
  Tell(ReplicationPhase::kIdle, 100);
  Tell(ReplicationPhase::kStuck, 100);
  (void)Follow();
  std::vector<std::string> progress;
  for (const std::string& line : lines_) {
    if (line.find("wait") != std::string::npos && line.find("confirmed,") != std::string::npos &&
        line.find("nothing waits") == std::string::npos) {
      progress.push_back(line);
    }
  }
  EXPECT_THAT(progress,
              ElementsAre("1 seal confirmed, 340 row versions sent in 2.0 KiB, 23 a second; 20 "
                          "row versions wait, 3 parked",
                          "1 seal confirmed, 340 row versions sent in 2.0 KiB, 0 a second; 20 "
                          "row versions wait, 3 parked",
                          "1 seal confirmed, 340 row versions sent in 2.0 KiB; 20 row versions "
                          "wait, 3 parked, until the cluster has them on disk",
                          "1 seal confirmed, 340 row versions sent in 2.0 KiB; 20 row versions "
                          "wait, 3 parked; the cluster is away: no host answers"));
  EXPECT_EQ(metrics_asked_, 4);
}

TEST_F(SyncRunTest, FollowTellsInJsonOnRequest) {
  line_every_us_ = 30'000'000;
  is_json_ = true;
  Tell(ReplicationPhase::kWorking, 35);
  Tell(ReplicationPhase::kIdle, 2);
  (void)Follow();
  EXPECT_THAT(lines_,
              ElementsAre("{\"time\":\"2024-01-01T00:00:01Z\",\"event\":\"the cluster takes "
                          "requests\"}",
                          "{\"time\":\"2024-01-01T00:00:31Z\",\"phase\":\"working\","
                          "\"seals_confirmed\":0,\"versions_sent\":0,\"bytes_sent\":0,"
                          "\"versions_waiting\":20,\"versions_parked\":3,\"away\":null}",
                          "{\"time\":\"2024-01-01T00:00:36Z\",\"event\":\"nothing waits\"}"));
}

TEST_F(SyncRunTest, FollowTellsNoProgressUnlessItIsAskedFor) {
  Tell(ReplicationPhase::kWorking, 100);
  (void)Follow();
  EXPECT_THAT(lines_, ElementsAre("the cluster takes requests"));
  EXPECT_EQ(metrics_asked_, 0);
}

TEST_F(SyncRunTest, TheOutcomeIsAnObject) {
  SyncOutcome outcome;
  outcome.end = SyncEnd::kStuck;
  outcome.last.counters.seals_confirmed = 3;
  outcome.last.counters.versions_sent = 30;
  outcome.last.counters.versions_expired = 2;
  outcome.last.counters.versions_empty = 1;
  outcome.last.counters.rows_overwritten = 4;
  outcome.last.counters.rows_hidden = 5;
  EXPECT_EQ(SyncOutcomeJson(outcome, 1'234'567).object(),
            "{\"end\":\"stuck\",\"seals_confirmed\":3,\"seals_parked\":0,\"seals_holding\":0,"
            "\"versions_sent\":30,\"bytes_sent\":0,\"versions_left_out\":3,"
            "\"seals_proved_by_count\":0,\"seals_proved_by_rows\":0,\"rows_shadowed\":0,"
            "\"rows_overwritten\":4,\"rows_hidden\":5,\"spent_ms\":1234}");
  EXPECT_EQ(SyncOutcomeText(outcome, 1'234'567),
            "3 seals confirmed: 30 row versions sent in 0 B, 1.2 s, 3 expired or deleted before; "
            "4 rows overwritten by another writer; 5 rows with values that are hidden upstream, as "
            "agreed");
}

TEST_F(SyncRunTest, FollowTellsWhatIsParked) {
  ParkedSeal parked;
  parked.table = "t";
  parked.entity = "a";
  parked.bucket = "1";
  parked.seal = 8;
  parked.words = "old";
  parked_.emplace_back(0, parked);  // before it began
  parked.seal = 9;
  parked.words = "Invalid: no";
  parked_.emplace_back(3, parked);
  Tell(ReplicationPhase::kWorking);
  status_.counters.seals_parked = 1;
  Tell(ReplicationPhase::kWorking, 2);  // counted a step before it is listed
  Tell(ReplicationPhase::kStuck, 5);
  (void)Follow();
  EXPECT_THAT(lines_, ElementsAre("the cluster takes requests",
                                  "parked: t, entity a, bucket 1, seal 9: Invalid: no",
                                  "what is left waits for a person, see `cistern sync status`"));
}

TEST_F(SyncRunTest, FollowGoesOnWhenTheStoreFails) {
  Tell(ReplicationPhase::kIdle);
  for (int i = 0; i < 3; ++i) Fail(Status::IoError("the device is gone"));
  Tell(ReplicationPhase::kIdle);
  (void)Follow();
  EXPECT_THAT(lines_, ElementsAre("the cluster takes requests", "nothing waits",
                                  "the device is gone; it is tried again",
                                  "the store works again"));
}

// A wrong password, say, is told before the first seal waits for the right one.
TEST_F(SyncRunTest, FollowTellsThatItIsAwayWhileNothingWaits) {
  status_.phase = ReplicationPhase::kIdle;
  for (const auto& [away, count] : {std::pair(true, 3), {false, 6}, {true, 9}, {false, 7}}) {
    status_.away = away ? Status::NotFound("no host answers") : Status::Ok();
    for (int i = 0; i < count; ++i) told_.emplace_back(status_);
  }
  (void)Follow();
  EXPECT_THAT(lines_, ElementsAre("nothing waits", "the cluster takes requests",
                                  "the cluster is away: no host answers; nothing waits",
                                  "the cluster takes requests again, after 9 s"));
}

// Connected, and each try refused: a pause that ends is no sign that it is back.
TEST_F(SyncRunTest, FollowTellsOnceOfAnOutageInWhichItIsTried) {
  status_.away = Status::NotFound("unavailable: 2 of 3 replicas");
  for (int i = 0; i < 30; ++i) {
    for (int s = 0; s < 6; ++s) told_.emplace_back(status_);
    status_.phase = ReplicationPhase::kWorking;
    status_.away = Status::Ok();
    told_.emplace_back(status_);
    status_.phase = ReplicationPhase::kAway;
    status_.away = Status::NotFound("unavailable: 2 of 3 replicas");
  }
  status_.counters.bytes_sent = 100;  // or read back
  Tell(ReplicationPhase::kWorking, 2);
  (void)Follow();
  EXPECT_THAT(lines_, ElementsAre("the cluster is away: unavailable: 2 of 3 replicas",
                                  "the cluster takes requests again, after 3 min 29 s"));
}

// What was acknowledged before it went, and told with the going, is no return.
TEST_F(SyncRunTest, FollowTakesNoOldAnswerForAReturn) {
  Tell(ReplicationPhase::kWorking);
  status_.counters.bytes_sent = 100;
  Tell(ReplicationPhase::kAway, 8);
  Tell(ReplicationPhase::kWorking, 20);
  status_.counters.bytes_read_back = 1;
  Tell(ReplicationPhase::kWorking);
  (void)Follow();
  EXPECT_THAT(lines_, ElementsAre("the cluster takes requests",
                                  "the cluster is away: no host answers",
                                  "the cluster takes requests again, after 8 s"));
}

TEST_F(SyncRunTest, FollowTellsAReasonThatChanged) {
  status_.phase = ReplicationPhase::kAway;
  const auto tell = [this](const std::string& words, int seconds) {
    status_.away = Status::NotFound("no host: " + words);
    for (int i = 0; i < seconds; ++i) told_.emplace_back(status_);
  };
  tell("db: reset", 3);
  tell("10.0.0.1:9042: refused; 10.0.0.2:9042: refused", 20);
  tell("10.0.0.2:9042: refused; 10.0.0.1:9042: refused", 80);  // the same
  tell("10.0.0.1:9042: bad credentials", 5);
  tell("10.0.0.1:9042: timed out", 54);  // not within a minute
  tell("10.0.0.1:9042: bad credentials", 20);
  tell("10.0.0.1:9042: timed out", 100);
  (void)Follow();
  EXPECT_THAT(lines_,
              ElementsAre("the cluster is away: no host: 10.0.0.1:9042: refused; 10.0.0.2:9042: "
                          "refused",
                          "the cluster is still away, for another reason: no host: "
                          "10.0.0.1:9042: bad credentials",
                          "the cluster is still away, for another reason: no host: "
                          "10.0.0.1:9042: timed out"));
}

}  // namespace
}  // namespace cistern::tool
