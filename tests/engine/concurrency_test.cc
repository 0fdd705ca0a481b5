// Producers, scanners, maintenance and Close at once. Meant for the TSan build, true in
// every build: nothing acknowledged is missing, and what a scan shows only grows.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cistern/cistern.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr const char* kTable =
    "CREATE TABLE c.rows (sensor int, hour timestamp, ts timestamp, v bigint, note text,"
    " PRIMARY KEY ((sensor, hour), ts))";
constexpr int64_t kFirstMs = 1'704'067'200'000;
constexpr int64_t kStepMs = 60'000;
constexpr int64_t kRowsOfBucket = 60;  // an hour
constexpr size_t kProducers = 3;
constexpr int64_t kRowsOfRun = 4000;  // of a producer, so that scans keep up

class Concurrency : public ::testing::Test {
 protected:
  void Open(bool background_threads) {
    EngineOptions options;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    options.background_threads = background_threads;
    options.sync_interval_us = 5000;
    auto opened = Engine::Open(root_.path() + "/store", options);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = std::move(opened).value();
    ASSERT_TRUE(engine_->CreateTable(kTable).ok());
    schema_ = *engine_->FindTable("c.rows");
  }

  Status Fill(size_t sensor, int64_t first, int64_t count, RowBatch* batch) const {
    batch->Clear();
    for (int64_t n = first; n < first + count; ++n) {
      batch->BeginRow();
      CISTERN_RETURN_IF_ERROR(batch->SetInt(0, static_cast<int64_t>(sensor)));
      CISTERN_RETURN_IF_ERROR(batch->SetInt(2, kFirstMs + n * kStepMs));
      CISTERN_RETURN_IF_ERROR(batch->SetInt(3, n));
      CISTERN_RETURN_IF_ERROR(batch->SetBytes(4, "row"));
      CISTERN_RETURN_IF_ERROR(batch->EndRow());
    }
    return Status::Ok();
  }

  // Rows of a sensor; every value must fit its time. Ascending or descending. A scan is no
  // snapshot over buckets: rows from `promised` on, appended while it ran, may be missing
  // at the end of a bucket that it had passed when a later one begins with them.
  Result<int64_t> Count(size_t sensor, bool ascending, int64_t promised = INT64_MAX) {
    const std::string name = std::to_string(sensor);
    const std::string_view parts[] = {name};
    ScanRequest request;
    request.table = "c.rows";
    CISTERN_ASSIGN_OR_RETURN(request.entity, EntityFromText(*schema_, parts));
    request.from = ascending ? kFirstMs : kFirstMs * 2;
    request.to = ascending ? kFirstMs * 2 : kFirstMs;
    request.columns = {"ts", "v"};
    request.batch_rows_max = 100;
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine_->Scan(request));
    int64_t rows = 0;
    int64_t last = ascending ? -1 : INT64_MAX;
    ResultBatch batch;
    while (cursor->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        const int64_t n = batch.columns[1].fixed[i];
        if (batch.columns[0].fixed[i] != kFirstMs + n * kStepMs) {
          return Status::Internal("a row with another row's value");
        }
        const bool later_bucket = n % kRowsOfBucket == 0 && n > last && last + 1 >= promised;
        if (ascending ? n != last + 1 && !later_bucket : (last != INT64_MAX && n != last - 1)) {
          return Status::Internal("row " + std::to_string(n) + " after " + std::to_string(last));
        }
        last = n;
        ++rows;
      }
    }
    CISTERN_RETURN_IF_ERROR(cursor->status());
    return rows;
  }

  // Appends until told to stop or the engine is closed. acknowledged_[sensor] follows.
  void Produce(size_t sensor) {
    Rng rng(sensor + 1);
    auto producer = engine_->NewProducer();
    if (!producer.ok()) return;
    RowBatch batch(schema_);
    const int64_t end = attempted_[sensor] + kRowsOfRun;
    while (!stop_ && attempted_[sensor] < end) {
      const int64_t first = attempted_[sensor];
      const int64_t count = rng.Between(1, 40);
      if (!Fill(sensor, first, count, &batch).ok()) return Complain("Fill");
      attempted_[sensor] = first + count;
      const WriteOptions options{static_cast<Durability>(rng.Below(3)), BackPressure::kWait};
      const auto answer = (*producer)->Append(batch, options);
      if (!answer.ok()) {
        if (answer.status().code() != StatusCode::kClosed) Complain(answer.status().ToString());
        return;
      }
      acknowledged_[sensor] = first + count;
    }
  }

  void Watch(uint64_t seed) {
    Rng rng(seed);
    std::vector<int64_t> seen(kProducers, 0);
    while (!stop_) {
      const size_t sensor = rng.Below(kProducers);
      const int64_t promised = acknowledged_[sensor];
      const auto rows = Count(sensor, rng.OneIn(2), promised);
      if (!rows.ok()) {
        if (rows.status().code() != StatusCode::kClosed) Complain(rows.status().ToString());
        if (rows.status().code() == StatusCode::kClosed) return;
        continue;
      }
      const int64_t attempted = attempted_[sensor];
      if (*rows < promised || *rows < seen[sensor] || *rows > attempted) {
        Complain("a scan saw " + std::to_string(*rows) + " rows, promised " +
                 std::to_string(promised) + ", seen before " + std::to_string(seen[sensor]) +
                 ", attempted " + std::to_string(attempted));
      }
      seen[sensor] = *rows;
      ++scans_;
    }
  }

  void Maintain() {
    Rng rng(99);
    while (!stop_) {
      Status s;
      switch (rng.Below(6)) {
        case 0: s = engine_->Rotate(); break;
        case 1: s = engine_->Sync(); break;
        case 2: s = engine_->ListBuckets([](const BucketInfo&) { return true; }); break;
        case 3: {
          const Metrics m = engine_->GetMetrics();
          if (m.versions_written != m.versions_open + m.versions_sealed + m.versions_superseded) {
            Complain("the counters do not reconcile");
          }
          break;
        }
        case 4: s = engine_->Verify().status(); break;
        default: s = engine_->Tick().status(); break;
      }
      if (s.code() == StatusCode::kClosed) return;
      if (!s.ok()) Complain(s.ToString());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Follows a sensor from its first row: each row once and in order, as it was produced, over
  // buckets, rotations and seals.
  void Follow(size_t sensor) {
    const std::string name = std::to_string(sensor);
    const std::string_view parts[] = {name};
    ScanRequest request;
    request.table = "c.rows";
    request.entity = *EntityFromText(*schema_, parts);
    request.from = kFirstMs;
    request.columns = {"v"};
    auto cursor = engine_->Follow(request, 50'000);
    if (!cursor.ok()) return Complain(cursor.status().ToString());
    ResultBatch batch;
    int64_t next = 0;
    while (!stop_ || next < attempted_[sensor]) {
      while ((*cursor)->Next(&batch)) {
        for (size_t i = 0; i < batch.row_count; ++i, ++next) {
          if (batch.columns[0].fixed[i] == next) continue;
          return Complain("the follower of " + name + " got row " +
                          std::to_string(batch.columns[0].fixed[i]) + " for row " +
                          std::to_string(next));
        }
      }
      if (!(*cursor)->status().ok()) return Complain((*cursor)->status().ToString());
    }
    followed_ += next;
  }

  void Complain(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (complaints_.size() < 10) complaints_.push_back(text);
  }

  // Starts everything; `end` decides when it is over.
  template <typename End>
  void RunAll(End end) {
    std::vector<std::thread> threads;
    for (size_t p = 0; p < kProducers; ++p) threads.emplace_back([this, p] { Produce(p); });
    for (uint64_t s = 0; s < 2; ++s) threads.emplace_back([this, s] { Watch(s + 50); });
    threads.emplace_back([this] { Maintain(); });
    end();
    stop_ = true;
    for (std::thread& t : threads) t.join();
    for (const std::string& complaint : complaints_) ADD_FAILURE() << complaint;
  }

  // Until enough was done, on a slow machine too.
  void WaitForWork(int64_t rows, int64_t scans) {
    for (int i = 0; i < 6000; ++i) {
      int64_t written = 0;
      for (const auto& n : acknowledged_) written += n;
      if (written >= rows && scans_ >= scans) return;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!complaints_.empty()) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  TempDir root_{"cistern-concurrent"};
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
  std::array<std::atomic<int64_t>, kProducers> attempted_{};
  std::array<std::atomic<int64_t>, kProducers> acknowledged_{};
  std::atomic<int64_t> scans_{0};
  std::atomic<int64_t> followed_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<std::string> complaints_;
};

TEST_F(Concurrency, EverythingAtOnceWithBackgroundThreads) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  RunAll([this] { WaitForWork(6000, 40); });
  for (size_t p = 0; p < kProducers; ++p) {
    const auto rows = Count(p, true);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    EXPECT_EQ(*rows, acknowledged_[p].load());
  }
  EXPECT_TRUE(engine_->Close().ok());
}

TEST_F(Concurrency, FollowersGetEveryRowInOrder) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  std::vector<std::thread> followers;
  for (size_t p = 0; p < kProducers; ++p) followers.emplace_back([this, p] { Follow(p); });
  RunAll([this] { WaitForWork(6000, 10); });
  for (std::thread& t : followers) t.join();
  for (const std::string& complaint : complaints_) ADD_FAILURE() << complaint;
  int64_t produced = 0;
  for (const auto& n : attempted_) produced += n;
  EXPECT_EQ(followed_, produced);
  EXPECT_TRUE(engine_->Close().ok());
}

TEST_F(Concurrency, EverythingAtOnceWhenTheHostDrives) {
  ASSERT_NO_FATAL_FAILURE(Open(false));
  RunAll([this] { WaitForWork(6000, 40); });
  for (size_t p = 0; p < kProducers; ++p) {
    const auto rows = Count(p, false);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    EXPECT_EQ(*rows, acknowledged_[p].load());
  }
  EXPECT_TRUE(engine_->Close().ok());
}

TEST_F(Concurrency, CloseUnderLoadAnswersEveryoneAndKeepsWhatWasAcknowledged) {
  for (int round = 0; round < 4; ++round) {
    ASSERT_NO_FATAL_FAILURE(Open(round % 2 == 0));
    stop_ = false;
    scans_ = 0;
    const int64_t before = acknowledged_[0];
    RunAll([&] {
      WaitForWork(before + 300, 5);
      EXPECT_TRUE(engine_->Close().ok());
    });
    EXPECT_EQ(engine_->Append(RowBatch(schema_)).status().code(), StatusCode::kClosed);
    engine_.reset();
    ASSERT_NO_FATAL_FAILURE(Open(false));
    for (size_t p = 0; p < kProducers; ++p) {
      const auto rows = Count(p, true);
      ASSERT_TRUE(rows.ok()) << rows.status().ToString();
      EXPECT_GE(*rows, acknowledged_[p].load());
      EXPECT_LE(*rows, attempted_[p].load());
      attempted_[p] = acknowledged_[p] = *rows;
    }
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
}

// Batches of the declaration before are refused, and made anew: no row is lost, none is coded by
// the wrong columns.
TEST_F(Concurrency, TablesAreAlteredUnderWritersAndScans) {
  Open(true);
  constexpr int64_t kRows = 4000;
  const std::string altered =
      "CREATE TABLE c.rows (note text, sensor int, hour timestamp, extra int, ts timestamp,"
      " v bigint, PRIMARY KEY ((sensor, hour), ts))";
  std::atomic<size_t> writing{kProducers};
  const auto write = [&](size_t sensor) {
    auto producer = *engine_->NewProducer();
    for (int64_t n = 0; n < kRows;) {
      const auto schema = *engine_->FindTable("c.rows");
      RowBatch batch(schema);
      batch.BeginRow();
      EXPECT_TRUE(batch.SetInt(*schema->FindColumn("sensor"), static_cast<int64_t>(sensor)).ok());
      EXPECT_TRUE(batch.SetInt(*schema->FindColumn("ts"), kFirstMs + n * kStepMs).ok());
      EXPECT_TRUE(batch.SetInt(*schema->FindColumn("v"), n).ok());
      EXPECT_TRUE(batch.SetBytes(*schema->FindColumn("note"), "row").ok());
      EXPECT_TRUE(batch.EndRow().ok());
      const Status s = producer->Append(batch, {Durability::kLog}).status();
      if (s.ok()) ++n;
      else ASSERT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
    }
    --writing;
  };
  const auto read = [&](size_t sensor) {
    ScanRequest request;
    request.table = "c.rows";
    request.entity = *EntityFromText(*schema_, {{std::to_string(sensor)}});
    request.from = kFirstMs;
    request.to = kFirstMs + kRows * kStepMs;
    request.columns = {"v", "note", "ts"};
    int64_t rows = 0;
    const bool all_written = writing == 0;
    auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i, ++rows) {
        EXPECT_EQ(batch.columns[2].fixed[i], kFirstMs + batch.columns[0].fixed[i] * kStepMs);
        EXPECT_EQ(batch.columns[1].bytes(i), "row");
      }
    }
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    if (all_written) {
      EXPECT_EQ(rows, kRows);
    }
  };
  std::vector<std::thread> threads;
  for (size_t p = 0; p < kProducers; ++p) threads.emplace_back(write, p);
  int turn = 0;
  for (; writing > 0 && turn < 200; ++turn) {
    const Status s = engine_->AlterTable(turn % 2 == 0 ? altered : kTable);
    EXPECT_TRUE(s.ok()) << s.ToString();
    read(static_cast<size_t>(turn) % kProducers);
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(turn, 1);
  for (size_t p = 0; p < kProducers; ++p) read(p);
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->problems.empty()) << report->problems.front();
}

}  // namespace
}  // namespace cistern::testing
