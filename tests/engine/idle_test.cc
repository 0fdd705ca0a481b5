// What an engine does while nothing happens: nothing, and how long it knows that beforehand.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>

#include "engine/maintenance_thread.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

// Counts how often the disk is asked for its room.
class RoomCounter : public rocksdb::FileSystemWrapper {
 public:
  RoomCounter() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "RoomCounter"; }
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 uint64_t* free_bytes, rocksdb::IODebugContext* dbg) override {
    ++asked_;
    return FileSystemWrapper::GetFreeSpace(path, options, free_bytes, dbg);
  }
  [[nodiscard]] uint64_t asked() const { return asked_; }

 private:
  std::atomic<uint64_t> asked_{0};
};

class IdleTest : public EngineFixture {
 protected:
  static constexpr int64_t kSecondUs = 1'000'000;
  static constexpr int64_t kHourUs = 3600 * kSecondUs;
  void SetUp() override {
    counter_ = std::make_shared<RoomCounter>();
    fs_ = counter_;
    EngineFixture::SetUp();
    TickAll();
  }
  int64_t IdleUs() { return Core()->maintenance().idle_us(); }
  // As the maintenance thread does; how often it wakes in so long a time.
  int64_t WakingsIn(int64_t span_us) {
    int64_t wakings = 0;
    for (int64_t past_us = 0; past_us < span_us;) {
      const int64_t sleep_us = std::min(IdleUs(), span_us - past_us);
      clock_->AdvanceMicros(sleep_us);
      past_us += sleep_us;
      if (past_us == span_us) break;
      ++wakings;
      TickAll();
    }
    return wakings;
  }
  std::shared_ptr<RoomCounter> counter_;
};

TEST_F(IdleTest, AStoreWithoutRowsIsNeverLookedAt) {
  EXPECT_EQ(IdleUs(), INT64_MAX);
  EXPECT_EQ(WakingsIn(24 * kHourUs), 0);
}

TEST_F(IdleTest, RowsAreLookedAtOnceAMinuteWhenTheyAreSafe) {
  MustAppend("a", kStartMs, 1, {Durability::kLog});
  TickAll();
  EXPECT_LE(IdleUs(), options_.sync_interval_us);  // for the sync
  // The sync, what ACK says of it, and the looks at what may be due.
  EXPECT_LE(WakingsIn(60 * kSecondUs), 4);
  const uint64_t asked = counter_->asked();
  EXPECT_LE(WakingsIn(kHourUs), 61);
  EXPECT_LE(counter_->asked() - asked, 61u * 8);
  EXPECT_EQ(Core()->committer().synced_sequence(), Core()->store().beacon_sequence());
}

TEST_F(IdleTest, SealedRowsAreToo) {
  MustAppend("a", kStartMs, 1);
  SealAll();
  TickAll();
  const uint64_t asked = counter_->asked();
  EXPECT_LE(WakingsIn(kHourUs), 61);
  EXPECT_LE(counter_->asked() - asked, 61u * 8);
}

TEST_F(IdleTest, RowsAreSyncedRotatedAndSealedWhenTheyAreDue) {
  options_.head_age_us_max = 600 * kSecondUs;
  Reopen();
  MustAppend("a", kStartMs, 1, {Durability::kLog});
  TickAll();
  (void)WakingsIn(2 * kSecondUs);
  EXPECT_EQ(Core()->committer().synced_sequence(), Core()->committer().last_sequence());
  (void)WakingsIn(599 * kSecondUs);
  EXPECT_EQ(engine_->GetMetrics().rotations, 1u);
  (void)WakingsIn(24 * kHourUs + 2 * 300 * kSecondUs);  // the day, grace and idle time
  (void)WakingsIn(60 * kSecondUs);
  EXPECT_EQ(engine_->GetMetrics().buckets_sealed, 1u);
}

TEST_F(IdleTest, AClockThatIsNotTrustedIsLookedAtEachSecond) {
  clock_->Reboot("boot-2", 0);
  Reopen();
  TickAll();
  EXPECT_EQ(IdleUs(), kSecondUs);
  clock_->SetWallMicros(kStartUs + kHourUs);
  clock_->AdvanceMicros(kSecondUs);
  TickAll();
  EXPECT_EQ(IdleUs(), INT64_MAX);
}

TEST_F(IdleTest, AConfirmedClockIsWorkForTheThread) {
  const uint64_t seen = Core()->heads().work_came->count();
  ASSERT_TRUE(engine_->ConfirmClock().ok());
  EXPECT_GT(Core()->heads().work_came->count(), seen);
}

TEST_F(IdleTest, ADiskWithoutRoomIsAskedOnceASecond) {
  auto disk = std::make_shared<FaultFileSystem>();
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  fs_ = disk;
  Open();
  MustAppend("a", kStartMs, 1);
  (void)Core()->committer().Freeze();
  disk->SetDiskBytes(disk->used_bytes() + 1);
  TickAll();
  EXPECT_EQ(IdleUs(), kSecondUs);
  disk->SetDiskBytes(0);
}

TEST_F(IdleTest, TheThreadSleepsAndMissesNothing) {
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.background_threads = true;
  options_.clock = nullptr;
  options_.event_future_s_max = limits::kFutureSecondsMax;
  options_.sync_interval_us = 10'000;
  Open();
  // The store was made at a time that is not the machine's.
  ASSERT_TRUE(engine_->ConfirmClock().ok());
  const auto await = [](const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return is_so();
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(await([&] { return IdleUs() > WorkSignal::kSoonUs; }));  // for a minute or more
    MustAppend("a", kStartMs + i, i, {Durability::kLog});
    const uint64_t sequence = Core()->committer().last_sequence();
    EXPECT_TRUE(await([&] { return Core()->committer().synced_sequence() >= sequence; }));
  }
}

// --- the thread

// Counts its turns, and sleeps as long as it is told.
class TurnCounter {
 public:
  void Start(int64_t idle_us) {
    idle_us_ = idle_us;
    const Status started = thread_.Start([this] {
      ++turns_;
      return idle_us_.load();
    });
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  // Until so many turns were begun.
  void AwaitTurns(int turns) const {
    while (turns_ < turns) std::this_thread::yield();
  }
  std::shared_ptr<WorkSignal> work_ = std::make_shared<WorkSignal>();
  MaintenanceThread thread_{work_};
  std::atomic<int> turns_{0};
  std::atomic<int64_t> idle_us_{0};
};

TEST(MaintenanceThread, SleepsUntilThereIsWork) {
  TurnCounter counter;
  counter.Start(INT64_MAX);
  for (int turn = 1; turn < 100; ++turn) {
    counter.AwaitTurns(turn);
    if (turn % 2 == 0) counter.work_->Now();
    else counter.work_->Soon();
  }
  counter.AwaitTurns(100);
  counter.thread_.Stop();
  EXPECT_EQ(counter.turns_, 100);  // one for each signal, and the first
}

TEST(MaintenanceThread, GoesOnWhileThereIsMore) {
  TurnCounter counter;
  counter.Start(0);
  counter.AwaitTurns(1000);
  counter.thread_.Stop();
}

// All of them wait for the thread at once, as its turn ends behind their calls.
TEST(MaintenanceThread, IsStoppedFromManyThreads) {
  constexpr int kThreads = 4;
  std::latch stopping(kThreads);
  MaintenanceThread thread(std::make_shared<WorkSignal>());
  const Status started = thread.Start([&] {
    stopping.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return INT64_MAX;
  });
  ASSERT_TRUE(started.ok()) << started.ToString();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      stopping.count_down();
      thread.Stop();
    });
  }
  for (std::thread& other : threads) other.join();
}

TEST(WorkSignal, WhatCameBeforeTheSleepIsNotSleptOver) {
  WorkSignal work;
  const uint64_t seen = work.count();
  work.Soon();  // while the sleeper looked at what is due
  EXPECT_TRUE(work.Wait(seen, INT64_MAX));
  work.Now();
  EXPECT_TRUE(work.Wait(work.count(), INT64_MAX));
  work.Close();
  EXPECT_FALSE(work.Wait(work.count(), INT64_MAX));
}

}  // namespace
}  // namespace cistern::testing
