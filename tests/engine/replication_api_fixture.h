// A gateway as its firmware sees it, through the public headers alone: a store, a replication, and
// a cluster on a thread of its own. The clocks are the machine's.
#ifndef CISTERN_TESTS_ENGINE_REPLICATION_API_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_REPLICATION_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cistern/cistern.h"
#include "tests/support/fake_cassandra/fake_cluster.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {

inline constexpr char kReadings[] =
    "CREATE TABLE plant.readings (sensor text, day date, ts timestamp, celsius double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day'";

class ReplicationApiFixture : public ::testing::Test {
 protected:
  static constexpr int64_t kDayMs = 86'400'000;

  void SetUp() override {
    EngineOptions options;
    options.memory_budget_bytes = 16 << 20;
    auto opened = Engine::Open(temp_.path() + "/store", options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = *std::move(opened);
    const Status made = engine_->CreateTable(kReadings);
    ASSERT_TRUE(made.ok()) << made.ToString();
    schema_ = *engine_->FindTable("plant.readings");
    options_.hold_us = 0;  // this cluster has on disk what it acknowledged
  }
  void TearDown() override {
    replication_.reset();  // before its engine
    if (engine_) {
      EXPECT_TRUE(engine_->Close().ok());
    }
  }

  // --- the cluster
  void StartCluster(fake_cassandra::ClusterOptions options = {}) {
    auto started = fake_cassandra::FakeCluster::Start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    cluster_ = *std::move(started);
    for (const std::string cql :
         {"CREATE KEYSPACE plant WITH replication = {'class': 'SimpleStrategy', "
          "'replication_factor': 1}",
          kReadings}) {
      const Status s = cluster_->Run(cql);
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
    cluster_->StartThread();
    access_.contacts = {cluster_->host(0) + ":" + std::to_string(cluster_->port())};
  }
  // Rows that a client of the cluster can read.
  size_t RowsUpstream() {
    const std::string rows = cluster_->Dump("plant", "readings");
    return static_cast<size_t>(std::count(rows.begin(), rows.end(), '\n'));
  }

  // --- the store
  void Write(const std::string& sensor, int64_t ts, uint32_t ttl_s = 0) {
    RowBatch batch(schema_);
    batch.BeginRow();
    EXPECT_TRUE(batch.SetBytes(0, sensor).ok());
    EXPECT_TRUE(batch.SetInt(2, ts).ok());
    EXPECT_TRUE(batch.SetDouble(3, 21.5).ok());
    if (ttl_s != 0) {
      EXPECT_TRUE(batch.SetTtl(ttl_s).ok());
    }
    EXPECT_TRUE(batch.EndRow().ok());
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }
  void SealAll() {
    const auto report = engine_->Seal({.due_only = false});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
  }
  // A bucket for each day and sensor, two rows in each.
  void FillDays(int days) {
    for (int day = 0; day < days; ++day) {
      for (const std::string sensor : {"s1", "s2"}) {
        Write(sensor, day_ms_ + day * kDayMs);
        Write(sensor, day_ms_ + day * kDayMs + 1);
      }
    }
    SealAll();
  }

  // --- the replication
  void Start() {
    auto started = Replication::Start(engine_.get(), access_, options_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    replication_ = *std::move(started);
  }
  // Why it does not start.
  Status Refusal() { return Replication::Start(engine_.get(), access_, options_).status(); }
  // False: it takes too long.
  static bool Await(const std::function<bool()>& is_so) {
    constexpr auto kPatience = std::chrono::seconds(60);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  bool AwaitConfirmed(uint64_t versions) {
    return Await([&] { return engine_->GetMetrics().versions_confirmed == versions; });
  }
  bool AwaitPhase(ReplicationPhase phase) {
    return Await([&] { return replication_->GetStatus().phase == phase; });
  }

  const TempDir temp_{"cistern-api"};
  const int64_t day_ms_ = SystemClock()->WallMicros() / 1000 / kDayMs * kDayMs - 30 * kDayMs;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  std::unique_ptr<fake_cassandra::FakeCluster> cluster_;
  ClusterAccess access_;
  ReplicationOptions options_;
  std::unique_ptr<Replication> replication_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_REPLICATION_API_FIXTURE_H_
