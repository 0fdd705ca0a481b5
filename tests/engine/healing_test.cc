// A store that failed is opened anew whatever its callers do meanwhile.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class HealingTest : public EngineFixture {
 protected:
  void SetUp() override {
    faults_ = std::make_shared<FaultFileSystem>();
    fs_ = faults_;
  }
  // Every sync of a log fails from now on: of an append, and of each opening.
  void FailSyncs() {
    faults_->Arm({.op = FaultOp::kSync, .kind = FileKind::kWal, .nth = 1, .forever = true});
  }
  void FailOnce() {
    FailSyncs();
    EXPECT_FALSE(Append("a", kStartMs + 999, -1, {Durability::kSynced, BackPressure::kBusy}).ok());
    faults_->Disarm();
  }
  // With the machine's clocks and a thread.
  void OpenWithThreads() {
    options_.background_threads = true;
    options_.clock = nullptr;
    options_.event_future_s_max = limits::kFutureSecondsMax;
    OpenWithTable(kPumps);
  }
  // False: it takes too long.
  static bool Await(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  // The device fails until the store was tried a few times, then works again.
  void FailForAWhile() {
    FailSyncs();
    (void)Append("f", kStartMs, 1, {Durability::kSynced, BackPressure::kBusy});
    ASSERT_TRUE(Await([&] { return faults_->injected() >= 3; }));
    faults_->Disarm();
  }
  std::shared_ptr<FaultFileSystem> faults_;
};

TEST_F(HealingTest, AFailedStoreTakesNoNewReads) {
  OpenWithTable(kPumps);
  MustAppend("a", kStartMs, 1);
  FailOnce();
  EXPECT_EQ(engine_->Scan(Request("a", kStartMs, kStartMs + 10)).status().code(),
            StatusCode::kIoError);
  EXPECT_EQ(engine_->Follow(Request("a", kStartMs, INT64_MAX), 0).status().code(),
            StatusCode::kIoError);
  EXPECT_EQ(engine_->Verify().status().code(), StatusCode::kIoError);
  EXPECT_EQ(engine_->LastEvent(schema_->name, Entity("a")).status().code(), StatusCode::kIoError);
  clock_->AdvanceSeconds(1);
  ASSERT_TRUE(engine_->Tick().ok());
  EXPECT_EQ(ScanAll("a").front(), (std::pair<int64_t, double>{kStartMs, 1}));
}

// A group that failed may be half in the head: nothing of it gets into a segment.
TEST_F(HealingTest, AFailedHeadIsNotFrozen) {
  OpenWithTable(kPumps);
  MustAppend("a", kStartMs, 1);
  const auto core = Core();
  FailOnce();
  EXPECT_FALSE(core->committer().Freeze());
  EXPECT_EQ(core->heads().frozen_head(), nullptr);
}

TEST_F(HealingTest, ACursorReadsOnForAWhileAndIsEndedThen) {
  OpenWithTable(kPumps);
  constexpr int kRows = 100;
  for (int i = 0; i < kRows; ++i) MustAppend("a", kStartMs + i, i, {Durability::kLog});
  ScanRequest request = Request("a", kStartMs, kStartMs + kRows);
  request.batch_rows_max = 10;
  auto cursor = *engine_->Scan(request);
  Rows rows;
  ResultBatch batch;
  ASSERT_TRUE(cursor->Next(&batch));
  AddRows(batch, &rows);
  FailOnce();
  EXPECT_FALSE(engine_->Tick().ok());
  ASSERT_TRUE(cursor->Next(&batch));  // it goes on, and the store waits
  AddRows(batch, &rows);
  clock_->AdvanceMicros(CoreKeeper::kCursorGraceUs);
  const auto healed = engine_->Tick();
  ASSERT_TRUE(healed.ok()) << healed.status().ToString();
  EXPECT_TRUE(cursor->status().ok());  // as of the last call
  EXPECT_FALSE(cursor->Next(&batch));
  EXPECT_EQ(cursor->status().code(), StatusCode::kIoError) << cursor->status().ToString();
  EXPECT_EQ(cursor->schema()->name, schema_->name);
  // What is left is read from where it stood.
  request.token = cursor->Token();
  cursor.reset();
  auto rest = *engine_->Scan(request);
  Drain(rest.get(), &rows);
  ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
  for (int i = 0; i < kRows; ++i) EXPECT_EQ(rows[static_cast<size_t>(i)].first, kStartMs + i);
}

TEST_F(HealingTest, AnAggregateIsEndedToo) {
  OpenWithTable(kPumps);
  for (int i = 0; i < 100; ++i) MustAppend("a", kStartMs + i, i, {Durability::kLog});
  AggregateRequest request;
  request.table = schema_->name;
  request.entities = {Entity("a")};
  request.step = 1;
  request.of = {{"flow", AggregateFunction::kSum}};
  request.batch_steps_max = 10;
  auto cursor = *engine_->Aggregate(request);
  AggregateBatch batch;
  ASSERT_TRUE(cursor->Next(&batch));
  FailOnce();
  EXPECT_FALSE(engine_->Tick().ok());
  clock_->AdvanceMicros(CoreKeeper::kCursorGraceUs);
  ASSERT_TRUE(engine_->Tick().ok());
  EXPECT_FALSE(cursor->Next(&batch));
  EXPECT_EQ(cursor->status().code(), StatusCode::kIoError);
  EXPECT_EQ(cursor->types().size(), 1u);
}

TEST_F(HealingTest, AFollowerGoesOnInTheStoreThatWasOpenedAnew) {
  OpenWithTable(kPumps);
  MustAppend("a", kStartMs, 1);
  ScanRequest request = Request("a", kStartMs, INT64_MAX);
  auto follower = *engine_->Follow(request, 0);
  Rows rows;
  Drain(follower.get(), &rows);
  FailOnce();
  clock_->AdvanceSeconds(1);
  ASSERT_TRUE(engine_->Tick().ok());
  MustAppend("a", kStartMs + 1000, 2);
  Drain(follower.get(), &rows);
  EXPECT_EQ(rows.front(), (std::pair<int64_t, double>{kStartMs, 1}));
  EXPECT_EQ(rows.back(), (std::pair<int64_t, double>{kStartMs + 1000, 2}));
}

// Each reader begins its next scan before it lets go of the last one: one is always open.
TEST_F(HealingTest, ReadersOfOverlappingScansDoNotKeepItShut) {
  OpenWithThreads();
  for (int i = 0; i < 100; ++i) MustAppend("a", kStartMs + i, i, {Durability::kLog});
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::unique_ptr<Cursor> last;
      while (!stop) {
        auto next = engine_->Scan(Request("a", kStartMs, kStartMs + 100));
        if (!next.ok()) {
          last.reset();
          std::this_thread::yield();
          continue;
        }
        ResultBatch batch;
        (void)(*next)->Next(&batch);
        last = *std::move(next);
      }
    });
  }
  FailForAWhile();
  EXPECT_TRUE(Await([&] { return Append("a", kStartMs + 300, 2).ok(); }));
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

TEST_F(HealingTest, WritersThatTryAgainAtOnceDoNotKeepItShut) {
  OpenWithThreads();
  std::atomic<bool> has_recovered{false};
  std::atomic<int> done{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < 8; ++w) {
    writers.emplace_back([&, w] {
      const BackPressure policy = w % 2 == 0 ? BackPressure::kBusy : BackPressure::kWait;
      auto producer = *engine_->NewProducer();
      const RowBatch batch = Row("w" + std::to_string(w), kStartMs, w);
      // At once and again, as firmware does that cannot lose a row.
      while (true) {
        const bool was_back = has_recovered;
        if (producer->Append(batch, {Durability::kSynced, policy}).ok() && was_back) break;
      }
      ++done;
    });
  }
  FailForAWhile();
  has_recovered = true;
  EXPECT_TRUE(Await([&] { return done == 8; }));
  for (std::thread& writer : writers) writer.join();
  for (int w = 0; w < 8; ++w) EXPECT_EQ(ScanAll("w" + std::to_string(w)).size(), 1u);
}

TEST_F(HealingTest, AWriteWaitsForTheStoreOrIsRefusedAsItChose) {
  OpenWithThreads();
  FailSyncs();
  EXPECT_FALSE(Append("a", kStartMs, 1, {Durability::kSynced, BackPressure::kBusy}).ok());
  // It is down, and stays so as long as the device fails.
  const Status refused = Append("a", kStartMs, 1, {Durability::kSynced, BackPressure::kBusy});
  EXPECT_EQ(refused.code(), StatusCode::kIoError) << refused.ToString();
  Status shared;
  Status own;
  Status deleted;
  std::vector<std::thread> waiting;
  waiting.emplace_back([&] { shared = Append("b", kStartMs, 2); });
  waiting.emplace_back([&] {
    auto producer = *engine_->NewProducer();
    own = producer->Append(Row("c", kStartMs, 3)).status();
  });
  waiting.emplace_back([&] {
    deleted = engine_->DeleteRange(schema_->name, Entity("d"), {kStartMs, kStartMs + 1}).status();
  });
  const uint64_t tried = faults_->injected();
  ASSERT_TRUE(Await([&] { return faults_->injected() >= tried + 2; }));
  faults_->Disarm();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_TRUE(shared.ok()) << shared.ToString();
  EXPECT_TRUE(own.ok()) << own.ToString();
  EXPECT_TRUE(deleted.ok()) << deleted.ToString();
  EXPECT_EQ(ScanAll("b").size(), 1u);
  EXPECT_EQ(ScanAll("c").size(), 1u);
}

TEST_F(HealingTest, CloseEndsTheWaitForAStoreThatStaysDown) {
  OpenWithThreads();
  FailSyncs();
  EXPECT_FALSE(Append("a", kStartMs, 1, {Durability::kSynced, BackPressure::kBusy}).ok());
  Status waited;
  std::thread writer([&] { waited = Append("a", kStartMs, 1); });
  (void)engine_->Close();
  EXPECT_EQ(engine_->Health().code(), StatusCode::kClosed);
  writer.join();
  EXPECT_FALSE(waited.ok());
  faults_->Disarm();
  engine_.reset();
}

}  // namespace
}  // namespace cistern::testing
