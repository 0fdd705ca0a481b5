// Replication as an embedding program has it: both ways to drive it, what stands in its way, and
// what is done about that.
#include "tests/engine/replication_api_fixture.h"

#include <atomic>
#include <vector>

namespace cistern::testing {
namespace {

constexpr char kPassword[] = "Kx7-not-to-be-seen";
constexpr int64_t kHourUs = 3'600'000'000;
// What expires later is refused by Cassandra 5.0 as it is set up.
constexpr uint32_t kTwentyYearsS = 20 * 365 * 86'400;

// Programs that were built before have these numbers.
static_assert(static_cast<int>(ReplicationPhase::kIdle) == 4);
static_assert(static_cast<int>(ReplicationPhase::kCollecting) == 5);

using ReplicationApi = ReplicationApiFixture;

TEST_F(ReplicationApi, AThreadOfItsOwnSendsWhatIsSealed) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(3);
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitConfirmed(12));
  EXPECT_EQ(RowsUpstream(), 12u);
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kIdle));
  const ReplicationStatus status = replication_->GetStatus();
  EXPECT_EQ(status.counters.seals_confirmed, 6u);
  EXPECT_TRUE(status.away.ok());
  EXPECT_TRUE(replication_->Health().ok());
  // What is sealed later is found.
  Write("s3", day_ms_);
  SealAll();
  ASSERT_TRUE(AwaitConfirmed(13));
  EXPECT_EQ(RowsUpstream(), 13u);
  EXPECT_EQ(replication_->Run(0).status().code(), StatusCode::kInvalidArgument);
}

// A gateway that seals nothing is not one that has nothing to send.
TEST_F(ReplicationApi, RowsOfOpenBucketsAreTold) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(1);
  const int64_t before_us = SystemClock()->WallMicros();
  Write("s1", before_us / 1000);
  Write("s2", before_us / 1000);
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kCollecting));
  const OpenRows open = replication_->GetStatus().open;
  EXPECT_EQ(open.versions, 2u);
  ASSERT_TRUE(open.oldest_us.has_value());
  EXPECT_LT(std::abs(*open.oldest_us - before_us), 60'000'000);
  EXPECT_EQ(open.buckets_overdue, 0u);
  EXPECT_TRUE(open.why.ok()) << open.why.ToString();
  const Result<OutboxStatus> outbox = replication_->GetOutbox();
  ASSERT_TRUE(outbox.ok()) << outbox.status().ToString();
  EXPECT_FALSE(outbox->oldest_end_s.has_value());
  EXPECT_EQ(outbox->open.versions, 2u);
  EXPECT_TRUE(outbox->open.oldest_us.has_value());
  SealAll();
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kIdle));
  EXPECT_EQ(replication_->GetStatus().open.versions, 0u);
  EXPECT_FALSE(replication_->GetStatus().open.oldest_us.has_value());
}

TEST_F(ReplicationApi, TheHostDrivesIt) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(2);
  options_.background_thread = false;
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(RowsUpstream(), 0u) << "nothing happens by itself";
  ASSERT_TRUE(Await([&] {
    const Result<ReplicationStatus> status = replication_->Run(1'000);
    return status.ok() && status->phase == ReplicationPhase::kIdle;
  }));
  EXPECT_EQ(RowsUpstream(), 8u);
  EXPECT_EQ(replication_->GetStatus().counters.seals_confirmed, 4u);
  const Result<OutboxStatus> outbox = replication_->GetOutbox();
  ASSERT_TRUE(outbox.ok()) << outbox.status().ToString();
  EXPECT_EQ(outbox->versions_confirmed, 8u);
  EXPECT_EQ(outbox->seals_waiting, 0u);
  EXPECT_FALSE(outbox->oldest_end_s.has_value());
  for (const int64_t wait_us : {int64_t{-1}, kHourUs + 1}) {
    const Status s = replication_->Run(wait_us).status();
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(s.message().find("from 0 to 3600000000"), std::string::npos) << s.message();
  }
}

TEST_F(ReplicationApi, StopEndsALongWaitAndIsTheEnd) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  options_.background_thread = false;
  ASSERT_NO_FATAL_FAILURE(Start());
  std::atomic<bool> is_over = false;
  std::thread driver([&] {
    while (replication_->Run(kHourUs).ok()) continue;
    is_over = true;
  });
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kIdle));
  replication_->Stop();
  driver.join();
  EXPECT_TRUE(is_over);
  replication_->Stop();
  EXPECT_EQ(replication_->Run(0).status().code(), StatusCode::kClosed);
  EXPECT_EQ(replication_->ListParked().status().code(), StatusCode::kClosed);
  EXPECT_EQ(replication_->RetryParked().status().code(), StatusCode::kClosed);
  EXPECT_EQ(replication_->Resend("readings", {0, 1}).status().code(), StatusCode::kClosed);
  EXPECT_EQ(replication_->GetOutbox().status().code(), StatusCode::kClosed);
  EXPECT_EQ(replication_->GetStatus().phase, ReplicationPhase::kIdle) << "the last one";
}

TEST_F(ReplicationApi, WhatWasNotConfirmedIsSentByTheNextOne) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(2);
  options_.hold_us = kHourUs;
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kHolding));
  EXPECT_EQ(replication_->GetStatus().versions_holding, 8u);
  EXPECT_EQ(Refusal().code(), StatusCode::kAlreadyExists) << "one at a time";
  replication_->Stop();
  EXPECT_EQ(engine_->GetMetrics().versions_confirmed, 0u);
  options_.hold_us = 0;
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitConfirmed(8));
  EXPECT_EQ(RowsUpstream(), 8u);
}

TEST_F(ReplicationApi, ARefusedSealIsParkedListedAndRetried) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  Write("s1", day_ms_, kTwentyYearsS);
  Write("s2", day_ms_);
  SealAll();
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kStuck));
  ASSERT_TRUE(AwaitConfirmed(1));
  const auto parked = replication_->ListParked();
  ASSERT_TRUE(parked.ok()) << parked.status().ToString();
  ASSERT_EQ(parked->size(), 1u);
  EXPECT_EQ(parked->front().table, "plant.readings");
  EXPECT_EQ(parked->front().entity, "s1");
  EXPECT_EQ(parked->front().versions, 1u);
  EXPECT_NE(parked->front().words.find("2038"), std::string::npos) << parked->front().words;
  EXPECT_EQ(replication_->RetryParked("nowhere").status().code(), StatusCode::kNotFound);

  cluster_->WithState([](fake_cassandra::ClusterState& state) {
    state.SetCompatibility(fake_cassandra::StorageCompatibility::kNone);
  });
  const Result<uint64_t> retried = replication_->RetryParked("plant.readings");
  ASSERT_TRUE(retried.ok()) << retried.status().ToString();
  EXPECT_EQ(*retried, 1u);
  ASSERT_TRUE(AwaitConfirmed(2));
  EXPECT_EQ(RowsUpstream(), 2u);
}

TEST_F(ReplicationApi, WhatWasConfirmedIsSentOnceMore) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  FillDays(3);
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kIdle));
  ASSERT_EQ(replication_->GetStatus().counters.versions_sent, 12u);
  // One event time of a bucket is enough.
  const int64_t noon_ms = day_ms_ + kDayMs / 2;
  const Result<uint64_t> seals = replication_->Resend("plant.readings", {noon_ms, noon_ms + 1});
  ASSERT_TRUE(seals.ok()) << seals.status().ToString();
  EXPECT_EQ(*seals, 2u);
  ASSERT_TRUE(Await([&] { return replication_->GetStatus().counters.seals_confirmed == 8; }));
  EXPECT_EQ(replication_->GetStatus().counters.versions_sent, 16u);
  EXPECT_EQ(RowsUpstream(), 12u);
  const Status empty = replication_->Resend("plant.readings", {noon_ms, noon_ms}).status();
  EXPECT_EQ(empty.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(replication_->Resend("nowhere", {0, 1}).status().code(), StatusCode::kNotFound);
}

TEST_F(ReplicationApi, AClusterThatIsAwayIsNoError) {
  access_.contacts = {"127.0.0.1:1"};
  FillDays(1);
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(AwaitPhase(ReplicationPhase::kAway));
  ASSERT_TRUE(Await([&] { return !replication_->GetStatus().away.ok(); }));
  EXPECT_NE(replication_->GetStatus().away.message().find("127.0.0.1:1"), std::string::npos);
  EXPECT_TRUE(replication_->Health().ok());
}

TEST_F(ReplicationApi, APasswordIsAskedForAtEachConnectAndSeenNowhere) {
  fake_cassandra::ClusterOptions cluster;
  cluster.user = "edge";
  cluster.password = kPassword;
  ASSERT_NO_FATAL_FAILURE(StartCluster(cluster));
  FillDays(1);
  std::atomic<bool> is_right = false;
  std::atomic<int> asked = 0;
  access_.user = "edge";
  access_.allow_cleartext_password = true;
  access_.password = [&]() -> Result<std::string> {
    if (++asked == 1) return Status::NotFound("the secure element does not answer");
    return std::string(kPassword) + (is_right ? "" : "-not");
  };
  ASSERT_NO_FATAL_FAILURE(Start());
  std::vector<std::string> words;
  const auto listen = [&] {
    words.push_back(replication_->GetStatus().away.ToString());
    return words.back().find("password") != std::string::npos;
  };
  ASSERT_TRUE(Await(listen));
  is_right = true;
  ASSERT_TRUE(AwaitConfirmed(4));
  EXPECT_GE(asked, 3);
  for (const std::string& said : words) {
    EXPECT_EQ(said.find(kPassword), std::string::npos) << said;
  }
}

// As firmware that has a thread for the sensors, one for the screen, and one that shuts down.
TEST_F(ReplicationApi, EveryThreadMayAskAtAnyTime) {
  ASSERT_NO_FATAL_FAILURE(StartCluster());
  ASSERT_NO_FATAL_FAILURE(Start());
  std::atomic<bool> is_over = false;
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i) {
    askers.emplace_back([&] {
      while (!is_over) {
        EXPECT_LE(replication_->GetStatus().seals_holding, 100u);
        EXPECT_TRUE(replication_->Health().ok());
        EXPECT_TRUE(replication_->ListParked().ok());
        EXPECT_TRUE(replication_->GetOutbox().ok());
        EXPECT_TRUE(replication_->RetryParked().ok());
        std::this_thread::yield();
      }
    });
  }
  for (int day = 0; day < 10; ++day) {
    Write("s1", day_ms_ + day * kDayMs);
    SealAll();
  }
  EXPECT_TRUE(AwaitConfirmed(10));
  // What is confirmed shows in the engine at once, in the status behind the round that did it.
  const auto sent = [&] { return replication_->GetStatus().counters.versions_sent; };
  EXPECT_TRUE(Await([&] { return sent() >= 10; }));
  const uint64_t sent_before = sent();
  const auto resent = replication_->Resend("plant.readings", {INT64_MIN, INT64_MAX});
  ASSERT_TRUE(resent.ok()) << resent.status().ToString();
  EXPECT_EQ(*resent, 10u);
  EXPECT_TRUE(AwaitConfirmed(10));
  EXPECT_TRUE(Await([&] { return sent() >= sent_before + 10; }));
  is_over = true;
  for (std::thread& asker : askers) asker.join();
  std::thread other([&] { replication_->Stop(); });
  replication_->Stop();
  other.join();
  EXPECT_EQ(RowsUpstream(), 10u);
}

}  // namespace
}  // namespace cistern::testing
