// Every allocation of ours may fail: once, or all from some moment on. Each call of the engine then
// ends with a Status or works, the engine is healthy again, the same call works when there is
// memory, and nothing that was acknowledged is missing.
//
// CISTERN_ALLOCATION_STRIDE: every nth allocation of each call, from one of the first n on, which
// CISTERN_SEED decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/guard.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/failing_new.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr int kHealTicksMax = 50;
constexpr int64_t kHealPauseUs = 61'000'000;

constexpr char kSensor[] = "a sensor whose name is beyond a short string";
constexpr char kState[] = "a state whose name is beyond a short string";
constexpr size_t kRowsMax = 200'000;

// A call makes nothing of its own that allocates: the exception would be the test's. What it needs
// is made before, in `prepare`.
class AllocationSweep : public EngineFixture {
 protected:
  using Call = std::function<Status()>;

  void SetUp() override {
    EngineFixture::SetUp();
    expected_.reserve(kRowsMax);
    read_.reserve(kRowsMax);
    path_ = directory();
  }

  // Tries `call` with each failing allocation of a stride; `prepare` comes before each attempt.
  void Sweep(const Call& prepare, const Call& call) {
    for (const auto times : {FailingNew::Times::kOnce, FailingNew::Times::kForGood}) {
      uint64_t nth = 1 + Mix(SeedFromEnv()) % stride_;
      uint64_t tried = 0;
      for (bool is_reached = true; is_reached; ++tried) {
        SCOPED_TRACE("allocation " + std::to_string(nth) +
                     (times == FailingNew::Times::kOnce ? ", once" : " and all behind it"));
        const uint64_t failed_at = Attempt(nth, times, prepare, call);
        if (HasFatalFailure()) return;
        is_reached = failed_at != 0;
        nth = failed_at + stride_;
      }
      std::printf("%llu allocations failed\n", static_cast<unsigned long long>(tried - 1));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAll());
  }

  // The number of the allocation that failed; 0: none did.
  uint64_t Attempt(uint64_t nth, FailingNew::Times times, const Call& prepare, const Call& call) {
    uint64_t failed_at = 0;
    [&] {
      Status prepared = prepare();
      ASSERT_TRUE(prepared.ok()) << prepared.ToString();
      FailingNew::Arm(nth, times);
      const Status status = call();
      failed_at = FailingNew::Disarm();
      const bool is_expected = failed_at != 0 && status.code() == StatusCode::kOutOfMemory;
      ASSERT_TRUE(status.ok() || is_expected) << status.ToString();
      ASSERT_NO_FATAL_FAILURE(Heal());
      if (status.ok()) return;
      prepared = prepare();
      ASSERT_TRUE(prepared.ok()) << prepared.ToString();
      const Status again = call();
      ASSERT_TRUE(again.ok()) << again.ToString();
    }();
    return failed_at;
  }

  // The engine comes back by itself, driven as a host would.
  void Heal() {
    if (engine_ == nullptr) return;
    for (int tick = 0; tick < kHealTicksMax; ++tick) {
      (void)engine_->Tick();
      if (engine_->Health().ok()) return;
      clock_->AdvanceMicros(kHealPauseUs);
      // A thread of the engine may be at it.
      if (options_.background_threads) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "not healthy: " << engine_->Health().ToString();
  }

  // A row more, which is not expected before the call that appends it has worked.
  Status MakeBatch() {
    batch_.emplace(schema_);
    request_ = Request(kSensor, kStartMs, kStartMs + 30 * kDayMs);
    return Status::Ok();
  }
  Status AppendBatch(WriteOptions options = {}) {
    const int64_t ts = NextTs();
    CISTERN_RETURN_IF_ERROR(FillBatch(ts));
    CISTERN_RETURN_IF_ERROR(engine_->Append(*batch_, options).status());
    expected_.emplace_back(ts, 0.5);
    return Status::Ok();
  }
  [[nodiscard]] int64_t NextTs() const {
    return kStartMs + static_cast<int64_t>(expected_.size()) * 1000;
  }
  Status FillBatch(int64_t ts) {
    batch_->BeginRow();
    CISTERN_RETURN_IF_ERROR(batch_->SetBytes(0, kSensor));
    CISTERN_RETURN_IF_ERROR(batch_->SetInt(2, ts));
    CISTERN_RETURN_IF_ERROR(batch_->SetDouble(3, 0.5));
    CISTERN_RETURN_IF_ERROR(batch_->SetBytes(4, kState));
    return batch_->EndRow();
  }
  Status AppendSome(int rows) {
    for (int i = 0; i < rows; ++i) {
      CISTERN_RETURN_IF_ERROR(MakeBatch());
      CISTERN_RETURN_IF_ERROR(AppendBatch());
    }
    return Status::Ok();
  }
  Status ScanAll() {
    read_.clear();
    CISTERN_ASSIGN_OR_RETURN(auto cursor, engine_->Scan(request_));
    ResultBatch batch;
    while (cursor->Next(&batch)) AddRows(batch, &read_);
    const FailingNew::Rest rest;
    if (!cursor->status().ok()) {
      EXPECT_FALSE(cursor->Next(&batch)) << "a cursor that was left half way reads on";
      return cursor->status();
    }
    return read_ == expected_ ? Status::Ok() : Status::Internal("other rows than were written");
  }
  void ExpectAll() {
    ASSERT_TRUE(MakeBatch().ok());
    if (engine_ == nullptr) Open();
    const Status before = ScanAll();
    EXPECT_TRUE(before.ok()) << before.ToString();
    Reopen();
    EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
    const Status behind = ScanAll();
    EXPECT_TRUE(behind.ok()) << behind.ToString();
    ExpectSound();
  }

  static Status None() { return Status::Ok(); }
  const uint64_t stride_ = std::max<uint64_t>(1, EnvNumber("CISTERN_ALLOCATION_STRIDE", 7));
  Rows expected_;
  Rows read_;
  std::optional<RowBatch> batch_;
  ScanRequest request_;
  std::string path_;
};

TEST_F(AllocationSweep, Open) {
  ASSERT_TRUE(AppendSome(20).ok());
  ASSERT_TRUE(engine_->Rotate().ok());
  ASSERT_TRUE(AppendSome(20).ok());
  Sweep(
      [this] {
        engine_.reset();
        return Status::Ok();
      },
      [this]() -> Status {
        CISTERN_ASSIGN_OR_RETURN(engine_, OpenEngineOver(path_, options_, fs_));
        return Status::Ok();
      });
}

TEST_F(AllocationSweep, CreateTheStore) {
  int stores = 0;
  Sweep(
      [&] {
        engine_.reset();
        directory_ = temp_.path() + "/" + std::to_string(++stores);
        path_ = directory_;
        return Status::Ok();
      },
      [this]() -> Status {
        CISTERN_ASSIGN_OR_RETURN(engine_, OpenEngineOver(path_, options_, fs_));
        return engine_->CreateTable(kPumps);
      });
}

TEST_F(AllocationSweep, CreateTable) {
  std::string text;
  int made = 0;
  Sweep(
      [&] {
        if (made++ % 50 == 49) {  // a store has a limited number of tables
          engine_.reset();
          directory_ = temp_.path() + "/" + std::to_string(made);
          OpenWithTable(kPumps);
        }
        text = "CREATE TABLE plant.table_" + std::to_string(made) +
               " (sensor text, day date, ts timestamp, flow double, PRIMARY KEY ((sensor, day), "
               "ts)) WITH comment = 'cistern: bucket day = 1 day';";
        return Status::Ok();
      },
      [&] { return engine_->CreateTable(text); });
}

TEST_F(AllocationSweep, Append) {
  Sweep([this] { return MakeBatch(); }, [this] { return AppendBatch(); });
}

// Groups that make entities, buckets and room in the head; the rows behind one that failed must be
// read as they were written.
TEST_F(AllocationSweep, AppendMuch) {
  constexpr int kSensors = 40;
  int sensors = 0;
  Sweep(
      [&]() -> Status {
        CISTERN_RETURN_IF_ERROR(AppendSome(1));
        batch_->Clear();
        const std::string note(400, 'x');
        for (int i = 0; i < kSensors; ++i) {
          batch_->BeginRow();
          CISTERN_RETURN_IF_ERROR(batch_->SetBytes(0, kSensor + std::to_string(++sensors)));
          CISTERN_RETURN_IF_ERROR(batch_->SetInt(2, NextTs()));
          CISTERN_RETURN_IF_ERROR(batch_->SetBytes(4, note));
          CISTERN_RETURN_IF_ERROR(batch_->EndRow());
        }
        return Status::Ok();
      },
      [this] { return engine_->Append(*batch_).status(); });
}

TEST_F(AllocationSweep, Submit) {
  Sweep([this] { return MakeBatch(); },
        [this]() -> Status {
          CISTERN_ASSIGN_OR_RETURN(const auto producer, engine_->NewProducer());
          const int64_t ts = NextTs();
          CISTERN_RETURN_IF_ERROR(FillBatch(ts));
          CISTERN_ASSIGN_OR_RETURN(const Ticket ticket, producer->Submit(std::move(*batch_)));
          CISTERN_RETURN_IF_ERROR(producer->Wait(ticket).status());
          expected_.emplace_back(ts, 0.5);
          return Status::Ok();
        });
}

TEST_F(AllocationSweep, Rotate) {
  Sweep([this] { return AppendSome(3); }, [this] { return engine_->Rotate(); });
}

// The heads are never without an active one, which every reader looks at.
TEST_F(AllocationSweep, AFreezeThatFailsLeavesAHead) {
  for (uint64_t nth = 1; nth < 64; ++nth) {
    SCOPED_TRACE(nth);
    ASSERT_TRUE(AppendSome(2).ok());
    uint64_t failed_at = 0;
    {
      const auto core = Core();  // which nobody may hold while the engine comes back
      FailingNew::Arm(nth, FailingNew::Times::kOnce);
      const Status status = Guarded([&] {
        (void)core->committer().Freeze();
        return Status::Ok();
      });
      failed_at = FailingNew::Disarm();
      ASSERT_NE(core->heads().active, nullptr);
      EXPECT_EQ(status.ok(), failed_at == 0);
    }
    ASSERT_NO_FATAL_FAILURE(Heal());
    ASSERT_TRUE(engine_->Rotate().ok());
    if (failed_at == 0) break;
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

TEST_F(AllocationSweep, Seal) {
  Sweep([this] { return AppendSome(3); },
        [this] { return engine_->Seal({.due_only = false}).status(); });
}

TEST_F(AllocationSweep, Tick) {
  Sweep(
      [this] {
        clock_->AdvanceSeconds(3600);
        return AppendSome(2);
      },
      [this] { return engine_->Tick().status(); });
}

TEST_F(AllocationSweep, Scan) {
  ASSERT_TRUE(AppendSome(20).ok());
  ASSERT_TRUE(engine_->Seal({.due_only = false}).ok());
  ASSERT_TRUE(AppendSome(20).ok());
  ASSERT_TRUE(engine_->Rotate().ok());
  ASSERT_TRUE(AppendSome(20).ok());
  Sweep(None, [this] { return ScanAll(); });
}

// Where a cursor ends for want of memory its token leads on, and no row is left out.
TEST_F(AllocationSweep, ScanOnFromTheToken) {
  constexpr int kRows = 3000;
  ASSERT_TRUE(MakeBatch().ok());
  for (int i = 0; i < kRows; ++i) {
    AddRow(&*batch_, kSensor, kStartMs + i, i);
    expected_.emplace_back(kStartMs + i, i);
  }
  ASSERT_TRUE(engine_->Append(*batch_).ok());
  request_.batch_rows_max = 500;
  Sweep(
      [this] {
        request_.token.clear();
        return Status::Ok();
      },
      [this]() -> Status {
        read_.clear();
        CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine_->Scan(request_));
        ResultBatch batch;
        while (cursor->Next(&batch)) AddRows(batch, &read_);
        const FailingNew::Rest rest;
        if (!cursor->status().ok()) {
          EXPECT_EQ(cursor->status().code(), StatusCode::kOutOfMemory);
          request_.token = cursor->Token();
          const auto second = engine_->Scan(request_);
          if (!second.ok()) return Status::Internal(second.status().ToString());
          Drain(second->get(), &read_);
        }
        return read_ == expected_ ? Status::Ok() : Status::Internal("other rows were read");
      });
}

TEST_F(AllocationSweep, Aggregate) {
  ASSERT_TRUE(AppendSome(40).ok());
  ASSERT_TRUE(engine_->Seal({.due_only = false}).ok());
  ASSERT_TRUE(AppendSome(40).ok());
  AggregateRequest request;
  request.table = schema_->name;
  request.entities = {request_.entity};
  request.from = kStartMs;
  request.to = kStartMs + kDayMs;
  request.step = 10'000;
  request.of = {{"flow", AggregateFunction::kSum}, {"flow", AggregateFunction::kCount}};
  Sweep(None, [&]() -> Status {
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine_->Aggregate(request));
    AggregateBatch batch;
    int64_t rows = 0;
    while (cursor->Next(&batch)) {
      for (size_t i = 0; i < batch.columns[1].size(); ++i) rows += batch.columns[1].fixed[i];
    }
    CISTERN_RETURN_IF_ERROR(cursor->status());
    return rows == 80 ? Status::Ok() : Status::Internal("the count is another one");
  });
}

TEST_F(AllocationSweep, Delete) {
  const EntityKey other = Entity("b");
  Sweep(None, [&] {
    return engine_->DeleteRange("pumps", other, {kStartMs, kStartMs + 1000}).status();
  });
}

TEST_F(AllocationSweep, Expire) {
  int hour = 0;
  Sweep(
      [&]() -> Status {
        // A window that ends: a row of another sensor that lives for an hour.
        RowBatch batch(schema_);
        AddRow(&batch, "b", clock_->WallMicros() / 1000, ++hour, RowKind::kInsert, 3600);
        CISTERN_RETURN_IF_ERROR(engine_->Append(batch).status());
        CISTERN_RETURN_IF_ERROR(engine_->Seal({.due_only = false}).status());
        clock_->AdvanceSeconds(30 * 86'400);
        return Status::Ok();
      },
      [this] { return engine_->Expire().status(); });
}

TEST_F(AllocationSweep, Close) {
  Sweep(
      [this]() -> Status {
        engine_.reset();
        Open();
        CISTERN_RETURN_IF_ERROR(MakeBatch());
        return AppendBatch({.durability = Durability::kSynced});
      },
      [this] {
        Status closed = engine_->Close();
        const FailingNew::Rest rest;
        engine_.reset();
        return closed;
      });
}

TEST_F(AllocationSweep, CloseByTheDestructor) {
  Sweep(
      [this]() -> Status {
        if (engine_ == nullptr) Open();
        CISTERN_RETURN_IF_ERROR(MakeBatch());
        return AppendBatch();
      },
      [this] {
        engine_.reset();
        return Status::Ok();
      });
}

// A batch keeps the rows that it has, and takes others when there is memory.
TEST_F(AllocationSweep, Batch) {
  constexpr int kRowsBefore = 300;  // more room is needed for the next
  ColumnData sensors;
  ColumnData times;
  sensors.lane = Lane::kBytes;
  for (int i = 0; i < kRowsBefore; ++i) {
    sensors.AppendBytes(kSensor);
    times.AppendFixed(kStartMs + i);
  }
  const std::vector<size_t> columns = {0, 2};
  const std::vector<const ColumnData*> data = {&sensors, &times};
  uint64_t refused = 0;
  for (uint64_t nth = 1, failed_at = 1; failed_at != 0; nth = failed_at + 1) {
    ASSERT_TRUE(MakeBatch().ok());
    ASSERT_TRUE(batch_->AppendColumns(columns, data).ok());
    const size_t bytes = batch_->byte_count();
    FailingNew::Arm(nth, FailingNew::Times::kOnce);
    Status one = FillBatch(kStartMs + kRowsBefore);
    if (one.ok()) one = batch_->AppendColumns(columns, data);
    failed_at = FailingNew::Disarm();
    if (!one.ok()) {
      EXPECT_EQ(one.code(), StatusCode::kOutOfMemory) << one.ToString();
      ++refused;
      batch_->DropRow();
      if (batch_->row_count() == kRowsBefore) {
        EXPECT_EQ(batch_->byte_count(), bytes);
        ASSERT_TRUE(FillBatch(kStartMs + kRowsBefore).ok());
      }
      ASSERT_TRUE(batch_->AppendColumns(columns, data).ok());
    }
    ASSERT_EQ(batch_->row_count(), 2 * kRowsBefore + 1);
    EXPECT_EQ(batch_->bytes(kRowsBefore, 4), kState);
    EXPECT_EQ(batch_->bytes(2 * kRowsBefore, 0), kSensor);
  }
  EXPECT_GT(refused, 3u);
}

TEST_F(AllocationSweep, AStatusNeedsNoMemory) {
  std::string message = "a sentence that is beyond a short string";
  FailingNew::Arm(1, FailingNew::Times::kForGood);
  const Status made(StatusCode::kCorruption, std::move(message));
  const Status copy = made;
  Status assigned;
  assigned = copy;
  EXPECT_NE(FailingNew::Disarm(), 0u);
  EXPECT_EQ(assigned.code(), StatusCode::kCorruption);
  EXPECT_FALSE(assigned.message().empty());
  EXPECT_EQ(Status::OutOfMemory().code(), StatusCode::kOutOfMemory);
  EXPECT_FALSE(Status::OutOfMemory().message().empty());
}

// Maintenance and the threads that read ahead run out of memory too, at any moment.
TEST_F(AllocationSweep, ThreadsOfTheEngine) {
  engine_.reset();
  options_.background_threads = true;
  options_.scan_threads = 2;
  Open();
  for (uint64_t nth = 1; nth < 400; nth += 1 + nth / 8 * stride_ / 7) {
    SCOPED_TRACE("allocation " + std::to_string(nth) + " and all behind it");
    ASSERT_TRUE(MakeBatch().ok());
    request_.buckets_ahead = 4;
    FailingNew::Arm(nth, FailingNew::Times::kForGood, FailingNew::Threads::kAll);
    const Status appended = AppendBatch();
    const Status others[] = {appended, ScanAll(), engine_->Rotate(),
                             engine_->Seal({.due_only = false}).status()};
    const uint64_t failed_at = FailingNew::Disarm();
    for (const Status& status : others) {
      const bool is_expected = failed_at != 0 && status.code() == StatusCode::kOutOfMemory;
      // A row of unknown outcome may be there: only a scan of the test's says kInternal.
      const bool is_unknown = !appended.ok() && status.code() == StatusCode::kInternal;
      EXPECT_TRUE(status.ok() || is_expected || is_unknown) << status.ToString();
    }
    if (!appended.ok()) {
      ASSERT_NO_FATAL_FAILURE(Heal());
      ASSERT_TRUE(MakeBatch().ok());
      const Status again = AppendBatch();
      ASSERT_TRUE(again.ok()) << again.ToString();
    }
    ASSERT_NO_FATAL_FAILURE(Heal());
  }
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
}

TEST_F(AllocationSweep, Backup) {
  ASSERT_TRUE(AppendSome(10).ok());
  const std::string directory = temp_.path() + "/backups";
  Sweep([this] { return AppendSome(1); },
        [&] { return engine_->Backup(directory, {.keep_count = 2}).status(); });
}

}  // namespace
}  // namespace cistern::testing
